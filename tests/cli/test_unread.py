"""Cells that cannot be read: their columns are named on the custodian's own terminal, and nowhere else."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from typer.testing import CliRunner

from discreet.cli.commands import app
from discreet.curator.custody import Custody, Declared, found_home
from discreet.declared.column import Column
from discreet.declared.group_key import Type
from discreet.declared.table import Table
from discreet.engines.ingest import unread_columns
from discreet.errors import Refusal

BROKEN = """id,age,day,ratio,name,well
1,12,2026-01-01,0.5,a,true
2,forty,2026-01-02,0.5,,maybe
3,,,,"",
"""
SOUND = "id,age,day,ratio,name,well\n1,12,2026-01-01,0.5,a,true\n2,,,,,\n"
TYPES = {"id": "bigint", "age": "bigint", "day": "date", "ratio": "double", "name": "varchar", "well": "boolean"}
WORDS = "in the columns: age, well"


def arguments(file: Path, home: Path, *more: str) -> list[str]:
    types = [text for name, kind in TYPES.items() for text in ("--types", f"{name}={kind}")]
    given = ["--unit", "id", "--epsilon", "9", "--max-rows", "2"]
    return ["add", "people", str(file), *given, *types, "--home", str(home), *more]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    found_home(tmp_path / "home")
    return tmp_path / "home"


def written(home: Path) -> bytes:
    """Everything that is kept beside the rows themselves."""
    files = (file for file in sorted(home.rglob("*")) if file.is_file() and file.suffix != ".duckdb")
    return b"".join(file.read_bytes() for file in files)


def test_the_columns_are_named_on_stderr_and_kept_nowhere(tmp_path: Path, home: Path) -> None:
    file = tmp_path / "broken.csv"
    file.write_text(BROKEN, encoding="utf-8")
    done = CliRunner().invoke(app, arguments(file, home))
    assert done.exit_code == 0, done.output
    assert WORDS in done.stderr
    assert "forty" not in done.output
    assert not any(word in done.stdout for word in ("columns", "cells"))
    assert b"cannot be read" not in written(home)
    again = CliRunner().invoke(app, ["update", "people", str(file), "--home", str(home)])
    assert WORDS in again.stderr


def test_strict_refuses_before_anything_is_stored(tmp_path: Path, home: Path) -> None:
    broken, sound = tmp_path / "broken.csv", tmp_path / "sound.csv"
    broken.write_text(BROKEN, encoding="utf-8")
    sound.write_text(SOUND, encoding="utf-8")
    before = written(home)
    with pytest.raises(Refusal, match=r"--strict: .* in the columns age, well"):
        CliRunner().invoke(app, arguments(broken, home, "--strict"), catch_exceptions=False)
    assert written(home) == before
    assert not list((home / "tables").glob("*people*"))
    done = CliRunner().invoke(app, arguments(sound, home, "--strict"))
    assert done.exit_code == 0
    assert "cells" not in done.stderr
    with pytest.raises(Refusal, match="--strict"):
        CliRunner().invoke(
            app, ["update", "people", str(broken), "--home", str(home), "--strict"], catch_exceptions=False
        )
    assert "version 2" in CliRunner().invoke(app, ["update", "people", str(sound), "--home", str(home)]).stdout


def test_a_door_hears_nothing_and_refuses_nothing(
    tmp_path: Path, home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The console adds as `Custody.add` does without a listener."""
    file = tmp_path / "broken.csv"
    file.write_text(BROKEN, encoding="utf-8")
    Custody(home).add("people", str(file), Declared(unit="id", epsilon=9, max_rows=2, types=TYPES))
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        (Type.BIGINT, ["1", "-5", "1.0", "", "  ", "9223372036854775807"], ["1.7", "12abc", "1e30", "x", "NULL"]),
        (Type.DOUBLE, ["1", "0.5", "1e3", "", "inf"], ["0,5", "nan", "5 EUR"]),
        (Type.DATE, ["2026-01-31", "", "2026-01-31 00:00:00"], ["2026-02-30", "soon", "2026-01-31 10:00:00"]),
        (Type.TIMESTAMP, ["2026-01-31 10:00:00", "2026-01-31"], ["2026-01-31 25:00:00", "later"]),
        (Type.BOOLEAN, ["true", "false", "0"], ["2026", "perhaps"]),
        (Type.VARCHAR, ["anything", "", "  "], []),
    ],
)  # fmt: skip
def test_every_kind_of_cell(tmp_path: Path, kind: Type, good: list[str], bad: list[str]) -> None:
    table = Table("t", (Column("value", kind), Column("row", Type.VARCHAR)), "people")
    for texts, lost in ((good, False), *(([text], True) for text in bad)):
        file = tmp_path / "one.csv"
        file.write_text("value,row\n" + "".join(f'"{text}",x\n' for text in texts), encoding="utf-8")
        assert unread_columns(table, str(file)) == (("value",) if lost else ()), texts


def test_a_source_with_types_of_its_own_is_looked_at_as_well() -> None:
    table = Table("t", (Column("n", Type.BIGINT), Column("x", Type.DOUBLE), Column("id", Type.BIGINT)), "p", "id")
    fits = pa.table({"n": [1, None], "x": [float("nan"), 0.5], "id": [1, 2]})  # how pandas writes a missing number
    assert unread_columns(table, fits) == ()
    beyond = pa.table({"n": pa.array([2**63], pa.uint64()), "x": [0.5], "id": ["01"]})
    assert unread_columns(table, beyond) == ("n", "id")
    assert unread_columns(table, pa.table({"n": [1.5], "x": [1.0], "id": [1]})) == ("n",)
