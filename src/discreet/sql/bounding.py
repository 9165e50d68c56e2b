"""How much of a unit counts, as SQL: its rows and groups are bounded by what its own rows and a secret salt say."""

from __future__ import annotations

import math
from collections.abc import Sequence

from discreet.sql.expression import Expression
from discreet.sql.plan import Measurement, Rank, Statistic
from discreet.sql.render import UNIT, Located, constant, expression, quoted, rows, steps
from discreet.sql.rows import Among, Filter, Kept, Project, Rows, Scan, scanned
from discreet.sql.schema import Key, Type
from discreet.sql.shape import shape


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
    """Whether every row is its own unit and there once at most, so that nothing needs to be bounded."""
    match tree:
        case Scan(table):
            return table.unit is None
        case Filter() | Project() | Kept() | Among():
            return _one_row_units(tree.source)
        case _:
            return False


def _digest(tree: Rows, names: list[str], salt: int) -> str:
    """A salted hash of a group of a unit. A row that is its own unit has no name, only a place, so that is left out."""
    owner = [] if any(not table.public and table.unit is None for table in scanned(tree)) else ["u"]
    return f"hash(hash({', '.join([*owner, *names, f'CAST({salt} AS UBIGINT)'])}))"


def _values(tree: Measurement) -> dict[Statistic, tuple[str, str]]:
    """For each statistic: its value in a row, and the aggregate that adds rows up."""
    found: dict[Statistic, tuple[str, str]] = {}
    for i, statistic in enumerate(s for s in tree.statistics if isinstance(s, Statistic)):
        match statistic:
            case Statistic("rows") | Statistic("units"):
                found[statistic] = ("", "count(*)")
            case Statistic("distinct"):
                found[statistic] = ("", "min(0)")  # counted by itself
            case Statistic("present", value, _) if value is not None:
                found[statistic] = (f"{_present(value)} AS x{i}", f"count(x{i})")
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


def _present(value: Expression) -> str:
    """NULL if there is no value. NaN is none: a sum cannot hold it, so neither may the count that goes with the sum."""
    text = expression(value)
    return f"(CASE WHEN NOT isnan({text}) THEN 1 END)" if value.type is Type.DOUBLE else f"({text})"


def counts(tree: Measurement, located: Located, salt: int) -> str:
    """The statistics of the bounded rows: keys, then the number of units, then one column for each statistic.

    A unit that touches more groups than it may keeps those with the smallest salted hashes; one that then has more rows
    than it may has all its numbers scaled down, rounded toward zero. Both look at that unit's own rows only. Where
    there are no more groups than a unit may have, rows alone are bounded.
    """
    values = _values(tree)
    names = [key.name for key in tree.keys]
    base = _base(tree, located, [value for value, _ in values.values() if value])
    adding = ["count(*) AS n", *(f"{total} AS s{i}" for i, (_, total) in enumerate(values.values()))]
    if _one_row_units(tree.rows):
        items = ", ".join([*names, "count(*) AS units", *adding[1:]])
        return f"SELECT {items} FROM ({base}){_by(names)}"
    if tree.declared and math.prod(len(key.values or ()) for key in tree.keys) <= tree.max_groups and not _units(tree):
        return _row_capped(tree, base, adding, names)
    return _group_capped(tree, base, adding, (names, salt))


def _units(tree: Measurement) -> bool:
    return any(isinstance(statistic, Statistic) and statistic.kind == "units" for statistic in tree.statistics)


def _by(names: Sequence[str]) -> str:
    return f" GROUP BY {', '.join(names)}" if names else ""


def _row_capped(tree: Measurement, base: str, adding: list[str], names: list[str]) -> str:
    """Units within their rows are added up as they are; only the others are gathered and scaled, each by itself."""
    cap = tree.needs_rows_cap("this aggregate")
    sums = [f"s{i}" for i in range(len(adding) - 1)]
    once = "" if _is_plain(tree.rows) else "MATERIALIZED "  # what is costly is computed once, and kept
    over = f"SELECT u, count(*) AS total FROM base GROUP BY u HAVING count(*) > {cap}"
    light = f"SELECT {', '.join([*names, *adding[1:]])} FROM base ANTI JOIN over_cap USING (u){_by(names)}"
    each = f"SELECT {', '.join(['u', *names, *adding])} FROM base SEMI JOIN over_cap USING (u){_by(['u', *names])}"
    scaled = ", ".join([*names, *(f"CAST({name} AS HUGEINT) * {cap} // total AS {name}" for name in sums)])
    heavy = f"SELECT {scaled} FROM ({each}) JOIN over_cap USING (u)"
    final = ", ".join([*names, "0 AS units", *(f"coalesce(sum({name}), 0) AS {name}" for name in sums)])
    return (
        f"WITH base AS {once or 'NOT MATERIALIZED '}({base}), over_cap AS MATERIALIZED ({over})"
        f" SELECT {final} FROM ({light} UNION ALL {heavy}){_by(names)}"
    )


