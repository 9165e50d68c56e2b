"""Heads that are kept outside a home: what was restored, copied, cut or forked is refused, or adopted by name."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from ledger.kept import QUESTION, copied, held, kept, left, name_of, root, spend

from discreet.errors import Busy, OverBudget, Refusal
from discreet.ledger import (
    Adopted,
    Hold,
    Opened,
    SqliteLedger,
    StoredAnswer,
    adopt,
    file_access,
    found_ledger,
    open_ledger,
    signing_key,
    verify,
)
from discreet.ledger import head_keeper as keeping
from discreet.ledger import home_ledger as homes
from discreet.ledger.home_ledger import standings
from discreet.ledger.witness import Outside, Unreachable, state_folder
from discreet.privacy import AddRemove, Pure

pytestmark = pytest.mark.usefixtures("state")


# an old ledger --------------------------------------------------------------------------------------------------------


def test_an_old_ledger_put_back_refills_nothing(home: Path) -> None:
    shutil.copy(home / "ledger.db", home / "older")
    open_ledger(home).append(spend("0.5"))
    assert left(home) == Pure(0)
    shutil.copy(home / "older", home / "ledger.db")
    with pytest.raises(Refusal, match=r"2 entries, and 3 were known on .* rolled back"):
        open_ledger(home)
    assert standings(home)[0].refuted


@pytest.mark.parametrize("when", ["before the budget", "after it"])
def test_a_home_put_back_as_a_whole_refills_nothing(tmp_path: Path, when: str) -> None:
    home = tmp_path / "h"
    home.mkdir()
    found_ledger(home)
    if when == "after it":
        open_ledger(home).append(Opened("patients", Pure(1), AddRemove("patients")))
    shutil.copytree(home, tmp_path / "backup")
    if when == "before the budget":
        open_ledger(home).append(Opened("patients", Pure(1), AddRemove("patients")))
    open_ledger(home).append(spend(1))
    shutil.rmtree(home)
    shutil.copytree(tmp_path / "backup", home)
    with pytest.raises(Refusal, match="rolled back"):
        open_ledger(home)
    with pytest.raises(Refusal, match="rolled back"):
        adopt(home, "again", root(home))


def test_a_rollback_under_an_open_ledger_is_seen_before_anything_is_paid(home: Path) -> None:
    """Also where the ledger was opened after the old file came, while its witness could not be asked."""
    shutil.copy(home / "ledger.db", home / "older")
    open_ledger(home).append(spend("0.5"))
    shutil.copy(home / "older", home / "ledger.db")
    ledger = SqliteLedger(home / "ledger.db", new=False, keeper=homes.keeper_of(home))
    with pytest.raises(Refusal, match="rolled back"):
        ledger.append(spend("0.5"))
    assert len(ledger.rows()) == 2


def test_a_cut_ledger_is_refused(home: Path) -> None:
    with sqlite3.connect(home / "ledger.db") as raw:
        raw.executescript("DROP TRIGGER entry_remains; DELETE FROM entry WHERE number = 2; DELETE FROM node")
    raw.close()
    with pytest.raises(Refusal, match="1 entries, and 2 were known"):
        open_ledger(home)


def test_the_newest_backup_put_back_goes_on(home: Path) -> None:
    backup = copied(home, "backup")
    shutil.rmtree(home)
    shutil.copytree(backup, home)
    open_ledger(home).append(spend("0.5"))
    with pytest.raises(OverBudget):
        open_ledger(home).append(spend("0.1"))


def test_without_its_key_an_old_ledger_is_no_new_one(home: Path) -> None:
    shutil.copy(home / "ledger.db", home / "older")
    open_ledger(home).append(spend("0.5"))
    shutil.copy(home / "older", home / "ledger.db")
    (home / "ledger.key").unlink()
    with pytest.raises(Refusal, match=r"ledger\.key is missing"):
        open_ledger(home)
    assert not (home / "ledger.key").exists()
    signing_key(home / "ledger.key")  # another one
    with pytest.raises(Refusal, match="not the key"):
        open_ledger(home)
    with pytest.raises(Refusal, match="not the key"):
        adopt(home, "again", root(home))


# copies ---------------------------------------------------------------------------------------------------------------


def test_a_copy_answers_nothing_until_it_is_adopted_and_the_other_one_then_nothing_any_more(home: Path) -> None:
    copy = copied(home, "copy")
    with pytest.raises(Refusal, match=f"copy: its ledger is known to be in {home}"):
        open_ledger(copy)
    with pytest.raises(Refusal, match="another than"):
        adopt(copy, "mine", "ab" * 32)
    assert len(SqliteLedger(copy / "ledger.db").rows()) == 2
    before = root(copy)
    assert adopt(copy, "mine", before).event == Adopted("mine", before)
    open_ledger(copy).append(spend("0.4"))
    with pytest.raises(Refusal, match=f"rolled back.*known to be in {copy}"):
        open_ledger(home)
    with pytest.raises(Refusal, match="rolled back"):
        adopt(home, "back", root(home))
    assert left(copy) == Pure("0.1")
    assert verify(SqliteLedger(copy / "ledger.db").rows()).holds


def test_a_home_that_moved_is_the_same_home(home: Path) -> None:
    moved = home.rename(home.with_name("moved"))
    open_ledger(moved).append(spend("0.5"))
    shutil.copytree(moved, home)
    with pytest.raises(Refusal, match=f"known to be in {moved}"):
        open_ledger(home)


def test_two_copies_that_went_their_own_ways_do_not_both_go_on(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each was adopted where nobody knew of the other: who meets the other's witness is refused."""
    fork, here = copied(home, "fork"), os.environ["DISCREET_STATE"]
    monkeypatch.setenv("DISCREET_STATE", f"{here} of another machine")
    adopt(fork, "there", root(fork))
    open_ledger(fork).append(spend("0.5"))
    monkeypatch.setenv("DISCREET_STATE", here)
    open_ledger(home).append(spend("0.1"))
    open_ledger(home).append(spend("0.1"))
    assert len(SqliteLedger(fork / "ledger.db").rows()) == len(SqliteLedger(home / "ledger.db").rows())
    for attempt in (lambda: open_ledger(fork), lambda: adopt(fork, "here", root(fork))):
        with pytest.raises(Refusal, match="rewritten, or is a copy that went its own way"):
            attempt()


