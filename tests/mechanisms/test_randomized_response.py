"""Randomized response: its channel in exact rationals, its estimator by enumeration, the classroom's ln 3."""

from __future__ import annotations

from collections import deque
from fractions import Fraction
from itertools import product
from math import prod

import numpy as np
import pytest
from doubles import Seeded
from hypothesis import given
from hypothesis import strategies as st
from mechanisms.chances import Whatever, covers, fits

from discreet.errors import Refusal
from discreet.interval_arithmetic import exp, log
from discreet.mechanisms.randomized_response import RandomizedResponse
from discreet.noise import Entropy
from discreet.privacy import AddRemove, Pure

PRICES = st.fractions(min_value=Fraction(1, 10**30), max_value=1000, max_denominator=10**35)


@given(PRICES, st.integers(2, 40))
def test_the_exact_loss_of_the_channel_is_its_price(epsilon: Fraction, choices: int) -> None:
    mechanism = RandomizedResponse(epsilon, choices)
    ratio = mechanism.truth / mechanism.lie
    assert mechanism.truth + (choices - 1) * mechanism.lie == 1
    assert ratio > 1  # the truth is the likeliest, however small ε
    assert ratio <= exp(epsilon, 600).down  # certified
    best = 1 / (exp(epsilon, 600) + choices - 1)
    assert mechanism.lie <= best.up * (1 + Fraction(1, 1 << 60))  # and no more is given away than rounding asks
    assert mechanism.privacy == Pure(epsilon)


@pytest.mark.parametrize(("epsilon", "choices"), [("0.1", 2), (1, 2), (1, 5), ("2.5", 3), (50, 4)])
def test_the_channel_over_all_pairs(epsilon: Whatever, choices: int) -> None:
    mechanism = RandomizedResponse(epsilon, choices)
    loss = mechanism.channel.epsilon([(a, b) for a in range(choices) for b in range(choices)])
    assert loss is not None
    assert mechanism.epsilon - Fraction(1, 1 << 55) < loss.down
    assert loss.up <= mechanism.epsilon


def test_the_classroom_tells_the_truth_three_times_in_four_and_loses_ln_3() -> None:
    warner = RandomizedResponse.warner()
    assert (warner.truth, warner.lie) == (Fraction(3, 4), Fraction(1, 4))
    assert warner.channel.ratio([(0, 1)]) == 3
    assert log(3).up <= warner.privacy.epsilon < log(3).up + Fraction(1, 10**29)
    assert [share.value for share in warner.estimate([40, 60])] == [
        Fraction(3, 10),
        Fraction(7, 10),
    ]  # the lecture's 70 %


@pytest.mark.parametrize(("epsilon", "choices"), [(1, 2), ("1.5", 4)])
def test_answers_follow_the_channel_and_no_other(epsilon: Whatever, choices: int) -> None:
    mechanism, rng = RandomizedResponse(epsilon, choices), Seeded(9)
    singly = [mechanism(1, rng=rng) for _ in range(12_000)]
    together = mechanism.each([1] * 40_000, rng=rng).tolist()
    for seen in (singly, together):
        assert fits(seen, {y: float(p) for y, p in mechanism.channel[1].items()})
        for wrong in (Fraction(7, 10), Fraction(13, 10)):
            other = RandomizedResponse(Fraction(epsilon) * wrong, choices)
            assert not fits(seen, {y: float(p) for y, p in other.channel[1].items()})


@pytest.mark.parametrize(("epsilon", "choices"), [(1, 2), (1, 3)])
@pytest.mark.parametrize("truth", [(0, 0, 0), (0, 1, 1), (1, 1, 0)])
def test_the_estimator_is_unbiased_and_knows_its_spread(epsilon: int, choices: int, truth: tuple[int, ...]) -> None:
    mechanism, people = RandomizedResponse(Fraction(epsilon), choices), len(truth)
    mean, square = [Fraction(0)] * choices, [Fraction(0)] * choices
    for answers in product(range(choices), repeat=people):
        chance = prod((mechanism.channel[t][y] for t, y in zip(truth, answers, strict=True)), start=Fraction(1))
        shares = mechanism.estimate([answers.count(v) for v in range(choices)])
        assert sum(share.value for share in shares) == 1
        for v, share in enumerate(shares):
            mean[v] += chance * share.value
            square[v] += chance * share.value**2
    assert mean == [Fraction(truth.count(v), people) for v in range(choices)]
    # the standard error at the true counts is the true standard deviation
    p, q = mechanism.truth, mechanism.lie
    for v in range(choices):
        expected = people * (q + (p - q) * mean[v])  # so many answers v make the estimate equal to the truth
        spread = square[v] - mean[v] ** 2
        said = mechanism._share((expected / people - q) / (p - q), people).deviation
        assert 0 <= said**2 - spread < Fraction(1, 10**15)


