"""The ledger: exact sums, one writer at a time, nothing forgotten, every kind of tampering reported."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import OverBudget, Refusal
from discreet.ledger import (
    Dataset,
    Event,
    Grant,
    Hold,
    Opened,
    Retired,
    Revoked,
    Spend,
    SqliteLedger,
    StoredAnswer,
    prove,
    read_head,
    sign,
    signing_key,
    verify,
)
from discreet.ledger.entry_kinds import Entry, canonical, read_entry
from discreet.privacy import AddRemove, Approximate, Concentrated, Pure, Replace


def opened(total: int | Fraction = 1) -> Opened:
    return Opened("patients", Pure(total), AddRemove("patient"))


def spend(epsilon: object = "0.1", who: str = "custodian", question: str = "q") -> Spend:
    return Spend("patients", Pure(epsilon), who, question, ["visits"], "SELECT count(*) FROM visits")  # type: ignore[arg-type]


@pytest.fixture
def ledger(tmp_path: Path) -> SqliteLedger:
    return SqliteLedger(tmp_path / "ledger.db")


EVENTS: list[Event] = [
    opened(),
    Opened("p", Approximate("0.3", "1e-8"), Replace("row")),
    Opened("p", Concentrated(Fraction(1, 3)), AddRemove("row")),
    Dataset("visits", "patients", "patient", 2, "ab" * 32),
    Grant("ada", "analyst", ["visits"], Pure("0.5"), {"hash": "00"}),
    Grant("bob", "custodian", None, None, None),
    Revoked("ada"),
    spend(Fraction(1, 3)),
    StoredAnswer(7, "q", {"rows": [["1", None, True]], "é": "ü"}),
    Retired("patients"),
    Hold("patients", held=True),
]


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.kind)
def test_an_entry_survives_its_bytes(event: Event) -> None:
    entry = Entry(3, "2026-01-01T00:00:00Z", "ab", "00" * 32, event)
    assert read_entry(entry.body, entry.previous) == entry
    assert json.loads(entry.body)["event"]["kind"] == event.kind


def test_canonical_text_knows_no_float_and_one_order() -> None:
    assert canonical({"b": 1, "a": [None, True, "é"]}) == '{"a":[null,true,"é"],"b":1}'.encode()
    with pytest.raises(Refusal, match=r"0\.5"):
        canonical({"a": [{"b": 0.5}]})  # type: ignore[dict-item]


def test_ten_tenths_are_one_and_no_more(ledger: SqliteLedger) -> None:
    ledger.append(opened())
    for _ in range(10):
        ledger.append(spend(0.1))
    assert ledger.books().account("patients").budget.spent == Pure(1)
    with pytest.raises(OverBudget):
        ledger.append(spend(Fraction(1, 10**30)))
    assert ledger.books().size == 11


@settings(max_examples=25)  # every append is synced to the disk
@given(st.lists(st.fractions(min_value=0, max_value=1), max_size=12))
def test_what_is_left_is_what_the_entries_add_up_to(prices: list[Fraction]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        ledger = SqliteLedger(Path(folder) / "l")
        ledger.append(opened(2))
        paid = Fraction(0)
        for price in prices:
            if paid + price <= 2:
                ledger.append(spend(price))
                paid += price
            else:
                with pytest.raises(OverBudget):
                    ledger.append(spend(price))
        assert SqliteLedger(Path(folder) / "l").books().account("patients").budget.spent == Pure(paid)
        ledger.close()


def test_books_refuse_what_does_not_fit(ledger: SqliteLedger) -> None:
    with pytest.raises(Refusal, match="no population 'patients'"):
        ledger.append(spend())
    ledger.append(opened())
    with pytest.raises(Refusal, match="set once"):
        ledger.append(opened(5))
    with pytest.raises(Refusal, match="kept in epsilon, got a price in rho and delta"):
        ledger.append(Spend("patients", Concentrated("0.1"), "custodian", "q", [], None))
    with pytest.raises(Refusal, match="not a payment"):
        ledger.append(StoredAnswer(1, "q", None))
    with pytest.raises(Refusal, match="no user 'eve'"):
        ledger.append(Revoked("eve"))
    assert ledger.books().size == 1


def test_several_events_are_written_together_or_not_at_all(ledger: SqliteLedger) -> None:
    ledger.append(opened())
    with pytest.raises(OverBudget):
        ledger.append_all([spend("0.6"), spend("0.6")])
    assert ledger.books().size == 1
    assert [entry.number for entry in ledger.append_all([spend("0.6"), spend("0.4")])] == [2, 3]
    assert verify(ledger.rows()).holds


def test_an_allowance_holds_under_the_population_s_cap(ledger: SqliteLedger) -> None:
    ledger.append(opened())
    ledger.append(Grant("ada", "analyst", None, Pure("0.3"), None))
    ledger.append(spend("0.2", who="ada"))
    with pytest.raises(OverBudget):
        ledger.append(spend("0.2", who="ada"))
    ledger.append(spend("0.8"))
    with pytest.raises(OverBudget):
        ledger.append(spend("0.1", who="ada"))  # within her allowance, beyond what is left


def test_who_has_no_grant_or_lost_it_pays_nothing(ledger: SqliteLedger) -> None:
    ledger.append(opened())
    with pytest.raises(Refusal, match="no user 'nobody'"):
        ledger.append(spend(who="nobody"))
    ledger.append(Grant("ada", "analyst", None, Pure("0.3"), None))
    ledger.append(Revoked("ada"))
    with pytest.raises(Refusal, match="no user 'ada'"):
        ledger.append(spend(who="ada"))


def test_retired_and_held_populations_answer_nothing(ledger: SqliteLedger) -> None:
    ledger.append(opened())
    ledger.append(Hold("patients", held=True))
    with pytest.raises(Refusal, match="maintenance"):
        ledger.append(spend())
    ledger.append(Hold("patients", held=False))
    ledger.append(spend())
    ledger.append(Retired("patients"))
    with pytest.raises(OverBudget, match="retired"):
        ledger.append(spend())


def test_an_answer_is_found_again_and_given_once(ledger: SqliteLedger) -> None:
    ledger.append(opened())
    paid = ledger.append(spend(question="k"))
    assert ledger.answered("k") == []
    said = ledger.append(StoredAnswer(paid.number, "k", [["41"]]))
    assert ledger.answered("k") == [(paid.event, said.event, said.number)]
    with pytest.raises(Refusal):
        ledger.append(StoredAnswer(paid.number, "k", [["42"]]))


def test_many_threads_never_overspend_by_one_unit(ledger: SqliteLedger) -> None:
    ledger.append(opened())
    refused = []

    def ask() -> None:
        for _ in range(3):
            try:
                ledger.append(spend(Fraction(1, 100)))
            except OverBudget:
                refused.append(1)

    threads = [threading.Thread(target=ask) for _ in range(64)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ledger.books().account("patients").budget.spent == Pure(1)
    assert len(refused) == 64 * 3 - 100


SPENDER = """
import os
import sys
from fractions import Fraction
from pathlib import Path
from discreet.errors import OverBudget
from discreet.ledger import Spend, SqliteLedger
from discreet.privacy import Pure
def spend(path, times):
    ledger = SqliteLedger(Path(path))
    for i in range(int(times)):
        try:
            entry = ledger.append(Spend("patients", Pure(Fraction(1, 100)), "custodian", str(i), [], None))
        except OverBudget:
            continue
        os.write(1, b"%d\\n" % entry.number)  # at once: of two writes a killed process may do one
