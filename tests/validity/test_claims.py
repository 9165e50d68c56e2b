"""What answers prove of the population: intervals that hold, for whoever asks, and against an analyst who overfits."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from covering import Coverage
from doubles import Seeded

from discreet.mechanisms.online_weights import Answered
from discreet.privacy import Guarantee, Pure, Replace
from discreet.validity import Guessed, Ladder, Thresholdout, claims, on_the_sample
from discreet.validity.claims import by_counting


def test_the_width_counts_the_ways_to_get_there() -> None:
    width = by_counting(10_000, 1000, 3, 100, Fraction(1, 20))
    ways = math.comb(999, 3) * 100**3
    weight = 0.05 * (6 / math.pi**2) ** 2 / (1000 * 4) ** 2
    assert float(width) == pytest.approx(math.sqrt(math.log(2 * ways / weight) / 20_000))
    assert by_counting(10, 1000, 50, 100, Fraction(1, 20)) == 1


def test_weights_of_all_turns_add_up_to_no_more_than_one() -> None:
    """The failure that a width was given, taken back out of it, over turns and numbers of hard answers."""
    total = 0.0
    for turn in range(1, 40):
        for hard in range(min(turn, 10)):
            width = float(by_counting(10**6, turn, hard, 1, Fraction(1, 2)))
            total += 2 * math.comb(turn - 1, hard) * math.exp(-2 * 10**6 * width**2)
    assert total <= 0.5


def test_a_small_loss_proves_more_than_counting_does() -> None:
    answers = [Answered(50_000, hard=True)] * 50
    private = Thresholdout(Fraction(1, 100), 10, 100_000, hard=100, questions=100, neighbours=Replace())
    claim = claims(private, answers)[-1]
    drawn = on_the_sample(Guarantee(Pure("0.01"), Replace()), 100_000, 1 - Fraction(1, 80), 100)
    noise = Fraction(private.hard_error(Fraction(39, 40)), 100_000)
    assert claim.high == min(1, Fraction(1, 2) + drawn + noise)
    told = Thresholdout(Fraction(1, 100), 10, 100_000, hard=100, delta=Fraction(1, 10**6), questions=100)
    assert claims(told, answers)[-1].high >= Fraction(1, 2) + by_counting(
        100_000, 50, 49, told.numbers, Fraction(1, 80)
    )


def test_corrections_that_were_said_before_widen_what_comes_after() -> None:
    loud = Thresholdout(Fraction(10**6), 10, 10_000, hard=50)
    last = claims(loud, [Answered(5000, hard=True)] * 5)[-1]
    noise = Fraction(loud.hard_error(Fraction(39, 40)), 10_000)
    assert last.high == Fraction(1, 2) + noise + by_counting(10_000, 5, 4, loud.numbers, Fraction(1, 80))


def test_of_a_ladder_a_question_that_moved_nothing_has_an_upper_end_only() -> None:
    ladder = Ladder(Fraction(100), 10, 10_000, hard=5)
    first, second = claims(ladder, [Answered(6000, hard=True), Answered(6000, hard=False)])
    assert first.low > Fraction(1, 2)
    assert second.low == 0
    assert second.high < Fraction(3, 4)
    assert not second.hard


def overfitted(seed: int, judge: Thresholdout | Ladder) -> bool:
    """Whether all claims hold: about columns of coins that an analyst asks about, and about the vote of all."""
    rng, columns = np.random.default_rng(seed), 31
    agree = rng.integers(0, 2, size=(judge.people, columns))
    noise, state, signs = Seeded(seed), judge.start(Seeded(seed + 1)), []
    for column in range(columns):
        state = judge.step(state, Guessed(int(agree[:, column].sum()), judge.people // 2), noise)
        signs.append(1 if judge.answers(state)[-1].number > judge.people / 2 else -1)
    vote = (2 * agree - 1) @ np.array(signs)
    state = judge.step(state, Guessed(int((vote > 0).sum()), judge.people // 2), noise)
    every = claims(judge, judge.answers(state), "0.8")
    return all(claim.low <= Fraction(1, 2) <= claim.high for claim in every)  # however 31 fair coins vote


def climbed(seed: int, ladder: Ladder) -> bool:
    """Whether all claims hold of submissions that are made from those that moved a leaderboard of coins."""
    rng, noise, state = np.random.default_rng(seed), Seeded(seed), ladder.start(Seeded(seed + 1))
    labels, best = rng.integers(0, 2, ladder.people), rng.integers(0, 2, ladder.people)
    for _ in range(12):
        tried = np.where(rng.random(ladder.people) < 0.3, rng.integers(0, 2, ladder.people), best)
        before, state = state, ladder.step(state, int((tried == labels).sum()), noise)
        best = tried if state.said[-1] > max(before.said, default=0) else best
    return all(claim.low <= Fraction(1, 2) <= claim.high for claim in claims(ladder, ladder.answers(state), "0.8"))


def test_claims_of_a_ladder_hold_for_whoever_climbs_it() -> None:
    ladder = Ladder(Fraction(400), 3, 200, hard=12, questions=12, neighbours=Replace())
    assert not Coverage(sum(climbed(seed, ladder) for seed in range(20)), 20).refuted(0.8)


def test_claims_hold_for_an_analyst_who_overfits() -> None:
    judge = Thresholdout(Fraction(400), 5, 200, hard=32, questions=32, neighbours=Replace())
    held = sum(overfitted(seed, judge) for seed in range(15))
    assert not Coverage(held, 15).refuted(0.8)
