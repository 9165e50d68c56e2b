"""Exact selection: the probabilities of the winners against their formulas, in rationals of the coins' chances."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from mechanisms.chances import fits

from discreet.errors import Refusal
from discreet.noise import exponential, permute_and_flip

SCORES = [0, 3, 5, 5, 1]
RATE = Fraction(1, 2)


def _exponential(scores: Sequence[int], rate: float) -> list[float]:
    weights = [math.exp(rate * score) for score in scores]
    return [weight / sum(weights) for weight in weights]


def _permute_and_flip(scores: Sequence[int], rate: float) -> list[float]:
    """By its definition: over every order, the chance that all before are tails and this one heads."""
    chances = [math.exp(-rate * (max(scores) - score)) for score in scores]
    wins = [0.0] * len(scores)
    for order in permutations(range(len(scores))):
        left = 1.0 / math.factorial(len(scores))
        for i in order:
            wins[i] += left * chances[i]
            left *= 1 - chances[i]
    return wins


LAWS = [(exponential, _exponential), (permute_and_flip, _permute_and_flip)]


@pytest.mark.parametrize(("select", "law"), LAWS)
def test_winners_follow_their_law_and_no_other(
    select: Callable[..., int], law: Callable[[Sequence[int], float], list[float]]
) -> None:
    """Fresh bits: a right sampler fails, and a wrong rate passes, with probability below 1e-10 (exact binomial)."""
    seen = [select(SCORES, RATE) for _ in range(20_000)]

    def near(rate: float) -> bool:
        return fits(seen, dict(enumerate(law(SCORES, rate))), 1e-10)

    assert near(0.5)
    assert not near(0.5 * 1.3)
    assert not near(0.5 * 0.7)


@pytest.mark.parametrize("select", [exponential, permute_and_flip])
def test_extremes(select: Callable[..., int]) -> None:
    assert {select([7], 1) for _ in range(5)} == {0}
    assert {select([0, 10**6, 3], 1) for _ in range(50)} == {1}  # any other has probability e^-999997
    assert {select([0, 0, 9], 0) for _ in range(200)} == {0, 1, 2}  # fails with probability 3 (2/3)^200
    assert select([0, 1], Fraction(10**400)) == 1
    assert select(np.array([-(1 << 60), 1 << 60]), 1) == 1


@pytest.mark.parametrize("select", [exponential, permute_and_flip])
@pytest.mark.parametrize("scores", [[], [[1, 2]], [0.5, 1.0], ["a"], [1 << 61], [-(1 << 63)], [1 << 70]])
def test_what_is_not_a_list_of_whole_scores_is_refused(select: Callable[..., int], scores: object) -> None:
    with pytest.raises(Refusal, match="expected"):
        select(scores, 1)


@pytest.mark.parametrize("rate", [-1, float("nan"), float("inf")])
def test_nonsense_rates_are_refused_by_value(rate: float) -> None:
    with pytest.raises(Refusal, match="rate"):
        permute_and_flip([1, 2], rate)
