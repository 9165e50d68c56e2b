"""Made-up visits to measure on: few people have most of them, most of a person's lie in one region."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

REGIONS = [f"R{i:02d}" for i in range(50)]
DIAGNOSES = [f"D{i:04d}" for i in range(1000)]
A_PERSON = 20  # visits on average; half of the people have fewer than ten, one in a hundred has over a hundred
_AT_ONCE = 1 << 20


def write(path: Path, rows: int, seed: int = 1) -> None:
    """So many visits, in no order: user_id, region, diagnosis, cost in [0, 5000], day."""
    rng = np.random.default_rng(seed)
    people = rows // A_PERSON
    share = np.cumsum(rng.lognormal(0.0, 1.2, people))
    share /= share[-1]
    weight = 1.0 / (np.arange(50) + 5.0)
    home = rng.choice(50, people, p=weight / weight.sum()).astype(np.int16)
    rarity = np.cumsum(1.0 / np.arange(1, 1001) ** 1.3)
    rarity /= rarity[-1]
    writer = None
    for start in range(0, rows, _AT_ONCE):
        size = min(_AT_ONCE, rows - start)
        who = np.searchsorted(share, rng.random(size)).astype(np.int64)
        region = np.where(rng.random(size) < 0.2, rng.integers(0, 50, size), home[who]).astype(np.int16)
        diagnosis = np.searchsorted(rarity, rng.random(size)).clip(0, 999).astype(np.int16)
        cost = np.round(np.clip(rng.lognormal(4.5 + (diagnosis % 10) * 0.15, 1.0), 0, 5000), 2)
        day = np.datetime64("2025-01-01") + rng.integers(0, 365, size)
        table = pa.table(
            {
                "user_id": who,
                "region": pa.array(REGIONS).take(pa.array(region)),
                "diagnosis": pa.array(DIAGNOSES).take(pa.array(diagnosis)),
                "cost": cost,
                "day": pa.array(day.astype("datetime64[D]")),
            }
        )
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table, row_group_size=122_880)
    if writer is not None:
        writer.close()
