"""Design: how rows become numbers between −1 and 1, by public facts alone, and the sums of their products.

Column i of a row is xᵢ steps on its declared grid. A mechanism works with uᵢ = (xᵢ − mᵢ)/sᵢ, for a public middle mᵢ and
a public scale sᵢ. By bounds alone |uᵢ| ≤ 1. By a norm the features of a row are drawn towards zero until their length
is at most that, and uᵢ are their parts of it: Σ uᵢ² ≤ 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.declared.grid import Grid
from discreet.declared.table import Outline, grid_of
from discreet.errors import Refusal
from discreet.exact import spoken
from discreet.mechanisms import Relation
from discreet.mechanisms.gram import gram
from discreet.noise import SECURE, Entropy

_ROWS = 1 << 16  # that are held at once
_FINEST, _COARSEST = Fraction(1, 1 << 400), 1 << 400  # of a step, as a share of the norm: doubles hold its square


@dataclass(frozen=True)
class Scale:
    """One column: its grid, the step that counts as zero, and how many steps count as one."""

    grid: Grid
    middle: int
    steps: Fraction

    @property
    def zero(self) -> float:
        """The number that u = 0 stands for."""
        return float(self.middle * self.grid.step)

    @property
    def one(self) -> float:
        """How far u = 1 is from it."""
        return float(self.steps * self.grid.step)


@dataclass(frozen=True)
class Design:
    """Features and a label as numbers between −1 and 1; with an intercept there is a first feature that is always 1."""

    names: tuple[str, ...]  # of the features
    features: tuple[Scale, ...]
    label_name: str
    label: Scale
    intercept: bool
    norm: Fraction | None

    @classmethod
    def of(
        cls, known: Outline, features: tuple[str, ...], label: str, *, intercept: bool, norm: Fraction | None
    ) -> Design:
        """Of what is declared. Without an intercept nothing is moved: zero stays zero."""
        grids = [grid_of(known, name) for name in features]
        target = grid_of(known, label)
        scales = tuple(
            _centred(grid, moved=intercept) if norm is None else Scale(grid, 0, norm / grid.step) for grid in grids
        )
        for name, scale in zip(features, scales, strict=True):
            if norm is not None and not _FINEST < 1 / scale.steps < _COARSEST:
                raise Refusal(
                    f"a step of {name!r} is {spoken(scale.grid.step)}, and data_norm={spoken(norm)} is not of its size"
                )
        return cls(features, scales, label, _centred(target, moved=intercept), intercept, norm)

    @property
    def size(self) -> int:
        """How many numbers a row's features are, with the constant one."""
        return len(self.features) + self.intercept

    @property
    def length_squared(self) -> Fraction:
        """The largest Σ uᵢ² of a row, with the constant one."""
        return Fraction(self.size if self.norm is None else self.intercept + 1)

    @property
    def scales(self) -> list[Fraction]:
        """How many steps count as one, of every number of a row."""
        return [Fraction(1)] * self.intercept + [scale.steps for scale in self.features]

    def sums(self, relation: Relation, rng: Entropy = SECURE) -> tuple[NDArray[np.object_], NDArray[np.object_]]:
        """The matrix Σ z zᵀ and the vector Σ z w, exactly: z of features, w of the label, in steps from the middle.

        Rows in which any of these columns is no number are in neither.
        """
        names = [*self.names, self.label_name]
        if self.norm is None:
            moments = relation.products([], names)
        else:
            moments = np.zeros((len(names) + 1, len(names) + 1), dtype=object)
            for batch in relation.batches(_ROWS, names, rng=rng):
                moments = moments + gram(self._within(batch))
        middles = np.array([0, *(each.middle for each in (*self.features, self.label))], dtype=object)
        first = moments[0]
        centred = moments - np.outer(middles, first) - np.outer(first, middles) + np.outer(middles, middles) * first[0]
        centred[0], centred[:, 0] = first - middles * first[0], first - middles * first[0]
        centred[0, 0] = first[0]
        start = 0 if self.intercept else 1
        return centred[start:-1, start:-1], centred[start:-1, -1]

    def _within(self, batch: pa.RecordBatch) -> NDArray[np.int64]:
        """1, features and label of the rows that have them all, the features drawn towards zero to the norm.

        Guarantee: the features x of a row satisfy Σ (xᵢ/sᵢ)² ≤ 1.
        Proof: docs/proofs/least_squares.md, "Rows within a norm".
        """
        columns = [batch.column(name) for name in (*self.names, self.label_name)]
        there = np.logical_and.reduce([column.is_valid().to_numpy(zero_copy_only=False) for column in columns])
        steps = np.column_stack([column.fill_null(0).to_numpy(zero_copy_only=False) for column in columns])[there]
        features = steps[:, :-1]
        shares = np.array([float(1 / scale.steps) for scale in self.features])
        length = np.sqrt(np.sum((features * shares) ** 2, axis=1)) * (1 + (len(shares) + 32) * 2.0**-52)
        inside = np.trunc(features / np.maximum(length, 1)[:, np.newaxis] * (1 - 2.0**-50)).astype(np.int64)
        features = np.where((length > 1)[:, np.newaxis], inside, features)
        return np.column_stack([np.ones(len(steps), dtype=np.int64), features, steps[:, -1]])


def _centred(grid: Grid, *, moved: bool) -> Scale:
    """By bounds: zero is the middle of them, or stays where it is."""
    return (
        Scale(grid, grid.middle, Fraction(max(1, grid.half))) if moved else Scale(grid, 0, Fraction(max(1, grid.reach)))
    )
