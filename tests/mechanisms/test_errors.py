"""The stated error of every mechanism, from the law of its noise and what is declared: no less, and no step more.

The laws are summed or enumerated here in doubles, with parameters that bring no probability so near to a confidence
that their last digits would matter. What is a bound and not a law (several draws at once, Hoeffding) is the formula of
docs/proofs.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np
import pytest
from mechanisms.chances import Whatever

from discreet.declared.grid import Grid
from discreet.exact import Number
from discreet.mechanisms.auction import PostedPrice
from discreet.mechanisms.integer_noise import Gaussian, GaussianVector, Geometric, Laplace, LaplaceVector
from discreet.mechanisms.key_selection import GaussianKeys, LaplaceKeys, OptimalKeys
from discreet.mechanisms.mean_and_variance import Mean, Variance
from discreet.mechanisms.median import SmoothMedian, SmoothRank
from discreet.mechanisms.online_weights import OnlineWeights, RefreshedOnlineWeights
from discreet.mechanisms.propose_test_release import ProposedMedian, ProposeTestRelease
from discreet.mechanisms.quantile import Quantile
from discreet.mechanisms.quantile_interval import QuantileEnd
from discreet.mechanisms.quantiles import Quantiles
from discreet.mechanisms.randomized_response import RandomizedResponse
from discreet.mechanisms.rationed_price import RationedPrice
from discreet.mechanisms.real_noise import GaussianReal, LaplaceReal
from discreet.mechanisms.registry import REGISTRY
from discreet.mechanisms.sample_and_aggregate import BlockMean
from discreet.mechanisms.selection import Exponential, PermuteAndFlip, ReportNoisyMax
from discreet.mechanisms.sparse import RefreshedSparseVector, SparseVector
from discreet.mechanisms.topk import ConcentratedTopK, TopK
from discreet.mechanisms.tulap import Tulap
from discreet.privacy import Replace

Held = Callable[[int], float]  # how likely an error of so many steps is enough
CONFIDENCES = [Fraction(1, 2), Fraction(4, 5), Fraction(19, 20), Fraction(999, 1000)]
ELSEWHERE = {"pure-median", "pure-rank"}  # Student's noise states a bound that is not the smallest: test_tails.py
REGIONS = (("region", "north", "south"),)
WIDE = 20_000  # steps of a law that is written out: beyond, no noise below has a weight that a double could tell from 0


class Stated(Protocol):
    """A mechanism that says how far off it is."""

    def error(self, confidence: Number, /) -> Fraction | int: ...


@dataclass(frozen=True)
class Row:
    """A mechanism and the error that it ought to state, by what probability it may be exceeded."""

    mechanism: Stated
    error: Callable[[float], float | Fraction]


def smallest(held: Held, rare: float) -> int:
    """The first number of steps that is enough but for a share `rare`."""
    found = next(a for a in range(WIDE) if 1 - held(a) <= rare)
    assert all(abs(1 - held(a) - rare) > 1e-9 for a in (found, found - 1) if a >= 0), "a matter of the last digits"
    return found


def noise(weight: Callable[[Whatever], Whatever]) -> Held:
    """Pr[|noise| ≤ a] for noise of these weights, symmetric around 0."""
    weights = np.asarray(weight(np.arange(WIDE, dtype=np.float64)))
    within = weights[0] + 2 * np.concatenate([[0.0], np.cumsum(weights[1:])])
    return lambda a: float(within[a] / within[-1])


def laplace(scale: float | Fraction) -> Held:
    return noise(lambda n: np.exp(-n / float(scale)))


def gaussian(variance: float | Fraction) -> Held:
    return noise(lambda n: np.exp(-n * n / (2 * float(variance))))


def of(
    held: Held, step: Fraction | int = 1, *, draws: int = 1, plus: Fraction | int = 0
) -> Callable[[float], Fraction]:
    """The smallest number of steps that is enough for all of several draws, by a union bound."""
    return lambda rare: Fraction(step) * smallest(held, rare / draws) + plus


def exponential(rate: float, candidates: int) -> Held:
    """The best wins, where all others are just too far below it."""
    return lambda a: 1 / (1 + (candidates - 1) * math.exp(-rate * (a + 1)))


def flipped(rate: float, candidates: int) -> Held:
    """The same by permute-and-flip: before the best come 0, 1, … others with equal chances, and all land tails."""

    def held(a: int) -> float:
        return sum((1 - math.exp(-rate * (a + 1))) ** before for before in range(candidates)) / candidates

    return held


def noisy_max(rate: float, candidates: int) -> Held:
    """No other has as much as the best by Laplace noise on both, by a union bound over the others."""
    far = np.arange(-400, 401)
    law = np.exp(-rate * np.abs(far))
    apart = np.convolve(law / law.sum(), law / law.sum())  # of −800, …, 800
    return lambda a: 1 - (candidates - 1) * float(apart[800 + a + 1 :].sum())


def clamped(scale: float, span: int) -> Held:
    """For the worst of the values 0, …, span, the sum being clamped to these."""
    far = np.arange(-400, 401)
    law = np.exp(-np.abs(far) / scale) / np.exp(-np.abs(far) / scale).sum()

    def held(a: int) -> float:
        return min(float(law[np.abs(np.clip(v + far, 0, span) - v) <= a].sum()) for v in range(span + 1))

    return held


def tulap(epsilon: float, cells: int) -> Held:
    """`a` cells on either side of zero, for the difference of two geometric numbers and the middle of a cell."""
    law = {k: math.exp(-epsilon * abs(k)) * math.tanh(epsilon / 2) for k in range(-80, 81)}
    halves = range(1 - cells, cells, 2)  # of cells from zero: the middles
    found = {2 * cells * k + half: chance / cells for k, chance in law.items() for half in halves}
    return lambda a: sum(chance for place, chance in found.items() if abs(place) <= 2 * a)


def named(held: Held, delta: float, groups: int) -> Callable[[float], int]:
    """The units with which a key is named so surely, the threshold being where one alone is named with its δ at most.

    For a law symmetric around 0; keys fail independently.
    """
    alone = 1 - (1 - delta) ** (1 / groups)

    def above(n: int) -> float:
        """Pr[noise > n], n ≥ 0."""
        return (1 - held(n)) / 2

    threshold = next(2 + n for n in range(WIDE) if above(n) <= alone)
    return lambda rare: next(threshold + n for n in range(WIDE) if above(n) <= rare)


def best_named(epsilon: float, delta: float) -> Callable[[float], int]:
    """π(n+1) is the most that (ε, δ) allows after π(n), by either outcome."""

    def units(rare: float) -> int:
        chance, n = 0.0, 0
        while 1 - chance > rare:
            said, unsaid = math.exp(epsilon) * chance + delta, math.exp(-epsilon) * (1 - chance - delta)
            chance, n = min(said, 1 - unsaid, 1.0), n + 1
        return n

    return units


def ranked(rate: Fraction, candidates: int, level: Fraction) -> Callable[[float], Fraction]:
    """Rows that a choice by rank misses: all data in one point, and the others just too far, in 1/denominator rows."""
    return of(exponential(float(rate) / level.denominator, candidates), Fraction(1, level.denominator))


def end(rate: Fraction, cells: int, level: Fraction, sure: Fraction, between: Fraction) -> Callable[[float], Fraction]:
    """The target is beyond by what may be missed at the end's own confidence, and by what interpolation takes."""
    missed = ranked(rate, cells, level)
    shift = math.ceil(missed(float(1 - sure)) + between)
    return lambda rare: shift + missed(rare)


