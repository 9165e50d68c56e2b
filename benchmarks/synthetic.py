"""Synthetic rows that keep pairs and triples of columns, and train classifiers, in seconds and without a GPU.

Adult, other sets of the AIM paper and a census extract at δ = 1e-9; means of five runs ± standard errors, each in its
own process. TV is half the L1 distance between the tables of the rows and of the records, in the mean over all tables
of three columns, over those of at most 10,000 cells, and over all pairs. Where a set has something to tell from the
rest, four fifths are fitted, and classifiers are tested on the others: of Adult an income above 50,000, of nltcs who
cannot bathe alone, of national2019 whose home is rented. LR and GB are logistic regression and boosted trees that
learned from synthetic rows: accuracy and area under the curve. CPU seconds are for fitting and drawing, the peak of
memory is of that whole process. `real` are the records themselves, `resampled` as many drawn from them.

`--data DIR` says where the sets lie. `make peers` builds the environment of dpmm, whose MST and AIM run within the
limits that benchmarks/peers/synthesizers.py names, as often as `--peer-runs` says; `--peers PYTHON` says another. One
that needs more than `--patience` CPU seconds is ended, and its row says so. `--sets`, `--prices` and `--methods` choose
some of the rows. Of all sets, and with matplotlib installed, it also draws docs/images/synthetic.png, of made-up
people.
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
import signal
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.privacy import concentrated_for
from discreet.release import CliqueTreeSynthesis, IndependentSynthesis, SpanningTreeSynthesis

Rows = NDArray[np.int64]
Shares = list[tuple[tuple[int, ...], "NDArray[np.int64]"]]
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
GOALS = {"adult": ("income>50K", (1,)), "nltcs": ("bathing", (1,)), "national2019": ("OWN_RENT", (2,))}
NUMBERS = ("age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week")  # of Adult
WIDE_SET = 1 << 24  # cells of a table that is scored


@dataclass(frozen=True)
class Table:
    """Coded records, some that were held back, and which codes of which column a classifier is to tell from others."""

    columns: tuple[str, ...]
    sizes: tuple[int, ...]
    rows: Rows
    others: Rows
    goal: tuple[str, tuple[int, ...]] | None = None

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
    return split("adult", tuple(domain), tuple(domain.values()), rows)


def split(name: str, columns: tuple[str, ...], sizes: tuple[int, ...], rows: Rows) -> Table:
    """Four fifths of the records, if there is something to tell of the others; else all."""
    if name not in GOALS:
        return Table(columns, sizes, rows, rows[:0])
    order = np.random.RandomState(20161).permutation(len(rows))  # the split of research before us
    cut = int(0.8 * len(rows))
    return Table(columns, sizes, rows[order[:cut]], rows[order[cut:]], GOALS[name])


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
        return split(name, tuple(domain), tuple(domain.values()), rows)

    return read


def national(folder: Path) -> Table:
    """The census extract: texts as they occur, numbers of many values in 32 equal bins, "N" in one of its own."""
    with (folder / "nist_acs" / "national2019.csv").open(encoding="utf-8") as file:
        heads, *lines = csv.reader(file)
    kept = [i for i, name in enumerate(heads) if name not in {"PWGTP", "WGTP"}]
    columns = [binned([line[i] for line in lines]) for i in kept]
    sizes = tuple(int(column.max()) + 1 for column in columns)
    rows = np.stack(columns, axis=1)
    return split("national2019", tuple(heads[i] for i in kept), sizes, rows)


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


def real_tables(table: Table, ways: int) -> Shares:
    """The records' tables of so many columns, but for those that are too large to be scored."""
    wanted = itertools.combinations(range(len(table.sizes)), ways)
    small = [axes for axes in wanted if math.prod(table.sizes[i] for i in axes) <= WIDE_SET]
    return [(axes, counted(table.rows, table.sizes, axes)) for axes in small]


def distances(table: Table, real: Shares, rows: Rows) -> tuple[float, float]:
    """The mean total variation over all these tables, and over the small ones."""
    every, small = [], []
    for axes, counts in real:
        made = counted(rows, table.sizes, axes) / max(1, len(rows))
        every.append(float(np.abs(counts / len(table.rows) - made).sum()) / 2)
        small += every[-1:] if counts.size <= SMALL else []
    return float(np.mean(every)), float(np.mean(small)) if small else math.nan


def classified(table: Table, rows: Rows) -> Iterator[tuple[float, float]]:
    """Accuracy and area under the curve of logistic regression, then of boosted trees."""
    compose, ensemble, linear, metrics, pipeline, preparing = (
        __import__(f"sklearn.{name}", fromlist=[name])
        for name in ("compose", "ensemble", "linear_model", "metrics", "pipeline", "preprocessing")
    )
    name, codes_of_goal = table.goal or ("", ())
    goal = table.columns.index(name)
    numbers = [i for i, name in enumerate(table.columns) if name in NUMBERS]
    codes = [i for i in range(len(table.columns)) if i not in {*numbers, goal}]
    prepared = compose.make_column_transformer(
        (preparing.StandardScaler(), numbers), (preparing.OneHotEncoder(handle_unknown="ignore"), codes)
    )
    logistic = pipeline.make_pipeline(prepared, linear.LogisticRegression(max_iter=300))
    inputs = [i for i in range(len(table.columns)) if i != goal]
    boosted = ensemble.HistGradientBoostingClassifier(max_iter=100, random_state=0)
    truth, told = (np.isin(some[:, goal], codes_of_goal) for some in (table.others, rows))
    for model, seen in ((logistic, slice(None)), (boosted, inputs)):
        if len(set(told.tolist())) < 2:
            yield float((truth == told[0]).mean()), 0.5
            continue
        model.fit(rows[:, seen], told)
        chances = model.predict_proba(table.others[:, seen])[:, 1]
        yield float(((chances > 0.5) == truth).mean()), float(metrics.roc_auc_score(truth, chances))