def _group_capped(tree: Measurement, base: str, adding: list[str], grouped: tuple[list[str], int]) -> str:
    """Only units that exceed a cap are looked at more closely: their groups are chosen, then their rows counted.

    The (L + 1)-th smallest hash of a unit's groups is where its choice ends; groups with equal hashes fall together on
    the far side, so never more than L are kept. Units that have more than L groups have more than L pairs each, so all
    lists of hashes together are never longer than the pairs are.
    """
    names, salt = grouped
    most, cap = tree.max_groups, tree.max_rows
    kinds = [statistic.kind for statistic in _values(tree)]
    sums = [f"s{i}" for i in range(len(kinds))]
    beyond = f"count(*) > {most}" + ("" if cap is None else f" OR sum(n) > {cap}")
    digest = _digest(tree.rows, names, salt)
    scaled = [
        name
        if kind == "units" or cap is None
        else f"CASE WHEN total <= {cap} THEN {name} ELSE {name} * {cap} // total END"
        for name, kind in zip(sums, kinds, strict=True)
    ]
    pairs = f"SELECT {', '.join(['u', *names, *_wide(adding)])} FROM ({base}){_by(['u', *names])}"
    light = ", ".join([*names, *sums])
    heavy = ", ".join([*names, *(f"{text} AS {name}" for text, name in zip(scaled, sums, strict=True))])
    final = ", ".join([*names, "count(*) AS units", *_totals(sums, kinds)])
    return (
        f"WITH pairs AS MATERIALIZED ({pairs}),"
        f" beyond AS MATERIALIZED (SELECT u FROM pairs GROUP BY u HAVING {beyond}),"
        f" heavy AS MATERIALIZED (SELECT pairs.*, {digest} AS d FROM pairs SEMI JOIN beyond USING (u)),"
        f" edges AS MATERIALIZED (SELECT u, min(d, {most + 1})[{most + 1}] AS edge FROM heavy GROUP BY u),"
        f" kept AS MATERIALIZED (SELECT heavy.* FROM heavy JOIN edges USING (u) WHERE edge IS NULL OR d < edge),"
        f" totals AS MATERIALIZED (SELECT u, sum(n) AS total FROM kept GROUP BY u)"
        f" SELECT {final} FROM (SELECT {light} FROM pairs ANTI JOIN beyond USING (u)"
        f" UNION ALL SELECT {heavy} FROM kept JOIN totals USING (u)){_by(names)}"
    )


def _wide(adding: list[str]) -> list[str]:
    """Sums in numbers so wide that no cap times a sum overflows."""
    first, *rest = adding
    return [first, *(f"CAST({text.replace(' AS s', ' AS HUGEINT) AS s')}" for text in rest)]


def _totals(sums: list[str], kinds: list[str]) -> list[str]:
    """A unit counts once in each of its groups; everything else is added up."""
    return [
        ("count(*)" if kind == "units" else f"coalesce(sum({name}), 0)") + f" AS {name}"
        for name, kind in zip(sums, kinds, strict=True)
    ]


def _is_plain(tree: Rows) -> bool:
    """Whether rows are read twice as cheaply as they are kept."""
    match tree:
        case Scan():
            return True
        case Filter() | Project():
            return _is_plain(tree.source)
        case _:
            return False


def ranks(tree: Measurement, rank: Rank, located: Located, salt: int) -> str:
    """Keys, a value in steps, and how many bounded rows have it. Whole rows are kept here, chosen by salted hash."""
    names = [key.name for key in tree.keys]
    base = _base(tree, located, [f"{steps(rank.expression, rank.grid)} AS x"])
    chosen = f"SELECT * FROM ({base}) WHERE x IS NOT NULL"
    if not _one_row_units(tree.rows):
        chosen = _chosen(tree, chosen, names, salt)
    by = ", ".join([*names, "x"])
    return f"SELECT {by}, count(*) AS n FROM ({chosen}) GROUP BY {by}"


def distinct(tree: Measurement, statistic: Statistic, located: Located, salt: int) -> str:
    """Keys, and how many values the bounded rows have. A unit keeps so many values as it may have rows, by hash."""
    names = [key.name for key in tree.keys]
    value = constant(None, Type.BIGINT) if statistic.expression is None else expression(statistic.expression)
    base = _base(tree, located, [f"{value} AS x"])
    chosen = f"SELECT DISTINCT {', '.join(['u', *names, 'x'])} FROM ({base}) WHERE x IS NOT NULL"
    if not _one_row_units(tree.rows):
        chosen = _chosen(tree, chosen, names, salt)
    by = ", ".join(names)
    return f"SELECT {by}{', ' if by else ''}count(DISTINCT x) AS n FROM ({chosen})" + (f" GROUP BY {by}" if by else "")


def _chosen(tree: Measurement, source: str, names: list[str], salt: int) -> str:
    """Of each unit at most so many groups, and of those at most so many rows (keys and x), chosen by salted hash."""
    if names:
        order = ", ".join([_digest(tree.rows, names, salt), *names])  # two groups with one hash are still two
        place = f"dense_rank() OVER (PARTITION BY u ORDER BY {order})"
        source = f"SELECT * FROM ({source}) QUALIFY {place} <= {tree.max_groups}"
    order = ", ".join([_digest(tree.rows, [*names, "x"], salt), *names, "x"])
    place = f"row_number() OVER (PARTITION BY u ORDER BY {order})"
    return f"SELECT * FROM ({source}) QUALIFY {place} <= {tree.needs_rows_cap('this aggregate')}"


def bounded(tree: Rows, located: Located, salt: int, cap: int) -> str:
    """At most so many rows of each unit, chosen by salted hash; the owner is left out."""
    names = [quoted(name) for name in shape(tree).columns]
    listed = ", ".join(names)
    chosen = f"SELECT * FROM ({rows(tree, located)})"
    if not _one_row_units(tree):
        order = f"{_digest(tree, names, salt)}, {listed}"
        chosen = f"SELECT *, {quoted(UNIT)} AS u FROM ({rows(tree, located)})"
        chosen += f" QUALIFY row_number() OVER (PARTITION BY u ORDER BY {order}) <= {cap}"
    return f"SELECT {listed} FROM ({chosen})"