def quartiles(epsilon: Fraction, candidates: int) -> Callable[[float], Fraction]:
    """Of up to 2^30 rows in 2^30 parts: first the median, then both sides of it, each at ε/2; three may fail."""

    def missed(rare: float) -> Fraction:
        first = 1 + math.ceil(math.log(candidates * 2**30 * 3 / rare) / float(epsilon / 2))
        return max(Fraction(first), Fraction(first) / 2 + ranked(epsilon / 2, candidates, Fraction(1, 2))(rare / 3))

    return missed


def sparse(
    thresholds: int, theta: float, questions: int, each: float, numbers: tuple[int, float] | None = None
) -> Callable[[float], int]:
    """All draws of a session at once, kinds sharing evenly what may fail: a threshold with a question, or a number."""

    def error(rare: float) -> int:
        share = rare / (2 if numbers is None else 3)
        compared = smallest(laplace(theta), share / thresholds) + smallest(laplace(each), share / questions)
        return compared if numbers is None else max(compared, smallest(laplace(numbers[1]), share / numbers[0]))

    return error


def beyond(threshold: int, error: Callable[[float], int]) -> Callable[[float], int]:
    """An easy answer may be off by the threshold as well."""
    return lambda rare: threshold + error(rare)


def hoeffding(epsilon: float, choices: int, people: int) -> Callable[[float], float]:
    truth = math.exp(epsilon) / (math.exp(epsilon) + choices - 1)
    gap = truth - (1 - truth) / (choices - 1)
    return lambda rare: math.sqrt(math.log(2 / rare) / (2 * people)) / gap


