"""All that leaves a mechanism is looked at; and where nothing does, nothing is judged."""

from __future__ import annotations

import random
from array import array
from collections import deque, namedtuple
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import date
from itertools import count
from typing import Any

import numpy as np
import pytest
from audit.controls import BITS, Held
from doubles import Seeded

from discreet.audit import Specimen, audit, insist, play
from discreet.audit.outputs import DEEPEST, MOST_ITEMS, Raised, Thing, draw, seen
from discreet.errors import Refusal
from discreet.mechanisms import Laplace
from discreet.noise import SECURE, Entropy, laplace
from discreet.privacy.loss import Pure

PAIR = [(0, 1)]


class Slotted:
    """No dictionary, one slot that is filled and one that is not."""

    __slots__ = ("empty", "kept")

    def __init__(self, kept: int) -> None:
        self.kept = kept


class Computed:
    """Something that is computed when it is asked for, from what has no public name."""

    def __init__(self, secret: int) -> None:
        self.__secret = secret  # mangled, so it is under a name of its own

    @property
    def told(self) -> int:
        """The secret."""
        return self.__secret

    @property
    def failing(self) -> int:
        """Never there."""
        raise KeyError(self.__secret)


class Text(str):
    """A text with an attribute."""

    __slots__ = ("about",)
    about: int


