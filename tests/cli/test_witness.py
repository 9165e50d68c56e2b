"""Heads outside the home on the command line: what the doctor says, who keeps them, and how a copy is adopted."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import clinic
import pytest
from typer import Typer
from typer.testing import CliRunner

from discreet.cli import home as homes
from discreet.cli import ledger
from discreet.curator import Curator
from discreet.errors import Refusal


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DISCREET_STATE", str(tmp_path / "state"))
    made = clinic.home(tmp_path / "home")
    made.chmod(0o700)
    Curator(made).query(clinic.COUNT, epsilon=1)
    return made


def run(app: Typer, home: Path, *arguments: str) -> tuple[str, Refusal | None]:
    """What a command prints, and how it refuses."""
    done = CliRunner().invoke(app, [*arguments, "--home", str(home)])
    assert done.exception is None or isinstance(done.exception, Refusal), done.exception
    return done.output, done.exception


def examined(home: Path) -> tuple[dict[str, str], bool]:
    """What the doctor says, and whether all is in order."""
    printed, refused = run(homes.app, home, "doctor", "--format", "json")
    rows = json.loads(printed)
    return {row["what"]: row["how it is"] for row in rows}, refused is None


def test_the_doctor_says_what_is_noticed_and_what_is_not(home: Path) -> None:
    told, well = examined(home)
    assert well
    assert "4 entries" in told["its head is kept"]
    assert str(home.with_name("state")) in told["its head is kept"]
    for unnoticed in ("this machine restored as a whole", "two copies of this home adopted on two machines"):
        assert unnoticed in told["not noticed"]


def test_the_doctor_does_not_say_that_an_old_ledger_or_a_copy_is_well(home: Path) -> None:
    shutil.copy(home / "ledger.db", home.with_name("older"))
    Curator(home).query(clinic.COUNT, epsilon="0.5", fresh=True)
    copy = Path(shutil.copytree(home, home.with_name("copy")))
    told, well = examined(copy)
    assert not well
    assert f"known to be in {home}" in told["it answers nothing"]
    shutil.copy(home.with_name("older"), home / "ledger.db")
    told, well = examined(home)
    assert not well
    assert "4 entries, and 6 were known" in told["ledger"]
    assert "holds, 4 entries" not in run(homes.app, home, "doctor", "--format", "csv")[0]
    for command in (["verify"], ["head"], ["prove", "1"]):
        printed, refused = run(ledger.app, home, *command)
        assert "6 were known" in str(refused)
        assert printed == ""


def test_a_copy_is_adopted_by_the_head_that_it_prints(home: Path) -> None:
    copy = Path(shutil.copytree(home, home.with_name("copy")))
    with pytest.raises(Refusal, match="is a copy"):
        Curator(copy)
    printed, refused = run(ledger.app, copy, "head")
    assert refused is None
    root = json.loads(printed[printed.index("{") : printed.index("}") + 1])["root"]
    assert "is a copy" in printed  # a note beside it
    assert "another than" in str(run(ledger.app, copy, "adopt", "new", "--head", "0" * 64)[1])
    printed, refused = run(ledger.app, copy, "adopt", "new", "--head", root)
    assert (refused, "entry 5 of its ledger says so" in printed) == (None, True)
    assert Curator(copy).query(clinic.COUNT, epsilon=1).cost is None
    with pytest.raises(Refusal, match="rolled back"):
        Curator(home)


def test_witnesses_are_named_listed_and_let_go(home: Path, tmp_path: Path) -> None:
    share = tmp_path / "share"
    assert "is not there" in str(run(ledger.app, home, "witness", "add", str(share))[1])
    share.mkdir()
    assert "4 entries" in run(ledger.app, home, "witness", "add", str(share))[0]
    rows = json.loads(run(ledger.app, home, "witness", "list", "--format", "json")[0])
    assert [(row["witness"], row["entries"]) for row in rows][1:] == [(str(share), "4")]
    shutil.rmtree(share)
    told, well = examined(home)
    assert (well, "is not there" in told["it takes no payments"]) == (False, True)
    with pytest.raises(Refusal, match="is not there"):
        Curator(home).query(clinic.COUNT, epsilon="0.5", fresh=True)
    assert Curator(home).query(clinic.COUNT, epsilon=1).cost is None  # what was answered is still said
    assert run(ledger.app, home, "witness", "remove", str(share))[1] is None
    assert "no witness of this home" in str(run(ledger.app, home, "witness", "remove", str(share))[1])
    assert examined(home)[1]


def test_what_is_looked_up_can_be_made_anew(home: Path) -> None:
    assert "added up 4 entries" in run(ledger.app, home, "upgrade")[0]
