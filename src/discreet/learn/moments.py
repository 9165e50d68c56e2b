"""Means and variances of several columns, for each class of a label or for all rows: naive Bayes, and scaling.

A number t of s steps above the lower bound, s the most there can be, is three shares of s²: (s − t)², 2t(s − t) and t².
What is told is their sums over rows, with noise: each row adds one in all for each column, whatever its number is.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.declared.table import Outline, grid_of, keys_of
from discreet.exact import nonnegative
from discreet.interval_arithmetic import simpler_up
from discreet.learn.bayes_model import BayesClassifier
from discreet.learn.convex_risk import classes_of
from discreet.learn.fit_parameters import OverRows, Priced, settle_columns, settle_price
from discreet.learn.fit_price import FitLoss, rho_of
from discreet.learn.scaling_model import Scaling
from discreet.mechanisms import Column, Frame, Pair, Relation, registered
from discreet.mechanisms.mechanism import settle, yes_or_no
from discreet.mechanisms.private_rows import squares
from discreet.noise import SECURE, Entropy, gaussian, laplace
from discreet.privacy import AddRemove, Neighbours, Pure

_MOST_VARIANCE = 0.25  # of numbers between 0 and 1
_LEAST_VARIANCE = 2.0**-60

Shares = NDArray[np.object_]  # classes × columns × 3, in squares of steps


@dataclass(frozen=True)
class Width:
    """Noise on each share: the scale of Laplace noise, or the variance of Gaussian, where s² counts as one."""

    of: Fraction
    gaussian: bool

    @classmethod
    def at(cls, loss: FitLoss, columns: int, rows: int, neighbours: Neighbours) -> Width:
        """At a price, for so many columns, and so many rows of one unit.

        Proof: docs/proofs/moments.md, "Several columns".
        """
        two = 1 if isinstance(neighbours, AddRemove) else 2
        if isinstance(loss, Pure):
            return cls(simpler_up(two * rows * columns / loss.epsilon), gaussian=False)
        return cls(simpler_up(two * rows**2 * columns / (2 * rho_of(loss))), gaussian=True)

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise."""
        return float(self.of) ** 0.5 if self.gaussian else float(self.of) * 2**0.5

    def added(self, value: int, square: int, rng: Entropy) -> float:
        """A share with noise, as a double in which s² counts as one."""
        drawn = gaussian(self.of * square**2, rng=rng) if self.gaussian else laplace(self.of * square, rng=rng)
        return float(Fraction(value + drawn, square))


def shares(relation: Relation, columns: tuple[str, ...], by: tuple[str, ...]) -> Shares:
    """The three sums of each column, exactly, for each combination of declared keys."""
    products = relation.products(by, columns).reshape(-1, len(columns) + 1, len(columns) + 1)
    told = np.zeros((len(products), len(columns), 3), dtype=object)
    for i, name in enumerate(columns):
        grid, own = grid_of(relation, name), products[:, i + 1, i + 1]
        low, most, rows = grid.low, max(1, grid.span), products[:, 0, 0]
        first = products[:, 0, i + 1] - low * rows
        second = own - 2 * low * products[:, 0, i + 1] + low * low * rows
        told[:, i, 0] = rows * most**2 - 2 * most * first + second
        told[:, i, 1] = 2 * (most * first - second)
        told[:, i, 2] = second
    return told


@dataclass(frozen=True)
class Told:
    """What noisy shares say: how many rows there are of each class, and means and variances of its columns."""

    rows: NDArray[np.float64]
    means: NDArray[np.float64]
    variances: NDArray[np.float64]


def _told(relation: Relation, columns: tuple[str, ...], exact: Shares, width: Width, rng: Entropy) -> Told:
    """Shares with noise, and what follows from them. A variance is no smaller than what noise makes of none."""
    grids = [grid_of(relation, name) for name in columns]
    squares = [max(1, grid.span) ** 2 for grid in grids]
    drawn = [[[width.added(v, s, rng) for v in own] for own, s in zip(each, squares, strict=True)] for each in exact]
    noisy = np.array(drawn, dtype=np.float64)
    whole = noisy.sum(axis=2)
    known = whole > width.deviation
    count = np.where(known, whole, 1)
    mean = np.where(known, np.clip((noisy[:, :, 1] / 2 + noisy[:, :, 2]) / count, 0, 1), 0.5)
    least = np.clip(width.deviation / count, _LEAST_VARIANCE, _MOST_VARIANCE)
    spread = np.where(known, np.clip(noisy[:, :, 2] / count - mean**2, least, _MOST_VARIANCE), _MOST_VARIANCE)
    step = np.array([float(grid.step) for grid in grids])
    reach, low = np.sqrt(np.array(squares, dtype=np.float64)) * step, np.array([float(g.low * g.step) for g in grids])
    return Told(np.maximum(whole.mean(axis=1), 1), low + reach * mean, reach**2 * spread)


