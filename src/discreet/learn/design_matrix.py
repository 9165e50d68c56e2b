"""Design: how rows become numbers between −1 and 1, by public facts alone, and the sums of their products.

Column i of a row is xᵢ steps on its declared grid. A mechanism works with uᵢ = (xᵢ − mᵢ)/sᵢ, for a public middle mᵢ and
a public scale sᵢ. By bounds alone |uᵢ| ≤ 1. By a norm the features of a row are drawn towards zero until their length
is at most that, and uᵢ are their parts of it: Σ uᵢ² ≤ 1.
"""

from __future__ import annotations

from collections.abc import Iterator
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

FEATURE_BITS = 40  # of a feature between −1 and 1, for sums of it with other numbers to be exact

_ROWS = 1 << 13  # that are held at once, and lie in a cache
_FINEST, _COARSEST = Fraction(1, 1 << 400), 1 << 400  # of a step, as a share of the norm: doubles hold its square

Steps = NDArray[np.int64]
Reals = NDArray[np.float64]


@dataclass(frozen=True)
class Scale:
    """One column: its grid, the step that counts as zero, and how many steps count as one."""

    grid: Grid
    middle: int
    steps: Fraction

    @classmethod
    def centred(cls, grid: Grid, *, moved: bool) -> Scale:
        """By bounds: zero is the middle of them, or stays where it is."""
        if moved:
            return cls(grid, grid.middle, Fraction(max(1, grid.half)))
        return cls(grid, 0, Fraction(max(1, grid.reach)))

    @property
    def zero(self) -> float:
        """The number that u = 0 stands for."""
        return float(self.middle * self.grid.step)

    @property
    def one(self) -> float:
        """How far u = 1 is from it."""
        return float(self.steps * self.grid.step)

    def parts(self, steps: Steps) -> Reals:
        """u of numbers in steps, cut toward zero to whole multiples of 2⁻⁴⁰; never longer than u.

        Proof: 1/s is rounded once, the product twice, and 1 − 2⁻⁵⁰ makes up for that.
        """
        near = (steps - self.middle) * (float(1 / self.steps) * (1 - 2.0**-50) * 2.0**FEATURE_BITS)
        cut: Reals = np.trunc(near, out=near)
        return np.multiply(cut, 2.0**-FEATURE_BITS, out=cut)


