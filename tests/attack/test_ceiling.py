"""What privacy allows at most, against enumeration."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import mpmath
import pytest

from discreet.attack import Outcome, ceiling, ceiling_of_many, questions_borne, scale_enough, scored
from discreet.errors import Refusal
from discreet.privacy import Approximate, Pure


@pytest.mark.parametrize("epsilon", ["0.01", "0.5", "1", "3", "10"])
def test_a_pure_promise_allows_randomized_response_and_no_more(epsilon: str) -> None:
    with mpmath.workdps(200):
        told_truly = 1 / (1 + mpmath.exp(-mpmath.mpf(epsilon)))
        most = ceiling(Pure(epsilon))
        assert 0 <= mpmath.mpf(most.numerator) / most.denominator - told_truly < 1e-9


def test_a_delta_is_told_outright() -> None:
    assert float(ceiling(Approximate(1, "0.1"))) == pytest.approx((math.e + 0.1) / (1 + math.e), abs=1e-9)


@pytest.mark.parametrize("questions", [1, 2, 5, 12])
@pytest.mark.parametrize("each", ["0.05", "0.3", "1"])
def test_many_answers_allow_no_less_than_the_best_guess_from_many_coins(each: str, questions: int) -> None:
    q = 1 / (1 + math.exp(-float(each)))  # the worst answers there are: randomized response, enumerated
    best = (
        sum(
            max(
                math.prod(q if truth else 1 - q for truth in coins), math.prod(1 - q if truth else q for truth in coins)
            )
            for coins in product((True, False), repeat=questions)
        )
        / 2
    )
    assert best <= float(ceiling_of_many(Pure(each), questions)) + 1e-12


def test_the_budget_spread_over_many_questions_tells_hardly_anything() -> None:
    spread = ceiling_of_many(Pure(Fraction(1, 4096)), 4096)
    assert spread == Fraction(1, 2) + Fraction(64, 4 * 4096)
    assert ceiling_of_many(Pure(5), 1) == ceiling(Pure(5))  # where the other bound says nothing


def test_how_much_noise_bears_how_many_questions() -> None:
    assert scale_enough(10_000, "0.75") == 100
    assert questions_borne(100, "0.75") == 10_000
    for questions in (1, 3, 77):
        scale = scale_enough(questions, "0.6")
        assert ceiling_of_many(Pure(1 / scale), questions) <= Fraction("0.6") + Fraction(1, 10**15)
        assert questions_borne(float(scale) * 1.0000001, "0.6") == questions


def test_an_outcome_says_what_it_is_beside() -> None:
    outcome = scored([1, 0, 1, 1], [1, 0, 0, 1], Fraction("0.731"))
    assert outcome == Outcome(3, 4, Fraction(1, 2), Fraction("0.731"))
    assert str(outcome) == (
        "recovered 3 of 4 (75.0 %); a blind guess gets 50.0 % ± 25.0; no attacker gets more than 73.1 % on average"
    )
    assert str(scored([1], [1])).endswith("nothing limits an attacker")


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: scored([1], [1, 0]),
        lambda: scored([], []),
        lambda: ceiling_of_many(Pure(1), 0),
        lambda: scale_enough(10, "0.5"),
        lambda: scale_enough(0, "0.6"),
        lambda: questions_borne(0, "0.6"),
        lambda: questions_borne(1, 1),
    ],
)
def test_nonsense_is_refused(wrong) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
    with pytest.raises(Refusal, match="expected"):
        wrong()
