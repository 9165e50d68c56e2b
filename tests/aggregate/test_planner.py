"""The planner: its forecasts against simulated schemes, its choice against the best of them, and when it says local."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from aggregate.test_block_tree import simulated
from scipy import stats

from discreet.aggregate import TreeSum, plan
from discreet.aggregate.scheme_comparison import crowd_epsilon, curator_deviation, local_deviation
from discreet.errors import Refusal
from discreet.privacy import Approximate, Concentrated
from discreet.privacy.calibrate import concentrated_for

DELTA = Fraction(1, 10**6)


def best(people: int, failures: int, **given: object) -> str:
    return plan(people, failures, 1, DELTA, **given)[0].scheme  # type: ignore[arg-type]


def runs_of(scheme: str, people: int, failures: int) -> float:
    """The deviation of a scheme's sum in simulation, each from the law of what one person adds."""
    random, runs = np.random.default_rng(9), 1500
    live = people - failures
    rho = float(concentrated_for(1, DELTA).rho)
    if scheme == "diluted":
        chance = 1 - float(DELTA) ** (1 / people)
        draws = random.geometric(1 - math.exp(-1), (2, runs, people))
        return float(((draws[0] - draws[1]) * (random.random((runs, people)) < chance)).sum(1).std())
    if scheme in ("gaussian", "masked"):
        each = math.sqrt(1 / (2 * rho * live))  # noise is measured for the fewest survivors, and all are honest
        return float(random.normal(0, each, (runs, live)).sum(1).std())
    if scheme in ("local", "shuffled"):
        own = math.exp(1 if scheme == "local" else crowd_epsilon(live, Fraction(1), DELTA))
        truth = own / (1 + own)
        ones = random.binomial(live // 2, truth, runs) + random.binomial(live - live // 2, 1 - truth, runs)
        return float(((ones - live * (1 - truth)) / (2 * truth - 1)).std())
    price = Approximate(1, DELTA) if scheme == "tree" else Concentrated(concentrated_for(1, DELTA).rho)
    return simulated(TreeSum("plan", 1 << (people - 1).bit_length(), price), people, failures, 400, 4)


@pytest.mark.parametrize(("people", "failures"), [(64, 0), (100, 5), pytest.param(200, 60, marks=pytest.mark.slow)])
def test_forecasts_are_those_of_simulation_and_the_choice_is_the_best(people: int, failures: int) -> None:
    forecasts = [one for one in plan(people, failures, 1, DELTA, mixer=True) if one.deviation is not None]
    seen = {one.scheme: runs_of(one.scheme, people, failures) for one in forecasts}
    for one in forecasts:
        assert seen[one.scheme] == pytest.approx(one.deviation, rel=0.12)
    assert seen[forecasts[0].scheme] <= 1.1 * min(seen.values())


def leaked(people: int, own: float, epsilon: float) -> float:
    """The δ that the number of ones among randomized bits has, at the worst answers of all others, by adding up."""
    truth = math.exp(own) / (1 + math.exp(own))
    worst = 0.0
    for ones in range(people):
        others = np.convolve(
            stats.binom.pmf(range(ones + 1), ones, truth),
            stats.binom.pmf(range(people - ones), people - 1 - ones, 1 - truth),
        )
        one, none = (np.convolve(others, law) for law in ([1 - truth, truth], [truth, 1 - truth]))
        for here, there in ((one, none), (none, one)):
            worst = max(worst, float(np.maximum(0, here - math.exp(epsilon) * there).sum()))
    return worst


@pytest.mark.parametrize("people", [40, pytest.param(200, marks=pytest.mark.slow)])
def test_bits_that_are_mixed_keep_the_promise_and_hardly_more(people: int) -> None:
    own = float(crowd_epsilon(people, Fraction(1), DELTA))
    assert own > 1
    assert leaked(people, own, 1) <= DELTA < leaked(people, own + 0.5, 1)
    assert crowd_epsilon(1, Fraction(1), DELTA) == 1


def test_failures_end_what_needs_everybody() -> None:
    assert {one.scheme for one in plan(100, 1, 1, DELTA) if one.deviation is None} == {"diluted", "gaussian"}
    assert best(100, 1) == "masked"
    assert best(10, 9) == "local"  # so few survive that no masks come off


def test_masks_of_very_many_people_are_in_groups_with_room_for_more_failures_than_are_expected() -> None:
    masked = next(one for one in plan(10_000, 1_000, 1, DELTA) if one.scheme == "masked")
    rho = float(concentrated_for(1, DELTA).rho)
    assert masked.remark == "in 10 groups"  # of a thousand: a hundred fail as a rule, and up to 140 may
    assert masked.deviation == pytest.approx(math.sqrt(10 * 900 / (2 * rho * 860)))


def test_when_a_tree_loses_to_local_response() -> None:
    """The finding of the tree's own successors: it needs a million people, and few failures."""

    def tree_wins(scheme: str, people: int, failures: int) -> bool:
        found = {one.scheme: one.deviation for one in plan(people, failures, 1, DELTA)}
        tree, local = found[scheme], found["local"]
        assert tree is not None
        assert local is not None
        return tree < local

    assert not any(tree_wins("tree", 10**4, failures) for failures in (0, 1, 10))
    assert not tree_wins("tree", 10**5, 1)
    assert tree_wins("tree", 10**6, 1)
    assert not tree_wins("tree", 10**6, 10)
    assert tree_wins("tree-gaussian", 10**6, 100)
    assert not tree_wins("tree-gaussian", 10**6, 300)


def test_colluders_make_more_noise_but_local_response_needs_nobody() -> None:
    honest = {one.scheme: one.deviation for one in plan(1000, 0, 1, DELTA)}
    half = {one.scheme: one.deviation for one in plan(1000, 0, 1, DELTA, honest="0.5")}
    for scheme in ("diluted", "gaussian", "masked"):
        fewer, all_of = half[scheme], honest[scheme]
        assert fewer is not None
        assert all_of is not None
        assert fewer / all_of == pytest.approx(math.sqrt(2), rel=0.01)
    assert half["local"] == honest["local"]


@pytest.mark.parametrize("epsilon", [0.3, 1, 3])
def test_yardsticks_are_those_of_their_laws(epsilon: float) -> None:
    assert curator_deviation(epsilon, 5) == pytest.approx(float(stats.dlaplace(epsilon / 5).std()))
    truth = math.exp(epsilon) / (1 + math.exp(epsilon))
    one = math.sqrt(truth * (1 - truth)) / (2 * truth - 1)
    assert local_deviation(100, epsilon) == pytest.approx(10 * one)
    fair = 0.5 / (2 * truth - 1)  # of a value in the middle: a fair coin, randomized, is one
    assert local_deviation(100, epsilon, 7) == pytest.approx(7 * 10 * fair)


def test_what_cannot_be_planned_is_refused() -> None:
    with pytest.raises(Refusal, match="failures < people"):
        plan(10, 10, 1, DELTA)
    with pytest.raises(Refusal, match="people >= 2"):
        plan(1, 0, 1, DELTA)
