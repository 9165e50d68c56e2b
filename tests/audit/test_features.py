"""Every output can be read, and the lowest bit is the lowest bit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.audit.features import ZERO_BIT, Features, binade, lowest_bit
from discreet.audit.outputs import Raised, draw, keys, packed
from discreet.errors import Refusal
from discreet.noise import SECURE, Entropy


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_the_lowest_bit_divides_and_its_double_does_not(value: float) -> None:
    bit = float(lowest_bit(np.array([value]))[0])
    if value == 0:
        assert bit == ZERO_BIT
        return
    unit = Fraction(2) ** int(bit)
    assert (Fraction(value) / unit).denominator == 1
    assert (Fraction(value) / (2 * unit)).denominator == 2
    power = int(binade(np.array([value]))[0])
    assert Fraction(2) ** power <= abs(Fraction(value)) < Fraction(2) ** (power + 1)


def test_no_number_has_no_bits() -> None:
    assert lowest_bit(np.array([math.nan, math.inf])).tolist() == [-math.inf, -math.inf]


@dataclass(frozen=True)
class Answer:
    value: int
    text: str


ODD: list[list[object]] = [
    [1, 2, 3],
    [1.5, math.nan, math.inf, -0.0],
    [None, 3, "text", Raised("ZeroDivisionError", ""), ZeroDivisionError],
    [(1, 2), (1, 2, 3), ()],
    [{"a": 1}, {"b": 2.5}, {}],
    [{"x", "y"}, frozenset({"x"}), set()],
    [np.array([1, 2]), np.array([1.5]), np.array(3)],
    [10**400, -(10**400), Fraction(1, 3)],
    [Answer(1, "a"), Answer(2, "b")],
    [object, b"bytes", True, 1, 1.0],
    [[{"deep": (None, [1])}], [{"deep": "else"}]],
]


@pytest.mark.parametrize("outputs", ODD, ids=lambda outputs: type(outputs[0]).__name__)
def test_anything_can_be_read(outputs: list[object]) -> None:
    features = Features.planned(packed(outputs), packed(outputs[:1]))
    table = features.table(packed(outputs))
    assert table.shape == (len(outputs), len(features.named))
    assert len({feature.words for feature in features.named}) == len(features.named)


@pytest.mark.parametrize("outputs", ODD, ids=lambda outputs: type(outputs[0]).__name__)
def test_a_plan_made_for_something_else_still_reads_it(outputs: list[object]) -> None:
    for known in ([1, 2, 3], [(1, 2), (3, 4)], [None, "a"], [np.zeros(3), np.ones(3)]):
        features = Features.planned(packed(known), packed(known))
        assert features.table(packed(outputs)).shape == (len(outputs), len(features.named))


def test_a_plan_for_numbers_still_finds_them_among_other_things() -> None:
    scalar = Features.planned(packed([1, 2]), packed([3, 4])).table([5, None, "x", 6])
    assert np.array_equal(scalar[:, 0], np.array([5, np.nan, np.nan, 6]), equal_nan=True)
    vector = Features.planned(packed([(1, 2)]), packed([(3, 4)])).table([(5, None), (7, 8, 9), ()])
    assert np.array_equal(vector[:, :2], np.array([[5, np.nan], [7, 8], [np.nan, np.nan]]), equal_nan=True)


def words(*outputs: object) -> dict[str, list[float]]:
    features = Features.planned(packed(outputs), packed(outputs))
    table = features.table(packed(outputs))
    return {feature.words: table[:, i].tolist() for i, feature in enumerate(features.named)}


def test_what_is_read_off_outputs() -> None:
    assert words(0.75, 3.0)["exponent of the lowest set bit of output"] == [-2, 0]
    assert words(None, 7)["output is None"] == [1, 0]
    assert words(Raised("KeyError", "'mary'"), 7)["the exception is 'KeyError'"] == [1, 0]
    assert words(Raised("KeyError", "'mary'"), Raised("KeyError", ""))["its text is \"'mary'\""] == [1, 0]
    assert words((1, 5), (4, 4))["output[0] − output[1]"] == [-4, 0]
    assert words({"n": 2}, {"s": 1})["output['n'] is missing or not a number"] == [0, 1]
    assert words("yes", "no")["length of output"] == [3, 2]
    assert words((0, 0, 7), (0, 1, 7))["how many numbers of the output are 0"] == [2, 1]
    assert words(math.nan, 1.0)["output is missing or not a number"] == [1, 0]
    assert "exponent of the lowest set bit of output" not in words(1, 2)  # of whole numbers it tells nothing new


def test_keys_tell_outputs_apart_to_the_last_bit() -> None:
    plus, minus, nothing, again = keys(packed([0.0, -0.0, math.nan, float("nan")]))
    assert plus != minus
    assert nothing == again
    assert nothing not in (plus, minus)
    mixed: Sequence[object] = [1, 1.0, True, "1", (1,), [1], (1.0,)]
    assert len(set(keys(mixed))) == len(mixed)
    assert len(set(keys([{"a": 1, "b": 2}, {"b": 2, "a": 1}, {"a": 1, "b": 2}]))) == 2  # their order shows
    assert len(set(keys(packed([np.array([1, 2]), np.array([1, 3]), np.array([1, 2])])))) == 2


def test_outputs_are_packed_only_where_nothing_is_lost() -> None:
    assert isinstance(packed([1, 2]), np.ndarray)
    assert isinstance(packed([(1, 2), (3, 4)]), np.ndarray)
    assert isinstance(packed([1, 2.0]), list)
    assert isinstance(packed([(1, 2.0), (3, 4.0)]), list)
    assert isinstance(packed([(1,), (1, 2)]), list)
    assert isinstance(packed([1, 1 << 70]), list)
    assert isinstance(packed([np.zeros(2), np.zeros(3)]), list)


def raising(data: int) -> int:
    if data:
        raise ArithmeticError("secret")
    return data


class Batched:
    def sample(self, data: int, size: int, *, rng: Entropy) -> list[int]:
        rng.bits(1)
        return [data] * (size if data < 5 else size - 1)

    def __call__(self, data: int, /, *, rng: Entropy = SECURE) -> int:
        raise AssertionError(f"sample is quicker than a call on {data} with {rng}")


def test_an_exception_is_an_output_with_all_that_it_says() -> None:
    assert list(draw(raising, 1, 3)) == [Raised("ArithmeticError", "secret")] * 3
    assert list(draw(raising, 0, 3)) == [0] * 3


def test_sample_is_used_and_must_give_what_was_asked_for() -> None:
    assert list(draw(Batched(), 4, 3)) == [4, 4, 4]
    with pytest.raises(Refusal, match="expected 3 outputs"):
        draw(Batched(), 5, 3)
