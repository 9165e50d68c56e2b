"""The best k: the law of whole lists by enumeration, their loss, their order, and their error."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations, product
from typing import Any

import numpy as np
import pytest
from doubles import Seeded
from hypothesis import given
from hypothesis import strategies as st
from mechanisms.chances import Whatever, covers, fits

from discreet.errors import Refusal
from discreet.interval_arithmetic import Interval, exp
from discreet.mechanisms.topk import ConcentratedTopK, TopK
from discreet.noise import Entropy
from discreet.privacy import Concentrated, Pure

BOTH: list[Any] = [TopK, ConcentratedTopK]
Scores = tuple[int, ...]


def listed(mechanism: Whatever, scores: Scores) -> dict[tuple[int, ...], Interval]:
    """The probability of each list, as the product of its choices among those left."""
    law = {}
    kind, rate = type(mechanism.choice), mechanism.choice
    for chosen in permutations(range(len(scores)), mechanism.size):
        left, chance = list(range(len(scores))), Interval.of(1)
        for i in chosen:
            among = kind(rate.epsilon, len(left), rate.sensitivity, rate.monotone)
            chance = chance * among.law([scores[j] for j in left])[left.index(i)]
            left.remove(i)
        law[chosen] = chance
    return law


@pytest.mark.parametrize("kind", BOTH)
def test_lists_follow_the_law_and_no_other(kind: type[Any]) -> None:
    mechanism, rng, scores = kind(2, 4, 2), Seeded(6), (0, 4, 1, 4)
    seen = [mechanism(scores, rng=rng) for _ in range(4000)]
    assert fits(seen, {y: float(p.up) for y, p in listed(mechanism, scores).items()})
    assert not fits(seen, {y: float(p.up) for y, p in listed(kind(Fraction(1, 2), 4, 2), scores).items()})


@pytest.mark.parametrize("monotone", [False, True])
def test_the_exact_loss_of_peeling_is_at_most_its_price(*, monotone: bool) -> None:
    mechanism = TopK(Fraction(2), 3, 2, 1, monotone)
    known: dict[Scores, dict[tuple[int, ...], Interval]] = {}
    worst = Interval.of(1)
    for left in [(0, 0, 0), (0, 1, 3), (0, 5, 5), (0, 0, 4)]:
        for moves in product([-1, 0, 1], repeat=3):
            if monotone and min(moves) < 0 < max(moves):
                continue
            right = tuple(score + move for score, move in zip(left, moves, strict=True))
            for scores in (left, right):
                known.setdefault(scores, listed(mechanism, scores))
            ratios = [p / known[right][y] for y, p in known[left].items()]
            worst = max(worst, *ratios, key=lambda ratio: ratio.high)
    assert worst.low <= exp(mechanism.epsilon).high
    assert float(worst.up) > 2.718 ** float(mechanism.epsilon / 2) * 1.5  # far above what one choice loses


def test_the_divergence_of_concentrated_peeling_is_at_most_its_price() -> None:
    mechanism = ConcentratedTopK(Fraction(1, 2), 3, 2)
    known: dict[Scores, dict[tuple[int, ...], Interval]] = {}
    for left, moves in product([(0, 0, 0), (0, 1, 3)], product([-1, 0, 1], repeat=3)):
        right = tuple(score + move for score, move in zip(left, moves, strict=True))
        for scores in (left, right):
            known.setdefault(scores, listed(mechanism, scores))
        for alpha in (Fraction(11, 10), Fraction(2), Fraction(10)):
            terms = [p * ((alpha - 1) * (p / known[right][y]).log()).exp() for y, p in known[left].items()]
            divergence = sum(terms, Interval.of(0)).log().up / (alpha - 1)
            assert divergence <= alpha * mechanism.rho + Fraction(1, 10**30)


@given(st.fractions(min_value="0.001", max_value=100), st.integers(1, 50))
def test_a_price_is_split_without_a_remainder_against_us(price: Fraction, size: int) -> None:
    pure, concentrated = TopK(price, 60, size), ConcentratedTopK(price, 60, size)
    assert pure.privacy == Pure(price)
    assert size * pure.choice.epsilon == price
    assert concentrated.privacy == Concentrated(price)
    assert price * (1 - Fraction(1, 10**15)) < size * concentrated.choice.epsilon**2 / 8 <= price


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize("confidence", [pytest.param("0.6", marks=pytest.mark.slow), "0.95"])
def test_the_error_covers_every_place_at_once(kind: type[Any], confidence: str) -> None:
    mechanism = kind(8, 12, 4)
    bound = mechanism.error(confidence)
    best = [0, 0, 0, 0]
    scores = [*best, *[-bound - 1] * 8]  # every choice is tempted

    def misses(rng: Entropy) -> bool:
        return any(scores[i] < best[place] - bound for place, i in enumerate(mechanism(scores, rng=rng)))

    assert covers(misses, Fraction(confidence), seed=13)


@pytest.mark.parametrize("kind", BOTH)
def test_the_best_come_first_and_nobody_twice(kind: type[Any]) -> None:
    scores = [5, 900, -3, 500, 700, 100]
    assert kind(1000, 6, 6)(scores, rng=Seeded(1)) == (1, 4, 3, 5, 0, 2)
    for seed in range(20):
        chosen = kind(Fraction(1, 100), 6, 6)(np.array(scores), rng=Seeded(seed))
        assert sorted(chosen) == list(range(6))
        assert all(type(i) is int for i in chosen)
    assert kind(1, 1, 1)([1 << 90]) == (0,)


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize("monotone", [False, True])
def test_the_pairs_are_neighbours(kind: type[Any], *, monotone: bool) -> None:
    for pair in kind(1, 6, 2, 3, monotone).pairs():
        moves = np.subtract(pair.right, pair.left)
        assert len(pair.left) == 6
        assert np.abs(moves).max() == 3
        assert not monotone or moves.min() >= 0


@pytest.mark.parametrize("kind", BOTH)
def test_nonsense_is_refused_by_value(kind: type[Any]) -> None:
    for nonsense in (0, -1, float("nan"), "x"):
        for fields in ((nonsense, 3, 2), (1, nonsense, 2), (1, 3, nonsense), (1, 3, 2, nonsense)):
            with pytest.raises(Refusal, match=r"epsilon|rho|candidates|size|sensitivity"):
                kind(*fields)
    with pytest.raises(Refusal, match="size <= candidates, got size=4 candidates=3"):
        kind(1, 3, 4)
    with pytest.raises(Refusal, match="expected 3 scores"):
        kind(1, 3, 2)([1])
    with pytest.raises(Refusal, match="neighbours"):
        kind(1, 3, 2, neighbours=None)