class _OfShares(Priced, OverRows):
    """What naive Bayes and scaling say of themselves alike."""

    features: tuple[str, ...]
    neighbours: Any

    @property
    def width(self) -> Width:
        """How much noise there is on each share, by public facts alone."""
        return Width.at(self.privacy, len(self.features), self.max_rows, self.neighbours)

    def refuse_unfit(self, known: Outline) -> None:
        """Where the label, if there is one, has no declared keys, or a feature no bounds and step."""
        label = getattr(self, "label", None)
        if label is not None:
            classes_of(known, label)
        squares(known, [] if label is None else [label], self.features)

    def pairs(self) -> tuple[Pair[Frame], ...]:
        """A few rows at both bounds, and those of one unit more at one of them, or at the other."""
        rows = self.max_rows
        if isinstance(self.neighbours, AddRemove):
            every = [(few, side) for few in (0, 4) for side in (1, -1)]
            why = "rows of a unit at a bound, or none"
            return tuple(Pair(self._frame(few, ()), self._frame(few, (side,) * rows), why) for few, side in every)
        return (Pair(self._frame(4, (1,) * rows), self._frame(4, (-1,) * rows), "rows of a unit at either bound"),)

    def _frame(self, few: int, own: tuple[int, ...]) -> Frame:
        sides = [*((-1) ** i for i in range(few)), *own]
        held: dict[str, Any] = dict.fromkeys(self.features, sides) | {"of": [*range(few), *[few] * len(own)]}
        columns = [Column(name, bounds=(-1, 1), step=1) for name in self.features]
        label = getattr(self, "label", None)
        if label is not None:
            held[label] = [side > 0 for side in sides]
            columns.append(Column(label, keys=(False, True)))
        return Frame.of(held, *columns, unit="of", max_rows=self.max_rows, neighbours=self.neighbours)


@registered("naive-bayes")
@dataclass(frozen=True)
class NaiveBayes(_OfShares):
    """Naive Bayes classifier: for each class the mean and variance of each feature, as if they were normal.

    Everything is bought at once. `smoothing` is added to all variances, as a share of the largest.

    Guarantee: Pure(epsilon), Approximate(epsilon, delta) or Concentrated(rho), when all rows of one unit, of which
        there are at most `max_rows`, are added or removed; or replaced, if those are its neighbours.
    Proof: docs/proofs/moments.md, "Several columns".
    Source: Vaidya, Shafiq, Basu & Hong 2013 for the idea; the sums and the noise on them are those of `Variance`.
    """

    model: ClassVar[type[BayesClassifier]] = BayesClassifier

    features: tuple[str, ...]
    label: str
    epsilon: Fraction | None = None
    delta: Fraction = Fraction(0)
    rho: Fraction | None = None
    smoothing: Fraction = Fraction(1, 10**9)
    max_rows: int = 1
    neighbours: Neighbours = AddRemove()

    def __post_init__(self) -> None:
        settle_columns(self)
        settle_price(self)
        settle(self, smoothing=nonnegative(self.smoothing, "smoothing"))

    @property
    def numbers(self) -> int:
        """A mean and a variance of each feature for each of two classes, and how frequent they are."""
        return 2 * (2 * len(self.features) + 1)

    def __call__(self, relation: Relation, /, *, rng: Entropy = SECURE) -> BayesClassifier:
        """The model. Spends `privacy`."""
        classes, keys = classes_of(relation, self.label), keys_of(relation, self.label)
        exact = shares(relation, self.features, (self.label,))[[keys.index(each) for each in classes]]
        told = _told(relation, self.features, exact, self.width, rng)
        variances = told.variances + float(self.smoothing) * told.variances.max()
        held = [tuple(tuple(map(float, row)) for row in each) for each in (told.means, variances)]
        return BayesClassifier(self.features, classes, tuple(map(float, told.rows / told.rows.sum())), *held)


@registered("standard-scaler")
@dataclass(frozen=True)
class Standardize(_OfShares):
    """Scaling of columns to mean 0 and variance 1, by noisy means and variances.

    `with_mean` and `with_std` say which of the two is done.

    Guarantee: Pure(epsilon), Approximate(epsilon, delta) or Concentrated(rho), when all rows of one unit, of which
        there are at most `max_rows`, are added or removed; or replaced, if those are its neighbours.
    Proof: docs/proofs/moments.md, "Several columns".
    Source: Dwork, McSherry, Nissim & Smith 2006, Proposition 1, for the sums of `Variance`.
    """

    model: ClassVar[type[Scaling]] = Scaling

    features: tuple[str, ...]
    epsilon: Fraction | None = None
    delta: Fraction = Fraction(0)
    rho: Fraction | None = None
    with_mean: bool = True
    with_std: bool = True
    max_rows: int = 1
    neighbours: Neighbours = AddRemove()

    def __post_init__(self) -> None:
        settle_columns(self)
        settle_price(self)
        which = {name: yes_or_no(getattr(self, name), name) for name in ("with_mean", "with_std")}
        settle(self, **which)

    @property
    def numbers(self) -> int:
        """A mean and a variance of each column."""
        return 2 * len(self.features)

    def __call__(self, relation: Relation, /, *, rng: Entropy = SECURE) -> Scaling:
        """The model. Spends `privacy`."""
        told = _told(relation, self.features, shares(relation, self.features, ()), self.width, rng)
        grids = [grid_of(relation, name) for name in self.features]
        reach = np.array([float(max(1, grid.span) * grid.step) for grid in grids])
        flat = told.variances[0] <= 2 * _LEAST_VARIANCE * reach**2  # a column of one number stays as wide as it is
        scales = np.where(flat | (not self.with_std), 1, np.sqrt(told.variances[0]))
        return Scaling(self.features, tuple(map(float, told.means[0] * self.with_mean)), tuple(map(float, scales)))
