"""Multiplicative weights for contingency tables: ask for the table that the estimate has worst, and fit it to that.

The estimate is a histogram over all combinations of keys, so it is for domains that fit into memory. All tables of it
agree, and none has a negative cell.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, TypeAlias

import numpy as np

from discreet.errors import Refusal
from discreet.exact import Number, count, positive, share, spoken
from discreet.mechanisms import Exponential
from discreet.mechanisms.mechanism import USUAL, Pair, Takes, settle
from discreet.noise import SECURE, Entropy, laplace
from discreet.privacy import AddRemove, Neighbours, Pure
from discreet.privacy.calibrate import laplace_error
from discreet.release.marginals import consistency
from discreet.release.marginals.domain import Axes, Domain, Workload, closure, maximal
from discreet.release.marginals.plan import Counts, Integers, Reals
from discreet.release.marginals.released import BITS, Marginals
from discreet.release.marginals.residual_and_fourier import Tables, added_or_removed, neighbours_of
from discreet.release.noisy_cells import Measured, Names, noisy, released

LARGEST = 1 << 20  # combinations of keys: each has a weight, which every step goes over
_SWEEPS, _STEPS = 30, 600  # of a fit: over all tables so far, and steps in all
_MOST = 1 << 42  # records that are told: so many steps of 2^−20 fit into 64 bits
_FARTHEST = 30.0  # logarithm of the factor by which one step moves a cell
# Rounds for ε · records of at least 0, 1,000, 10,000, …: few where noise is large
_PRODUCTS = (1_000, 10_000, 100_000)
_ROUNDS = (4, 8, 16, 32)

Fits: TypeAlias = list[tuple[Axes, Reals]]


@released("weighted-marginals")
@dataclass(frozen=True)
class WeightedMarginals:
    """Starts from an even table of all columns, and fits it, `rounds` times, to the table that it has worst.

    `workload` names the tables that may be asked for. The total is bought with `ratio` of ε. `rounds` 0 takes a number
    of rounds that suits ε times the total. There are no standard errors: how far off tables are that were not asked for
    is not known.

    Guarantee: Pure(epsilon), when the records of one unit are added or removed.
    Proof: docs/proofs/mwem.md, "Tables". The total loses ratio · ε, and each round twice an equal share of the rest:
        once for the exponential mechanism, whose scores move by at most `most`, once for the noise of the table, which
        moves by at most `most` in L1.
    Source: Hardt, Ligett & McSherry 2012, with whole tables as questions.
    """

    takes: ClassVar[Takes] = Takes.COUNTS
    about: ClassVar[str] = "the total of all cells"

    columns: tuple[str, ...]
    sizes: tuple[int, ...]
    workload: tuple[tuple[str, ...], ...]
    epsilon: Fraction
    rounds: int = 0
    ratio: Fraction = Fraction(1, 20)
    most: int = 1
    neighbours: Neighbours = AddRemove()

    def __post_init__(self) -> None:
        domain = Domain(self.columns, self.sizes)
        Workload.of(domain, self.workload, ())
        settle(
            self,
            epsilon=positive(self.epsilon, "epsilon"),
            sizes=domain.sizes,
            workload=tuple(tuple(names) for names in self.workload),
            rounds=count(self.rounds, "rounds", least=0),
            ratio=share(self.ratio, "ratio"),
            most=count(self.most, "most"),
            neighbours=added_or_removed(self.neighbours),
        )
        if self.size > LARGEST:
            raise Refusal(
                f"all columns together have {self.size:,} combinations of keys, more than {LARGEST:,}",
                hint="fewer columns, wider bins, or rows in no cell left out; other methods need no such table",
            )
        if not Fraction(1, 10**9) <= self.epsilon / self.most <= 10**6:
            each = f"one of {self.most} records"
            raise Refusal(f"expected epsilon between 1e-9 and 1e6 for {each}, got epsilon={spoken(self.epsilon)}")

    @property
    def privacy(self) -> Pure:
        """ε as asked for."""
        return Pure(self.epsilon)

    @property
    def domain(self) -> Domain:
        """Columns and sizes."""
        return Domain(self.columns, self.sizes)

    @property
    def size(self) -> int:
        """How many combinations of keys there are."""
        return math.prod(self.sizes)

    @property
    def numbers(self) -> int:
        """The cells of all tables that are part of no other."""
        return sum(self.domain.cells(axes) for axes in self._largest)

    @property
    def _largest(self) -> tuple[Axes, ...]:
        return tuple(maximal([self.domain.axes(names) for names in self.workload]))

    def tables(self, columns: Names) -> tuple[Names, ...]:  # noqa: ARG002  # its own have the same names
        """The columns of each of them."""
        return tuple(self.domain.names(axes) for axes in self._largest)

    def bins_at(self, place: int) -> int:  # noqa: ARG002  # of those that choose
        """No bins of its own."""
        return 0

    def error(self, confidence: Number = USUAL) -> int:
        """An α that the total misses by at most, with this probability; for cells there is no useful bound.

        No records at all are told as one, and 2^20 cells rounded by half a step of 2^−20 each may take half of another.
        """
        return max(1, laplace_error(self.most / (self.ratio * self.epsilon), confidence)) + 1

    def pairs(self) -> tuple[Pair[Tables], ...]:
        """No records and all of one unit's in one cell; and beside others."""
        return neighbours_of(self.domain, self._largest, self.most)

    def measure(self, counts: Callable[[Names], Integers], columns: Names, rng: Entropy) -> Measured:  # noqa: ARG002
        """The tables."""
        return Measured(self(counts, rng=rng))

    def __call__(self, counts: Counts, /, *, rng: Entropy = SECURE) -> Marginals:
        """The tables. `counts` gives for a tuple of columns the whole counts of each combination of their keys."""
        domain, largest = self.domain, self._largest
        read = counts.__getitem__ if isinstance(counts, Mapping) else counts
        truth = {axes: np.asarray(read(domain.names(axes)), dtype=np.int64) for axes in largest}
        bought = int(truth[largest[0]].sum()) + laplace(self.most / (self.ratio * self.epsilon), rng=rng)
        total = float(min(max(bought, 1), _MOST))
        rounds = min(self.rounds or _suited(total * float(self.epsilon / self.most)), len(largest))
        each = (1 - self.ratio) * self.epsilon / (2 * rounds)
        known: Fits = []
        weights = np.full(domain.sizes, total / self.size)
        for _ in range(rounds):
            asked = [axes for axes, _ in known]
            left = [axes for axes in largest if axes not in asked]
            scores = np.array([self._score(truth[axes], table_of(weights, axes), each) for axes in left])
            chosen = left[Exponential(each, len(left), self.most)(scores, rng=rng)]
            told = noisy(truth[chosen].ravel(), self.most / each, rng).reshape(truth[chosen].shape)
            known.append((chosen, told.astype(np.float64)))
            weights = fit(weights, total, known, float(self.most / each))
        return _agreeing(domain, largest, weights)

    def _score(self, truth: Integers, near: Reals, each: Fraction) -> int:
        """How far off a table is in all, beyond what its noise would be: a whole number, moved by `most` at most."""
        noise = math.ceil(truth.size * self.most / each)
        return int(np.abs(truth - np.rint(near).astype(np.int64)).sum()) - noise


