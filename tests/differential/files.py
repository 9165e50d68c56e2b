"""A made-up world on the disk: files as strangers write them, a home that has taken them in, and plain DuckDB."""

from __future__ import annotations

import csv
import datetime as dt
import random
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from differential.sheet import Field, Sheet, Value, World

from discreet.curator.custody import Custody, Declared, found_home

BUDGET = "1" + "0" * 40
_TYPES = {
    "whole": ("bigint", pa.int64()),
    "real": ("double", pa.float64()),
    "decimal": ("decimal(18,2)", pa.decimal128(18, 2)),
    "text": ("varchar", pa.string()),
    "flag": ("boolean", pa.bool_()),
    "date": ("date", pa.date32()),
    "moment": ("timestamp", pa.timestamp("us")),
}
_JUNK = ("", "", "n/a", "?", "12 apples", "--")  # what a cell holds that cannot be read


def home_of(world: World, folder: Path) -> Path:
    """A home with the tables of a world."""
    home = folder / "home"
    found_home(home)
    custody = Custody(home)
    for sheet in world.sheets.values():
        path = folder / f"{sheet.role}.{sheet.source}"
        {"csv": _write_csv, "parquet": _write_parquet}[sheet.source](world, sheet, path)
        custody.add(sheet.name, path, declared(world, sheet))
    return home


def declared(world: World, sheet: Sheet) -> Declared:
    """What a custodian says of a table."""
    types = {each.name: _TYPES[each.kind][0] for each in sheet.fields} if sheet.source == "csv" else {}
    if sheet.linked:
        main = world.sheets["main"]
        return Declared(
            link={sheet.field("of").name: f"{main.name}.{main.field('nr').name}"},
            max_rows=sheet.max_rows,
            max_groups=sheet.max_groups,
            types=types,
            **_numbers_and_keys(sheet),
        )
    if sheet.unit is None:
        return Declared(public=True, types=types)
    return Declared(
        unit="row" if sheet.unit == "row" else sheet.field(sheet.unit).name,
        population="alone" if sheet.unit == "row" else "people",
        delta="1e-3",
        max_rows=None if sheet.unit == "row" else sheet.max_rows,
        max_groups=None if sheet.unit == "row" else sheet.max_groups,
        types=types,
        **_numbers_and_keys(sheet),
        **_budget(world),
    )


def _budget(world: World) -> dict[str, Any]:
    return {world.measure: BUDGET}


def _numbers_and_keys(sheet: Sheet) -> dict[str, Any]:
    return {
        "bounds": {each.name: each.bounds or each.between for each in sheet.fields if each.bounds or each.between},
        "keys": {each.name: tuple(map(str, each.keys)) for each in sheet.fields if each.keys},
        "steps": {each.name: each.step for each in sheet.fields if each.said_step},
    }


def _write_parquet(world: World, sheet: Sheet, path: Path) -> None:
    rng = random.Random(f"kinds {world.seed} {sheet.role}")
    columns = {each.name: _column(sheet, each, sheet.columns[each.role]) for each in sheet.fields}
    stored = {each.name: columns[each.name].cast(_stored(rng, each, columns[each.name])) for each in sheet.fields}
    pq.write_table(pa.table(stored), path)


def _stored(rng: random.Random, each: Field, column: pa.ChunkedArray) -> pa.DataType:
    """A type in which some other program may have written the same cells."""
    others: dict[str, list[pa.DataType]] = {
        "whole": [pa.int32(), pa.uint64(), pa.int16()],
        "decimal": [pa.decimal128(38, 2), pa.decimal128(20, 4)],
        "text": [pa.large_string(), pa.dictionary(pa.int32(), pa.string())],
        "moment": [pa.timestamp("ns"), pa.timestamp("ms"), pa.timestamp("s")],
    }
    usual: pa.DataType = _TYPES[each.kind][1]
    chosen = rng.choice([usual, *others.get(each.kind, [])])
    try:
        column.cast(chosen)
    except pa.ArrowInvalid:  # a number too large, a moment too fine
        return usual
    return chosen


