"""Tables about people who do not exist, for trying things out. Every number follows from the number of the row."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

REGIONS = ("north", "south", "east", "west")
REASONS = ("check-up", "asthma", "fracture", "influenza", "migraine", "rash", "a rare disease")
_LABEL = {"source": "made up by discreet demo; nobody in it is real"}


def _table(columns: dict[str, list[object]]) -> pa.Table:
    import pyarrow as pa

    return pa.table(columns).replace_schema_metadata(_LABEL)


def people() -> pa.Table:
    """Six people, three of whom are ill."""
    return _table({"number": [1, 2, 3, 4, 5, 6], "ill": [1, 0, 0, 1, 1, 0]})


def takers(size: int = 400) -> pa.Table:
    """Takers of a survey: half of them female, each with up to four albums."""
    return _table(
        {
            "female": [i % 2 == 0 for i in range(size)],
            "age": [10 + i * 7 % 30 for i in range(size)],
            "albums": [(0, 1, 2, 1, 4)[i % 5] for i in range(size)],
        }
    )


def visits(patients: int = 2000) -> pa.Table:
    """Visits to a clinic, up to eight of each patient."""
    columns: dict[str, list[object]] = {name: [] for name in ("patient", "region", "reason", "cost", "day")}
    first = dt.date(2024, 1, 1)
    for patient in range(patients):
        for visit in range(1 + patient * 7919 % 8):
            mixed = (patient * 104729 + visit * 1299709) % 1_000_003
            columns["patient"].append(patient)
            columns["region"].append(REGIONS[(patient * 31 + visit // 3) % 7 % 4])
            columns["reason"].append(REASONS[6 if mixed % 500 == 0 else mixed % 6])
            columns["cost"].append(round(20 + mixed % 38000 / 100, 2))
            columns["day"].append(first + dt.timedelta(days=mixed % 730))
    return _table(columns)


def write_visits(path: Path) -> int:
    """Write the made-up visits to a Parquet file; returns how many."""
    import pyarrow.parquet as pq

    table = visits()
    pq.write_table(table, path)
    return int(table.num_rows)
