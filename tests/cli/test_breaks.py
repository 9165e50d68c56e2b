"""What a review made the command line stumble over: a sentence and an exit code, never a traceback."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
from pathlib import Path

import clinic
import commandline
import duckdb
import pyarrow.parquet as pq
import pytest

from discreet.cli import commands
from discreet.curator import Curator
from discreet.errors import Fault
from discreet.ledger import SqliteLedger, sign, signing_key


def discreet(folder: Path, *arguments: str | bytes, home: str = "home") -> subprocess.CompletedProcess[str]:
    return commandline.discreet(folder, *arguments, DISCREET_HOME=home)


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("desk")
    Curator(clinic.home(place / "home")).query(clinic.COUNT, epsilon=1)
    pq.write_table(clinic.visits(5), place / "v.parquet")
    (place / "binary").write_bytes(b"\xff\xfe\x00")
    (place / "odd.json").write_text('{"size":1,"root":"aa","time":"x","key":5,"signature":"aa"}', encoding="utf-8")
    (place / "j.duckdb").write_text("junk", encoding="utf-8")
    (place / "u.csv").write_bytes(b"\xff\xfe\x00a,b\n")
    (place / "d.csv").mkdir()
    (place / "file").touch()
    (place / "home" / "link").symlink_to("nowhere")
    return place


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["ledger", "verify", "--head", "missing.json"], 2),
        (["ledger", "verify", "--head", "odd.json"], 2),
        pytest.param(["ledger", "verify", "--head", "binary"], 2, marks=pytest.mark.slow),
        (["ledger", "verify", "--key", "abc"], 2),
        (["ledger", "export", "/nonexist/x"], 2),
        pytest.param(["ledger", "export", "d.csv"], 2, marks=pytest.mark.slow),
        (["init", "file"], 2),
        pytest.param(["init", "file/home"], 2, marks=pytest.mark.slow),
        (["doctor"], 0),
        (["add", "a", "j.duckdb::t", "--unit", "row", "--epsilon", "1"], 2),
        (["add", "a", "d.csv", "--unit", "row", "--epsilon", "1"], 2),
        pytest.param(["add", "a", "u.csv", "--unit", "row", "--epsilon", "1"], 2, marks=pytest.mark.slow),
        (["add", "a", "v.parquet", "--unit", "patient", "--keys", "region=@d.csv"], 2),
        pytest.param(
            ["add", "a", "v.parquet", "--unit", "patient", "--keys", "region=@binary"], 2, marks=pytest.mark.slow
        ),
        (["add", "a", "v.parquet", "--unit", "patient", "--describe", b"cost=\x80"], 2),
        (["add", "a", "v.parquet", "--public", "--unit", "patient", "--epsilon", "1"], 2),
        (["query", b"SELECT count(*) FROM visits WHERE region = '\x80'", "--epsilon", "1"], 2),
        (["query", clinic.COUNT, "--epsilon", "1e-40"], 2),
        (["query", clinic.COUNT, "--epsilon", "1", "--error", "5"], 2),
        pytest.param(["query", clinic.COUNT, "--rho", "1", "--error", "5"], 2, marks=pytest.mark.slow),
    ],
)
def test_what_cannot_be_done_is_said_in_a_sentence(desk: Path, arguments: list[str | bytes], code: int) -> None:
    before = SqliteLedger(desk / "home" / "ledger.db").books().size
    done = discreet(desk, *arguments)
    assert "Traceback" not in done.stderr
    assert done.returncode == code, done.stderr
    if code:
        assert done.stderr.startswith("refused: ")
    assert SqliteLedger(desk / "home" / "ledger.db").books().size == before


def _copied(desk: Path, name: str) -> Path:
    shutil.rmtree(desk / name, ignore_errors=True)
    shutil.copytree(desk / "home", desk / name, symlinks=True)
    return desk / name


def test_a_directory_or_nothing_in_place_of_a_file_is_said(desk: Path) -> None:
    home = _copied(desk, "other")
    (home / "ledger.key").write_bytes(b"short")
    assert "holds no key" in discreet(desk, "ledger", "head", home="other").stderr
    (home / "ledger.db").unlink()
    for arguments in (["ledger", "verify"], ["doctor"], ["budget"], ["query", clinic.COUNT]):
        done = discreet(desk, *arguments, home="other")
        assert done.returncode == 2
        assert "no ledger" in done.stdout + done.stderr
        assert not (home / "ledger.db").exists()
    (home / "discreet.toml").unlink()
    (home / "discreet.toml").mkdir()
    done = discreet(desk, "tables", home="other")
    assert (done.returncode, "directory" in done.stderr) == (2, True)


@pytest.mark.parametrize("broken", ["garbage", "cut"])
def test_a_broken_ledger_is_reported(desk: Path, broken: str) -> None:
    home = _copied(desk, "broken")
    whole = (home / "ledger.db").read_bytes()
    (home / "ledger.db").write_bytes(b"garbage " * 50 if broken == "garbage" else whole[: len(whole) // 2])
    for arguments in (["ledger", "verify"], ["doctor"]):
        done = discreet(desk, *arguments, home="broken")
        assert done.returncode == 2
        assert "Traceback" not in done.stderr
        assert "cannot be read" in done.stdout + done.stderr


def test_nothing_is_signed_or_proved_over_entries_that_were_changed(desk: Path) -> None:
    home = _copied(desk, "changed")
    raw = sqlite3.connect(home / "ledger.db")
    raw.execute("DROP TRIGGER entry_stays")
    raw.execute("UPDATE entry SET body = CAST(replace(CAST(body AS TEXT), '\"1\"', '\"0\"') AS BLOB) WHERE number = 3")
    raw.commit()
    raw.close()
    for arguments in (["head"], ["prove", "1"], ["export", "out.json"], ["verify"]):
        done = discreet(desk, "ledger", *arguments, home="changed")
        assert (done.returncode, done.stdout) == (2, "")
        assert "entry 3" in done.stderr
    assert not (desk / "out.json").exists()


def test_a_head_by_another_key_is_no_head_of_this_ledger(desk: Path) -> None:
    home = _copied(desk, "keyed")
    own = discreet(desk, "ledger", "head", home="keyed").stdout
    (desk / "own.json").write_text(own, encoding="utf-8")
    hashes = [stored for _, stored, _ in SqliteLedger(home / "ledger.db").rows()]
    foreign = sign(hashes, "t", signing_key(desk / "foreign.key"))
    (desk / "foreign.json").write_text(foreign.text(), encoding="utf-8")
    assert discreet(desk, "ledger", "verify", "--head", "own.json", home="keyed").returncode == 0
    done = discreet(desk, "ledger", "verify", "--head", "foreign.json", home="keyed")
    assert (done.returncode, "another key" in done.stderr) == (2, True)
    done = discreet(desk, "ledger", "verify", "--head", "foreign.json", "--key", foreign.key, home="keyed")
    assert done.returncode == 0, done.stderr
    done = discreet(desk, "ledger", "verify", "--head", "own.json", "--key", foreign.key, home="keyed")
    assert (done.returncode, "another key" in done.stderr) == (2, True)


def test_an_export_is_its_owner_s_alone(desk: Path) -> None:
    assert discreet(desk, "ledger", "export", "entries.json").returncode == 0
    assert (desk / "entries.json").stat().st_mode & 0o777 == 0o600
    lines = (desk / "entries.json").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["entry"]["event"]["kind"] for line in lines] == ["budget", "dataset", "spend", "answer"]


def test_the_doctor_counts_payments_without_an_answer(desk: Path) -> None:
    home = _copied(desk, "unanswered")
    ledger = SqliteLedger(home / "ledger.db")
    spend = ledger.entry(3).event
    ledger.append(spend)
    done = discreet(desk, "doctor", "--format", "json", home="unanswered")
    assert "1; they stay paid" in done.stdout


@pytest.mark.parametrize("error", [Fault(), duckdb.ConversionException("row 17"), UnicodeError("row 17")])
def test_what_may_quote_a_row_is_one_constant_sentence(
    error: Exception, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def failing() -> None:
        raise error

    monkeypatch.setattr(commands, "app", failing)
    monkeypatch.setattr(os, "umask", lambda mask: mask)
    with pytest.raises(SystemExit) as ended:
        commands.main()
    assert ended.value.code == 1
    assert capsys.readouterr().err == f"fault: {Fault.SENTENCE}\n"
