"""SmartNoise SQL over its pandas reader, which is SQLite in memory."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import partial
from typing import Any

from benchmarks.peers.terms import CLIP, DELTA, EPSILON, KEYS, ROWS_IN_ALL


def ready(path: str) -> dict[str, Callable[[], object]]:
    """The file as a data frame."""
    duckdb, snsql = importlib.import_module("duckdb"), importlib.import_module("snsql")
    text = "SELECT user_id, region, diagnosis, cost FROM read_parquet(?)"
    frame = duckdb.execute(text, [path]).df()
    return {key: partial(_answer, snsql, frame, key) for key in ("region", "diagnosis")}


def _answer(snsql: Any, frame: Any, key: str) -> object:
    known = key in KEYS
    table = {
        "max_ids": ROWS_IN_ALL,
        "sample_max_ids": True,
        "censor_dims": not known,  # else it hides keys that are known
        "rows": len(frame),
        "user_id": {"type": "int", "private_id": True},
        "region": {"type": "string"},
        "diagnosis": {"type": "string"},
        "cost": {"type": "float", "lower": 0, "upper": CLIP},
    }
    price = snsql.Privacy(epsilon=EPSILON / (3 if known else 4), delta=DELTA)  # it charges for every column
    reader = snsql.from_df(frame, privacy=price, metadata={"": {"m": {"v": table}}})
    return reader.execute(f"SELECT {key}, COUNT(*) AS n, SUM(cost) AS s, AVG(cost) AS a FROM m.v GROUP BY {key}")  # noqa: S608
