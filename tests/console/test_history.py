"""Receipts as people read them: each question with its payments, and spending over time."""

from __future__ import annotations

from datetime import timedelta
from fractions import Fraction

import pytest

from discreet.console.budget import path, stairs
from discreet.console.history import grouped
from discreet.curator.purchase import PastPayment
from discreet.ledger.entry_kinds import BudgetLoss
from discreet.privacy import Pure

SELECT = "SELECT count(*) FROM visits"


def receipt(entry: int, loss: BudgetLoss, sql: str = SELECT, **changes: object) -> PastPayment:
    usual = {"time": f"2026-01-01T00:00:{entry:02d}Z", "principal": "ann", "population": "patient", "answer": entry + 1}
    return PastPayment(entry=entry, loss=loss, sql=sql, tables=("visits",), **{**usual, **changes})  # type: ignore[arg-type]


def test_a_question_has_all_its_payments_and_the_newest_question_comes_first() -> None:
    found = grouped(
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
    (found,) = grouped([receipt(1, Pure(5)), receipt(2, Pure(7)), *parts])
    assert found.price == Pure("0.4")


def test_advice_is_no_question_and_a_payment_without_answer_is_noticed() -> None:
    advice, select, failed = grouped(
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
    (asked,) = grouped([receipt(7, Pure(1))])
    assert asked.holds(text) is found


def test_spending_is_drawn_as_stairs_up_to_now() -> None:
    steps = stairs([receipt(2, Pure("0.5")), receipt(1, Pure("0.5")), receipt(3, Pure(9), population="x")], "patient")
    assert [step.amount for step in steps] == [Fraction(1, 2), Fraction(1)]
    now = steps[0].since + timedelta(seconds=4)
    assert path(steps, now, Fraction(2), (100, 40)) == "M0 40.0H0.0V30.0H25.0V20.0H100.0"
    assert path(steps, steps[0].since, Fraction(2), (100, 40)).count("V") == 2  # all at once
    assert path([], now, Fraction(2), (100, 40)) == ""
