"""A made-up hospital for tests: three tables about the same patients, two that anybody may read. Nobody in it is real.

Every sum that a test compares with plain DuckDB lies on the fixed-point grid. What no plain sum survives (NaN,
infinities, dates at the ends of time) stands in `weight` and `born`, and in the rows of `bait`.
"""

from __future__ import annotations

import datetime as dt
import math
import random
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import duckdb
import pyarrow as pa
import template
from doubles import Seeded

from discreet.curator import Curator, Terms
from discreet.curator.custody import Custody, Declared, found_home

Rows = list[tuple[object, ...]]

REGIONS = ("north", "south", "east", "west")
SEXES = ("f", "m", "x")
TESTS = ("glucose", "iron", "tsh")
WARDS = ("w1", "w2", "w3", "w4", "w5", "w6")
START = dt.date(2024, 1, 1)
PEOPLE = 120
DEAR = 10**18  # at this price no draw of a seeded sampler moves a statistic: its noise is 0 but for e^-1000
EXACT = 1e-9  # what printing a sum as a double may cost

COLUMNS: dict[str, dict[str, pa.DataType]] = {
    "patients": {
        "patient": pa.int64(),
        "age": pa.int64(),
        "sex": pa.string(),
        "region": pa.string(),
        "born": pa.date32(),
        "weight": pa.float64(),
    },
    "visits": {
        "patient": pa.int64(),
        "region": pa.string(),
        "diagnosis": pa.string(),
        "cost": pa.float64(),
        "day": pa.date32(),
        "urgent": pa.bool_(),
        "ward": pa.string(),
    },
    "labs": {"patient": pa.int64(), "test": pa.string(), "value": pa.float64(), "taken": pa.timestamp("us")},
    "wards": {"ward": pa.string(), "beds": pa.int64(), "floor": pa.int64()},
    "regions": {"region": pa.string(), "area": pa.float64()},
}
PRIVATE = ("patients", "visits", "labs")
DECLARED: dict[str, dict[str, object]] = {
    "patients": {"bounds": {"age": (0, 110)}, "keys": {"sex": SEXES, "region": REGIONS}},
    "visits": {"bounds": {"cost": (0, 1000)}, "keys": {"region": REGIONS}},
    "labs": {"bounds": {"value": (0, 200)}, "keys": {"test": TESTS}},
}


