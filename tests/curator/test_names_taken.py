"""Names of ours and of an engine that a column may have, too: an owner is never taken from one of them."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from discreet.curator import Curator, catalogue
from discreet.curator.custody import Custody, Declared, found_home
from discreet.declared.column import Column
from discreet.declared.group_key import Type
from discreet.declared.table import Table
from discreet.engines.duckdb import DuckStore
from discreet.errors import Refusal
from discreet.privacy import Pure

ROWS = Declared(unit="row", epsilon=10, keys={"g": ["a", "b"]})


def _custody(tmp_path: Path) -> Custody:
    found_home(tmp_path / "home")
    return Custody(tmp_path / "home")


@pytest.mark.parametrize("name", ["rowid", "ROWID", "RowId"])
def test_a_column_cannot_stand_where_the_engine_numbers_rows_that_are_their_own_units(
    tmp_path: Path, name: str
) -> None:
    custody, rows = _custody(tmp_path), pa.table({name: [7, 7], "g": ["a", "b"]})
    with pytest.raises(Refusal, match=f"'{name}'.*its own unit.*rename"):
        custody.add("r", rows, ROWS)
    custody.add("p", rows, Declared(unit=name, epsilon=10, keys={"g": ["a", "b"]}))  # with a unit, it hides nothing
    custody.add("l", rows, Declared(public=True))


def test_a_home_that_has_such_a_table_already_can_be_read_and_mended(tmp_path: Path) -> None:
    custody, home = _custody(tmp_path), tmp_path / "home"
    custody.add("r", pa.table({"number": [7, 7], "g": ["a", "b"]}), ROWS)
    declared = (home / catalogue.FILE).read_text(encoding="utf-8")
    (home / catalogue.FILE).write_text(declared.replace("number", "rowid"), encoding="utf-8")
    custody.add("other", pa.table({"g": ["a"]}), ROWS)
    curator = Curator(home)
    assert len(curator.query("SELECT g, count(*) FROM other GROUP BY g", epsilon=1).rows) == 2
    for question in (
        "SELECT g, count(*) FROM r GROUP BY g",
        "SELECT count(*) FROM (SELECT g FROM r UNION ALL SELECT g FROM r) t",
    ):
        with pytest.raises(Refusal, match="'rowid'"):
            curator.query(question, epsilon=1)
    assert curator.budget("r").spent == Pure(0)
    custody.remove("r")
    assert set(catalogue.read(home).tables) == {"other"}


def test_columns_may_be_called_as_what_is_ours_on_the_way_in(tmp_path: Path) -> None:
    names = ("other", "found", "key", "code_0", "value_0", "book_0", "name", "value", "code", "staged", "source")
    owners = Table("o", (Column("found", Type.BIGINT), Column("unit", Type.BIGINT)), "p", "unit")
    columns = (Column("own", Type.BIGINT), *(Column(name, Type.VARCHAR) for name in names), Column("unit", Type.BIGINT))
    table = Table("t", columns, "p", "unit", link=("own", "o", "found"))
    store = DuckStore(tmp_path)
    store.ingest(owners, pa.table({"found": [1, 2, 3], "unit": [10, 20, 20]}))
    given = {name: [f"{name} {i}" for i in range(4)] for name in names}
    store.ingest(table, pa.table({"own": [1, 2, 3, 9], **given}), None, owners)
    stored = ", ".join(f'"{name}"' for name in ("unit", *names))
    with duckdb.connect(str(tmp_path / "t.1.duckdb"), read_only=True) as connection:
        kept = connection.execute(f"SELECT {stored} FROM rows ORDER BY own").fetchall()
    assert kept == [(unit, *(f"{name} {i}" for name in names)) for i, unit in enumerate((10, 20, 20))]
