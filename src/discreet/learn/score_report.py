"""Scores of a model as data: what noisy counts of its rights and wrongs say, and how sure that is."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.declared.group_key import Key
from discreet.learn.moments import Width
from discreet.mechanisms.mechanism import USUAL

_ROUNDED = 1 + 2.0**-20  # what computing in doubles may take from a bound


@dataclass(frozen=True)
class Calibrated:
    """Rows to which a model gives a chance between `low` and `high`: about how many, and how often it comes true."""

    low: float
    high: float
    rows: float
    true: float | None


@dataclass(frozen=True)
class ClassifierScore:
    """How good a classifier is: of noisy counts, with a row for each class and a column for each thing it says.

    `accuracy` is within `accuracy_error` of the truth for the rows that count, with 95 % confidence. Of two classes
    `area` is the area under the receiver operating characteristic, of scores in as many bins as there are columns, and
    `calibration` how often what has a chance comes true; of these no error is known.
    """

    classes: tuple[Key, ...]
    counts: tuple[tuple[float, ...], ...]
    rows: float
    accuracy: float | None
    accuracy_error: float | None
    area: float | None
    calibration: tuple[Calibrated, ...]

    @classmethod
    def of(
        cls, classes: tuple[Key, ...], counts: NDArray[np.float64], width: Width, *, calibrated: bool
    ) -> ClassifierScore:
        """What follows from noisy counts alone."""
        binned = counts.shape[1] != len(classes)
        each = counts.shape[1] // len(classes) if binned else 1
        right = sum(float(row[i * each : (i + 1) * each].sum()) for i, row in enumerate(counts))
        rows = float(counts.sum())
        inside = len(classes) * each
        known = rows > 0
        far = max(off(width, inside), off(width, counts.size - inside))
        return cls(
            classes,
            tuple(tuple(map(float, row)) for row in counts),
            rows,
            min(1.0, max(0.0, right / rows)) if known else None,
            min(1.0, far / rows) if known else None,
            _area(*np.maximum(counts, 0)) if len(classes) == 2 else None,
            _calibration(np.maximum(counts, 0)) if binned and calibrated else (),
        )


@dataclass(frozen=True)
class NumberScore:
    """How good a model of a number is: about how many rows there are, and how far off what it says of them.

    What it is off by counts at most as the range between the bounds of the label. No error is known of these.
    """

    rows: float
    mean_absolute_error: float | None
    mean_squared_error: float | None
    r2: float | None

    @classmethod
    def of(cls, shares: NDArray[np.float64], one: float) -> NumberScore:
        """What follows from noisy shares of two squares, `one` being the range."""
        rows = float(shares.sum()) / 2
        if not rows > 0:
            return cls(rows, None, None, None)
        (_, across, square), (_, off, far) = np.clip(shares / rows, 0, 1)
        spread = square - (across / 2 + square) ** 2
        told = float(1 - far / spread) if spread > 0 else None
        return cls(rows, one * float(min(1, off / 2 + far)), one**2 * float(far), told)


def off(width: Width, cells: int) -> float:
    """How far the noise on so many cells is from nothing together, at most, but for a chance of 1/40.

    Proof: docs/proofs/moments.md, "How good a model is".
    """
    rare = math.log(4 / float(1 - USUAL))
    if cells == 0:
        return 0.0
    if width.gaussian:
        return math.sqrt(2 * cells * float(width.of) * rare) * _ROUNDED
    shares = (i / 1000 for i in range(1, 1000))
    return float(width.of) * min((rare - cells * math.log1p(-(x**2))) / x for x in shares) * _ROUNDED


def _area(first: NDArray[np.float64], second: NDArray[np.float64]) -> float | None:
    """How often a row of the second class has the higher score of two, ties for a half."""
    if not (first.sum() > 0 and second.sum() > 0):
        return None
    below = np.cumsum(first) - first / 2
    return float((second * below).sum() / (first.sum() * second.sum()))


def _calibration(counts: NDArray[np.float64]) -> tuple[Calibrated, ...]:
    total, size = counts.sum(axis=0), counts.shape[1]
    return tuple(
        Calibrated(i / size, (i + 1) / size, float(rows), float(true / rows) if rows > 0 else None)
        for i, (rows, true) in enumerate(zip(total, counts[1], strict=True))
    )
