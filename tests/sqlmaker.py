"""Random schemas, rows, and questions about them: some that must be answered, some that must be refused.

Everything follows from a seed. A schema has two or three tables about the same people and one that is public; the names
of its columns are unique in it, so a join never makes them ambiguous.
"""

from __future__ import annotations

import datetime as dt
import math
import random
from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa

PEOPLE = 40
CODES = ("amber", "blue", "coral", "dove")
ARROW = {
    "serial": pa.int64(),
    "key": pa.string(),
    "text": pa.string(),
    "whole": pa.int64(),
    "real": pa.float64(),
    "day": pa.date32(),
    "flag": pa.bool_(),
}
EXTREME: dict[str, list[object]] = {
    "whole": [2**62, -(2**62)],
    "real": [math.nan, math.inf, -math.inf, 1e308, -5e-324],
    "text": ["", "'", "\x00"],
}


@dataclass(frozen=True)
class Field:
    """A column: its kind decides its type, its bounds or its keys."""

    name: str
    kind: str
    low: int = 0
    high: int = 0
    keys: tuple[str, ...] = ()

    def cell(self, rng: random.Random, serial: int) -> object:
        """A value within what is declared; some are NULL, some lie on the bounds."""
        if self.kind in ("whole", "real", "text", "day") and rng.random() < 0.06:
            return None
        made: dict[str, Callable[[], object]] = {
            "serial": lambda: serial,
            "key": lambda: rng.choice(self.keys),
            "text": lambda: rng.choice(CODES),
            "whole": lambda: rng.randint(self.low, self.high),
            "real": lambda: rng.choice([float(self.low), float(self.high), *self._inside(rng)]),
            "day": lambda: dt.date(2024, 1, 1) + dt.timedelta(days=rng.randrange(300)),
            "flag": lambda: rng.random() < 0.4,
        }
        return made[self.kind]()

    def _inside(self, rng: random.Random) -> list[float]:
        return [round(rng.uniform(self.low, self.high), 2) for _ in range(8)]


@dataclass(frozen=True)
class Sheet:
    """A private table: its columns without the unit, and its rows, each with its unit first."""

    name: str
    fields: tuple[Field, ...]
    rows: tuple[tuple[object, ...], ...]

    def of(self, *kinds: str) -> list[Field]:
        """The columns of some kinds."""
        return [field for field in self.fields if field.kind in kinds]


@dataclass(frozen=True)
class World:
    """A schema with its rows."""

    unit: str
    sheets: tuple[Sheet, ...]
    public: str

    def tables(self, *, baited: bool = False) -> dict[str, pa.Table]:
        """The tables; with rows of one more person that are as awkward as a type allows."""
        made = {sheet.name: self._table(sheet, bait(sheet) if baited else ()) for sheet in self.sheets}
        return made | {self.public: pa.table({"code": [*CODES, "elm"], "rank": [3, 1, 2, 1, 5]})}

    def _table(self, sheet: Sheet, more: tuple[tuple[object, ...], ...]) -> pa.Table:
        names = [self.unit, *(field.name for field in sheet.fields)]
        kinds = [pa.int64(), *(ARROW[field.kind] for field in sheet.fields)]
        columns = list(zip(*(sheet.rows + more), strict=True))
        return pa.table({n: pa.array(list(c), k) for n, c, k in zip(names, columns, kinds, strict=True)})


@dataclass(frozen=True)
class Question:
    """A text whose answer has leading keys, then numbers, and what one person may move each number by, per row."""

    sql: str
    crowd: str  # the same, counting people in each group
    keys: int
    known: bool
    reach: tuple[int, ...] = ()  # 0: no bound is stated


@dataclass(frozen=True)
class Source:
    """What stands after FROM, the columns it offers, and the name of the unit in it."""

    text: str
    fields: tuple[Field, ...]
    unit: str
    head: str = ""


def world(seed: int) -> World:
    """The schema and the rows of a seed."""
    rng = random.Random(seed)
    unit = rng.choice(["person", "member", "account", "device"])
    sheets = []
    for number in range(rng.choice([2, 2, 3])):
        letter = "abc"[number]
        kinds = ["serial", "key", "text", "real", "whole", "day", "flag", *rng.choices(["real", "whole", "key"], k=2)]
        fields = tuple(_field(rng, f"{letter}{i}", kind) for i, kind in enumerate(kinds))
        rows = [
            (person, *(field.cell(rng, 100 * person + i) for field in fields))
            for person in range(PEOPLE)
            for i in range(rng.randint(0, 6))
        ]
        rng.shuffle(rows)
        sheets.append(Sheet(rng.choice(["events", "orders", "claims", "stays"]) + f"_{letter}", fields, tuple(rows)))
    return World(unit, tuple(sheets), "colours")


