"""Our trees as SQL text for DuckDB. Nothing else writes SQL that touches private rows."""

from __future__ import annotations

from collections.abc import Callable

from discreet.sql.expression import Call, Case, Expression, Field, Literal
from discreet.sql.functions import FUNCTIONS
from discreet.sql.plan import Filter, Grid, Measurement, PerUnit, Project, Rank, Rows, Scan, Statistic, shape
from discreet.sql.schema import Key, Table, Type

UNIT = "#unit"  # no column can be called so: it is where the owner of a row travels
Located = Callable[[Table], str]  # where an engine keeps a table's rows


def quoted(name: str) -> str:
    """An identifier."""
    return '"' + name.replace('"', '""') + '"'


def constant(value: object, kind: Type) -> str:
    """A literal of a type."""
    if value is None:
        return f"CAST(NULL AS {kind.value})"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int):
        return f"CAST({value} AS {kind.value})"
    text = str(value).replace("'", "''")
    return f"CAST('{text}' AS {kind.value})"


def as_type(text: str, kind: Type) -> str:
    """A value in a type, NULL if it does not fit. Dates lie in years 1 to 9999, where nothing done to them fails."""
    cast = f"TRY_CAST({text} AS {kind.value})"
    if kind not in (Type.DATE, Type.TIMESTAMP):
        return cast
    return f"(CASE WHEN {cast} BETWEEN {kind.value} '0001-01-01' AND {kind.value} '9999-12-31' THEN {cast} END)"


def expression(tree: Expression) -> str:
    """An expression over one row."""
    match tree:
        case Literal(value, kind):
            return constant(value, kind)
        case Field(name, _):
            return quoted(name)
        case Case(branches, otherwise, kind):
            tests = " ".join(f"WHEN {expression(c)} THEN {_as(v, kind)}" for c, v in branches)
            return f"(CASE {tests} ELSE {_as(otherwise, kind)} END)"
        case Call("cast", (value,), kind):
            return as_type(expression(value), kind)
        case Call(function, (value,), _) if function.startswith(("extract ", "date_trunc ")):
            name, part = function.split(" ")
            inner = f"{'date_part' if name == 'extract' else name}('{part}', {expression(value)})"
            return f"TRY_CAST({inner} AS {tree.type.value})"
        case Call(function, arguments, kind):
            return FUNCTIONS[function].printing([expression(argument) for argument in arguments], kind)


def _as(tree: Expression, kind: Type) -> str:
    return expression(tree) if tree.type is kind else as_type(expression(tree), kind)


def steps(tree: Expression, grid: Grid) -> str:
    """A number as whole steps, clamped; NULL if it is not a number at all."""
    value = f"CAST({expression(tree)} AS DOUBLE)"
    scaled = f"round({value} / {float(grid.step)!r})"
    return f"CAST(CASE WHEN NOT isnan({value}) THEN least(greatest({scaled}, {grid.low}), {grid.high}) END AS BIGINT)"


def rows(tree: Rows, located: Located) -> str:
    """A relation, its owner in the column `UNIT`."""
    match tree:
        case Scan(table):
            names = ", ".join(quoted(column.name) for column in table.columns)
            owner = "0" if table.unit is None else quoted(table.unit)
            present = "" if table.unit is None else f" WHERE {quoted(table.unit)} IS NOT NULL"
            return f"SELECT {owner} AS {quoted(UNIT)}, {names} FROM {located(table)}{present}"
        case Filter(source, predicate):
            return f"SELECT * FROM ({rows(source, located)}) WHERE {expression(predicate)}"
        case Project(source, columns):
            items = "".join(f", {expression(value)} AS {quoted(name)}" for name, value in columns)
            return f"SELECT {quoted(UNIT)}{items} FROM ({rows(source, located)})"
        case PerUnit(source):
            below = rows(source, located)
            return f"SELECT {quoted(UNIT)}, count(*) AS {quoted('rows')} FROM ({below}) GROUP BY {quoted(UNIT)}"


def _base(tree: Measurement, located: Located, values: list[str]) -> str:
    """Owner, keys and values of the rows that fall into an answered group."""
    items = [f"{quoted(UNIT)} AS u", *(f"{expression(key.expression)} AS {key.name}" for key in tree.keys), *values]
    declared = [_among(key.name, key.values, key.expression.type) for key in tree.keys if key.values is not None]
    where = f" WHERE {' AND '.join(declared)}" if declared else ""
    return f"SELECT * FROM (SELECT {', '.join(items)} FROM ({rows(tree.rows, located)})){where}"


def _among(name: str, values: tuple[Key, ...], kind: Type) -> str:
    listed = ", ".join(constant(value, kind) for value in values if value is not None)
    tests = [f"{name} IN ({listed})"] if listed else []
    return f"({' OR '.join([*tests, *([f'{name} IS NULL'] if None in values else [])])})"


def _one_row_units(tree: Rows) -> bool:
    """Whether every row is its own unit, so that nothing needs to be bounded."""
    return tree.table.unit is None if isinstance(tree, Scan) else _one_row_units(tree.source)


