"""How much of a unit counts, as SQL: its rows and groups are bounded by what its own rows and a secret salt say.

Of the rows of a unit that fall into answered groups, those of at most L groups are kept, and of these at most K rows,
whole. Every statistic of a measurement, its ranks and distinct values too, is a sum over the same kept rows. So a unit
moves, over all groups together,
    rows, present, distinct and the rows of a rank by at most K, for each kept row adds 0 or 1 in one group;
    total, centred, squares by at most K times the bound of one row's summand, |x|, |x − middle| or (x − middle)²;
    units by at most 1 in each of at most L groups;
which bounds the L1 distance, and by its square the L2 distance squared; of units the latter is L itself. Two rows of
a unit never cancel in this bound, and what is not kept moves nothing, for nobody's choice depends on another unit.
These are the numbers that `curator.price.reach` charges for.

Where nothing but units is counted, rows are not: K may be unknown, and is not applied. Where nothing counts rows but
only which values there are, rows of a unit that are alike are one row before any of them is chosen.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from discreet.declared.grid import Grid
from discreet.declared.group_key import Key, Type
from discreet.sql.expression import Expression
from discreet.sql.owned_rows import Among, Filter, Kept, Project, Rows, Scan
from discreet.sql.plan import Measurement, Rank, Statistic
from discreet.sql.render import UNIT, Located, constant, expression, number_or_null, quoted, rows, summand
from discreet.sql.row_cap import Choice


def _base(tree: Measurement, located: Located, values: Summands) -> str:
    """Owner, keys and values of the rows that fall into an answered group."""
    tests = _answered(tree)
    alone = "DISTINCT " if values.alike else ""
    return f"SELECT {alone}* FROM ({_keyed(tree, located, values.rows)})" + (f" WHERE {tests}" if tests else "")


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


_LIMB = 64  # bits
_ROWS = 40  # no table has 2^40 rows
_WIDEST = 126  # bits of a sum that an engine's widest integer holds, with its sign


@dataclass(frozen=True)
class Summands:
    """The values that rows bring, each computed once however many statistics need it, and the statistics made of them.

    Rows have their number `n`, and for each value that is added up its sum `t`, how often it is there `c`, and the sum
    of its squares `q` where one is asked for, of its upper bits `h` by itself where 127 bits might not hold it.
    """

    texts: tuple[str, ...]
    places: Mapping[Statistic | Rank, int]
    alike: bool  # whether it makes no difference how often a unit says the same

    @property
    def rows(self) -> list[str]:
        """The values in a row."""
        return [f"{text} AS x{i}" for i, text in enumerate(self.texts)]

    @property
    def names(self) -> list[str]:
        """The columns of the values."""
        return [f"x{i}" for i in range(len(self.texts))]

    @property
    def pairs(self) -> list[str]:
        """Sums of rows."""
        sums = ["count(*) AS n"]
        for i, squared in self._added():
            sums += [f"coalesce(sum(x{i}), 0) AS t{i}", f"count(x{i}) AS c{i}"]
            sums += [] if squared is None else _squares(i, squared)
        return sums

    @property
    def sums(self) -> list[str]:
        """What such sums are called."""
        names = ["n"]
        for i, squared in self._added():
            names += [f"t{i}", f"c{i}"]
            names += [] if squared is None else [f"h{i}", f"q{i}"][2 - limbs(squared) :]
        return names

    def _added(self) -> Iterator[tuple[int, Grid | None]]:
        """The places of values that are added up, and the grids of those that are squared."""
        added = {i for s, i in self.places.items() if isinstance(s, Statistic) and s.kind != "distinct"}
        squared = {i: s.grid for s, i in self.places.items() if isinstance(s, Statistic) and s.kind == "squares"}
        return ((i, squared.get(i)) for i in sorted(added))

    def of(self, statistic: Statistic) -> list[str]:
        """A statistic, of such sums: one number, or its limbs."""
        place = self.places.get(statistic)
        if statistic.kind == "centred" and statistic.grid is not None:
            return [f"t{place} - CAST({statistic.grid.middle} AS HUGEINT) * c{place}"]
        if statistic.kind == "squares" and statistic.grid is not None:
            return [f"h{place}", f"q{place}"][2 - limbs(statistic.grid) :]
        sums = {"rows": "n", "units": "units", "present": f"c{place}", "total": f"t{place}"}
        return [sums.get(statistic.kind, "0")]  # distinct values are counted by themselves


def limbs(grid: Grid) -> int:
    """In how many parts squares are added up."""
    return 1 if 2 * grid.half.bit_length() + _ROWS <= _WIDEST else 2


def _squares(place: int, grid: Grid) -> list[str]:
    """The sum of squares about the middle. A square has at most 126 bits, as half of a range has at most 63."""
    kind = "BIGINT" if grid.half < 1 << 31 and grid.reach < 1 << 62 else "HUGEINT"
    far = f"(CAST(x{place} AS {kind}) - {grid.middle})"
    square = f"{far} * {far}"
    if limbs(grid) == 1:
        return [f"coalesce(sum({square}), 0) AS q{place}"]
    mask = (1 << _LIMB) - 1
    return [
        f"coalesce(sum(({square}) >> {_LIMB}), 0) AS h{place}",
        f"coalesce(sum(({square}) & CAST({mask} AS HUGEINT)), 0) AS q{place}",
    ]


def numbers(tree: Measurement, cells: Sequence[int]) -> tuple[int, ...]:
    """The statistics of a group, whole, of the cells that stand for them in a row of `counts`."""
    left = iter(cells)
    wide = [s.kind == "squares" and s.grid is not None and limbs(s.grid) > 1 for s in plain(tree)]
    return tuple((int(next(left)) << _LIMB) + int(next(left)) if two else int(next(left)) for two in wide)


def summands(tree: Measurement, located: Located) -> Summands:
    """The values of a measurement. Where a value is summed, its steps say too where it is there at all."""
    summed = [s for s in tree.statistics if s.expression is not None and s.grid is not None]
    texts = {(s.expression, s.grid): summand(s.expression, s.grid, tree.rows, located) for s in summed}  # type: ignore[arg-type]
    places: dict[Statistic | Rank, int] = {s: list(texts).index((s.expression, s.grid)) for s in summed}
    steps_of = {expression: place for place, (expression, _) in enumerate(texts)}
    every = list(texts.values())
    for statistic in plain(tree):
        if statistic.kind == "present" and statistic.expression is not None:
            if statistic.expression not in steps_of:
                steps_of[statistic.expression] = len(every)
                every.append(_present(statistic.expression))
            places[statistic] = steps_of[statistic.expression]
        elif statistic.kind == "distinct":
            places[statistic] = len(every)
            null = constant(None, Type.BIGINT)
            every.append(null if statistic.expression is None else number_or_null(statistic.expression))
    sets = all(isinstance(s, Statistic) and s.kind in ("units", "distinct") for s in tree.statistics)
    return Summands(tuple(every), places, sets and bool(places) and not one_row_units(tree.rows))


def plain(tree: Measurement) -> list[Statistic]:
    """The statistics that are numbers of bounded rows."""
    return [statistic for statistic in tree.statistics if isinstance(statistic, Statistic)]


def row_cap(tree: Measurement) -> int | None:
    """How many rows of a unit count; None where only units do."""
    rows = any(not isinstance(s, Statistic) or s.kind != "units" for s in tree.statistics)
    return tree.needs_rows_cap("this aggregate") if rows else None


def _present(value: Expression) -> str:
    """0, or NULL if there is no value. NaN is none: a sum cannot hold it, so neither may the count beside the sum."""
    text = expression(value)
    test = f"NOT isnan({text})" if value.type is Type.DOUBLE else f"({text}) IS NOT NULL"
    return f"(CASE WHEN {test} THEN 0 END)"


@dataclass(frozen=True)
class _Bounds:
    """The relations by which units are bounded: their names can be read after `first`, a list for WITH."""

    tree: Measurement
    values: Summands
    salt: int
    base: str

    @property
    def names(self) -> list[str]:
        """The columns of the keys."""
        return [key.name for key in self.tree.keys]

    @property
    def choice(self) -> Choice:
        """How rows are chosen: by everything that the measurement looks at."""
        return Choice(self.tree.rows, (*self.names, *self.values.names), self.salt, costly=self.values.alike)

    @property
    def cap(self) -> int | None:
        """How many rows of a unit count."""
        return row_cap(self.tree)

    def by_groups(self, sums: Sequence[str]) -> str:
        """Pairs of a unit and a group with such sums; the units `beyond` a cap, their `kept` pairs, those `crowded`.

        The (L + 1)-th smallest hash of a unit's groups is its `edge`, where its choice ends; groups with equal hashes
        fall together on the far side, so never more than L are kept. Units that have more than L groups have more than
        L pairs each, so all lists of hashes together are never longer than the pairs are.
        """
        most, cap, by = self.tree.max_groups, self.cap, ", ".join(["u", *self.names])
        beyond = f"count(*) > {most}" + ("" if cap is None else f" OR sum(n) > {cap}")
        crowded = "FALSE" if cap is None else f"sum(n) > {cap}"
        return (
            f"WITH {self.choice.named('base', self.base)},"
            f" pairs AS MATERIALIZED (SELECT {', '.join([by, *sums])} FROM base GROUP BY {by}),"
            f" beyond AS MATERIALIZED (SELECT u FROM pairs GROUP BY u HAVING {beyond}),"
            f" heavy AS MATERIALIZED (SELECT pairs.*, {self.group} AS d FROM pairs SEMI JOIN beyond USING (u)),"
            f" edges AS MATERIALIZED (SELECT u, min(d, {most + 1})[{most + 1}] AS edge FROM heavy GROUP BY u),"
            f" kept AS MATERIALIZED (SELECT heavy.* FROM heavy JOIN edges USING (u) WHERE edge IS NULL OR d < edge),"
            f" crowded AS MATERIALIZED (SELECT u FROM kept GROUP BY u HAVING {crowded})"
        )

    @property
    def group(self) -> str:
        """The digest of a unit's group."""
        return self.choice.digest(self.names)

    def near(self, units: str) -> str:
        """The rows of some units in the groups that they keep."""
        columns, some = ", ".join(["u", *self.choice.names]), f"SELECT * FROM edges {units} JOIN crowded USING (u)"
        return f"SELECT {columns} FROM base JOIN ({some}) USING (u) WHERE edge IS NULL OR {self.group} < edge"


