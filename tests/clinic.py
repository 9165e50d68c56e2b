"""A made-up clinic for tests: many visits per patient, awkward values among them. Nobody in it is real."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import template

from discreet.curator.custody import Custody, Declared, found_home
from discreet.declared.column import Column
from discreet.declared.group_key import Type
from discreet.declared.table import Schema, Table

REGIONS = ("north", "south", "east")
COUNT = "SELECT count(*) AS n FROM visits"
START = dt.date(2024, 1, 1)


def visits(patients: int = 60, seed: int = 1) -> pa.Table:
    """Visits of so many patients: patient, region, diagnosis, cost, day, urgent; some cells are NULL."""
    rng = random.Random(seed)
    rows = []
    for patient in range(patients):
        for _ in range(rng.randint(1, 9)):
            cost = None if rng.random() < 0.05 else round(rng.uniform(0, 900), 2)
            day = START + dt.timedelta(days=rng.randrange(700))
            rows.append((patient, rng.choice(REGIONS), f"d{rng.randrange(6)}", cost, day, rng.random() < 0.3))
    rng.shuffle(rows)
    return table(rows)


def table(rows: Sequence[tuple[object, ...]]) -> pa.Table:
    """Rows in the columns of the clinic."""
    kinds = [pa.int64(), pa.string(), pa.string(), pa.float64(), pa.date32(), pa.bool_()]
    names = ["patient", "region", "diagnosis", "cost", "day", "urgent"]
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(names)
    return pa.table(
        {name: pa.array(list(column), kind) for name, column, kind in zip(names, columns, kinds, strict=True)}
    )


def declared(**changes: object) -> Declared:
    """What the clinic's custodian declares: caps that bind nobody, unless a test says otherwise."""
    usual: dict[str, object] = {
        "unit": "patient",
        "epsilon": 1000,
        "delta": "1e-3",
        "max_rows": 50,
        "max_groups": 50,
        "bounds": {"cost": (0, 1000)},
        "keys": {"region": REGIONS},
    }
    merged = {**usual, **changes}
    if "cost" in merged["bounds"]:  # type: ignore[operator]
        merged.setdefault("steps", {"cost": "0.01"})
    return Declared(**merged)  # type: ignore[arg-type]


def home(folder: Path, rows: pa.Table | None = None, **changes: object) -> Path:
    """A home with the clinic in it."""
    data, said = visits() if rows is None else rows, declared(**changes)

    def make(folder: Path) -> None:
        found_home(folder)
        Custody(folder).add("visits", data, said)

    return template.home(folder, make, "clinic", data, said)


def schema(max_rows: int | None = 20, max_groups: int = 3) -> Schema:
    """The clinic's declarations alone."""
    columns = (
        Column("patient", Type.BIGINT),
        Column("region", Type.VARCHAR, keys=REGIONS),
        Column("diagnosis", Type.VARCHAR),
        Column("cost", Type.DOUBLE, (Fraction(0), Fraction(1000)), Fraction(1, 100)),
        Column("day", Type.DATE),
        Column("urgent", Type.BOOLEAN),
    )
    wards = Table("wards", (Column("ward", Type.VARCHAR), Column("beds", Type.BIGINT)))
    people = Table("visits", columns, "patient", "patient", max_rows, max_groups)
    return Schema({"visits": people, "wards": wards})
