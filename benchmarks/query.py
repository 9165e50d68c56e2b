"""Whole private answers take few times as long as the plain engine's on the same file, and a fraction of any peer's.

Asked for at 10 million rows: rows as units ≤ 1.5×; users as units ≤ 8× by region (50 declared keys), ≤ 14× by diagnosis
(1000 keys, selected privately); stretch 6× and 11×, then 2.5× and 3×. Near-linear from 1 to 50 million rows. Planning
≤ 15 ms for a fresh text, ≤ 1 ms for a repeated one. At 1 million rows ≥ 20× faster than each peer.

A question is COUNT(*), SUM(cost), AVG(cost) by one key. Ours is the whole of `Curator.query(fresh=True)`: planning,
two durable entries in the ledger, bounding, noise, error bars, and the SQL above the noise. Plain is DuckDB on the very
file that ours is answered from, with two threads. Five pairs are taken in turns; the ratio is the median of the pairs'
ratios, with the least and the largest. `load` is how many processes wanted the two cores meanwhile.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import duckdb

from benchmarks.visits import REGIONS, write
from discreet.curator import Curator
from discreet.curator.custody import Custody, Declared, found_home

HERE = Path(__file__).parent
PAIRS, THREADS = 5, 2
SIZES = (1_000_000, 10_000_000, 50_000_000)
SECONDS = 600  # for one peer
PEERS = {
    "OpenDP": ("opendp", "opendp"),
    "SmartNoise SQL": ("smartnoise-sql", "smartnoise"),
    "PipelineDP": ("pipeline-dp", "pipelinedp"),
    "Tumult Analytics": ("tmlt.analytics", "tumult"),
}


@dataclass(frozen=True)
class Asked:
    """A question, and what it may take."""

    what: str
    table: str
    key: str
    bar: str
    delta: str | None = None

    @property
    def sql(self) -> str:
        """Its text."""
        return f"SELECT {self.key}, count(*), sum(cost), avg(cost) FROM {self.table} GROUP BY {self.key}"  # noqa: S608


ROWS = Asked("row unit, region", "single", "region", "1.5")
REGION = Asked("user unit, region", "visits", "region", "8; 6; 2.5")
DIAGNOSIS = Asked("user unit, diagnosis", "visits", "diagnosis", "14; 11; 3", "1e-8")


@dataclass(frozen=True)
class Home:
    """Visits in a home, and the same files in a plain engine."""

    curator: Curator
    plain: duckdb.DuckDBPyConnection

    @classmethod
    def made(cls, folder: Path, source: Path, *, single: bool = False) -> Home:
        """A home of visits by users; with the same as rows of their own if `single`."""
        found_home(folder)
        usual = {"epsilon": 10**6, "delta": "1e-3", "bounds": {"cost": (0, 3000)}, "keys": {"region": REGIONS}}
        kinds = {"visits": {"unit": "user_id", "max_rows": 72, "max_groups": 10}, "single": {"unit": "row"}}
        plain = duckdb.connect(config={"threads": THREADS})
        for name, own in kinds.items():
            if name == "visits" or single:
                Custody(folder).add(name, str(source), Declared(**usual, **own))  # type: ignore[arg-type]
                plain.execute(f"ATTACH '{folder}/tables/{name}.1.duckdb' AS {name}_file (READ_ONLY)")
                plain.execute(f"CREATE VIEW {name} AS SELECT * FROM {name}_file.rows")  # noqa: S608
        return cls(Curator(folder), plain)

    def ours(self, asked: Asked) -> None:
        """A private answer."""
        self.curator.query(asked.sql, epsilon=1, delta=asked.delta, fresh=True)

    def theirs(self, asked: Asked) -> None:
        """A plain one."""
        self.plain.execute(asked.sql).fetchall()


def seconds(work: Callable[[], object]) -> float:
    """How long it takes, once."""
    start = perf_counter()
    work()
    return perf_counter() - start


def pairs(home: Home, asked: Asked, count: int = PAIRS) -> list[tuple[float, float]]:
    """Seconds of ours and the plain engine's, in turns, after one of each that does not count."""
    taken = [(seconds(lambda: home.ours(asked)), seconds(lambda: home.theirs(asked))) for _ in range(count + 1)]
    return taken[1:]


def load() -> str:
    """How many processes wanted to run in the last minute."""
    return f"{os.getloadavg()[0]:.1f}"