def _field(rng: random.Random, name: str, kind: str) -> Field:
    low = rng.choice([-50, -7, 0, 0, 3])
    keys = tuple(f"k{i}" for i in range(rng.randint(2, 4)))
    return Field(name, kind, low, low + rng.choice([10, 90, 1000]), keys if kind == "key" else ())


def bait(sheet: Sheet) -> tuple[tuple[object, ...], ...]:
    """Many rows of one person, with cells beyond everything that was declared."""
    rng = random.Random(len(sheet.rows))
    rows = [[9999, *(field.cell(rng, i) for field in sheet.fields)] for i in range(60)]
    for row in rows[::2]:
        for place, field in enumerate(sheet.fields, start=1):
            row[place] = rng.choice(EXTREME.get(field.kind, [row[place]]))
    return tuple(tuple(row) for row in rows)


def predicate(rng: random.Random, fields: tuple[Field, ...]) -> str:
    """A condition on the columns of a row; most rows meet it."""
    field = rng.choice([f for f in fields if f.kind != "serial"])
    low, middle = field.low, (field.low + field.high) // 2
    simple = {
        "key": [f"{field.name} IN ('k0', 'k1')", f"{field.name} <> 'k0'"],
        "text": [f"{field.name} LIKE '%a%'", f"{field.name} NOT LIKE 'b%'", f"{field.name} IS NOT NULL"],
        "whole": [f"{field.name} >= {middle}", f"{field.name} IS NULL OR {field.name} < {middle}"],
        "real": [f"{field.name} BETWEEN {low + 1}.5 AND {middle + 3}", f"NOT {field.name} > {middle}.25"],
        "day": [f"{field.name} >= DATE '2024-04-01'", f"extract(month FROM {field.name}) < 8"],
        "flag": [field.name, f"NOT {field.name}"],
    }
    text = rng.choice(simple[field.kind])
    if rng.random() < 0.3:
        return f"({text}) {rng.choice(['AND', 'OR'])} ({predicate(rng, fields)})"
    return text


# sources: every row of each has one owner -----------------------------------------------------------------------------


def _alone(rng: random.Random, world: World) -> Source:
    sheet = rng.choice(world.sheets)
    return Source(sheet.name, sheet.fields, world.unit)


def _derived(rng: random.Random, world: World) -> Source:
    sheet = rng.choice(world.sheets)
    inner = f"SELECT * FROM {sheet.name} WHERE {predicate(rng, sheet.fields)}"
    if rng.random() < 0.5:
        return Source("t", sheet.fields, world.unit, f"WITH t AS ({inner}) ")
    return Source(f"({inner}) t", sheet.fields, world.unit)


def _joined(rng: random.Random, world: World) -> Source:
    one, two = rng.sample(world.sheets, 2)
    on = f"x.{world.unit} = y.{world.unit}"
    text = rng.choice(
        [
            f"{one.name} x JOIN {two.name} y ON {on}",
            f"{one.name} x LEFT JOIN {two.name} y ON {on}",
            f"{one.name} x JOIN {two.name} y ON {on} AND ({predicate(rng, two.fields)})",
        ]
    )
    return Source(text, one.fields, f"x.{world.unit}")


def _beside(rng: random.Random, world: World) -> Source:
    sheet = rng.choice(world.sheets)
    text, rank = sheet.of("text")[0], Field("rank", "serial")
    join = rng.choice(["JOIN", "LEFT JOIN"])
    return Source(f"{sheet.name} {join} {world.public} ON {text.name} = code", (*sheet.fields, rank), world.unit)


def _among(rng: random.Random, world: World) -> Source:
    one, two = rng.sample(world.sheets, 2)
    unit, on = world.unit, predicate(rng, two.fields)
    text = rng.choice(
        [
            f"{unit} IN (SELECT {unit} FROM {two.name} WHERE {on})",
            f"{unit} NOT IN (SELECT {unit} FROM {two.name} WHERE {on})",
            f"EXISTS (SELECT 1 FROM {two.name} y WHERE y.{unit} = x.{unit} AND ({on}))",
            f"NOT EXISTS (SELECT 1 FROM {two.name} y WHERE y.{unit} = x.{unit} AND ({on}))",
            f"{unit} IN (SELECT {unit} FROM {two.name} GROUP BY {unit} HAVING count(*) > 2)",
        ]
    )
    return Source(f"(SELECT * FROM {one.name} x WHERE {text}) t", one.fields, unit)