@dataclass(frozen=True)
class Run:
    """A set to be made up, with its own tables, and the file from which each run reads its records."""

    table: Table
    three: Shares
    two: Shares
    file: Path

    @classmethod
    def of(cls, table: Table, folder: Path) -> Run:
        """A set that is to be scored."""
        file = folder / "rows.npz"
        np.savez(file, rows=table.rows, names=np.array(table.columns), sizes=np.array(table.sizes))
        return cls(table, real_tables(table, 3), real_tables(table, 2), file)

    def one(self, method: str, price: str, asked: argparse.Namespace) -> dict[str, float] | None:
        """The scores of one run and what it took; None if it took too much."""
        told: dict[str, float] = {"CPU s": 0.0}
        rows = self.table.rows
        if method == "resampled":
            rows = rows[np.random.default_rng().integers(0, len(rows), len(rows))]
        elif method != "real":
            theirs = method.startswith("dpmm ")
            python = str(asked.peers) if theirs else sys.executable
            module = "benchmarks.peers.synthesizers" if theirs else "benchmarks.synthetic"
            own = [str(self.file), method.removeprefix("dpmm ").lower(), price]
            command = [python, "-m", module, *([] if theirs else ["--one"]), *own]
            limited = partial(resource.setrlimit, resource.RLIMIT_CPU, (asked.patience, asked.patience))
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False, preexec_fn=limited)  # noqa: S603
            if done.returncode in (-signal.SIGKILL, -signal.SIGXCPU):
                return None
            done.check_returncode()
            told = json.loads(done.stdout.splitlines()[-1])
            rows = np.clip(np.load(self.file.with_name("made.npy")), 0, np.array(self.table.sizes) - 1)
        told["TV 3"], told["TV 3 small"] = distances(self.table, self.three, rows)
        told["TV 2"], _ = distances(self.table, self.two, rows)
        if self.table.goal:
            for kind, (accuracy, area) in zip(("LR", "GB"), classified(self.table, rows), strict=True):
                told |= {f"{kind} acc": accuracy, f"{kind} AUC": area}
        return told


def made(file: Path, method: str, price: str) -> dict[str, float]:
    """Write rows beside a file of records; what that took."""
    with np.load(file) as given:
        names = tuple(str(name) for name in given["names"])
        table = Table(names, tuple(map(int, given["sizes"])), given["rows"], given["rows"][:0])
    rho = concentrated_for(Fraction(price), DELTA).rho
    along = tuple(size if name in NUMBERS else 0 for name, size in zip(table.columns, table.sizes, strict=True))
    start = time.process_time()
    rows = METHODS[method](table.columns, table.sizes, rho, along=along)(table.counts).rows
    taken = time.process_time() - start
    peak = peak_of_memory()
    np.save(file.with_name("made.npy"), rows)
    return {"CPU s": taken, "peak MB": peak}


def peak_of_memory() -> float:
    """What this process held at most, in MB. What getrusage tells is no less than what its parent holds."""
    told = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(told.split("VmHWM:")[1].split()[0]) / 1024


HEADS = ("TV 3", "TV 3 small", "TV 2", "LR acc", "LR AUC", "GB acc", "GB AUC", "CPU s", "peak MB")


def repeated(run: Run, method: str, price: str, runs: int, asked: argparse.Namespace) -> list[str]:
    """The means of some runs, each in a process of its own, with their standard errors."""
    told = []
    for _ in range(runs):
        one = run.one(method, price, asked)
        if one is None:
            return ["" if head != "CPU s" else f"> {asked.patience}" for head in HEADS]
        told.append(one)
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
    parser.add_argument("--prices", nargs="*", default=list(PRICES))
    parser.add_argument("--methods", nargs="*", default=["real", "resampled", *METHODS, "dpmm MST", "dpmm AIM"])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--peer-runs", type=int, default=1)
    parser.add_argument("--peers", type=Path, default=PEERS)
    parser.add_argument("--patience", type=int, default=600)
    asked = parser.parse_args()
    if asked.one:
        file, method, price = asked.one
        print(json.dumps(made(Path(file), method, price)))
        return
    if not (asked.data / "adult_discrete.csv").exists():
        print("Not run: adult_discrete.csv is not there; `--data DIR` says where it is.")
        return
    if asked.sets == list(SETS):
        draw()
    heads = ("set", "method", "ε", *HEADS)
    print("\n".join("| " + " | ".join(line) + " |" for line in (heads, ["---"] * len(heads))), flush=True)
    for name in asked.sets:
        with tempfile.TemporaryDirectory() as folder:
            run = Run.of(SETS[name](asked.data), Path(folder))
            lines = [("real", "∞", 1), ("resampled", "∞", 1)]
            lines += [(method, price, asked.runs) for price in asked.prices for method in METHODS]
            if asked.peers.exists():
                lines += [(peer, price, asked.peer_runs) for price in asked.prices for peer in ("dpmm MST", "dpmm AIM")]
            for method, price, times in lines:
                if method in asked.methods:
                    line = (name, method, price, *repeated(run, method, price, times, asked))
                    print("| " + " | ".join(line) + " |", flush=True)


if __name__ == "__main__":
    main()