@dataclass(frozen=True)
class Design:
    """Features as numbers between −1 and 1; with an intercept there is a first one that is always 1."""

    names: tuple[str, ...]
    features: tuple[Scale, ...]
    intercept: bool
    norm: Fraction | None

    @classmethod
    def of(cls, known: Outline, features: tuple[str, ...], *, intercept: bool, norm: Fraction | None) -> Design:
        """Of what is declared. Without an intercept, and by a norm, nothing is moved: zero stays zero."""
        grids = [grid_of(known, name) for name in features]
        if norm is None:
            return cls(features, tuple(Scale.centred(grid, moved=intercept) for grid in grids), intercept, None)
        for name, grid in zip(features, grids, strict=True):
            if not _FINEST < grid.step / norm < _COARSEST:
                raise Refusal(
                    f"a step of {name!r} is {spoken(grid.step)}, which data_norm={spoken(norm)} cannot measure"
                )
        return cls(features, tuple(Scale(grid, 0, norm / grid.step) for grid in grids), intercept, norm)

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

    def sums(
        self, relation: Relation, name: str, label: Scale, rng: Entropy = SECURE
    ) -> tuple[NDArray[np.object_], NDArray[np.object_]]:
        """The matrix Σ z zᵀ and the vector Σ z w, exactly: z of features, w of the label, in steps from the middle.

        Rows in which any of these columns is no number are in neither.
        """
        names = [*self.names, name]
        if self.norm is None:
            moments = relation.products([], names)
        else:
            moments = np.zeros((len(names) + 1, len(names) + 1), dtype=object)
            for features, target in self.batches(relation, name, rng, number=True):
                moments = moments + gram(np.column_stack([np.ones(len(target), dtype=np.int64), features, target]))
        centred = self.centred(moments, label)
        return centred[:-1, :-1], centred[:-1, -1]

    def products(self, relation: Relation, rng: Entropy = SECURE) -> NDArray[np.object_]:
        """The matrix Σ z zᵀ alone, exactly, over the rows in which every feature is a number."""
        if self.norm is None:
            return self.centred(relation.products([], self.names))
        moments = np.zeros((len(self.names) + 1, len(self.names) + 1), dtype=object)
        for features, _ in self.batches(relation, self.names[0], rng, number=True):
            moments = moments + gram(np.column_stack([np.ones(len(features), dtype=np.int64), features]))
        return self.centred(moments)

    def centred(self, moments: NDArray[np.object_], *more: Scale) -> NDArray[np.object_]:
        """Sums of products of the features and further columns, each from its middle, of those as they stand."""
        middles = np.array([0, *(each.middle for each in (*self.features, *more))], dtype=object)
        first, start = moments[0], 0 if self.intercept else 1
        centred = moments - np.outer(middles, first) - np.outer(first, middles) + np.outer(middles, middles) * first[0]
        told: NDArray[np.object_] = centred[start:, start:]
        return told

    def rows(
        self, relation: Relation, label: str, rng: Entropy = SECURE, *, number: bool = False
    ) -> Iterator[tuple[Reals, Steps]]:
        """u of every row, with the constant one, and its label: its place among declared keys, or else in steps.

        As many rows at once as lie in a cache. A label that is a `number` is in steps in any case.

        Rows without a label, or in which a feature is no number, are left out.
        """
        for features, target in self.batches(relation, label, rng, number=number):
            block = np.empty((len(target), self.size), order="F")
            block[:, : self.intercept] = 1
            for i, scale in enumerate(self.features):
                block[:, i + self.intercept] = scale.parts(features[:, i])
            yield block, target

    def unscaled(self, weights: Reals) -> tuple[tuple[tuple[float, ...], ...], tuple[float, ...]]:
        """Weights of u, a column for each score, as slopes of the columns themselves and where the scores start."""
        one, zero = np.array([each.one for each in self.features]), np.array([each.zero for each in self.features])
        slopes = (weights[self.intercept :] / one[:, np.newaxis]).T
        starts = (weights[0] if self.intercept else np.zeros(weights.shape[1])) - slopes @ zero
        return tuple(tuple(map(float, own)) for own in slopes), tuple(map(float, starts))

    def batches(self, relation: Relation, label: str, rng: Entropy, *, number: bool) -> Iterator[tuple[Steps, Steps]]:
        """Features in steps, within the norm if there is one, and labels, of the rows that have them all."""
        for batch in relation.batches(_ROWS, [*self.names, *[label] * number], rng=rng):
            columns = [batch.column(name) for name in (*self.names, label)]
            there = np.ones(batch.num_rows, dtype=np.bool_)
            steps = np.empty((batch.num_rows, len(columns)), dtype=np.int64, order="F")  # each column by itself
            for i, column in enumerate(columns):
                if column.null_count:
                    there &= column.is_valid().to_numpy(zero_copy_only=False)
                steps[:, i] = (column.fill_null(0) if column.null_count else column).to_numpy(zero_copy_only=False)
            if pa.types.is_int32(columns[-1].type):  # places among keys
                there &= steps[:, -1] >= 0
            steps = steps if there.all() else steps[there]
            features = steps[:, :-1]
            yield (features if self.norm is None else self._within(features)), steps[:, -1]

    def _within(self, features: Steps) -> Steps:
        """Features drawn towards zero to the norm.

        Guarantee: the features x of a row satisfy Σ (xᵢ/sᵢ)² ≤ 1.
        Proof: docs/proofs/least_squares.md, "Rows within a norm".
        """
        shares = np.array([float(1 / scale.steps) for scale in self.features])
        length = np.sqrt(np.sum((features * shares) ** 2, axis=1)) * (1 + (len(shares) + 32) * 2.0**-52)
        inside = np.trunc(features / np.maximum(length, 1)[:, np.newaxis] * (1 - 2.0**-50)).astype(np.int64)
        return np.where((length > 1)[:, np.newaxis], inside, features)
