"""Prices as people read them."""

from __future__ import annotations

from fractions import Fraction

import pytest

from discreet.console import prices
from discreet.ledger.entry_kinds import BudgetLoss
from discreet.privacy import Approximate, Concentrated, Pure


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
