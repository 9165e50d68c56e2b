"""Receipts and prices as people read them."""

from __future__ import annotations

from datetime import timedelta
from fractions import Fraction

import pytest

from discreet.console import prices
from discreet.curator.purchase import PastPayment
from discreet.ledger.entry import BudgetLoss
from discreet.privacy import Approximate, Concentrated, Pure

SELECT = "SELECT count(*) FROM visits"


def receipt(entry: int, loss: BudgetLoss, sql: str = SELECT, **changes: object) -> PastPayment:
    usual = {"time": f"2026-01-01T00:00:{entry:02d}Z", "principal": "ann", "population": "patient", "answer": entry + 1}
    return PastPayment(entry=entry, loss=loss, sql=sql, tables=("visits",), **{**usual, **changes})  # type: ignore[arg-type]


def test_a_question_has_all_its_payments_and_the_newest_question_comes_first() -> None:
    found = prices.grouped(
        [
            receipt(1, Pure("0.1")),
            receipt(9, Pure("0.3")),
            receipt(5, Pure(1), "SELECT 2"),
            receipt(7, Pure(2), principal="bea"),
        ]
    )
    assert [(each.principal, each.sql, [p.entry for p in each.payments]) for each in found] == [
        ("ann", SELECT, [9, 1]),
        ("bea", SELECT, [7]),
        ("ann", "SELECT 2", [5]),
    ]
    assert found[0].paid == Pure("0.4")
    assert found[0].price == Pure("0.3")


def test_what_a_question_cost_last_is_the_sum_of_its_parts() -> None:
    parts = [receipt(n, Pure("0.2")) for n in (4, 5)]
    (found,) = prices.grouped([receipt(1, Pure(5)), receipt(2, Pure(7)), *parts])
    assert found.price == Pure("0.4")


def test_advice_is_no_question_and_a_payment_without_answer_is_noticed() -> None:
    advice, select, failed = prices.grouped(
        [
            receipt(3, Pure(1), "bounds visits cost"),
            receipt(2, Pure(1), " (with a as ("),
            receipt(1, Pure(1), answer=None),
        ]
    )
    assert [each.is_question for each in (advice, select, failed)] == [False, True, True]
    assert [each.unanswered for each in (advice, select, failed)] == [False, False, True]


@pytest.mark.parametrize(
    ("text", "found"),
    [("", True), ("COUNT visits", True), ("ann", True), ("7", True), ("count cost", False), ("8", False)],
)
def test_all_words_are_looked_for(text: str, found: bool) -> None:  # noqa: FBT001
    (asked,) = prices.grouped([receipt(7, Pure(1))])
    assert asked.holds(text) is found


def test_what_is_left_is_never_shown_as_more_and_what_is_spent_never_as_less() -> None:
    third = Fraction(1, 3)
    assert (prices.figure(third), prices.figure(third, up=True)) == ("0.333333", "0.333334")
    assert prices.figure(Fraction(1000)) == "1000"
    assert prices.figure(Fraction(0)) == "0"
    assert prices.figure(Fraction(1, 10**8)) == "1e-8"
    assert prices.figure(Fraction("1999.99999"), up=True) == "2000"


@pytest.mark.parametrize(
    ("left", "price", "count"),
    [
        (Pure("0.3"), Pure("0.1"), 3),  # exactly: in floats it would be 2
        (Pure("0.29"), Pure("0.1"), 2),
        (Approximate(1, "1e-6"), Approximate("0.1", "5e-7"), 2),
        (Approximate(1, 0), Approximate("0.1", 0), 10),
        (Approximate(1, 0), Approximate("0.1", "1e-9"), 0),
        (Concentrated("0.5"), Concentrated("0.2"), 2),
        (Pure(1), Pure(0), None),
        (Pure(1), Concentrated(1), None),
    ],
)
def test_how_many_more_questions_fit(left: BudgetLoss, price: BudgetLoss, count: int | None) -> None:
    assert prices.more(left, price) == count


def test_large_numbers_of_questions_are_rounded_down() -> None:
    assert [prices.about(n) for n in (7, 99, 100, 12_399)] == ["7", "99", "100", "12,000"]


def test_an_allowance_that_became_smaller_than_what_was_used_leaves_nothing() -> None:
    assert prices.rest(Pure(1), Pure("0.25")) == Pure("0.75")
    assert prices.rest(Pure(1), Pure(2)) == Pure(0)


def test_spending_is_drawn_as_stairs_up_to_now() -> None:
    steps = prices.stairs(
        [receipt(2, Pure("0.5")), receipt(1, Pure("0.5")), receipt(3, Pure(9), population="x")], "patient"
    )
    assert [step.amount for step in steps] == [Fraction(1, 2), Fraction(1)]
    now = steps[0].since + timedelta(seconds=4)
    assert prices.path(steps, now, Fraction(2), (100, 40)) == "M0 40.0H0.0V30.0H25.0V20.0H100.0"
    assert prices.path(steps, steps[0].since, Fraction(2), (100, 40)).count("V") == 2  # all at once
    assert prices.path([], now, Fraction(2), (100, 40)) == ""
