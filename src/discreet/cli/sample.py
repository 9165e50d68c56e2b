"""Visits to a clinic that does not exist, for trying things out. Every number follows from the number of the row."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

REGIONS = ("north", "south", "east", "west")
REASONS = ("check-up", "asthma", "fracture", "influenza", "migraine", "rash", "a rare disease")


def write_visits(path: Path, patients: int = 2000) -> int:
    """Write the made-up visits to a Parquet file, labelled as such; returns how many."""
    import pyarrow as pa
    import pyarrow.parquet as pq

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
    table = pa.table(columns).replace_schema_metadata({"source": "made up by discreet demo; nobody in it is real"})
    pq.write_table(table, path)
    return int(table.num_rows)