def _bounds(tree: Measurement, located: Located, salt: int) -> _Bounds:
    values = summands(tree, located)
    return _Bounds(tree, values, salt, _base(tree, located, values))


def counts(tree: Measurement, located: Located, salt: int) -> str:
    """The statistics of the bounded rows: keys, then the number of units, then a column or two for each statistic.

    A unit that touches more groups than it may keeps those with the smallest salted hashes; one that then has more rows
    than it may keeps so many of them. It counts in those groups where it keeps a row. `numbers` puts together what a
    row says.
    """
    bounds = _bounds(tree, located, salt)
    if one_row_units(tree.rows):
        return _unbounded(bounds, _keyed(tree, located, bounds.values.rows))
    units = any(statistic.kind == "units" for statistic in plain(tree))
    if bounds.tree.every_group and bounds.cap is not None and not units:
        return _row_capped(bounds, bounds.cap)
    return _group_capped(bounds)


def _unbounded(bounds: _Bounds, keyed: str) -> str:
    """Rows that are their own unit, added up. Which groups are answered is asked of groups: `n` keeps it above rows."""
    tests, names, values = _answered(bounds.tree), bounds.names, bounds.values
    groups = f"SELECT {', '.join([*names, *values.pairs])} FROM ({keyed}){_by(names)}"
    where = f" WHERE CASE WHEN n > 0 THEN {tests} ELSE FALSE END" if tests else ""
    return f"SELECT {_each(bounds)} FROM (SELECT *, n AS units FROM ({groups})){where}"


