"""What a review broke while files changed, processes forked, died or found the disk full: it must not work again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import clinic
import pytest
from clinic import COUNT
from warm import finished

from discreet.curator import Curator, postprocessing
from discreet.curator.custody import Custody
from discreet.engines import Counted, DuckStore
from discreet.errors import Fault, Refusal
from discreet.ledger import Account, SqliteLedger
from discreet.mechanisms import Takes
from discreet.privacy import AddRemove, Approximate
from discreet.sql.plan import Measurement

SUM = "SELECT sum(cost) FROM visits"
WAIT = 600  # seconds for a process of ours that hangs, which none does unless the code is wrong, however busy all is


def account(home: Path, population: str = "patient") -> Account:
    return SqliteLedger(home / "ledger.db").books().account(population)


def size(home: Path) -> int:
    return SqliteLedger(home / "ledger.db").books().size


def edited(home: Path, old: str, new: str) -> None:
    text = (home / "discreet.toml").read_text(encoding="utf-8")
    assert old in text
    (home / "discreet.toml").write_text(text.replace(old, new, 1), encoding="utf-8")


# forks ----------------------------------------------------------------------------------------------------------------

FORK = """
import os, signal, sys
from pathlib import Path
from discreet.curator import Curator
curator = Curator(Path(sys.argv[1]))
curator.query("SELECT count(*) FROM visits", epsilon=1)  # the engine has threads now
child = os.fork()
if child == 0:
    signal.alarm(500)
    curator.query("SELECT sum(cost) FROM visits", epsilon=1)
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
"""


def test_a_curator_goes_on_in_a_forked_child_and_loses_no_payment(home: Path) -> None:
    done = finished(["-c", FORK, str(home)], WAIT)
    assert done.returncode == 0, done.stderr
    assert account(home).budget.spent == Approximate(2)


# updates under questions ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("change", ["update", "remove"])
def test_a_change_while_rows_are_read_disturbs_nobody(home: Path, change: str) -> None:
    curator = Curator(home)

    def meddle() -> None:
        Custody(home).update("visits", clinic.visits(5)) if change == "update" else Custody(home).remove("visits")

    engine = curator._store
    real = engine.counted

    def counted(measurement: Measurement) -> Counted:
        meddle()
        return real(measurement)

    engine.counted = counted  # type: ignore[method-assign]
    assert curator.query(COUNT, epsilon=1).cost == Approximate(1)
    assert not account(home).held
    assert SqliteLedger(home / "ledger.db").books().unanswered == {}
    assert not (home / "tables" / "visits.1.duckdb").exists()


@pytest.mark.parametrize("change", ["update", "remove"])
def test_a_change_between_planning_and_paying_charges_nothing(
    home: Path, change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    curator, real = Curator(home), postprocessing.rehearse

    def meddle(*given: Any) -> object:  # noqa: ANN401
        monkeypatch.setattr(postprocessing, "rehearse", real)
        found = real(*given)
        Custody(home).update("visits", clinic.visits(5)) if change == "update" else Custody(home).remove("visits")
        return found

    monkeypatch.setattr(postprocessing, "rehearse", meddle)
    if change == "update":  # the same question, under the new declarations
        assert curator.query(COUNT, epsilon=1).cost == Approximate(1)
    else:
        with pytest.raises(Refusal, match="no table 'visits'"):
            curator.query(COUNT, epsilon=1)
    assert account(home).budget.spent == Approximate(1 if change == "update" else 0)
    assert not account(home).held
    assert SqliteLedger(home / "ledger.db").books().unanswered == {}


def test_rows_replaced_before_the_declarations_say_so_cost_nothing(home: Path) -> None:
    curator, ledger = Curator(home), SqliteLedger(home / "ledger.db")
    known = ledger.books().datasets["visits"]
    ledger.append(replace(known, version=2, file="other"))  # what an update does first
    with pytest.raises(Refusal, match=r"nothing was charged|the ledger knows"):
        curator.query(COUNT, epsilon=1)
    assert account(home).budget.spent == Approximate(0)
    assert not account(home).held


def test_a_curator_that_stays_open_sees_updates_edits_and_removals(tmp_path: Path) -> None:
    home = clinic.home(tmp_path / "home")
    curator = Curator(home)
    curator.query(COUNT, epsilon=100)
    Custody(home).update("visits", clinic.visits(3, seed=2))
    few = len(clinic.visits(3, seed=2))
    assert abs(curator.query("SELECT count(*) FROM visits", epsilon=400).rows[0][0] - few) <= 10  # type: ignore[operator]
    edited(home, "max_rows = 50", "max_rows = 1")
    assert curator.query(COUNT, epsilon=100).cost == Approximate(100)  # another cap: another question
    Custody(home).remove("visits")
    with pytest.raises(Refusal, match="no table 'visits'"):
        curator.query(SUM, epsilon=1)


def test_what_was_opened_is_let_go_when_its_rows_are_replaced(home: Path) -> None:
    curator = Curator(home)
    for i in range(3):
        curator.query(COUNT, epsilon="0.1")
        Custody(home).update("visits", clinic.visits(3, seed=i))
    curator.query(COUNT, epsilon="0.1")
    assert list(curator._store._open) == [(("visits", 4),)]


def test_an_answer_about_other_rows_is_not_served_for_a_version_that_came_twice(home: Path) -> None:
    old = (home / "discreet.toml").read_text(encoding="utf-8")
    Custody(home).update("visits", clinic.visits(5))
    Custody(home).update("visits", clinic.visits(7))
    Curator(home).query(COUNT, epsilon="0.5")
    (home / "discreet.toml").write_text(old, encoding="utf-8")
    Custody(home).remove("visits")
    assert Custody(home).add("visits", clinic.visits(50), clinic.declared(epsilon=2)).version == 5
    assert Curator(home).query(COUNT, epsilon="0.5").cost == Approximate("0.5")


# holds ----------------------------------------------------------------------------------------------------------------


class Mechanism:
    """Anything, at a price."""

    takes, privacy, neighbours = Takes.ROWS, Approximate("0.1"), AddRemove()

    def __init__(self, answer: object) -> None:
        self._answer = answer

    def __call__(self, rows: object, /, *, rng: object = None) -> object:
        return self._answer if rows else rng


class Half:
    def __repr__(self) -> str:
        return "\ud800"


class Unsayable:
    def __repr__(self) -> str:
        raise ZeroDivisionError


@pytest.mark.parametrize("answer", [Half(), Unsayable()], ids=["half a character", "no text"])
def test_an_answer_that_cannot_be_recorded_is_a_fault_and_a_hold(home: Path, answer: object) -> None:
    with pytest.raises(Fault) as said:
        Curator(home).run(Mechanism(answer), "SELECT patient FROM visits", max_rows=1)
    assert said.value.__cause__ is None
    assert account(home).held
    assert account(home).budget.spent == Approximate("0.1")


FULL = """
import resource, sys
from pathlib import Path
from discreet.curator import Curator, Terms
from discreet.errors import Fault
from discreet.noise import SECURE
class Failing:
    def counted(self, measurement):
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, resource.RLIM_INFINITY))  # as if the disk were full
        raise ZeroDivisionError
