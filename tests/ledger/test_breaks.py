"""What a review broke in the ledger, each as it was broken: it must not work again."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import pytest

from discreet.errors import Refusal
from discreet.ledger import Dataset, Hold, Opened, Spend, SqliteLedger, StoredAnswer, merkle, sign, signing_key, verify
from discreet.ledger import sqlite as ledger_file
from discreet.ledger.entry_kinds import Entry, canonical, read_entry, read_loss, write_loss
from discreet.ledger.file_access import connect
from discreet.privacy import AddRemove, Approximate, Pure

WAIT = 600  # seconds for a process of ours that hangs, which none does unless the code is wrong, however busy all is


def opened(population: str = "patients", total: int = 2) -> Opened:
    return Opened(population, Pure(total), AddRemove(population))


def spend(epsilon: object = "0.1", who: str = "custodian", **more: object) -> Spend:
    return Spend("patients", Pure(epsilon), who, "q", ["visits"], None, **more)  # type: ignore[arg-type]


def python(code: str, *given: object) -> str:
    """What a process of its own prints."""
    command = [sys.executable, "-c", PREFACE + code, *map(str, given)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=WAIT, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


PREFACE = """
import os, resource, signal, sys, threading, time
from pathlib import Path
from discreet.errors import Refusal
from discreet.ledger import Hold, Opened, Spend, SqliteLedger
from discreet.privacy import AddRemove, Pure
path = Path(sys.argv[1])
def spend(price): return Spend("patients", Pure(price), "custodian", "q", [], None)
"""
SPENT = 'print(SqliteLedger(path).books().account("patients").budget.spent.epsilon)'


# a payment is not lost ------------------------------------------------------------------------------------------------

FORK = """
ledger = SqliteLedger(path)
ledger.append(Opened("patients", Pure(2), AddRemove("patients")))
(told, tell), (heard, hear) = os.pipe(), os.pipe()
child = os.fork()
if child == 0:
    signal.alarm(500)
    mine = SqliteLedger(path) if sys.argv[2] == "own" else ledger
    mine.books()
    os.write(tell, b"1")
    os.read(heard, 1)
    mine.append(spend(2))
    os._exit(0)
os.read(told, 1)
ledger.books()
ledger.close()
del ledger
os.write(hear, b"1")
assert os.waitpid(child, 0)[1] == 0
"""


@pytest.mark.parametrize("whose", ["own", "inherited"])
def test_a_payment_in_a_forked_child_is_not_lost(tmp_path: Path, whose: str) -> None:
    python(FORK, tmp_path / "l", whose)
    assert python(SPENT, tmp_path / "l") == "2"


CROWDED_FORK = """
ledger = SqliteLedger(path)
ledger.append(Opened("patients", Pure(1000), AddRemove("patients")))
over = threading.Event()
def work():
    while not over.is_set(): ledger.append(spend("0.001"))
threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads: thread.start()
for _ in range(12):
    child = os.fork()
    if child == 0:
        signal.alarm(500)
        ledger.append(spend(1))
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0, "a child hung or failed"
over.set()
for thread in threads: thread.join()
print(int(ledger.books().account("patients").budget.spent.epsilon))
"""


def test_a_child_forked_amid_payments_neither_hangs_nor_loses_one(tmp_path: Path) -> None:
    assert int(python(CROWDED_FORK, tmp_path / "l")) >= 12
    assert verify(SqliteLedger(tmp_path / "l").rows()).holds


def test_a_payment_after_the_file_was_copied_by_the_same_process_is_not_lost(tmp_path: Path) -> None:
    ledger = SqliteLedger(tmp_path / "l")
    ledger.append(opened())
    shutil.copy(tmp_path / "l", tmp_path / "backup")  # closing any descriptor of a file drops the locks on it
    assert python(SPENT, tmp_path / "l") == "0"
    ledger.append(spend(2))
    assert python(SPENT, tmp_path / "l") == "2"


PAY = "SqliteLedger(path).append(spend(1))"


def test_a_copy_amid_a_payment_lets_no_other_process_in(tmp_path: Path) -> None:
    path, others = tmp_path / "l", []

    def amid() -> str:
        shutil.copy(path, tmp_path / "backup")
        others.append(subprocess.Popen([sys.executable, "-c", PREFACE + PAY, str(path)]))
        time.sleep(0.7)  # for the other to get in, if it can
        return "now"

    SqliteLedger(path).append(opened())
    SqliteLedger(path, clock=amid).append(spend(1))
    assert [other.wait(WAIT) for other in others] == [0]
    assert [entry.event.kind for entry in SqliteLedger(path).entries()] == ["budget", "spend", "spend"]
    assert python(SPENT, path) == "2"


def test_a_ledger_put_back_under_a_live_process_is_written_where_others_look(tmp_path: Path) -> None:
    path = tmp_path / "l"
    ledger = SqliteLedger(path)
    ledger.append(opened())
    shutil.copy(path, tmp_path / "same")
    path.unlink()
    shutil.copy(tmp_path / "same", path)
    ledger.append(spend(2))
    assert python(SPENT, path) == "2"


def test_a_ledger_rolled_back_under_a_live_process_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "l"
    ledger = SqliteLedger(path)
    ledger.append(opened())
    shutil.copy(path, tmp_path / "older")
    ledger.append(spend(2))
    shutil.copy(tmp_path / "older", path)
    with pytest.raises(Refusal, match="rolled back"):
        ledger.append(spend(1))
    with pytest.raises(Refusal, match="rolled back"):
        ledger.books()


def test_an_entry_that_the_file_swallows_is_noticed(tmp_path: Path) -> None:
    ledger = SqliteLedger(tmp_path / "l")
    ledger.append(opened())
    swallow = "CREATE TRIGGER evil BEFORE INSERT ON entry BEGIN SELECT RAISE(IGNORE); END"
    with closing(sqlite3.connect(tmp_path / "l", isolation_level=None)) as raw:
        raw.execute(swallow)
    with pytest.raises(Refusal, match="not kept"):
        ledger.append(spend())


def test_an_interrupt_right_after_the_transaction_begins_leaves_nothing_locked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, real = tmp_path / "l", connect
    ledger = SqliteLedger(path)
    ledger.append(opened())

    class Interrupted:
        def __init__(self, connection: sqlite3.Connection) -> None:
            self._connection = connection
            self.close = connection.close

        def execute(self, statement: str, *given: object) -> sqlite3.Cursor:
            done = self._connection.execute(statement, *given)  # type: ignore[arg-type]
            if statement == "BEGIN IMMEDIATE":
                raise KeyboardInterrupt
            return done

    with monkeypatch.context() as patched:
        patched.setattr(ledger_file, "connect", lambda path: Interrupted(real(path)))
        with pytest.raises(KeyboardInterrupt):
            ledger.append(spend())
    assert python(SPENT, path) == "0"
    ledger.append(spend(2))
    assert python(SPENT, path) == "2"


def test_a_missing_or_broken_ledger_is_refused_and_not_made_anew(tmp_path: Path) -> None:
    path = tmp_path / "l"
    with pytest.raises(Refusal, match="no ledger"):
        SqliteLedger(path, new=False)
    assert list(tmp_path.iterdir()) == []
    path.touch()
    with pytest.raises(Refusal, match="no ledger"):
        SqliteLedger(path, new=False)
    path.write_bytes(b"garbage " * 100)
    with pytest.raises(Refusal, match="cannot be read"):
        SqliteLedger(path)
    path.unlink()
    ledger = SqliteLedger(path)
    ledger.append(opened())
    path.unlink()
    with pytest.raises(Refusal, match="cannot be read"):
        ledger.append(spend())
    assert not path.exists()


# a hold is not lost ---------------------------------------------------------------------------------------------------

FULL = """
ledger = SqliteLedger(path)
resource.setrlimit(resource.RLIMIT_FSIZE, (100, resource.RLIM_INFINITY))
try:
    ledger.append(spend(1))
except Refusal:
    print("refused")
ledger.hold("patients")
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
if sys.argv[2] == "stays":
    for mark in path.parent.glob("l.hold.*"): mark.unlink()  # as if there had been no room for it either
    try:
        ledger.append(spend(1))
    except Refusal as said:
        print(said)
