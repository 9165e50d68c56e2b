"""Least squares and its variances on trees, against dense linear algebra."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations_with_replacement, pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.release.hierarchy_and_wavelet import Wavelet
from discreet.release.interval_tree import Splits, branches, consistent, starts, totals

Reals = NDArray[np.float64]
Tree = tuple[NDArray[np.int64], ...]


def ragged(seed: int) -> Tree:
    """A tree of uneven nodes, three levels below the root."""
    rng = np.random.default_rng(seed)
    levels, nodes = [], 1
    for _ in range(3):
        children = rng.integers(1, 5, nodes)
        levels.append(children)
        nodes = int(children.sum())
    return tuple(levels)


def incidence(children: Tree) -> Reals:
    """One row a node, root first, one column a leaf."""
    leaves = int(children[-1].sum()) if children else 1
    below, rows = np.eye(leaves), [np.eye(leaves)]
    for level in reversed(children):
        below = np.add.reduceat(below, starts(level)[:-1], axis=0)
        rows.append(below)
    return np.vstack(rows[::-1])


def measured(children: Tree, seed: int) -> tuple[list[Reals], list[Reals]]:
    """Numbers and variances for every node; some inner ones are not measured."""
    rng = np.random.default_rng(seed)
    sizes = [1, *(int(level.sum()) for level in children)]
    variances = [rng.uniform(0.5, 20, size) for size in sizes]
    for level in variances[:-1]:
        level[rng.random(level.size) < 0.3] = np.inf
    return [rng.normal(0, 50, size) for size in sizes], variances


@pytest.mark.parametrize("seed", range(12))
def test_the_tree_solves_the_weighted_least_squares_of_all_nodes(seed: int) -> None:
    children = ragged(seed)
    values, variances = measured(children, seed)
    leaves, splits = consistent(children, values, variances)
    design, precision = incidence(children), 1 / np.concatenate(variances)
    covariance = np.linalg.inv(design.T @ (precision[:, None] * design))
    assert leaves == pytest.approx(covariance @ design.T @ (precision * np.concatenate(values)), rel=1e-9, abs=1e-9)
    for weights in np.random.default_rng(seed).normal(size=(5, leaves.size)):
        assert splits.variance(weights) == pytest.approx(weights @ covariance @ weights, rel=1e-9)


@pytest.mark.parametrize("seed", range(12))
def test_a_range_takes_two_paths_and_agrees_with_the_whole_tree(seed: int) -> None:
    children = ragged(seed)
    splits = consistent(children, *measured(children, seed))[1]
    rng = np.random.default_rng(seed)
    first = rng.integers(0, splits.leaves, 200)
    last = np.maximum(first, rng.integers(0, splits.leaves, 200))
    low, high = rng.random(200), rng.random(200)
    quick = splits.ranges(first, low, last, high)
    for i in range(200):
        weights = np.zeros(splits.leaves)
        weights[first[i] : last[i] + 1] = 1
        weights[first[i]] = low[i]
        weights[last[i]] = high[i]
        assert quick[i] == pytest.approx(splits.variance(weights), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("cells", [1, 2, 3, 8, 11, 16])
def test_the_wavelet_has_the_variances_of_its_inverse(cells: int) -> None:
    wavelet = Wavelet(1, (cells,))  # type: ignore[arg-type]
    rows, noise, node = [np.ones(cells)], [wavelet.splits.total], [np.arange(cells)]
    for children, spread in zip(wavelet.children, wavelet.splits.spread, strict=True):
        ends = np.cumsum(children)
        sizes = totals(np.ones(cells, dtype=np.int64), wavelet.children)[len(node)]
        parts = np.split(np.arange(cells), np.cumsum(sizes)[:-1])
        for end, count in zip(ends, children, strict=True):
            if count == 2:
                row = np.zeros(cells)
                row[parts[end - 2]], row[parts[end - 1]] = 1, -1
                rows.append(row)
                noise.append(2 * spread[0])  # the variance of a difference is that of two spreads
        node.append(sizes)
    back = np.linalg.inv(np.array(rows))
    covariance = back @ np.diag(noise) @ back.T
    for weights in np.random.default_rng(1).normal(size=(5, cells)):
        assert wavelet.splits.variance(weights) == pytest.approx(weights @ covariance @ weights, rel=1e-9)


def test_branches_cover_all_leaves_once() -> None:
    for leaves in (1, 2, 7, 16, 17, 100):
        for branching in (2, 3, 16):
            children = branches(leaves, branching)
            sizes = [1, *(level.size for level in children[1:]), leaves]
            assert [int(level.sum()) for level in children] == sizes[1:] if children else leaves == 1
            assert all(int(level.min()) >= 1 and int(level.max()) <= branching for level in children)


def test_a_single_leaf_has_the_variance_of_its_total() -> None:
    assert Splits(7.0, (), ()).variance(np.array([0.5])) == 7 / 4


def exactly(tree: Splits, low: int, high: int) -> Fraction:
    """The variance of a range, with every weight of the way up as a fraction."""
    weights, noise = [Fraction(low <= i <= high) for i in range(tree.spread[-1].size)], Fraction(0)
    for children, spread in zip(tree.children[::-1], tree.spread[::-1], strict=True):
        above = []
        for first, last in pairwise(starts(children).tolist()):
            each, spreads = weights[first:last], [Fraction(float(z)) for z in spread[first:last]]
            mean = sum((w * z for w, z in zip(each, spreads, strict=True)), Fraction(0)) / sum(spreads)
            noise += sum((z * (w - mean) ** 2 for w, z in zip(each, spreads, strict=True)), Fraction(0))
            above.append(mean)
        weights = above
    return weights[0] ** 2 * Fraction(tree.total) + noise


@pytest.mark.parametrize("ratio", [1.0, 1e6, 1e12, 1e15])
def test_spreads_far_apart_cost_a_range_no_digits(ratio: float) -> None:
    rng = np.random.default_rng(3)
    children = (np.array([4]), np.array([5, 3, 6, 2]))
    spread = tuple(np.where(rng.random(n) < 0.4, ratio, rng.random(n) + 0.5) for n in (4, 16))
    spread[1][0] = ratio  # a large one before all small ones
    tree, one = Splits(0.3, children, spread), np.ones(1)
    for low, high in combinations_with_replacement(range(16), 2):
        found = tree.ranges(np.array([low]), one, np.array([high]), one)[0]
        assert found == pytest.approx(float(exactly(tree, low, high)), rel=1e-14)