class Same:
    """Equal to all others of its kind."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same)

    def __hash__(self) -> int:
        return 0


@dataclass(frozen=True)
class Hidden:
    """Equal by nothing."""

    value: int = field(compare=False, repr=False)


class Odd(Exception):
    """An exception that carries more than it says."""

    def __init__(self, row: int) -> None:
        super().__init__("always the same")
        self.row = row


Point = namedtuple("Point", ["x", "y"])  # noqa: PYI024  # as people write them


def text(value: int) -> Text:
    given = Text("the same")
    given.about = value
    return given


def through(value: int) -> object:
    """It carries nothing under a name, and can be gone through."""

    class Through:
        def __iter__(self) -> Iterator[int]:
            return iter([value])

    return Through()


def numbered(value: int) -> object:
    """The same, item by item."""

    class Numbered:
        def __getitem__(self, place: int) -> int:
            return [value][place]

    return Numbered()


def yielding(value: int) -> Iterator[int]:
    yield 1
    if value:
        raise ValueError("late")


def raising(value: int) -> int:
    raise Odd(value)


def caused(value: int) -> int:
    try:
        return dict[int, int]()[value]
    except KeyError as first:
        raise ValueError("always the same") from first


def noting(value: int) -> int:
    problem = ValueError("always the same")
    problem.add_note(f"row {value}")
    raise problem


LEAKS: dict[str, tuple[Callable[[int], object], str]] = {
    "attribute": (Held, "output.noisy"),
    "slot": (Slotted, "output.kept"),
    "property": (Computed, "output."),
    "text with an attribute": (text, "output.about"),
    "equal to all": (Same, "output.value"),
    "field not compared": (Hidden, "output.value"),
    "object in a list": (lambda x: [1, {"a": Same(x)}], "output[1]['a'].value"),
    "object in an object": (lambda x: Same(Same(x)), "output.value.value"),  # type: ignore[arg-type]
    "named tuple": (lambda x: Point(1, x), "output[1]"),
    "generator": (lambda x: (i for i in range(3 + x)), "output"),
    "generator that raises": (yielding, "the exception is 'ValueError'"),
    "iterator in a tuple": (lambda x: (1, iter([x])), "output[1][0]"),
    "map": (lambda x: map(abs, [x]), "output[0]"),
    "endless": (count, "output[0]"),
    "deque": (lambda x: deque([1, x]), "output[1]"),
    "bytearray": (lambda x: bytearray([1, x]), "output"),
    "array of a long one's end": (lambda x: array("b", [0] * 1000 + [x]), "output"),
    "view of bytes": (lambda x: memoryview(bytes([1, x])), "output"),
    "range": (range, "output"),
    "values of a dictionary": (lambda x: {1: x}.values(), "output[0]"),
    "whatever can be gone through": (through, "output[0]"),
    "items by number": (numbered, "output[0]"),
    "function": (lambda x: lambda: x, "output.__closure__[0]"),
    "function with a default": (lambda x: lambda y=x: y, "output.__defaults__[0]"),
    "method": (lambda x: Held(x).__repr__, "output.__self__.noisy"),
    "exception that is returned": (ValueError, "output as raised: its "),
    "complex": (lambda x: complex(1, x), "output.imag"),
    "day": (lambda x: date(2024, 1, 1 + x), "output.day"),
    "array of texts": (lambda x: np.array(["a", "b" * x]), "output"),
    "long array in an object": (lambda x: Same(np.arange(3000) == 1500 * x), "output"),
    "long array in a list": (lambda x: [np.arange(3000) == 1500 * x], "output"),
    "array of objects": (lambda x: np.array([Same(x), None]), "output[0].value"),
    "what an exception carries": (raising, "its row"),
    "what caused it": (caused, "its cause: its text is '"),
    "a note on it": (noting, "its note 0"),
}


@pytest.mark.parametrize(("mechanism", "event"), LEAKS.values(), ids=LEAKS)
def test_whatever_an_output_carries_can_give_it_away(mechanism: Callable[[int], object], event: str) -> None:
    verdict = audit(mechanism, PAIR, Pure(2), samples=400, rng=Seeded(1))
    assert verdict.refuted, verdict
    assert event in verdict.event
    assert not verdict.silent


def test_a_look_ends() -> None:
    """At what is endless, deep, wide, or holds itself."""
    loop: list[object] = []
    loop.append(loop)
    ring = Same(0)
    ring.value = ring  # type: ignore[assignment]
    deep: object = 1
    for _ in range(10 * DEEPEST):
        deep = Same(deep)  # type: ignore[arg-type]
    for output in (loop, ring, deep, count(), [Same(i) for i in range(10_000)]):
        assert len(repr(seen(output))) < 10**6
    followed = seen(count())
    assert isinstance(followed, Thing)
    assert len(followed.parts) == MOST_ITEMS + 1


@pytest.mark.parametrize("value", [1, 1.5, True, None, "text", b"bytes", (1, "a"), [1], {"a": 1}, {1, 2}], ids=repr)
def test_what_is_plain_stays_what_it_is(value: object) -> None:
    assert seen(value) == value
    assert type(seen(value)) is type(value)


# nothing to judge -----------------------------------------------------------------------------------------------------


def never(value: object) -> int:
    raise TypeError(f"cannot add a {type(value).__name__}")


def test_an_audit_in_which_every_run_raises_judges_nothing() -> None:
    """Not even by chance: the same words on both sides are no answer."""
    for attempt in (
        lambda: audit(never, PAIR, Pure(1), samples=200),
        lambda: audit(never, [(0, 1), (2, 3)], Pure(1), samples=200),
        lambda: insist(never, PAIR, Pure(1), samples=200, seconds=1),
        lambda: audit(lambda: 0, PAIR, Pure(1), samples=200),  # takes no input at all
        lambda: play(never, PAIR[0], rounds=100, practice=100),
    ):
        with pytest.raises(Refusal, match=r"^every run raised TypeError: .*; nothing could be judged"):
            attempt()


def test_raising_on_one_side_only_is_an_answer() -> None:
    verdict = audit(lambda x: never(x) if x else 1, PAIR, Pure(1), samples=400, rng=Seeded(2))
    assert verdict.refuted
    assert "the exception" in verdict.event
    told = audit(lambda x: never(x) if x else raising(3), PAIR, Pure(1), samples=400, rng=Seeded(2))
    assert told.refuted  # both raise, and not the same


def test_pairs_of_which_nothing_can_be_said_are_named() -> None:
    def picky(value: int, *, rng: Entropy = SECURE) -> int:
        return never(value) if value > 5 else value + laplace(1, rng=rng)

    verdict = audit(picky, [(0, 1), (7, 8)], Pure(1), samples=2000, rng=Seeded(3))
    assert not verdict.refuted
    assert verdict.silent == ("as given",)
    assert "not judged, for every run raised: as given" in str(verdict)
    assert not audit(picky, [(0, 1)], Pure(1), samples=2000, rng=Seeded(3)).silent


def test_an_audit_says_when_every_run_told_the_same() -> None:
    forgot: list[float] = []
    verdict = audit(lambda x: forgot.append(x + random.random()), PAIR, Pure(1), samples=200)
    assert not verdict.refuted
    assert verdict.constant == "None"
    assert str(verdict).endswith("every run told the same, None: is that all that leaves it?")
    assert audit(Laplace(1), samples=200).constant is None  # type: ignore[arg-type]


# the source of randomness ---------------------------------------------------------------------------------------------


def test_only_a_parameter_that_asks_for_it_gets_our_source() -> None:
    got: list[object] = []
    source = Seeded(4)

    def keyword(_: int, *, rng: Entropy = SECURE) -> None:
        got.append(rng)

    def required(_: int, *, rng: Entropy) -> None:
        got.append(rng)

    def theirs(_: int, *, rng: Any = "their own") -> None:  # noqa: ANN401
        got.append(rng)

    def placed(_: int, rng: Any = "their own") -> None:  # noqa: ANN401
        got.append(rng)

    def alone(rng: int) -> None:
        got.append(rng)

    for mechanism in (keyword, required, theirs, placed, alone):
        draw(mechanism, 7, 1, rng=source)
    assert got == [source, source, "their own", "their own", 7]


def test_a_method_called_sample_is_ours_only_with_our_source() -> None:
    class Theirs:
        def __call__(self, value: int) -> int:
            return value

        def sample(self, *_: object) -> list[int]:
            return [99]

    assert list(draw(Theirs(), 5, 3)) == [5, 5, 5]
    ours = Specimen("ours", Pure(1), BITS, "", "", lambda value, size, _: [value] * size)
    assert list(draw(ours, 5, 3)) == [5, 5, 5]


def test_an_exception_is_seen_with_all_that_it_carries() -> None:
    (one,) = draw(raising, 3, 1)
    assert one == Raised("Odd", "always the same", ((" row", 3),))
