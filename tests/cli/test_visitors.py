"""`discreet visitors`: opened, pushed, refreshed, told, shown and closed."""

from __future__ import annotations

import json
from pathlib import Path

import clinic
import pytest
from commandline import discreet


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return clinic.home(tmp_path / "home", epsilon=10**6)


def visitors(home: Path, *words: str, stdin: str = "") -> tuple[int, str, str]:
    done = discreet(home.parent, "visitors", *words, "--home", str(home), stdin=stdin)
    return done.returncode, done.stdout, done.stderr


PRICES = ["--unit", "member", "--epsilon-memory", "40", "--epsilon-answer", "400"]


def test_a_memory_from_its_opening_to_its_end(home: Path) -> None:
    names = home.parent / "names.txt"
    names.write_text("ann\nbob\n\ncleo\n")
    more = ["--people", f"@{names}", "--most", "2", "--answers", "2", "--intrusions", "2"]
    code, out, err = visitors(home, "new", "door", *PRICES, *more)
    assert (code, out) == (0, "opened door for epsilon 880\n")
    assert "Who came more than 2 times counts as after 3 visits fewer." in err
    code, out, err = visitors(home, "push", "door", "-", "--strict", stdin="member\nann\neve\n")
    assert (code, out, "nothing was pushed" in err) == (2, "", True)
    code, out, err = visitors(home, "push", "door", "-", stdin="member\nann\neve\n")
    assert (code, out) == (0, "step 1 is done\n")
    assert err.startswith("some rows are of nobody who was declared, by member\n")
    assert visitors(home, "push", "door", "-", "--step", "1", stdin="member\nbob\n")[1] == "step 1 is done\n"
    assert visitors(home, "refresh", "door")[1] == "step 2 is done\n"
    visitors(home, "push", "door", "-", stdin="member\nann\nbob\n")
    code, out, err = visitors(home, "tell", "door", "--format", "json")
    told = {each["what"]: each["estimate"] for each in json.loads(out)}
    assert told["came 2 times or more"] == pytest.approx(1, abs=1e-6)
    assert told["mean of visits up to 2"] == pytest.approx(1, abs=1e-6)
    assert "2 looks are covered, if each but the last is followed by a refresh at once" in err
    code, out, err = visitors(home, "show", "door", "--format", "json")
    assert {each["step"] for each in json.loads(out)} == {4}
    assert err.endswith("1 answers of 2, 4 steps of 10000\n")
    assert visitors(home, "close", "door")[2] == "closed: closed by custodian\n"
    assert visitors(home, "tell", "door")[0] == 2


def test_how_many_and_which_share(home: Path) -> None:
    assert visitors(home, "new", "some", *PRICES, "--people", "10", "--population", "a")[0] == 0
    assert visitors(home, "new", "share", *PRICES, "--people", "10", "--sample", "10", "--population", "b")[0] == 0
    for name, what, true in (("some", "people who came", 3.0), ("share", "share of people who came", 0.3)):
        visitors(home, "push", name, "-", stdin="member\n1\n2\n9\n")
        code, out, err = visitors(home, "tell", name, "--format", "csv")
        said, estimate, _ = out.splitlines()[1].split(",")
        assert (code, said) == (0, what)
        assert float(estimate) == pytest.approx(true, abs=1e-6)
        assert "One look into the memory is covered; a copy of the home is a look." in err
    for wrong in (["--people", "many"], ["--people", "5", "--most", "2", "--sample", "3"]):
        assert visitors(home, "new", "x", *PRICES, *wrong)[0] == 2
    assert visitors(home, "show", "nothing")[2].startswith("refused: there is no memory 'nothing'")
