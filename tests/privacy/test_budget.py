"""Check first, then spend, never refund."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import OverBudget, Refusal
from discreet.privacy.budget import Budget, balance
from discreet.privacy.loss import AddRemove, Approximate, Concentrated, Guarantee, Pure, Replace
from discreet.privacy.profile import Profile
from discreet.privacy.renyi import Renyi
from discreet.privacy.tradeoff import Gaussian

PERSON = AddRemove("person")
prices = st.lists(st.fractions(0, 1, max_denominator=100).map(lambda e: Guarantee(Pure(e), PERSON)), max_size=20)


def test_ten_tenths_fit_and_not_a_hair_more() -> None:
    budget = balance(Budget.of(Pure(1), PERSON), [Guarantee(Pure(0.1), PERSON)] * 10)
    assert budget.spent == Pure(1)
    assert budget.left == Pure(0)
    with pytest.raises(OverBudget, match=r"^this costs epsilon 1E-30, and 0 of 1 is left; ask for less"):
        budget.spend(Guarantee(Pure("1e-30"), PERSON))


@given(st.fractions(0, 5, max_denominator=10), prices)
def test_spent_never_exceeds_total_and_only_grows(total: Fraction, charges: list[Guarantee[Pure]]) -> None:
    budget = Budget.of(Pure(total), PERSON)
    for charge in charges:
        before = budget
        try:
            budget = budget.spend(charge)
        except OverBudget:
            assert before.spent.epsilon + charge.loss.epsilon > total  # only what does not fit is refused
        assert before.spent <= budget.spent <= budget.total
        assert budget.left.epsilon + budget.spent.epsilon == total


def test_every_filter_measure_fills_a_budget() -> None:
    approximate = Budget.of(Approximate(1, "1e-6"), PERSON).spend(Guarantee(Approximate("0.5", "4e-7"), PERSON))
    assert approximate.left == Approximate("0.5", "6e-7")
    concentrated = Budget.of(Concentrated(1), PERSON).spend(Guarantee(Concentrated("0.25"), PERSON))
    assert concentrated.left == Concentrated("0.75")
    gaussian = Budget.of(Gaussian(1), PERSON).spend(Guarantee(Gaussian("0.25"), PERSON))
    assert gaussian.left == Gaussian("0.75")


def test_each_part_of_a_loss_must_fit() -> None:
    budget = Budget.of(Approximate(1, "1e-6"), PERSON)
    with pytest.raises(OverBudget, match=r"^this costs delta 0.000002, and 0.000001 of 0.000001 is left;"):
        budget.spend(Guarantee(Approximate("0.1", "2e-6"), PERSON))
    with pytest.raises(OverBudget, match=r"^this costs epsilon 1.1, and 1 of 1 is left;"):
        budget.spend(Guarantee(Approximate("1.1", "1e-9"), PERSON))


def test_what_is_left_is_told_in_decimals() -> None:
    budget = Budget.of(Concentrated(3), PERSON).spend(Guarantee(Concentrated("2.6"), PERSON))
    with pytest.raises(OverBudget, match=r"^this costs rho 5, and 0.4 of 3 is left;"):
        budget.spend(Guarantee(Concentrated(5), PERSON))
    with pytest.raises(OverBudget, match=r"^this costs mu_squared 1/3, and 0.25 of 0.25 is left;"):
        Budget.of(Gaussian("0.25"), PERSON).spend(Guarantee(Gaussian("1/3"), PERSON))


def test_neighbours_decide_the_price() -> None:
    replaced = Budget.of(Pure(1), Replace("person")).spend(Guarantee(Pure("0.25"), PERSON))
    assert replaced.spent == Pure("0.5")
    with pytest.raises(Refusal, match="says nothing about adding or removing"):
        Budget.of(Pure(1), PERSON).spend(Guarantee(Pure("0.25"), Replace("person")))


def test_a_budget_that_is_overdrawn_cannot_be_written_down() -> None:
    with pytest.raises(OverBudget, match=r"^epsilon 2 is spent of 1;"):
        Budget(Pure(1), Pure(2), PERSON)


def test_the_default_is_adding_or_removing_a_row() -> None:
    assert Budget.of(Pure(1)).neighbours == AddRemove("row")


NO_FILTERS: tuple[Any, ...] = (Profile.gaussian(1), Profile(), Renyi.gaussian(1), Fraction(1), None, "1")


@pytest.mark.parametrize("loss", NO_FILTERS, ids=lambda loss: type(loss).__name__)
def test_what_has_no_filter_fills_no_budget_when_the_program_runs(loss: Any) -> None:  # noqa: ANN401
    """The type checker refuses these too (tests/typing); here it was told nothing."""
    name = type(loss).__name__
    with pytest.raises(Refusal, match=f"^a budget is not kept in {name}: nothing is proven of its sums"):
        Budget.of(loss, PERSON)
    with pytest.raises(Refusal, match=f"^a budget is not kept in {name}: nothing is proven of its sums"):
        Budget(loss, loss, PERSON)
    with pytest.raises(Refusal, match=f"^this budget is kept in Pure, got a loss in {name};"):
        Budget(Pure(1), loss, PERSON)
    budget = Budget.of(Pure(1), PERSON)
    with pytest.raises(Refusal, match=f"^this budget is kept in Pure, got a loss in {name};"):
        budget.spend(Guarantee(loss, PERSON))
    with pytest.raises(Refusal, match=r"^expected a Guarantee, a loss with the neighbours"):
        budget.spend(loss)


def test_a_budget_is_charged_in_its_own_measure() -> None:
    losses: tuple[Any, ...] = (Pure(1), Approximate(1), Concentrated(1), Gaussian(1))
    for total in losses:
        for loss in losses:
            if type(loss) is type(total):
                assert Budget.of(total, PERSON).spend(Guarantee(loss, PERSON)).spent == total
            else:
                with pytest.raises(Refusal, match="is kept in"):
                    Budget.of(total, PERSON).spend(Guarantee(loss, PERSON))


def test_beside_an_open_session_rho_goes_on_and_a_delta_is_refused_beforehand() -> None:
    """Concurrent composition of filters is proven for ρ at δ = 0 only (Haney et al. 2023)."""
    plain, faulty = Guarantee(Concentrated("0.1"), PERSON), Guarantee(Concentrated("0.1", "1e-9"), PERSON)
    budget = Budget.of(Concentrated(1, "1e-6"), PERSON).spend(faulty)  # before the session: allowed
    opened = budget.open(plain)
    assert opened.spent == Concentrated("0.2", "1e-9")
    assert opened.spend(plain).spent == Concentrated("0.3", "1e-9")
    with pytest.raises(Refusal, match="beside an open session"):
        opened.spend(faulty)
    assert "beside an open session" in opened.explain(faulty)
    assert "this fits" in opened.explain(plain)
    assert "is left" in opened.explain(Guarantee(Concentrated(5), PERSON))
    with pytest.raises(Refusal, match="beside an open session"):
        opened.open(plain).close().spend(faulty)  # one of two is still open
    assert opened.close().spend(faulty).spent == Concentrated("0.3", "2e-9")
    with pytest.raises(Refusal, match="not proven beside other questions"):
        budget.open(faulty)
    with pytest.raises(Refusal, match="no session is open"):
        budget.close()


@pytest.mark.parametrize("loss", [Pure("0.1"), Approximate("0.1", "1e-9"), Gaussian("0.1")])
def test_every_other_measure_is_proven_beside_a_session(loss: Pure | Approximate | Gaussian) -> None:
    budget = Budget.of(3 * loss, PERSON).open(Guarantee(loss, PERSON))
    assert budget.spend(Guarantee(loss, PERSON)).open(Guarantee(loss, PERSON)).left == 0 * loss
