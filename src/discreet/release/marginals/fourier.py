"""Contingency tables with Laplace noise on their Fourier coefficients: pure ε, consistent by construction."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np

from discreet.errors import Refusal
from discreet.exact import Number, count, positive, shown
from discreet.mechanisms.mechanism import USUAL, Pair, Takes, settle
from discreet.noise import SECURE, Entropy
from discreet.privacy import AddRemove, Neighbours, Pure
from discreet.release.counts import released, within
from discreet.release.marginals.domain import Axes, Domain, Workload
from discreet.release.marginals.inputs import Tables, added_or_removed, neighbours_of, slack
from discreet.release.marginals.parts import CELLS, SIGN, Part
from discreet.release.marginals.plan import LAPLACE, Counts, Integers, Plan, cell_variance
from discreet.release.marginals.released import Marginals
from discreet.release.marginals.shares import exactly, for_laplace

BASES = ("best", "fourier", "cells", "uniform")
_IDLE = 1e-6  # a share below this buys nothing


@released("fourier-marginals")
@dataclass(frozen=True)
class FourierMarginals:
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

    takes: ClassVar[Takes] = Takes.COUNTS

    columns: tuple[str, ...]
    sizes: tuple[int, ...]
    workload: tuple[tuple[str, ...], ...]
    epsilon: Fraction
    basis: str = "best"
    weights: tuple[Fraction, ...] = ()
    most: int = 1
    neighbours: Neighbours = AddRemove()

    def __post_init__(self) -> None:
        domain = Domain(self.columns, self.sizes)
        wanted = Workload.of(domain, self.workload, self.weights)
        if self.basis not in BASES:
            raise Refusal(f"expected basis as one of {BASES}, got basis={shown(self.basis)}")
        settle(
            self,
            sizes=domain.sizes,
            workload=tuple(tuple(names) for names in self.workload),
            epsilon=positive(self.epsilon, "epsilon"),
            weights=wanted.weights if self.weights else (),
            most=count(self.most, "most"),
            neighbours=added_or_removed(self.neighbours),
        )
        self.plan.checked("epsilon")

    @property
    def domain(self) -> Domain:
        """Columns and sizes."""
        return Domain(self.columns, self.sizes)

    @property
    def wanted(self) -> Workload:
        """The tables and their weights."""
        return Workload.of(self.domain, self.workload, self.weights)

    @cached_property
    def plan(self) -> Plan:
        """The parts, and the share of ε that each gets."""
        return min(self._plans(), key=self._total)

    def _plans(self) -> Iterator[Plan]:
        wanted = self.wanted
        if self.basis == "uniform":
            parts = [_part(axes, self.domain, SIGN) for axes in wanted.residuals]
            yield self._planned(parts, [1.0] * len(parts))
        if self.basis in ("best", "fourier"):
            parts = [_part(axes, self.domain, SIGN) for axes in wanted.residuals]
            yield self._shared(parts, np.ones(len(parts)))
        if self.basis in ("best", "cells"):
            parts = [_part(axes, self.domain, CELLS) for axes in wanted.residuals]
            asked = {self.domain.lively(axes) for axes in wanted.tables}
            yield self._shared(parts, np.array([1.0 if part.axes in asked else 1e-9 for part in parts]))
            yield self._shared(parts, np.ones(len(parts)))

    def _shared(self, parts: list[Part], start: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> Plan:
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

    def _spare(self, part: Part, parts: list[Part], shares: list[float]) -> bool:
        busy = [other for other, own in zip(parts, shares, strict=True) if own > _IDLE]
        return all(any(axes in other.informs() for other in busy) for axes in part.informs())

    def _planned(self, parts: list[Part], shares: list[float]) -> Plan:
        losses = tuple(own * self.epsilon for own in exactly(shares))
        return Plan(self.domain, self.wanted.tables, tuple(parts), losses, LAPLACE, self.most)

    def _total(self, plan: Plan) -> float:
        return sum(float(need) * plan.spreads[axes] for axes, need in self.wanted.needs.items())

    @property
    def privacy(self) -> Pure:
        """ε, the sum of all shares."""
        return Pure(sum(self.plan.losses, start=Fraction(0)))

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


def _part(axes: Axes, domain: Domain, binary: str) -> Part:
    return Part(axes, tuple(binary if domain.sizes[i] == 2 else CELLS for i in axes))
