"""How much of a unit counts, as SQL: its rows and groups are bounded by what its own rows and a secret salt say."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from discreet.sql.expression import Expression
from discreet.sql.plan import Measurement, Rank, Statistic
from discreet.sql.render import UNIT, Located, constant, expression, quoted, rows, summand
from discreet.sql.rows import Among, Filter, Kept, Project, Rows, Scan, scanned
from discreet.sql.schema import Key, Type


def _base(tree: Measurement, located: Located, values: list[str]) -> str:
    """Owner, keys and values of the rows that fall into an answered group."""
    tests = _answered(tree)
    return f"SELECT * FROM ({_keyed(tree, located, values)})" + (f" WHERE {tests}" if tests else "")


def _keyed(tree: Measurement, located: Located, values: list[str]) -> str:
    """Owner, keys and values of all rows."""
    items = [f"{quoted(UNIT)} AS u", *(f"{expression(key.expression)} AS {key.name}" for key in tree.keys), *values]
    return f"SELECT {', '.join(items)} FROM ({rows(tree.rows, located)})"


def _answered(tree: Measurement) -> str:
    """Whether keys are among those that are declared; nothing if none are."""
    declared = [among(key.name, key.values, key.expression.type) for key in tree.keys if key.values is not None]
    return " AND ".join(declared)


def among(name: str, values: tuple[Key, ...], kind: Type) -> str:
    """Whether a column has one of these values."""
    listed = ", ".join(constant(value, kind) for value in values if value is not None)
    tests = [f"{name} IN ({listed})"] if listed else []
    return f"({' OR '.join([*tests, *([f'{name} IS NULL'] if None in values else [])])})"


def one_row_units(tree: Rows) -> bool:
    """Whether every row is its own unit and there once at most, so that nothing needs to be bounded."""
    match tree:
        case Scan(table):
            return table.unit is None
        case Filter() | Project() | Kept() | Among():
            return one_row_units(tree.source)
        case _:
            return False


def own_digest(tree: Rows, names: list[str], salt: int, unit: str = "u") -> str:
    """A salted hash of a group of a unit. A row that is its own unit has no name, only a place, so that is left out."""
    owner = [] if any(not table.public and table.unit is None for table in scanned(tree)) else [unit]
    return f"hash(hash({', '.join([*owner, *names, f'CAST({salt} AS UBIGINT)'])}))"


@dataclass(frozen=True)
class Summands:
    """The values that rows bring, each computed once however many statistics need it, and the statistics made of them.

    A pair of a unit and a group has its rows `n`, and for each value its sum `t`, how often it is there `c`, and the
    sum of its squares `q` where one is asked for. Whatever a statistic is made of, it is an integer |z| ≤ n · bound of
    the pair before that is scaled to ⌊|z| · cap / total⌋: over a unit's pairs these add up to at most cap · bound.
    """

    texts: tuple[str, ...]
    places: Mapping[Statistic, int]

    @property
    def rows(self) -> list[str]:
        """The values in a row."""
        return [f"{text} AS x{i}" for i, text in enumerate(self.texts)]

    @property
    def pairs(self) -> list[str]:
        """Sums of rows."""
        squared = {i: s.grid for s, i in self.places.items() if s.kind == "squares" and s.grid is not None}
        sums = ["count(*) AS n"]
        for i in range(len(self.texts)):
            sums += [f"coalesce(sum(x{i}), 0) AS t{i}", f"count(x{i}) AS c{i}"]
            if i in squared:
                far = f"CAST(CAST(x{i} AS BIGINT) - {squared[i].middle} AS HUGEINT)"
                sums += [f"coalesce(sum({far} * {far}), 0) AS q{i}"]
        return sums

    def of(self, statistic: Statistic) -> str:
        """A statistic, of such sums."""
        place = self.places.get(statistic)
        if statistic.kind == "centred" and statistic.grid is not None:
            return f"t{place} - CAST({statistic.grid.middle} AS HUGEINT) * c{place}"
        sums = {"rows": "n", "units": "1", "present": f"c{place}", "total": f"t{place}", "squares": f"q{place}"}
        return sums.get(statistic.kind, "0")  # distinct values are counted by themselves


def summands(tree: Measurement, located: Located) -> Summands:
    """The values of a measurement. Where a value is summed, its steps say too where it is there at all."""
    summed = [s for s in plain(tree) if s.expression is not None and s.grid is not None]
    texts = {(s.expression, s.grid): summand(s.expression, s.grid, tree.rows, located) for s in summed}  # type: ignore[arg-type]
    places = {s: list(texts).index((s.expression, s.grid)) for s in summed}
    steps_of = {expression: place for place, (expression, _) in enumerate(texts)}
    found = list(texts.values())
    for statistic in plain(tree):
        if statistic.kind == "present" and statistic.expression is not None:
            if statistic.expression not in steps_of:
                steps_of[statistic.expression] = len(found)
                found.append(_present(statistic.expression))
            places[statistic] = steps_of[statistic.expression]
    return Summands(tuple(found), places)


def plain(tree: Measurement) -> list[Statistic]:
    """The statistics that are numbers of bounded rows."""
    return [statistic for statistic in tree.statistics if isinstance(statistic, Statistic)]


def _present(value: Expression) -> str:
    """0, or NULL if there is no value. NaN is none: a sum cannot hold it, so neither may the count beside the sum."""
    text = expression(value)
    test = f"NOT isnan({text})" if value.type is Type.DOUBLE else f"({text}) IS NOT NULL"
    return f"(CASE WHEN {test} THEN 0 END)"


def counts(tree: Measurement, located: Located, salt: int) -> str:
    """The statistics of the bounded rows: keys, then the number of units, then one column for each statistic.

    A unit that touches more groups than it may keeps those with the smallest salted hashes; one that then has more rows
    than it may has all its numbers scaled down, rounded toward zero. Both look at that unit's own rows only. Where
    there are no more groups than a unit may have, rows alone are bounded.
    """
    values = summands(tree, located)
    names = [key.name for key in tree.keys]
    if one_row_units(tree.rows):
        return _unbounded(tree, _keyed(tree, located, values.rows), values, names)
    base = _base(tree, located, values.rows)
    units = any(statistic.kind == "units" for statistic in plain(tree))
    if tree.declared and math.prod(len(key.values or ()) for key in tree.keys) <= tree.max_groups and not units:
        return _row_capped(tree, base, values, names)
    return _group_capped(tree, base, values, (names, salt))


def _unbounded(tree: Measurement, keyed: str, values: Summands, names: list[str]) -> str:
    """Rows that are their own unit, added up. Which groups are answered is asked of groups: `n` keeps it above rows."""
    tests = _answered(tree)
    items = ", ".join([*names, "n AS units", *_each(tree, values)])
    groups = f"SELECT {', '.join([*names, *values.pairs])} FROM ({keyed}){_by(names)}"
    return f"SELECT {items} FROM ({groups})" + (f" WHERE CASE WHEN n > 0 THEN {tests} ELSE FALSE END" if tests else "")


def _each(tree: Measurement, values: Summands, cap: int | None = None) -> list[str]:
    """Every statistic of sums, scaled down to a cap if there is one.

    No product overflows: a sum is of fewer than 2^40 rows of less than 2^61 each, a cap is at most 2^20, and a HUGEINT
    holds 2^127.
    """
    texts = [values.of(statistic) for statistic in plain(tree)]
    if cap is not None:
        texts = [
            text if statistic.kind == "units" else f"CAST({text} AS HUGEINT) * {cap} // total"
            for text, statistic in zip(texts, plain(tree), strict=True)
        ]
    return [f"{text} AS s{i}" for i, text in enumerate(texts)]


def _by(names: Sequence[str]) -> str:
    return f" GROUP BY {', '.join(names)}" if names else ""


def _added(tree: Measurement) -> list[str]:
    return [f"coalesce(sum(s{i}), 0) AS s{i}" for i in range(len(plain(tree)))]


def _row_capped(tree: Measurement, base: str, values: Summands, names: list[str]) -> str:
    """Units within their rows are added up as they are; only the others are gathered and scaled, each by itself."""
    cap = tree.needs_rows_cap("this aggregate")
    once = "NOT MATERIALIZED" if is_plain(tree.rows) else "MATERIALIZED"  # what is costly is computed once, and kept
    over = f"SELECT u, count(*) AS total FROM base GROUP BY u HAVING count(*) > {cap}"
    within = f"SELECT {', '.join([*names, *values.pairs])} FROM base ANTI JOIN over_cap USING (u){_by(names)}"
    each = f"SELECT {', '.join(['u', *names, *values.pairs])} FROM base SEMI JOIN over_cap USING (u)"
    light = f"SELECT {', '.join([*names, *_each(tree, values)])} FROM ({within})"
    heavy = f"SELECT {', '.join([*names, *_each(tree, values, cap)])} FROM ({each}{_by(['u', *names])})"
    return (
        f"WITH base AS {once} ({base}), over_cap AS MATERIALIZED ({over})"
        f" SELECT {', '.join([*names, '0 AS units', *_added(tree)])}"
        f" FROM ({light} UNION ALL {heavy} JOIN over_cap USING (u)){_by(names)}"
    )


def _group_capped(tree: Measurement, base: str, values: Summands, grouped: tuple[list[str], int]) -> str:
    """Only units that exceed a cap are looked at more closely: their groups are chosen, then their rows counted.

    The (L + 1)-th smallest hash of a unit's groups is where its choice ends; groups with equal hashes fall together on
    the far side, so never more than L are kept. Units that have more than L groups have more than L pairs each, so all
    lists of hashes together are never longer than the pairs are.
    """
    names, salt = grouped
    most, cap = tree.max_groups, tree.max_rows
    beyond = f"count(*) > {most}" + ("" if cap is None else f" OR sum(n) > {cap}")
    digest = own_digest(tree.rows, names, salt)
    pairs = f"SELECT {', '.join(['u', *names, *values.pairs])} FROM ({base}){_by(['u', *names])}"
    unscaled = ", ".join([*names, *_each(tree, values)])
    over = "FALSE" if cap is None else f"total > {cap}"
    kept = f"SELECT {unscaled} FROM kept JOIN totals USING (u) WHERE NOT {over}"
    if cap is not None:
        scaled = ", ".join([*names, *_each(tree, values, cap)])
        kept += f" UNION ALL SELECT {scaled} FROM kept JOIN totals USING (u) WHERE {over}"
    return (
        f"WITH pairs AS MATERIALIZED ({pairs}),"
        f" beyond AS MATERIALIZED (SELECT u FROM pairs GROUP BY u HAVING {beyond}),"
        f" heavy AS MATERIALIZED (SELECT pairs.*, {digest} AS d FROM pairs SEMI JOIN beyond USING (u)),"
        f" edges AS MATERIALIZED (SELECT u, min(d, {most + 1})[{most + 1}] AS edge FROM heavy GROUP BY u),"
        f" kept AS MATERIALIZED (SELECT heavy.* FROM heavy JOIN edges USING (u) WHERE edge IS NULL OR d < edge),"
        f" totals AS MATERIALIZED (SELECT u, sum(n) AS total FROM kept GROUP BY u)"
        f" SELECT {', '.join([*names, 'count(*) AS units', *_added(tree)])}"
        f" FROM (SELECT {unscaled} FROM pairs ANTI JOIN beyond USING (u) UNION ALL {kept}){_by(names)}"
    )


def is_plain(tree: Rows) -> bool:
    """Whether rows are read twice as cheaply as they are kept."""
    match tree:
        case Scan():
            return True
        case Filter() | Project():
            return is_plain(tree.source)
        case _:
            return False


def ranks(tree: Measurement, rank: Rank, located: Located, salt: int) -> str:
    """Keys, a value in steps, and how many bounded rows have it. Whole rows are kept here, chosen by salted hash."""
    names = [key.name for key in tree.keys]
    base = _base(tree, located, [f"{summand(rank.expression, rank.grid, tree.rows, located)} AS x"])
    chosen = f"SELECT * FROM ({base}) WHERE x IS NOT NULL"
    if not one_row_units(tree.rows):
        chosen = _chosen(tree, chosen, names, salt)
    by = ", ".join([*names, "x"])
    return f"SELECT {by}, count(*) AS n FROM ({chosen}) GROUP BY {by}"


def distinct(tree: Measurement, statistic: Statistic, located: Located, salt: int) -> str:
    """Keys, and how many values the bounded rows have. A unit keeps so many values as it may have rows, by hash."""
    names = [key.name for key in tree.keys]
    value = constant(None, Type.BIGINT) if statistic.expression is None else expression(statistic.expression)
    base = _base(tree, located, [f"{value} AS x"])
    chosen = f"SELECT DISTINCT {', '.join(['u', *names, 'x'])} FROM ({base}) WHERE x IS NOT NULL"
    if not one_row_units(tree.rows):
        chosen = _chosen(tree, chosen, names, salt)
    by = ", ".join(names)
    return f"SELECT {by}{', ' if by else ''}count(DISTINCT x) AS n FROM ({chosen})" + (f" GROUP BY {by}" if by else "")


def _chosen(tree: Measurement, source: str, names: list[str], salt: int) -> str:
    """Of each unit at most so many groups, and of those at most so many rows (keys and x), chosen by salted hash."""
    if names:
        order = ", ".join([own_digest(tree.rows, names, salt), *names])  # two groups with one hash are still two
        place = f"dense_rank() OVER (PARTITION BY u ORDER BY {order})"
        source = f"SELECT * FROM ({source}) QUALIFY {place} <= {tree.max_groups}"
    order = ", ".join([own_digest(tree.rows, [*names, "x"], salt), *names, "x"])
    place = f"row_number() OVER (PARTITION BY u ORDER BY {order})"
    return f"SELECT * FROM ({source}) QUALIFY {place} <= {tree.needs_rows_cap('this aggregate')}"
