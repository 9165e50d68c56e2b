"""Selection by enumeration: laws against their definition, losses against their price, errors at the worst scores."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import permutations, product
from typing import Any

import numpy as np
import pytest
from doubles import Seeded
from hypothesis import given, settings
from hypothesis import strategies as st
from mechanisms.chances import Whatever, covers, fits

from discreet.errors import Refusal
from discreet.interval_arithmetic import Interval, exp, log
from discreet.mechanisms.selection import FARTHEST, Exponential, PermuteAndFlip
from discreet.privacy import AddRemove, Replace

Scores = tuple[int, ...]
BOTH: list[Any] = [Exponential, PermuteAndFlip]
SCORES = [0, 3, 5, 5, 1]


def enumerated(kind: type[Any], scores: Scores, rate: float) -> list[float]:
    """By definition: weights, or every order of the coins."""
    chances = [math.exp(-rate * (max(scores) - score)) for score in scores]
    if kind is Exponential:
        return [chance / sum(chances) for chance in chances]
    wins = [0.0] * len(scores)
    for order in permutations(range(len(scores))):
        left = 1 / math.factorial(len(scores))
        for i in order:
            wins[i] += left * chances[i]
            left *= 1 - chances[i]
    return wins


@pytest.mark.parametrize("kind", BOTH)
@given(st.lists(st.integers(-5, 5), min_size=1, max_size=5).map(tuple), st.fractions(min_value="0.01", max_value=3))
@settings(max_examples=50)
def test_the_law_is_that_of_the_definition(kind: type[Any], scores: Scores, epsilon: Fraction) -> None:
    law = kind(epsilon, len(scores)).law(scores)
    assert all(chance.up - chance.down < Fraction(1, 10**50) for chance in law)
    assert [float(chance.up) for chance in law] == pytest.approx(
        enumerated(kind, scores, float(epsilon) / 2), rel=1e-12
    )


@pytest.mark.parametrize("kind", BOTH)
def test_choices_follow_the_law_and_no_other(kind: type[Any]) -> None:
    choose, rng = kind(1, 5), Seeded(5)
    seen = [choose(SCORES, rng=rng) for _ in range(6_000)]
    assert fits(seen, {i: float(p.up) for i, p in enumerate(choose.law(SCORES))})
    for wrong in ("0.7", "1.3"):
        assert not fits(seen, {i: float(p.up) for i, p in enumerate(kind(wrong, 5).law(SCORES))})


def neighbours(scores: Scores, sensitivity: int, *, monotone: bool) -> Iterator[Scores]:
    steps = range(-sensitivity, sensitivity + 1)
    for moves in product(steps, repeat=len(scores)):
        if not monotone or min(moves) >= 0 or max(moves) <= 0:
            yield tuple(score + move for score, move in zip(scores, moves, strict=True))


def worst(mechanism: Whatever, starts: Iterator[Scores]) -> Interval:
    """The largest ratio of two neighbours' probabilities of one choice."""
    known: dict[Scores, tuple[Interval, ...]] = {}

    def law(scores: Scores) -> tuple[Interval, ...]:
        key = tuple(score - max(scores) for score in scores)  # only gaps matter; the law test above shows it
        if key not in known:
            known[key] = mechanism.law(key)
        return known[key]

    ratios = [
        p / q
        for left in starts
        for right in neighbours(left, mechanism.sensitivity, monotone=mechanism.monotone)
        for p, q in zip(law(left), law(right), strict=True)
    ]
    return max(ratios, key=lambda ratio: ratio.high)


@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize(("sensitivity", "candidates"), [(1, 2), (1, 3), (2, 2)])
def test_the_exact_loss_of_permute_and_flip_is_its_price(sensitivity: int, candidates: int, *, monotone: bool) -> None:
    mechanism = PermuteAndFlip(Fraction(3, 2), candidates, sensitivity, monotone)
    starts = ((0, *rest) for rest in product(range(-4, 5), repeat=candidates - 1))
    loss = worst(mechanism, starts).log()
    assert loss.down <= mechanism.epsilon <= loss.up  # attained
    assert loss.up - loss.down < Fraction(1, 10**40)