def _each(bounds: _Bounds) -> str:
    """Keys, units, and every statistic of sums."""
    texts = [text for statistic in plain(bounds.tree) for text in bounds.values.of(statistic)]
    return ", ".join([*bounds.names, "units", *(f"{text} AS s{i}" for i, text in enumerate(texts))])


def _by(names: Sequence[str]) -> str:
    return f" GROUP BY {', '.join(names)}" if names else ""


def _added(bounds: _Bounds, units: str, parts: Sequence[str]) -> str:
    """The statistics of everything that parts have, each a relation of keys and sums."""
    sums = [f"coalesce(sum({name}), 0) AS {name}" for name in bounds.values.sums]
    whole = f"SELECT {', '.join([*bounds.names, units, *sums])} FROM ({' UNION ALL '.join(parts)}){_by(bounds.names)}"
    return f"SELECT {_each(bounds)} FROM ({whole})"


def _row_capped(bounds: _Bounds, cap: int) -> str:
    """Units within their rows are added up as they are; only of the others rows are chosen."""
    pairs, by = ", ".join([*bounds.names, *bounds.values.pairs]), _by(bounds.names)
    first, within, chosen = bounds.choice.apart(bounds.base, cap)
    parts = [f"SELECT {pairs} FROM ({some}){by}" for some in (within, chosen)]
    return f"{first} {_added(bounds, '0 AS units', parts)}"