def _suited(product: float) -> int:
    return _ROUNDS[bisect_left(_PRODUCTS, product)]


def table_of(weights: Reals, axes: Axes) -> Reals:
    """The sums of all cells that are alike along some axes."""
    return np.asarray(weights.sum(tuple(axis for axis in range(weights.ndim) if axis not in axes)))


def fit(weights: Reals, total: float, known: Fits, noise: float) -> Reals:
    """The table with these, as far as so many steps lead there: each moves cells by a factor until one table is met.

    Cells that were told to be below half the noise are taken for that, and each table is made to add up to the total.
    """
    moved = weights.copy()
    for _ in range(min(_SWEEPS, -(-_STEPS // len(known)))):
        for axes, told in known:
            meant = np.maximum(told, noise / 2)
            factors = np.log(meant * (total / meant.sum())) - np.log(np.maximum(table_of(moved, axes), 1e-300))
            shape = [side if axis in axes else 1 for axis, side in enumerate(moved.shape)]
            moved *= np.exp(np.clip(factors, -_FARTHEST, _FARTHEST)).reshape(shape)
        moved *= total / float(moved.sum())
    return moved


def _agreeing(domain: Domain, tables: Sequence[Axes], weights: Reals) -> Marginals:
    """All tables of the estimate, in whole steps, so that they agree. Of spreads nothing is known or stated."""
    steps = np.rint(np.ldexp(weights, BITS)).astype(np.int64)
    sets = closure(domain.lively(axes) for axes in tables)
    sums = tuple(
        consistency.whole_corners(
            steps.sum(tuple(axis for axis in range(steps.ndim) if axis not in axes), dtype=np.int64)
        )
        for axes in sets
    )
    return Marginals(domain, sets, sums, (1.0,) * len(sets), BITS, fitted=True)
