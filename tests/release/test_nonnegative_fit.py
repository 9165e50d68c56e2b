"""Fits that keep every sum: non-negative against a solver, whole in exact integers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from release.test_tree import Reals, Tree, incidence, measured, ragged
from scipy import stats
from scipy.optimize import nnls

from discreet.release.hierarchy_and_wavelet import Wavelet
from discreet.release.interval_tree import Splits, alike, consistent, nonnegative, rounded, starts


def solved(leaves: Reals, covariance: Reals) -> Reals:
    """The nearest non-negative vector in the metric of the covariance, by a general solver."""
    root = np.linalg.cholesky(np.linalg.inv(covariance)).T
    return np.asarray(nnls(root, root @ leaves, maxiter=10_000)[0])


@pytest.mark.parametrize("seed", range(20))
def test_the_non_negative_fit_is_the_optimum_over_all_cells(seed: int) -> None:
    children = ragged(seed)
    values, variances = measured(children, seed)
    leaves, splits = consistent(children, values, variances)
    design, precision = incidence(children), 1 / np.concatenate(variances)
    covariance = np.linalg.inv(design.T @ (precision[:, None] * design))
    fitted = nonnegative(leaves, splits)
    assert fitted.min() >= 0
    assert fitted == pytest.approx(solved(leaves, np.asarray(covariance, dtype=np.float64)), rel=1e-7, abs=1e-6)


def test_it_is_the_optimum_for_a_wavelet_too() -> None:
    splits = Wavelet(1, (11,)).splits  # type: ignore[arg-type]
    covariance = np.array(
        [[_covariance(splits, i, j) for j in range(11)] for i in range(11)]  # by polarisation
    )
    leaves = np.random.default_rng(3).normal(0, 10, 11)
    assert nonnegative(leaves, splits) == pytest.approx(solved(leaves, covariance), rel=1e-7, abs=1e-6)


def _covariance(splits: Splits, i: int, j: int) -> float:
    plus, minus = np.zeros(11), np.zeros(11)
    plus[i] += 1
    plus[j] += 1
    minus[i] += 1
    minus[j] -= 1
    return (splits.variance(plus) - splits.variance(minus)) / 4


def test_counts_that_are_not_negative_stay_as_they_are() -> None:
    leaves, splits = consistent(ragged(4), *measured(ragged(4), 4))
    kept = np.abs(leaves)
    assert nonnegative(kept, splits) == pytest.approx(kept, rel=1e-12)


def test_all_negative_counts_become_zero() -> None:
    leaves, splits = consistent(ragged(4), *measured(ragged(4), 4))
    assert nonnegative(-np.abs(leaves) - 1, splits).tolist() == [0.0] * leaves.size


def test_a_fit_is_nearer_to_the_truth_than_clipping_is() -> None:
    """Ranges over mostly empty cells: clipping adds up, the fit does not (research: 2.6 to 18 times worse)."""
    children: Tree = (np.array([16]), np.full(16, 16))
    even = [(np.arange(size) * 0.618034 + 0.5) % 1 for size in (1, 16, 256)]  # places that fill [0, 1] evenly
    noise = [np.asarray(10 * stats.norm.ppf(places)) for places in even]
    leaves, splits = consistent(children, noise, [np.full(size, 100.0) for size in (1, 16, 256)])
    assert 0 < nonnegative(leaves, splits).sum() < np.maximum(leaves, 0).sum() / 20


@pytest.mark.slow
def test_long_ranges_over_empty_cells_do_not_suffer_from_the_fit() -> None:
    """Cells one by one, a tenth of them full: the metric of the noise is several times worse than no fit at all."""
    truth = np.zeros(1024)
    truth[:100] = 500
    rng, errors = np.random.default_rng(6), np.zeros(3)
    flat = Splits(1024.0, (np.array([1024]),), (np.ones(1024),))
    for _ in range(20):
        cells = truth + rng.normal(0, 14, 1024)
        fits = (cells, nonnegative(cells, alike(1024)), nonnegative(cells, flat))
        errors += [np.mean(np.square(np.cumsum(each - truth))) for each in fits]
    raw, alike_fit, noise_fit = np.sqrt(errors)
    assert alike_fit < 1.05 * raw
    assert noise_fit > 3 * raw


@given(st.integers(0, 50), st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=64))
def test_rounding_moves_no_node_by_one_and_every_node_is_the_sum_of_its_children(
    seed: int, values: list[float]
) -> None:
    children = ragged(seed)
    leaves: Reals = np.array([values[i % len(values)] for i in range(int(children[-1].sum()))])
    splits = Splits(1.0, children, tuple(np.ones(int(level.sum())) for level in children))
    whole = rounded(leaves, splits)
    assert whole.dtype == np.int64
    exact, rough = leaves, whole
    for level in reversed(children):
        exact, rough = (np.add.reduceat(each, starts(level)[:-1]) for each in (exact, rough))
        assert np.all(np.abs(exact - rough) < 1 + 1e-6)
    assert np.all(np.abs(leaves - whole) < 1 + 1e-9)
    assert math.isclose(float(rough[0]), float(exact[0]), abs_tol=0.5 + 1e-6)


def test_rounding_keeps_whole_numbers_and_never_makes_a_negative_one() -> None:
    children = ragged(7)
    splits = Splits(1.0, children, tuple(np.ones(int(level.sum())) for level in children))
    size = int(children[-1].sum())
    assert rounded(np.arange(size, dtype=np.float64) - 3, splits).tolist() == list(range(-3, size - 3))
    assert rounded(np.full(size, 0.01, dtype=np.float64), splits).min() == 0
