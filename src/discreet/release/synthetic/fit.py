"""Fit of a graphical model to noisy tables: near to them, each as it is exact, and else as even as can be.

Of all distributions the one with the least Σ |N μ − y|²/2σ² − λ N · entropy, over the noisy tables y with variance σ² a
cell. It has the form that a junction tree holds, exp(Σ θ) with a number θ for each cell of each table, and these are
the minimum of the dual, N log Z(θ) − ⟨θ, y⟩ + λ Σ σ² |θ|²/2, which is smooth and convex; its gradient is Nμ − y + λσ²θ
(docs/proofs/synthetic.md, "The fit"). So nothing is ever negative, and the noise is not followed to where it leads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from discreet.release.interval_tree import Reals, Whole
from discreet.release.marginals.domain import Axes, Domain
from discreet.release.synthetic.descent import Heard, descended, unheard
from discreet.release.synthetic.junction_tree import JunctionTree
from discreet.release.synthetic.model import Calibration, GraphicalModel
from discreet.release.synthetic.sums import SumPlan

EVEN = 1.0  # λ in units of 1/σ, of the most exact table: what is fitted may be |θ| deviations of its noise off
_STEPS = 600
_STILL = 0.1  # of the gradient, where a cell with n records counts √n: nothing moves any more


@dataclass(frozen=True, eq=False)
class NoisyTable:
    """A table as it was measured: whole counts with independent noise of a known variance in each cell."""

    axes: Axes
    counts: Whole
    variances: Reals
    decided: bool = False  # whether its noise decided which cells were merged


def total_of(tables: Sequence[NoisyTable]) -> float:
    """How many records there are, from noisy tables: each by the variance of the sum of its cells. At least one."""
    weights = [1 / float(table.variances.sum()) for table in tables]
    sums = [float(table.counts.sum()) for table in tables]
    return max(1.0, float(np.dot(weights, sums)) / sum(weights))


def fitted(  # noqa: PLR0913  # what nothing is known of may be left out
    domain: Domain,
    tree: JunctionTree,
    tables: Sequence[NoisyTable],
    total: float,
    heard: Heard = unheard,
    *,
    possible: Mapping[Axes, NDArray[np.bool_]] = MappingProxyType({}),
    even: float = EVEN,
) -> GraphicalModel:
    """The model that minimises the dual, or what is near it after `_STEPS` steps. `heard` is told how many of them.

    What is not `possible` in a table of some columns of a clique has probability zero. The less `even`, the nearer to
    the noisy tables.
    """
    dual = _Dual(domain, tree, tables, total, possible, even=even)
    found = descended(dual, np.zeros(dual.size), _STEPS, _STILL, heard)
    return GraphicalModel(domain, tree, tuple(dual.beliefs(found)))


def holder(tree: JunctionTree, axes: Axes, domain: Domain) -> int:
    """The place of the clique that has these columns."""
    place = tree.holding(axes, domain)
    if place is None:
        raise ValueError(f"no clique holds the table of columns {axes}")
    return place


class _Dual:
    """The dual and its gradient, by θ times the root of about what the second derivative is."""

    def __init__(  # noqa: PLR0913  # what nothing is known of may be left out
        self,
        domain: Domain,
        tree: JunctionTree,
        tables: Sequence[NoisyTable],
        total: float,
        possible: Mapping[Axes, NDArray[np.bool_]] = MappingProxyType({}),
        *,
        even: float = EVEN,
    ) -> None:
        self._calibration, self._total = Calibration(domain, tree), total
        wanted: list[set[Axes]] = [set() for _ in tree.cliques]
        self._places = []
        begin = 0
        for table in tables:
            place = holder(tree, table.axes, domain)
            wanted[place].add(table.axes)
            self._places.append((place, table.axes, table.counts.shape, slice(begin, begin + table.counts.size)))
            begin += table.counts.size
        self._plans = [SumPlan(domain, clique, axes) for clique, axes in zip(tree.cliques, wanted, strict=True)]
        self.size = begin
        self._barred: dict[int, Reals] = {}  # by clique 0, or −∞ where nothing is possible
        for axes, allowed in possible.items():
            place = holder(tree, axes, domain)
            spread = allowed.reshape([domain.sizes[i] if i in axes else 1 for i in tree.cliques[place]])
            self._barred[place] = self._barred.get(place, np.zeros(())) + np.where(spread, 0.0, -np.inf)
        self._counts = np.concatenate([table.counts.ravel() for table in tables]).astype(np.float64)
        variances = np.concatenate([table.variances.ravel() for table in tables])
        self._pull = even * variances / variances.min() ** 0.5
        self._scale = 1 / np.sqrt(np.maximum(self._counts, 0) + self._pull + 1)

    def _potentials(self, scaled: Reals) -> list[Reals]:
        theta = scaled * self._scale
        told: list[dict[Axes, Reals]] = [{} for _ in self._plans]
        for place, axes, shape, part in self._places:
            own = theta[part].reshape(shape)
            told[place][axes] = told[place][axes] + own if axes in told[place] else own
        potentials = [plan.spread(tables) for plan, tables in zip(self._plans, told, strict=True)]
        for place, barred in self._barred.items():
            potentials[place] = potentials[place] + barred
        return potentials

    def beliefs(self, scaled: Reals) -> list[Reals]:
        """The model that the parameters stand for."""
        return self._calibration.beliefs(self._potentials(scaled))[0]

    def __call__(self, scaled: Reals) -> tuple[float, Reals]:
        theta = scaled * self._scale
        beliefs, log_sum = self._calibration.beliefs(self._potentials(scaled))
        sums = [plan.sums(belief) for plan, belief in zip(self._plans, beliefs, strict=True)]
        expected = np.concatenate([sums[place][axes].ravel() for place, axes, _, _ in self._places])
        gradient = self._total * expected - self._counts + self._pull * theta
        value = self._total * log_sum - float((theta * self._counts).sum()) + 0.5 * float((self._pull * theta**2).sum())
        return value, gradient * self._scale
