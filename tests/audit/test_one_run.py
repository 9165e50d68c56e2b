"""The audit with one run: its chance by enumeration, no false alarms at the boundary, power as computed, and uses."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from covering import Coverage
from doubles import Seeded
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, stats

from discreet.audit import OneRun, audit_one_run, one_run_bound
from discreet.audit.one_run import one_run_chance
from discreet.audit.probability_bounds import exactly
from discreet.errors import Refusal
from discreet.mechanisms import CellCount, Gaussian, LaplaceVector, OnlineWeights, RandomizedResponse
from discreet.noise import Entropy
from discreet.privacy import Approximate, Concentrated, Pure
from discreet.release.marginals import FourierMarginals

ALPHA = Fraction(1, 20)
ONE = Fraction(1)


# the bound ------------------------------------------------------------------------------------------------------------


def best(right: int, guesses: int, epsilon: float, budget: float) -> float:
    """The linear program that the proof ends with, by somebody else's solver."""
    q = math.exp(epsilon) / (1 + math.exp(epsilon))
    law = [stats.binom.pmf(right - short, guesses, q) for short in range(1, right + 1)]
    lifted = 0.0
    if law:
        shorts = np.arange(1, right + 1)
        found = optimize.linprog(-np.ones(right), A_ub=shorts[None, :], b_ub=[budget], bounds=[(0, p) for p in law])
        lifted = -float(found.fun)
    return min(1.0, float(stats.binom.sf(right - 1, guesses, q)) + lifted)


@pytest.mark.parametrize(
    ("right", "guesses", "canaries"), [(0, 5, 5), (3, 5, 9), (40, 50, 200), (70, 100, 1000), (300, 400, 900)]
)
@pytest.mark.parametrize("epsilon", [0, 1, 3])
@pytest.mark.parametrize("delta", [0, Fraction(1, 10**5), Fraction(1, 300)])
def test_the_chance_is_the_binomial_tail_and_what_delta_lifts(
    right: int, guesses: int, canaries: int, epsilon: int, delta: Fraction
) -> None:
    found = float(one_run_chance(right, guesses, canaries, Fraction(epsilon), Fraction(delta)))
    meant = best(right, guesses, epsilon, canaries * float(delta) / 2)
    assert found == pytest.approx(meant, rel=1e-6, abs=1e-12)


@given(st.integers(1, 60), st.data())
def test_one_outcome_is_as_likely_as_scipy_says(trials: int, data: st.DataObject) -> None:
    hits, p = data.draw(st.integers(0, trials)), data.draw(st.fractions(Fraction(1, 100), Fraction(99, 100)))
    assert float(exactly(hits, trials, p)) == pytest.approx(stats.binom.pmf(hits, trials, float(p)), rel=1e-9)


@given(st.integers(1, 40), st.data())
def test_more_right_guesses_prove_more_and_more_delta_proves_less(guesses: int, data: st.DataObject) -> None:
    right = data.draw(st.integers(0, guesses - 1))
    bounds = [one_run_bound(hits, guesses, 50) for hits in (right, right + 1)]
    assert bounds == sorted(bounds)
    assert one_run_bound(right, guesses, 50, Fraction(1, 1000)) <= bounds[0]
    if bounds[0]:
        assert one_run_chance(right, guesses, 50, bounds[0], Fraction(0)) <= ALPHA
        assert one_run_chance(right, guesses, 50, bounds[0] + Fraction(1, 1000), Fraction(0)) > ALPHA


def greedy(right: int, many: int, delta: float, epsilon: float) -> float:
    """The tail, and what the budget lifts, the cheapest outcomes first: in floats, by another library."""
    q, short = 1 / (1 + math.exp(-epsilon)), np.arange(1, right + 1)
    law = stats.binom.pmf(right - short, many, q)
    paid = np.cumsum(short * law)
    whole = int(np.searchsorted(paid, many * delta / 2))
    rest = many * delta / 2 - (paid[whole - 1] if whole else 0)
    lifted = float(law[:whole].sum()) + (rest / short[whole] if whole < right else 0)
    return float(stats.binom.sf(right - 1, many, q)) + lifted


@pytest.mark.parametrize("epsilon", [1, 3, 5])
def test_far_beyond_the_mean_the_chance_is_still_at_least_what_the_budget_lifts(epsilon: int) -> None:
    many = 20_000
    found = float(one_run_chance(many, many, many, Fraction(epsilon), Fraction("0.001")))
    meant = greedy(many, many, 0.001, epsilon)
    assert 0 < meant <= found <= 2 * meant