def _values(tree: Measurement) -> dict[Statistic, tuple[str, str]]:
    """For each statistic: its value in a row, and the aggregate that adds rows up."""
    found: dict[Statistic, tuple[str, str]] = {}
    for i, statistic in enumerate(s for s in tree.statistics if isinstance(s, Statistic)):
        match statistic:
            case Statistic("rows") | Statistic("units"):
                found[statistic] = ("", "count(*)")
            case Statistic("present", value, _) if value is not None:
                found[statistic] = (f"({expression(value)}) AS x{i}", f"count(x{i})")
            case Statistic("total", value, grid) if value is not None and grid is not None:
                found[statistic] = (f"{steps(value, grid)} AS x{i}", f"coalesce(sum(x{i}), 0)")
            case Statistic("centred", value, grid) if value is not None and grid is not None:
                found[statistic] = (f"{steps(value, grid)} - {grid.middle} AS x{i}", f"coalesce(sum(x{i}), 0)")
            case Statistic("squares", value, grid) if value is not None and grid is not None:
                found[statistic] = (
                    f"{steps(value, grid)} - {grid.middle} AS x{i}",
                    f"coalesce(sum(CAST(x{i} AS HUGEINT) * x{i}), 0)",
                )
    return found


def counts(tree: Measurement, located: Located, salt: int) -> str:
    """The statistics of the bounded rows: keys, then the number of units, then one column for each statistic.

    A unit that touches more groups than it may keeps those with the smallest salted hashes; one that then has more rows
    than it may has all its numbers scaled down, rounded toward zero. Both look at that unit's own rows only.
    """
    values = _values(tree)
    columns = [f"{total} AS s{i}" for i, (_, total) in enumerate(values.values())]
    names = [key.name for key in tree.keys]
    base = _base(tree, located, [value for value, _ in values.values() if value])
    by = ", ".join(names)
    if _one_row_units(tree.rows):
        items = ", ".join([*names, "count(*) AS units", *columns])
        return f"SELECT {items} FROM ({base})" + (f" GROUP BY {by}" if by else "")
    each = ", ".join(["u", *names])
    pairs = f"SELECT {', '.join([each, 'count(*) AS n', *columns])} FROM ({base}) GROUP BY {each}"
    kept = "SELECT * FROM pairs"
    if names:
        digest = f"hash(hash({', '.join(['u', *names, f'CAST({salt} AS UBIGINT)'])}))"
        over = f"SELECT u, min({digest}, {tree.max_groups + 1})[{tree.max_groups + 1}] AS edge FROM pairs GROUP BY u"
        kept = f"SELECT pairs.* FROM pairs JOIN ({over}) AS edges USING (u) WHERE edge IS NULL OR {digest} < edge"
    scaled = [f"s{i}" for i in range(len(values))]
    if tree.max_rows is not None:
        kept = f"SELECT kept.*, sum(n) OVER (PARTITION BY u) AS total FROM ({kept}) AS kept"
        scaled = [
            name if statistic.kind == "units" else _scaled(name, tree.max_rows)
            for name, statistic in zip(scaled, values, strict=True)
        ]
    sums = [
        ("count(*)" if statistic.kind == "units" else f"coalesce(sum({text}), 0)") + f" AS s{i}"
        for i, (text, statistic) in enumerate(zip(scaled, values, strict=True))
    ]
    final = ", ".join([*names, "count(*) AS units", *sums])
    return f"WITH pairs AS MATERIALIZED ({pairs}) SELECT {final} FROM ({kept})" + (f" GROUP BY {by}" if by else "")


def _scaled(name: str, cap: int) -> str:
    whole = f"CAST({name} AS HUGEINT)"
    return f"CASE WHEN total <= {cap} THEN {whole} ELSE {whole} * {cap} // total END"


def ranks(tree: Measurement, rank: Rank, located: Located, salt: int) -> str:
    """Keys, a value in steps, and how many bounded rows have it. Whole rows are kept here, chosen by salted hash."""
    names = [key.name for key in tree.keys]
    base = _base(tree, located, [f"{steps(rank.expression, rank.grid)} AS x"])
    chosen = f"SELECT * FROM ({base}) WHERE x IS NOT NULL"
    if not _one_row_units(tree.rows):
        if names:
            digest = f"hash(hash({', '.join(['u', *names, f'CAST({salt} AS UBIGINT)'])}))"
            order = ", ".join([digest, *names])  # names too: groups with equal hashes are still two groups
            place = f"dense_rank() OVER (PARTITION BY u ORDER BY {order})"
            chosen = f"SELECT * FROM ({chosen}) QUALIFY {place} <= {tree.max_groups}"
        order = f"hash(hash({', '.join(['u', *names, 'x', f'CAST({salt} AS UBIGINT)'])})), {', '.join([*names, 'x'])}"
        chosen = (
            f"SELECT * FROM ({chosen}) QUALIFY row_number() OVER (PARTITION BY u ORDER BY {order})"
            f" <= {tree.needs_rows_cap('a quantile')}"
        )
    by = ", ".join([*names, "x"])
    return f"SELECT {by}, count(*) AS n FROM ({chosen}) GROUP BY {by}"


def bounded(tree: Rows, located: Located, salt: int, cap: int) -> str:
    """At most so many rows of each unit, chosen by salted hash; the owner is left out."""
    names = [quoted(name) for name in shape(tree).columns]
    listed = ", ".join(names)
    chosen = f"SELECT * FROM ({rows(tree, located)})"
    if not _one_row_units(tree):
        order = f"hash(hash({quoted(UNIT)}, {listed}, CAST({salt} AS UBIGINT))), {listed}"
        chosen += f" QUALIFY row_number() OVER (PARTITION BY {quoted(UNIT)} ORDER BY {order}) <= {cap}"
    return f"SELECT {listed} FROM ({chosen})"