def test_a_home_whose_head_is_known_nowhere_is_adopted_and_then_as_any(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DISCREET_STATE", os.environ["DISCREET_STATE"] + " of another machine")
    with pytest.raises(Refusal, match=r"no head of this ledger is kept.*DISCREET_STATE"):
        open_ledger(home)
    adopt(home, "here", root(home))
    assert left(home) == Pure("0.5")
    with pytest.raises(Refusal, match="answers already"):
        adopt(home, "again", root(home))


def test_an_adoption_by_another_head_than_the_ledger_had_is_a_fault(tmp_path: Path) -> None:
    ledger = SqliteLedger(tmp_path / "l")
    ledger.append(Opened("patients", Pure(1), AddRemove("patients")))
    with pytest.raises(Refusal, match="another than"):
        ledger.append(Adopted("x", "00" * 32))
    entry = ledger.append(Adopted("x", verify(ledger.rows()).root))
    forged = replace(entry, event=Adopted("x", "00" * 32))
    rows = [*ledger.rows()[:1], (2, forged.hash, forged.body)]
    assert verify(rows).faults == (f"entry 2: it names another head than that of the entries before it: {'0' * 64}",)


@pytest.mark.parametrize("name", ["", "x" * 61, "a\nb"])
def test_an_adopted_home_has_a_name(home: Path, name: str) -> None:
    with pytest.raises(Refusal, match="one line"):
        adopt(copied(home, "copy"), name, root(home))


# in which order -------------------------------------------------------------------------------------------------------


def test_a_crash_between_ledger_and_witness_neither_closes_the_home_nor_refills_it(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = open_ledger(home)
    order: list[tuple[object, ...]] = []

    def crash(_: Path, file: Path) -> None:
        with closing(sqlite3.connect(home / "ledger.db")) as raw:
            order.append((file.suffix, *raw.execute("SELECT max(number) FROM entry").fetchone()))
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(keeping, "put", crash)
        with pytest.raises(KeyboardInterrupt):
            ledger.append(spend("0.5"))
    assert order == [(".json", 3)]  # what is known outside was on the disk before; it is replaced after the commit
    assert kept(home).size == 2
    assert left(home) == Pure(0)
    assert kept(home).size == 3


def test_nothing_is_known_outside_of_what_was_not_committed(home: Path) -> None:
    with pytest.raises(OverBudget):
        open_ledger(home).append_all([spend("0.3"), spend("0.3")])
    assert kept(home).size == 2
    open_ledger(home).append(spend("0.5"))
    assert kept(home).root == root(home)


def test_a_head_that_cannot_be_kept_stops_paying_and_not_reading(home: Path, state: Path) -> None:
    paid = open_ledger(home).append(spend("0.1"))
    shutil.move(state, f"{state} away")
    state.write_text("no folder")
    ledger = open_ledger(home)
    with pytest.raises(Unreachable, match="cannot be kept outside"):
        ledger.append(spend("0.1"))
    with pytest.raises(Outside, match="nothing can be paid here for now") as refused:
        ledger.append(spend("0.1", who="ada"))
    assert str(state) not in str(refused.value)  # a visitor hears of no folder
    ledger.append(StoredAnswer(paid.number, QUESTION, "said"))  # paid before: it is recorded in any case
    ledger.append(Hold("patients", held=True))  # what closes is written too
    assert len(ledger.answered(QUESTION)) == 1
    state.unlink()
    shutil.move(f"{state} away", state)
    assert len(open_ledger(home).rows()) == 5
    assert kept(home).size == 5


def test_a_state_folder_that_another_program_holds_is_waited_for_and_told_as_busy(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = open_ledger(home)
    paid = ledger.append(spend("0.1"))
    monkeypatch.setattr(file_access, "PATIENCE", 0.1)
    with held(state_folder() / "heads" / f"{name_of(home)}.lock"):
        for who in ("custodian", "ada"):
            with pytest.raises(Busy, match=r"^the ledger is in use by another program; nothing was charged;"):
                ledger.append(spend("0.1", who=who))
        with pytest.raises(Busy):
            open_ledger(home)
        ledger.append(StoredAnswer(paid.number, QUESTION, "said"))  # paid before: it is recorded in any case
    assert len(ledger.rows()) == 4
    assert left(home) == Pure("0.4")
    assert kept(home).size == 4  # what was written meanwhile is known as soon as the home is opened again


def test_a_changed_record_is_no_record(home: Path) -> None:
    (file,) = state_folder().glob("heads/*.json")
    body = json.loads(file.read_text())
    file.write_text(json.dumps(body | {"head": body["head"] | {"size": 1}}))
    with pytest.raises(Refusal, match="not the head of a ledger any more"):
        open_ledger(home)
    with pytest.raises(Refusal, match="not the head of a ledger any more"):
        adopt(home, "x", root(home))


def test_a_record_that_was_changed_after_one_wrote_it_oneself_is_no_record_either(home: Path) -> None:
    ledger = open_ledger(home)
    ledger.append(spend("0.1"))
    (file,) = state_folder().glob("heads/*.json")
    written = file.read_text()
    body = json.loads(written)
    file.write_text(json.dumps(body | {"head": body["head"] | {"size": 1}}))
    with pytest.raises(Refusal, match="not the head of a ledger any more"):
        ledger.append(spend("0.1"))
    file.unlink()
    with pytest.raises(Refusal, match="no head of this ledger is kept"):
        ledger.append(spend("0.1"))
    file.write_text(written)
    ledger.append(spend("0.1"))
    assert kept(home).size == 4


def test_where_heads_are_kept_follows_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DISCREET_STATE")
    monkeypatch.setenv("XDG_STATE_HOME", "/var/elsewhere")
    assert state_folder() == Path("/var/elsewhere/discreet")
    monkeypatch.setenv("XDG_STATE_HOME", "relative")  # which the convention says to ignore
    monkeypatch.setenv("HOME", "/people/ada")
    assert state_folder() == Path("/people/ada/.local/state/discreet")
    monkeypatch.setenv("DISCREET_STATE", "")
    assert state_folder() == Path("/people/ada/.local/state/discreet")
    monkeypatch.setenv("DISCREET_STATE", "state")
    with pytest.raises(Unreachable, match="another folder wherever you are"):
        state_folder()


def test_a_home_to_practise_in_is_known_nowhere(tmp_path: Path, state: Path) -> None:
    found_ledger(tmp_path, practice=True)
    open_ledger(tmp_path).append(Opened("patients", Pure(1), AddRemove("patients")))
    assert not state.exists()
    assert standings(tmp_path) == []
    assert [file.name for file in sorted(tmp_path.iterdir())] == ["ledger.db", "ledger.db.lock"]


def test_a_ledger_that_is_known_by_its_first_entry_needs_its_head_also_if_it_does_not_say_so(home: Path) -> None:
    (record,) = [file for file in (state_folder() / "heads").iterdir() if file.suffix == ".json"]
    record.unlink()
    with closing(sqlite3.connect(home / "ledger.db")) as raw:
        raw.executescript("DELETE FROM mark")
    with pytest.raises(Refusal, match="no head of this ledger is kept"):
        open_ledger(home)
    adopt(home, "found again", root(home))
    assert left(home) == Pure("0.5")


def test_a_crash_before_the_first_entry_is_noted_is_made_good_when_the_home_is_opened(home: Path) -> None:
    (pointer,) = (state_folder() / "heads").glob("*.origin")
    known = pointer.read_text()
    pointer.unlink()
    open_ledger(home)
    assert pointer.read_text() == known


@pytest.mark.parametrize("also", ["", "DELETE FROM mark WHERE word = 'witnessed'"])
def test_an_old_ledger_does_not_become_one_to_practise_in(home: Path, also: str) -> None:
    older = copied(home, "older")
    open_ledger(home).append(spend("0.5"))
    with closing(sqlite3.connect(older / "ledger.db")) as raw:
        raw.executescript(f"{also}; INSERT INTO mark VALUES ('practice')")
    (older / "ledger.key").unlink()
    shutil.copy(older / "ledger.db", home / "ledger.db")
    for place in (home, older):
        with pytest.raises(Refusal, match="for practice, and its head was kept"):
            open_ledger(place)


def test_a_home_from_before_heads_were_kept_opens_and_is_known_from_then_on(home: Path, state: Path) -> None:
    with sqlite3.connect(home / "ledger.db") as raw:
        raw.executescript("DROP TABLE node; DROP TABLE payment; DROP TABLE checkpoint; DROP TABLE mark")
    raw.close()
    (home / "ledger.key").unlink()
    shutil.rmtree(state)
    older = copied(home, "older")
    open_ledger(home).append(spend("0.5"))
    assert kept(home).size == 3
    shutil.copy(older / "ledger.db", home / "ledger.db")
    with pytest.raises(Refusal, match="rolled back"):
        open_ledger(home)
    with pytest.raises(Refusal, match="not the key"):  # of a copy that had no key yet
        open_ledger(older)