@dataclass(frozen=True)
class Crowd:
    """Randomized response of so many people, and what is said of the share that is estimated from it."""

    mechanism: RandomizedResponse
    people: int

    def error(self, confidence: Number, /) -> Fraction:
        return self.mechanism.error(confidence, self.people)


HALF, THIRD, TENTH = Fraction(1, 2), Fraction(1, 3), Fraction(1, 10)
UNEVEN = (Fraction("0.03"), Fraction("9.99"), TENTH)  # 0.1 to 9.9 on the grid: 9.99 counts as 9.9
BELOW_ZERO = (Fraction(-7), Fraction(3), HALF)  # 20 steps
RARE = Fraction(1, 10**4)
ROWS = [
    Row(Laplace.of(THIRD, 4), of(laplace(12))),
    Row(LaplaceVector.of(THIRD, 4), of(laplace(12))),
    Row(Gaussian.of(Fraction(1, 50), 2), of(gaussian(100))),
    Row(GaussianVector.of(Fraction(1, 50), 4), of(gaussian(100))),
    Row(Gaussian.of(Fraction(1, 8), 15), of(gaussian(900))),
    Row(LaplaceReal(THIRD, Fraction("0.31"), *UNEVEN), of(laplace(12), TENTH, plus=Fraction("0.09"))),
    Row(LaplaceReal(THIRD, Fraction("0.4"), Fraction(0), Fraction(5), TENTH), of(laplace(12), TENTH, plus=TENTH / 2)),
    Row(GaussianReal(Fraction(1, 8), Fraction("0.31"), *UNEVEN), of(gaussian(64), TENTH, plus=Fraction("0.09"))),
    Row(Geometric.of(HALF, -3, 4), of(clamped(2, 7))),
    Row(Geometric.of(HALF, -3, 20, 3), of(clamped(6, 23))),
    Row(Geometric.of(HALF, 0, 90), of(clamped(2, 90))),
    Row(Tulap(HALF, bits=2), of(tulap(0.5, 4), Fraction(1, 4), plus=Fraction(-1, 8))),
    Row(Exponential(HALF, 9, 2), of(exponential(1 / 8, 9))),
    Row(Exponential(HALF, 9, 2, monotone=True), of(exponential(1 / 4, 9))),
    Row(PermuteAndFlip(HALF, 9, 2), of(flipped(1 / 8, 9))),
    Row(ReportNoisyMax(HALF, 9, 2), of(flipped(1 / 8, 9))),
    Row(ReportNoisyMax(HALF, 9, noise="laplace"), of(noisy_max(1 / 4, 9))),
    Row(TopK(HALF, 9, 3), of(flipped(1 / 12, 9), draws=3)),
    Row(ConcentratedTopK(HALF, 9, 3, 2), of(exponential(math.sqrt(8 / 6) / 4, 9), draws=3)),
    Row(PostedPrice(HALF, 1, 9, 2), of(flipped(1 / 18, 5))),
    Row(RationedPrice(HALF, 1, 9, 2, supply=3), of(flipped(1 / 18, 5))),
    Row(PostedPrice(HALF, 1, 9, 2, "exponential"), of(exponential(1 / 18, 5))),
    Row(BlockMean(THIRD, *BELOW_ZERO, 8), of(laplace(60), HALF / 8)),
    Row(Mean.of(Grid(*BELOW_ZERO), THIRD, 2), of(laplace(120), HALF, draws=2)),
    Row(Variance.of(Grid(0, 5, HALF), THIRD), of(laplace(300), HALF**2 * Fraction(25, 16), draws=3)),
    Row(Quantile.of(Fraction(2, 7), Grid(*BELOW_ZERO), HALF), ranked(Fraction(7, 20), 21, Fraction(2, 7))),
    Row(Quantile.of(HALF, Grid(0, 999, 1), THIRD, Replace()), ranked(Fraction(1, 6), 1000, HALF)),
    Row(Quantiles.of((Fraction(2, 7),), Grid(*BELOW_ZERO), HALF), ranked(Fraction(7, 20), 21, Fraction(2, 7))),
    Row(Quantiles.of((HALF / 2, HALF, 3 * HALF / 2), Grid(*BELOW_ZERO), 3), quartiles(Fraction(3), 21)),
    Row(Quantiles.of((HALF / 2, HALF, 3 * HALF / 2), Grid(0, 10**7, 1), 3), quartiles(Fraction(3), 10**7 + 1)),
    Row(
        QuantileEnd(HALF, Fraction(0), Fraction(12), Fraction(1), Fraction(5), Fraction(1, 5), Fraction(39, 40)),
        end(Fraction(5, 16), 13, Fraction(1, 5), Fraction(39, 40), Fraction(6, 5)),
    ),
    Row(
        QuantileEnd(HALF, Fraction(0), Fraction(12), Fraction(1), Fraction(5), Fraction(1, 5), HALF, "upper", 2),
        end(Fraction(5, 32), 13, Fraction(1, 5), HALF, Fraction(9, 5)),
    ),
    Row(SmoothMedian(HALF, RARE, *BELOW_ZERO), lambda rare: min(Fraction(10), of(laplace(80), HALF)(rare))),
    Row(SmoothRank(Fraction(9), RARE, *BELOW_ZERO, 2, 5), lambda r: min(Fraction(10), of(laplace(40 / 9), HALF)(r))),
    Row(ProposeTestRelease(HALF, THIRD, RARE, 5), of(laplace(15))),
    Row(
        ProposedMedian(HALF, Fraction(2), RARE, Fraction(2), *BELOW_ZERO),
        lambda rare: min(Fraction(10), of(laplace(2), HALF)(rare)),
    ),
    Row(SparseVector(HALF, THIRD, 3, 2, 4, questions=40), sparse(1, 8, 40, 48)),
    Row(SparseVector(HALF, THIRD, 3, 2, monotone=True, questions=40), sparse(1, 2, 40, 6)),
    Row(SparseVector(HALF, THIRD, 3, 2, 1, TENTH, questions=40), sparse(1, 2, 40, 12, (2, 20))),
    Row(SparseVector(HALF, THIRD, 3, 2, 1, TENTH / 10, questions=40), sparse(1, 2, 40, 12, (2, 200))),
    Row(RefreshedSparseVector(HALF, 3, 5, questions=40), sparse(5, 20, 40, 40)),
    Row(RefreshedSparseVector(HALF, 3, 5, epsilon_numbers=TENTH / 2, questions=40), sparse(5, 20, 40, 40, (5, 100))),
    Row(OnlineWeights(REGIONS, HALF, THIRD, TENTH, 30, 100, 2, 4, 40), beyond(30, sparse(1, 8, 40, 48, (2, 80)))),
    Row(
        RefreshedOnlineWeights(REGIONS, HALF, TENTH, 30, 100, 5, questions=40),
        beyond(30, sparse(5, 20, 40, 40, (5, 50))),
    ),
    Row(LaplaceKeys(HALF, RARE), named(laplace(2), 1e-4, 1)),
    Row(LaplaceKeys(HALF, RARE, 3), named(laplace(6), 1e-4, 3)),
    Row(GaussianKeys(Fraction(1, 50), RARE, 3), named(gaussian(75), 1e-4, 3)),
    Row(OptimalKeys(HALF, RARE), best_named(0.5, 1e-4)),
    Row(OptimalKeys(HALF, RARE, 3), best_named(0.5 / 3, 1 - (1 - 1e-4) ** (1 / 3))),
]
CROWDS = [Row(Crowd(RandomizedResponse(Fraction(1), k), n), hoeffding(1, k, n)) for k, n in [(2, 1), (2, 90), (5, 8)]]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: repr(row.mechanism)[:60])
def test_the_error_is_the_smallest_that_the_law_allows(row: Row) -> None:
    stated = [row.mechanism.error(confidence) for confidence in CONFIDENCES]
    assert stated == [row.error(float(1 - confidence)) for confidence in CONFIDENCES]


