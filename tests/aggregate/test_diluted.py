"""Diluted noise: its law, the privacy of sums of it by exact enumeration, and its error."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from covering import Coverage
from doubles import Seeded
from scipy import stats

from discreet.aggregate import DilutedGeometric
from discreet.errors import Refusal
from discreet.privacy import Approximate

HALF = Fraction(1, 2)


def law(scale: float, chance: float, people: int, reach: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Probabilities of the noise of so many people, from −reach·people on."""
    q = math.exp(-1 / scale)
    one = chance * (1 - q) / (1 + q) * q ** np.abs(np.arange(-reach, reach + 1))
    one[reach] += 1 - chance
    whole = np.ones(1)
    for _ in range(people):
        whole = np.convolve(whole, one)
    return whole


def exceeds(noise: DilutedGeometric, honest: int, chance: float) -> float:
    """The δ of this ε of a sum over so many honest people, one of whom replaces 0 by the limit."""
    at = law(float(noise.scale), chance, honest, 150)
    moved = np.concatenate([np.zeros(noise.limit), at])
    at = np.concatenate([at, np.zeros(noise.limit)])
    return float(np.maximum(0, at - math.exp(float(noise.epsilon)) * moved).sum())


@pytest.mark.parametrize(
    ("epsilon", "delta", "people", "limit", "honest"), [(1, "0.05", 6, 1, "0.5"), (1, "0.1", 8, 2, "0.25")]
)
def test_the_honest_alone_make_a_sum_private_and_one_fewer_would_not(
    epsilon: int, delta: str, people: int, limit: int, honest: str
) -> None:
    noise = DilutedGeometric.of(epsilon, delta, people, limit, honest=honest)
    chance = float(noise.chance)
    assert exceeds(noise, noise.honest, chance) <= float(noise.delta)
    assert exceeds(noise, noise.honest - 1, chance) > float(noise.delta)
    assert exceeds(noise, noise.honest, chance / 2) > float(noise.delta)
    assert noise.privacy == Approximate(epsilon, delta)


@pytest.mark.parametrize(("delta", "honest"), [("1e-6", 1), ("1e-6", 700), ("0.3", 12), ("1e-30", 10**6)])
def test_the_chance_is_the_least_that_leaves_no_sum_without_noise(delta: str, honest: int) -> None:
    noise = DilutedGeometric(Fraction(1), Fraction(delta), honest, honest)
    quiet = honest * math.log1p(-float(noise.chance)) if noise.chance < 1 else -math.inf
    assert quiet <= math.log(Fraction(delta)) * (1 - 1e-9)
    assert quiet >= math.log(Fraction(delta)) * (1 + 1e-9)
    assert (noise.chance * 2**64).denominator == 1


def test_without_a_delta_everybody_adds_noise() -> None:
    assert DilutedGeometric.of(1, 0, 10).chance == 1


def test_draws_follow_their_law_and_no_other() -> None:
    noise, size = DilutedGeometric(Fraction(1), Fraction(1, 4), 2, 2, 2), 20_000
    rng = Seeded(1)
    found = np.array([noise.draw(rng=rng) for _ in range(size)])

    def fits(scale: float, chance: float) -> bool:
        below = np.cumsum(law(scale, chance, 1, 30))
        seen = np.array([(found <= edge).mean() for edge in range(-30, 31)])
        return float(np.abs(below - seen).max()) <= math.sqrt(math.log(2 / 1e-9) / (2 * size))

    assert fits(2.0, 0.5)
    assert not any(fits(*other) for other in ((1.4, 0.5), (2.6, 0.5), (2.0, 0.35), (2.0, 0.65)))


@pytest.mark.parametrize("honest", ["1", "0.3"])
def test_the_error_is_that_of_the_formula_and_the_bound_covers(honest: str) -> None:
    noise = DilutedGeometric.of(HALF, "1e-3", 200, 5, honest=honest)
    runs = 3000
    random = np.random.default_rng(5)  # the law of a draw is tested above; here only sums of it
    drawn = random.geometric(1 - math.exp(-1 / float(noise.scale)), (2, runs, 200)) - 1
    sums = ((drawn[0] - drawn[1]) * (random.random((runs, 200)) < float(noise.chance))).sum(1)
    assert abs(float(sums.std()) / noise.deviation - 1) < 0.1
    for confidence in (0.5, 0.95):
        hits = int((np.abs(sums) <= noise.error(confidence)).sum())
        assert not Coverage(hits, runs).refuted(confidence)
    assert noise.error(0.95) < 3.4 * noise.deviation


def test_the_bound_holds_for_the_exact_law_of_a_small_sum() -> None:
    noise = DilutedGeometric(Fraction(1), Fraction(1, 10), 5, 3)
    whole = law(1.0, float(noise.chance), 5, 80)
    for confidence in (0.8, 0.99, 0.9999):
        alpha = noise.error(confidence)
        assert float(whole[400 - alpha : 401 + alpha].sum()) >= confidence - 1e-12
    errors = [noise.error(1 - Fraction(1, 10**k)) for k in range(1, 12)]
    assert all(before < after for before, after in pairwise(errors))


def test_a_million_people_have_the_deviation_of_five() -> None:
    """√(ln(1/δ)) deviations of the noise that a curator would add, whatever the number of people."""
    for people in (100, 10**4, 10**6):
        curator = float(stats.dlaplace(1.0).std())
        found = DilutedGeometric.of(1, "1e-6", people).deviation
        assert found == pytest.approx(math.sqrt(math.log(10**6)) * curator, rel=0.07)


def test_what_is_no_noise_is_refused() -> None:
    with pytest.raises(Refusal, match="honest <= people"):
        DilutedGeometric(Fraction(1), HALF, 5, 6)
    for wrong in ("0", "1.5"):
        with pytest.raises(Refusal, match="0 < honest <= 1"):
            DilutedGeometric.of(1, "1e-6", 10, honest=wrong)
    with pytest.raises(Refusal, match="epsilon > 0"):
        DilutedGeometric.of(0, "1e-6", 10)


@pytest.mark.parametrize(("people", "limit"), [(10, 3), (10**9, 10**6), (10**12, 10**6)])
def test_an_error_is_chernoffs_bound_however_little_each_person_adds(people: int, limit: int) -> None:
    """Against sixty digits: with one honest person of very many the best exponent is next to nothing."""
    stated = DilutedGeometric(Fraction(1), Fraction(1, 10**9), people, 1, limit).error()
    with localcontext() as digits:
        digits.prec = 60
        rate, chance, rare = 1 / Decimal(limit), 1 - 1 / Decimal(10**9), Decimal("0.05")
        q = (-rate).exp()

        def bound(part: float) -> Decimal:
            tilt = Decimal(part) * rate
            moment = (1 - q) ** 2 / ((1 - q * tilt.exp()) * (1 - q * (-tilt).exp()))
            return ((2 / rare).ln() + people * (1 + chance * (moment - 1)).ln()) / tilt

        low, high = 1e-9, 0.999
        for _ in range(120):
            left, right = low + (high - low) * 0.382, low + (high - low) * 0.618
            low, high = (low, right) if bound(left) < bound(right) else (left, high)
        least = bound(low)
        assert least <= stated <= least * (1 + Decimal("1e-8")) + 1
