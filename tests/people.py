"""Made-up people in a table such as census files are: capitals, blanks, signs and reserved words in its names."""

from __future__ import annotations

import datetime as dt
import random
from pathlib import Path

import pyarrow as pa

from discreet.curator.custody import Custody, Declared, found_home

SEXES = ("Female", "Male")
STATUS = ("Divorced", "Never-married")


def people(number: int = 400) -> pa.Table:
    """One row each."""
    rng = random.Random(4)
    return pa.table({
        "Id": list(range(number)),
        "Age": [rng.randint(17, 90) for _ in range(number)],
        "Sex": [rng.choice([*SEXES, None]) for _ in range(number)],
        "Marital Status": [rng.choice(STATUS) for _ in range(number)],
        "Hours per week": [rng.randint(1, 99) for _ in range(number)],
        "income>50K": [rng.random() < 0.25 for _ in range(number)],
        "größe": [round(rng.uniform(1.4, 2.1), 2) for _ in range(number)],
        "Order": [rng.randrange(4) for _ in range(number)],
        "Born": [dt.date(1930, 1, 1) + dt.timedelta(days=rng.randrange(27_000)) for _ in range(number)],
    })  # fmt: skip


def visits(number: int = 400) -> pa.Table:
    """Up to four rows each, of those people."""
    rng = random.Random(5)
    rows = [(who, rng.randint(0, 100), rng.choice("abc")) for who in range(number) for _ in range(rng.randrange(5))]
    return pa.table(
        {name: list(column) for name, column in zip(("ID", "Cost", "Ward"), zip(*rows, strict=True), strict=True)}
    )


def home(folder: Path, epsilon: int = 10**21) -> Path:
    """A home with both, and a public table of wards. What is declared is said in small letters."""
    found_home(folder)
    custody = Custody(folder)
    bounds = {"age": (0, 100), "hours per week": (0, 100), "GRÖSSE": (1, 3), "order": (0, 3)}
    keys = {"sex": SEXES, "marital status": STATUS, "order": ["0", "1", "2", "3"]}
    said = Declared(unit="id", epsilon=epsilon, delta="1e-3", max_rows=1, max_groups=1, bounds=bounds, keys=keys)
    custody.add("People", people(), said)
    more = Declared(unit="id", population="Id", max_rows=4, max_groups=4, bounds={"cost": (0, 100)})
    custody.add("Visits", visits(), more)
    custody.add("Wards", pa.table({"Ward": ["a", "b", "c"], "Beds": [10, 20, 30]}), Declared(public=True))
    return folder