@pytest.mark.parametrize("choices", [2, 5])
@pytest.mark.parametrize("confidence", [pytest.param("0.8", marks=pytest.mark.slow), "0.95"])
def test_the_error_covers(choices: int, confidence: str) -> None:
    mechanism, people = RandomizedResponse(Fraction(1), choices), 200
    truth = np.arange(people) % choices
    bound = mechanism.error(confidence, people=people)

    def misses(rng: Entropy) -> bool:
        counts = np.bincount(mechanism.each(truth, rng=rng), minlength=choices)
        return abs(mechanism.estimate(counts.tolist())[0].value - Fraction(people // choices, people)) > bound

    assert covers(misses, Fraction(confidence), seed=14)
    assert mechanism.error(confidence, people=4 * people) == pytest.approx(bound / 2)
    assert mechanism.error(confidence) > bound


def test_what_is_none_of_the_values_counts_as_the_first() -> None:
    sure = RandomizedResponse(Fraction(1000), 3)
    for value in (3, -1, 1 << 80, None, "1", 1.5, float("nan"), [1]):
        assert sure(value) == 0  # type: ignore[arg-type]
    for one in (np.int64(1), np.True_, True, 1.0, np.float32(1), Fraction(1), np.uint8(1)):
        assert sure(one) == 1  # type: ignore[arg-type]  # what equals a value is that value
    assert sure.each([0, 1, 2, 3, -1, 1 << 80]).tolist() == [0, 1, 2, 0, 0, 0]
    assert sure.each(np.array([[1, 2]])).tolist() == [[1, 2]]
    assert sure.each([]).size == 0


@pytest.mark.parametrize(
    "stranger", [None, 2.0, 1.5, float("nan"), float("inf"), "1", [1], np.timedelta64(1, "s"), np.timedelta64("NaT")]
)
def test_many_answer_as_each_would_alone(stranger: Whatever) -> None:
    """At this ε a lie has a probability below e^-1000."""
    sure = RandomizedResponse(Fraction(1000), 3)
    people: list[Whatever] = [0, 1, 2, np.int8(2), stranger, 1]
    alone = [sure(value, rng=Seeded(1)) for value in people]
    for values in (people, tuple(people), deque(people), np.array([*people, None, None][:6], dtype=object)):
        assert sure.each(values, rng=Seeded(2)).tolist() == alone


def test_a_column_with_a_gap_answers_as_one_without() -> None:
    sure = RandomizedResponse(Fraction(1000), 3)
    assert sure.each(np.array([0.0, 1.0, np.nan, 2.0, 1e300])).tolist() == [0, 1, 0, 2, 0]
    assert sure.each(np.array([1, 2, 3, 255], dtype=np.uint8)).tolist() == [1, 2, 0, 0]
    assert sure.each(np.array([1, (1 << 64) - 1], dtype=np.uint64)).tolist() == [1, 0]
    assert sure.each(np.array([True, False])).tolist() == [1, 0]
    assert sure.each(np.array(["1", "2"])).tolist() == [0, 0]


def test_many_answers_fit_into_64_bits() -> None:
    most = RandomizedResponse(Fraction(1000), 1 << 62)
    assert most.each([(1 << 62) - 1, 1 << 62]).tolist() == [(1 << 62) - 1, 0]
    answers = RandomizedResponse(Fraction(1, 10**9), 1 << 62).each([(1 << 62) - 1] * 200, rng=Seeded(3))
    assert answers.min() >= 0
    assert answers.max() < 1 << 62
    with pytest.raises(Refusal, match="at most 2\\^62 choices, got 4611686018427387905"):
        RandomizedResponse(Fraction(1), (1 << 62) + 1).each([0])


def test_nonsense_is_refused_by_value() -> None:
    for nonsense in (0, -1, float("nan"), "x"):
        with pytest.raises(Refusal, match="epsilon"):
            RandomizedResponse(nonsense)  # type: ignore[arg-type]
    for nonsense in (0, 1, -1, 2.5):
        with pytest.raises(Refusal, match="choices >= 2"):
            RandomizedResponse(Fraction(1), nonsense)  # type: ignore[arg-type]
    with pytest.raises(Refusal, match="epsilon <= 1000, got epsilon=1001"):
        RandomizedResponse(Fraction(1001))
    with pytest.raises(Refusal, match=r"epsilon <= 1000, got epsilon=1E\+5000"):
        RandomizedResponse(Fraction(10**5000))
    with pytest.raises(Refusal, match="use Replace"):
        RandomizedResponse(Fraction(1), neighbours=AddRemove())
    mechanism = RandomizedResponse(Fraction(1))
    for counts in ([1], [1, 2, 3], [0, 0], [1, -1], [0.5, 0.5]):
        with pytest.raises(Refusal, match="counts"):
            mechanism.estimate(counts)  # type: ignore[arg-type]
    with pytest.raises(Refusal, match="people"):
        mechanism.error(people=0)
