"""Made-up tables: what their rows mean, and everything that is declared of them. All follows from a seed."""

from __future__ import annotations

import datetime as dt
import random
import re
from collections import Counter
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction

Value = object
NAN = float("nan")
DAYS = ("2024-02-18", "2024-03-10")  # some days lie beyond them
MOMENTS = ("2024-02-20 00:00:00", "2024-03-31 12:00:00")
SIZES = (1, 2, 3, 9, 40, 150, 500, 1500)
LARGEST = 300_000
TILE = 3_000

_WORDS = {
    "unit": ("patient", "Patient", "PersonId", "customer id", "WHO"),
    "nr": ("nr", "Nr", "row number", "SEQ"),
    "weight": ("weight", "Weight", "kg of person", "FactorW"),
    "tame": ("age", "Age", "size of it", "AMOUNT", "totalCost", "größe"),
    "wild": ("cost", "Cost", "net price", "VALUE_2", "theValue", "order"),
    "other": ("points", "Points", "bonus points", "XP", "tipAmount"),
    "key": ("region", "Region", "part of town", "GROUP", "homeRegion"),
    "code": ("code", "Code", "icd code", "CODE_9", "caseCode"),
    "free": ("diagnosis", "Diagnosis", "free text", "NOTE", "shortNote"),
    "flag": ("urgent", "Urgent", "is urgent", "URGENT", "isNew"),
    "day": ("day", "Day", "day of visit", "DATE_OF", "visitDay"),
    "moment": ("seen", "Seen", "seen at", "SEEN_AT", "arrivedAt"),
    "score": ("score", "Score", "test score", "SCORE"),
    "sort": ("kind", "Kind", "kind of test", "SORT"),
    "of": ("of_row", "Of", "part of row", "OF_NR"),
    "area": ("area", "Area", "part of land", "AREA"),
    "beds": ("beds", "Beds", "number of beds", "BEDS"),
    "week": ("week", "Week", "week nr", "WEEK"),
}
_TABLES = {
    "main": ("visits", "Visits", "ALL_VISITS", "visitLog"),
    "side": ("tests", "Tests", "LAB", "labTests"),
    "parts": ("parts", "Parts", "PART_OF", "visitParts"),
    "lone": ("rows_alone", "Lone", "SINGLE"),
    "wards": ("wards", "Wards", "PLACES"),
    "calendar": ("calendar", "Calendar", "DAYS_OF"),
}
_TEXTS = (
    "north",
    "South",
    "the east",
    "WEST",
    "o'brien",
    'say "hi"',
    "ä-ö",
    "x,y",
    "NULL",
    "n/a",
    " led",
    "50%",
    "a_b",
)


