"""The reusable holdout and the ladder: what they say, what that costs, and how far off it may be."""

from __future__ import annotations

from fractions import Fraction
from math import exp

import pytest
from covering import Coverage
from doubles import Seeded

from discreet.errors import Refusal
from discreet.mechanisms.online_weights import Answered
from discreet.privacy import Approximate
from discreet.validity import Guessed, Ladder, Thresholdout

QUIET = Fraction(10**6)  # an ε at which noise is 0 but for a chance below e^−1000


def test_a_good_guess_is_said_again_and_a_wrong_one_is_corrected() -> None:
    holdout = Thresholdout(QUIET, 10, 100, hard=2)
    asked = [Guessed(50, 41), Guessed(50, 60), Guessed(50, 39), Guessed(50, 50), Guessed(7, 30), Guessed(1, 1)]
    assert holdout(asked, rng=Seeded(1)) == (
        Answered(41, hard=False),
        Answered(60, hard=False),
        Answered(50, hard=True),
        Answered(50, hard=False),
        Answered(7, hard=True),
    )


def test_numbers_are_rounded_and_brought_into_their_range() -> None:
    holdout = Thresholdout(QUIET, 0, 100, hard=4, rounding=8)
    asked = [Guessed(51, 0), Guessed(52, 0), Guessed(200, 0), Guessed(-50, 0)]
    assert [answer.number for answer in holdout(asked, rng=Seeded(1))] == [48, 56, 100, 0]
    assert holdout.numbers >= len({*range(0, 101, 8), 100})


def test_a_ladder_says_the_best_so_far() -> None:
    ladder = Ladder(QUIET, 5, 100, hard=3)
    assert [answer.number for answer in ladder([40, 44, 46, 20, 51, 90, 95], rng=Seeded(1))] == [40, 40, 46, 46, 46, 90]


def test_noise_is_that_of_the_paper() -> None:
    """σ on a number, 2σ on the threshold, 4σ on a comparison, and 2B/σ is the loss (Dwork et al. 2015, Figure 1)."""
    holdout = Thresholdout(Fraction(3), 10, 100, hard=6, sensitivity=5)
    sigma = Fraction(2 * 6 * 5, 3)
    scales = holdout.comparison.threshold_scale, holdout.comparison.question_scale, holdout.number_scale
    assert scales == (2 * sigma, 4 * sigma, sigma)
    assert holdout.privacy == Approximate(3)
    assert holdout.comparison.privacy == Approximate("1.5")


def test_a_delta_is_for_comparisons_and_has_its_range() -> None:
    holdout = Thresholdout(Fraction(1), 10, 100, hard=300, delta=Fraction(1, 10**6))
    assert holdout.privacy == Approximate(1, "1e-6")
    assert holdout.comparison.threshold_scale < Thresholdout(Fraction(1), 10, 100, hard=300).comparison.threshold_scale
    with pytest.raises(Refusal, match="proof ends"):
        Thresholdout(Fraction(300), 10, 100, delta=Fraction(1, 10**6))


def test_numbers_differ_by_no_more_than_their_share_of_the_price() -> None:
    """At the worst pair, counts of numbers that were said in many runs against the geometric ratio."""
    holdout, runs = Thresholdout(Fraction(2), 4, 20, hard=1), 6000
    rng = Seeded(3)
    said = [holdout([Guessed(20, -(10**6))], rng=rng)[0].number for _ in range(runs)]
    ratio = exp(-float(1 / holdout.number_scale))  # of Pr[v − d] to Pr[v − d + 1]; what is beyond 20 is brought there
    expected = ratio / (1 + ratio) * (1 - ratio)
    assert not Coverage(said.count(19), runs).refuted(expected)
    assert not Coverage(said.count(19), runs).exceeded(expected)
    assert Coverage(said.count(19), runs).refuted(expected * 1.3)


def test_what_rounding_takes_is_in_the_error() -> None:
    plain, rounded = (Thresholdout(Fraction(2), 10, 100, rounding=step) for step in (1, 9))
    assert rounded.hard_error() == plain.hard_error() + 4


@pytest.mark.parametrize("guess", [0, 30, 47])
def test_errors_cover_and_would_not_at_half_the_size(guess: int) -> None:
    holdout, runs, value = Thresholdout(Fraction(2), 10, 100, hard=1, questions=1), 2000, 50
    easy, hard = holdout.easy_error("0.6"), holdout.hard_error("0.6")
    rng = Seeded(guess)
    answers = [holdout([Guessed(value, guess)], rng=rng)[0] for _ in range(runs)]
    inside = sum(abs(answer.number - value) <= (hard if answer.hard else easy) for answer in answers)
    assert not Coverage(inside, runs).refuted(0.6)
    if guess == 0:
        half = sum(abs(answer.number - value) <= hard // 3 for answer in answers if answer.hard)
        assert Coverage(half, sum(answer.hard for answer in answers)).refuted(0.8)


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"people": 0}, "people >= 1"),
        ({"rounding": 0}, "rounding >= 1"),
        ({"epsilon": 0}, "epsilon > 0"),
        ({"people": 2**40, "sensitivity": 2**30}, "2\\^62"),
        ({"hard": 0}, "hard >= 1"),
    ],
)
def test_what_makes_no_sense_is_refused(fields: dict[str, int], says: str) -> None:
    with pytest.raises(Refusal, match=says):
        Thresholdout(**{"epsilon": Fraction(1), "threshold": 5, "people": 10, **fields})  # type: ignore[arg-type]
