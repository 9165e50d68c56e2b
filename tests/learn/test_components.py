"""Principal components: how far a unit moves their matrix, exactly, and which directions are told."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from doubles import Seeded
from learn.test_moments import frame, moves, units
from scipy.stats import chi2
from sklearn import decomposition
from sklearn.datasets import load_digits

from discreet.errors import Refusal
from discreet.learn import PCA, PrincipalComponents
from discreet.learn.design_matrix import Design
from discreet.learn.fit_price import rho_of
from discreet.learn.principal_components import noisy_matrix
from discreet.mechanisms import Column, Frame
from discreet.privacy import Pure, Replace

ONE, HALF, RARE, HUGE = Fraction(1), Fraction(1, 2), Fraction(1, 10**6), 10**15


@pytest.mark.parametrize(
    "what",
    [
        PrincipalComponents(("a",), 1, ONE, max_rows=2),
        PrincipalComponents(("a", "b"), 2, rho=HALF),
        PrincipalComponents(("a", "b"), 1, ONE, RARE, center=False, neighbours=Replace()),
        PrincipalComponents(("a", "b"), 1, rho=HALF, center=False, data_norm=Fraction(3), max_rows=2),
        PrincipalComponents(("a", "b"), 1, ONE, center=False, data_norm=Fraction(3)),
    ],
    ids=repr,
)
def test_no_unit_moves_the_matrix_further_than_was_paid_for_and_one_nearly_as_far(what: PrincipalComponents) -> None:
    design = Design.of(frame(what, ()), what.features, intercept=what.center, norm=what.data_norm)
    spread, scales = what.spread(design), design.scales
    upper = [(i, j) for i in range(len(scales)) for j in range(i, len(scales))]
    seen = {}
    for unit in units(what):
        matrix = design.products(frame(what, unit))
        seen[unit] = np.array([Fraction(matrix[i, j]) / (scales[i] * scales[j]) for i, j in upper], dtype=object)
    widths = [spread.matrix * (2 if i == j and spread.gaussian else 1) for i, j in upper]

    def lost(move: Any, less: Fraction) -> Fraction:  # noqa: ANN401
        pairs = zip(move, widths, strict=True)
        if spread.gaussian:
            return sum((m * m / (2 * w * less) for m, w in pairs), Fraction(0))
        return sum((abs(m) / (w * less) for m, w in pairs), Fraction(0))

    paid = what.privacy.epsilon if isinstance(what.privacy, Pure) else rho_of(what.privacy)
    assert paid * Fraction(3, 4) <= max(lost(move, ONE) for move in moves(what, seen)) <= paid
    assert max(lost(move, Fraction(2, 3)) for move in moves(what, seen)) > paid


def blob(rows: int = 4000) -> Any:  # noqa: ANN401
    rng = np.random.default_rng(7)
    turned = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    return np.clip(rng.normal(size=(rows, 4)) * [2, 1, 0.5, 0.2] @ turned + [1, 0, -1, 2], -9, 9)


@pytest.mark.parametrize(
    "given", [{"bounds": (-9, 9)}, {"data_norm": 30}, {"bounds": ([-9, -9, -10, -9], [9, 9, 9, 11])}]
)
def test_without_noise_to_speak_of_they_are_scikit_learns(given: dict[str, Any]) -> None:
    x = blob()
    ours, theirs = PCA(3, epsilon=HUGE, **given).fit(x), decomposition.PCA(3).fit(x)
    signs = np.sign((ours.components_ * theirs.components_).sum(axis=1))[:, np.newaxis]
    assert ours.components_ == pytest.approx(signs * theirs.components_, abs=1e-5)
    assert ours.mean_ == pytest.approx(theirs.mean_, abs=1e-5)
    assert ours.explained_variance_ == pytest.approx(theirs.explained_variance_, rel=1e-5)
    assert ours.explained_variance_ratio_ == pytest.approx(theirs.explained_variance_ratio_, rel=1e-5)
    assert ours.transform(x) == pytest.approx(signs.T * theirs.transform(x), abs=1e-3)
    told = PCA(epsilon=HUGE, **given).fit(x)
    assert told.inverse_transform(told.transform(x)) == pytest.approx(x, abs=1e-9)


def test_from_zero_the_first_direction_is_that_of_the_second_moments() -> None:
    x = blob()
    ours = PCA(1, epsilon=HUGE, data_norm=30, center=False).fit(x)
    first = np.linalg.eigh(x.T @ x)[1][:, -1]
    assert abs(ours.components_[0] @ first) == pytest.approx(1, abs=1e-7)
    assert not ours.mean_.any()


def test_a_component_of_digits_keeps_what_the_published_noise_keeps() -> None:
    x = load_digits().data / 8 - 1
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    second = x.T @ x
    kept = []
    for _ in range(2):
        [v] = PCA(1, epsilon=1, delta="1e-6", data_norm=1, center=False).fit(x).components_
        kept.append(float(v @ second @ v) / np.trace(second))
    assert np.mean(kept) > 0.592  # 0.5947 without noise, 0.594 with the published noise


@pytest.mark.parametrize("rows", [0, 1, 3])
def test_few_rows_are_fitted_like_any(rows: int) -> None:
    for center in (True, False):
        told = PCA(2, epsilon=1, bounds=(0, 5), center=center).fit(np.full((rows, 3), 2.0))
        assert np.isfinite(told.transform([[1.0, 2, 3]])).all()
        assert told.components_ @ told.components_.T == pytest.approx(np.eye(2), abs=1e-9)
        assert (told.explained_variance_ >= 0).all()


def test_there_are_no_more_components_than_features() -> None:
    with pytest.raises(ValueError, match="n_components <= 2"):
        PCA(3, bounds=(0, 1)).fit([[1, 2]])
    with pytest.raises(Refusal, match="components <= 2"):
        replace(PrincipalComponents(("a", "b"), 2, ONE), components=3)


@pytest.mark.parametrize("gaussian", [True, False])
def test_noise_has_the_variance_that_is_said(gaussian: bool) -> None:  # noqa: FBT001
    """Sums of squares are held against far tails of their law, of Laplace numbers of one as wide."""
    what = PrincipalComponents(("a", "b"), 1, None if gaussian else ONE, rho=HALF if gaussian else None, center=False)
    columns = [Column(name, bounds=(-4, 4), step=Fraction(1, 100)) for name in what.features]
    design = Design.of(Frame.of({"a": [], "b": []}, *columns), what.features, intercept=False, norm=None)
    spread, size, rng = what.spread(design), 1500, Seeded(3)
    zero = np.zeros((2, 2), dtype=object)
    drawn = np.array([noisy_matrix(design, spread, zero, rng) for _ in range(size)])
    few = 1.0 if gaussian else 2.5  # the square of a Laplace number varies 5 times its mean squared, of a normal twice
    low, high = chi2.ppf([1e-10, 1 - 1e-10], size / few) * few / size
    assert np.array_equal(drawn[:, 0, 1], drawn[:, 1, 0])
    for i, j in ((0, 0), (0, 1), (1, 1)):
        told = (drawn[:, i, j] ** 2).mean() / spread.size**2 / (2 if gaussian and i == j else 1)
        assert low < told < high
        assert not low < told * 2 < high
        assert not low < told / 2 < high
