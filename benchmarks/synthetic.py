"""Synthetic rows that keep pairs and triples of columns, and train classifiers, in seconds and without a GPU.

Adult (39,073 rows to fit, 9,769 others to test classifiers on, 14 columns) at δ = 1e-9; means of five runs ± standard
errors, each in its own process. TV is half the L1 distance between the tables of the rows and of the records, in the
mean over all tables of three columns, over those of at most 10,000 cells, and over all pairs. LR and GB are logistic
regression and boosted trees, trained on synthetic rows to tell an income above 50,000: accuracy and area under the
curve. CPU seconds are for fitting and drawing, the peak of memory is of the whole process, without classifiers.
`real` are the records themselves, `resampled` as many drawn from them. With matplotlib installed it also draws
docs/images/synthetic.png, of made-up people. Then the sets of the AIM paper and a census
extract, by two runs each. `--data DIR` says where they lie. `make peers` builds the environment of dpmm, whose MST and
AIM run once, within the limits that benchmarks/peers/synthesizers.py names; `--peers PYTHON` says another.
"""

from __future__ import annotations

import argparse
import csv
import importlib
import io
import itertools
import json
import math
import resource
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.privacy import concentrated_for
from discreet.release import CliqueTreeSynthesis, IndependentSynthesis, SpanningTreeSynthesis

Rows = NDArray[np.int64]
DELTA = Fraction(1, 10**9)
METHODS: dict[str, Any] = {
    "independent": IndependentSynthesis,
    "mst": SpanningTreeSynthesis,
    "clique-tree": CliqueTreeSynthesis,
}
PEERS = Path(__file__).parent.parent / ".peers" / "dpmm" / "bin" / "python"
PLOT = Path(__file__).parents[1] / "docs" / "images" / "synthetic.png"
PRICES = ("0.1", "1", "10")
SMALL = 10_000  # cells of a table that counts as small
TARGET, NUMBERS = "income>50K", ("age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week")
WIDE_SET = 1 << 24  # cells of a table that is scored


@dataclass(frozen=True)
class Table:
    """Coded records, and some that were held back."""

    columns: tuple[str, ...]
    sizes: tuple[int, ...]
    rows: Rows
    others: Rows

    def counts(self, names: Sequence[str]) -> Rows:
        """The table of some columns."""
        axes = [self.columns.index(name) for name in names]
        return counted(self.rows, self.sizes, axes).reshape([self.sizes[i] for i in axes])


def counted(rows: Rows, sizes: Sequence[int], axes: Sequence[int]) -> Rows:
    """How many rows are in each cell."""
    code = np.zeros(len(rows), dtype=np.int64)
    for i in axes:
        code = code * sizes[i] + rows[:, i]
    return np.bincount(code, minlength=math.prod(sizes[i] for i in axes)).astype(np.int64)


# data -----------------------------------------------------------------------------------------------------------------


def adult(folder: Path) -> Table:
    """Adult as the AIM paper codes it, four fifths of it."""
    domain: dict[str, int] = json.loads((folder / "adult_discrete-domain.json").read_text(encoding="utf-8"))
    with (folder / "adult_discrete.csv").open(encoding="utf-8") as file:
        rows = coded(file, domain)
    order = np.random.RandomState(20161).permutation(len(rows))  # the split of research before us
    cut = int(0.8 * len(rows))
    return Table(tuple(domain), tuple(domain.values()), rows[order[:cut]], rows[order[cut:]])


def coded(file: Iterable[str], domain: dict[str, int]) -> Rows:
    """A file of codes, its columns as the domain has them."""
    lines = iter(file)
    heads = next(csv.reader(lines))
    rows = np.loadtxt(lines, delimiter=",", dtype=np.int64)
    return rows[:, [heads.index(name) for name in domain]]


def suite(name: str) -> Callable[[Path], Table]:
    """A set of the AIM paper."""

    def read(folder: Path) -> Table:
        home = folder / "aim_suite"
        domain: dict[str, int] = json.loads((home / f"{name}-domain.json").read_text(encoding="utf-8"))
        with zipfile.ZipFile(home / f"{name}.zip") as archive, archive.open(f"{name}.csv") as raw:
            rows = coded(io.TextIOWrapper(raw), domain)
        return Table(tuple(domain), tuple(domain.values()), rows, rows[:0])

    return read


def national(folder: Path) -> Table:
    """The census extract: texts as they occur, numbers of many values in 32 equal bins, "N" in one of its own."""
    with (folder / "nist_acs" / "national2019.csv").open(encoding="utf-8") as file:
        heads, *lines = csv.reader(file)
    kept = [i for i, name in enumerate(heads) if name not in {"PWGTP", "WGTP"}]
    columns = [binned([line[i] for line in lines]) for i in kept]
    sizes = tuple(int(column.max()) + 1 for column in columns)
    rows = np.stack(columns, axis=1)
    return Table(tuple(heads[i] for i in kept), sizes, rows, rows[:0])


