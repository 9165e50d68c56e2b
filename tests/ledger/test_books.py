"""What the books let in: versions that go up, owners that stay, prices by who may pay them for the rows of now."""

from __future__ import annotations

import pytest

from discreet.errors import OverBudget, Refusal
from discreet.ledger import Answer, Books, Dataset, Grant, Opened, Spend
from discreet.ledger.entry import REMOVED, Entry
from discreet.privacy import AddRemove, Approximate, Concentrated, Pure


def opened(population: str = "patients", total: int = 2) -> Opened:
    return Opened(population, Pure(total), AddRemove(population))


def spend(epsilon: object = "0.1", who: str = "custodian", **more: object) -> Spend:
    return Spend("patients", Pure(epsilon), who, "q", ["visits"], None, **more)  # type: ignore[arg-type]


def dataset(version: int, **changes: object) -> Dataset:
    usual = {"table": "visits", "population": "patients", "unit": "patient", "declaration": "d", "file": "f"}
    return Dataset(version=version, **{**usual, **changes})  # type: ignore[arg-type]


def books(*events: object) -> Books:
    found = Books()
    for number, event in enumerate(events, start=1):
        found.apply(Entry(number, "", "", "00" * 32, event))  # type: ignore[arg-type]
    return found


@pytest.mark.parametrize(
    ("before", "new", "complaint"),
    [
        ([dataset(3)], dataset(3, file="other"), "version 3"),
        ([dataset(3)], dataset(2), "version 2"),
        ([dataset(3)], dataset(3, declaration=REMOVED), "version 3"),
        ([dataset(3), dataset(4, declaration=REMOVED, file="")], dataset(4, file=""), "version 4"),
        ([dataset(3), dataset(4, declaration=REMOVED, file="")], dataset(3), "version 3"),
        ([], dataset(0), "version 0"),
        ([dataset(1)], dataset(2, unit="other"), "whose rows"),
        ([dataset(1)], dataset(2, population=None, unit=None), "whose rows"),
        ([], dataset(1, population="nobody"), "no population"),
        ([dataset(1)], dataset(1, table="more", unit=None), "never share"),
        ([dataset(1, table="site", unit=None)], dataset(1), "never share"),
        (
            [dataset(1, table="site", unit=None), dataset(2, table="site", unit=None, declaration=REMOVED)],
            dataset(1),
            "never share",
        ),
        (
            [dataset(1, table="site", unit=None), dataset(2, table="site", unit=None, declaration=REMOVED)],
            dataset(3, table="site", unit=None),
            "never share",
        ),
    ],
)
def test_versions_go_up_and_owners_stay(before: list[Dataset], new: Dataset, complaint: str) -> None:
    with pytest.raises(Refusal, match=complaint):
        books(opened(), *before).check(new)


@pytest.mark.parametrize(
    ("before", "new"),
    [
        ([dataset(3)], dataset(3, declaration="edited")),
        ([dataset(3)], dataset(4, file="other")),
        ([dataset(3)], dataset(4, declaration=REMOVED, file="")),
        ([dataset(3), dataset(4, declaration=REMOVED, file="")], dataset(5, unit="other")),
        ([dataset(1)], dataset(1, table="more")),
        ([dataset(1, unit=None)], dataset(2, unit=None, file="g")),
        ([dataset(1, unit=None)], dataset(2, unit=None, declaration=REMOVED)),
    ],
)
def test_updates_edits_and_removals_are_let_in(before: list[Dataset], new: Dataset) -> None:
    books(opened(), *before).check(new)


def test_a_price_is_paid_for_the_rows_of_now() -> None:
    found = books(opened(), dataset(3))
    found.check(spend(versions={"visits": 3}))
    with pytest.raises(Refusal, match="other rows"):
        found.check(spend(versions={"visits": 2}))
    with pytest.raises(Refusal, match="no table 'wards'"):
        found.check(spend(versions={"visits": 3, "wards": 1}))
    gone = books(opened(), dataset(3), dataset(4, declaration=REMOVED))
    for version in (3, 4):
        with pytest.raises(Refusal, match="no table 'visits'"):
            gone.check(spend(versions={"visits": version}))


def test_grants_are_checked_where_it_is_paid_and_end_with_their_table() -> None:
    ana = Grant("ana", "analyst", ["visits"], None, None)
    found = books(opened(), dataset(1), dataset(1, table="more"), ana)
    found.check(spend(who="ana"))
    with pytest.raises(Refusal, match="may not ask about table 'more'"):
        found.check(Spend("patients", Pure(1), "ana", "q", ["visits", "more"], None))
    again = books(opened(), dataset(1), ana, dataset(2, declaration=REMOVED), dataset(3))
    with pytest.raises(Refusal, match="may not ask about table 'visits'"):
        again.check(spend(who="ana"))
    assert again.grants["ana"].tables == []


def test_an_allowance_in_another_measure_is_refused_by_name() -> None:
    rho = Opened("patients", Concentrated(1), AddRemove("patients"))
    found = books(rho, Grant("ana", "analyst", None, Approximate(1, "1e-6"), None))
    for price in ("0.1", "10"):
        with pytest.raises(Refusal, match="your allowance is kept in Approximate") as said:
            found.check(Spend("patients", Concentrated(price), "ana", "q", [], None))
        assert not isinstance(said.value, OverBudget)


def test_an_answer_answers_the_question_that_was_paid() -> None:
    found = books(opened(), spend())
    found.check(Answer(2, "q", None))
    with pytest.raises(Refusal, match="not a payment"):
        found.check(Answer(2, "another", None))
