"""Prices: spent exactly, before anything is read, and never twice for one answer."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import clinic
import pytest
from clinic import COUNT

from discreet.curator import Curator
from discreet.curator.custody import Custody
from discreet.curator.quote import TermsGiven
from discreet.errors import OverBudget, Refusal
from discreet.ledger import SqliteLedger
from discreet.privacy import Approximate, Concentrated, Pure


def test_a_price_is_spent_exactly_and_the_same_question_is_free(home: Path) -> None:
    curator = Curator(home)
    first = curator.query(COUNT, epsilon="0.5")
    again = Curator(home).query("select COUNT(*) from visits", epsilon="0.3")
    assert first.cost == Approximate("0.5")
    assert again.cost is None
    assert again.rows == first.rows
    assert curator.budget("patient").spent == Approximate("0.5")
    more = curator.query(COUNT, epsilon="0.6")  # more exact than what is stored: a new purchase
    assert more.cost == Approximate("0.6")
    fresh = curator.query(COUNT, epsilon="0.1", fresh=True)
    assert fresh.cost == Approximate("0.1")
    assert curator.budget("patient").spent == Approximate("1.2")


def test_a_stored_answer_keeps_the_error_bars_it_was_bought_with(home: Path) -> None:
    curator = Curator(home)
    bought = curator.query(COUNT, epsilon=1).intervals()[0][0]
    again = curator.query(COUNT, epsilon="0.1").intervals()[0][0]
    assert bought is not None
    assert again == bought


def test_an_unaffordable_question_charges_nothing_and_within_uses_the_rest(home: Path) -> None:
    curator = Curator(home)
    with pytest.raises(OverBudget):
        curator.query(COUNT, epsilon="2.5")
    assert curator.budget("patient").spent == Approximate(0)
    assert curator.query(COUNT, epsilon="2.5", within=True).cost == Approximate(2)
    with pytest.raises(OverBudget):
        curator.query("SELECT sum(cost) FROM visits", epsilon="0.1", within=True)


def test_no_price_named_takes_the_default_and_says_so(home: Path) -> None:
    curator = Curator(home)
    assert curator.explain(COUNT).price == Approximate(Fraction(2, 50))
    assert "no price was named" in curator.explain(COUNT).notice
    assert curator.explain(COUNT, epsilon=1).notice == ""


def test_the_error_asked_for_is_met_by_the_cheapest_price(home: Path) -> None:
    curator = Curator(home)
    found = curator.explain("SELECT region, count(*) FROM visits GROUP BY region", error=200)
    (error,) = [value for _, value in found.error]
    assert error is not None
    assert error <= 200
    assert isinstance(found.price, Approximate)
    less = found.price.epsilon * Fraction(99, 100)
    cheaper = curator.explain("SELECT region, count(*) FROM visits GROUP BY region", epsilon=less)
    assert cheaper.error[0][1] is not None
    assert cheaper.error[0][1] > 200
    with pytest.raises(Refusal, match="depends on the data"):
        curator.explain("SELECT avg(cost) FROM visits", error=1)


@pytest.mark.parametrize(
    ("terms", "complaint"),
    [
        ({"epsilon": 0}, "epsilon=0"),
        ({"epsilon": -1}, "epsilon=-1"),
        ({"epsilon": float("nan")}, "nan"),
        ({"rho": 1}, "kept in epsilon"),
        ({"epsilon": 1, "confidence": 1}, "confidence=1"),
        ({"epsilon": 1, "delta": 2}, "delta=2"),
        ({"error": 0}, "error=0"),
    ],
)
def test_nonsense_is_refused_by_value_and_charges_nothing(home: Path, terms: TermsGiven, complaint: str) -> None:
    curator = Curator(home)
    sql = "SELECT diagnosis, count(*) FROM visits GROUP BY diagnosis"
    with pytest.raises(Refusal, match=complaint):
        curator.query(sql, **terms)
    assert SqliteLedger(home / "ledger.db").books().size == 2  # the budget and the data set


def test_naming_groups_spends_delta_only_then(home: Path) -> None:
    curator = Curator(home)
    curator.query("SELECT diagnosis, count(*) FROM visits GROUP BY diagnosis", epsilon=1)
    assert curator.budget("patient").spent == Approximate(1, Fraction(1, 1000) / 1000)


def test_without_delta_only_declared_keys_are_grouped(tmp_path: Path) -> None:
    curator = Curator(clinic.home(tmp_path / "home", delta=None))
    assert len(curator.query("SELECT region, count(*) FROM visits GROUP BY region", epsilon=1).rows) == 3
    assert curator.query(COUNT, epsilon=1).cost == Pure(1)
    with pytest.raises(Refusal, match="needs a delta"):
        curator.query("SELECT diagnosis, count(*) FROM visits GROUP BY diagnosis", epsilon=1)


def test_a_budget_in_rho_is_asked_in_rho(tmp_path: Path) -> None:
    curator = Curator(clinic.home(tmp_path / "home", epsilon=None, rho=5))
    found = curator.query("SELECT region, count(*), avg(cost), median(cost) FROM visits GROUP BY region", rho=1)
    assert found.cost == Concentrated(1)
    named = curator.query("SELECT diagnosis, count(*) FROM visits GROUP BY diagnosis", rho=1)
    assert named.cost == Concentrated(1, "1e-6")
    with pytest.raises(Refusal, match="kept in rho"):
        curator.query(COUNT, epsilon=1)


def test_grants_limit_tables_and_allowances(home: Path) -> None:
    Custody(home).let_in("ada", "analyst", allowance="0.5", tables=["visits"])
    Custody(home).let_in("bob", "analyst", tables=[])
    ada = Curator(home, principal="ada")
    ada.query(COUNT, epsilon="0.4")
    with pytest.raises(OverBudget):
        ada.query("SELECT sum(cost) FROM visits", epsilon="0.2")
    with pytest.raises(Refusal, match="there is no table 'visits'"):
        Curator(home, principal="bob").query(COUNT)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT region + count(*) FROM visits GROUP BY region",
        "SELECT a.n FROM (SELECT count(*) n FROM visits) a JOIN (SELECT count(*) m FROM visits) b ON a.n LIKE b.m",
    ],
)
def test_what_cannot_be_computed_above_the_noise_is_refused_before_it_is_paid(home: Path, sql: str) -> None:
    curator = Curator(home)
    with pytest.raises(Refusal, match=r"does not work out|does not take"):
        curator.query(sql, epsilon=1)
    assert curator.budget("patient").spent == Approximate(0)


def test_what_others_asked_is_shown_to_custodians_alone(home: Path) -> None:
    custody = Custody(home)
    custody.let_in("ada", "analyst")
    custody.let_in("cy", "custodian")
    Curator(home).query(COUNT, epsilon="0.5")
    ada = Curator(home, principal="ada")
    ada.query("SELECT sum(cost) FROM visits", epsilon="0.25")
    assert [receipt.principal for receipt in ada.history()] == ["ada"]
    with pytest.raises(Refusal, match="shown to custodians"):
        ada.history(everybody=True)
    assert len(Curator(home, principal="cy").history(everybody=True)) == 2