try:
    Curator(Path(sys.argv[1]))._answer("SELECT count(*) FROM visits", Terms(epsilon=1), Failing(), SECURE)
except Fault as said:
    print(said)
"""


@pytest.mark.parametrize("first", ["ask", "lift"])
def test_a_failure_on_a_full_disk_still_closes_the_population(home: Path, first: str) -> None:
    done = finished(["-c", FULL, str(home)], WAIT)
    assert done.stdout.strip() == Fault.SENTENCE, done.stderr
    if first == "ask":
        with pytest.raises(Refusal, match="maintenance"):
            Curator(home).query(SUM, epsilon="0.1")
        assert account(home).held
    Custody(home).lift("patient")
    Curator(home).query(SUM, epsilon="0.1")


# what a killed process leaves -----------------------------------------------------------------------------------------


def test_what_a_killed_process_left_of_rows_is_swept_and_what_lives_is_not(home: Path) -> None:
    tables = home / "tables"
    living = DuckStore(tables)
    kept = living._spill.folder() / "rows.tmp"
    kept.write_bytes(b"a row")
    dead = tables / "spill" / "1-dead" / "rows.tmp"
    dead.parent.mkdir()
    dead.write_bytes(b"a row")
    aside = tables / ".visits.0011223344556677.duckdb"
    aside.write_bytes(b"a row")
    (tables / f"{aside.name}.tmp").mkdir()
    (tables / f"{aside.name}.tmp" / "rows").write_bytes(b"a row")
    (tables / "gone.7.duckdb").write_bytes(b"a row")
    Curator(home)
    assert kept.exists()
    assert not dead.parent.exists()
    assert [path.name for path in tables.iterdir() if path.name.startswith(".")] == []
    with Custody(home)._alone():
        assert sorted(path.name for path in tables.glob("*.duckdb")) == ["visits.1.duckdb"]
    living.close()
    assert list((tables / "spill").iterdir()) == []


def test_an_ingest_that_is_going_on_is_not_swept(home: Path) -> None:
    seen: list[bool] = []

    class Source:
        """Rows that somebody else looks at the home while they are read."""

        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            DuckStore(home / "tables")
            seen.append(any((home / "tables").glob(".more.*.duckdb")))
            return clinic.visits(3).__arrow_c_stream__(requested_schema)

    Custody(home).add("more", Source(), clinic.declared(epsilon=2))
    assert seen[-1]
