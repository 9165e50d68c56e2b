"""Report noisy max: its law summed over the noise, ties and all, against permute-and-flip and against its price."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from doubles import Seeded
from mechanisms.chances import Whatever, covers, fits
from numpy.typing import NDArray

from discreet.errors import Refusal
from discreet.mechanisms.selection import NOISES, PermuteAndFlip, ReportNoisyMax, _overtakes

FAR = 250  # the rest of the noise at the rates used here is below 1e-20


def noise_law(noise: str, rate: float) -> NDArray[np.float64]:
    """Probabilities of −FAR, …, FAR."""
    n = np.arange(-FAR, FAR + 1)
    weights = np.exp(-rate * np.abs(n)) * (n >= 0 if noise == "geometric" else 1.0)
    law: NDArray[np.float64] = weights / weights.sum()
    return law


def summed(noise: str, scores: Sequence[int], rate: float) -> list[float]:
    """The law of the choice by summing over the winning sum and over who else ties with it."""
    law, spread = noise_law(noise, rate), max(scores) - min(scores)
    padded = [
        np.pad(law, (score - min(scores), spread - score + min(scores))) for score in scores
    ]  # law of score + noise
    under = [np.concatenate([[0.0], np.cumsum(p)[:-1]]) for p in padded]
    wins = []
    for i, mine in enumerate(padded):
        others = [j for j in range(len(scores)) if j != i]
        total = 0.0
        for ties in product([False, True], repeat=len(others)):
            parts = [padded[j] if tie else under[j] for j, tie in zip(others, ties, strict=True)]
            total += float(np.prod([mine, *parts], axis=0).sum()) / (1 + sum(ties))
        wins.append(total)
    return wins


@pytest.mark.parametrize("scores", [(0, 0), (0, 1), (0, 3, 1), (2, 2, 0, 5), (4, 4, 4)])
@pytest.mark.parametrize("epsilon", ["0.4", "1", "3"])
def test_geometric_noise_with_random_ties_is_permute_and_flip(scores: tuple[int, ...], epsilon: str) -> None:
    law = PermuteAndFlip(epsilon, len(scores)).law(scores)  # type: ignore[arg-type]
    ours = summed("geometric", scores, float(epsilon) / 2)
    assert ours == pytest.approx([float(p.up) for p in law], rel=1e-12)


def fixed_ties(noise: str, scores: Sequence[int], rate: float) -> list[float]:
    """The same with ties won by the first: a different law, which the test below must be able to tell apart."""
    law = noise_law(noise, rate)
    wins = [0.0] * len(scores)
    small = range(FAR - 30, FAR + 31)
    for drawn in product(small, repeat=len(scores)):
        sums = [score + n for score, n in zip(scores, drawn, strict=True)]
        wins[sums.index(max(sums))] += math.prod(law[n] for n in drawn)
    return wins


@pytest.mark.parametrize("noise", NOISES)
def test_choices_follow_the_law_and_no_other(noise: str) -> None:
    choose, rng, scores = ReportNoisyMax(1, 3, noise=noise), Seeded(4), (2, 3, 3)  # type: ignore[arg-type]
    seen = [choose(scores, rng=rng) for _ in range(6_000)]
    assert fits(seen, dict(enumerate(summed(noise, scores, 0.5))))
    assert not fits(seen, dict(enumerate(summed(noise, scores, 0.1))))
    assert not fits(seen, dict(enumerate(summed(noise, scores, 1.5))))
    assert not fits(seen, dict(enumerate(fixed_ties(noise, scores, 0.5))))


@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("sensitivity", [1, 2])
def test_ties_cost_nothing_the_exact_loss_is_at_most_the_price(noise: str, sensitivity: int, *, monotone: bool) -> None:
    mechanism = ReportNoisyMax(1, 3, sensitivity, monotone, noise=noise)  # type: ignore[arg-type]
    rate, moves = float(mechanism.rate), range(-sensitivity, sensitivity + 1)
    known: dict[tuple[int, ...], list[float]] = {}

    def law(scores: tuple[int, ...]) -> list[float]:
        return known.setdefault(scores, known.get(scores) or summed(noise, scores, rate))

    worst = 0.0
    for left in product([0], [0, 1, 3], [0, -2, 5]):
        for move in product(moves, repeat=3):
            if monotone and min(move) < 0 < max(move):
                continue
            right = tuple(score + step for score, step in zip(left, move, strict=True))
            worst = max(worst, *(abs(math.log(p / q)) for p, q in zip(law(left), law(right), strict=True)))
    assert worst <= 1 + 1e-12
    assert worst > (0.999 if noise == "geometric" else 0.9)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("confidence", ["0.5", "0.95"])
def test_the_error_covers_at_its_worst_scores(noise: str, confidence: str) -> None:
    mechanism = ReportNoisyMax(2, 10, noise=noise)  # type: ignore[arg-type]
    bound = mechanism.error(confidence)
    scores = [0, *[-bound - 1] * 9]
    assert covers(lambda rng: mechanism(scores, rng=rng) != 0, Fraction(confidence), seed=12)
    if noise == "laplace":
        assert bound >= ReportNoisyMax(2, 10).error(confidence)  # type: ignore[arg-type]


@pytest.mark.parametrize("distance", [0, 1, 2, 5, 30])
@pytest.mark.parametrize("rate", ["0.2", "0.5", "2"])
def test_the_tail_of_a_difference_of_two_laplace_noises(distance: int, rate: str) -> None:
    law = noise_law("laplace", float(rate))
    difference = np.convolve(law, law)  # of −2 FAR, …, 2 FAR; the noise is symmetric
    tail = _overtakes(distance, Fraction(rate))
    assert float(tail.up) == pytest.approx(difference[2 * FAR + distance :].sum(), rel=1e-11)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("epsilon", [Fraction(1, 10**20), Fraction(1), Fraction(10**9)])
def test_every_rate_and_every_list_of_scores_has_a_choice(noise: str, epsilon: Fraction) -> None:
    mechanism = ReportNoisyMax(epsilon, 3, noise=noise)
    assert mechanism([0, 1 << 80, -(1 << 80)], rng=Seeded(2)) in range(3)
    if epsilon == 1:
        assert mechanism([0, 1 << 80, -(1 << 80)], rng=Seeded(2)) == 1
    if epsilon > 1:
        assert mechanism([0, 0, 1], rng=Seeded(2)) == 2
    ties = {mechanism([4, 4, 4], rng=Seeded(seed)) for seed in range(60)}
    assert ties == {0, 1, 2}


@pytest.mark.parametrize("noise", ["gumbel", "", None, 3])
def test_other_noise_is_refused_by_name(noise: Whatever) -> None:
    with pytest.raises(Refusal, match="expected noise as one of"):
        ReportNoisyMax(1, 2, noise=noise)  # type: ignore[arg-type]