@pytest.mark.parametrize(
    ("right", "delta"),
    [
        *(pytest.param(*each, marks=pytest.mark.slow) for each in ((732_000, 1e-5), (733_000, 1e-4), (760_000, 1e-3))),
        (10**6, 1e-5),
    ],
)
def test_a_million_canaries_are_bounded_as_scipy_says(right: int, delta: float) -> None:
    """The greedy sum in floats, at the ε that was proven: there the chance is alpha, and just above it is more."""
    many = 10**6
    proven = float(one_run_bound(right, many, many, str(delta)))

    assert proven > 0
    assert greedy(right, many, delta, proven - 1e-5) <= float(ALPHA)
    slack = 0.001 if right < many else 0.02  # what is far beyond the mean is bounded with a little given away
    assert greedy(right, many, delta, proven + slack) > float(ALPHA)


def test_no_private_channel_is_guessed_more_often_than_the_proof_says() -> None:
    """Every coordinate a leaky response, all outcomes enumerated: the adversary knows each law, and it is (ε, δ) tight.

    With δ the truth leaves as it is; else randomized response at ε. So a guess is right with δ + (1 − δ) q.
    """
    for canaries, epsilon, delta in itertools.product((3, 8), (0.0, 0.7, 2.0), (0.0, 0.01, 0.2)):
        q = math.exp(epsilon) / (1 + math.exp(epsilon))
        right = delta + (1 - delta) * q
        for hits in range(canaries + 1):
            true = float(stats.binom.sf(hits - 1, canaries, right))
            bound = float(one_run_chance(hits, canaries, canaries, Fraction(epsilon), Fraction(delta)))
            assert true <= bound + 1e-12


# the audit ------------------------------------------------------------------------------------------------------------


def noisy_cells(scale: Fraction, many: int, rng: Entropy) -> Callable[[Sequence[int]], np.ndarray]:
    """Each canary lies in a cell of its own, whose count has Laplace noise."""

    def train(inside: Sequence[int]) -> np.ndarray:
        return LaplaceVector(scale, many)(np.bincount(np.array(inside, dtype=np.int64), minlength=many), rng=rng)

    return train


def value(output: np.ndarray, canary: int) -> float:
    return float(output[canary])


