"""The graphical model, against the full table where that is small: sums, fits, and rows.

False-alarm rate of what is drawn: 1e-9 for each test, by Hoeffding's inequality.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from doubles import Seeded

from discreet.errors import Refusal
from discreet.release.marginals.domain import Axes, Domain
from discreet.release.synthetic.descent import descended
from discreet.release.synthetic.fit import NoisyTable, _Dual, fitted, total_of
from discreet.release.synthetic.junction_tree import JunctionTree, eliminated, linked
from discreet.release.synthetic.model import Calibration, GraphicalModel
from discreet.release.synthetic.sampling import sampled

SIZES = (2, 3, 2, 4, 3, 2)
DOMAIN = Domain(tuple("abcdef"), SIZES)
SETS: list[list[Axes]] = [
    [(0, 1), (1, 2), (2, 3), (3, 4)],
    [(0, 1, 2), (2, 3), (3, 4, 5)],
    [(0, 1), (1, 2), (2, 3), (0, 3)],  # a ring, which takes a chord
    [(0,), (4, 5)],
    [(0, 1, 2, 3, 4, 5)],
]
sets = pytest.mark.parametrize("tables", SETS, ids=str)


def drawn(tables: list[Axes], seed: int = 1) -> tuple[GraphicalModel, Any, float]:
    """A model with made-up potentials, its full table, and the logarithm of what that is divided by."""
    tree = JunctionTree.of(DOMAIN, tables)
    random = np.random.default_rng(seed)
    potentials = [random.normal(0, 2, DOMAIN.shape(axes)) for axes in tree.cliques]
    full = np.zeros(SIZES)
    for axes, own in zip(tree.cliques, potentials, strict=True):
        full = full + own.reshape([size if i in axes else 1 for i, size in enumerate(SIZES)])
    log_sum = math.log(np.exp(full).sum())
    beliefs, told = Calibration(DOMAIN, tree).beliefs(potentials)
    assert told == pytest.approx(log_sum)
    return GraphicalModel(DOMAIN, tree, tuple(beliefs)), np.exp(full - log_sum), log_sum


@sets
def test_a_junction_tree_holds_every_table_and_each_column_in_connected_cliques(tables: list[Axes]) -> None:
    tree = JunctionTree.of(DOMAIN, tables)
    assert all(tree.holding(axes, DOMAIN) is not None for axes in tables)
    assert {i for axes in tree.cliques for i in axes} == set(range(len(SIZES)))
    assert list(tree.separators[0]) == []
    for place in range(1, len(tree.cliques)):
        assert tree.parents[place] < place
        earlier = {i for axes in tree.cliques[:place] for i in axes}
        assert set(tree.separators[place]) == earlier & set(tree.cliques[place])
    assert eliminated(DOMAIN, linked(len(SIZES), tables))[0] == tree.cells(DOMAIN)


@sets
def test_tables_of_any_columns_are_those_of_the_full_table(tables: list[Axes]) -> None:
    model, full, _ = drawn(tables)
    for size in range(5):
        for axes in itertools.combinations(range(len(SIZES)), size):
            others = tuple(i for i in range(len(SIZES)) if i not in axes)
            assert np.allclose(model.marginal(axes), full.sum(others), atol=1e-12)


def test_a_table_that_nobody_could_hold_is_refused() -> None:
    wide = Domain(tuple(f"c{i}" for i in range(9)), (40,) * 9)
    tree = JunctionTree.of(wide, [])
    model = GraphicalModel(wide, tree, tuple(np.full(40, 1 / 40) for _ in range(9)))
    with pytest.raises(Refusal, match="more than 16777216 cells"):
        model.marginal((0, 1, 2, 3, 4))


def test_potentials_that_no_exponential_holds_are_no_trouble() -> None:
    tree = JunctionTree.of(Domain(("a", "b"), (2, 2)), [(0, 1)])
    beliefs, _ = Calibration(Domain(("a", "b"), (2, 2)), tree).beliefs([np.array([[5000.0, -5000.0], [0.0, 4999.0]])])
    assert np.allclose(beliefs[0], [[1 / (1 + math.exp(-1)), 0], [0, 1 / (1 + math.e)]])


# the fit --------------------------------------------------------------------------------------------------------------


def noisy(full: Any, tables: list[Axes], total: float, variance: float) -> list[NoisyTable]:  # noqa: ANN401
    random = np.random.default_rng(3)
    told = []
    for axes in tables:
        others = tuple(i for i in range(len(SIZES)) if i not in axes)
        true = np.rint(total * full.sum(others)).astype(np.int64)
        noise = np.rint(random.normal(0, math.sqrt(variance), true.shape)).astype(np.int64)
        told.append(NoisyTable(axes, true + noise, np.full(true.shape, variance)))
    return told


@sets
def test_a_fit_to_exact_tables_finds_them(tables: list[Axes]) -> None:
    _, full, _ = drawn(tables)
    told = noisy(full, tables, 1e6, 1e-6)
    model = fitted(DOMAIN, JunctionTree.of(DOMAIN, tables), told, total_of(told))
    for table in told:
        assert np.allclose(1e6 * model.marginal(table.axes), table.counts, atol=1500)


def test_the_gradient_of_the_dual_is_its_slope() -> None:
    _, full, _ = drawn(SETS[1])
    told = noisy(full, SETS[1], 500, 30.0)
    dual = _Dual(DOMAIN, JunctionTree.of(DOMAIN, SETS[1]), told, 500.0)
    here = np.random.default_rng(5).normal(0, 3, dual.size)
    _, slope = dual(here)
    for i in range(dual.size):
        step = np.zeros(dual.size)
        step[i] = 1e-4
        assert (dual(here + step)[0] - dual(here - step)[0]) / 2e-4 == pytest.approx(slope[i], abs=1e-4)


def test_noise_is_not_followed_where_a_more_exact_table_says_otherwise() -> None:
    domain = Domain(("a", "b"), (2, 2))
    alone = NoisyTable((0,), np.array([900, 100]), np.full(2, 1.0))
    both = NoisyTable((0, 1), np.array([[450, 600], [-60, 10]]), np.full((2, 2), 1e4))
    model = fitted(domain, JunctionTree.of(domain, [(0, 1)]), [alone, both], 1000.0)
    assert np.allclose(1000 * model.marginal((0,)), [900, 100], atol=5)
    assert model.beliefs[0].min() >= 0


def test_a_total_weighs_tables_by_the_noise_of_their_sums() -> None:
    one = NoisyTable((0,), np.array([10, 20]), np.full(2, 0.5))
    two = NoisyTable((1,), np.array([10, 10, 20]), np.full(3, 3.0))
    assert total_of([one, two]) == pytest.approx((30 / 1 + 40 / 9) / (1 + 1 / 9))
    assert total_of([NoisyTable((0,), np.array([-9, 1]), np.ones(2))]) == 1  # never less


def test_descent_finds_the_minimum_of_a_narrow_valley() -> None:
    scales = np.logspace(0, 4, 30)
    found = descended(lambda x: (0.5 * float((scales * (x - 1) ** 2).sum()), scales * (x - 1)), np.zeros(30), 500, 1e-6)
    assert np.allclose(found, 1, atol=1e-5)


# rows -----------------------------------------------------------------------------------------------------------------


def test_columns_that_are_independent_given_a_third_are_so_in_the_rows() -> None:
    """Ranked without a shuffle, children of one parent come out sorted alike: their correlation would be 1."""
    domain = Domain(("a", "b", "c"), (2, 2, 2))
    tree = JunctionTree.of(domain, [(0, 1), (0, 2)])
    beliefs, _ = Calibration(domain, tree).beliefs([np.zeros((2, 2)), np.zeros((2, 2))])
    rows = sampled(GraphicalModel(domain, tree, tuple(beliefs)), 40_000, Seeded(1))
    far = math.sqrt(math.log(2e9) / (2 * 10_000))  # of a mean of 10,000 draws without replacement, too
    for a in range(2):
        for b in range(2):
            some = rows[(rows[:, 0] == a) & (rows[:, 1] == b)]
            assert abs(some[:, 2].mean() - 0.5) < far


@sets
def test_rows_have_the_tables_of_cliques_but_for_rounding_and_others_but_for_chance(tables: list[Axes]) -> None:
    model, full, _ = drawn(tables, seed=4)
    rows = sampled(model, 20_000, Seeded(2))
    assert len(rows) == 20_000
    for size in (1, 2, 3):
        for axes in itertools.combinations(range(len(SIZES)), size):
            others = tuple(i for i in range(len(SIZES)) if i not in axes)
            counted = np.zeros(DOMAIN.shape(axes))
            np.add.at(counted, tuple(rows[:, i] for i in axes), 1)
            gap = np.abs(counted / 20_000 - full.sum(others)).max()
            assert gap < 3 * math.sqrt(math.log(2e9 * 500) / (2 * 20_000))
    first = model.tree.cliques[0]
    counted = np.zeros(DOMAIN.shape(first))
    np.add.at(counted, tuple(rows[:, i] for i in first), 1)
    assert np.abs(counted - 20_000 * model.beliefs[0]).max() <= 1  # systematic sampling


def test_rows_come_in_an_order_that_says_nothing() -> None:
    domain = Domain(("a",), (2,))
    model = GraphicalModel(domain, JunctionTree.of(domain, []), (np.array([0.5, 0.5]),))
    rows = sampled(model, 20_000, Seeded(3))[:, 0]
    far = math.sqrt(math.log(2e9) / (2 * 10_000))
    assert abs(rows[:10_000].mean() - 0.5) < far
    assert abs((rows[1:] == rows[:-1]).mean() - 0.5) < 2 * far