@dataclass(frozen=True)
class Field:
    """One column: its role in questions, its name, what is declared of it, and what its cells mean."""

    role: str
    name: str
    kind: str  # whole, real, decimal, text, flag, date, moment
    bounds: tuple[Fraction, Fraction] | None = None
    step: Fraction = Fraction(1)
    said_step: bool = False
    keys: tuple[Value, ...] | None = None
    on_grid: bool = True  # whether all values are whole numbers of steps
    within: bool = True  # whether all values lie within the bounds
    between: tuple[str, str] | None = None  # bounds of days and moments

    @property
    def simple(self) -> bool:
        return re.fullmatch(r"[A-Za-z_][A-Za-z_0-9]*", self.name) is not None

    @property
    def ends(self) -> tuple[int, int]:
        """The outermost steps that a sum holds."""
        assert self.bounds is not None
        low, high = self.bounds
        return -int(-low // self.step), int(high // self.step)

    @property
    def span(self) -> float:
        assert self.bounds is not None
        return float(self.bounds[1] - self.bounds[0])

    @property
    def reach(self) -> float:
        assert self.bounds is not None
        return float(max(map(abs, self.bounds)))


@dataclass(frozen=True)
class Sheet:
    """One table: its fields, and its rows as they are meant."""

    role: str
    name: str
    fields: tuple[Field, ...]
    columns: dict[str, list[Value]]  # by role
    source: str  # csv or parquet
    unit: str | None = None  # a role, "row", or None if it is public
    max_rows: int = 1
    max_groups: int = 1
    tiles: int = 1  # so many times the same rows, but for `unit` and `nr`
    linked: bool = False  # a row belongs to whoever the row of `main` belongs to that its `of` names

    def field(self, role: str) -> Field:
        return next(each for each in self.fields if each.role == role)

    @property
    def rows(self) -> int:
        return len(next(iter(self.columns.values())))


@dataclass(frozen=True)
class World:
    """The tables of one home."""

    seed: int
    sheets: dict[str, Sheet]
    measure: str  # of the budget: epsilon or rho

    def field(self, role: str, sheet: str = "main") -> Field:
        return self.sheets[sheet].field(role)


def made(seed: int, rows: int | None = None) -> World:
    """The tables of a seed."""
    rng = random.Random(f"tables {seed}")
    usual = LARGEST if rng.random() < 0.02 else rng.choice(SIZES)
    number = rows or usual
    tiles = number // TILE if number > 2 * TILE else 1  # many rows are few rows, of other people each time
    number //= tiles
    kind = rng.choice(("whole", "text"))
    people = _people(rng, kind, max(1, number // rng.choice((1, 3, 8))))
    main = _tiled(_main(rng, number, people, kind, tiles), tiles)
    sheets = {
        "main": main,
        "side": _side(rng, people, kind, min(number, 2000)),
        "parts": _parts(rng, main, min(number, 1000)),
        "lone": _lone(rng, min(number, 500)),
        "wards": _wards(rng, main.field("key")),
        "calendar": _calendar(rng),
    }
    return World(seed, sheets, rng.choice(("epsilon", "epsilon", "rho")))


def _own(rng: random.Random) -> random.Random:
    """A source for cells: how many there are changes nothing else."""
    return random.Random(rng.random())


def _people(given: random.Random, kind: str, number: int) -> list[Value]:
    rng = _own(given)
    if kind == "whole":
        return [rng.choice((1, 1, -1)) * (7 * i + 3) for i in range(number)]
    return [f"{rng.choice(('Ann', 'bo', 'É', 'No ', '0'))}{i}" for i in range(number)]


def _name(rng: random.Random, role: str, taken: set[str]) -> str:
    word = rng.choice(_WORDS[role])
    while word.casefold() in taken:
        word += "x"
    taken.add(word.casefold())
    return word


def _tiled(sheet: Sheet, tiles: int) -> Sheet:
    """The same rows many times over, each time of other people and with numbers of their own."""
    if tiles == 1:
        return sheet
    columns = {role: values * tiles for role, values in sheet.columns.items()}
    columns["nr"] = list(range(len(columns["nr"])))
    columns["unit"] = [_namesake(unit, tile) for tile in range(tiles) for unit in sheet.columns["unit"]]
    return replace(sheet, columns=columns, tiles=tiles)


def _namesake(unit: Value, tile: int) -> Value:
    if unit is None or not tile:
        return unit
    return (
        f"{unit}/{tile}" if isinstance(unit, str) else int(str(unit)) * 1000 + (tile if int(str(unit)) > 0 else -tile)
    )


def _main(rng: random.Random, number: int, people: list[Value], kind: str, tiles: int) -> Sheet:
    taken: set[str] = set()
    source = rng.choice(("csv", "parquet")) if tiles == 1 or rng.random() < 0.3 else "parquet"
    cells = _own(rng)
    units: list[Value] = [None if cells.random() < 0.02 else cells.choice(people) for _ in range(number)]
    weights = {person: cells.randrange(-20, 21) for person in people}
    said: list[tuple[Field, list[Value]]] = [
        (Field("unit", _name(rng, "unit", taken), kind), units),
        (Field("nr", _name(rng, "nr", taken), "whole"), list(range(number))),
        (
            Field("weight", _name(rng, "weight", taken), "whole", (Fraction(-20), Fraction(20))),
            [weights.get(unit, 0) for unit in units],
        ),
        _numbers(rng, "tame", _name(rng, "tame", taken), number, wild=False),
        _numbers(rng, "wild", _name(rng, "wild", taken), number, wild=True),
        _numbers(rng, "other", _name(rng, "other", taken), number, wild=False),
        _texts(rng, "key", _name(rng, "key", taken), number, source),
        _codes(rng, "code", _name(rng, "code", taken), number),
        (
            Field("free", _name(rng, "free", taken), "text"),
            [_maybe(cells, 0.1, cells.choice(_TEXTS)) for _ in range(number)],
        ),
        (
            Field("flag", _name(rng, "flag", taken), "flag"),
            [_maybe(cells, 0.1, cells.random() < 0.3) for _ in range(number)],
        ),
        (Field("day", _name(rng, "day", taken), "date", between=DAYS), _days(rng, number)),
        (Field("moment", _name(rng, "moment", taken), "moment", between=MOMENTS), _moments(rng, number)),
    ]
    return _sheet(rng, "main", said, source, "unit")


def _side(rng: random.Random, people: list[Value], kind: str, number: int) -> Sheet:
    taken: set[str] = set()
    more = [*people, *_people(rng, kind, len(people) + 2)[-2:]]
    cells = _own(rng)
    said: list[tuple[Field, list[Value]]] = [
        (
            Field("unit", _name(rng, "unit", taken), kind),
            [None if cells.random() < 0.02 else cells.choice(more) for _ in range(number)],
        ),
        (
            Field("score", _name(rng, "score", taken), "whole", (Fraction(0), Fraction(9))),
            [_maybe(cells, 0.1, cells.randrange(10)) for _ in range(number)],
        ),
        _texts(rng, "sort", _name(rng, "sort", taken), number, "csv"),
        (Field("day", _name(rng, "day", taken), "date"), _days(rng, number)),
    ]
    return _sheet(rng, "side", said, rng.choice(("csv", "parquet")), "unit")


def _parts(rng: random.Random, main: Sheet, number: int) -> Sheet:
    """Rows that belong to rows of the main table, and through them to people; some belong to nobody."""
    taken: set[str] = set()
    cells = _own(rng)
    of: list[Value] = [_maybe(cells, 0.03, cells.randrange(main.rows + 2)) for _ in range(number)]
    said = [
        (Field("of", _name(rng, "of", taken), "whole"), of),
        _numbers(rng, "tame", _name(rng, "tame", taken), number, wild=False),
        _texts(rng, "key", _name(rng, "key", taken), number, "csv"),
    ]
    sheet = _sheet(rng, "parts", said, rng.choice(("csv", "parquet")), None)
    owners = main.columns["unit"]
    owned = Counter(owners[row] for row in of if isinstance(row, int) and row < main.rows)
    most = max([1, *(many for person, many in owned.items() if person is not None)])
    return replace(sheet, max_rows=most, max_groups=max(most, 40), linked=True)


def _lone(rng: random.Random, number: int) -> Sheet:
    taken: set[str] = set()
    said = [
        _numbers(rng, "tame", _name(rng, "tame", taken), number, wild=False),
        _numbers(rng, "wild", _name(rng, "wild", taken), number, wild=True),
        _texts(rng, "key", _name(rng, "key", taken), number, "csv"),
    ]
    return _sheet(rng, "lone", said, rng.choice(("csv", "parquet")), "row")


def _wards(rng: random.Random, key: Field) -> Sheet:
    taken: set[str] = set()
    keys = [*(key.keys or ()), "nowhere"]
    said: list[tuple[Field, list[Value]]] = [
        (Field("key", _name(rng, "key", taken), "text"), list(keys)),
        (Field("area", _name(rng, "area", taken), "text"), [rng.choice(("N", "s", "far out")) for _ in keys]),
        (Field("beds", _name(rng, "beds", taken), "whole"), [rng.randrange(50) for _ in keys]),
    ]
    source = rng.choice(("csv", "parquet"))  # a CSV file does not tell an empty text from none
    return _sheet(rng, "wards", said, "parquet" if "" in keys else source, None)


FIRST = dt.date(2024, 2, 20)


def _calendar(rng: random.Random) -> Sheet:
    taken: set[str] = set()
    days = [FIRST + dt.timedelta(i) for i in range(rng.choice((1, 10, 45)))]
    said: list[tuple[Field, list[Value]]] = [
        (Field("day", _name(rng, "day", taken), "date"), list(days)),
        (Field("week", _name(rng, "week", taken), "whole"), [day.isocalendar().week for day in days]),
        (
            Field("moment", _name(rng, "moment", taken), "moment"),
            [dt.datetime.combine(day, dt.time(i % 24, 30 * (i % 2))) for i, day in enumerate(days)],
        ),
    ]
    return _sheet(rng, "calendar", said, rng.choice(("csv", "parquet")), None)


def _sheet(
    rng: random.Random, role: str, said: list[tuple[Field, list[Value]]], source: str, unit: str | None
) -> Sheet:
    _own(rng).shuffle(said)
    columns = {each.role: values for each, values in said}
    most = 1
    if unit == "unit":
        owned = Counter(person for person in columns["unit"] if person is not None)
        most = max([1, *owned.values()]) + rng.choice((0, 0, 3))
    name = rng.choice(_TABLES[role])
    return Sheet(role, name, tuple(each for each, _ in said), columns, source, unit, most, max(most, 40))


# cells ----------------------------------------------------------------------------------------------------------------


def _maybe(rng: random.Random, share: float, value: Value) -> Value:
    return None if rng.random() < share else value


# bounds, step, whether the step is said: tiny, usual, wide; sums and squares of the wide ones pass 2^61 and 2^127
_WHOLE: tuple[tuple[int, int, int, bool], ...] = (
    (0, 1, 1, False),
    (0, 100, 1, False),
    (-50, 50, 1, False),
    (18, 19, 1, True),
    (0, 150_000, 1, False),
    (0, 10**15, 1, False),
    (-(4 * 10**15), 4 * 10**15, 1, False),
    (0, 4 * 10**18, 1000, True),
    (10**12, 10**12 + 1000, 1, False),
)
_REAL: tuple[tuple[int | str, int | str, str, bool], ...] = (
    (0, 1, "0.01", False),
    ("0.1", "0.3", "0.1", True),
    (0, 500, "0.01", False),
    (-90, 90, "0.0001", True),
    (0, 150_000, "0.01", False),
    (0, 10**9, "0.01", False),
    (-(10**15), 10**15, "0.5", True),
    (0, "0.000001", "0.0000001", True),
    (0, 10**13, "0.01", False),
)
_DECIMAL = ((0, 100, "0.01", False), (-1000, 1000, "0.01", False), (0, 10**9, "0.01", False), (0, 20, "0.25", True))


def _numbers(rng: random.Random, role: str, name: str, number: int, *, wild: bool) -> tuple[Field, list[Value]]:
    """A column of numbers. Tame ones lie on the grid within their bounds; wild ones do not, and some are no numbers."""
    kind = rng.choice(("whole", "real", "decimal"))
    low, high, step, said = rng.choice({"whole": _WHOLE, "real": _REAL, "decimal": _DECIMAL}[kind])
    lowest, highest, grid = (Fraction(str(number)) for number in (low, high, step))
    off_grid = wild and kind == "real" and rng.random() < 0.5
    made = Field(role, name, kind, (lowest, highest), grid, said, on_grid=not off_grid, within=not wild)
    first, last = made.ends
    few = [rng.randint(first, last) for _ in range(rng.choice((3, 40)))] if rng.random() < 0.5 else None
    cells: list[Value] = []
    rng = _own(rng)
    for _ in range(number):
        steps = rng.choice(few) if few else rng.randint(first, last)
        if wild and rng.random() < 0.15:
            steps += rng.choice((-1, 1)) * rng.randint(1, 3 * (last - first) + 3)
        cells.append(_maybe(rng, 0.1, _cell(rng, made, steps, odd=wild and rng.random() < 0.1)))
    return made, cells


def _cell(rng: random.Random, made: Field, steps: int, *, odd: bool) -> Value:
    exact = steps * made.step
    if made.kind == "whole":
        return rng.choice((2**63 - 1, -(2**63) + 1, 0)) if odd else max(-(2**63) + 1, min(2**63 - 1, int(exact)))
    if made.kind == "decimal":
        return Decimal(exact.numerator) / Decimal(exact.denominator)
    if odd:
        return rng.choice((NAN, NAN, float("inf"), float("-inf"), -0.0, 1e300))
    return float(exact) if made.on_grid else float(exact) + float(made.step) * rng.uniform(-0.49, 0.49)


def _texts(rng: random.Random, role: str, name: str, number: int, source: str) -> tuple[Field, list[Value]]:
    """Texts with declared keys: some keys nobody has, some texts are no key."""
    texts = list(_TEXTS) + ([""] if source == "parquet" else [])
    rng.shuffle(texts)
    keys, there = texts[: rng.choice((2, 3, 5))], texts[1 : rng.choice((3, 6, 8))]
    rng = _own(rng)
    return Field(role, name, "text", keys=tuple(keys)), [_maybe(rng, 0.08, rng.choice(there)) for _ in range(number)]


def _codes(rng: random.Random, role: str, name: str, number: int) -> tuple[Field, list[Value]]:
    keys = rng.sample([*range(-3, 8), 10**15], 4)
    there, rng = [*keys[1:], 99], _own(rng)
    return Field(role, name, "whole", keys=tuple(keys)), [_maybe(rng, 0.08, rng.choice(there)) for _ in range(number)]


def _days(given: random.Random, number: int) -> list[Value]:
    rng = _own(given)
    far = (dt.date(1, 1, 1), dt.date(9999, 12, 31), dt.date(1969, 12, 31), dt.date(2024, 2, 29))
    return [
        _maybe(rng, 0.05, rng.choice(far) if rng.random() < 0.03 else FIRST + dt.timedelta(rng.randrange(-5, 30)))
        for _ in range(number)
    ]


def _moments(rng: random.Random, number: int) -> list[Value]:
    start = dt.datetime(2024, 2, 20)  # noqa: DTZ001  # a clock on the wall
    fine = rng.random() < 0.3
    rng = _own(rng)
    cells: list[Value] = []
    for _ in range(number):
        at = start + dt.timedelta(days=rng.randrange(20), hours=rng.randrange(24), minutes=30 * rng.randrange(2))
        if fine and rng.random() < 0.5:
            at += dt.timedelta(microseconds=rng.randrange(10**6))
        cells.append(_maybe(rng, 0.05, at))
    return cells