@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize(("sensitivity", "candidates"), [(1, 2), (1, 3), (2, 2)])
def test_the_exponential_mechanism_comes_as_near_its_price_as_one_likes(
    sensitivity: int, candidates: int, *, monotone: bool
) -> None:
    mechanism = Exponential(Fraction(3, 2), candidates, sensitivity, monotone)
    near = ((0, *rest) for rest in product(range(-4, 5), repeat=candidates - 1))
    assert worst(mechanism, near).high < exp(mechanism.epsilon).low
    far = iter([(0, *(math.ceil(60 / mechanism.rate),) * (candidates - 1))])
    loss = worst(mechanism, far).log()
    assert mechanism.epsilon - Fraction(1, 10**15) < loss.down
    assert loss.up < mechanism.epsilon


@pytest.mark.parametrize("kind", BOTH)
def test_the_pairs_are_neighbours_and_tell_much(kind: type[Any]) -> None:
    for monotone, candidates, sensitivity in product([False, True], [2, 5, 40], [1, 3]):
        mechanism = kind(1, candidates, sensitivity, monotone)
        losses = []
        for pair in mechanism.pairs():
            moves = np.subtract(pair.right, pair.left)
            assert np.abs(moves).max() == sensitivity
            assert not monotone or moves.min() >= 0 or moves.max() <= 0
            laws = zip(mechanism.law(pair.left), mechanism.law(pair.right), strict=True)
            losses += [abs(math.log(p.up / q.up)) for p, q in laws]
        assert max(losses) > 0.9
    assert all(len(pair.left) == 1 for pair in kind(1, 1).pairs())


@pytest.mark.parametrize("candidates", [1, 2, 3, 4])
@pytest.mark.parametrize("confidence", ["0.3", "0.5", "0.9", "0.95"])
@pytest.mark.parametrize("kind", BOTH)
def test_the_error_is_the_smallest_that_holds_for_all_scores(kind: type[Any], candidates: int, confidence: str) -> None:
    mechanism, rare = kind(Fraction(3), candidates), 1 - Fraction(confidence)
    bound = mechanism.error(confidence)
    reach = bound + 2
    known = [
        (scores, mechanism.law(scores)) for scores in product(range(-reach, 1), repeat=candidates) if max(scores) == 0
    ]

    def missing(alpha: int) -> Fraction:
        return max(sum((p.up for s, p in zip(*known_, strict=True) if s < -alpha), Fraction(0)) for known_ in known)

    assert missing(bound) <= rare
    assert bound == 0 or missing(bound - 1) > rare


@given(
    st.fractions(min_value="0.001", max_value=20),
    st.integers(1, 10**9),
    st.integers(1, 5),
    st.sampled_from(["0.01", "0.5", "0.95", "0.999999", 1 - Fraction(1, 10**40)]),
)
def test_errors_are_ordered_and_below_the_utility_theorem(
    epsilon: Fraction, candidates: int, sensitivity: int, confidence: str | Fraction
) -> None:
    ours, flip = (kind(epsilon, candidates, sensitivity) for kind in BOTH)
    theorem = (log(candidates) + log(1 / (1 - Fraction(confidence)))) / ours.rate
    assert 0 <= flip.error(confidence) <= ours.error(confidence) <= theorem.up
    assert ours.rate == epsilon / (2 * sensitivity)
    assert Exponential(epsilon, candidates, sensitivity, monotone=True).error(confidence) <= ours.error(confidence)


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize("confidence", ["0.5", "0.95"])
def test_the_error_covers_at_its_worst_scores(kind: type[Any], confidence: str) -> None:
    mechanism = kind(2, 20)
    bound = mechanism.error(confidence)
    scores = [0, *[-bound - 1] * 19]  # all others just too far away
    assert covers(lambda rng: mechanism(scores, rng=rng) != 0, Fraction(confidence), seed=11)


