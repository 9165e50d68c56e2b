"""A long ledger: a sealed checkpoint and an index stand in for reading all of it, and neither is believed alone."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import pytest

from discreet.errors import OverBudget, Refusal
from discreet.ledger import (
    Books,
    Dataset,
    Grant,
    Hold,
    Opened,
    Retired,
    Spend,
    SqliteLedger,
    StoredAnswer,
    read_snapshot,
    sign,
    signing_key,
    verify,
)
from discreet.ledger.entry_kinds import Entry, Event, read_entry
from discreet.ledger.index import EVERY, read_checkpoint, seal
from discreet.ledger.verify import extend, receipt
from discreet.privacy import AddRemove, Approximate, Concentrated, Pure, Replace

PRICE = Fraction(1, 3)


def spend(question: str, who: str = "custodian") -> Spend:
    return Spend("patients", Pure(PRICE), who, question, ["visits"], {"sql": "SELECT 1"})


def events(first: int, many: int) -> list[Event]:
    """Payments with their answers from entry `first` on; every tenth is a release, every seventh is never answered."""
    found: list[Event] = []
    while len(found) < many:
        number = first + len(found)
        found.append(spend(f"q{number % 50}", "ada" if number % 3 else "custodian"))
        if number % 7:
            said = {"release": {"name": "a"}} if number % 10 == 0 else [["41"]]
            found.append(StoredAnswer(number, f"q{number % 50}", said))  # type: ignore[arg-type]
    return found


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ledger with two checkpoints behind it, and some entries after the newest."""
    path = tmp_path_factory.mktemp("long") / "ledger.db"
    ledger = SqliteLedger(path)
    ledger.append_all(
        [
            Opened("patients", Pure(1000), AddRemove("patients")),
            Opened("guests", Approximate(3, "1e-8"), Replace("guests")),
            Opened("staff", Concentrated("0.5"), AddRemove("staff")),
            Dataset("visits", "patients", "patient", 1, "d", "f", "a=b.c"),
            Dataset("visits", "patients", "patient", 2, "d2"),
            Grant("ada", "analyst", ["visits"], Pure(500), {"salt": "00"}),
            Hold("guests", held=True),
            Retired("staff"),
        ]
    )
    for _ in range(3):
        ledger.append_all(events(ledger.books().size + 1, EVERY - 8))
    ledger.append_all(events(ledger.books().size + 1, 20))
    return path


@pytest.fixture
def path(whole: Path, tmp_path: Path) -> Path:
    for name in ("ledger.db", "ledger.key"):
        shutil.copy(whole.with_name(name), tmp_path / name)
    return tmp_path / "ledger.db"


def tampered(path: Path, statement: str, *given: object) -> None:
    with closing(sqlite3.connect(path)) as raw, raw:
        raw.executescript("DROP TRIGGER IF EXISTS entry_stays; DROP TRIGGER IF EXISTS entry_remains")
        raw.execute(statement, given)


def checkpoint(path: Path) -> tuple[bytes, bytes]:
    with closing(sqlite3.connect(path)) as raw:
        ((body, sealed),) = raw.execute("SELECT body, seal FROM checkpoint").fetchall()
    return body, sealed


def test_the_books_of_a_checkpoint_are_those_of_all_entries(path: Path) -> None:
    ledger, added = SqliteLedger(path), Books()
    for entry in ledger.entries():
        added.apply(entry)
    assert ledger.books() == added
    assert read_checkpoint(*checkpoint(path), signing_key(path.with_name("ledger.key"))).books.size >= 2 * EVERY
    assert added.unanswered
    root = verify(ledger.rows()).root
    with ledger.looked_at() as now:
        assert now.past.frontier.root.hex() == root