def rows(seed: int = 5) -> dict[str, Rows]:
    """What every table holds, by its name. Some patients have no visit, some no laboratory value, some no file."""
    rng = random.Random(seed)
    return {
        "patients": [*_patients(rng), (None, 50, "f", "north", START, 70.0)],
        "visits": [*_visits(rng), (None, "north", "d1", 10.0, START, True, "w1")],
        "labs": [*_labs(rng), (None, "iron", 10.0, dt.datetime(2024, 1, 1))],  # noqa: DTZ001  # no zone in the table
        "wards": [(ward, 10 + 5 * i, i // 2) for i, ward in enumerate((*WARDS, "attic"))],
        "regions": [(region, 100.0 + i) for i, region in enumerate((*REGIONS, "island"))],
    }


def _patients(rng: random.Random) -> Rows:
    ends = [dt.date(1, 1, 1), dt.date(9999, 12, 31), None]
    heavy = [math.nan, math.inf, -math.inf, 1e308, None]
    made: Rows = []
    for patient in range(PEOPLE - 6):
        age = None if patient % 29 == 7 else rng.choice([0, 110, *range(1, 100)])
        sex = None if patient % 41 == 3 else rng.choice(SEXES)
        born = ends[patient] if patient < len(ends) else dt.date(1930, 1, 1) + dt.timedelta(days=rng.randrange(30_000))
        weight = heavy[patient] if patient < len(heavy) else round(rng.uniform(3, 140), 1)
        made.append((patient, age, sex, rng.choice(REGIONS), born, weight))
    return made


def _visits(rng: random.Random) -> Rows:
    made: Rows = []
    for patient in range(10, PEOPLE):
        for offset in rng.sample(range(700), rng.randint(1, 9)):  # no two visits on one day: LAG has one answer
            cost = rng.choice([None, 0.0, -0.0, 1000.0]) if rng.random() < 0.08 else round(rng.uniform(0, 999), 2)
            diagnosis = None if rng.random() < 0.04 else f"d{rng.randrange(6)}"
            ward = rng.choice([*WARDS, *WARDS, "tent", None])
            urgent = rng.random() < 0.3
            made.append((patient, rng.choice(REGIONS), diagnosis, cost, _day(offset), urgent, ward))
    rng.shuffle(made)
    return made


def _labs(rng: random.Random) -> Rows:
    made: Rows = []
    for patient in range(0, PEOPLE, 2):
        for _ in range(rng.randint(1, 5)):
            value = rng.choice([None, 0.0, 200.0]) if rng.random() < 0.1 else round(rng.uniform(0, 200), 2)
            taken = dt.datetime(2024, 1, 1) + dt.timedelta(minutes=rng.randrange(700 * 1440))  # noqa: DTZ001
            made.append((patient, rng.choice(TESTS), value, taken))
    return made


def _day(offset: int) -> dt.date:
    return START + dt.timedelta(days=offset)


def bait(patient: int = 9999, times: int = 100) -> dict[str, Rows]:
    """Rows of one more patient, made to break whatever is not total."""
    visits: Rows = [
        (patient, "north", "9" * 400, math.nan, START, True, "w1"),
        (patient, "nowhere", "1e999", math.inf, dt.date(9999, 12, 31), None, ""),
        (patient, None, None, None, None, None, None),
        (patient, "south'; DROP TABLE", "\x00", -1e308, dt.date(1, 1, 1), False, "%_\\"),
        (patient, "east", "", 5e-324, START, True, "w2"),
        *[(patient, "west", "x" * 2000, 1e308, START, True, "w3")] * times,
    ]
    labs: Rows = [(patient, test, value, None) for test in (*TESTS, None) for value in (math.nan, -math.inf, 1e308)]
    return {"patients": [(patient, 2**62, "?", "east", None, math.nan)], "visits": visits, "labs": labs}


def table(name: str, content: Sequence[tuple[object, ...]]) -> pa.Table:
    """Rows in the columns of a table of the hospital."""
    kinds = COLUMNS[name]
    cells = list(zip(*content, strict=True)) if content else [()] * len(kinds)
    return pa.table(
        {column: pa.array(list(cell), kind) for (column, kind), cell in zip(kinds.items(), cells, strict=True)}
    )


def declared(name: str, **changes: object) -> Declared:
    """What the hospital's custodian says of a table: caps that bind nobody, unless a test says otherwise."""
    if name not in PRIVATE:
        return Declared(public=True)
    usual = {"unit": "patient", "epsilon": 10**30, "delta": "1e-3", "max_rows": 50, "max_groups": 50}
    return Declared(**{**usual, **DECLARED[name], **changes})  # type: ignore[arg-type]


def home(folder: Path, content: Mapping[str, Rows] | None = None, **changes: object) -> Path:
    """A home with the hospital in it."""
    said = [
        (name, table(name, data), declared(name, **changes))
        for name, data in (rows() if content is None else content).items()
    ]

    def make(folder: Path) -> None:
        found_home(folder)
        custody = Custody(folder)
        for name, data, terms in said:
            custody.add(name, data, terms)

    return template.home(folder, make, "hospital", *(part for each in said for part in each))


def plain(content: Mapping[str, pa.Table], units: Mapping[str, str]) -> duckdb.DuckDBPyConnection:
    """The same tables in plain DuckDB, without the rows that belong to nobody."""
    connection = duckdb.connect()
    for name, data in content.items():
        connection.register("source", data)
        owned = f" WHERE {units[name]} IS NOT NULL" if name in units else ""
        connection.execute(f"CREATE TABLE {name} AS SELECT * FROM source{owned}")
        connection.unregister("source")
    return connection


def beside(content: Mapping[str, Rows] | None = None) -> duckdb.DuckDBPyConnection:
    """The hospital in plain DuckDB."""
    data = rows() if content is None else content
    return plain({name: table(name, data[name]) for name in data}, dict.fromkeys(PRIVATE, "patient"))


def exactly(curator: Curator, sql: str, **terms: object) -> Rows:
    """The answer at a price so high that its noise is nothing. The seed goes to an inner function, as ever."""
    usual: dict[str, object] = {"epsilon": DEAR, "delta": "1e-9", "fresh": True}
    return list(curator._answer(sql, Terms(**{**usual, **terms}), curator._store, Seeded(1)).rows)  # type: ignore[arg-type]


def same(ours: object, theirs: object, within: float = EXACT) -> bool:
    """Whether two cells say the same: doubles up to a relative error, everything else exactly."""
    if isinstance(ours, float) and theirs is not None:
        return math.isclose(ours, float(str(theirs)), rel_tol=within, abs_tol=within)
    return ours == theirs


def unlike(ours: Iterable[Sequence[object]], theirs: Iterable[Sequence[object]], within: float = EXACT) -> str:
    """The first difference between two answers, as a sentence; empty if there is none."""
    mine, yours = [tuple(row) for row in ours], [tuple(row) for row in theirs]
    if [len(row) for row in mine] != [len(row) for row in yours]:
        return f"{len(mine)} rows {mine[:5]} against {len(yours)} rows {yours[:5]}"
    for number, (one, two) in enumerate(zip(mine, yours, strict=True)):
        if not all(same(a, b, within) for a, b in zip(one, two, strict=True)):
            return f"row {number}: {one} against {two}"
    return ""


def listed(texts: str) -> dict[str, list[str]]:
    """Texts that end in a semicolon, by the comment they stand under."""
    parts = [part.partition("\n") for part in texts.split("-- ")[1:]]
    return {name: [" ".join(sql.split()) for sql in body.split(";") if sql.strip()] for name, _, body in parts}