"""
SPENDING = f"{SPENDER}\nspend(*sys.argv[1:])"
FORKING = f"""{SPENDER}
for _ in sys.stdin:
    if (child := os.fork()) == 0:
        os.write(1, b"%d\\n" % os.getpid())
        spend(*sys.argv[1:])
    os.waitpid(child, 0)
    print("ended", flush=True)
"""


def test_four_processes_never_overspend_by_one_unit(tmp_path: Path) -> None:
    ledger = SqliteLedger(tmp_path / "ledger.db")
    ledger.append(opened())
    command = [sys.executable, "-c", SPENDING, str(tmp_path / "ledger.db"), "40"]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    printed = [number for process in running for number in process.communicate()[0].split()]
    assert sorted(map(int, printed)) == list(range(2, 102))
    assert ledger.books().account("patients").budget.spent == Pure(1)
    assert verify(ledger.rows()).holds


@pytest.mark.parametrize("rounds", [20, pytest.param(200, marks=pytest.mark.slow)])
def test_killed_processes_lose_no_payment(tmp_path: Path, rounds: int) -> None:
    path = tmp_path / "ledger.db"
    SqliteLedger(path).append(opened(10**6))
    pause = random.Random(rounds)
    seen: set[int] = set()
    command = [sys.executable, "-c", FORKING, str(path), "100000"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as forking:
        assert forking.stdin is not None
        assert forking.stdout is not None
        for _ in range(rounds):
            forking.stdin.write("\n")
            forking.stdin.flush()
            child = int(forking.stdout.readline())
            for _ in range(pause.randint(1, 3)):
                seen.add(int(forking.stdout.readline()))
            for _ in range(pause.randrange(40_000)):  # somewhere on the way to the next
                pass
            os.kill(child, signal.SIGKILL)
            seen |= {int(line) for line in iter(forking.stdout.readline, "ended\n")}
    assert len(seen) >= rounds
    ledger = SqliteLedger(path)
    report = verify(ledger.rows())
    assert report.holds, report.faults
    assert seen <= {entry.number for entry in ledger.entries()}  # what a process was told is paid, is paid
    assert ledger.books().account("patients").budget.spent == Pure(Fraction(report.size - 1, 100))


def _filled(path: Path) -> SqliteLedger:
    ledger = SqliteLedger(path)
    ledger.append(opened())
    for i in range(4):
        ledger.append(spend(question=str(i)))
    return ledger


@pytest.mark.parametrize("statement", ["UPDATE entry SET body = x'00'", "DELETE FROM entry WHERE number = 5"])
def test_the_file_itself_refuses_changes(tmp_path: Path, statement: str) -> None:
    _filled(tmp_path / "l")
    with (
        closing(sqlite3.connect(tmp_path / "l")) as raw,
        pytest.raises(sqlite3.IntegrityError, match="append-only"),
    ):
        raw.execute(statement)


SWAP = """
UPDATE entry SET number = CASE number WHEN 3 THEN -4 ELSE -3 END WHERE number IN (3, 4);
UPDATE entry SET number = -number WHERE number < 0
"""


@pytest.mark.parametrize(
    ("tamper", "complaint"),
    [
        (
            "UPDATE entry SET body = CAST(replace(CAST(body AS TEXT), '1/10', '1/99') AS BLOB) WHERE number = 3",
            "entry 3",
        ),
        ("DELETE FROM entry WHERE number = 3", "entry 3"),
        (SWAP, "entry 3"),
        ("DELETE FROM entry WHERE number = 5", "rolled back"),
        ("UPDATE entry SET hash = 'ff' WHERE number = 2", "entry 2"),
        ("INSERT INTO entry VALUES (6, 'ab', x'7b7d')", "entry 6"),
    ],
)
def test_tampering_is_reported(tmp_path: Path, tamper: str, complaint: str) -> None:
    ledger = _filled(tmp_path / "l")
    head = sign([entry.hash for entry in ledger.entries()], "t", signing_key(tmp_path / "key"))
    assert verify(ledger.rows(), heads=[head]).holds
    raw = sqlite3.connect(tmp_path / "l")
    raw.executescript("DROP TRIGGER entry_stays; DROP TRIGGER entry_remains; DROP TRIGGER entry_follows;" + tamper)
    raw.commit()
    raw.close()
    report = verify(ledger.rows(), heads=[head])
    assert not report.holds
    assert complaint in report.faults[0]


def test_a_rewritten_history_with_good_hashes_is_seen_by_who_kept_a_head(tmp_path: Path) -> None:
    key = signing_key(tmp_path / "key")
    head = sign([entry.hash for entry in _filled(tmp_path / "a").entries()], "t", key)
    other = _filled(tmp_path / "b")  # the same events, other nonces: a chain that is right in itself
    assert verify(other.rows()).holds
    assert "rewritten" in verify(other.rows(), heads=[head]).faults[0]


def test_a_restored_backup_is_seen_by_who_kept_a_head(tmp_path: Path) -> None:
    ledger = _filled(tmp_path / "l")
    backup = ledger.rows()
    ledger.append(spend(question="later"))
    head = sign([entry.hash for entry in ledger.entries()], "t", signing_key(tmp_path / "key"))
    assert verify(backup).holds
    assert "rolled back" in verify(backup, heads=[head]).faults[0]


def test_heads_and_proofs_travel_as_text_and_forgeries_do_not_pass(tmp_path: Path) -> None:
    ledger = _filled(tmp_path / "l")
    key = signing_key(tmp_path / "key")
    hashes = [entry.hash for entry in ledger.entries()]
    head = sign(hashes, "t", key)
    assert read_head(head.text()) == head
    assert head.genuine()
    forged = read_head(head.text().replace('"size": 5', '"size": 4'))
    assert not forged.genuine()
    assert "not signed" in verify(ledger.rows(), heads=[forged]).faults[0]
    assert all(prove(hashes, number, head).holds() for number in range(1, 6))
    with pytest.raises(Refusal, match="no entry 6"):
        prove(hashes, 6, head)
    with pytest.raises(Refusal, match="not a ledger head"):
        read_head("{}")


def test_keys_and_files_are_the_owner_s_alone(tmp_path: Path) -> None:
    _filled(tmp_path / "l")
    signing_key(tmp_path / "key")
    assert signing_key(tmp_path / "key").private_bytes_raw() == signing_key(tmp_path / "key").private_bytes_raw()
    for name in ("l", "key"):
        assert (tmp_path / name).stat().st_mode & 0o777 == 0o600
