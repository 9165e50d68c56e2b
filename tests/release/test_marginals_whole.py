"""Whole counts and no negative cells: tables that still agree, near the ones that were released."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from doubles import Seeded
from numpy.typing import NDArray
from release.test_marginals import MAKERS, PAIRS, Names, counter, released
from scipy.optimize import minimize

from discreet.errors import Refusal
from discreet.release.marginals import Marginals, ResidualMarginals, consistency
from discreet.release.marginals.consistency import can_be_whole, fitted, settled, tree
from discreet.release.marginals.domain import Domain, closure

FAMILIES: dict[str, tuple[Names, ...]] = {
    "pairs": PAIRS,
    "whole": (("a", "b", "c"),),
    "chain": (("a", "b"), ("b", "c")),
    "apart": (("a",), ("b", "c"), ("one",)),
}


def asked(tables: Marginals) -> list[Names]:
    return [
        part
        for names in tables.tables
        for size in range(len(names) + 1)
        for part in itertools.combinations(names, size)
    ]


def agree(tables: Marginals) -> bool:
    """Every table, summed over each of its columns, is the smaller table: to the last bit."""
    pairs = [
        (tables.table(names).sum(axis), tables.table(names[:axis] + names[axis + 1 :]))
        for names in asked(tables)
        for axis in range(len(names))
    ]
    return len(pairs) > 0 and all(np.array_equal(large, small) for large, small in pairs)


SEEDS = [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (2, 3, 4))]


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
@pytest.mark.parametrize("seed", SEEDS)
def test_tables_agree_exactly_before_and_after_every_step(maker: Any, family: tuple[Names, ...], seed: int) -> None:  # noqa: ANN401
    tables = released(maker, family, seed)
    assert agree(tables)
    for changed in (tables.rounded(), tables.nonnegative(), tables.counts()):
        assert agree(changed)
        assert changed.sets == tables.sets
    assert not np.array_equal(tables.table(tables.tables[-1]), tables.counts().table(tables.tables[-1]))


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
@pytest.mark.parametrize("seed", SEEDS)
def test_whole_and_not_negative_where_it_is_said(maker: Any, family: tuple[Names, ...], seed: int) -> None:  # noqa: ANN401
    tables = released(maker, family, seed)
    assert min(tables.table(names).min() for names in tables.tables) < 0  # else there is nothing to show
    rounded, fit, counts = tables.rounded(), tables.nonnegative(), tables.counts()
    for names in asked(tables):
        assert fit.steps(names).min() >= 0
        assert counts.table(names).min() >= 0
        for whole in (rounded, counts):
            assert np.array_equal(whole.table(names), np.rint(whole.table(names)))
        assert np.abs(rounded.table(names) - tables.table(names)).max() <= 2 ** (len(names) - 1)
        assert np.abs(counts.table(names) - fit.table(names)).max() < 2.5
    assert fit.total == max(tables.total, 0)
    assert counts.total == max(round(tables.total), 0)
    assert (fit.fitted, counts.fitted, rounded.fitted, tables.fitted) == (True, True, True, False)


def test_three_tables_of_three_columns_are_not_made_whole_counts_but_everything_else() -> None:
    columns, sizes = ("a", "b", "c", "d"), (2, 3, 2, 3)
    workload = (("a", "b", "c"), ("b", "c", "d"), ("a", "c", "d"))
    full = np.random.default_rng(3).poisson(6, sizes)
    tables = ResidualMarginals(columns, sizes, workload, Fraction(1, 400))(counter(full, columns), rng=Seeded(1))
    with pytest.raises(Refusal, match="need not exist"):
        tables.counts()
    assert min(tables.table(names).min() for names in workload) < 0
    assert agree(tables.nonnegative())
    assert min(tables.nonnegative().steps(names).min() for names in workload) >= 0
    assert tables.nonnegative().total == pytest.approx(tables.total, abs=1e-4)
    assert agree(tables.rounded())
    vague = ResidualMarginals(columns, sizes, workload, Fraction(1, 10**5))
    low = next(run for i in range(40) if (run := vague(counter(0 * full, columns), rng=Seeded(i))).total < 0)
    assert {float(low.nonnegative().table(names).max()) for names in workload} == {0.0}


def test_which_families_are_trees() -> None:
    assert tree([(0, 1), (1, 2), (2, 3)]) is not None
    assert tree([(0, 1), (1, 2), (0, 2)]) is None
    assert tree([(0, 1, 2), (1, 2, 3), (3, 4), (5,)]) is not None
    assert tree([(0, 1, 2), (2, 3, 4), (0, 4, 5)]) is None
    assert tree([()]) == [((), ())]
    assert can_be_whole([(0, 1), (1, 2), (0, 2)])
    assert not can_be_whole([(0, 1, 2), (2, 3, 4), (0, 4, 5)])


@pytest.mark.parametrize("bits", [0, 20])
@pytest.mark.parametrize(
    "family",
    [[(0, 1), (0, 2), (1, 2)], [(0, 1, 2)], [(0, 1), (1, 2)], [(0, 1), (2,)], [(0, 1, 2), (1, 2, 3), (3, 4)], [()]],
    ids=str,
)
def test_settled_tables_agree_by_themselves(family: list[tuple[int, ...]], bits: int) -> None:
    """Before anything is rebuilt from corners, which would hide a table whose sums are wrong in its last cells."""
    domain = Domain(tuple("abcde"), (2, 3, 4, 3, 2))
    for i in range(20):
        full = np.random.default_rng(i).gamma(0.3, 3, domain.sizes)
        near = {
            axes: full.sum(tuple(axis for axis in range(5) if axis not in axes))
            + (0.01 * (i % 3) if len(axes) > 1 else 0)
            for axes in closure(family)
        }
        tables = settled(domain, near, bits)
        assert sorted(tables) == sorted(family)
        assert {int(table.sum()) for table in tables.values()} == {round(full.sum() * 2**bits)}
        for (one, left), (other, right) in itertools.combinations(tables.items(), 2):
            shared = set(one) & set(other)
            sums = [
                table.sum(tuple(axis for axis, place in enumerate(axes) if place not in shared))
                for axes, table in ((one, left), (other, right))
            ]
            assert np.array_equal(*sums)
        for axes, table in tables.items():
            assert table.dtype == np.int64
            assert table.min() >= 0
            assert np.abs(table / 2**bits - near[axes]).max() <= 2.5 / 2**bits + 0.02 * (i % 3) * near[axes].size


def test_a_table_within_its_sums_where_the_largest_rests_lead_astray() -> None:
    """After the first two steps the last row and the last column lack one, where the real table has nothing."""
    real = np.array([[0.5, 0, 0.5], [0, 0.5, 0.5], [0.5, 0.5, 0]])
    once = np.ones(3, dtype=np.int64)
    assert consistency._within(real, once, once).tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    twice = np.ones(6, dtype=np.int64)
    assert np.array_equal(consistency._within(np.kron(np.eye(2), real), twice, twice), np.eye(6))
    rng = np.random.default_rng(1)
    for _ in range(50):
        rows, columns = rng.multinomial(30, [0.2, 0.5, 0.3]), rng.multinomial(30, [0.1, 0.1, 0.7, 0.1])
        table = consistency._within(rng.gamma(0.2, 20, (3, 4)), rows, columns)
        assert (table.min() >= 0, table.sum(1).tolist(), table.sum(0).tolist()) == (
            True,
            rows.tolist(),
            columns.tolist(),
        )


def test_the_fit_is_the_one_a_general_solver_finds() -> None:
    """Two tables of two columns, 12 free residuals: sequential quadratic programming on the same weighted squares."""
    domain, sizes = Domain(("a", "b", "c"), (2, 3, 2)), (2, 3, 2)
    rng = np.random.default_rng(8)
    residuals, spreads = {}, {}
    for axes in closure([(0, 1), (1, 2)]):
        given = rng.normal(0, 3, domain.shape(axes))
        for axis in range(given.ndim):
            given = given - given.mean(axis, keepdims=True)
        residuals[axes], spreads[axes] = given + (20 if not axes else 0), float(rng.uniform(0.5, 2))
    free = [axes for axes in residuals if axes]
    weight = {axes: 10.0 ** (2 - len(axes)) / spreads[axes] for axes in free}

    def unpacked(x: NDArray[np.float64]) -> dict[Any, NDArray[np.float64]]:
        found: dict[Any, NDArray[np.float64]] = {(): residuals[()]}
        at = 0
        for axes in free:
            given = x[at : at + domain.cells(axes)].reshape(domain.shape(axes))
            at += given.size
            for axis in range(given.ndim):
                given = given - given.mean(axis, keepdims=True)
            found[axes] = given
        return found

    def cells(x: NDArray[np.float64]) -> NDArray[np.float64]:
        r = unpacked(x)
        left = r[()] / 6 + r[0,][:, None] / 3 + r[1,][None, :] / 2 + r[0, 1]
        right = r[()] / 6 + r[1,][:, None] / 2 + r[2,][None, :] / 3 + r[1, 2]
        return np.concatenate([left.ravel(), right.ravel()])

    def squares(found: dict[Any, NDArray[np.float64]]) -> float:
        return sum(weight[axes] * float(((found[axes] - residuals[axes]) ** 2).sum()) for axes in free)

    start = np.concatenate([residuals[axes].ravel() for axes in free])
    assert cells(start).min() < -0.5
    limits = {"type": "ineq", "fun": cells}
    options = {"maxiter": 500, "ftol": 1e-12}
    found = minimize(lambda x: squares(unpacked(x)), start, method="SLSQP", constraints=limits, options=options)
    assert found.success
    ours = fitted(domain, residuals, spreads, 20_000)
    assert squares(ours) == pytest.approx(found.fun, rel=1e-4)
    packed = np.concatenate([ours[axes].ravel() for axes in free])
    assert cells(packed).min() >= -1e-4
    assert sizes == domain.sizes


def test_a_fit_keeps_sums_where_most_cells_are_empty() -> None:
    """Against clipping, which makes every sum too large: here by 12 errors of the total, give or take half of one."""
    columns, sizes = ("a", "b"), (30, 30)
    full = np.zeros(sizes, dtype=np.int64)
    full[:3, :4] = 200
    tables = ResidualMarginals(columns, sizes, (columns,), Fraction(1, 200))(counter(full, columns), rng=Seeded(2))
    raw, fit = tables.table(columns), tables.nonnegative().table(columns)
    assert fit.min() >= 0
    assert fit.sum() == pytest.approx(tables.total, abs=1e-4)
    assert np.maximum(raw, 0).sum() > tables.total + 5 * (tables.std(()) or 0)


@pytest.mark.slow
def test_a_fit_helps_where_most_cells_are_empty() -> None:
    columns, sizes = ("a", "b"), (30, 30)
    full = np.zeros(sizes, dtype=np.int64)
    full[:3, :4] = 200
    mechanism, off = ResidualMarginals(columns, sizes, (columns,), Fraction(1, 200)), np.zeros(2)
    for seed in range(30):
        tables = mechanism(counter(full, columns), rng=Seeded(seed))
        off += [np.square(own.table(columns) - full).sum() for own in (tables.nonnegative(), tables)]
    assert off[0] < 0.36 * off[1]


@pytest.mark.slow
def test_a_fit_of_tables_in_a_circle_is_nearer_than_no_fit() -> None:
    """Seven tables of three columns, most cells empty: what is mixed in to lift the lowest cells must stay small."""
    columns, sizes = tuple("abcdef"), (4, 5, 3, 4, 2, 6)
    workload = tuple(itertools.combinations(columns, 3))[::3]
    full = np.random.default_rng(4).poisson(np.random.default_rng(5).gamma(0.02, 20, sizes))
    counts = counter(full, columns)
    tables = ResidualMarginals(columns, sizes, workload, Fraction(1, 200))(counts, rng=Seeded(1))
    fit = tables.nonnegative()
    raw, near = (sum(float(((own.table(n) - counts(n)) ** 2).sum()) for n in workload) for own in (tables, fit))
    assert not can_be_whole(tuple(tuple(columns.index(name) for name in names) for names in workload))
    assert min(tables.table(names).min() for names in workload) < -20
    assert min(fit.steps(names).min() for names in workload) >= 0
    assert near < 0.8 * raw
