"""Clusters: what is summed of a partition, exactly, how far a unit moves it, and which centres are told."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from doubles import Seeded
from learn.test_moments import frame, moves, units
from sklearn import cluster, mixture

from discreet.errors import Refusal
from discreet.learn import GaussianComponents, GaussianMixture, KMeans, KMeansClusters
from discreet.learn.cluster_seeds import levels_for, pictured
from discreet.learn.design_matrix import Design
from discreet.learn.fit_price import rho_of
from discreet.learn.mixture import LEAST, Laws, shared_sums, shares
from discreet.learn.partition_sums import ONE, CellNoise, Room, cell_sums, nearest_sums
from discreet.mechanisms import Column, Frame
from discreet.privacy import Pure, Replace

UNIT, HALF, RARE = Fraction(1), Fraction(1, 2), Fraction(1, 10**6)


def room_of(what: Any) -> Room:  # noqa: ANN401
    known = frame(what, ())
    return Room.of(Design.of(known, what.features, intercept=what.data_norm is None, norm=what.data_norm))


@pytest.mark.parametrize(
    "what",
    [
        KMeansClusters(("a",), 2, UNIT, max_rows=2),
        KMeansClusters(("a", "b"), 2, UNIT, RARE),
        KMeansClusters(("a", "b"), 2, rho=HALF, data_norm=Fraction(3), neighbours=Replace()),
        KMeansClusters(("a", "b"), 2, UNIT, data_norm=Fraction(3)),
    ],
    ids=repr,
)
@pytest.mark.parametrize("squares", [True, False])
def test_no_unit_moves_a_partition_further_than_was_paid_for(what: KMeansClusters, squares: bool) -> None:  # noqa: FBT001
    room, parts = room_of(what), 3
    noise = what.noise(room, parts, squares=squares)
    seen = {}
    for unit in units(what):
        points = room.points(frame(what, unit))
        places = (points[:, 0] > 0).astype(np.int64)  # a partition into halves
        seen[unit] = cell_sums(points, places, 2, squares=squares).ravel()

    def lost(move: Any) -> Fraction:  # noqa: ANN401
        parts = [Fraction(int(each), ONE) for each in move]
        if noise.gaussian:
            return sum((each * each for each in parts), Fraction(0)) / (2 * noise.width)
        return sum(map(abs, parts), Fraction(0)) / noise.width

    paid = (what.privacy.epsilon if isinstance(what.privacy, Pure) else rho_of(what.privacy)) / (2 * parts)
    assert paid * Fraction(2, 5) <= max(map(lost, moves(what, seen))) <= paid


def test_sums_of_a_partition_are_those_of_whole_numbers() -> None:
    rng = np.random.default_rng(1)
    points = rng.integers(-ONE, ONE + 1, size=(20_000, 3)).astype(np.float64)
    points[:4] = [[5, 0, 0], [-5, 0, 0], [0, 0, 0], [ONE, -ONE, ONE]]
    centers = np.array([[5.0, 0, 0], [-5, 0, 0], [ONE, ONE, ONE], [5, 0, 0]])  # the last is never the first
    whole = points.astype(np.int64)
    far = ((whole[:, np.newaxis] - centers.astype(np.int64)) ** 2).sum(axis=2)
    near = far.argmin(axis=1)
    told = nearest_sums(points, centers)
    places = np.where(whole[:, 0] > 0, near, -1)
    cells = cell_sums(points, places, 4, squares=True)
    for i in range(4):
        assert told[i].tolist() == [int((near == i).sum()) * ONE, *whole[near == i].sum(axis=0).tolist()]
        own = whole[places == i]
        assert cells[i].tolist() == [len(own) * ONE, *own.sum(axis=0).tolist(), *(own**2 // ONE).sum(axis=0).tolist()]


def test_noise_has_the_variance_that_is_said() -> None:
    for noise in (
        CellNoise(Fraction(9), gaussian=True, squares=False),
        CellNoise(Fraction(3), gaussian=False, squares=False),
    ):
        rows, sums, _ = noise.told(np.zeros((3000, 2)), Seeded(2))
        for drawn in (rows, sums[:, 0]):
            assert drawn.std() == pytest.approx(noise.deviation, rel=0.15)  # six standard errors, of Laplace numbers


def blobs(rows: int = 20_000) -> Any:  # noqa: ANN401
    rng = np.random.default_rng(0)
    centers = rng.uniform(-0.8, 0.8, (5, 4))
    return np.clip(centers[rng.integers(0, 5, rows)] + rng.normal(0, 0.1, (rows, 4)), -1, 1)


def inertia(x: Any, centers: Any) -> float:  # noqa: ANN401
    return float(((x[:, np.newaxis] - centers) ** 2).sum(axis=2).min(axis=1).mean())


@pytest.mark.parametrize(
    ("given", "worse"), [({}, 1.3), ({"delta": "1e-6"}, 1.1), ({"data_norm": 2, "delta": "1e-6"}, 1.1)]
)
def test_at_a_price_people_pay_rows_are_nearly_as_near_as_without_noise(given: dict[str, Any], worse: float) -> None:
    x = blobs()
    plain = cluster.KMeans(5, n_init=5, random_state=0).fit(x)
    names = tuple("abcd")
    columns = [Column(name, bounds=(-1, 1)) for name in names]
    relation = Frame.of(dict(zip(names, x.T, strict=True)), *columns)
    price = {"epsilon": UNIT, **{name: Fraction(value) for name, value in given.items()}}
    ours = KMeansClusters(names, 5, **price)(relation, rng=Seeded(1))  # type: ignore[arg-type]
    assert inertia(x, np.array(ours.centers)) < worse * inertia(x, plain.cluster_centers_)
    assert sum(ours.sizes) == pytest.approx(len(x), rel=0.05)
    told = KMeans(5, epsilon=1, bounds=(-1, 1)).fit(x[:500])
    assert (told.predict(x) == told.transform(x).argmin(axis=1)).all()


def test_features_of_other_units_count_in_those_units() -> None:
    """What is a hundred times as wide decides, as it does without noise."""
    x = blobs(5000) * [100, 1, 1, 1] + [3, 0, 0, 0]
    ours = KMeans(2, epsilon=10**6, bounds=([-97, -1, -1, -1], [103, 1, 1, 1])).fit(x)
    plain = cluster.KMeans(2, n_init=5, random_state=0).fit(x)
    assert inertia(x, ours.cluster_centers_) == pytest.approx(plain.inertia_ / len(x), rel=0.02)


def test_a_picture_of_rows_weighs_what_rows_there_are() -> None:
    points = np.round(blobs(4000) * ONE)
    noise = CellNoise(Fraction(1, 10**6), gaussian=True, squares=True)
    picture = pictured(points, np.ones(4), noise, levels_for(5), Seeded(1))
    assert picture.weights.sum() == pytest.approx(4000, abs=0.1)
    assert picture.weights @ picture.points == pytest.approx(points.sum(axis=0) / ONE, abs=0.1)
    assert len(picture.points) > 10
    assert [levels_for(each) for each in (1, 2, 5, 8, 9)] == [2, 3, 5, 5, 6]


@pytest.mark.parametrize(("rows", "kind"), [*itertools.product([0, 1, 3], [{"delta": "1e-6"}, {}])])
def test_few_rows_are_fitted_like_any(rows: int, kind: dict[str, Any]) -> None:
    told = KMeans(3, epsilon=1, bounds=([0, 2], [5, 3]), **kind).fit(np.full((rows, 2), 2.5))
    assert ((told.cluster_centers_ >= [-1e-5, 2 - 1e-5]) & (told.cluster_centers_ <= [5.00001, 3.00001])).all()
    assert not hasattr(told, "labels_")


def test_what_makes_no_sense_is_refused() -> None:
    for nonsense in (
        {"clusters": 0},
        {"clusters": 1001},
        {"iterations": 0},
        {"features": tuple(map(str, range(1001)))},
    ):
        with pytest.raises(Refusal):
            KMeansClusters(**{"features": ("a",), "clusters": 2, "epsilon": UNIT, **nonsense})  # type: ignore[arg-type]


# mixtures -------------------------------------------------------------------------------------------------------------


def two_laws() -> Laws:
    means = np.array([[0.2, -0.5], [-0.1, 0.4]])
    return Laws(np.array([0.3, 0.7]), means, np.array([[0.04, 0.3], [0.2, LEAST]]))


def test_shares_are_those_of_the_laws_and_sums_of_them_exact() -> None:
    rng, laws = np.random.default_rng(2), two_laws()
    points = rng.integers(-ONE, ONE + 1, size=(9000, 2)).astype(np.float64)
    told, squares = shares(points, laws)
    v = points / ONE
    chance = np.log(laws.weights) - (
        ((v[:, np.newaxis] - laws.means) ** 2 / laws.variances + np.log(laws.variances)).sum(axis=2) / 2
    )
    true = np.exp(chance - chance.max(axis=1, keepdims=True))
    bound = (3 * 2 + 1) / 1024 + 2 * 2.0**-19  # of two features and two components
    assert pytest.approx(true / true.sum(axis=1, keepdims=True), abs=bound) == told.T / ONE
    assert (told >= 0).all()
    assert (told.sum(axis=0) <= ONE).all()
    parts = np.hstack([np.full((9000, 1), ONE), points, squares]).astype(np.int64).astype(object)
    assert (shared_sums(points, laws) == told.astype(np.int64).astype(object).dot(parts)).all()
    alone = np.hstack([shares(row[np.newaxis], laws)[0] for row in points[:50]])
    assert (alone == told[:, :50]).all()


@pytest.mark.parametrize(
    "what",
    [
        GaussianComponents(("a", "b"), 2, UNIT, max_rows=2),
        GaussianComponents(("a", "b"), 2, UNIT, RARE),
        GaussianComponents(("a", "b"), 2, rho=HALF, data_norm=Fraction(3), neighbours=Replace()),
    ],
    ids=repr,
)
def test_no_unit_moves_shared_sums_further_than_was_paid_for(what: GaussianComponents) -> None:
    room, laws = room_of(what), two_laws()
    noise = what.noise(room, 3)
    seen = {unit: shared_sums(room.points(frame(what, unit)), laws).ravel() for unit in units(what)}

    def lost(move: Any) -> Fraction:  # noqa: ANN401
        parts = [Fraction(int(each), ONE**2) for each in move]
        if noise.gaussian:
            return sum((each * each for each in parts), Fraction(0)) / (2 * noise.width)
        return sum(map(abs, parts), Fraction(0)) / noise.width

    paid = (what.privacy.epsilon if isinstance(what.privacy, Pure) else rho_of(what.privacy)) / 6
    assert paid * Fraction(1, 3) <= max(map(lost, moves(what, seen))) <= paid


def test_a_mixture_without_noise_to_speak_of_is_scikit_learns() -> None:
    rng = np.random.default_rng(4)
    x = np.vstack([rng.normal([0, 0], [1, 0.3], (3000, 2)), rng.normal([1.5, 1], [0.3, 1], (1500, 2))])
    ours = GaussianMixture(2, epsilon=10**8, bounds=(-5, 5), max_iter=20).fit(x)
    plain = mixture.GaussianMixture(2, covariance_type="diag", n_init=3, random_state=0).fit(x)
    assert ours.score(x) == pytest.approx(plain.score(x), abs=0.01)
    order = plain.means_[:, 0].argsort()
    assert ours.means_ == pytest.approx(plain.means_[order], abs=0.05)
    assert ours.covariances_ == pytest.approx(plain.covariances_[order], rel=0.1)
    assert ours.predict_proba(x).sum(axis=1) == pytest.approx(np.ones(len(x)))
    assert (ours.predict(x) == ours.predict_proba(x).argmax(axis=1)).all()
    paid = GaussianMixture(2, epsilon=4, delta="1e-6", bounds=(-5, 5)).fit(x)
    assert paid.score(x) > plain.score(x) - 0.4


@pytest.mark.parametrize("rows", [0, 3])
def test_a_mixture_of_few_rows_is_one(rows: int) -> None:
    told = GaussianMixture(3, epsilon=1, bounds=([0, 2], [5, 3])).fit(np.full((rows, 2), 2.5))
    assert np.isfinite(told.score_samples([[1.0, 2.5]])).all()
    assert told.weights_.sum() == pytest.approx(1)
    with pytest.raises(Refusal):
        GaussianMixture(0, bounds=(0, 1)).fit([[1.0]])


def test_a_replaced_row_turns_its_sums_around_and_none_is_longer_than_its_norm() -> None:
    room = room_of(KMeansClusters(("a", "b"), 2, UNIT, data_norm=Fraction(2)))
    noise = CellNoise.at(room, UNIT, 1, Replace(), gaussian=True, squares=False)
    assert noise.width == pytest.approx((2 + 4) / 2)  # 2 for a count that moves cells, 4 for a row and its opposite
    what = KMeansClusters(("a", "b", "c"), 2, UNIT, data_norm=Fraction(2))
    points = room_of(what).points(frame(what, tuple(itertools.product((-2, -1, 1, 2), repeat=3))))
    assert (points**2).sum(axis=1).max() <= ONE**2
    exact = [Fraction(1, 3), Fraction(2, 3)]
    wide = KMeansClusters(("a", "b"), 2, UNIT, data_norm=Fraction(3))
    told = room_of(wide).points(frame(wide, ((1, 2),)))
    assert told.tolist() == [[float(int(each * ONE)) for each in exact]]
