"""Tables released together have less noise than tables released one by one, and no linear mechanism has less.

Adult, 48,842 records, 14 columns, a full table of 6·10¹⁷ cells that is never built. Root of the mean variance of a
cell: noise on each table with equal shares; with the best shares; ours. `seen` is ours as measured in one run, `fitted`
the same after the fit without negative cells, as shares of ours. Then seconds for counting the tables with numpy and
for the release with noise, and the peak of memory. `--data DIR` says where adult_discrete.csv lies.
The one constant of the fit was chosen on this data (docs/proofs/residual.md), so `fitted` flatters it a little.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import resource
import time
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from discreet.release.marginals import FourierMarginals, Marginals, ResidualMarginals

Names = tuple[str, ...]
Tables = dict[Names, NDArray[np.int64]]
RHO, EPSILON = Fraction(1, 10), Fraction(1)
FITTED_CELLS = 10**6  # a fit of more takes minutes


def counted(rows: NDArray[np.int64], columns: Names, sizes: Sequence[int], workload: Sequence[Names]) -> Tables:
    """The true tables."""
    tables: Tables = {}
    for names in workload:
        places = [columns.index(name) for name in names]
        shape = [sizes[i] for i in places]
        codes = np.ravel_multi_index([rows[:, i] for i in places], shape)
        tables[names] = np.bincount(codes, minlength=math.prod(shape)).reshape(shape)
    return tables


def squares(released: Marginals, truth: Tables) -> float:
    """The sum of all cells' squared errors."""
    return sum(float(((released.table(names) - table) ** 2).sum()) for names, table in truth.items())


def measured(
    mechanism: ResidualMarginals | FourierMarginals, truth: Tables, alone: Callable[[list[int]], tuple[float, float]]
) -> Iterator[str]:
    """The cells of a row of the table."""
    sizes = [table.size for table in truth.values()]
    start = time.perf_counter()
    released = mechanism(truth)
    took = time.perf_counter() - start
    variance = sum(table.size * mechanism.std(names) ** 2 for names, table in truth.items())
    yield from (f"{math.sqrt(total / sum(sizes)):.2f}" for total in (*alone(sizes), variance))
    yield f"{math.sqrt(squares(released, truth) / variance):.3f}"
    small = sum(sizes) <= FITTED_CELLS
    yield f"{math.sqrt(squares(released.nonnegative(), truth) / variance):.3f}" if small else "not run"
    yield f"{took:.2f}"


def gaussian_alone(sizes: list[int]) -> tuple[float, float]:
    """Noise on each table by itself: total variance for equal shares of ρ, and for the best ones."""
    rho = float(RHO)
    return sum(sizes) * len(sizes) / (2 * rho), sum(math.sqrt(size) for size in sizes) ** 2 / (2 * rho)


def laplace_alone(sizes: list[int]) -> tuple[float, float]:
    """The same for shares of ε."""
    epsilon = float(EPSILON)
    return 2 * sum(sizes) * (len(sizes) / epsilon) ** 2, 2 * sum(math.cbrt(size) for size in sizes) ** 3 / epsilon**2


def rows(folder: Path) -> Iterator[Sequence[str]]:
    """One for each mechanism and number of columns a table."""
    domain: dict[str, int] = json.loads((folder / "adult_discrete-domain.json").read_text(encoding="utf-8"))
    columns, sizes = tuple(domain), tuple(domain.values())
    records = np.loadtxt(folder / "adult_discrete.csv", delimiter=",", skiprows=1, dtype=np.int64)
    for ways in (1, 2, 3):
        workload = tuple(itertools.combinations(columns, ways))
        start = time.perf_counter()
        truth = counted(records, columns, sizes, workload)
        counting = f"{time.perf_counter() - start:.2f}"
        kinds: list[tuple[str, ResidualMarginals | FourierMarginals, Callable[[list[int]], tuple[float, float]]]] = [
            ("residuals, total", ResidualMarginals(columns, sizes, workload, RHO), gaussian_alone),
            ("residuals, worst", ResidualMarginals(columns, sizes, workload, RHO, "worst"), gaussian_alone),
            ("Fourier", FourierMarginals(columns, sizes, workload, EPSILON), laplace_alone),
        ]
        for name, mechanism, alone in kinds:
            cells = measured(mechanism, truth, alone)
            price = f"ρ = {RHO}" if alone is gaussian_alone else f"ε = {EPSILON}"
            *figures, took = cells
            peak = f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f}"
            yield name, price, str(len(workload)), *figures, counting, took, peak


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, default=Path(__file__).parent.parent.parent / "shared" / "data")
    folder: Path = parser.parse_args().data
    if not (folder / "adult_discrete.csv").exists():
        print("Not run: adult_discrete.csv is not there; `--data DIR` says where it is.")
        return
    heads = ("method", "price", "tables", "equal", "best", "ours", "seen", "fitted", "count s", "release s", "peak MB")
    print("\n".join("| " + " | ".join(line) + " |" for line in (heads, ["---"] * len(heads), *rows(folder))))


if __name__ == "__main__":
    main()
