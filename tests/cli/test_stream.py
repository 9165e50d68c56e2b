"""`discreet stream`: opened, pushed from files and standard input, shown, drawn, listed and closed."""

from __future__ import annotations

import json
from pathlib import Path

import clinic
import pytest
from commandline import discreet


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return clinic.home(tmp_path / "home", epsilon=10**12)


def stream(home: Path, *words: str, stdin: str = "") -> tuple[int, str, str]:
    done = discreet(home.parent, "stream", *words, "--home", str(home), stdin=stdin)
    return done.returncode, done.stdout, done.stderr


def test_a_stream_from_its_opening_to_its_end(home: Path) -> None:
    declared = ["--by", "region=north,south", "--events", "2", "--horizon", "3"]
    code, out, err = stream(
        home, "new", "live", "--unit", "patient", *declared, "--epsilon", "1000000", "--format", "json"
    )
    assert code == 0
    assert "Of one patient 2 rows count" in err
    assert json.loads(out)[0] == {
        "stream": "live", "unit": "patient", "population": "patient", "events": 2, "price": "epsilon 1000000",
        "counter": "tree-counter", "keys": ["north", "south"], "steps": 0, "horizon": 3, "by": "custodian",
        "closed": "",
    }  # fmt: skip
    pushed, empty = home.parent / "day.csv", home.parent / "empty.csv"
    pushed.write_text("patient,region\n1,north\n1,north\n1,south\n2,south\nsomebody,south\n")
    empty.touch()
    named = "some rows do not count as they are, for cells in the columns: "
    for rows, text, columns in (
        (str(pushed), "", f"{named}patient\n"),
        (str(empty), "", ""),
        ("-", "patient,region\n3,north\n\n4\n", f"{named}patient, region\n"),
    ):
        if columns:
            code, out, err = stream(home, "push", "live", rows, "--strict", stdin=text)
            assert (code, out, "nothing was pushed" in err) == (2, "", True)
        code, _, err = stream(home, "push", "live", rows, stdin=text)
        assert (code, err.startswith(columns or "Error bars")) == (0, True)
        assert "is NULL or no bigint are left out" in err
    drawing = home.parent / "live.svg"
    code, out, err = stream(home, "show", "live", "--plot", str(drawing), "--format", "json")
    counts = [(each["step"], each["total"], each["north"] + each["south"]) for each in json.loads(out)]
    assert counts == [(1, 3, 3), (2, 3, 3), (3, 4, 4)]
    assert err.splitlines()[-1] == "3 steps of 3; closed: it is used up"
    assert "none of the declared keys are left out" in err
    assert drawing.read_text().startswith("<svg")
    assert "none of the declared keys are left out" in drawing.read_text()
    out = stream(home, "show", "live", "--window", "2", "--every", "2", "--format", "json", "--plot", str(drawing))[1]
    assert [(each["step"], each["total"]) for each in json.loads(out)] == [(2, 3)]
    code, out, err = stream(home, "show", "live", "--window", "1", "--top", "1", "--format", "csv")
    assert (out.splitlines()[1].split(",")[:2], "none of the declared keys" in err) == (["north", "1"], True)
    assert stream(home, "show", "live", "--every", "2")[0] == 2
    code, out, err = stream(home, "push", "live", str(empty))
    assert (code, out) == (2, "")
    assert "the stream is closed: 3 steps of 3" in err


def test_events_and_sums(home: Path) -> None:
    said = ["--unit", "row", "--horizon", "9", "--sum", "cost=0:10", "--step", "cost=0.5", "--rho", "1000"]
    code, _, err = stream(home, "new", "money", *said)
    assert code == 0
    assert err.endswith("Each row is protected by itself: whoever has several rows is protected less.\n")
    assert "Values of cost below 0 count as 0, and above 10 as 10." in err
    code, out, _ = stream(home, "push", "money", "-", "--step", "1", "--format", "csv", stdin="cost\n3.4\n99\n")
    step, count, error = out.splitlines()[1].split(",")
    assert (code, step, abs(float(count) - 13.5) <= 2 * float(error) < 5) == (0, "1", True)
    assert (
        stream(home, "list", "--format", "csv")[1]
        .splitlines()[1]
        .startswith("money,row,money,1,rho 1000,buffered-counter")
    )
    assert stream(home, "close", "money")[2] == "closed: closed by custodian\n"
    for wrong in (["--sum", "cost=10"], ["--by", "region"], ["--by", "n=a,b", "--types", "n=bigint"]):
        code, out, _ = stream(home, "new", "x", "--unit", "patient", "--horizon", "9", "--epsilon", "1", *wrong)
        assert (code, out) == (2, "")
    assert stream(home, "show", "nothing")[2].startswith("refused: there is no stream 'nothing'")
