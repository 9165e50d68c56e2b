"""Of 1024 secrets, 4096 counts up to 0.25 √n off give 99 % and more; counts at a total of ε = 1 give what a coin gives.

What least squares recovers, averaged over five crowds, beside its forecast and the ceiling, which holds on average. The
noise of a curator is drawn by its own mechanism. With matplotlib installed it also draws docs/images/attacks.png.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.attack import (
    ceiling_of_many,
    inner_product,
    least_squares,
    matrix,
    predicted,
    subsets,
    told_apart,
)
from discreet.mechanisms import LaplaceVector
from discreet.privacy import Pure

PLOT = Path(__file__).parents[1] / "docs" / "images" / "attacks.png"
PEOPLE, QUESTIONS, CROWDS = 1024, 4096, 5
MEMBERS, COLUMNS = 100, (100, 1000, 10_000)
BOUNDED = (0, 0.1, 0.25, 0.5, 1.0, 2.0)  # times √n
EPSILONS = (1, 10, 100, 1000)
SCALES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 1024, 4096)

Floats = NDArray[np.float64]


def laplace(sums: Floats, scale: Fraction) -> Floats:
    """The counts with noise, as a curator adds it."""
    return np.asarray(LaplaceVector(scale, QUESTIONS)(sums.astype(np.int64)), dtype=np.float64)


def bounded(sums: Floats, far: float, rng: np.random.Generator) -> Floats:
    """The counts, each up to so far off."""
    return sums + np.round(rng.uniform(-far, far, QUESTIONS))


def recovered(members: Floats, crowds: Sequence[Floats], told: Sequence[Floats]) -> float:
    """The share of secrets that are named rightly, over all crowds."""
    return float(np.mean([(least_squares(members, t) == x).mean() for t, x in zip(told, crowds, strict=True)]))


def rows(members: Floats, crowds: Sequence[Floats]) -> Iterator[Sequence[str]]:
    """One for each kind of noise."""
    rng = np.random.default_rng(1)
    for share in BOUNDED:
        far = share * PEOPLE**0.5
        got = recovered(members, crowds, [bounded(members @ x, far, rng) for x in crowds])
        forecast = predicted(PEOPLE, QUESTIONS, far / 3**0.5)
        yield f"up to {share:g} √n off", f"{100 * got:.1f} %", f"{100 * forecast:.1f} %", "none"
    for epsilon in EPSILONS:
        scale = Fraction(QUESTIONS, epsilon)
        got = recovered(members, crowds, [laplace(members @ x, scale) for x in crowds])
        most = float(ceiling_of_many(Pure(1 / scale), QUESTIONS))
        forecast = predicted(PEOPLE, QUESTIONS, float(scale) * 2**0.5)
        yield f"ε = {epsilon} in all", f"{100 * got:.1f} %", f"{100 * forecast:.1f} %", f"{100 * most:.1f} %"


def draw(members: Floats, crowds: Sequence[Floats]) -> None:
    """The share recovered against the scale of Laplace noise."""
    pyplot: Any = importlib.import_module("matplotlib.pyplot")
    got = [
        recovered(members, crowds[:2], [laplace(members @ x, Fraction(scale)) for x in crowds[:2]]) for scale in SCALES
    ]
    forecast = [predicted(PEOPLE, QUESTIONS, scale * 2**0.5) for scale in SCALES]
    most = [float(ceiling_of_many(Pure(Fraction(1, scale)), QUESTIONS)) for scale in SCALES]
    figure, axes = pyplot.subplots(figsize=(7, 3.6))
    axes.plot(SCALES, most, color="#b3541e", label="no attacker gets more")
    axes.plot(SCALES, forecast, "--", color="#777777", label="forecast")
    axes.plot(SCALES, got, "o", color="#23527c", label="recovered by least squares")
    axes.axhline(0.5, color="#bbbbbb", linewidth=1)
    axes.set(xscale="log", xlabel="scale of the noise on each of 4096 counts", ylabel="share of 1024 secrets")
    axes.legend(frameon=False)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    figure.tight_layout()
    figure.savefig(PLOT, dpi=110)


def areas() -> Iterator[Sequence[str]]:
    """How well members are told from others, for each kind of means and number of columns."""
    rng = np.random.default_rng(8)
    found: dict[str, list[str]] = {"exact": [], "rounded to 5 %": [], "ε = 10": [], "ε = 1": []}
    for columns in COLUMNS:
        chances = rng.uniform(0.05, 0.95, columns)
        inside, outside, practice, others = (
            (rng.random((MEMBERS, columns)) < chances).astype(np.float64) for _ in range(4)
        )
        sums = inside.sum(axis=0).astype(np.int64)
        noisy = {e: LaplaceVector(Fraction(columns, e), columns)(sums) / MEMBERS for e in (10, 1)}
        means = sums / MEMBERS
        for name, told in zip(found, (means, np.round(means * 20) / 20, noisy[10], noisy[1]), strict=True):
            scores = (inner_product(people, others.mean(axis=0), told) for people in (inside, outside, practice))
            found[name].append(f"{told_apart(*scores).area:.3f}")
    for name, cells in found.items():
        epsilon = name.removeprefix("ε = ")
        each = Pure(Fraction(int(epsilon), COLUMNS[-1])) if epsilon.isdigit() else None
        most = "none" if each is None else f"{float(ceiling_of_many(each, COLUMNS[-1])):.4f}"
        yield name, *cells, most


def main() -> None:
    """Print the table, and draw."""
    members, rng = matrix(subsets(QUESTIONS), PEOPLE), np.random.default_rng(0)
    crowds = [rng.integers(0, 2, PEOPLE).astype(np.float64) for _ in range(CROWDS)]
    print("| answers | recovered | forecast | ceiling |", "|---|---|---|---|", sep="\n")
    for cells in rows(members, crowds):
        print(f"| {' | '.join(cells)} |", flush=True)
    start = process_time()
    least_squares(members, members @ crowds[0])
    print(f"\nOne reconstruction takes {process_time() - start:.2f} s of one core. A blind guess gets 50 % ± 0.7.")
    print("\n| published means of 100 people | area, 100 columns | 1,000 | 10,000 | ceiling for 10,000 |")
    print("|---|---|---|---|---|")
    for cells in areas():
        print(f"| {' | '.join(cells)} |")
    print("\nThe standard error of an area is 0.041 where scores say nothing.")
    if importlib.util.find_spec("matplotlib"):
        draw(members, crowds)


if __name__ == "__main__":
    main()