def test_a_long_ledger_is_not_read_again(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []

    def counted(body: bytes, previous: str) -> Entry:
        read.append(1)
        return read_entry(body, previous)

    monkeypatch.setattr(read_snapshot, "read_entry", counted)
    ledger = SqliteLedger(path)
    ledger.books()
    assert 0 < len(read) < EVERY
    with ledger.looked_at() as now:
        size, oldest = now.size, now.releases()[-1][1].number
    key = signing_key(path.with_name("ledger.key"))
    read.clear()
    with ledger.looked_at() as now:
        now.head("now", key)
        now.extension(now.head("now", key, 3), now.head("now", key))
        now.release(oldest)
        now.receipt(oldest, now.head("now", key, oldest))
        now.payments("ada", before=size, most=5)
        now.answered("q9")
    ledger.append(spend("new"))
    assert len(read) < 80, "as many as were asked for, not as many as there are"


def test_proofs_from_the_index_are_those_from_all_entries(path: Path) -> None:
    ledger, key = SqliteLedger(path), signing_key(path.with_name("ledger.key"))
    rows, every = ledger.rows(), ledger.entries()
    hashes = [stored for _, stored, _ in rows]
    head = sign(hashes, "now", key)
    with ledger.looked_at() as now:
        assert now.head("now", key) == head
        for size in (0, 1, 2, 255, 256, 257, 500, len(rows)):
            kept = sign(hashes[:size], "then", key)
            assert now.head("then", key, size) == kept
            assert now.extension(kept, head) == extend(rows, kept, head)
        for number in (1, 2, 255, 256, 257, 500, len(rows)):
            assert now.receipt(number, head) == receipt(rows, number, head)
            assert now.entry(number) == every[number - 1]
        with pytest.raises(Refusal, match="rewritten"):
            now.extension(sign(hashes[1:5], "then", key), head)
        with pytest.raises(Refusal, match="cut"):
            now.extension(sign([*hashes, hashes[0]], "then", key), head)


def test_what_is_looked_up_is_what_reading_all_of_it_finds(path: Path) -> None:
    ledger = SqliteLedger(path)
    every = ledger.entries()
    said = {e.event.spend: e for e in every if isinstance(e.event, StoredAnswer)}
    paid = [(e, said.get(e.number)) for e in every if isinstance(e.event, Spend)][::-1]
    ada = [each for each in paid if each[0].event.principal == "ada"]  # type: ignore[union-attr]
    published = [e for e in every[::-1] if isinstance(e.event, StoredAnswer) and isinstance(e.event.answer, dict)]
    with ledger.looked_at() as now:
        assert now.payments(None) == paid
        assert now.payments("ada") == ada
        assert now.payments("ada", before=ada[3][0].number, most=2) == ada[4:6]
        assert [entry for _, entry in now.releases()] == published
        assert now.release(published[0].number) == now.releases()[0]
        assert now.release(1) is now.release(0) is now.release(10**9) is None
        for question in ("q1", "q7", "none"):
            answers = [e.number for e in every if isinstance(e.event, StoredAnswer) and e.event.question == question]
            assert [number for _, _, number in now.answered(question)] == answers


def test_answers_that_are_remembered_grow_with_the_ledger(path: Path) -> None:
    one, two = SqliteLedger(path), SqliteLedger(path)
    before = one.answers("q1")
    assert one.answers_at_hand("q1") == before
    assert one.answers_at_hand("q2") is None
    paid = two.append(spend("q1"))
    said = two.append(StoredAnswer(paid.number, "q1", "more"))
    assert one.answers("q1") == (*before, said.number)


# forgeries ------------------------------------------------------------------------------------------------------------


def test_a_forged_checkpoint_gives_nobody_a_budget(path: Path) -> None:
    body, sealed = checkpoint(path)
    parsed = json.loads(body)
    parsed["accounts"]["patients"]["spent"] = ["Pure", "0/1"]
    forged = json.dumps(parsed, sort_keys=True, separators=(",", ":")).encode()
    assert forged != body
    another = signing_key(path.with_name("another.key"))
    for seals in (sealed, seal(forged, another), b"", b"\0" * 32):
        tampered(path, "UPDATE checkpoint SET body = ?, seal = ?", forged, seals)
        with pytest.raises(Refusal, match=r"not written with ledger\.key"):
            SqliteLedger(path).books()
        with pytest.raises(Refusal, match=r"not written with ledger\.key"):
            SqliteLedger(path).append(spend("q"))
    assert verify(SqliteLedger(path).rows()).holds  # which believes no checkpoint
    spent = sum(isinstance(e.event, Spend) for e in SqliteLedger(path).entries()) * PRICE
    SqliteLedger(path).upgrade()
    assert SqliteLedger(path).books().account("patients").budget.spent == Pure(spent)


def test_a_checkpoint_counts_only_under_the_entry_that_it_was_made_for(path: Path) -> None:
    """Sealed by the same key, as a home that was copied and went its own way would have it."""
    fork = path.with_name("fork.db")
    shutil.copy(path, fork)
    with closing(sqlite3.connect(fork)) as raw, raw:
        raw.executescript("DROP TRIGGER entry_remains; DELETE FROM checkpoint; DELETE FROM node")
        raw.execute("DELETE FROM entry WHERE number > 8")
    own = SqliteLedger(fork)
    own.append_all([spend("x") for _ in range(EVERY * 3)])
    tampered(path, "UPDATE checkpoint SET body = ?, seal = ?", *checkpoint(fork))
    with pytest.raises(Refusal, match="replaced, cut or rolled back"):
        SqliteLedger(path).books()


def test_without_its_key_a_checkpoint_is_not_believed(path: Path) -> None:
    path.with_name("ledger.key").unlink()
    with pytest.raises(Refusal, match=r"ledger\.key is missing"):
        SqliteLedger(path).books()
    assert not path.with_name("ledger.key").exists()


def test_an_old_entry_that_was_changed_is_not_read(path: Path) -> None:
    tampered(path, "UPDATE entry SET body = CAST(replace(CAST(body AS TEXT), '1/3', '1/9') AS BLOB) WHERE number = 9")
    with pytest.raises(Refusal, match="entry 9 does not match"):
        SqliteLedger(path).entry(9)
    assert verify(SqliteLedger(path).rows()).faults[0].startswith("entry 9")
    (_, before, _), (_, _, changed) = SqliteLedger(path).rows()[7:9]
    assert json.loads(changed)["event"]["loss"]["epsilon"] == "1/9"
    hashed = read_entry(changed, before).hash  # with a hash that fits, but not into the tree
    tampered(path, "UPDATE entry SET hash = ? WHERE number = 9", hashed)
    with pytest.raises(Refusal, match="entry 9 does not match"):
        SqliteLedger(path).entry(9)


@pytest.mark.parametrize("level", [0, 3, 8])
def test_an_index_that_was_changed_proves_nothing(path: Path, level: int) -> None:
    key = signing_key(path.with_name("ledger.key"))
    tampered(path, "UPDATE node SET hash = zeroblob(32) WHERE level = ? AND place = 0", level)
    with SqliteLedger(path).looked_at() as now:
        kept = now.head("now", key)  # which needs none of it
        with pytest.raises(Refusal, match="does not match its hash"):
            [now.entry(number) for number in (1, 2, 9, 300)]
        with pytest.raises(Refusal, match="the ledger's index does not fit"):
            [now.head("now", key, number) for number in (1, 9, 300)]
    tampered(path, "DELETE FROM node WHERE level = ? AND place = 0", level)
    ledger = SqliteLedger(path)
    ledger.upgrade()
    with ledger.looked_at() as now:
        assert now.head("now", key) == kept
        assert now.entry(1).number == 1


def test_an_answer_is_not_passed_off_as_that_of_another_question(path: Path) -> None:
    tampered(path, "UPDATE payment SET question = 'q2' WHERE question = 'q1'")
    ledger = SqliteLedger(path)
    assert ledger.answered("q1") == []
    assert {said.question for _, said, _ in ledger.answered("q2")} == {"q2"}


def test_a_ledger_from_before_there_was_an_index_is_read_once(path: Path) -> None:
    before = SqliteLedger(path).books()
    with closing(sqlite3.connect(path)) as raw, raw:
        raw.executescript("DROP TABLE node; DROP TABLE payment; DROP TABLE checkpoint; DROP TABLE mark")
    assert SqliteLedger(path).books() == before
    assert checkpoint(path)
    with closing(sqlite3.connect(path)) as raw, raw:  # and if such a version writes again
        raw.executescript("DELETE FROM node WHERE place > 9; DELETE FROM payment WHERE number > 9")
    ledger = SqliteLedger(path)
    assert ledger.books() == before
    ledger.append(spend("new"))
    assert len(ledger.answered("q9")) > 1


def test_a_budget_is_spent_to_its_end_across_checkpoints(tmp_path: Path) -> None:
    ledger = SqliteLedger(tmp_path / "ledger.db")
    ledger.append(Opened("patients", Pure(200), AddRemove("patients")))
    for _ in range(2):
        ledger.append_all([spend("q") for _ in range(300)])
    assert checkpoint(tmp_path / "ledger.db")
    assert SqliteLedger(tmp_path / "ledger.db").books().account("patients").budget.left == Pure(0)
    with pytest.raises(OverBudget):
        SqliteLedger(tmp_path / "ledger.db").append(spend("q"))
