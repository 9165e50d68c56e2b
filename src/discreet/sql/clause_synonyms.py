"""Synonyms of clauses in the planner's words: GROUP BY ALL, QUALIFY, VALUES and series, joins in parentheses."""

from __future__ import annotations

from sqlglot import exp

from discreet.errors import Refusal, Unsupported
from discreet.sql.tree_rewriting import constant
from discreet.sql.wording import shown

MOST_ROWS = 1_000  # that a question writes out itself
_QUALIFIED = "qualified"


def rewritten(node: exp.Expr) -> exp.Expr | None:
    """What is put in the place of a clause; None where it stays, perhaps changed."""
    match node:
        case exp.Select():
            return _qualified(node)
        case exp.Values():
            return _rows(node)
        case exp.Table():
            return _series(node)
        case exp.Group():
            _grouped(node)
        case exp.From():
            _joins(node)
        case _:
            pass
    return None


def _grouped(node: exp.Expr) -> None:
    """GROUP BY ALL: by whatever is not aggregated."""
    if not node.args.get("all") or not isinstance(node.parent, exp.Select):
        return
    places = [
        exp.Literal.number(place)
        for place, each in enumerate(node.parent.expressions, 1)
        if not any(isinstance(part, exp.AggFunc) for part in each.walk())
        and not isinstance(each.unalias(), exp.Literal)
    ]
    node.set("all", None)
    node.set("expressions", places)
    if not places:
        node.parent.set("group", None)


def _qualified(node: exp.Select) -> exp.Expr | None:
    """QUALIFY: a condition on windows, put to the rows of a query in FROM."""
    condition = node.args.get("qualify")
    if condition is None:
        return None
    names = [each.alias_or_name for each in node.expressions]
    order = node.args.get("order")
    by = [] if order is None else [each.this for each in order.expressions]
    plainly = all(isinstance(each, exp.Column) and not each.table and each.name in names for each in by)
    if node.args.get("distinct") or not plainly or not all(names) or len(set(names)) < len(names) or "*" in names:
        raise Unsupported(
            f"QUALIFY {shown(condition.this)} is not supported here",
            hint="name every column of the SELECT, order by these names, or put the window into a query in FROM",
        )
    inner = node.copy()
    moved = {name: inner.args.pop(name, None) for name in ("qualify", "order", "limit", "offset", "with_")}
    given = [
        exp.alias_(each.unalias().copy(), name, quoted=True)
        for each, name in zip(inner.expressions, names, strict=True)
    ]
    inner.set("expressions", [*given, exp.alias_(moved.pop("qualify").this.copy(), _QUALIFIED, quoted=True)])
    outer = exp.Select(
        expressions=[exp.column(name, quoted=True) for name in names],
        from_=exp.From(this=exp.Subquery(this=inner, alias=exp.TableAlias(this=exp.to_identifier(_QUALIFIED)))),
        where=exp.Where(this=exp.column(_QUALIFIED, quoted=True)),
    )
    for name, clause in moved.items():
        if clause is not None:
            outer.set(name, clause)
    return outer


def _joins(node: exp.From) -> None:
    """FROM (a JOIN b ON …): as it is without parentheses."""
    inside = node.this
    if not isinstance(inside, exp.Subquery) or inside.alias or not isinstance(inside.this, exp.Table):
        return
    table, select = inside.this, node.parent
    if table.args.get("joins") and isinstance(select, exp.Select):
        select.set("joins", [*(each.copy() for each in table.args["joins"]), *(select.args.get("joins") or [])])
        table.set("joins", None)
        node.set("this", table.copy())


def _rows(node: exp.Expr) -> exp.Expr:
    """(VALUES (…), (…)) t(x, y), as the rows of SELECTs."""
    rows = [each.expressions if isinstance(each, exp.Tuple) else [each] for each in node.expressions]
    return _table(node, [[cell.copy() for cell in row] for row in rows], "column")


def _series(node: exp.Expr) -> exp.Expr | None:
    """generate_series(1, 5) of constants."""
    series = node.this
    if not isinstance(series, (exp.GenerateSeries, exp.ExplodingGenerateSeries)):
        return None
    first, last = constant(series.args.get("start")), constant(series.args.get("end"))
    step = 1 if series.args.get("step") is None else constant(series.args["step"])
    if first is None or last is None or not step:
        raise Unsupported(f"{shown(node)} is not supported", hint="generate_series takes constant whole numbers here")
    rows = max(0, (last - first) // step + 1)
    if not 1 <= rows <= MOST_ROWS:
        raise Refusal(f"{shown(node)} has {rows} rows", hint=f"1 to {MOST_ROWS} can be written out")
    return _table(node, [[_constant(first + place * step)] for place in range(rows)], "generate_series")


def _constant(number: int) -> exp.Expr:
    made: exp.Expr = exp.Literal.number(abs(number))
    return exp.Neg(this=made) if number < 0 else made


def _table(node: exp.Expr, rows: list[list[exp.Expr]], word: str) -> exp.Expr:
    alias = node.args.get("alias")
    given = [] if alias is None else [column.name for column in alias.args.get("columns") or []]
    name = word if alias is None or alias.this is None else alias.name
    if len({len(row) for row in rows}) != 1 or len(rows) > MOST_ROWS or len(given) > len(rows[0]):
        raise Refusal(
            f"{shown(node)} is no table: {len(rows)} rows of {sorted({len(row) for row in rows})} values",
            hint=f"write up to {MOST_ROWS} rows, each with as many values as there are columns",
        )
    if not given and word != "column":
        given = [name]
    names = given + [f"{word}{place + 1}" for place in range(len(given), len(rows[0]))]
    selects: list[exp.Expr] = [
        exp.Select(expressions=[exp.alias_(cell, column, quoted=True) for cell, column in zip(row, names, strict=True)])
        for row in rows
    ]
    while len(selects) > 1:  # halves of halves: no deeper than need be
        pairs = [selects[place : place + 2] for place in range(0, len(selects), 2)]
        selects = [pair[0] if len(pair) == 1 else _both(*pair) for pair in pairs]
    return exp.Subquery(this=selects[0], alias=exp.TableAlias(this=exp.to_identifier(name)))


def _both(one: exp.Expr, other: exp.Expr) -> exp.Expr:
    sides = [each if isinstance(each, exp.Select) else exp.Subquery(this=each) for each in (one, other)]
    return exp.Union(this=sides[0], expression=sides[1], distinct=False)
