"""Which cells of a declared domain a question counts: its conditions, run on one made-up row for each cell.

Nothing here sees a private row. What a question counts is measured as every other one; the cells are what a mechanism
with a hypothesis needs to know of it besides (docs/proofs/online-weights.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import duckdb
import numpy as np
import pyarrow as pa

from discreet.curator.postprocessing import database
from discreet.declared.group_key import Type
from discreet.declared.table import Table
from discreet.errors import Refusal
from discreet.mechanisms.weights_histogram import LONGEST, Domain, written
from discreet.sql import render
from discreet.sql.owned_rows import Filter, Project, Rows, Scan
from discreet.sql.plan import Measurement, Statistic

_PLACE, _CELLS = "#place", "#cells"  # no column can be called so
_COUNTED = ("rows", "units")


def check_domain(domain: Domain, tables: Sequence[Table]) -> None:
    """Refuse a domain that is not of one table, or whose values are none of its columns' types."""
    if len(tables) != 1:
        names = [table.name for table in tables]
        raise Refusal(
            f"a session with a domain is about one table, got {names}", hint="name the one whose columns it has"
        )
    try:
        cells = _cells(domain, _types(domain, tables[0]))
    except duckdb.Error:
        raise Refusal("the domain cannot be written out as rows", hint="check its values") from None
    for axis in domain:
        values = cells.column(axis[0])
        if values.null_count or len(values.unique()) < len(axis) - 1:
            kind = _types(domain, tables[0])[domain.index(axis)].value
            raise Refusal(
                f"the domain's values of {axis[0]!r} are not as many different values of type {kind}",
                hint="write each as it is in the table",
            )


def counted_cells(measurement: Measurement, statistic: Statistic, domain: Domain) -> int:
    """The cells that a question counts, as bits of one number; refused if it asks for more than the domain knows."""
    if statistic.kind not in _COUNTED:
        raise Refusal(
            f"this session answers counts, and this asks for a {statistic.kind}",
            hint="ask count(*), or count(DISTINCT unit)",
        )
    table, text = _written_out(measurement.rows)
    types = _types(domain, table)
    try:
        with database() as given:
            given.show(_CELLS, _cells(domain, types))
            places = given.connection.execute(f"SELECT {render.quoted(_PLACE)} FROM {text}").fetchnumpy()[_PLACE]
    except duckdb.BinderException:
        names = ", ".join(axis[0] for axis in domain)
        raise Refusal(
            "the question is about columns that the session's domain has not", hint=f"it has {names}"
        ) from None
    except duckdb.Error:
        raise Refusal("the question does not work out on the session's domain", hint="ask a simpler one") from None
    inside = np.zeros(math.prod(len(axis) - 1 for axis in domain), dtype=np.uint8)
    inside[np.asarray(places, dtype=np.int64)] = 1
    cells = int.from_bytes(np.packbits(inside, bitorder="little").tobytes(), "little")
    if len(written(cells, inside.size)) > LONGEST:
        raise Refusal(
            f"the question chooses among {inside.size} cells too wildly to be kept in {LONGEST} letters",
            hint="ask for ranges, and fewer alternatives",
        )
    return cells


def _written_out(rows: Rows) -> tuple[Table, str]:
    """The table that is filtered, and the filtered cells as SQL."""
    match rows:
        case Scan(table):
            return table, render.quoted(_CELLS)
        case Filter(source, predicate):
            table, text = _written_out(source)
            return table, f"(SELECT * FROM {text} WHERE {render.expression(predicate)})"
        case Project(source, columns):
            table, text = _written_out(source)
            values = [f"{render.expression(value)} AS {render.quoted(name)}" for name, value in columns]
            return table, f"(SELECT {', '.join([render.quoted(_PLACE), *values])} FROM {text})"
    raise Refusal(
        "this session answers counts of rows of one table, with WHERE and nothing else",
        hint="leave out joins, inner GROUP BY and windows",
    )


def _types(domain: Domain, table: Table) -> tuple[Type, ...]:
    kinds = {column.name: column.type for column in table.columns}
    for axis in domain:
        if axis[0] not in kinds:
            raise Refusal(f"the domain has a column {axis[0]!r}, and table {table.name!r} has {', '.join(kinds)}")
    return tuple(kinds[axis[0]] for axis in domain)


@lru_cache(maxsize=8)
def _cells(domain: Domain, types: tuple[Type, ...]) -> pa.Table:
    """One row for each cell, the last axis fastest."""
    sizes = [len(axis) - 1 for axis in domain]
    size = math.prod(sizes)
    columns, casts, each = {_PLACE: pa.array(np.arange(size))}, [render.quoted(_PLACE)], size
    for axis, kind in zip(domain, types, strict=True):
        each //= len(axis) - 1
        place = np.arange(size) // each % (len(axis) - 1)
        columns[axis[0]] = pa.array(axis[1:], pa.string()).take(pa.array(place))
        casts.append(f"{render.as_type(render.quoted(axis[0]), kind)} AS {render.quoted(axis[0])}")
    with database() as given:
        given.show("texts", pa.table(columns))
        return given.connection.sql(f"SELECT {', '.join(casts)} FROM texts").to_arrow_table()