def power(least: int, many: int, scale: float, runs: int) -> float:
    """How often `least` guesses or more are right, by the same rule in plain numpy: upper half in, lower half out."""
    rng, q = np.random.default_rng(1), math.exp(-1 / scale)
    coins = rng.random((runs, many)) < 0.5
    noise = rng.geometric(1 - q, (runs, many)) - rng.geometric(1 - q, (runs, many))
    order = np.argsort(coins + noise + rng.random((runs, many)) / 2, axis=1)
    ranked = np.take_along_axis(coins, order, axis=1)
    right = ranked[:, many // 2 :].sum(axis=1) + (~ranked[:, : many // 2]).sum(axis=1)
    return float((right >= least).mean())


def test_an_honest_laplace_sum_is_not_refuted_and_half_its_noise_is() -> None:
    many = 2000
    honest = audit_one_run(noisy_cells(ONE, many, Seeded(1)), range(many), value, Pure(1), rng=Seeded(2))
    assert not honest.refuted
    assert honest.epsilon > Fraction(1, 2)
    halved = audit_one_run(noisy_cells(ONE / 2, many, Seeded(1)), range(many), value, Pure(1), rng=Seeded(2))
    assert halved.refuted
    assert "Pure(epsilon=1) is refuted" in str(halved)
    assert "power: if all guesses were right" in str(halved)


def test_a_claim_is_refuted_by_more_than_it_says_and_not_by_as_much() -> None:
    run = OneRun(10, 10, 9, ONE, ONE, Fraction(0), Pure(1), ONE, ALPHA)
    assert not run.refuted
    assert replace(run, epsilon=ONE + Fraction(1, 10**9)).refuted
    assert not replace(run, claim=None, claimed=None).refuted


def test_it_refutes_as_often_as_it_should() -> None:
    """Half the noise, 60 canaries: as often as plain numpy says, which is off by less than 1 %."""
    many, runs = 60, 300
    least = next(hits for hits in range(many + 1) if one_run_bound(hits, many, many) > 1)
    meant = power(least, many, 0.5, 100_000)
    seen = sum(
        audit_one_run(noisy_cells(ONE / 2, many, Seeded(s)), range(many), value, Pure(1), rng=Seeded(9000 + s)).refuted
        for s in range(runs)
    )
    assert meant > 0.3
    assert not Coverage(seen, runs).refuted(meant - 0.01)
    assert not Coverage(seen, runs).exceeded(meant + 0.01)


def answered(rng: Entropy) -> Callable[[Sequence[int]], list[bool]]:
    """Every canary answers for itself, by randomized response at ε = 1: what is claimed is attained."""
    response = RandomizedResponse(ONE)

    def train(inside: Sequence[int]) -> list[bool]:
        there = set(inside)
        return [bool(response(int(i in there), rng=rng)) for i in range(30)]

    return train


@pytest.mark.slow
def test_false_alarms_at_the_boundary_are_no_more_than_alpha() -> None:
    """10,000 audits of a claim that is attained: alarms at 5 % are as many as 5 % allows, tested at 1e-9."""
    alarms = sum(
        audit_one_run(
            answered(Seeded(s)), range(30), lambda said, i: float(said[i]), Pure(1), rng=Seeded(50_000 + s)
        ).refuted
        for s in range(10_000)
    )
    assert not Coverage(alarms, 10_000).exceeded(ALPHA)
    assert alarms > 0  # it is no deaf test


def test_an_honest_gaussian_sum_is_not_refuted_on_its_curve() -> None:
    """All canaries in one sum of many coordinates, 40 random directions of ±1 in each: a vector of sensitivity √64."""
    rng = np.random.default_rng(3)
    directions = rng.choice([-1, 1], (40, 64))
    honest = Gaussian.of("0.5", 8)

    def train(inside: Sequence[int]) -> np.ndarray:
        total = directions[list(inside)].sum(axis=0)
        return np.array([honest(int(each), rng=Seeded(17 + i)) for i, each in enumerate(total)])

    def score(output: np.ndarray, canary: int) -> float:
        return float(output @ directions[canary])

    verdict = audit_one_run(train, range(40), score, Concentrated("0.5"), delta="1e-5", guesses=20, rng=Seeded(5))
    assert not verdict.refuted
    assert verdict.claimed is not None
    assert Concentrated("0.5").delta_at(verdict.claimed) <= Fraction(1, 10**5)


# uses -----------------------------------------------------------------------------------------------------------------


def weighed(claimed: Fraction, actual: Fraction) -> OneRun:
    """Multiplicative weights online: one canary in each of 64 cells, each asked once, ten answers hard."""
    names = [f"{i}" for i in range(64)]
    mechanism = OnlineWeights.of(actual, [["cell", *names]], 32, 64, threshold=1, questions=64)

    def train(inside: Sequence[int]) -> list[int]:
        there = set(inside)
        said = mechanism([CellCount(int(i in there), 1 << i) for i in range(64)], rng=Seeded(3))
        return [answer.number for answer in said] + [0] * (64 - len(said))

    return audit_one_run(train, range(64), lambda said, i: float(said[i]), Pure(claimed), rng=Seeded(4))


def test_multiplicative_weights_online_keep_their_promise() -> None:
    assert not weighed(ONE, ONE).refuted
    assert weighed(ONE, Fraction(1000)).refuted


def marginal(claimed: Fraction, actual: Fraction) -> OneRun:
    """A table of one column of 128 keys, one canary in each cell, released through the Fourier domain."""
    mechanism = FourierMarginals(("key",), (128,), (("key",),), actual)

    def train(inside: Sequence[int]) -> np.ndarray:
        counts = np.bincount(np.array(inside, dtype=np.int64), minlength=128)
        return mechanism({("key",): counts}, rng=Seeded(6)).table(("key",))

    return audit_one_run(train, range(128), value, Pure(claimed), rng=Seeded(8))


def test_marginals_keep_their_promise() -> None:
    assert not marginal(ONE, ONE).refuted
    assert marginal(ONE, Fraction(40)).refuted


# refusals -------------------------------------------------------------------------------------------------------------


def test_what_cannot_be_audited_is_refused() -> None:
    def train(inside: Sequence[int]) -> list[int]:
        return list(inside)

    with pytest.raises(Refusal, match="at most 3 guesses"):
        audit_one_run(train, range(3), lambda _, i: i, guesses=4)
    with pytest.raises(Refusal, match="not a number"):
        audit_one_run(train, range(3), lambda *_: float("nan"))
    with pytest.raises(Refusal, match="is a curve"):
        audit_one_run(train, range(3), lambda _, i: i, Concentrated(1))
    with pytest.raises(Refusal, match="number of canaries"):
        audit_one_run(train, [], lambda _, i: i)
    with pytest.raises(Refusal, match="right <= guesses"):
        one_run_bound(4, 3, 3)
    assert audit_one_run(train, range(3), lambda _, i: i, Approximate(1, "1e-6")).delta == Fraction(1, 10**6)


def test_who_abstains_is_judged_on_what_he_says() -> None:
    """Of 400 canaries 40 shout and the others are never told: 40 guesses are right, and prove what 40 can."""

    def train(inside: Sequence[int]) -> set[int]:
        return {canary for canary in inside if canary < 40}

    def score(told: set[int], canary: int) -> float:
        return 0.0 if canary >= 40 else 1.0 if canary in told else -1.0

    few = audit_one_run(train, range(400), score, Pure(1), guesses=20, rng=Seeded(1))
    assert (few.right, few.refuted) == (20, True)
    assert few.epsilon == few.detectable
    every = audit_one_run(train, range(400), score, Pure(1), rng=Seeded(1))
    assert not every.refuted
