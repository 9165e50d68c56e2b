"""Structure: which columns a model knows together. It is chosen from noisy numbers, or by paying for each choice."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import combinations

import numpy as np

from discreet.release.interval_tree import Reals
from discreet.release.marginals.domain import Axes, Domain
from discreet.release.synthetic.junction_tree import JunctionTree, eliminated, linked
from discreet.release.synthetic.noisy_measurements import Measuring


def pairs_of(domain: Domain) -> list[Axes]:
    """Every two columns in which something can vary."""
    return list(combinations([i for i, size in enumerate(domain.sizes) if size > 1], 2))


def as_if_independent(singles: Sequence[Reals], total: float, axes: Axes) -> Reals:
    """The table that columns with these shares would have if they knew nothing of each other."""
    table = np.full((1,) * len(axes), total)
    for axis, i in enumerate(axes):
        shape = [1] * len(axes)
        shape[axis] = -1
        table = table * singles[i].reshape(shape)
    return table


def by_chance(expected: Reals) -> float:
    """About how far whole counts come from their expectations even so: Σ E|X − λ| for Poisson counts, at most.

    E|X − λ| is at most the deviation √λ, √(2λ/π) for large λ, and at most 2λ e^−λ where λ is below 1.
    """
    small = 2 * expected * np.exp(-np.minimum(expected, 50.0))
    return float(np.where(expected < 1, small, np.sqrt(2 * expected / math.pi)).sum())


def spanning_tree(measuring: Measuring, expected: Mapping[Axes, Reals], columns: int, rho: Fraction) -> list[Axes]:
    """Pairs that join all columns, each about the one farthest from independence of those that join two parts.

    Kruskal's algorithm with the exponential mechanism in each round, all at one price (McKenna, Miklau & Sheldon 2021).
    """
    part, chosen = list(range(columns)), list[Axes]()
    rounds = len({i for axes in expected for i in axes}) - 1
    scores = measuring.scores(expected)
    for _ in range(rounds):
        among = [axes for axes in expected if part[axes[0]] != part[axes[1]]]
        axes = measuring.farthest(scores, among, rho / rounds)
        chosen.append(axes)
        part = [part[axes[0]] if own == part[axes[1]] else own for own in part]
    return chosen


def clique_tree(domain: Domain, gains: Mapping[Axes, float], most: int) -> JunctionTree:
    """A junction tree of at most so many cells that holds pairs of much gain: the best of some greedy ones.

    Pairs come by their gain over a power of their cells: it is not known beforehand how dear cells are.
    """
    trees = [_greedy(domain, gains, most, power) for power in _POWERS]
    return max(
        trees, key=lambda tree: sum(gain for axes, gain in gains.items() if tree.holding(axes, domain) is not None)
    )


_POWERS = (0.25, 0.5, 0.75, 1.0, 1.25)


def _greedy(domain: Domain, gains: Mapping[Axes, float], most: int, power: float) -> JunctionTree:
    """Pair by pair, without those whose tree would be too large. Who holds two may come to hold a third for nothing."""
    links = linked(len(domain.columns), [])
    for axes in sorted(gains, key=lambda axes: (-gains[axes] / domain.cells(axes) ** power, axes)):
        one, two = axes
        if gains[axes] <= 0 or two in links[one]:
            continue
        links[one].add(two)
        links[two].add(one)
        if eliminated(domain, links, most)[0] > most:
            links[one].discard(two)
            links[two].discard(one)
    return JunctionTree.of(domain, [(one, two) for one, near in links.items() for two in near if one < two])
