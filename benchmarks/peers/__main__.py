"""`python -m benchmarks.peers NAME PATH` times one library on one file and prints the seconds as JSON."""

from __future__ import annotations

import contextlib
import importlib
import json
import sys
from time import perf_counter

TURNS = 2


def main() -> None:
    """Best of two turns of each question. What a library prints itself goes to stderr."""
    name, path = sys.argv[1:]
    found: dict[str, float] = {}
    with contextlib.redirect_stdout(sys.stderr):
        asked = importlib.import_module(f"benchmarks.peers.{name}").ready(path)
        for question, answer in asked.items():
            times = []
            for _ in range(TURNS):
                start = perf_counter()
                answer()
                times.append(perf_counter() - start)
            found[question] = min(times)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
