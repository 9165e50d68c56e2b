"""Tumult Analytics on Spark, two threads. Starting Spark and opening the file are not timed."""

from __future__ import annotations

import importlib
import os
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from typing import Any

from benchmarks.peers.terms import CLIP, DELTA, EPSILON, GROUPS, KEYS, ROWS

_SPARK = {
    "spark.driver.memory": "6g",
    "spark.sql.shuffle.partitions": "8",
    "spark.ui.enabled": "false",
    "spark.driver.host": "localhost",
    "spark.driver.bindAddress": "localhost",
}


def ready(path: str) -> dict[str, Callable[[], object]]:
    """A session of Spark that has seen the file."""
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    builder = importlib.import_module("pyspark.sql").SparkSession.builder.master("local[2]")
    elsewhere = tempfile.mkdtemp()  # it keeps tables on disk, by default in the folder that it is started in
    for name, value in {**_SPARK, "spark.sql.warehouse.dir": elsewhere}.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    frame = spark.read.parquet(path).select("user_id", "region", "diagnosis", "cost")
    frame.limit(1).collect()
    tmlt = importlib.import_module("tmlt.analytics")
    return {key: partial(_answer, tmlt, frame, key) for key in ("region", "diagnosis")}


def _answer(tmlt: Any, frame: Any, key: str) -> object:
    known = key in KEYS
    delta, each = (0, EPSILON / 2) if known else (DELTA, EPSILON / 3)
    session = tmlt.Session.from_dataframe(
        tmlt.ApproxDPBudget(EPSILON, delta), "v", frame, protected_change=tmlt.AddRowsWithID(id_column="user_id")
    )
    few = tmlt.QueryBuilder("v").enforce(tmlt.MaxGroupsPerID(key, GROUPS))
    base = few.enforce(tmlt.MaxRowsPerGroupPerID(key, ROWS))
    if known:
        keys = tmlt.KeySet.from_dict({key: KEYS[key]})
    else:
        once = few.enforce(tmlt.MaxRowsPerGroupPerID(key, 1)).get_groups([key])
        keys = tmlt.KeySet.from_dataframe(session.evaluate(once, tmlt.ApproxDPBudget(each, delta)))
    groups, price = base.groupby(keys), tmlt.ApproxDPBudget(each, 0)
    rows = {row[0]: row[1] for row in session.evaluate(groups.count(), price).collect()}
    sums = {row[0]: row[1] for row in session.evaluate(groups.sum("cost", low=0, high=CLIP), price).collect()}
    return {name: (rows[name], total, total / max(1, rows[name])) for name, total in sums.items()}
