"""PipelineDP on its local backend."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import partial
from typing import Any

from benchmarks.peers.terms import CLIP, DELTA, EPSILON, GROUPS, KEYS, ROWS


def ready(path: str) -> dict[str, Callable[[], object]]:
    """The file as Python tuples."""
    duckdb, pdp = importlib.import_module("duckdb"), importlib.import_module("pipeline_dp")
    rows = duckdb.execute("SELECT user_id, region, diagnosis, cost FROM read_parquet(?)", [path]).fetchall()
    return {key: partial(_answer, pdp, rows, key, place) for key, place in (("region", 1), ("diagnosis", 2))}


def _answer(pdp: Any, rows: list[tuple[Any, ...]], key: str, place: int) -> object:
    budget = pdp.NaiveBudgetAccountant(total_epsilon=EPSILON, total_delta=DELTA)
    columns = pdp.DataExtractors(
        privacy_id_extractor=lambda row: row[0],
        partition_extractor=lambda row: row[place],
        value_extractor=lambda row: row[3],
    )
    terms = pdp.AggregateParams(
        noise_kind=pdp.NoiseKind.LAPLACE,
        metrics=[pdp.Metrics.COUNT, pdp.Metrics.SUM, pdp.Metrics.MEAN],
        max_partitions_contributed=GROUPS,
        max_contributions_per_partition=ROWS,
        min_value=0,
        max_value=CLIP,
    )
    found = pdp.DPEngine(budget, pdp.LocalBackend()).aggregate(rows, terms, columns, public_partitions=KEYS.get(key))
    budget.compute_budgets()
    return dict(found)