def binned(texts: list[str]) -> Rows:
    """Codes for a column of texts."""
    different = sorted(set(texts))
    if len(different) <= 64:
        return np.array([different.index(text) for text in texts], dtype=np.int64)
    try:
        numbers = np.array([math.nan if text == "N" else float(text) for text in texts])
    except ValueError:
        places = {text: i for i, text in enumerate(different)}
        return np.array([places[text] for text in texts], dtype=np.int64)
    low, high = float(np.nanmin(numbers)), float(np.nanmax(numbers))
    return np.where(np.isnan(numbers), 32, np.minimum((numbers - low) / (high - low) * 32, 31)).astype(np.int64)


SETS: dict[str, Callable[[Path], Table]] = {
    "adult": adult,
    "nltcs": suite("nltcs"),
    "salary": suite("salary"),
    "msnbc": suite("msnbc"),
    "national2019": national,
}


# scores ---------------------------------------------------------------------------------------------------------------


def distances(table: Table, rows: Rows, ways: int) -> tuple[float, float]:
    """The mean total variation over all tables of so many columns, and over the small ones."""
    every, small = [], []
    for axes in itertools.combinations(range(len(table.sizes)), ways):
        cells = math.prod(table.sizes[i] for i in axes)
        if cells > WIDE_SET:
            continue
        shares = [counted(some, table.sizes, axes) / max(1, len(some)) for some in (table.rows, rows)]
        every.append(float(np.abs(shares[0] - shares[1]).sum()) / 2)
        small += every[-1:] if cells <= SMALL else []
    return float(np.mean(every)), float(np.mean(small)) if small else math.nan


def classified(table: Table, rows: Rows) -> Iterator[tuple[float, float]]:
    """Accuracy and area under the curve of logistic regression, then of boosted trees."""
    compose, ensemble, linear, metrics, pipeline, preparing = (
        __import__(f"sklearn.{name}", fromlist=[name])
        for name in ("compose", "ensemble", "linear_model", "metrics", "pipeline", "preprocessing")
    )
    goal = table.columns.index(TARGET)
    numbers = [i for i, name in enumerate(table.columns) if name in NUMBERS]
    codes = [i for i in range(len(table.columns)) if i not in {*numbers, goal}]
    prepared = compose.make_column_transformer(
        (preparing.StandardScaler(), numbers), (preparing.OneHotEncoder(handle_unknown="ignore"), codes)
    )
    logistic = pipeline.make_pipeline(prepared, linear.LogisticRegression(max_iter=300))
    inputs = [i for i in range(len(table.columns)) if i != goal]
    boosted = ensemble.HistGradientBoostingClassifier(max_iter=100, random_state=0)
    truth = table.others[:, goal]
    for model, seen in ((logistic, slice(None)), (boosted, inputs)):
        if len(set(rows[:, goal].tolist())) < 2:
            yield float((truth == rows[0, goal]).mean()), 0.5
            continue
        model.fit(rows[:, seen], rows[:, goal])
        chances = model.predict_proba(table.others[:, seen])[:, 1]
        yield float(((chances > 0.5) == truth).mean()), float(metrics.roc_auc_score(truth, chances))


