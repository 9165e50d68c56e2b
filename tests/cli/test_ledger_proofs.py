"""A sceptic's week: keep a head, ask for a proof, check it far from the home."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import clinic
import pytest
from bare import BARE

from discreet.curator import Curator


def discreet(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "discreet", "ledger", *arguments],
        capture_output=True, encoding="utf-8", check=False, cwd=folder, env=BARE,
    )  # fmt: skip


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What an outsider holds: heads and proofs of a ledger that went on between them, and no home."""
    place, office, elsewhere = (tmp_path_factory.mktemp(name) for name in ("desk", "office", "elsewhere"))
    home, other = clinic.home(office / "home"), clinic.home(elsewhere / "home")

    def keep(name: str, home: Path, *arguments: str) -> None:
        done = discreet(place, *arguments, "--home", str(home))
        assert (done.returncode, done.stderr) == (0, "")
        (place / name).write_text(done.stdout, encoding="utf-8")

    keep("kept.json", home, "head")
    for each in (home, other):
        Curator(each).query(clinic.COUNT, epsilon=1)
    keep("receipt.json", home, "prove", "3")
    keep("bound.json", home, "prove", "3", "--head", "kept.json")
    keep("extension.json", home, "extends", "kept.json")
    keep("forged.json", other, "prove", "3")
    shutil.rmtree(office)
    return place


def key(desk: Path) -> str:
    return str(json.loads((desk / "kept.json").read_text(encoding="utf-8"))["key"])


def test_a_receipt_holds_against_a_kept_key_and_prints_its_entry(desk: Path) -> None:
    done = discreet(desk, "check", "receipt.json", "--key", key(desk))
    assert done.returncode == 0, done.stderr
    entry = json.loads(done.stdout)
    assert (entry["number"], entry["event"]["kind"]) == (3, "spend")
    assert done.stderr == "holds: entry 3 is in a ledger of 4 entries\n"


def test_a_receipt_for_a_kept_head_holds_against_it(desk: Path) -> None:
    done = discreet(desk, "check", "bound.json", "--head", "kept.json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["number"] == 3
    assert done.stderr == "holds: entry 3 is in a ledger of 4 entries, which goes on from the 2 that you knew\n"


def test_an_extension_prints_the_newer_head_which_is_kept_from_then_on(desk: Path) -> None:
    done = discreet(desk, "check", "extension.json", "--head", "kept.json")
    assert done.returncode == 0, done.stderr
    assert done.stderr == "holds: these 4 entries begin with the 2 that you knew\n"
    (desk / "newer.json").write_text(done.stdout, encoding="utf-8")
    assert discreet(desk, "check", "receipt.json", "--head", "newer.json").returncode == 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["receipt.json"], "one thing that you kept"),
        (["receipt.json", "--head", "kept.json", "--key", "00" * 32], "one thing that you kept"),
        (["receipt.json", "--key", "abc"], "64 hexadecimal digits, got 'abc'"),
        (["receipt.json", "--key", "00" * 32], "not by the one that you kept"),
        (["receipt.json", "--head", "kept.json"], "does not show that its ledger goes on"),
        (["forged.json", "--head", "kept.json"], "not by the one that you kept"),
        (["extension.json", "--key", "KEY"], "about a head that you kept"),
        (["kept.json", "--head", "kept.json"], "neither a receipt nor an extension"),
        (["receipt.json", "--head", "receipt.json"], "not a ledger head"),
        (["nowhere.json", "--head", "kept.json"], "no text file 'nowhere.json'"),
    ],
)
def test_what_shows_nothing_is_refused(desk: Path, arguments: list[str], sentence: str) -> None:
    done = discreet(desk, "check", *(key(desk) if word == "KEY" else word for word in arguments))
    assert (done.returncode, done.stdout) == (2, "")
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr


def test_no_ledger_goes_on_from_the_head_of_another(desk: Path, tmp_path: Path) -> None:
    other = clinic.home(tmp_path / "home")
    done = discreet(desk, "extends", "kept.json", "--home", str(other))
    assert (done.returncode, done.stdout) == (2, "")
    assert "does not go on from this head" in done.stderr
    assert "rewritten" in done.stderr
