"""Two homes that differ in one unit of every population, whose rows are bait in every cell. Salts are the same.

In one of them that unit is missing; where neighbours replace each other, it has other rows.
"""

from __future__ import annotations

import datetime as dt
import math
import shutil
from dataclasses import replace
from pathlib import Path

import duckdb
import hospital
import pyarrow as pa
from hospital import Rows

from discreet.curator import Curator
from discreet.curator.custody import Custody, Declared, found_home

NEIGHBOUR = 2**53  # somebody whom a double takes for the next one
TARGET = NEIGHBOUR + 1
MANY = 36  # rows of the target in each table: a join of four of them has more than a million
STRIDE = 29  # has no factor in common with the number of cells of any type, so that all of them have their turn
ROWS, GROUPS = 4, 3  # caps that bind the target in every question, and others in some

LONG = "x" * 10_000
TEXT: list[object] = [
    "north", "", None, LONG, "d1", "w1", "\x00", "'", '"', "%", "_", "\\", "ß", "İ", "ﬀ", "e\u0301", "é", "\u202eabc",
    "\U0001d518", "\uffff", "1e999", "nan", "-inf", "9" * 400, "infinity", "epoch", "0001-01-01", "5881580-07-11",
    "294247-01-10 04:00:54.775807", "t", "NULL", " north", "NORTH", "south'; DROP TABLE rows; --", "tent", "w2",
    "glucose", "f", *(f"many{i}" for i in range(40)),
]  # fmt: skip
REAL: list[object] = [
    0.0, math.nan, math.inf, -math.inf, None, 1e308, -1e308, 5e-324, -0.0, 9.3e18, -9.3e18, 2.0**53 + 2, 0.005, 999.995,
    1000.0, -1.0, 500.0, 1.7976931348623157e308,
]  # fmt: skip
WHOLE: list[object] = [0, 2**63 - 1, -(2**63), None, 2**53 + 1, -1, 110, 10**18, 1, 2**31, 50, -(2**31) - 1]
DAY: list[object] = [
    dt.date(1, 1, 1), dt.date(9999, 12, 31), None, dt.date(2024, 2, 29), dt.date(1582, 10, 10), dt.date(1970, 1, 1),
    *(dt.date(2024, 1, 1) + dt.timedelta(days=31 * i) for i in range(24)),
]  # fmt: skip
TIME: list[object] = [
    dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31, 23, 59, 59, 999999), None, dt.datetime(2024, 2, 29, 12),  # noqa: DTZ001
    *(dt.datetime(2024, 1, 1) + dt.timedelta(hours=700 * i) for i in range(24)),  # noqa: DTZ001
]  # fmt: skip
FLAG: list[object] = [True, None, False]
CELLS = {pa.int64(): WHOLE, pa.float64(): REAL, pa.string(): TEXT, pa.date32(): DAY, pa.timestamp("us"): TIME,
         pa.bool_(): FLAG}  # fmt: skip

COLUMNS: dict[str, dict[str, pa.DataType]] = {
    **hospital.COLUMNS,
    "stays": {"stay": pa.int64(), "patient": pa.int64(), "nights": pa.int64()},
    "bills": {"stay": pa.int64(), "amount": pa.float64()},
    "staff": {"member": pa.int64(), "wage": pa.float64()},
    "sensors": {"room": pa.int64(), "heat": pa.float64()},
}
DECLARED = {
    **{name: hospital.declared(name, max_rows=ROWS, max_groups=GROUPS) for name in hospital.COLUMNS},
    "stays": Declared(unit="patient", max_rows=2, max_groups=2, bounds={"nights": (0, 30)}),
    "bills": Declared(link={"stay": "stays.stay"}, max_rows=ROWS, max_groups=1, bounds={"amount": (-50, 500)}),
    "staff": Declared(unit="member", epsilon=10**30, delta="1e-3", max_rows=2, bounds={"wage": (0, 9)}),
    "sensors": Declared(unit="row", epsilon=10**30, delta="1e-3", bounds={"heat": (-9, 40)}),
}


