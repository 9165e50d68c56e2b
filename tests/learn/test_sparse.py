"""Sparse regression and losses with corners: how far a unit moves what is bought, exactly, and what is fitted."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from doubles import Seeded
from sklearn.linear_model import LogisticRegression as Plain

from discreet.errors import Refusal
from discreet.learn import HuberRegressor, LogisticRegression, SparseLeastSquares, SparseRegression
from discreet.learn.convex_losses import Logistic
from discreet.learn.fit_price import rho_of
from discreet.learn.newton_solver import Objective, minimised
from discreet.mechanisms import Column, Frame
from discreet.privacy import Pure, Replace

ONE, HALF, RARE, HUGE = Fraction(1), Fraction(1, 2), Fraction(1, 10**6), 10**12


def frame(what: SparseLeastSquares, rows: list[tuple[int, ...]]) -> Frame:
    columns = [Column(name, bounds=(-2, 2), step=1) for name in (*what.features, what.label)]
    data = {column.name: np.array([row[i] for row in rows], dtype=np.int64) for i, column in enumerate(columns)}
    return Frame.of(data, *columns, max_rows=what.max_rows, neighbours=what.neighbours)


CASES = [
    SparseLeastSquares(("a", "b"), "y", 1, ONE),
    SparseLeastSquares(("a", "b"), "y", 1, rho=HALF, max_rows=2),
    SparseLeastSquares(("a", "b"), "y", 2, ONE, RARE, fit_intercept=False, neighbours=Replace()),
    SparseLeastSquares(("a", "b"), "y", 1, ONE, data_norm=Fraction(2), neighbours=Replace()),
]


@pytest.mark.parametrize("what", CASES, ids=repr)
def test_no_score_moves_further_than_the_choice_counts_on(what: SparseLeastSquares) -> None:
    """Exactly, for every unit of a small domain, at every centre that could have been told."""
    every = list(itertools.product((-2, 1, 2), repeat=3))
    others = [(1, -2, 1), (2, 2, -2)]
    units = [list(rows) for size in range(what.max_rows + 1) for rows in itertools.combinations(every, size)][:200]
    units += [[row] * what.max_rows for row in every]
    design, label = what._design(frame(what, [])), what._label(frame(what, []))
    sums = [what.sums(frame(what, others + unit)) for unit in units]
    for centre in (-2, 0, 1) if what.fit_intercept else (0,):
        seen = [what.scores(design, label, first[1:], vector[1:], centre) for _, first, vector in sums]
        reach = what.chooser(label, centre).sensitivity
        pairs = itertools.product(seen, seen) if what.neighbours == Replace() else ((one, seen[0]) for one in seen)
        worst = max(abs(a - b) for one, two in pairs for a, b in zip(one, two, strict=True))
        assert reach * 0.4 <= worst <= reach


@pytest.mark.parametrize("what", CASES, ids=repr)
def test_its_stages_cost_together_what_was_paid(what: SparseLeastSquares) -> None:
    stages, loss = what.stages, what.privacy
    paid = loss.epsilon if isinstance(loss, Pure) else rho_of(loss)
    assert stages.centre + stages.choice + stages.fit == paid
    label = what._label(frame(what, []))
    choice, fit = what.chooser(label, 0).privacy, what._fit(("a",)).privacy
    told = [getattr(each, "epsilon" if stages.pure else "rho") for each in (choice, fit)]
    assert told == [stages.choice, stages.fit]


def test_it_chooses_the_features_that_matter_and_fits_those() -> None:
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, size=(6000, 80))  # more than an engine multiplies
    y = x[:, 3] * 0.8 - 0.6 * x[:, 50] + 0.5 + rng.normal(size=6000) * 0.1
    given: dict[str, Any] = {"bounds": (-1, 1), "label_bounds": (-3, 3)}
    for price in ({"epsilon": HUGE}, {"epsilon": 2, "delta": "1e-6"}):
        fitted = SparseRegression(2, **price, **given).fit(x, y)
        assert np.flatnonzero(fitted.support_).tolist() == [3, 50]
        assert fitted.coef_[[3, 50]] == pytest.approx([0.8, -0.6], abs=0.1)
        assert fitted.intercept_ == pytest.approx(0.5, abs=0.1)
    few = SparseRegression(1, epsilon=HUGE, **given).fit(x[:, 3:5], y)
    assert few.support_.tolist() == [True, False]
    with pytest.raises(Refusal, match="expected keep <= 1"):
        SparseLeastSquares(("a",), "y", 2, ONE)


@pytest.mark.parametrize("n", [0, 3])
def test_few_rows_and_constant_columns_are_fitted_like_any(n: int) -> None:
    fitted = SparseRegression(2, epsilon=1, bounds=(0, 5), label_bounds=(0, 1)).fit(np.full((n, 4), 2.0), np.ones(n))
    assert np.isfinite(fitted.predict(np.ones((2, 4)))).all()


def test_many_features_are_summed_as_few_are() -> None:
    rng = np.random.default_rng(1)
    names = tuple(f"x{i}" for i in range(70))
    table = {name: rng.integers(-2, 3, 50) for name in (*names, "y")}
    columns = [Column(name, bounds=(-2, 1), step=1) for name in (*names, "y")]
    many, few = SparseLeastSquares(names, "y", 3, ONE), SparseLeastSquares(names[:5], "y", 3, ONE)
    rows, first, vector = many.sums(Frame.of(table, *columns))
    again = few.sums(Frame.of(table, *columns))
    assert (rows, first[:6].tolist(), vector[:6].tolist()) == (again[0], again[1].tolist(), again[2].tolist())


def test_a_corner_makes_zeros_and_the_rest_is_scikit_learns() -> None:
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, size=(2000, 6))
    y = (x[:, 0] * 3 - 2 * x[:, 1] + rng.logistic(size=2000) > 0).astype(int)
    given: dict[str, Any] = {"delta": "1e-6", "classes": (0, 1), "bounds": (-1, 1), "fit_intercept": False}
    ours = LogisticRegression(40, **given, alpha=1, l1=40).fit(x, y)
    theirs = Plain(C=1 / 41, l1_ratio=40 / 41, solver="saga", max_iter=5000, tol=1e-8, fit_intercept=False).fit(x, y)
    assert ours.coef_ == pytest.approx(theirs.coef_, abs=0.05)
    assert np.flatnonzero(ours.coef_).tolist() == np.flatnonzero(theirs.coef_).tolist() == [0, 1]
    assert np.count_nonzero(LogisticRegression(40, **given, alpha=1).fit(x, y).coef_) == 6
    assert np.count_nonzero(LogisticRegression(2, **given, alpha=1, l1=10_000).fit(x, y).coef_) == 0
    line = HuberRegressor(40, bounds=(-1, 1), label_bounds=(-4, 4), l1=300, alpha=1).fit(x, 2 * x[:, 0])
    assert np.flatnonzero(line.coef_).tolist() == [0]


def test_the_certificate_of_a_cornered_minimum_is_its_shortest_subgradient() -> None:
    rng = np.random.default_rng(4)
    rows = np.trunc(np.ldexp(rng.uniform(-1, 1, size=(300, 8)), 40)) * 2.0**-40
    labels = (rows[:, 0] > 0).astype(np.int64)
    corner = np.full((8, 1), 20.0)
    it = Objective(Logistic(), ((rows, labels),), 0.5, rng.normal(size=(8, 1)), 8**0.5, corner)
    at = minimised(it, 1e-6)
    assert 1 <= np.count_nonzero(at) < 8
    assert np.linalg.norm(it.gradient(at)) <= it.longest(at) <= 1e-6
    for _ in range(50):  # nowhere near is the objective lower
        assert it.seen(at + rng.normal(size=at.shape) * 1e-3)[0] >= it.seen(at)[0]
    zero = np.flatnonzero(at == 0)[0]
    off = at.copy()
    off[zero] = 1e-5
    assert it.longest(off) > 1


def test_seeded_choices_depend_on_the_rows_alone() -> None:
    what = SparseLeastSquares(("a", "b"), "y", 1, ONE)
    rows: list[tuple[int, ...]] = [(2, -1, 2), (1, 2, 1), (-2, 0, -2)]
    assert what(frame(what, rows), rng=Seeded(3)) == what(frame(what, rows), rng=Seeded(3))