def _column(sheet: Sheet, each: Field, values: list[Value]) -> pa.ChunkedArray:
    """A column of Arrow; what is the same many times over is made once."""
    once = len(values) if each.role in ("unit", "nr") else len(values) // sheet.tiles
    return pa.chunked_array([pa.array(values[:once], _TYPES[each.kind][1])] * (len(values) // once))


def _write_csv(world: World, sheet: Sheet, path: Path) -> None:
    rng = random.Random(f"cells {world.seed}")
    texts = [[_text(rng, sheet, each, value) for value in sheet.columns[each.role]] for each in sheet.fields]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([each.name for each in sheet.fields])
        writer.writerows(zip(*texts, strict=True))


def _text(rng: random.Random, sheet: Sheet, each: Field, value: Value) -> str:
    """A cell of a CSV file. A unit that is not spelled as its number is nobody's."""
    match value:
        case None if each.kind == "text":
            return ""
        case None:
            return rng.choice((*_JUNK, "007")) if each.role == sheet.unit else rng.choice(_JUNK)
        case bool():
            return str(value).lower()
        case dt.datetime():
            return value.isoformat(sep=rng.choice((" ", "T")))
        case float():
            return repr(value)
        case _:
            return str(value)


# plain ----------------------------------------------------------------------------------------------------------------


def plain_of(world: World) -> duckdb.DuckDBPyConnection:
    """Plain DuckDB with the tables as declared and bounded: `x` as it is, `x_b` as a sum sees it."""
    plain = duckdb.connect()
    plain.execute("SET threads = 1")
    for sheet in world.sheets.values():
        arrays = {each.role: _column(sheet, each, _meant(sheet, each)) for each in sheet.fields}
        for each in sheet.fields:
            if each.bounds or each.between:
                once = sheet.columns[each.role][: sheet.rows // sheet.tiles]
                held: list[Value] = [bounded(each, value) for value in once]
                kind = "real" if each.bounds else each.kind
                arrays[f"{each.role}_b"] = _column(sheet, replace(each, kind=kind), held * sheet.tiles)
        rows = pa.table(arrays)
        plain.register("arrow", rows)
        owned = "arrow WHERE unit IS NOT NULL" if "unit" in sheet.columns else "arrow"
        if sheet.linked:
            owned = "(SELECT a.*, unit FROM arrow AS a JOIN main ON a.of = nr)"
        plain.execute(f"CREATE TABLE {sheet.role} AS SELECT * FROM {owned}")
        plain.unregister("arrow")
    return plain


def _meant(sheet: Sheet, each: Field) -> list[Value]:
    """A column; there is one zero."""
    values = sheet.columns[each.role]
    return [value + 0.0 if isinstance(value, float) else value for value in values] if each.kind == "real" else values


def bounded(each: Field, value: Value) -> Value:
    """A value as it is summed: on the grid, within the bounds; what is no number is no value."""
    if value is None or value != value:  # noqa: PLR0124  # NaN
        return None
    if each.between is not None and isinstance(value, dt.date):
        kind = type(value)
        return min(max(value, kind.fromisoformat(each.between[0])), kind.fromisoformat(each.between[1]))
    first, last = each.ends
    assert isinstance(value, (int, float, Decimal))
    if isinstance(value, float) and abs(value) == float("inf"):
        return float((last if value > 0 else first) * each.step)
    steps = round(Fraction(value) / each.step)
    return float(min(last, max(first, steps)) * each.step)


def first_rows(sheet: Sheet, number: int) -> list[Mapping[str, Value]]:
    """Some rows as they are meant, for a report."""
    return [
        {sheet.field(role).name: values[i] for role, values in sheet.columns.items()}
        for i in range(min(number, sheet.rows))
    ]
