"""Mechanisms for contingency tables: Gaussian noise on residuals, and Laplace noise on Fourier coefficients.

The first has the least total variance of linear Gaussian mechanisms; the second is purely ε-private. The tables of both
agree by construction.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, TypeAlias

import numpy as np

from discreet.errors import Refusal
from discreet.exact import Number, count, positive, shown
from discreet.mechanisms.mechanism import USUAL, Pair, Takes, settle
from discreet.noise import SECURE, Entropy
from discreet.privacy import AddRemove, Concentrated, Neighbours, Pure, Replace
from discreet.release.marginals.domain import Axes, Domain, Workload, maximal
from discreet.release.marginals.plan import (
    CELLS,
    CENTRED,
    GAUSSIAN,
    LAPLACE,
    SIGN,
    Counts,
    Integers,
    MeasuredTable,
    Plan,
    cell_variance,
    exactly,
    for_laplace,
    for_total,
    for_worst,
)
from discreet.release.marginals.released import BITS, Marginals
from discreet.release.noisy_cells import Measured, Names, released, within

OBJECTIVES = ("total", "worst")
BASES = ("best", "fourier", "cells", "uniform")
_IDLE = 1e-6  # a share below this buys nothing

Tables: TypeAlias = dict[tuple[str, ...], Any]


class _Marginal(ABC):
    """What both mechanisms share: a domain, a workload, and everything that follows from a plan."""

    takes: ClassVar[Takes] = Takes.COUNTS
    about: ClassVar[str] = "one cell of any table"

    columns: tuple[str, ...]
    sizes: tuple[int, ...]
    workload: tuple[tuple[str, ...], ...]
    weights: tuple[Fraction, ...]
    most: int
    neighbours: Neighbours

    def check(self, price: str, choice: str, choices: tuple[str, ...]) -> None:
        """Put all fields into their one form; refused if no plan can be made of them."""
        domain = Domain(self.columns, self.sizes)
        wanted = Workload.of(domain, self.workload, self.weights)
        if getattr(self, choice) not in choices:
            raise Refusal(f"expected {choice} as one of {choices}, got {choice}={shown(getattr(self, choice))}")
        fields = {price: positive(getattr(self, price), price)}
        settle(
            self,
            **fields,
            sizes=domain.sizes,
            workload=tuple(tuple(names) for names in self.workload),
            weights=wanted.weights if self.weights else (),
            most=count(self.most, "most"),
            neighbours=added_or_removed(self.neighbours),
        )
        self.plan.checked(price)

    @property
    @abstractmethod
    def plan(self) -> Plan:
        """The parts that are measured, and the share of the loss that each gets."""

    @property
    def domain(self) -> Domain:
        """Columns and sizes."""
        return Domain(self.columns, self.sizes)

    @property
    def wanted(self) -> Workload:
        """The tables and their weights."""
        return Workload.of(self.domain, self.workload, self.weights)

    @property
    def numbers(self) -> int:
        """The cells of all tables that are part of no other."""
        return sum(self.domain.cells(axes) for axes in maximal(self.wanted.tables))

    def tables(self, columns: Names) -> tuple[Names, ...]:  # noqa: ARG002  # its own have the same names
        """The columns of each of them."""
        return tuple(self.domain.names(axes) for axes in maximal(self.wanted.tables))

    def bins_at(self, place: int) -> int:  # noqa: ARG002  # of those that choose
        """No bins of its own."""
        return 0

    def measure(self, counts: Callable[[Names], Integers], columns: Names, rng: Entropy) -> Measured:  # noqa: ARG002
        """The tables."""
        return Measured(self(counts, rng=rng))

    def std(self, columns: tuple[str, ...]) -> float:
        """The standard deviation that each cell of a table will have."""
        return math.sqrt(cell_variance(self.domain, self.plan.spreads, self.domain.axes(columns)))

    def error(self, confidence: Number = USUAL) -> Fraction:
        """An α that the noise in one cell of any table of the workload stays within, with this probability.

        A cell is a weighted sum of draws, for which that is counted in tests and not proved (docs/proofs/hierarchy.md,
        "Error bars"). Half a step a corner is added.
        """
        worst = max(cell_variance(self.domain, self.plan.spreads, axes) for axes in self.wanted.tables)
        return within(worst, confidence) + slack(self.wanted.tables)

    def pairs(self) -> tuple[Pair[Tables], ...]:
        """All records look alike to this mechanism, so any one more is the worst; and `most` of one kind."""
        return neighbours_of(self.domain, self.wanted.tables, self.most)

    def sample(self, counts: Counts, size: int, *, rng: Entropy = SECURE) -> Integers:
        """`size` runs, each the noisy whole numbers that the tables are computed from: what an auditor looks at."""
        return np.concatenate(self.plan.measured(counts, size, rng), axis=1)

    def __call__(self, counts: Counts, /, *, rng: Entropy = SECURE) -> Marginals:
        """The tables. `counts` gives for a tuple of columns the whole counts of each combination of their keys."""
        plan = self.plan
        noisy = [numbers[0] for numbers in plan.measured(counts, 1, rng)]
        return Marginals.of(self.domain, plan.estimated(noisy), plan.spreads)


@released("residual-marginals")
@dataclass(frozen=True)
class ResidualMarginals(_Marginal):
    """Releases tables of counts, and all their sub-tables, with discrete Gaussian noise on centred whole numbers.

    `workload` names the tables. `objective` is what is made least: the `total` of all cells' variances (each
    table's weighted by its weight), or the `worst` weighted variance of a cell. A unit has at most `most` records.

    Guarantee: Concentrated(rho), when the records of one unit are added or removed.
    Proof: docs/proofs/residual.md. The matrix ⊗(n − J) of a residual has columns of squared length Π n(n − 1), all the
        same, so `most` records move it by at most most² Π n(n − 1) in squares; ρ_B = most² Π n(n − 1)/(2σ²_B) for each,
        and the shares ρ_B add up to ρ exactly. The rest is post-processing.
    Source: Xiao, He, Zhang & Kifer 2023 for the residual basis and its optimum; Canonne, Kamath & Steinke 2020, Theorem
        4, for the noise.
    """

    columns: tuple[str, ...]
    sizes: tuple[int, ...]
    workload: tuple[tuple[str, ...], ...]
    rho: Fraction
    objective: str = "total"
    weights: tuple[Fraction, ...] = ()
    most: int = 1
    neighbours: Neighbours = AddRemove()

    def __post_init__(self) -> None:
        self.check("rho", "objective", OBJECTIVES)

    @cached_property
    def plan(self) -> Plan:
        """The residuals, and the share of ρ that each gets."""
        wanted = self.wanted
        sizes = for_total(wanted) if self.objective == "total" else for_worst(wanted)[0]
        parts = tuple(_centred(axes, self.domain) for axes in wanted.residuals)
        losses = tuple(part * self.rho for part in exactly(sizes))
        return Plan(self.domain, wanted.tables, parts, losses, GAUSSIAN, self.most)

    @property
    def privacy(self) -> Concentrated:
        """ρ, the sum of all shares."""
        return Concentrated(sum(self.plan.losses, start=Fraction(0)))


def _centred(axes: Axes, domain: Domain) -> MeasuredTable:
    """A column of two keys by its sign: half the numbers, and the same variance for the same ρ."""
    return MeasuredTable(axes, tuple(SIGN if domain.sizes[i] == 2 else CENTRED for i in axes))


@released("fourier-marginals")
@dataclass(frozen=True)
class FourierMarginals(_Marginal):
    """Releases tables of counts, and all their sub-tables, with discrete Laplace noise on whole coefficients.

    `workload` names the tables. For columns of two keys a coefficient is the sum over all records of a sign, the
    product of a sign for each column: one whole number for each sub-table. Columns of more keys take the sub-table's
    cells along them. `basis` says what is measured: `fourier`, that; `cells`, cells along all columns; `uniform`, as
    `fourier` with equal shares, the mechanism of the source; `best`, whichever of the first two has the least total
    variance, which depends on nothing private.

    Guarantee: Pure(epsilon), when the records of one unit are added or removed.
    Proof: docs/proofs/fourier.md. A record moves every coefficient by 1 and every table of cells by 1 in all, so part j
        moves by `most` in L1, and noise of scale most/ε_j on it loses ε_j; these add up to ε exactly. The rest is
        post-processing.
    Source: Barak, Chaudhuri, Dwork, Kale, McSherry & Talwar 2007; Dwork, McSherry, Nissim & Smith 2006, Proposition 1.
    """

    columns: tuple[str, ...]
    sizes: tuple[int, ...]
    workload: tuple[tuple[str, ...], ...]
    epsilon: Fraction
    basis: str = "best"
    weights: tuple[Fraction, ...] = ()
    most: int = 1
    neighbours: Neighbours = AddRemove()

    def __post_init__(self) -> None:
        self.check("epsilon", "basis", BASES)

    @cached_property
    def plan(self) -> Plan:
        """The parts, and the share of ε that each gets."""
        return min(self._plans(), key=self._total)

    def _plans(self) -> Iterator[Plan]:
        wanted = self.wanted
        if self.basis == "uniform":
            parts = [_by_cells(axes, self.domain, SIGN) for axes in wanted.residuals]
            yield self._planned(parts, [1.0] * len(parts))
        if self.basis in ("best", "fourier"):
            parts = [_by_cells(axes, self.domain, SIGN) for axes in wanted.residuals]
            yield self._shared(parts, np.ones(len(parts)))
        if self.basis in ("best", "cells"):
            parts = [_by_cells(axes, self.domain, CELLS) for axes in wanted.residuals]
            asked = {self.domain.lively(axes) for axes in wanted.tables}
            yield self._shared(parts, np.array([1.0 if part.axes in asked else 1e-9 for part in parts]))
            yield self._shared(parts, np.ones(len(parts)))

    def _shared(self, parts: list[MeasuredTable], start: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> Plan:
        """With shares for the least total variance that is found from a start; parts that buy nothing are left out."""
        residuals, needs = self.wanted.residuals, self.wanted.needs
        place = {axes: i for i, axes in enumerate(residuals)}
        tells = np.zeros((len(parts), len(residuals)))
        for row, part in enumerate(parts):
            for axes in part.informs():
                tells[row, place[axes]] = 1 / (2 * float(part.gain(axes, self.domain)))
        shares = for_laplace(np.array([float(needs[axes]) for axes in residuals]), tells, start)
        kept = [row for row, part in enumerate(parts) if shares[row] > _IDLE or not self._spare(part, parts, shares)]
        return self._planned([parts[row] for row in kept], [max(shares[row], _IDLE) for row in kept])

    def _spare(self, part: MeasuredTable, parts: list[MeasuredTable], shares: list[float]) -> bool:
        busy = [other for other, own in zip(parts, shares, strict=True) if own > _IDLE]
        return all(any(axes in other.informs() for other in busy) for axes in part.informs())

    def _planned(self, parts: list[MeasuredTable], shares: list[float]) -> Plan:
        losses = tuple(own * self.epsilon for own in exactly(shares))
        return Plan(self.domain, self.wanted.tables, tuple(parts), losses, LAPLACE, self.most)

    def _total(self, plan: Plan) -> float:
        return sum(float(need) * plan.spreads[axes] for axes, need in self.wanted.needs.items())

    @property
    def privacy(self) -> Pure:
        """ε, the sum of all shares."""
        return Pure(sum(self.plan.losses, start=Fraction(0)))


def _by_cells(axes: Axes, domain: Domain, binary: str) -> MeasuredTable:
    return MeasuredTable(axes, tuple(binary if domain.sizes[i] == 2 else CELLS for i in axes))


# neighbours -----------------------------------------------------------------------------------------------------------


def added_or_removed(neighbours: Neighbours) -> Neighbours:
    """The neighbours, if a unit is added or removed."""
    if isinstance(neighbours, Replace):
        raise Refusal(
            f"expected AddRemove neighbours, got {neighbours}: a record replaced leaves one cell and enters another",
            hint="take AddRemove: replacing is removing, then adding",
        )
    return neighbours


def neighbours_of(domain: Domain, tables: Sequence[Axes], most: int) -> tuple[Pair[Tables], ...]:
    """One unit's records where there are none, and beside others in another cell."""
    needed = maximal(tables)

    def filled(first: int, last: int) -> Tables:
        tables: Tables = {}
        for axes in needed:
            counts = np.zeros(domain.shape(axes), dtype=np.int64)
            counts[(0,) * len(axes)] += first
            counts[(-1,) * len(axes)] += last
            tables[domain.names(axes)] = counts.tolist()
        return tables

    return (
        Pair(filled(0, 0), filled(most, 0), "no records at all, or all records of one unit in the first cell"),
        Pair(filled(9, 0), filled(9, most), "some records in the first cell, or one unit's more in the last"),
    )


def slack(tables: Sequence[Axes]) -> Fraction:
    """How far rounding may move a cell: half a step for each of its 2^k corners."""
    return Fraction(2 ** max(map(len, tables)), 2 ** (BITS + 1))
