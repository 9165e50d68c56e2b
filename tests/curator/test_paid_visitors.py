"""Memories of who came: paid whole, sealed before they are left, killed at any moment, and for custodians alone."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import clinic
import pyarrow as pa
import pytest
from curator.test_session_kills import Killed, killing

from discreet.curator import Curator
from discreet.curator.custody import Custody
from discreet.curator.paid_visitors import PaidVisitors
from discreet.errors import OverBudget, Refusal
from discreet.privacy import Pure
from discreet.stream import PanPrivateDistinct, PanPrivateVisits, pan_private

SURE: dict[str, Any] = {"epsilon_memory": Fraction(40), "epsilon_answer": Fraction(400), "size": 100}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return clinic.home(tmp_path / "home", epsilon=10**6)


def visitors(home: Path, who: str = "custodian") -> PaidVisitors:
    sessions = Curator(home, principal=who).paid_sessions()
    return PaidVisitors(sessions.ledger, sessions.store, sessions.principal)


def came(*patients: Any) -> pa.Table:  # noqa: ANN401
    return pa.table({"patient": pa.array(patients, pa.int64())})


def test_it_is_paid_once_and_tells_what_was_paid(home: Path) -> None:
    counter = PanPrivateVisits(**SURE, answers=2, intrusions=2, most=3)
    opened = visitors(home).open("desk", counter, unit="patient")
    assert Curator(home).budget("patient").spent.amount == 880
    heard: list[tuple[str, ...]] = []
    assert opened.push(came(1, 2, 2), unread=heard.append) == 1
    assert opened.push(came(2, 500, None, 3), unread=heard.append) == 2
    assert heard == [("patient",)]
    assert opened.refresh() == 3
    told = {each.what: (round(each.value, 6), each.error) for each in visitors(home).one("desk").tell()}
    assert {what: value for what, (value, _) in told.items()} == {
        "came 0 times": 97, "came 1 times": 2, "came 2 times": 0, "came 3 times": 1,
        "came 1 times or more": 3, "came 2 times or more": 1, "came 3 times or more": 1,
        "mean of visits up to 3": Fraction(5, 100),
    }  # fmt: skip
    again = visitors(home).one("desk")
    for part in ("none of the 100 declared people", "counts as after 4 visits fewer", "2 looks are covered"):
        assert part in again.bounding
    assert again.tell() == again.estimates(again.answers[-1])
    assert again.closed == "it is used up"
    for late in (again.tell, again.refresh, lambda: again.push(came(1))):
        with pytest.raises(OverBudget):
            late()
    assert Curator(home).paid_sessions().all() == []
    assert Curator(home).budget("patient").spent.amount == 880


def test_beside_the_memory_nothing_is_kept_of_the_rows_that_came(home: Path) -> None:
    """Visits once around the circle leave the memory as it was: then the whole state is as if nobody had come."""
    states = []
    for name, rows in (("one", came(*[7] * 4)), ("two", came())):
        opened = visitors(home).open(name, PanPrivateVisits(**SURE, most=3), unit="patient")
        opened.push(rows)
        state = json.loads(opened._session.sealed.read())
        states.append({part: state[part] for part in state if part != "cells"})
    assert states[0] == states[1]


def test_names_of_a_new_population(home: Path) -> None:
    counter = PanPrivateDistinct(**{**SURE, "size": 2})
    opened = visitors(home).open("door", counter, unit="member", names=("ann", "bob"))
    assert Curator(home).budget("member").total == Pure(440)
    opened.push(pa.table({"member": ["bob", "eve", None, "bob"]}))
    assert [round(each.value, 6) for each in opened.tell()] == [1]


def test_what_cannot_be_opened_costs_nothing_and_strangers_do_nothing(home: Path) -> None:
    counter = PanPrivateDistinct(**SURE)
    opened = visitors(home).open("desk", counter, unit="patient")
    spent = Curator(home).budget("patient").spent
    for name, unit, why in (
        ("desk", "patient", "already"),
        ("visits", "patient", "already"),
        ("rows", "row", "of people, not of rows"),
    ):
        with pytest.raises(Refusal, match=why):
            visitors(home).open(name, counter, unit=unit)
    dear = PanPrivateDistinct(Fraction(1), Fraction(10**7), 5)
    with pytest.raises(OverBudget):
        visitors(home).open("dear", dear, unit="patient")
    assert Curator(home).budget("patient").spent == spent
    Custody(home).let_in("ann", "analyst")
    theirs = visitors(home, "ann").one("desk")
    for refused in (lambda: theirs.push(came(1)), theirs.refresh, theirs.tell, theirs.close):
        with pytest.raises(Refusal, match="custodians"):
            refused()
    with pytest.raises(Refusal, match="custodians"):
        visitors(home, "ann").open("other", counter, unit="patient")
    opened.close()
    assert opened.closed == "closed by custodian"


@pytest.mark.parametrize("every", [2, pytest.param(1, marks=pytest.mark.slow)])
def test_a_kill_leaves_the_memory_before_or_after_and_never_counts_twice(tmp_path: Path, every: int) -> None:
    """Of visits without noise: whatever happened, the step that is pushed again by its number counts once."""
    home = clinic.home(tmp_path / "home", epsilon=10**6)
    counter = PanPrivateVisits(**{**SURE, "size": 3}, answers=2, most=200)
    visitors(home).open("desk", counter, unit="patient")
    pushed, outcomes = 0, set()
    for at in range(every > 1, 100, every):
        with pytest.MonkeyPatch.context() as patch:
            killing(patch, at)
            try:
                visitors(home).one("desk").push(came(1), step=pushed + 1)
            except Killed:
                pass
            else:
                pushed += 1
                break
        known = len(visitors(home).one("desk").answers)
        outcomes.add(known - pushed)
        assert visitors(home).one("desk").push(came(1), step=pushed + 1) == pushed + 1
        pushed += 1
        assert len(visitors(home).one("desk").answers) == pushed
    assert outcomes == {0, 1}
    told = {each.what: round(each.value, 3) for each in visitors(home).one("desk").tell()}
    assert told[f"came {pushed} times"] == 1


def test_a_memory_that_was_blurred_as_often_as_may_be_is_left_as_it_is(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pan_private, "_LOOKS", 1)
    opened = visitors(home).open("desk", PanPrivateDistinct(**SURE), unit="patient")
    assert opened.refresh(step=1) == opened.refresh(step=1) == 1
    with pytest.raises(Refusal, match="blurred at most 1 times"):
        opened.refresh()
    assert opened.push(came(1, 2)) == 2  # nothing is on hold
