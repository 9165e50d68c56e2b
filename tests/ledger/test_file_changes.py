"""Books that were read are used again as long as nobody has written: no commit of anyone goes unseen."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import sqlite3
from contextlib import closing
from multiprocessing.context import ForkContext, SpawnContext
from pathlib import Path

import pytest

from discreet.errors import Refusal
from discreet.ledger import Opened, Spend, SqliteLedger, StoredAnswer
from discreet.ledger.file_access import glimpse
from discreet.privacy import AddRemove, Approximate


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = tmp_path / "ledger.db"
    SqliteLedger(found).append(Opened("people", Approximate(10), AddRemove("person")))
    return found


def spend(path: Path) -> None:
    SqliteLedger(path).append(Spend("people", Approximate(1), "custodian", "q", [], {}))


def spent(ledger: SqliteLedger) -> object:
    return ledger.books().account("people").budget.spent


def test_every_commit_is_anotherglimpse(path: Path) -> None:
    seen = [glimpse(path)]
    for _ in range(5):
        spend(path)
        seen.append(glimpse(path))
    assert None not in seen
    assert len(set(seen)) == 6


@pytest.mark.parametrize(
    ("start", "times"), [(multiprocessing.get_context("fork"), 3), (multiprocessing.get_context("spawn"), 1)]
)
def test_what_another_process_wrote_is_seen_at_once(path: Path, start: ForkContext | SpawnContext, times: int) -> None:
    ledger = SqliteLedger(path)
    for number in range(times):
        assert spent(ledger) == Approximate(number)
        other = start.Process(target=spend, args=(path,))
        other.start()
        other.join()
        assert other.exitcode == 0
    assert spent(ledger) == Approximate(times)


def test_after_one_has_written_oneself_the_books_are_at_hand_until_somebody_else_writes(path: Path) -> None:
    ledger = SqliteLedger(path)
    ledger.append(Spend("people", Approximate(1), "custodian", "q", [], {}))
    books = ledger.still()
    assert books is not None
    assert books.account("people").budget.spent == Approximate(1)
    spend(path)
    assert ledger.still() is None
    assert spent(ledger) == Approximate(2)


def test_an_answer_that_somebody_else_was_given_is_found_where_there_was_none(path: Path) -> None:
    ledger = SqliteLedger(path)
    assert ledger.answered("q") == []
    spend(path)
    assert ledger.answered("q") == []
    other = SqliteLedger(path)
    said = other.append(StoredAnswer(2, "q", "seven"))
    assert [(answer.answer, number) for _, answer, number in ledger.answered("q")] == [("seven", said.number)]


def test_while_a_journal_lies_there_the_file_is_read(path: Path) -> None:
    """It may be one that a killed writer left: the pages that it tells of are not what was committed."""
    path.with_name("ledger.db-journal").touch()
    assert glimpse(path) is None
    assert spent(SqliteLedger(path)) == Approximate(0)


def test_a_missing_file_is_not_a_file_that_did_not_change(path: Path) -> None:
    ledger = SqliteLedger(path)
    ledger.books()
    path.unlink()
    assert glimpse(path) is None
    with pytest.raises(Refusal, match="cannot be read"):
        ledger.books()


@pytest.mark.parametrize("swap", [shutil.copyfile, os.replace])
def test_another_past_of_the_same_length_is_refused(path: Path, tmp_path: Path, swap: object) -> None:
    """As many commits, as many bytes, and the same counter: only its times and its hashes tell."""
    old = tmp_path / "old.db"
    shutil.copyfile(path, old)
    spend(path)
    spend(old)
    ledger = SqliteLedger(path)
    assert spent(ledger) == Approximate(1)
    swap(old, path)  # type: ignore[operator]
    with pytest.raises(Refusal, match="replaced, cut or rolled back"):
        ledger.books()


def test_a_journal_that_was_begun_while_one_looked_is_seen(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal, honest = path.with_name("ledger.db-journal"), os.path.exists
    asked: list[bool] = []

    def exists(name: str) -> bool:
        found = honest(name)
        if name == str(journal) and not asked:
            asked.append(found)
            journal.touch()
        return found

    monkeypatch.setattr(os.path, "exists", exists)
    assert glimpse(path) is None
    assert asked == [False]


def test_a_last_entry_that_was_changed_is_noticed_before_anything_is_paid(path: Path) -> None:
    ledger = SqliteLedger(path)
    spend(path)
    assert spent(ledger) == Approximate(1)
    with closing(sqlite3.connect(path)) as raw, raw:
        raw.execute("DROP TRIGGER entry_stays")
        changed = "CAST(replace(CAST(body AS TEXT), 'custodian', 'custodiam') AS BLOB)"
        raw.execute(f"UPDATE entry SET body = {changed} WHERE number = 2")
    with pytest.raises(Refusal, match="replaced, cut or rolled back"):
        ledger.append(Spend("people", Approximate(1), "custodian", "q", [], {}))
