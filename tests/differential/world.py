"""Made-up tables: what their rows mean, and everything that is declared of them. All follows from a seed."""

from __future__ import annotations

import datetime as dt
import random
from collections import Counter
from dataclasses import replace
from fractions import Fraction

from differential.cells import FIRST, TEXTS, codes, days, keyed, maybe, moments, numbers, own
from differential.sheet import Field, Sheet, Value, World

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


def _people(given: random.Random, kind: str, number: int) -> list[Value]:
    rng = own(given)
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
    if isinstance(unit, str):
        return f"{unit}/{tile}"
    assert isinstance(unit, int)
    return unit + (tile if unit > 0 else -tile) * 10**8


def _main(rng: random.Random, number: int, people: list[Value], kind: str, tiles: int) -> Sheet:
    taken: set[str] = set()
    source = rng.choice(("csv", "parquet")) if tiles == 1 or rng.random() < 0.3 else "parquet"
    cells = own(rng)
    units: list[Value] = [None if cells.random() < 0.02 else cells.choice(people) for _ in range(number)]
    weights = {person: cells.randrange(-20, 21) for person in people}
    said: list[tuple[Field, list[Value]]] = [
        (Field("unit", _name(rng, "unit", taken), kind), units),
        (Field("nr", _name(rng, "nr", taken), "whole"), list(range(number))),
        (
            Field("weight", _name(rng, "weight", taken), "whole", (Fraction(-20), Fraction(20))),
            [weights.get(unit, 0) for unit in units],
        ),
        numbers(rng, "tame", _name(rng, "tame", taken), number, wild=False),
        numbers(rng, "wild", _name(rng, "wild", taken), number, wild=True),
        numbers(rng, "other", _name(rng, "other", taken), number, wild=False),
        keyed(rng, "key", _name(rng, "key", taken), number, source),
        codes(rng, "code", _name(rng, "code", taken), number),
        (
            Field("free", _name(rng, "free", taken), "text"),
            [maybe(cells, 0.1, cells.choice(TEXTS)) for _ in range(number)],
        ),
        (
            Field("flag", _name(rng, "flag", taken), "flag"),
            [maybe(cells, 0.1, cells.random() < 0.3) for _ in range(number)],
        ),
        (Field("day", _name(rng, "day", taken), "date", between=DAYS), days(rng, number)),
        (Field("moment", _name(rng, "moment", taken), "moment", between=MOMENTS), moments(rng, number)),
    ]
    return _sheet(rng, "main", said, source, "unit")


def _side(rng: random.Random, people: list[Value], kind: str, number: int) -> Sheet:
    taken: set[str] = set()
    more = [*people, *_people(rng, kind, len(people) + 2)[-2:]]
    cells = own(rng)
    said: list[tuple[Field, list[Value]]] = [
        (
            Field("unit", _name(rng, "unit", taken), kind),
            [None if cells.random() < 0.02 else cells.choice(more) for _ in range(number)],
        ),
        (
            Field("score", _name(rng, "score", taken), "whole", (Fraction(0), Fraction(9))),
            [maybe(cells, 0.1, cells.randrange(10)) for _ in range(number)],
        ),
        keyed(rng, "sort", _name(rng, "sort", taken), number, "csv"),
        (Field("day", _name(rng, "day", taken), "date"), days(rng, number)),
    ]
    return _sheet(rng, "side", said, rng.choice(("csv", "parquet")), "unit")


def _parts(rng: random.Random, main: Sheet, number: int) -> Sheet:
    """Rows that belong to rows of the main table, and through them to people; some belong to nobody."""
    taken: set[str] = set()
    cells = own(rng)
    of: list[Value] = [maybe(cells, 0.03, cells.randrange(main.rows + 2)) for _ in range(number)]
    said = [
        (Field("of", _name(rng, "of", taken), "whole"), of),
        numbers(rng, "tame", _name(rng, "tame", taken), number, wild=False),
        keyed(rng, "key", _name(rng, "key", taken), number, "csv"),
    ]
    sheet = _sheet(rng, "parts", said, rng.choice(("csv", "parquet")), None)
    owners = main.columns["unit"]
    owned = Counter(owners[row] for row in of if isinstance(row, int) and row < main.rows)
    most = max([1, *(many for person, many in owned.items() if person is not None)])
    return replace(sheet, max_rows=most, max_groups=max(most, 40), linked=True)


def _lone(rng: random.Random, number: int) -> Sheet:
    taken: set[str] = set()
    said = [
        numbers(rng, "tame", _name(rng, "tame", taken), number, wild=False),
        numbers(rng, "wild", _name(rng, "wild", taken), number, wild=True),
        keyed(rng, "key", _name(rng, "key", taken), number, "csv"),
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
    own(rng).shuffle(said)
    columns = {each.role: values for each, values in said}
    most = 1
    if unit == "unit":
        owned = Counter(person for person in columns["unit"] if person is not None)
        most = max([1, *owned.values()]) + rng.choice((0, 0, 3))
    name = rng.choice(_TABLES[role])
    return Sheet(role, name, tuple(each for each, _ in said), columns, source, unit, most, max(most, 40))
