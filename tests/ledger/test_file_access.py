"""A ledger that another program holds is waited for, once for all, and told as busy; a damaged one as damaged."""

from __future__ import annotations

import fcntl
import shutil
import sqlite3
from pathlib import Path

import pytest

from discreet.errors import Busy, Ground, Refusal
from discreet.ledger import Opened, SqliteLedger, file_access
from discreet.privacy import AddRemove, Pure

EVENT = Opened("p", Pure(1), AddRemove("p"))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = tmp_path / "ledger.db"
    SqliteLedger(found).append(EVENT)
    return found


@pytest.fixture
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_access, "PATIENCE", 0.2)
    monkeypatch.setattr(file_access, "_LEAST", 0.0)


@pytest.mark.usefixtures("hurry")
def test_a_ledger_that_one_of_ours_holds_is_busy_and_nothing_is_written(path: Path) -> None:
    ledger = SqliteLedger(path)
    with path.with_name("ledger.db.lock").open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        for _ in range(3):
            with pytest.raises(Busy, match="the ledger is in use by another program; nothing was charged") as told:
                ledger.append(EVENT)
            assert (told.value.ground, str(path.parent) in str(told.value)) == (Ground.BUSY, False)
    assert len(ledger.entries()) == 1


@pytest.mark.usefixtures("hurry")
def test_a_ledger_that_another_program_holds_is_busy(path: Path) -> None:
    ledger = SqliteLedger(path)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    for _ in range(3):
        with pytest.raises(Busy):
            ledger.append(EVENT)
    other.close()
    assert len(ledger.entries()) == 1


def test_threads_that_wait_one_after_the_other_have_the_patience_of_one(tmp_path: Path) -> None:
    path = tmp_path / "x"
    assert file_access.patience(path) == file_access.PATIENCE
    file_access.waited(path, file_access.PATIENCE)
    assert file_access.patience(path) < 0.1
    file_access.had(path)
    assert file_access.patience(path) == file_access.PATIENCE


def said(path: Path) -> str:
    """What is told of a ledger that cannot be read; nothing of one that can."""
    try:
        return "" if len(SqliteLedger(path).entries()) == 1 else "it has other entries"
    except Refusal as told:
        return told.message


def test_every_flipped_bit_of_the_schema_is_a_clear_refusal_or_no_harm(path: Path) -> None:
    """The schema is what the first page holds beside its header; entries lie on others."""
    whole = path.read_bytes()
    size = int.from_bytes(whole[16:18], "big")
    places = [place for place in range(100, size) if whole[place]]
    assert len(places) > 500
    for place in places[:: len(places) // 60]:
        broken = bytearray(whole)
        broken[place] ^= 1 << (place % 8)
        copy = path.with_name("copy.db")
        copy.write_bytes(broken)
        told = said(copy)
        assert told in ("", "the ledger cannot be read: its file is damaged") or told.startswith("entry 1 "), told
        assert copy.read_bytes()[size:] == whole[size:]  # no ledger was begun in its place


def test_a_file_that_may_not_be_opened_is_told_without_its_place(path: Path) -> None:
    ledger = SqliteLedger(path)
    lock = path.with_name("ledger.db.lock")
    lock.unlink()
    lock.mkdir()
    with pytest.raises(Refusal, match=r"^the ledger cannot be read or written: Is a directory; see discreet doctor$"):
        ledger.append(EVENT)
    shutil.rmtree(lock)
    assert list(path.parent.iterdir()) == [path]
