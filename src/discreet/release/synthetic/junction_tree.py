"""Junction tree: cliques of columns joined into a tree, such that each table wanted lies within a clique.

A column lies in cliques that are connected, so what two parts of the tree know of each other goes through the columns
that two neighbours share. It depends on public sizes and on which tables are wanted, never on what is in them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

from discreet.release.marginals.domain import Axes, Domain, maximal

Links = dict[int, set[int]]  # the columns that each column shares a table with


@dataclass(frozen=True)
class JunctionTree:
    """Cliques in an order in which each comes after its parent; the first has none, and shares nothing."""

    cliques: tuple[Axes, ...]
    parents: tuple[int, ...]  # the place of each clique's parent; that of the first is itself

    @classmethod
    def of(cls, domain: Domain, tables: Iterable[Axes]) -> JunctionTree:
        """Of columns linked by these tables, all columns of the domain among them."""
        links = linked(len(domain.columns), tables)
        cliques = maximal(eliminated(domain, links)[1])
        first = max(cliques, key=lambda axes: (domain.cells(axes), axes))
        order, parents = [first], [0]
        left = [axes for axes in cliques if axes != first]
        near = dict.fromkeys(left, 0)  # the best parent among those that are placed
        while left:  # Prim's algorithm: a tree of the largest intersections has running intersections
            shared = {axes: len(set(axes) & set(order[near[axes]])) for axes in left}
            best = max(left, key=lambda axes: (shared[axes], axes))
            parents.append(near.pop(best))
            order.append(best)
            left.remove(best)
            for axes in left:
                if len(set(axes) & set(best)) > shared[axes]:
                    near[axes] = len(order) - 1
        return cls(tuple(order), tuple(parents))

    @cached_property
    def separators(self) -> tuple[Axes, ...]:
        """What each clique shares with its parent; the first shares nothing."""
        pairs = enumerate(zip(self.cliques, self.parents, strict=True))
        return tuple(tuple(i for i in axes if place and i in self.cliques[parent]) for place, (axes, parent) in pairs)

    def cells(self, domain: Domain) -> int:
        """How many numbers a model over it holds."""
        return sum(map(domain.cells, self.cliques))

    def holding(self, axes: Axes, domain: Domain) -> int | None:
        """The place of the smallest clique that has all these columns, if one has."""
        known = [place for place, clique in enumerate(self.cliques) if set(axes) <= set(clique)]
        return min(known, key=lambda place: domain.cells(self.cliques[place]), default=None)


def linked(columns: int, tables: Iterable[Axes]) -> Links:
    """Which columns share a table."""
    links: Links = {i: set() for i in range(columns)}
    for axes in tables:
        for one, two in combinations(axes, 2):
            links[one].add(two)
            links[two].add(one)
    return links


def eliminated(domain: Domain, links: Mapping[int, set[int]], most: float = math.inf) -> tuple[float, list[Axes]]:
    """The cells and cliques that taking columns away one by one makes, each linking those that it leaves behind.

    First comes the column that makes the fewest new links, of several the one with the smallest clique. Stops where
    there are more cells than `most`.
    """
    left = {i: set(near) for i, near in links.items()}
    cliques: list[Axes] = []
    cells = 0.0
    while left and cells <= most:
        column = min(left, key=lambda i: (_fill(left, i), domain.cells((i, *left[i])), i))
        clique = tuple(sorted((column, *left[column])))
        if not any(set(clique) <= set(other) for other in cliques):
            cliques.append(clique)
            cells += domain.cells(clique)
        near = left.pop(column)
        for i in near:
            left[i] |= near - {i}
            left[i].discard(column)
    return cells, cliques


def _fill(links: Mapping[int, set[int]], column: int) -> int:
    """How many pairs of the columns linked to this one are not linked to each other."""
    return sum(two not in links[one] for one, two in combinations(sorted(links[column]), 2))
