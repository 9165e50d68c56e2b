"""Reals on a grid: every float has an answer, answers lie on the grid, and the noise is that of the whole steps."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any, get_args, get_type_hints

import numpy as np
import pytest
from doubles import Seeded
from hypothesis import given
from hypothesis import strategies as st
from mechanisms.chances import Whatever, covers

from discreet.errors import Refusal
from discreet.mechanisms.real_noise import GaussianReal, LaplaceReal
from discreet.noise import gaussian, laplace
from discreet.privacy import Concentrated, Pure

BOTH: list[Any] = [LaplaceReal, GaussianReal]
PRICE = {LaplaceReal: Pure, GaussianReal: Concentrated}
WIDTHS = st.fractions(min_value=Fraction(1, 1000), max_value=30, max_denominator=1000)


def drawn(kind: type[Any], price: Fraction, steps: int, seed: int) -> int:
    """The noise that whole steps at this distance need."""
    rng = Seeded(seed)
    return laplace(steps / price, rng=rng) if kind is LaplaceReal else gaussian(steps**2 / (2 * price), rng=rng)


@pytest.mark.parametrize("kind", BOTH)
@given(WIDTHS, WIDTHS, st.floats(), st.integers(0, 50))
def test_an_answer_is_a_grid_point_and_the_noise_of_whole_steps(
    kind: type[Any], sensitivity: Fraction, step: Fraction, value: float, seed: int
) -> None:
    mechanism = kind(Fraction(1, 2), sensitivity, -50, 50, step)
    assert mechanism.privacy == PRICE[kind](Fraction(1, 2))
    steps = max(1, min(math.ceil(sensitivity / step), mechanism.grid.span))
    answer = mechanism(value, rng=Seeded(seed))
    image = mechanism.grid.steps([value]).item()
    assert answer == (image + drawn(kind, Fraction(1, 2), steps, seed)) * step


@pytest.mark.parametrize("kind", BOTH)
@given(WIDTHS, WIDTHS)
def test_the_pair_is_within_the_sensitivity_and_as_far_apart_as_the_noise_allows(
    kind: type[Any], sensitivity: Fraction, step: Fraction
) -> None:
    mechanism = kind(1, sensitivity, -100, 100, step)
    (pair,) = mechanism.pairs()
    assert 0 < pair.right - pair.left <= sensitivity
    images = [mechanism.grid.steps([end]).item() for end in (pair.left, pair.right)]
    assert images[1] - images[0] == mechanism.noise.sensitivity == math.ceil(sensitivity / step)


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize(
    "value", [math.nan, math.inf, -math.inf, 1e308, 5e-324, None, "7", Decimal("NaN"), 3j, 10**400, Fraction(1, 3), [7]]
)
def test_whatever_comes_has_an_answer_that_could_have_come_from_a_number(kind: type[Any], value: Whatever) -> None:
    mechanism = kind(1, 1, 0, 10, "0.5")
    answer = mechanism(value, rng=Seeded(1))
    assert answer in {mechanism(number, rng=Seeded(1)) for number in (0, 10, 0.5)}
    assert (answer / mechanism.step).denominator == 1


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize("value", ["0.03", "5", "7.777", "9.99"])  # the float beside 9.99 is out of bounds
@pytest.mark.parametrize("confidence", ["0.5", "0.95"])
def test_the_error_covers(kind: type[Any], value: str, confidence: str) -> None:
    mechanism = kind(1, "0.3", "0.03", "9.99", "0.1")  # bounds that are no multiples of the step
    bound, truth = mechanism.error(confidence), Fraction(value)
    assert covers(lambda rng: abs(mechanism(truth, rng=rng) - truth) > bound, Fraction(confidence), 17)


@pytest.mark.parametrize("kind", BOTH)
def test_a_text_is_no_number_and_not_said_to_be_one(kind: type[Any]) -> None:
    taken = get_args(get_type_hints(kind.__call__)["value"])
    assert set(taken) == {int, float, Fraction, Decimal}
    mechanism = kind(1, 1, 2, 10, "0.5")
    assert mechanism("7", rng=Seeded(3)) == mechanism(2, rng=Seeded(3))
    for seven in (7, 7.0, Fraction(7), Decimal(7)):
        assert mechanism(seven, rng=Seeded(3)) == mechanism(2, rng=Seeded(3)) + 5


@pytest.mark.parametrize("kind", BOTH)
def test_numbers_finer_than_a_double_are_no_further_apart_than_the_noise_allows(kind: type[Any]) -> None:
    under = np.longdouble(0.5) - np.longdouble(2) ** -54
    mechanism = kind(1, 1, 0, 10, 1)
    apart = mechanism(under + 1, rng=Seeded(1)) - mechanism(under, rng=Seeded(1))
    assert apart <= mechanism.noise.sensitivity == 1 or Fraction(*(under + 1).as_integer_ratio()) == Fraction(3, 2)


@pytest.mark.parametrize("kind", BOTH)
def test_a_finer_grid_costs_little_and_the_noise_tends_to_that_of_reals(kind: type[Any]) -> None:
    errors = [float(kind(1, 1, 0, 100, Fraction(1, 10**k)).error()) for k in range(5)]
    limit = -math.log(0.05) if kind is LaplaceReal else 1.959964 / math.sqrt(2)
    assert errors[-1] == pytest.approx(limit, rel=1e-3)
    assert errors[0] >= errors[-1]


@pytest.mark.parametrize("kind", BOTH)
def test_nonsense_is_refused_by_value(kind: type[Any]) -> None:
    good = [1, 1, 0, 10, 1]
    for place, name in enumerate(["epsilon|rho", "sensitivity", "lower", "upper", "step"]):
        for nonsense in (math.nan, math.inf, "x"):
            with pytest.raises(Refusal, match=name):
                kind(*[nonsense if i == place else given for i, given in enumerate(good)])
        if name not in {"lower", "upper"}:
            for nonsense in (0, -1):
                with pytest.raises(Refusal, match=name):
                    kind(*[nonsense if i == place else given for i, given in enumerate(good)])
    with pytest.raises(Refusal, match="lower < upper"):
        kind(1, 1, 10, 0, 1)
    with pytest.raises(Refusal, match="neighbours"):
        kind(1, 1, 0, 10, 1, "add-remove")
