"""Columns chosen with a holdout fit it: 63 % are reported where 50 % are true. A reusable one reports what is true.

The experiment of Dwork, Feldman, Hardt, Pitassi, Reingold & Roth 2015: 10,000 rows to train on, as many kept aside,
10,000 columns. A column is kept if it agrees with the label in both; k of them vote. Nothing is to be found, or 20
columns are shifted by 6/√n. Both holdouts answer 10,000 questions about columns and 12 about votes; `Thresholdout` has
the published placement of noise, with σ = √n/4 rows. "Proven" is the widest of the intervals around votes that hold all
together at 95 %, beside that of sample splitting. With matplotlib it also draws docs/images/holdout.png.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.noise import SECURE
from discreet.privacy import Replace
from discreet.validity import Guessed, Thresholdout, claims, splitting

PLOT = Path(__file__).parents[1] / "docs" / "images" / "holdout.png"
ROWS = COLUMNS = 10_000
VOTERS = (10, 20, 30, 45, 70, 100, 150, 200, 250, 300, 400, 500)
SHOWN = (20, 100, 300, 500)
FINE, FAR = 256, 3  # values are whole numbers of this part, and products are cut off beyond ±3
HARD = 2_000

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Rows:
    """Features and labels ±1."""

    features: Floats
    labels: Floats

    @classmethod
    def drawn(cls, rng: np.random.Generator, *, signal: bool) -> Rows:
        """Fresh ones."""
        labels = np.where(rng.random(ROWS) < 0.5, -1, 1).astype(np.float32)
        features = rng.standard_normal((ROWS, COLUMNS), dtype=np.float32)
        if signal:
            features[:, :20] += np.float32(6 / ROWS**0.5) * labels[:, None]
        return cls(features, labels)

    def agreements(self) -> NDArray[np.int64]:
        """For each column the sum over rows of feature times label, from −3 to 3, as a count of whole parts."""
        sums = np.zeros(COLUMNS)
        for start in range(0, ROWS, 1000):
            part = slice(start, start + 1000)
            products = np.clip(self.features[part] * self.labels[part, None], -FAR, FAR)
            sums += np.rint((products + FAR) * FINE).sum(axis=0, dtype=np.float64)
        return sums.astype(np.int64)

    def right(self, columns: NDArray[np.int64], signs: Floats) -> int:
        """How many labels a vote of columns gets right."""
        return int(np.sum(np.sign(self.features[:, columns] @ signs) == self.labels))


class Standard:
    """A holdout that answers exactly."""

    def ask(self, count: int, _: int) -> int:
        """The count."""
        return count


class Reusable:
    """The mechanism, in memory."""

    def __init__(self) -> None:
        loss = 8 * Fraction(HARD * 2 * FAR) / isqrt(ROWS)  # so that σ is √n/4 rows
        self.mechanism = Thresholdout(
            loss,
            4 * isqrt(ROWS) * FINE,
            ROWS,
            HARD,
            sensitivity=2 * FAR * FINE,
            rounding=isqrt(ROWS) * FINE // 8,
            questions=COLUMNS + len(VOTERS),
            neighbours=Replace(),
        )
        self.state = self.mechanism.start(SECURE)

    def ask(self, count: int, guess: int) -> int:
        """The guess, or the count with noise."""
        self.state = self.mechanism.step(self.state, Guessed(count, guess), SECURE)
        return self.state.said[-1]


def selected(train: Rows, holdout: Rows, fresh: Rows, judge: Standard | Reusable) -> NDArray[np.float64]:
    """For each number of voters: the share right that the holdout reports, and the share in fresh rows."""
    center, usual = FAR * FINE * ROWS, isqrt(ROWS) * FINE
    known = train.agreements()
    told = np.array([judge.ask(int(c), int(g)) for c, g in zip(holdout.agreements(), known, strict=True)]) - center
    seen = known - center
    kept = ((seen > usual) & (told > usual)) | ((seen < -usual) & (told < -usual))
    order = np.argsort(-np.where(kept, np.abs(seen), 0))
    lines = []
    for voters in VOTERS:
        columns = order[:voters]
        columns = columns[kept[columns]]
        signs = np.sign(seen[columns]).astype(np.float32)
        counts = [rows.right(columns, signs) for rows in (train, holdout, fresh)]
        reported = judge.ask(counts[1] * FINE, counts[0] * FINE) / FINE
        lines.append((reported / ROWS, counts[2] / ROWS))
    return np.array(lines)


@dataclass(frozen=True)
class Measured:
    """Shares by repetition, number of voters, and reported or fresh; and what was used of the reusable holdouts."""

    standard: NDArray[np.float64]
    reusable: NDArray[np.float64]
    hard: float
    proven: float


def measured(repetitions: int, *, signal: bool) -> Measured:
    """So many runs."""
    rng = np.random.default_rng(2015 + signal)
    standard, reusable, hard, proven = [], [], [], 0.0
    for _ in range(repetitions):
        train, holdout, fresh = (Rows.drawn(rng, signal=signal) for _ in range(3))
        judge = Reusable()
        standard.append(selected(train, holdout, fresh, Standard()))
        reusable.append(selected(train, holdout, fresh, judge))
        hard.append(len(judge.state.comparison.hard))
    told = claims(judge.mechanism, judge.mechanism.answers(judge.state))
    proven = max(float(claim.high - claim.low) / 2 for claim in told[-len(VOTERS) :]) * 2 * FAR
    return Measured(np.array(standard), np.array(reusable), float(np.mean(hard)), proven)


def cell(shares: NDArray[np.float64]) -> str:
    """Mean in per cent, with its standard error."""
    error = shares.std(ddof=1) / len(shares) ** 0.5 if len(shares) > 1 else 0.0
    return f"{100 * shares.mean():.1f} ± {100 * error:.2f}"


def rows(signal: str, found: Measured) -> Iterator[Sequence[str]]:
    """One for each number of voters that is shown."""
    for place, voters in enumerate(VOTERS):
        if voters in SHOWN:
            parts = (found.standard, found.reusable)
            yield signal, str(voters), *(cell(part[:, place, which]) for part in parts for which in (0, 1))


def plot(pyplot: Any, runs: dict[str, Measured]) -> None:
    """Reported and true shares, with and without something to find."""
    figure, panels = pyplot.subplots(len(runs), 2, figsize=(9, 6), sharex=True, sharey=True, constrained_layout=True)
    for line, (signal, found) in zip(panels, runs.items(), strict=True):
        for panel, name, shares in zip(line, ("holdout", "reusable"), (found.standard, found.reusable), strict=True):
            for which, label, style in ((0, "reported", "-"), (1, "fresh rows", "--")):
                mean, spread = shares[:, :, which].mean(axis=0), shares[:, :, which].std(axis=0)
                panel.plot(VOTERS, 100 * mean, style, label=label)
                panel.fill_between(VOTERS, 100 * (mean - spread), 100 * (mean + spread), alpha=0.2)
            panel.set_title(f"{name}, {signal}", fontsize=9)
            panel.axhline(50, color="grey", linewidth=0.5)
    panels[0][0].legend(fontsize=8)
    for panel in panels[-1]:
        panel.set_xlabel("columns that vote")
    for line in panels:
        line[0].set_ylabel("% right")
    PLOT.parent.mkdir(exist_ok=True)
    figure.savefig(PLOT, dpi=110)


def main(repetitions: int = 20) -> None:
    """Print the table; draw, if there is something to draw with."""
    runs = {
        "nothing to find": measured(repetitions, signal=False),
        "20 columns": measured(repetitions, signal=True),
    }
    heads = ["", "k", "holdout reports", "fresh", "reusable reports", "fresh"]
    lines = [line for signal, found in runs.items() for line in rows(signal, found)]
    print("\n".join("| " + " | ".join(line) + " |" for line in (heads, ["---"] * len(heads), *lines)))
    split = float(splitting(ROWS, COLUMNS + len(VOTERS)))
    for signal, found in runs.items():
        proven = f"proven ± {min(1, found.proven):.2f}, by splitting ± {split:.2f}"
        print(f"\n{signal}: {found.hard:.0f} hard answers a run; {proven}")
    try:
        pyplot = importlib.import_module("matplotlib.pyplot")
    except ImportError:
        return
    plot(pyplot, runs)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