def _together(rng: random.Random, world: World) -> Source:
    one, two = rng.choice(world.sheets), rng.choice(world.sheets)
    parts = [(sheet, rng.choice(sheet.of("real")), rng.choice(sheet.of("text"))) for sheet in (one, two)]
    texts = [f"SELECT {world.unit}, {r.name} AS v, {t.name} AS w FROM {sheet.name}" for sheet, r, t in parts]
    low, high = min(real.low for _, real, _ in parts), max(real.high for _, real, _ in parts)
    fields = (Field("v", "real", low, high), Field("w", "text"))
    return Source(f"({' UNION ALL '.join(texts)}) t", fields, world.unit)


def _each(rng: random.Random, world: World) -> Source:
    sheet = rng.choice(world.sheets)
    real, key = rng.choice(sheet.of("real")), rng.choice(sheet.of("key"))
    total = f"LEAST(GREATEST({rng.choice(['sum', 'max', 'min'])}({real.name}), {real.low}), {real.high}) AS v"
    fields = (Field("v", "real", real.low, real.high), Field("n", "whole", 0, 50), key)
    inner = f"SELECT {world.unit}, {key.name}, {total}, LEAST(count(*), 50) AS n FROM {sheet.name}"
    return Source(f"({inner} GROUP BY {world.unit}, {key.name}) t", fields, world.unit)


def _different(rng: random.Random, world: World) -> Source:
    sheet = rng.choice(world.sheets)
    text, key = sheet.of("text")[0], rng.choice(sheet.of("key"))
    return Source(
        f"(SELECT DISTINCT {world.unit}, {text.name}, {key.name} FROM {sheet.name}) t", (text, key), world.unit
    )


def _ordered(rng: random.Random, world: World) -> Source:
    sheet = rng.choice(world.sheets)
    (serial,), real = sheet.of("serial"), rng.choice(sheet.of("real"))
    over = f"OVER (PARTITION BY {world.unit} ORDER BY {serial.name})"
    window, low, high = rng.choice(
        [
            (f"row_number() {over}", 0, 60),
            (f"lag({real.name}) {over}", real.low, real.high),
            (f"sum({real.name}) {over}", real.low, real.high),
        ]
    )
    inner = f"SELECT *, LEAST(GREATEST({window}, {low}), {high}) AS v FROM {sheet.name}"
    return Source(f"({inner}) t", (*sheet.fields, Field("v", "real", low, high)), world.unit)


SOURCES = (_alone, _derived, _joined, _beside, _among, _together, _each, _different, _ordered)


# questions ------------------------------------------------------------------------------------------------------------


def question(world: World, seed: int, *, bounded: bool = False) -> Question:
    """A question that must be answered; `bounded`: one whose every number moves by a stated amount per row."""
    rng = random.Random(seed)
    source = SOURCES[seed % len(SOURCES)](rng, world)
    numbers = [_number(rng, source, bounded=bounded) for _ in range(rng.randint(1, 3))]
    group, known = _group(rng, source, bounded=bounded)
    where = f" WHERE {predicate(rng, source.fields)}" if rng.random() < 0.5 else ""
    rest = f" FROM {source.text}{where}" + (f" GROUP BY {group}" if group else "")
    if group and not bounded and rng.random() < 0.3:
        rest += f" HAVING count(*) > {rng.randint(1, 9)}"
    shown = [group] if group else []
    texts = [
        f"{source.head}SELECT {', '.join([*shown, *cells])}{rest}" for cells in (_texts(numbers), [_people(source)])
    ]
    return Question(texts[0], texts[1], len(shown), known, tuple(reach for _, reach in numbers))


def _texts(numbers: list[tuple[str, int]]) -> list[str]:
    return [text for text, _ in numbers]


def _people(source: Source) -> str:
    return f"count(DISTINCT {source.unit})"


def _number(rng: random.Random, source: Source, *, bounded: bool) -> tuple[str, int]:
    numeric = [field for field in source.fields if field.kind in ("real", "whole")]
    made = [("count(*)", 1), (_people(source), 1), (f"count({rng.choice(source.fields).name})", 1)]
    if numeric:
        field = rng.choice(numeric)
        name, reach, on = field.name, max(abs(field.low), abs(field.high)), predicate(rng, source.fields)
        middle = (field.low + field.high) // 2
        made += [
            (f"sum({name})", reach),
            (f"sum({name}) FILTER (WHERE {on})", reach),
            (f"sum(CASE WHEN {on} THEN {name} ELSE 0 END)", reach),
            (f"sum(LEAST(GREATEST({name}, {field.low}), {middle}))", reach),
            (f"sum(2 * {name} - 1)", 2 * reach + 1),
            (f"count(*) FILTER (WHERE {on})", 1),
        ]
        if not bounded:
            made += [(f"avg({name})", 0), (f"count(*) + sum({name})", 0), (f"avg(abs({name}))", 0)]
    texts = [field for field in source.fields if field.kind == "text"]
    if texts:
        made.append((f"count(DISTINCT {texts[0].name})", 1))
    return rng.choice(made)