VARIETIES = ("usual", "rho", "replace")
PRICES: dict[str, dict[str, object]] = {"usual": {"epsilon": 1}, "rho": {"rho": 1}, "replace": {"epsilon": 1}}


def declared(name: str, variety: str) -> Declared:
    """What is said of a table."""
    said = DECLARED[name]
    if variety == "rho" and said.epsilon is not None:
        return replace(said, epsilon=None, rho=said.epsilon)
    return replace(said, relation="replace") if variety == "replace" and said.epsilon is not None else said


def rows(*, baited: bool, variety: str = "usual") -> dict[str, Rows]:
    """What every table holds; with or without the target of each population."""
    known: dict[str, Rows] = {
        **hospital.rows(),
        "stays": [(1000 + i, i % 100, i % 31) for i in range(180)],
        "bills": [(1000 + i % 180, 3.5 * i - 60) for i in range(300)],
        "staff": [(i % 20, 0.25 * i) for i in range(50)],
        "sensors": [(i % 7, float(i)) for i in range(60)],
    }
    for name in known.keys() - {"wards", "regions"}:
        known[name] += bait(name, NEIGHBOUR, 2)
        if baited:
            known[name] += bait(name, TARGET, 1 if name == "sensors" else MANY)
        elif variety == "replace":
            known[name] += bait(name, TARGET, 1, first=11)
    return known


def bait(table: str, owner: int, count: int, first: int = 0) -> Rows:
    """Rows of one owner: every cell runs through the ends of its type, no two columns in step."""
    columns = []
    for place, (name, kind) in enumerate(COLUMNS[table].items()):
        cells = CELLS[kind]
        if name in ("patient", "member"):
            cells = [owner]
        elif name == "stay":  # nobody shares a stay: a bill has one owner
            cells = [10_000 * (owner - NEIGHBOUR + 1) + row for row in range(count)]
        columns.append([cells[(first + place + STRIDE * row) % len(cells)] for row in range(count)])
    return list(zip(*columns, strict=True))


def table(name: str, content: Rows) -> pa.Table:
    """Rows in the columns of a table."""
    cells = zip(*content, strict=True)
    kinds = COLUMNS[name].items()
    return pa.table({column: pa.array(list(cell), kind) for (column, kind), cell in zip(kinds, cells, strict=True)})


def home(folder: Path, *, baited: bool, variety: str) -> Path:
    """A home with all tables."""
    found_home(folder, practice=True)  # its rows are made up, and it is copied again and again
    custody = Custody(folder)
    for name, content in rows(baited=baited, variety=variety).items():
        custody.add(name, table(name, content), declared(name, variety))
    return folder


def share_salts(one: Path, two: Path) -> None:
    """Salts are drawn independently of the rows, so neighbours have the same."""
    for file in sorted((one / "tables").glob("*.duckdb")):
        with duckdb.connect(str(file)) as ours, duckdb.connect(str(two / "tables" / file.name)) as theirs:
            salt = ours.execute("SELECT salt FROM salt").fetchall()[0][0]
            theirs.execute("UPDATE salt SET salt = ?", [salt])


class Pair:
    """Two neighbouring homes with their curators. They can begin again as they were founded."""

    def __init__(self, folder: Path, variety: str = "usual") -> None:
        self._folder, self.price = folder, PRICES[variety]
        self.apart = 2 if variety == "replace" else 1  # units by which the homes differ: one goes and one comes
        self._new = folder / "new"
        for name, baited in (("one", False), ("more", True)):
            home(self._new / name, baited=baited, variety=variety)
        share_salts(self._new / "one", self._new / "more")
        self._begin()

    def _begin(self) -> None:
        shutil.copytree(self._new, self._folder / "used")
        self.curators = tuple(Curator(self._folder / "used" / name) for name in ("one", "more"))

    def close(self) -> None:
        """Let go of every file."""
        for curator in self.curators:
            curator._store.close()
            curator.ledger.close()

    def again(self) -> None:
        """Both homes as they were founded: nothing asked, nothing on hold."""
        self.close()
        shutil.rmtree(self._folder / "used")
        self._begin()
