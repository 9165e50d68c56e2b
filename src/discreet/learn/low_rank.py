"""Low-rank approximation of a matrix of sums, by products with noise: the flatter its factors, the less noise."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.declared.table import grid_of, keys_of
from discreet.errors import Refusal
from discreet.exact import count, positive
from discreet.interval_arithmetic import simpler_up
from discreet.learn.fit_parameters import OverRows, Priced, settle_columns, settle_price
from discreet.learn.fit_price import rho_of
from discreet.learn.gaussian_noise import normals
from discreet.learn.matrix_completion_model import LowRankMatrix
from discreet.learn.projection_model import upright
from discreet.mechanisms import Column, Frame, Pair, Relation, registered
from discreet.mechanisms.gram import product
from discreet.mechanisms.mechanism import settle
from discreet.noise import SECURE, Entropy, gaussian
from discreet.privacy import AddRemove, Neighbours, Pure

_BITS = 20  # of the entries of what the matrix is multiplied by

Reals = NDArray[np.float64]
Steps = NDArray[np.int64]


@dataclass(frozen=True)
class Multiplied:
    """A matrix of whole numbers of which products are bought, each at so much of ρ. A unit moves it by `reach`."""

    entries: Steps
    reach: int
    price: Fraction

    def __call__(self, factor: Steps, rng: Entropy = SECURE, *, turned: bool = False) -> Reals:
        """A X, or Aᵀ X if `turned`, in steps, with noise, of a public X in steps of 2⁻²⁰.

        Proof: docs/proofs/low_rank.md, "A product".
        """
        exact = product((self.entries if turned else self.entries.T), factor)
        longest = max(int(each) for each in (factor.astype(object) ** 2).sum(axis=1))
        variance = simpler_up(Fraction(self.reach**2 * max(1, longest)) / (2 * self.price))
        noisy = [[int(v) + gaussian(variance, rng=rng) for v in row] for row in exact]
        return np.array(noisy, dtype=np.float64) * 2.0**-_BITS


@registered("low-rank")
@dataclass(frozen=True)
class MatrixFactors(Priced, OverRows):
    """Approximation of rank `components` of the matrix of sums of a column by the keys of two others.

    The matrix is multiplied by random directions, then `iterations` times by what came out, turned, and by that again;
    the last product tells the approximation. Before each the factor is told, so its longest row is public: noise is for
    that, and small where factors are flat, as those of an incoherent matrix are. `coherence` μ cuts rows of a factor of
    p columns and m rows that are longer than √(μp/m), so that noise is small for certain.

    Guarantee: Approximate(epsilon, delta) or Concentrated(rho), when all rows of one unit, of which there are at most
        `max_rows`, are added or removed; or replaced, if those are its neighbours. A row is one number of one entry.
    Proof: docs/proofs/low_rank.md.
    Source: Hardt & Roth 2012, Section 4; Hardt & Roth 2013, Figure 2, and Hardt & Price 2014, Algorithm 1, for
        multiplying more than once.
    """

    model: ClassVar[type[LowRankMatrix]] = LowRankMatrix

    features: tuple[str, ...]
    label: str
    components: int
    epsilon: Fraction | None = None
    delta: Fraction = Fraction(0)
    rho: Fraction | None = None
    iterations: int = 1
    coherence: Fraction | None = None
    max_rows: int = 1
    neighbours: Neighbours = AddRemove()

    def __post_init__(self) -> None:
        settle_columns(self)
        settle_price(self)
        settle(
            self,
            components=count(self.components, "components"),
            iterations=count(self.iterations, "iterations", least=0),
            coherence=None if self.coherence is None else positive(self.coherence, "coherence"),
        )
        if len(self.features) != 2:
            raise Refusal(f"a matrix has rows and columns: two features, got {len(self.features)}")
        if isinstance(self.privacy, Pure):
            raise Refusal("low-rank approximation needs a delta, or rho", hint="say delta=1e-9, for one")

    @property
    def numbers(self) -> int:
        """Of each factor its value, beside a weight of each row and each column, however many there are."""
        return self.components

    @property
    def products(self) -> int:
        """How many products are bought, at an equal share each."""
        return 2 + 2 * self.iterations

    def pairs(self) -> tuple[Pair[Frame], ...]:
        """A few numbers of one row of a matrix, and those of one unit more in one entry, or those against others."""
        own = [(0, 0, 1)] * self.max_rows
        if isinstance(self.neighbours, AddRemove):
            why = "a unit's numbers in one entry, or none"
            return tuple(Pair(self._frame(few, []), self._frame(few, own), why) for few in (0, 3))
        less = [(0, 0, -1)] * self.max_rows
        return (Pair(self._frame(3, own), self._frame(3, less), "a unit's numbers in one entry, up or down"),)

    def _frame(self, few: int, own: list[tuple[int, int, int]]) -> Frame:
        rows = [*((0, i, 1) for i in range(few)), *own]
        held: dict[str, Any] = {name: [row[i] for row in rows] for i, name in enumerate((*self.features, self.label))}
        held["of"] = [*range(few), *[few] * len(own)]
        columns = (
            Column(self.features[0], keys=(0, 1)),
            Column(self.features[1], keys=(0, 1, 2)),
            Column(self.label, bounds=(-1, 1), step=1),
        )
        return Frame.of(held, *columns, unit="of", max_rows=self.max_rows, neighbours=self.neighbours)

    def __call__(self, relation: Relation, /, *, rng: Entropy = SECURE) -> LowRankMatrix:
        """The model. Spends `privacy`."""
        keys = keys_of(relation, self.features[0]), keys_of(relation, self.features[1])
        grid = grid_of(relation, self.label)
        rank = min(self.components, *map(len, keys))
        two = 1 if isinstance(self.neighbours, AddRemove) else 2
        price = rho_of(self.privacy) / self.products  # type: ignore[arg-type]  # not pure: that was refused
        entries = relation.sums(self.features, (self.label,))[..., 0]
        times = Multiplied(entries, two * self.max_rows * grid.reach, price)
        left = np.linalg.qr(times(whole(normals(len(keys[1]) * rank, rng=rng).reshape(-1, rank)), rng))[0]
        for _ in range(self.iterations):
            right = np.linalg.qr(times(self._flat(left), rng, turned=True))[0]
            left = np.linalg.qr(times(self._flat(right), rng))[0]
        flat = self._flat(left)
        told = times(flat, rng, turned=True) * float(grid.step)
        return self._model(keys, flat * 2.0**-_BITS, told)

    def _flat(self, factor: Reals) -> Steps:
        """A factor in steps, its rows as short as `coherence` has them."""
        if self.coherence is not None:
            most = float(self.coherence * factor.shape[1] / len(factor)) ** 0.5
            long = np.linalg.norm(factor, axis=1, keepdims=True)
            factor = factor * np.minimum(1, most / np.maximum(long, most))
        return whole(factor)

    def _model(self, keys: tuple[Any, Any], left: NDArray[Any], right: NDArray[Any]) -> LowRankMatrix:
        """left · rightᵀ by its singular vectors."""
        one, lower = np.linalg.qr(left)
        u, values, v = np.linalg.svd(lower @ right.T, full_matrices=False)
        signs = np.sign((upright(v) * v).sum(axis=1))
        sides = (one @ u) * signs, v * signs[:, np.newaxis]
        rows = [tuple(tuple(map(float, own)) for own in side) for side in sides]
        return LowRankMatrix(self.features, keys, rows[0], tuple(map(float, values)), rows[1])


def whole(factor: Reals) -> Steps:
    """A factor in steps of 2⁻²⁰, toward zero."""
    return np.trunc(factor * (1 << _BITS)).astype(np.int64)