def _group_capped(bounds: _Bounds) -> str:
    """Only units that exceed a cap are looked at more closely: their groups are chosen, then their rows."""
    names, values = bounds.names, bounds.values
    sums = ", ".join([*names, *values.sums])
    parts = [
        f"SELECT {sums} FROM pairs ANTI JOIN beyond USING (u)",
        f"SELECT {sums} FROM kept ANTI JOIN crowded USING (u)",
    ]
    if bounds.cap is not None:
        heavy = bounds.choice.fewer(bounds.near("SEMI"), bounds.cap)
        parts.append(f"SELECT {', '.join([*names, *values.pairs])} FROM ({heavy}){_by(['u', *names])}")
    return f"{bounds.by_groups(values.pairs)} {_added(bounds, 'count(*) AS units', parts)}"


def _kept(bounds: _Bounds) -> str:
    """The bounded rows themselves: owner, keys and values."""
    if one_row_units(bounds.tree.rows):
        return bounds.base
    cap = bounds.tree.needs_rows_cap("this aggregate")
    if bounds.tree.every_group:
        return bounds.choice.capped(bounds.base, cap)
    columns = ", ".join(["u", *bounds.choice.names])
    light = f"SELECT {columns} FROM base ANTI JOIN beyond USING (u) UNION ALL {bounds.near('ANTI')}"
    return f"{bounds.by_groups(['count(*) AS n'])} {light} UNION ALL {bounds.choice.fewer(bounds.near('SEMI'), cap)}"


def ranks(tree: Measurement, rank: Rank, located: Located, salt: int) -> str:
    """Keys, a value in steps, and how many bounded rows have it."""
    bounds = _bounds(tree, located, salt)
    x = f"x{bounds.values.places[rank]}"
    by = ", ".join([*bounds.names, x])
    return f"SELECT {by}, count(*) AS n FROM ({_kept(bounds)}) WHERE {x} IS NOT NULL GROUP BY {by}"


def distinct(tree: Measurement, statistic: Statistic, located: Located, salt: int) -> str:
    """Keys, and how many values the bounded rows have."""
    bounds = _bounds(tree, located, salt)
    x, by = f"x{bounds.values.places[statistic]}", _by(bounds.names)
    return f"SELECT {', '.join([*bounds.names, f'count(DISTINCT {x}) AS n'])} FROM ({_kept(bounds)}){by}"
