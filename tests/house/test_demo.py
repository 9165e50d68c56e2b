"""The demo keeps the rules it tells about."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import NoReturn, overload

import pytest
from doubles import Seeded

from discreet.cli.demo import PATIENT, QUESTIONS, TOTAL, Answer, Patient, Question, ask, clinic, tour
from discreet.errors import OverBudget
from discreet.privacy import Budget, Pure

EVERYONE = Question("are there", lambda _: True, Pure("0.2"))


class Unread(Sequence[Patient]):
    """A table that must not be read."""

    @overload
    def __getitem__(self, index: int) -> Patient: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Patient]: ...
    def __getitem__(self, index: int | slice) -> NoReturn:
        raise AssertionError(f"row {index} was read")

    def __len__(self) -> NoReturn:
        raise AssertionError("the rows were counted")

    def __iter__(self) -> Iterator[Patient]:
        raise AssertionError("the rows were read")


def test_a_question_that_does_not_fit_is_refused_before_a_row_is_read() -> None:
    with pytest.raises(OverBudget, match="exceeds"):
        ask(Budget.of(Pure("0.1"), PATIENT), Unread(), EVERYONE)


def test_the_tour_spends_the_budget_to_exactly_nothing_and_then_refuses() -> None:
    steps = list(tour(Budget.of(TOTAL, PATIENT), clinic(), rng=Seeded(1)))
    assert [question for question, _, _ in steps] == list(QUESTIONS)
    assert [isinstance(outcome, Answer) for _, outcome, _ in steps] == [True, True, True, False, True, False]
    paid = sum(question.price.epsilon for question, outcome, _ in steps if isinstance(outcome, Answer))
    assert steps[-1][2].spent == Pure(paid) == TOTAL


def test_a_patient_has_one_row_and_traits_that_the_questions_can_tell_apart() -> None:
    counts = [sum(map(question.such, clinic())) for question in QUESTIONS]
    assert counts[0] == len(clinic())
    assert all(0 < count < counts[0] for count in counts[1:])


@pytest.mark.parametrize("epsilon", ["0.01", "0.1", "0.2", "0.5", "1", "7"])
def test_the_margin_is_the_least_that_holds_at_95_percent(epsilon: str) -> None:
    question, scale = Question("are there", lambda _: True, Pure(epsilon)), 1 / Fraction(epsilon)
    weight = [math.exp(-n / scale) for n in range(math.ceil(60 * scale) + 2)]
    total = math.fsum(weight) + math.fsum(weight[1:])

    def beyond(m: int) -> float:
        return 2 * math.fsum(weight[m + 1 :]) / total

    m = ask(Budget.of(Pure(epsilon), PATIENT), clinic(1), question, rng=Seeded(3))[1].margin
    assert beyond(m) <= 0.05
    assert m == 0 or beyond(m - 1) > 0.05


def follows(noise: Sequence[int], scale: float, false_alarm: float = 1e-9) -> bool:
    """Dvoretzky-Kiefer-Wolfowitz (Massart 1990): true noise fails with probability at most `false_alarm`."""
    q = math.exp(-1 / scale)
    law = {n: 1 - q ** (n + 1) / (1 + q) if n >= 0 else q**-n / (1 + q) for n in range(-30, 31)}
    gap = max(abs(sum(x <= n for x in noise) / len(noise) - p) for n, p in law.items())
    return gap <= math.sqrt(math.log(2 / false_alarm) / (2 * len(noise)))


def test_an_answer_carries_the_noise_that_its_price_buys_and_no_less() -> None:
    rng, table = Seeded(2), clinic(3)
    answers = [ask(Budget.of(TOTAL, PATIENT), table, EVERYONE, rng=rng)[1] for _ in range(20_000)]
    assert {answer.truth for answer in answers} == {3}
    noise = [answer.noisy - answer.truth for answer in answers]
    assert follows(noise, 5.0)
    assert not follows(noise, 3.5)
    assert not follows(noise, 6.5)
