"""Wide tables (48 columns) and tall ones (10 million rows) become synthetic rows in a memory that the model bounds.

Each from a Parquet file through a home, as `discreet release synthetic` does it: every row is another person's, ε = 1,
δ = 1e-9, the method `auto`. Columns have 2 to 12 keys; each follows from the one before it in half of the rows. The
numbers of the model are those of its cliques. CPU seconds are of counting, fitting and drawing; beside them stands the
time of one count by two columns over the same rows. The peak is that of the whole process with its database, before the
synthesis, when the rows were taken in and counted once, and after it.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import discreet as dp

TABLES = {"wide": (100_000, 48), "tall": (10_000_000, 8), "small": (100_000, 8)}
BATCH = 1_000_000


def keys(column: int) -> int:
    """How many a column has."""
    return 2 + column * 5 % 11


def write(path: Path, rows: int, columns: int) -> None:
    """Columns of which each follows from the one before it half of the time."""
    random = np.random.default_rng(1)
    names = [f"c{i}" for i in range(columns)]
    schema = pa.schema([("who", pa.int64()), *((name, pa.int64()) for name in names)])
    with pq.ParquetWriter(path, schema) as file:
        for start in range(0, rows, BATCH):
            size = min(BATCH, rows - start)
            made = [np.arange(start, start + size)]
            for i in range(columns):
                fresh = np.minimum(random.geometric(0.3, size) - 1, keys(i) - 1)
                made.append(np.where(random.random(size) < 0.5, made[-1] % keys(i), fresh) if i else fresh)
            file.write_table(pa.table(dict(zip(schema.names, made, strict=True)), schema))


def one(name: str) -> dict[str, Any]:
    """One table: what it took."""
    rows, columns = TABLES[name]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.parquet"
        write(path, rows, columns)
        db = dp.create(Path(folder) / "home")
        own: Any = {"keys": {f"c{i}": [str(key) for key in range(keys(i))] for i in range(columns)}}
        db.add("people", path, unit="who", max_rows=1, epsilon=5, delta="1e-6", **own)
        start = time.perf_counter()
        db.query("SELECT c0, c1, count(*) FROM people GROUP BY c0, c1", epsilon="0.1")
        count = time.perf_counter() - start
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        start, cpu = time.perf_counter(), time.process_time()
        made = db.publish(
            "people", kind="synthetic", columns=[f"c{i}" for i in range(columns)], epsilon=1, delta="1e-9"
        )
        told = {"seconds": time.perf_counter() - start, "CPU s": time.process_time() - cpu, "one count": count}
        told["before MB"] = before
        told["peak MB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        release: Any = db.release(made.entry)
        content = release.content
        told["tables"], told["rows"] = len(content.tables), len(content.rows)
        told["model"] = content.model.tree.cells(content.merging.domain)
    return told


def main() -> None:
    """Print the table, or one line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--one")
    asked = parser.parse_args()
    if asked.one:
        print(json.dumps(one(asked.one)))
        return
    heads = (
        "rows × columns",
        "tables measured",
        "numbers of the model",
        "rows drawn",
        "CPU s",
        "seconds",
        "one count, s",
        "peak MB before",
        "after",
    )
    print("| " + " | ".join(heads) + " |\n" + "|---" * len(heads) + "|")
    for name in ("wide", "tall"):
        command = [sys.executable, "-m", "benchmarks.synthetic_large", "--one", name]
        told = json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)  # noqa: S603
        rows, columns = TABLES[name]
        cells = [f"{rows:,} × {columns}", *(f"{told[each]:,}" for each in ("tables", "model", "rows"))]
        cells += [
            f"{told['CPU s']:.0f}",
            f"{told['seconds']:.0f}",
            f"{told['one count']:.2f}",
            f"{told['before MB']:.0f}",
            f"{told['peak MB']:.0f}",
        ]
        print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