def table(heads: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    return "\n".join("| " + " | ".join(line) + " |" for line in (heads, ["---"] * len(heads), *lines))


def compared(home: Home) -> Iterator[Sequence[str]]:
    """Each question at ten million rows."""
    for asked in (ROWS, REGION, DIAGNOSIS):
        taken = pairs(home, asked)
        ours, plain = (statistics.median(each) for each in zip(*taken, strict=True))
        ratios = sorted(a / b for a, b in taken)
        span = f"{ratios[len(ratios) // 2]:.1f} ({ratios[0]:.1f}–{ratios[-1]:.1f})"
        yield (asked.what, f"{1000 * plain:.0f} ms", f"{1000 * ours:.0f} ms", span, asked.bar, load())


def grown(rows: int, home: Home) -> Iterator[Sequence[str]]:
    """What a million rows take at one size."""
    for asked in (REGION, DIAGNOSIS):
        taken = pairs(home, asked, 3)
        ours = statistics.median(mine for mine, _ in taken)
        ratio = statistics.median(a / b for a, b in taken)
        millions = rows / 1_000_000
        yield (
            asked.key,
            f"{millions:.0f}M",
            f"{ours:.3f} s",
            f"{1000 * ours / millions:.1f} ms",
            f"{ratio:.1f}",
            load(),
        )


def planned(curator: Curator) -> Iterator[Sequence[str]]:
    """Milliseconds of a plan: for texts that were never seen, and for the same ones again."""
    for asked in (REGION, DIAGNOSIS):
        texts = [asked.sql.replace(" GROUP", f" WHERE cost > {limit} GROUP") for limit in range(15)]
        fresh, again = (
            1000 * statistics.median(seconds(lambda t=text: curator.explain(t, epsilon=1)) for text in texts)  # type: ignore[misc]
            for _ in range(2)
        )
        yield (asked.key, f"{fresh:.1f}", f"{again:.2f}", load())


def peers(home: Home, source: Path) -> Iterator[Sequence[str]]:
    """Each peer at a million rows: best of its two turns, against ours taken just before and after it."""
    for name, (environment, module) in PEERS.items():
        python = HERE.parent / ".peers" / environment / "bin" / "python"
        if not python.exists():
            yield (name, "not installed", "", "", "", "", "")
            continue
        before = {asked.key: [a for a, _ in pairs(home, asked, 3)] for asked in (REGION, DIAGNOSIS)}
        command = [str(python), "-m", "benchmarks.peers", module, str(source)]
        try:
            done = subprocess.run(  # noqa: S603
                command, cwd=HERE.parent, capture_output=True, text=True, check=True, timeout=SECONDS
            )
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as failed:
            yield (name, type(failed).__name__, "", "", "", "", load())
            continue
        theirs = json.loads(done.stdout.splitlines()[-1])
        cells = []
        for asked in (REGION, DIAGNOSIS):
            after = [a for a, _ in pairs(home, asked, 3)]
            ours = statistics.median([*before[asked.key], *after])
            cells += [f"{theirs[asked.key]:.1f} s", f"{1000 * ours:.0f} ms", f"{theirs[asked.key] / ours:.0f}×"]
        yield (name, *cells[:3], *cells[3:], load())


def main() -> None:
    """Print the tables. Names of claims on the command line choose among them: pairs, growth, plans, peers."""
    wanted = set(sys.argv[1:]) or {"pairs", "growth", "plans", "peers"}
    growth: list[Sequence[str]] = []
    texts: dict[str, str] = {}
    for rows in SIZES:
        if rows == SIZES[-1] and "growth" not in wanted:
            continue
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder) / "visits.parquet"
            write(source, rows)
            home = Home.made(Path(folder) / "home", source, single=rows == SIZES[1] and "pairs" in wanted)
            if "growth" in wanted:
                growth += grown(rows, home)
            if rows == SIZES[0] and "peers" in wanted:
                texts["peers"] = table(
                    ("1M rows", "region", "ours", "ratio", "diagnosis", "ours", "ratio", "load"),
                    list(peers(home, source)),
                )
            if rows == SIZES[0] and "plans" in wanted:
                texts["plans"] = table(
                    ("planning", "fresh text, ms", "repeated, ms", "load"), list(planned(home.curator))
                )
            if rows == SIZES[1] and "pairs" in wanted:
                texts["pairs"] = table(
                    ("10M rows", "plain", "ours", "ours / plain", "bar", "load"), list(compared(home))
                )
            home.plain.close()
    if growth:
        texts["growth"] = table(
            ("growth", "rows", "ours", "a million rows", "ours / plain", "load"),
            sorted(growth, key=lambda line: line[0], reverse=True),
        )
    print("\n\n".join(texts[name] for name in ("pairs", "growth", "plans", "peers") if name in texts))


if __name__ == "__main__":
    main()