"""


@pytest.mark.parametrize("process", ["ends", "stays"])
def test_a_hold_that_could_not_be_written_still_closes_the_population(tmp_path: Path, process: str) -> None:
    path = tmp_path / "l"
    SqliteLedger(path).append(opened())
    said = python(FULL, path, process).splitlines()
    assert said[0] == "refused"
    if process == "stays":
        assert "maintenance" in said[1]
    with pytest.raises(Refusal, match="maintenance"):
        SqliteLedger(path).append(spend())
    assert SqliteLedger(path).books().account("patients").held
    assert [entry.event for entry in SqliteLedger(path).entries()][1:] == [Hold("patients", held=True)]
    SqliteLedger(path).append(Hold("patients", held=False))
    SqliteLedger(path).append(spend())
    assert sorted(file.name for file in tmp_path.iterdir()) == ["l", "l.lock"]


# what is read is checked ----------------------------------------------------------------------------------------------


def _tampered(path: Path, number: int, change: tuple[str, str]) -> None:
    raw = sqlite3.connect(path)
    raw.execute("DROP TRIGGER entry_stays")
    replaced = "UPDATE entry SET body = CAST(replace(CAST(body AS TEXT), ?, ?) AS BLOB) WHERE number = ?"
    raw.execute(replaced, (*change, number))
    raw.commit()
    raw.close()


def test_a_live_process_serves_no_tampered_answer(tmp_path: Path) -> None:
    ledger = SqliteLedger(tmp_path / "l")
    ledger.append(opened())
    paid = ledger.append(spend())
    ledger.append(StoredAnswer(paid.number, "q", [["41"]]))
    assert len(ledger.answered("q")) == 1
    _tampered(tmp_path / "l", 3, ("41", "99"))
    with pytest.raises(Refusal, match="replaced, cut or rolled back"):
        ledger.answered("q")
    with pytest.raises(Refusal, match="replaced, cut or rolled back"):
        ledger.entry(3)


@pytest.mark.parametrize(
    "number", ["1/0", "1e99999999", "2/4", "+1", " 1", "1_0", "0.1", "9" * 5000, "1/" + "9" * 5000, "٣", "-0", ""]
)
def test_a_number_has_one_spelling_and_the_rest_is_reported_at_once(tmp_path: Path, number: str) -> None:
    with pytest.raises(Refusal):
        read_loss({"measure": "pure", "epsilon": number})
    ledger = SqliteLedger(tmp_path / "l")
    ledger.append(opened())
    ledger.append(spend())
    _tampered(tmp_path / "l", 2, ('"epsilon":"1/10"', f'"epsilon":"{number}"'))
    assert verify(ledger.rows()).faults[0].startswith("entry 2")
    with pytest.raises(Refusal, match="entry 2 does not match"):
        SqliteLedger(tmp_path / "l").books()


@pytest.mark.parametrize(
    "loss", [{"measure": []}, {"measure": "pure"}, {"measure": "pure", "epsilon": "1", "delta": "0"}, None, "pure"]
)
def test_a_loss_has_the_parts_of_its_measure(loss: object) -> None:
    with pytest.raises((Refusal, TypeError)):
        read_loss(loss)  # type: ignore[arg-type]
    assert read_loss(write_loss(Approximate("0.3", "1e-8"))) == Approximate("0.3", "1e-8")


def test_a_price_that_could_not_be_read_back_is_not_written(tmp_path: Path) -> None:
    ledger = SqliteLedger(tmp_path / "l")
    ledger.append(opened())
    with pytest.raises(Refusal, match="digits"):
        ledger.append(spend(Fraction(1, 10**4200)))
    longest = Fraction(1, 2**200 - 1)
    ledger.append(spend(longest))
    assert SqliteLedger(tmp_path / "l").books().account("patients").budget.spent == Pure(longest)


@pytest.mark.parametrize(
    "body",
    [{"a": (1.5,)}, {"a": (1,)}, {1: 2}, {1.5: 1}, "\ud800", {"\udcff": 1}, {"a": {1, 2}}, b"a", [[[]]], {"a": True}],
    ids=repr,
)
def test_canonical_text_is_of_plain_values_only(body: object) -> None:
    nested = body
    for _ in range(40 if body != [[[]]] else 0):
        nested = [nested]
    if body in ([[[]]], {"a": True}):
        assert json.loads(canonical(nested)) == nested  # type: ignore[arg-type]
    else:
        with pytest.raises(Refusal):
            canonical(nested)  # type: ignore[arg-type]


def test_endless_nesting_is_refused() -> None:
    nested: object = "x"
    for _ in range(5000):
        nested = [nested]
    with pytest.raises(Refusal, match="lists in lists"):
        canonical(nested)  # type: ignore[arg-type]


def test_entries_from_before_files_had_names_keep_their_bytes() -> None:
    old = (
        b'{"event":{"declaration":"d","kind":"dataset","population":"p","table":"t","unit":null,"version":1},'
        b'"nonce":"ab","number":1,"time":"now"}'
    )
    assert read_entry(old, "00" * 32).event == Dataset("t", "p", None, 1, "d")
    named = Entry(1, "now", "ab", "00" * 32, Dataset("t", "p", None, 1, "d", "f"))
    assert read_entry(named.body, named.previous) == named


def test_threads_of_one_process_and_two_ledgers_of_one_file_agree(tmp_path: Path) -> None:
    one, two = SqliteLedger(tmp_path / "l"), SqliteLedger(tmp_path / "l")
    one.append(opened())
    threads = [threading.Thread(target=lambda at=at: at.append(spend("0.01"))) for at in (one, two) * 10]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert one.books().account("patients").budget.spent == two.books().account("patients").budget.spent == Pure("0.2")
    assert one.books().size == two.books().size == 21


def test_no_tree_of_nothing_or_less_begins_with_anything_but_nothing() -> None:
    nothing = merkle.root([])
    assert merkle.consistent(0, nothing, 0, nothing, [])
    assert not merkle.consistent(0, b"x", 0, b"x", [])
    assert not merkle.consistent(-3, b"x", -3, b"x", [])
    assert not merkle.consistent(0, b"x", 5, b"y", [])
    assert merkle.consistent(0, nothing, 5, b"y", [])


def test_a_head_by_another_key_is_a_fault(tmp_path: Path) -> None:
    ledger = SqliteLedger(tmp_path / "l")
    ledger.append(opened())
    head = sign([entry.hash for entry in ledger.entries()], "t", signing_key(tmp_path / "key"))
    assert verify(ledger.rows(), heads=[head], key=head.key).holds
    assert "another key" in verify(ledger.rows(), heads=[head], key="00" * 32).faults[0]
