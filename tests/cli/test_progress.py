"""How far a long reading is: told as a share, to who sits before the terminal, and without any say in the result."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import clinic
import duckdb
import pyarrow.parquet as pq
import pytest
from bare import BARE

from discreet.curator.custody import Custody, found_home
from discreet.engines import ingest as engine
from discreet.engines.duckdb import DuckStore
from discreet.engines.ingest import Progress
from discreet.errors import Refusal


def stored(home: Path) -> list[tuple[object, ...]]:
    (path,) = (home / "tables").glob("visits.*.duckdb")
    with duckdb.connect(str(path), read_only=True) as connection:
        return connection.execute("SELECT * FROM rows ORDER BY ALL").fetchall()


MANY = "SELECT i % 997 AS patient, i % 7 AS n FROM range(1000000) t(i)"


def test_a_long_reading_is_heard_midway(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "_GLANCE", 0.005)
    duckdb.execute(f"COPY ({MANY}) TO '{tmp_path / 'many.parquet'}'")
    found_home(tmp_path / "home")
    custody, said = Custody(tmp_path / "home"), clinic.declared(bounds={}, keys={})
    midway = 0
    for i in range(20):  # a busy machine may look away now and then
        heard: list[float] = []
        custody.add(f"visits_{i}", tmp_path / "many.parquet", said, progress=heard.append)
        assert all(0 <= share <= 1 for share in heard)
        assert heard[-1] == 1
        midway += sum(0.01 < share < 0.99 for share in heard)
        if midway >= 5:
            return
    pytest.fail("nothing between begin and end was ever heard")


def test_shares_never_fall_even_from_one_statement_to_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "_GLANCE", 0.005)
    heard: list[float] = []
    with duckdb.connect() as connection, engine.watched(connection, heard.append):
        for _ in range(6):
            connection.execute(f"CREATE OR REPLACE TABLE rows AS {MANY} ORDER BY patient")
    assert len(heard) > 6
    assert all(before <= after for before, after in pairwise(heard))


def test_rows_are_the_same_whoever_listens(tmp_path: Path) -> None:
    def broken(share: float) -> None:
        raise RuntimeError(share)

    heard: list[float] = []
    listeners: dict[str, Progress | None] = {"nobody": None, "somebody": heard.append, "broken": broken}
    for name, progress in listeners.items():
        found_home(tmp_path / name)
        Custody(tmp_path / name).add("visits", clinic.visits(), clinic.declared(), progress=progress)
        Custody(tmp_path / name).update("visits", clinic.visits(30, seed=2), progress=progress)
    assert stored(tmp_path / "nobody") == stored(tmp_path / "somebody") == stored(tmp_path / "broken")
    assert len(stored(tmp_path / "nobody")) == clinic.visits(30, seed=2).num_rows


def test_what_fails_is_never_told_to_be_done(tmp_path: Path) -> None:
    heard: list[float] = []
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 and nothing else")
    with pytest.raises(Refusal, match="could not be read"):
        DuckStore(tmp_path / "tables").ingest(clinic.schema().table("visits"), tmp_path / "bad.parquet", heard.append)
    assert 1 not in heard
    assert list((tmp_path / "tables").iterdir()) == []


def added(folder: Path, *, on_a_terminal: bool) -> tuple[str, str]:
    """What `discreet add` says to stdout and to stderr."""
    pq.write_table(clinic.visits(), folder / "visits.parquet")
    found_home(folder / "home")
    master, slave = pty.openpty()
    command = [sys.executable, "-m", "discreet", "add", "visits", "visits.parquet", "--unit", "patient"]
    with subprocess.Popen(
        [*command, "--max-rows", "5", "--epsilon", "1", "--home", "home"],
        stdout=subprocess.PIPE, stderr=slave if on_a_terminal else subprocess.PIPE, encoding="utf-8", cwd=folder,
        env={**BARE, "TERM": "xterm", "COLUMNS": "100"},
    ) as process:  # fmt: skip
        os.close(slave)
        shown = b"".join(screen(master))
        said, told = process.communicate()
        assert process.returncode == 0
    os.close(master)
    return said, shown.decode() if on_a_terminal else told


def screen(master: int) -> Iterator[bytes]:
    """What a terminal shows, until nobody writes to it any more."""
    with contextlib.suppress(OSError):  # how Linux says that the other end is closed
        while shown := os.read(master, 1 << 16):
            yield shown


def test_a_terminal_sees_a_bar_and_no_size(tmp_path: Path) -> None:
    said, told = added(tmp_path, on_a_terminal=True)
    assert said == "added visits, version 1\n"
    assert "reading visits.parquet" in told
    assert "100%" in told
    plain = re.sub(r"\x1b\[[\d;?]*[A-Za-z]", "", told)
    assert str(clinic.visits().num_rows) not in plain


def test_a_pipe_sees_no_bar(tmp_path: Path) -> None:
    said, told = added(tmp_path, on_a_terminal=False)
    assert said == "added visits, version 1\n"
    assert told == "unit patient; budget of population patient\n"
