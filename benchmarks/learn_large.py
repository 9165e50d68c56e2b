"""A linear regression of fifty million rows pulls none of them out of the engine: memory here does not grow.

Two features and a label, of which the engine adds up products; what is read of the rows is ten whole numbers.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from pathlib import Path

import duckdb

import discreet as dp
from discreet.learn import LinearModel


def large(millions: int) -> None:
    """A table that does not come out of the engine: its sums do."""
    with tempfile.TemporaryDirectory() as folder:
        file, place = Path(folder) / "visits.parquet", Path(folder) / "home"
        duckdb.sql(
            f"""COPY (SELECT i AS person, age, stay, (3 * stay + age / 10 + 20 * random()) AS cost FROM (
            SELECT i, 100 * random() AS age, 30 * random() AS stay FROM range({millions * 10**6}) t(i)))
            TO '{file}' (FORMAT parquet)"""  # noqa: S608  # our own numbers
        )
        db = dp.create(place)
        bounds = {"age": (0, 100), "stay": (0, 30), "cost": (0, 200)}
        start = time.perf_counter()
        db.add("visits", file, unit="person", epsilon=10, delta="1e-6", max_rows=1, bounds=bounds)
        taken, before = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        start = time.perf_counter()
        told = db.run("linear-regression", "visits", features=["age", "stay"], label="cost", epsilon=1, delta="1e-9")
        spent, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    slopes = ", ".join(f"{each:.3f}" for each in LinearModel.read(told.value).coefficients)
    head = "rows | ingested in, s | fitted in, s | most memory, GB | further for the fit, MB | slopes"
    print(f"| linear regression in a home | {head} |")
    print("|---|---|---|---|---|---|---|")
    memory = f"{after / 1e6:.1f}", f"{(after - before) / 1e3:.0f}"
    row = (f"{millions},000,000", f"{taken:.0f}", f"{spent:.1f}", *memory, slopes)
    print(f"| age, stay → cost, ε = 1 | {' | '.join(row)} |")
    print("\nThe slopes are 0.1 and 3. Rows stay in the engine's files; what comes out of it is ten sums.")


def main() -> None:
    """The table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--millions", type=int, default=50)
    large(parser.parse_args().millions)


if __name__ == "__main__":
    main()