def _group(rng: random.Random, source: Source, *, bounded: bool) -> tuple[str, bool]:
    """What to group by, if anything, and whether its values are known without looking."""
    known = [field.name for field in source.fields if field.kind in ("key", "flag")]
    unknown = [field.name for field in source.fields if field.kind == "text"]
    unknown += [f"extract(quarter FROM {field.name})" for field in source.fields if field.kind == "day"]
    choices = [("", True)] + [(name, True) for name in known]
    if not bounded:
        choices += [(name, False) for name in unknown]
    return rng.choice(choices)


def refused(world: World, seed: int) -> str:
    """A question that must not be answered, whatever the rows are."""
    rng = random.Random(seed)
    one, two = rng.sample(world.sheets, 2)
    unit, (a, b) = world.unit, (one.name, two.name)
    real, key, text = rng.choice(one.of("real")), rng.choice(one.of("key")), one.of("text")[0]
    (serial,), other = one.of("serial"), two.of("text")[0]
    on, x = predicate(rng, one.fields), rng.choice(one.fields).name
    among, mean = f"PARTITION BY {key.name} ORDER BY {real.name}", f"SELECT avg({real.name}) AS m FROM {a}"
    pole = rng.randint(real.low + 1, real.high - 1)
    texts = [
        f"SELECT * FROM {a} WHERE {on}",
        f"SELECT {x} FROM {a} LIMIT {rng.randint(1, 9)}",
        f"SELECT {key.name}, {real.name} FROM {a} WHERE {on} ORDER BY 2",
        f"SELECT {unit}, count(*) FROM {a} WHERE {on} GROUP BY {unit}",
        f"SELECT u, max(n) FROM (SELECT {unit} AS u, count(*) AS n FROM {a} GROUP BY {unit}) t GROUP BY u",
        f"SELECT {key.name}, sum({serial.name}) FROM {a} GROUP BY {key.name}",
        f"SELECT avg({real.name} + {serial.name}) FROM {a} WHERE {on}",
        f"SELECT sum(power({real.name}, 300)) FROM {a}",
        f"SELECT sum(1 / ({real.name} - {pole})) FROM {a} WHERE {on}",
        f"SELECT sum(CAST({text.name} AS INT)) FROM {a}",
        f"SELECT sum({real.name}) OVER (PARTITION BY {key.name}) FROM {a}",
        f"SELECT count(*) FROM (SELECT rank() OVER ({among}) AS k FROM {a}) t WHERE k < 3",
        f"SELECT count(*) FROM {a}, {b}",
        f"SELECT count(*) FROM {a} x JOIN {b} y ON x.{unit} < y.{unit}",
        f"SELECT count(*) FROM {a} x JOIN {b} y ON {text.name} = {other.name} WHERE {on}",
        f"SELECT count(*) FROM {a} WHERE {unit} IN (SELECT {unit} FROM {b} ORDER BY {other.name} LIMIT 1)",
        f"SELECT count(*) FROM {a} WHERE {text.name} IN (SELECT {other.name} FROM {b})",
        f"SELECT count(*) FROM {a} x WHERE {real.name} > ({mean} y WHERE y.{key.name} = x.{key.name})",
        f"SELECT array_agg({x}) FROM {a} WHERE {on}",
        f"SELECT count(*) FROM {a} WHERE random() < 0.5 AND ({on})",
        f"SELECT count(*) FROM (SELECT * FROM {a} LIMIT 5) t",
        f"SELECT {real.name}, count(*) FROM {a} GROUP BY {real.name}",
        f"WITH t AS ({mean} GROUP BY {key.name}) SELECT count(*) FROM {a} JOIN t ON {real.name} > m",
        f"SELECT count(*) FROM {world.public} LEFT JOIN {a} ON code = {text.name}",
        f"SELECT EXISTS (SELECT 1 FROM {a} WHERE {on})",
        f"DELETE FROM {a} WHERE {on}",
    ]
    return texts[seed % len(texts)]
