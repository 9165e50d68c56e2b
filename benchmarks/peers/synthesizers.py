"""Rows by dpmm, in an environment of its own: `python -m benchmarks.peers.synthesizers FILE mst|aim EPSILON`.

FILE is an archive of arrays: `rows` of codes, `names` and `sizes` of their columns. Beside it the made-up rows are
written, and the last line printed says CPU seconds and the peak of memory. MST has 1,000 iterations (its own default is
10,000), AIM triples, 56 rounds, a model of 1 MB and 200 iterations: the limits within which it ends in minutes.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

LIMITS: dict[str, dict[str, Any]] = {
    "mst": {"n_iters": 1000},
    "aim": {"n_iters": 200, "degree": 3, "rounds": 56, "max_model_size": 1},
}


def main() -> None:
    """Fit, draw, write, and say what it took."""
    file, method, epsilon = Path(sys.argv[1]), sys.argv[2], float(sys.argv[3])
    pandas: Any = importlib.import_module("pandas")
    pipeline: Any = importlib.import_module("dpmm.pipelines.base")
    kind: Any = getattr(importlib.import_module(f"dpmm.models.{method}"), f"{method.upper()}GM")
    with np.load(file) as given:
        names = [str(name) for name in given["names"]]
        domain = {name: int(size) for name, size in zip(names, given["sizes"], strict=True)}
        rows = pandas.DataFrame(given["rows"], columns=names)
    start = time.process_time()
    model = kind(epsilon=epsilon, delta=1e-9, n_jobs=1, domain=domain, **LIMITS[method])
    made = pipeline.GenerativePipeline(gen=model, proc=None)
    made.fit(rows, domain=domain, random_state=None)
    told = pandas.DataFrame(made.generate(n_records=len(rows)))[names]
    taken = time.process_time() - start
    status = Path("/proc/self/status").read_text(encoding="utf-8")  # getrusage tells of the parent too
    peak = int(status.split("VmHWM:")[1].split()[0]) / 1024
    np.save(file.with_name("made.npy"), told.to_numpy().astype(np.int64))
    print(json.dumps({"CPU s": taken, "peak MB": peak}))


if __name__ == "__main__":
    main()
