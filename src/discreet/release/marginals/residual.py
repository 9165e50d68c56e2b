"""Contingency tables with Gaussian noise on their residuals: the least total variance of linear Gaussian mechanisms."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np

from discreet.errors import Refusal
from discreet.exact import Number, count, positive, shown
from discreet.mechanisms.mechanism import USUAL, Pair, Takes, settle
from discreet.noise import SECURE, Entropy
from discreet.privacy import AddRemove, Concentrated, Neighbours
from discreet.release.counts import released, within
from discreet.release.marginals.domain import Axes, Domain, Workload
from discreet.release.marginals.inputs import Tables, added_or_removed, neighbours_of, slack
from discreet.release.marginals.parts import CENTRED, SIGN, Part
from discreet.release.marginals.plan import GAUSSIAN, Counts, Integers, Plan, cell_variance
from discreet.release.marginals.released import Marginals
from discreet.release.marginals.shares import exactly, for_total, for_worst

OBJECTIVES = ("total", "worst")


@released("residual-marginals")
@dataclass(frozen=True)
class ResidualMarginals:
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

    takes: ClassVar[Takes] = Takes.COUNTS

    columns: tuple[str, ...]
    sizes: tuple[int, ...]
    workload: tuple[tuple[str, ...], ...]
    rho: Fraction
    objective: str = "total"
    weights: tuple[Fraction, ...] = ()
    most: int = 1
    neighbours: Neighbours = AddRemove()

    def __post_init__(self) -> None:
        domain = Domain(self.columns, self.sizes)
        wanted = Workload.of(domain, self.workload, self.weights)
        if self.objective not in OBJECTIVES:
            raise Refusal(f"expected objective as one of {OBJECTIVES}, got objective={shown(self.objective)}")
        settle(
            self,
            sizes=domain.sizes,
            workload=tuple(tuple(names) for names in self.workload),
            rho=positive(self.rho, "rho"),
            weights=wanted.weights if self.weights else (),
            most=count(self.most, "most"),
            neighbours=added_or_removed(self.neighbours),
        )
        self.plan.checked("rho")

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
        """The residuals, and the share of ρ that each gets."""
        wanted = self.wanted
        sizes = for_total(wanted) if self.objective == "total" else for_worst(wanted)[0]
        parts = tuple(_part(axes, self.domain) for axes in wanted.residuals)
        losses = tuple(part * self.rho for part in exactly(sizes))
        return Plan(self.domain, wanted.tables, parts, losses, GAUSSIAN, self.most)

    @property
    def privacy(self) -> Concentrated:
        """ρ, the sum of all shares."""
        return Concentrated(sum(self.plan.losses, start=Fraction(0)))

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


def _part(axes: Axes, domain: Domain) -> Part:
    """A column of two keys by its sign: half the numbers, and the same variance for the same ρ."""
    return Part(axes, tuple(SIGN if domain.sizes[i] == 2 else CENTRED for i in axes))
