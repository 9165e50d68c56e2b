"""A median with noise fitted to the data beats noise for the whole range at least tenfold, at the same (ε, δ).

The noise that 95 % of answers stay within, in the data's unit, for usual data between its declared bounds. Against it
stands the best noise for the whole range: discrete Laplace at ε, which needs no δ. The last column is the exponential
mechanism, measured in its own way: the distance of the answers from the median that 95 % of 200 runs stay within.
With matplotlib installed it also draws docs/images/smooth.png.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms import Grid, PureMedian, Quantile, SmoothMedian
from discreet.privacy.calibrate import laplace_error

PLOT = Path(__file__).parents[1] / "docs" / "images" / "smooth.png"
DELTA = Fraction(1, 10**6)
SURE = Fraction(95, 100)
HALF = Fraction(1, 2)
Values = NDArray[np.float64]


def populations(size: int) -> dict[str, tuple[Values, Grid]]:
    """Usual data of one size, with bounds that a custodian would declare without looking."""
    draw = np.random.default_rng(size)
    return {
        "incomes, lognormal": (draw.lognormal(10, 0.7, size), Grid(0, 500_000, 1)),
        "ages, normal, in days": (365 * draw.normal(40, 12, size), Grid(0, 45_000, 1)),
        "waiting times, exponential, in seconds": (draw.exponential(600, size), Grid(0, 86_400, 1)),
        "two groups, half a range apart": (
            np.concatenate([draw.normal(2e5, 1e4, size // 3), draw.normal(4e5, 1e4, size - size // 3)]),
            Grid(0, 1_000_000, 1),
        ),
    }


def errors(values: Values, grid: Grid, epsilon: Fraction) -> tuple[float, float, float]:
    """Noise for the whole range; fitted Laplace noise; fitted Student noise: the 95 % error of each."""
    bounds = grid.lower, grid.upper, grid.step
    whole = grid.step * laplace_error(grid.span / epsilon, SURE)
    fitted = SmoothMedian(epsilon, DELTA, *bounds).error_on(values, SURE)
    pure = PureMedian(epsilon, *bounds).error_on(values, SURE)
    return float(whole), float(fitted), float(pure)


def chosen(values: Values, grid: Grid, epsilon: Fraction) -> float:
    """The exponential mechanism over the grid."""
    mechanism, truth = Quantile.of(HALF, grid, epsilon), float(np.median(values))
    return float(np.quantile([abs(float(mechanism(values)) - truth) for _ in range(200)], 0.95))


def rows() -> Iterator[Sequence[str]]:
    """One for each population, size and ε."""
    for size, epsilon in ((1000, Fraction(1)), (10_000, Fraction(1)), (10_000, Fraction(1, 4))):
        for name, (values, grid) in populations(size).items():
            whole, fitted, pure = errors(values, grid, epsilon)
            assert whole >= 10 * fitted, (name, size)
            assert whole >= 10 * pure, (name, size)
            yield (
                name, f"{size:,}", str(epsilon), f"{whole:,.0f}", f"{fitted:,.0f}", f"{whole / fitted:,.0f}",
                f"{pure:,.0f}", f"{whole / pure:,.0f}", f"{chosen(values, grid, epsilon):,.0f}",
            )  # fmt: skip


def table(heads: Sequence[str], lines: Iterator[Sequence[str]]) -> str:
    """A Markdown table."""
    return "\n".join("| " + " | ".join(line) + " |" for line in (heads, ["---"] * len(heads), *lines))


def plot(pyplot: Any) -> None:
    """The error against the number of rows, one panel an ε."""
    sizes = [10, 30, 100, 300, 1000, 3000, 10_000, 30_000]
    figure, panels = pyplot.subplots(1, 2, figsize=(8, 3.2), sharey=True, constrained_layout=True)
    for panel, epsilon in zip(panels, (Fraction(1), Fraction(1, 4)), strict=True):
        lines = [errors(*populations(size)["incomes, lognormal"], epsilon) for size in sizes]
        labels = ("noise for the whole range", "SmoothMedian, δ = 10⁻⁶", "PureMedian")
        for place, (label, style) in enumerate(zip(labels, ("k:", "--", "-"), strict=True)):
            panel.plot(sizes, [line[place] for line in lines], style, label=label)
        panel.set(title=f"median income, ε = {epsilon}", xlabel="rows", xscale="log", yscale="log")
    panels[0].set_ylabel("95 % error")
    panels[0].legend(fontsize=8)
    PLOT.parent.mkdir(exist_ok=True)
    figure.savefig(PLOT, dpi=110)


def main() -> None:
    """Print the table; draw, if there is something to draw with."""
    fitted = ("`SmoothMedian`", "times better", "`PureMedian`", "times better")
    heads = ("data", "rows", "ε", "whole range", *fitted, "`Quantile`")
    print(table(heads, rows()))
    try:
        pyplot = importlib.import_module("matplotlib.pyplot")
    except ImportError:
        return
    plot(pyplot)


if __name__ == "__main__":
    main()
