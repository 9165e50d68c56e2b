"""An aggregating SELECT, cut in two: what is measured of its rows, and a SELECT over the noisy table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from discreet.declared.table import Caps
from discreet.errors import Refusal
from discreet.sql.aggregate import Aggregate
from discreet.sql.aggregates import aggregate_of, is_aggregate
from discreet.sql.dates import above
from discreet.sql.fanout import held
from discreet.sql.keys import Public, group_key
from discreet.sql.named_rows import Reading
from discreet.sql.per_unit import swapped
from discreet.sql.plan import GroupKey, Measurement, Rank, Statistic
from discreet.sql.question import PART, Part
from discreet.sql.repair import GROUPED, Edit, Misasked
from discreet.sql.rows import Rows
from discreet.sql.shape import one_row
from discreet.sql.source_words import shown

MOST_AGGREGATES = 200


@dataclass(frozen=True)
class Bench:
    """Where measurements are gathered, under which caps, and which public tables are at hand."""

    parts: list[Part]
    caps: Caps
    public: Public


def measured(select: exp.Select, texts: list[exp.Expr], reading: Reading, bench: Bench) -> Part:
    """Add what is measured to the bench, and let the SELECT read that instead of rows."""
    below, parts = reading.shape, bench.parts
    caps = Caps() if one_row(reading.rows) else bench.caps  # a cap that cannot bind would only add noise
    texts = list({text.sql(): text for text in texts}.values())  # a key that is named twice is one key
    if reading.outer is not None and len(texts) > 1:
        raise Refusal(
            "where public rows are kept, one of their columns is the groups, and here are several",
            hint="group by one column of the public table",
        )
    if not select.args.get("group"):
        select.set("distinct", None)
    keys = tuple(group_key(node, f"key_{i}", reading, bench.public) for i, node in enumerate(texts))
    groups = below.max_groups if caps.max_groups is None else caps.max_groups
    most = below.max_rows if caps.max_rows is None else caps.max_rows, _groups(keys, groups)
    rows = held(reading.rows, bench.public)
    place, before = _same(parts, rows, keys, most)
    name = f"{PART}{place}"
    aggregates = _replaced(select, texts, reading, name, before)
    _no_private_left(select, reading)
    statistics: dict[Statistic | Rank, None] = dict.fromkeys(s for a in aggregates for s in a.statistics)
    measurement = Measurement(rows, keys, tuple(statistics), *most)
    if any(statistic != Statistic("units") for statistic in statistics):
        measurement.needs_rows_cap("this aggregate")
    parts[place : place + 1] = [Part(name, measurement, tuple(aggregates))]
    for clause in ("where", "group", "joins"):
        select.set(clause, None)
    if (having := select.args.get("having")) is not None:
        select.set("where", exp.Where(this=having.this.copy()))
        select.set("having", None)
    select.set("from_", exp.From(this=exp.Table(this=exp.to_identifier(name, quoted=True))))
    return parts[place]


def _groups(keys: Sequence[GroupKey], cap: int) -> int:
    """In how many groups one unit may be: no more than there are, where all are declared. Without keys there is one."""
    declared = [len(key.values) for key in keys if key.values is not None]
    return max(1, min(cap, math.prod(declared))) if len(declared) == len(keys) else cap


def _same(
    parts: Sequence[Part], rows: Rows, keys: tuple[GroupKey, ...], most: tuple[int | None, int]
) -> tuple[int, tuple[Aggregate, ...]]:
    """Where the same rows are measured in the same groups already, and what of them: nothing is paid for twice."""
    for i, part in enumerate(parts):
        known = part.measurement
        if (known.rows, known.keys, known.max_rows, known.max_groups) == (rows, keys, *most):
            return i, part.aggregates
    return len(parts), ()


def _replaced(
    select: exp.Select, texts: list[exp.Expr], reading: Reading, part: str, before: tuple[Aggregate, ...]
) -> list[Aggregate]:
    """Replace every group key and aggregate in a SELECT by a column of its part's table."""
    aggregates = list(before)
    clauses = [
        *select.expressions,
        *[c for c in (select.args.get("having"), select.args.get("order")) if c is not None],
    ]
    names = {text.sql(): f"key_{i}" for i, text in enumerate(texts)}

    def swap(node: exp.Expr) -> exp.Expr:
        if node.sql() in names:
            return exp.column(names[node.sql()], table=part, quoted=True)
        if is_aggregate(node):
            made = aggregate_of(node, reading)
            same = [known for known in aggregates if replace(known, name="") == made]
            if not same:
                if len(aggregates) >= MOST_AGGREGATES:
                    raise Refusal(f"a question has at most {MOST_AGGREGATES} aggregates", hint="split it")
                same = [replace(made, name=f"value_{len(aggregates)}")]
                aggregates.extend(same)
            column = exp.column(same[0].name, table=part, quoted=True)
            return column if same[0].moment is None else above(column, same[0].moment)
        return node

    for clause in clauses:
        swapped(clause, swap)
    return aggregates


def _no_private_left(select: exp.Select, reading: Reading) -> None:
    for name in ("expressions", "having", "order"):
        value = select.args.get(name)
        for node in value if isinstance(value, list) else [value]:
            for found in node.find_all(exp.Column) if node is not None else ():
                if found.table in reading.aliases:
                    raise Misasked(
                        f"column {shown(found)} is neither grouped nor aggregated",
                        hint="add it to GROUP BY, or aggregate it",
                        node=found,
                        edits=[Edit(found, GROUPED)],
                    )
