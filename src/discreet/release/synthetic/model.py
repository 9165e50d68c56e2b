"""Graphical model: a distribution over all columns that is a product of tables, one for each clique of a junction tree.

The full table is never built. `Calibration` computes all cliques' probabilities from potentials in two passes over the
tree, in logarithms; it is made once for a tree, and every step of a fit uses it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from discreet.errors import Refusal
from discreet.release.interval_tree import Reals
from discreet.release.marginals.domain import Axes, Domain
from discreet.release.synthetic.junction_tree import JunctionTree
from discreet.release.synthetic.sums import greatest, summed

MOST_CELLS = 1 << 24  # of a table that is read off a model


@dataclass(frozen=True)
class Calibration:
    """A junction tree, and how tables of its cliques are summed and spread along it."""

    domain: Domain
    tree: JunctionTree

    @cached_property
    def _steps(self) -> tuple[tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], tuple[int, ...]], ...]:
        """For each clique: which of its axes, and of its parent's, are not shared; and the shapes of what is."""
        steps = []
        for clique, parent, shared in zip(self.tree.cliques, self.tree.parents, self.tree.separators, strict=True):
            above = self.tree.cliques[parent]
            steps.append((_others(clique, shared), _others(above, shared), self._spread(clique, shared),
                          self._spread(above, shared)))  # fmt: skip
        return tuple(steps)

    def _spread(self, axes: Axes, part: Axes) -> tuple[int, ...]:
        return tuple(self.domain.sizes[i] if i in part else 1 for i in axes)

    def beliefs(self, potentials: Sequence[Reals]) -> tuple[list[Reals], float]:
        """The probabilities of each clique, of the distribution in proportion to exp of all potentials; and log Σ exp.

        Up the tree each clique becomes conditional on what it shares with its parent, which takes what is left. Down
        the tree each is multiplied by what its parent has for that.
        """
        sums: list[Reals] = list(potentials)
        given: list[Reals] = list(potentials)
        for place in range(len(sums) - 1, -1, -1):
            own, _, _, above = self._steps[place]
            top = greatest(sums[place], own)
            top = np.where(np.isneginf(top), 0.0, top)  # nothing is possible there
            weights = np.exp(sums[place] - top)
            total = summed(weights, own)
            weights /= np.where(total > 0, total, 1.0)
            given[place] = weights
            log_sum = np.log(total, out=np.full_like(total, -np.inf), where=total > 0) + top
            if place:
                parent = self.tree.parents[place]
                sums[parent] = sums[parent] + log_sum.reshape(above)
        for place in range(1, len(given)):
            _, others, here, _ = self._steps[place]
            given[place] *= summed(given[self.tree.parents[place]], others).reshape(here)
        return given, float(log_sum.ravel()[0])


@dataclass(frozen=True, eq=False)
class GraphicalModel:
    """The probabilities of each clique of a junction tree, which agree on what cliques share."""

    domain: Domain
    tree: JunctionTree
    beliefs: tuple[Reals, ...]

    def marginal(self, axes: Axes) -> Reals:
        """The probabilities of any columns together; their axes rise."""
        place = self.tree.holding(axes, self.domain)
        if place is not None:
            table: Reals = self.beliefs[place].sum(_others(self.tree.cliques[place], axes))
            return table
        if self.domain.cells(axes) > MOST_CELLS:
            names = list(self.domain.names(axes))
            raise Refusal(f"the table of {names} has more than {MOST_CELLS} cells", hint="ask for fewer columns")
        return self._eliminated(axes)

    def given(self, weights: Mapping[int, Reals]) -> GraphicalModel:
        """The model of those whose cells of some columns are these, each as likely as its weight says."""
        left, potentials = dict(weights), []
        for place, clique in enumerate(self.tree.cliques):
            table = self.conditional(place)
            for axis, i in enumerate(clique):
                if i in left:
                    shape = [1] * len(clique)
                    shape[axis] = -1
                    table = table * left.pop(i).reshape(shape)
            potentials.append(np.log(table, out=np.full_like(table, -np.inf), where=table > 0))
        beliefs, log_sum = Calibration(self.domain, self.tree).beliefs(potentials)
        if np.isneginf(log_sum):
            raise Refusal("the model has no such rows", hint="ask for others; what is rare may be lost in the noise")
        return GraphicalModel(self.domain, self.tree, tuple(beliefs))

    def conditional(self, place: int) -> Reals:
        """The probabilities of a clique given what it shares with its parent."""
        clique, shared = self.tree.cliques[place], self.tree.separators[place]
        table = self.beliefs[place]
        total = table.sum(_others(clique, shared), keepdims=True)
        given: Reals = np.divide(table, total, out=np.zeros_like(table), where=total > 0)
        return given

    def _eliminated(self, wanted: Axes) -> Reals:
        """Over cliques that meet different ones of the columns: each is summed into its parent, from the leaves on."""
        tables: dict[int, list[tuple[Reals, Axes]]] = {place: [] for place in range(len(self.tree.cliques))}
        table: Reals = np.ones(())
        for place in range(len(self.tree.cliques) - 1, -1, -1):
            clique, shared = self.tree.cliques[place], self.tree.separators[place]
            brought = [i for _, axes in tables[place] for i in axes]
            if place and not {*clique, *brought} & set(wanted) - set(shared):
                continue  # it sums to one
            kept = tuple(sorted({*shared, *({*clique, *brought} & set(wanted))}))
            if self.domain.cells(kept) > MOST_CELLS:
                raise Refusal("columns so far apart make too large a table", hint="ask for fewer columns")
            table, axes = self.conditional(place), clique
            for other, theirs in tables[place]:
                still = set(kept) | {i for _, rest in tables[place] for i in rest}
                both = tuple(sorted({*axes, *theirs} & ({*still, *clique})))
                table, axes = _joined(table, axes, other, theirs, both), both
            table = table.sum(_others(axes, kept))
            tables[self.tree.parents[place]].append((table, kept))
        return table  # the first clique's, which kept nothing but what is wanted


def _joined(one: Reals, axes: Axes, two: Reals, theirs: Axes, kept: Axes) -> Reals:
    """The product of two tables, summed over all columns but those that are kept."""
    einsum: Any = np.einsum  # its types know no lists of axes
    product: Reals = einsum(one, list(axes), two, list(theirs), list(kept), optimize=True)
    return product


def _others(axes: Axes, part: Axes) -> tuple[int, ...]:
    return tuple(place for place, i in enumerate(axes) if i not in part)