def test_permute_and_flip_is_never_stochastically_worse() -> None:
    for scores in product(range(-4, 1), repeat=4):
        if max(scores) == 0:
            laws = [kind(1, 4).law(scores) for kind in BOTH]
            for gap in range(1, 5):
                tails = [
                    sum((p for s, p in zip(scores, law, strict=True) if s <= -gap), Interval.of(0)) for law in laws
                ]
                assert tails[1].low <= tails[0].high
                assert tails[1].high <= tails[0].high


@pytest.mark.parametrize("monotone", [False, True])
def test_bounded_range_makes_the_exponential_mechanism_concentrated(*, monotone: bool) -> None:
    mechanism, hair = Exponential(Fraction(2), 3, 1, monotone), Fraction(1, 10**30)
    closest = Fraction(10)
    for left in [(0, 0, 0), (0, 0, 3), (0, 2, 2), (-1, 0, 2)]:
        law = mechanism.law(left)
        for right in neighbours(left, 1, monotone=monotone):
            losses = [(p / q).log() for p, q in zip(law, mechanism.law(right), strict=True)]
            assert max(r.up for r in losses) - min(r.down for r in losses) <= mechanism.epsilon + hair
            for alpha in (Fraction(101, 100), Fraction(2), Fraction(20)):
                weighed = [p * ((alpha - 1) * r).exp() for p, r in zip(law, losses, strict=True)]
                divergence = sum(weighed, Interval.of(0)).log().up / (alpha - 1)
                assert divergence <= alpha * mechanism.concentrated.rho + hair
                closest = min(closest, alpha * mechanism.concentrated.rho - divergence)
    assert closest < Fraction(1, 10)  # the bound is not slack everywhere: a constant of 1/16 would fail


@pytest.mark.parametrize("kind", BOTH)
def test_every_list_of_whole_scores_has_a_choice(kind: type[Any]) -> None:
    mechanism = kind(1, 3)
    for scores in ([0, 1 << 80, 0], np.array([-(1 << 63), (1 << 63) - 1, 0]), [0, 1 << 63, -1], (0, np.int8(100), 0)):
        assert mechanism(scores, rng=Seeded(1)) == 1
    assert kind(1, 1)([7]) == 0
    assert kind(Fraction(10**30), 2)([0, 1]) == 1
    assert {kind(Fraction(1, 10**30), 2)([0, 10**6], rng=Seeded(seed)) for seed in range(60)} == {0, 1}


def test_clamped_scores_stay_neighbours() -> None:
    mechanism = Exponential(Fraction(1), 2, 5)
    for score in (FARTHEST - 2, FARTHEST, FARTHEST + 3, -FARTHEST - 2, 1 << 70):
        moved = mechanism.scored([score + 5, 0]) - mechanism.scored([score, 0])
        assert 0 <= moved[0] <= 5


@pytest.mark.parametrize("kind", BOTH)
def test_nonsense_is_refused_by_value(kind: type[Any]) -> None:
    for nonsense in (0, -1, float("nan"), float("inf"), "x", None):
        with pytest.raises(Refusal, match="epsilon"):
            kind(nonsense, 2)
        with pytest.raises(Refusal, match="candidates"):
            kind(1, nonsense)
        with pytest.raises(Refusal, match="sensitivity"):
            kind(1, 2, nonsense)
    with pytest.raises(Refusal, match="monotone=1"):
        kind(1, 2, 1, 1)
    with pytest.raises(Refusal, match="neighbours as AddRemove or Replace, got 'replace'"):
        kind(1, 2, neighbours="replace")
    with pytest.raises(Refusal, match="expected 3 scores"):
        kind(1, 3)([1, 2])
    with pytest.raises(Refusal, match="whole numbers"):
        kind(1, 2)([0.5, 1.5])
    with pytest.raises(Refusal, match="confidence"):
        kind(1, 2).error(1)
    assert kind(1, 2, neighbours=Replace()).neighbours != AddRemove()