def theirs(table: Table, method: str, price: str, peers: Path) -> tuple[Rows, dict[str, float]]:
    """Rows by another library, and what they took there."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.npz"
        np.savez(file, rows=table.rows, names=np.array(table.columns), sizes=np.array(table.sizes))
        command = [str(peers), "-m", "benchmarks.peers.synthesizers", str(file), method, price]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)  # noqa: S603
        taken: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
        made: Rows = np.load(file.with_name("made.npy"))
    return np.clip(made, 0, np.array(table.sizes) - 1), taken


def one(name: str, method: str, price: str, folder: Path, peers: Path) -> dict[str, float]:
    """One run: its scores and what it took."""
    table = SETS[name](folder)
    start = time.process_time()
    told: dict[str, float] = {}
    if method == "real":
        rows = table.rows
    elif method.startswith("dpmm "):
        rows, told = theirs(table, method.removeprefix("dpmm ").lower(), price, peers)
    elif method == "resampled":
        rows = table.rows[np.random.default_rng().integers(0, len(table.rows), len(table.rows))]
    else:
        rho = concentrated_for(Fraction(price), DELTA).rho
        along = tuple(size if name in NUMBERS else 0 for name, size in zip(table.columns, table.sizes, strict=True))
        rows = METHODS[method](table.columns, table.sizes, rho, along=along)(table.counts).rows
    told = told or {
        "CPU s": time.process_time() - start,
        "peak MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
    told["TV 3"], told["TV 3 small"] = distances(table, rows, 3)
    told["TV 2"], _ = distances(table, rows, 2)
    if len(table.others):
        for kind, (accuracy, area) in zip(("LR", "GB"), classified(table, rows), strict=True):
            told |= {f"{kind} acc": accuracy, f"{kind} AUC": area}
    return told


HEADS = ("TV 3", "TV 3 small", "TV 2", "LR acc", "LR AUC", "GB acc", "GB AUC", "CPU s", "peak MB")


def repeated(asked: argparse.Namespace, name: str, method: str, price: str, runs: int) -> list[str]:
    """The means of some runs, each in a process of its own, with their standard errors."""
    where = ["--data", str(asked.data), "--peers", str(asked.peers)]
    command = [sys.executable, "-m", "benchmarks.synthetic", *where, "--one", name, method, price]
    texts = [subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout for _ in range(runs)]  # noqa: S603
    told = [json.loads(text) for text in texts]
    return [shown([each[head] for each in told if head in each], head) for head in HEADS]


def shown(values: list[float], head: str) -> str:
    """A mean, and the standard error where there are several."""
    if not values or math.isnan(values[0]):
        return ""
    digits = 4 if head.startswith("TV") else 3 if head[:2] in {"LR", "GB"} else 1 if head == "CPU s" else 0
    mean = f"{np.mean(values):.{digits}f}"
    if len(values) < 2 or digits < 2:
        return mean
    return f"{mean} ± {np.std(values, ddof=1) / math.sqrt(len(values)):.{digits}f}"


def draw() -> None:
    """Wage by age: of made-up people, and of the rows of two methods at ε = 1."""
    try:
        plot: Any = importlib.import_module("matplotlib.pyplot")
    except ImportError:
        return
    random = np.random.default_rng(1)
    ages = random.integers(18, 90, 20_000)
    wages = np.where(ages > 65, 12 + random.normal(0, 1, ages.size), 20 + ages * 0.4 + random.normal(0, 5, ages.size))
    people = np.stack([(ages - 18) // 2, np.clip(wages, 0, 59.9).astype(np.int64)], axis=1)
    table = Table(("age", "wage"), (36, 60), people, people[:0])
    rho = concentrated_for(1, DELTA).rho
    shown_rows = {"people": people}
    for method in ("mst", "independent"):
        shown_rows[method] = METHODS[method](table.columns, table.sizes, rho, along=table.sizes)(table.counts).rows
    figure, axes = plot.subplots(1, 3, figsize=(9.0, 3.0), sharey=True)
    for place, (name, rows) in enumerate(shown_rows.items()):
        counts = counted(rows, table.sizes, (0, 1))
        axes[place].imshow(np.sqrt(counts.reshape(36, 60).T), origin="lower", extent=(18, 90, 0, 60), aspect="auto")
        axes[place].set_title(name)
        axes[place].set_xlabel("age")
    axes[0].set_ylabel("wage")
    figure.tight_layout()
    figure.savefig(PLOT, dpi=110)


def main() -> None:
    """Print the table, or one run."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, default=Path(__file__).parent.parent.parent / "shared" / "data")
    parser.add_argument("--one", nargs=3)
    parser.add_argument("--sets", nargs="*", default=list(SETS))
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--peers", type=Path, default=PEERS)
    asked = parser.parse_args()
    if not (asked.data / "adult_discrete.csv").exists():
        print("Not run: adult_discrete.csv is not there; `--data DIR` says where it is.")
        return
    if asked.one:
        name, method, price = asked.one
        print(json.dumps(one(name, method, price, asked.data, asked.peers)))
        return
    draw()
    heads = ("set", "method", "ε", *HEADS)
    print("\n".join("| " + " | ".join(line) + " |" for line in (heads, ["---"] * len(heads))), flush=True)
    for name in asked.sets:
        runs = asked.runs if name == "adult" else min(2, asked.runs)
        free = [("real", "∞", 1), ("resampled", "∞", 1)] if name == "adult" else []
        paid = [(method, price, runs) for price in PRICES for method in METHODS]
        other = [("dpmm MST", "1", 1), ("dpmm AIM", "1", 1)] if name == "adult" and asked.peers.exists() else []
        for method, price, times in [*free, *paid, *other]:
            line = (name, method, price, *repeated(asked, name, method, price, times))
            print("| " + " | ".join(line) + " |", flush=True)


if __name__ == "__main__":
    main()