@pytest.mark.parametrize("row", CROWDS, ids=lambda row: repr(row.mechanism))
def test_the_error_of_a_share_is_hoeffding_s_for_both_sides(row: Row) -> None:
    for confidence in CONFIDENCES:
        assert float(row.mechanism.error(confidence)) == pytest.approx(row.error(float(1 - confidence)), rel=1e-12)


def test_every_mechanism_is_here() -> None:
    known = {type(row.mechanism) for row in ROWS} | {RandomizedResponse}
    ours = {name: kind for name, kind in REGISTRY.items() if kind.__module__.startswith("discreet.mechanisms.")}
    assert {name for name, kind in ours.items() if kind not in known} == ELSEWHERE


@pytest.mark.parametrize("variance", [1500, 90_000])
def test_where_gaussian_noise_is_wide_one_step_more_may_be_stated(variance: int) -> None:
    for confidence in CONFIDENCES:
        least = smallest(gaussian(variance), float(1 - confidence))
        assert least <= Gaussian(Fraction(variance)).error(confidence) <= least + 1


@pytest.mark.parametrize(("span", "rows"), list(itertools.product([1, 20], [1, 30, 4000])))
def test_the_error_for_a_known_number_of_rows_follows_from_the_noise_on_all_sums(span: int, rows: int) -> None:
    """docs/proofs/moments.md: |mean − truth| ≤ α/n̂ with n̂ ≥ n − 2α/s, and for the variance ξ = α/(ns² − 3α)."""
    mean, variance = (kind.of(Grid(0, span, 1), 1) for kind in (Mean, Variance))
    for confidence in CONFIDENCES:
        rare = float(1 - confidence)
        two = smallest(laplace(span), rare / 2)
        less = rows - Fraction(2 * two, span)
        assert mean.error_for(rows, confidence) == (min(Fraction(span), two / less) if less > 0 else span)
        three = smallest(laplace(span**2), rare / 3)
        left = rows * span**2 - 3 * three
        off = Fraction(three, left) if left > 0 else Fraction(1)
        expected = span**2 * min(Fraction(1, 4), off + Fraction(9, 4) * off**2)
        assert variance.error_for(rows, confidence) == expected
