"""What a desk says at once is what it would say if it were asked, and it waits for nobody."""

from __future__ import annotations

import threading
from pathlib import Path

import clinic
import pytest

from discreet.curator import Answer, Curator
from discreet.curator.custody import Custody
from discreet.desk import HOME, Desk, Visitor
from discreet.errors import Refusal
from discreet.ledger.file_access import ALONE

TERMS = {"epsilon": "0.1"}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return clinic.home(tmp_path / "home")


def let_in(home: Path, desk: Desk, name: str, tables: list[str] | None = None) -> Visitor:
    found = desk.bearer(Custody(home).let_in(name, "analyst", tables=tables))
    assert found is not None
    return found


def remembered(desk: Desk, who: Visitor, terms: dict[str, object] | None = None) -> Answer:
    """Paid, then free, then known by heart."""
    for _ in range(2):
        desk.asked(who, clinic.COUNT, terms or TERMS)
    found = desk.asked(who, clinic.COUNT, terms or TERMS)
    assert found.cost is None
    return found


def test_what_is_remembered_is_said_at_once(home: Path) -> None:
    desk = Desk(home)
    ann = let_in(home, desk, "ann")
    assert desk.at_hand(ann, clinic.COUNT, TERMS) is None
    desk.asked(ann, clinic.COUNT, TERMS)
    assert desk.at_hand(ann, clinic.COUNT, TERMS) is None  # it was paid: the next one is free, and is kept
    known = remembered(desk, ann)
    assert desk.stands(ann)
    assert desk.at_hand(ann, clinic.COUNT, TERMS) == known
    assert desk.at_hand(ann, clinic.COUNT, {"epsilon": "0.2"}) is None
    assert desk.at_hand(ann, clinic.COUNT + " ", TERMS) is None
    with pytest.raises(Refusal, match="names one of"):
        desk.at_hand(ann, clinic.COUNT, {**TERMS, "rho": "0.1"})


def test_who_was_shut_out_hears_nothing_and_the_next_of_that_name_does(home: Path) -> None:
    desk = Desk(home)
    ann = let_in(home, desk, "ann")
    remembered(desk, ann)
    assert desk.stands(ann)
    Custody(home).shut_out("ann")
    for _ in range(2):
        assert not desk.stands(ann)
        assert desk.at_hand(ann, clinic.COUNT, TERMS) is None
        desk.budgets(HOME)  # now the books were read, and say so
    other = let_in(home, desk, "ann")
    assert not desk.stands(ann)
    assert desk.at_hand(ann, clinic.COUNT, TERMS) is None
    assert desk.stands(other)
    assert desk.at_hand(other, clinic.COUNT, TERMS) is not None
    assert not desk.stands(Visitor("custodian", "custodian"))


def test_it_is_said_to_those_who_may_ask_about_the_table(home: Path) -> None:
    desk = Desk(home)
    ann, bob, eve = let_in(home, desk, "ann"), let_in(home, desk, "bob", []), let_in(home, desk, "eve", ["visits"])
    remembered(desk, ann)
    assert desk.stands(bob)
    assert desk.at_hand(bob, clinic.COUNT, TERMS) is None
    assert desk.at_hand(eve, clinic.COUNT, TERMS) == desk.at_hand(ann, clinic.COUNT, TERMS) is not None


def test_a_newer_answer_takes_the_place_of_what_is_remembered(home: Path) -> None:
    desk = Desk(home)
    ann = let_in(home, desk, "ann")
    old = remembered(desk, ann)
    newer = desk.asked(ann, clinic.COUNT, {**TERMS, "fresh": True})
    desk.budgets(ann)
    assert desk.at_hand(ann, clinic.COUNT, TERMS) is None
    again = remembered(desk, ann)
    found = desk.at_hand(ann, clinic.COUNT, TERMS)
    assert found is not None
    assert (again.entry, again.rows) == (found.entry, found.rows) == (newer.entry, newer.rows)
    assert found.entry != old.entry


def test_what_is_left_is_what_is_left_now(home: Path) -> None:
    desk = Desk(home)
    ann = let_in(home, desk, "ann")
    before = remembered(desk, ann)
    Curator(home).query("SELECT count(*) AS n FROM visits WHERE urgent", epsilon=2)
    assert desk.at_hand(ann, clinic.COUNT, TERMS) is None  # the ledger was written: it has to be read
    desk.budgets(ann)
    after = desk.at_hand(ann, clinic.COUNT, TERMS)
    assert after is not None
    assert after.left == Curator(home).budget("patient").left != before.left


def test_other_declarations_are_read_before_anything_is_said(home: Path) -> None:
    desk = Desk(home)
    ann = let_in(home, desk, "ann")
    remembered(desk, ann)
    file = home / "discreet.toml"
    file.write_text(file.read_text(encoding="utf-8").replace("max_rows = 50", "max_rows = 40"), encoding="utf-8")
    assert desk.at_hand(ann, clinic.COUNT, TERMS) is None
    assert desk.asked(ann, clinic.COUNT, TERMS).cost is not None  # another cap is another question


def test_nobody_is_waited_for(home: Path) -> None:
    desk = Desk(home)
    ann = let_in(home, desk, "ann")
    remembered(desk, ann)
    said: list[object] = []
    with ALONE:  # as whoever writes the ledger has it, for as long as a disk takes
        asking = threading.Thread(
            target=lambda: said.extend((desk.stands(ann), desk.at_hand(ann, clinic.COUNT, TERMS)))
        )
        asking.start()
        asking.join(60)
        assert said == [False, None]
    assert desk.stands(ann)
    (home / "ledger.db-journal").touch()  # another process is writing
    assert not desk.stands(ann)
    assert desk.at_hand(ann, clinic.COUNT, TERMS) is None
