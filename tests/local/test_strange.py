"""What no client takes for an answer, and what each reads all the same: strange values, crowds and buffers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from itertools import count
from typing import Any

import numpy as np
import pytest
from doubles import Seeded
from local.examples import EXAMPLES

from discreet.errors import Refusal
from discreet.local import (
    CountMeanSketch,
    HadamardSketch,
    HeavyHitters,
    Oracle,
    Rappor,
)

CASES = [(f"{name} {i}", one) for name, some in EXAMPLES.items() for i, one in enumerate(some)]
each = pytest.mark.parametrize("client", [one for _, one in CASES], ids=[name for name, _ in CASES])


def reported(client: Any, *crowd: object) -> bool:  # noqa: ANN401
    """Whether the people are reported, alike alone, among others and in a sample; else refused, and never said why."""
    try:
        made = [client.encode(client(value, rng=Seeded(1))) for value in crowd]
        assert all(len(one) == client.form.itemsize for one in made)
    except Refusal as refused:
        for door in (lambda: client.batch([*crowd]), lambda: [client.sample(value, 3) for value in crowd]):
            with pytest.raises(Refusal, match=f"^{re.escape(refused.message)}; nothing was sent or counted$"):
                door()
        return False
    assert len(client.batch([*crowd], rng=Seeded(1))) == len(crowd)
    assert all(len(client.sample(value, 3, rng=Seeded(1))) == 3 for value in crowd)
    return True


@each
def test_what_is_no_answer_is_refused_and_not_taken_for_one(client: Any) -> None:  # noqa: ANN401
    """It was once reported as the first value, the lower bound or the empty text. Only RAPPOR knows of nothing."""
    open_to_all = isinstance(client, Rappor)
    texts = open_to_all or isinstance(client, (CountMeanSketch, HadamardSketch, HeavyHitters))
    for value in (None, float("nan"), [1], np.timedelta64(1, "s"), 1j):
        assert reported(client, value) is open_to_all
    assert reported(client, "1") is texts
    if isinstance(client, Oracle):
        wrong: list[Any] = [-1, client.choices, 1 << 80, 0.5, Fraction(1, 3), float("inf"), "0"]
        for value in wrong:
            assert not reported(client, value)
            with pytest.raises(Refusal, match="this answer is not on the list: answers are 0 to"):
                client.batch(np.array([0, value]) if isinstance(value, float) else [0, value])
        assert reported(client, *range(client.choices))
        assert reported(client, np.True_, 1.0, np.uint8(1), Fraction(1))
    assert len(client.batch([])) == 0


class Unreadable:
    """A text, a list and a number that break wherever they are touched."""

    def __repr__(self) -> str:
        raise TypeError("no text")

    def __iter__(self) -> Iterator[object]:
        raise ValueError("no elements")

    def __array__(self, *_: object, **__: object) -> object:
        raise OSError("no array")

    def __float__(self) -> float:
        raise KeyError("no number")


class Unfinished(Fraction):
    @property
    def numerator(self) -> int:
        raise ZeroDivisionError


def breaking() -> Iterator[int]:
    yield 1
    raise RuntimeError("no more")


STRANGE: dict[str, Callable[[], object]] = {
    "an array without a shape": lambda: np.array(1.0),
    "masked": lambda: np.ma.masked,
    "lists in a list": lambda: [[1, 2], [3, 4]],
    "arrays in a list": lambda: [np.array([1, 2]), np.array([3, 4]), np.array(5), np.ma.masked],
    "a square": lambda: np.ones((2, 2)),
    "a cube": lambda: np.ones((3, 3, 3)),
    "a record": lambda: np.zeros(1, dtype=[("a", "i4")])[0],
    "a moment": lambda: np.datetime64(1, "ns"),
    "no moment": lambda: np.datetime64("NaT"),
    "an array of a moment": lambda: np.array(1, dtype="M8[ns]"),
    "a signalling NaN": lambda: Decimal("sNaN"),
    "a long exponent": lambda: Decimal("1e999999"),
    "a long double": lambda: np.longdouble("1e4000"),
    "complex": lambda: 1j,
    "bytes": lambda: b"ab",
    "a mapping": lambda: {1: 2},
    "without an end": count,
    "an iterator that breaks": breaking,
    "an unreadable thing": Unreadable,
    "unreadable things": lambda: [Unreadable(), Unreadable()],
    "an unfinished number": lambda: Unfinished(1, 3),
}


@each
@pytest.mark.parametrize("what", STRANGE.values(), ids=STRANGE)
def test_nothing_strange_breaks_it_alone_or_among_others(client: Any, what: Callable[[], object]) -> None:  # noqa: ANN401
    """It is reported or refused, in the words of every other refusal."""
    usual = client.pairs()[0].left
    with np.errstate(all="raise"):
        try:
            assert len(client.encode(client(what(), rng=Seeded(1)))) == client.form.itemsize
        except Refusal:
            for crowd in ([what()], [usual, what(), usual, what()]):
                with pytest.raises(Refusal, match="nothing was sent or counted"):
                    client.batch(crowd, rng=Seeded(1))
            return
        assert len(client.batch([what()], rng=Seeded(1))) == 1
        assert len(client.batch([usual, what(), usual, what()], rng=Seeded(1))) == 4
        assert len(client.sample(what(), 3, rng=Seeded(1))) == 3


@each
@pytest.mark.parametrize("crowd", [1, "ab", None, 1.5, np.array(1.0), np.ma.masked, np.timedelta64(1, "ns")])
def test_what_is_no_crowd_is_one_person(client: Any, crowd: object) -> None:  # noqa: ANN401
    try:
        client(crowd, rng=Seeded(1))
    except Refusal:
        with pytest.raises(Refusal):
            client.batch(crowd)
    else:
        assert len(client.batch(crowd, rng=Seeded(1))) == 1


@each
@pytest.mark.parametrize("kind", ["m8[ns]", "M8[ns]", "m8[s]", "M8[D]"])
def test_a_time_is_no_number_alone_or_in_an_array(client: Any, kind: str) -> None:  # noqa: ANN401
    array = np.array([1, 2, 0], dtype=kind)
    for crowd in (array, list(array), array.astype(object) if kind.endswith("D]") else array, np.ma.array(array)):
        if isinstance(client, Rappor):
            assert client._truths(client._people(crowd)).tolist() == client._truths(client._people([None] * 3)).tolist()
        else:
            with pytest.raises(Refusal, match="nothing was sent or counted"):
                client.batch(crowd)


@each
def test_what_is_masked_is_nothing(client: Any) -> None:  # noqa: ANN401
    array = np.ma.array([1, 1, 1], mask=[False, True, False])
    for crowd in (array, array.astype(np.float64), list(array), [1, np.ma.masked, np.array(1)]):
        if isinstance(client, Rappor):
            once = client._truths(client._people([1, None, 1])).tolist()
            assert client._truths(client._people(crowd)).tolist() == once
        else:
            with pytest.raises(Refusal, match="nothing was sent or counted"):
                client.batch(crowd)


class Short(bytes):
    def __len__(self) -> int:
        return 0


@each
def test_reports_are_read_from_every_buffer(client: Any) -> None:  # noqa: ANN401
    data = client.encode(client.batch([client.pairs()[0].left] * 6, rng=Seeded(1)))
    spread = bytearray(2 * len(data))
    spread[::2] = data
    whole = memoryview(data)
    for buffer in (bytearray(data), whole, memoryview(spread)[::2], whole.cast("B", (6, len(data) // 6)), Short(data)):
        assert client.encode(client.decode(buffer)) == client.encode(buffer) == data
        assert client.tally(buffer) == client.tally(data)
    assert client.encode(Short(data)) == data
    assert client.tally(Short(data)) == client.tally(data)


@each
def test_what_was_read_does_not_change_with_its_buffer(client: Any) -> None:  # noqa: ANN401
    data = bytearray(client.encode(client.batch([client.pairs()[0].left] * 6, rng=Seeded(1))))
    kept, before = client.decode(data), bytes(data)
    data[:] = b"\xff" * len(data)
    assert client.encode(kept) == before


@each
def test_a_buffer_or_an_array_that_is_none_is_refused(client: Any) -> None:  # noqa: ANN401
    gone = memoryview(b"abcd")
    gone.release()
    with pytest.raises(Refusal, match="a memoryview that was released"):
        client.decode(gone)
    unit, shape = client.form.subdtype or (client.form, ())
    for array in (np.zeros((), dtype=unit), np.zeros((2, *shape, 1), dtype=unit), np.zeros((1, 1, *shape), dtype=unit)):
        for door in (client.encode, client.tally, client.arranged):
            with pytest.raises(Refusal, match="expected an array of reports of"):
                door(array)
    for strange in (Unreadable(), (Unreadable(),), (1, Unreadable(), 1)):
        for door in (client.encode, client.tally, client.arranged):
            with pytest.raises(Refusal, match="that cannot be written is no report"):
                door(strange)
