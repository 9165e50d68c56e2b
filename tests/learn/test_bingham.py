"""Bingham's law, and components drawn by it: against quadrature, an identity in all dimensions, ratios of densities."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from doubles import Seeded
from sklearn.datasets import load_digits

from discreet.errors import Fault, Refusal
from discreet.learn import PCA, ExponentialComponents
from discreet.learn.bingham import GRID, Envelope, bingham, lattice
from discreet.learn.design_matrix import Design
from discreet.learn.exponential_components import across
from discreet.mechanisms import Column, Frame
from discreet.privacy import AddRemove, Replace

ONE, RARE = Fraction(1), Fraction(1, 10**12)
SHIFT = 30


def whole(matrix: Any) -> Any:  # noqa: ANN401
    """A symmetric matrix in steps of 2⁻³⁰."""
    return np.array([[round(float(v) * 2**SHIFT) for v in row] for row in np.asarray(matrix)], dtype=object)


def drawn(matrix: Any, size: int) -> Any:  # noqa: ANN401
    """So many vectors."""
    envelope, rng, bits = Envelope.of(whole(matrix), SHIFT), Seeded(4), lattice(len(matrix), RARE)
    return np.array([envelope.draw(bits, rng) for _ in range(size)]) / 2.0**GRID


def circle(matrix: Any, size: int = 20_000) -> tuple[Any, Any]:  # noqa: ANN401
    """Points of a circle, and the chance of each under the law."""
    turns = 2 * np.pi * (np.arange(size) + 0.5) / size
    points = np.column_stack([np.cos(turns), np.sin(turns)])
    weights = np.exp(np.einsum("ij,jk,ik->i", points, matrix, points))
    return points, weights / weights.sum()


def farthest(sample: Any, matrix: Any) -> float:  # noqa: ANN401
    """How far the distribution function of the first coordinate, squared, is from that of the law."""
    points, chance = circle(matrix)
    order = np.argsort(points[:, 0] ** 2)
    known, upto = points[order, 0] ** 2, np.cumsum(chance[order])
    seen = np.sort(sample[:, 0] ** 2)
    true = np.interp(seen, known, upto)
    steps = np.arange(len(seen) + 1) / len(seen)
    return float(max(np.abs(steps[1:] - true).max(), np.abs(steps[:-1] - true).max()))


def test_on_a_circle_it_follows_its_law_and_no_other() -> None:
    """Dvoretzky, Kiefer & Wolfowitz with Massart's constant: a right sampler fails once in 10^9."""
    size, matrix = 700, np.array([[1.5, 0.5], [0.5, -1.0]])
    sample = drawn(matrix, size)
    assert np.linalg.norm(sample, axis=1) == pytest.approx(np.ones(size), abs=1e-6)
    gap = math.sqrt(math.log(2e9) / (2 * size))
    assert farthest(sample, matrix) < gap
    assert farthest(sample, 2.5 * matrix) > gap
    assert farthest(sample, matrix / 4) > gap


@pytest.mark.slow
@pytest.mark.parametrize("strength", [1.0, 20.0])
def test_its_second_moment_is_that_of_quadrature(strength: float) -> None:
    matrix, size = np.diag([strength, 0.0]), 20_000
    points, chance = circle(matrix)
    squares = drawn(matrix, size)[:, 0] ** 2
    assert abs(squares.mean() - chance @ points[:, 0] ** 2) < 4 * squares.std() / math.sqrt(size)


@pytest.mark.slow
@pytest.mark.parametrize(("dimensions", "size"), [(3, 4000), (16, 1500), (64, 400)])
def test_an_identity_of_the_law_holds_in_many_dimensions(dimensions: int, size: int) -> None:
    """Green's formula on the sphere for the function xᵀBx: its mean is zero under this law, and under no wider one."""
    rng = np.random.default_rng(dimensions)
    turned = np.linalg.qr(rng.normal(size=(dimensions, dimensions)))[0]
    matrix = turned @ np.diag(np.linspace(0, 3 * dimensions, dimensions)) @ turned.T
    x = drawn(matrix, size)
    for kept in (turned[:, -1:], turned[:, dimensions // 2 :], rng.normal(size=(dimensions, 2))):
        b = kept @ kept.T
        xbx, xsx = (np.einsum("ij,jk,ik->i", x, each, x) for each in (b, matrix))
        xbsx = np.einsum("ij,jk,ik->i", x, b @ matrix, x)

        def off(strength: float, b: Any = b, xbx: Any = xbx, xsx: Any = xsx, xbsx: Any = xbsx) -> float:  # noqa: ANN401
            terms = np.trace(b) - dimensions * xbx + 2 * strength * (xbsx - xbx * xsx)
            return float(abs(terms.mean()) / (terms.std() / math.sqrt(size)))

        assert off(1.0) < 6.2
    b = turned[:, -1:] @ turned[:, -1:].T
    assert off(1.5, b) > 6.2


@pytest.mark.parametrize("dimensions", [2, 5, 40])
def test_a_coin_leaves_the_density_of_the_law_and_is_never_above_one(dimensions: int) -> None:
    rng = np.random.default_rng(dimensions)
    half = rng.normal(size=(dimensions, dimensions)) * np.linspace(0.1, 4, dimensions)
    envelope = Envelope.of(whole(half @ half.T), SHIFT)
    root = envelope.root.astype(float) / 2.0**62
    matrix = envelope.matrix.astype(float) / 2.0**SHIFT
    precision = np.linalg.inv(root @ root.T)
    told = []
    for scale in (1, 1, 1, 30, 1000):
        y = rng.normal(size=dimensions) * np.where(np.arange(dimensions) == dimensions - 1, scale, 1)
        x = root @ y
        wide, along = y @ y / (x @ x), x @ matrix @ x / (x @ x)
        assert wide == pytest.approx(x @ precision @ x / (x @ x), rel=1e-6)
        chance = envelope.chance(Fraction(float(wide)), Fraction(float(along)), 60)
        assert chance.high <= 1
        told.append(float(chance.low.ln()) - dimensions / 2 * math.log(wide) - along)
    assert told == pytest.approx([told[0]] * len(told), abs=1e-6)


# what the mechanism loses ---------------------------------------------------------------------------------------------


def sphere(dimensions: int) -> Any:  # noqa: ANN401
    """Points of a circle or of a sphere, each standing for as large a part of it."""
    if dimensions == 2:
        return circle(np.zeros((2, 2)), 4000)[0]
    height, turn = np.meshgrid((np.arange(200) + 0.5) / 100 - 1, 2 * np.pi * np.arange(300) / 300, indexing="ij")
    wide = np.sqrt(1 - height**2)
    return np.stack([wide * np.cos(turn), wide * np.sin(turn), height], axis=-1).reshape(-1, 3)


def log_density(what: ExponentialComponents, rows: Any, points: Any) -> Any:  # noqa: ANN401
    """Of what its first direction is drawn from, on these points, as it computes it from these rows."""
    columns = [Column(name, bounds=(-1, 1), step=Fraction(1, 100)) for name in what.features]
    data = {name: np.array([row[i] for row in rows], dtype=np.float64) for i, name in enumerate(what.features)}
    frame = Frame.of(data, *columns, max_rows=what.max_rows)
    design = Design.of(frame, what.features, intercept=what.center, norm=what.data_norm)
    score = what.moments(design, frame).astype(float) / 2.0**48 * float(what.rate)
    logs = np.einsum("ij,jk,ik->i", points, score, points)
    return logs - math.log(np.exp(logs).mean())


@pytest.mark.parametrize("dimensions", [2, 3])
@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("neighbours", [AddRemove(), Replace()])
@pytest.mark.parametrize("norm", [None, ONE])
def test_no_density_is_further_from_a_neighbours_than_was_paid_for(
    dimensions: int,
    center: bool,  # noqa: FBT001
    neighbours: Any,  # noqa: ANN401
    norm: Fraction | None,
) -> None:
    names, points = tuple("abc"[:dimensions]), sphere(dimensions)
    what = ExponentialComponents(names, 1, Fraction(4), RARE, center, norm, 2, neighbours)
    first, last = ([1.0] + [0.0] * (dimensions - 1)), ([0.0] * (dimensions - 1) + [1.0])
    if norm is None:
        first, last = [1.0] * dimensions, [1.0] * (dimensions - 1) + [-1.0]
    others = [[-each for each in first]] * 8 if center else []
    one, two = (others + [own] * 2 for own in (first, last))
    pairs = (
        [(one, two)]
        if neighbours == Replace()
        else [(others, one), (others, two), (others, [*others, [0.3] * dimensions])]
    )
    lost = [np.abs(log_density(what, a, points) - log_density(what, b, points)).max() for a, b in pairs]
    assert max(lost) <= 4 * 1.0001
    assert max(lost) >= 4 * (0.2 if center else 0.45)


def test_rounding_of_both_neighbours_is_in_what_a_score_may_move() -> None:
    """A row along the first eigenvector of the worst difference of roundings: ±1 step, of two neighbours."""
    what = ExponentialComponents(("a", "b"), 1, ONE, center=False, data_norm=ONE)
    worst = np.array([[1, 1], [1, -1]])
    values, vectors = np.linalg.eigh(worst)
    steps = 2.0**48
    moved = np.linalg.eigvalsh(np.outer(vectors[:, 1], vectors[:, 1]) * steps + worst)
    assert moved[1] - moved[0] == pytest.approx(steps + values[1] - values[0], abs=0.1)
    spread = Fraction(float(values[1] - values[0])) / (1 << 48)
    assert what.rate * (1 + spread) <= what.epsilon


def test_a_basis_that_makes_a_vector_longer_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    told = np.eye(40)[:3]
    basis = across(told, 40)
    whole_norm = np.linalg.norm(basis.astype(float), 2) / 2.0**52
    assert 1 - 2.0**-29 < whole_norm < 1
    longer = np.linalg.qr(told.T, mode="complete")[0] * (1 + 2.0**-20)
    monkeypatch.setattr(np.linalg, "qr", lambda *_, **__: (longer,))
    with pytest.raises(Fault):
        across(told, 40)


def test_a_coin_that_divides_leaves_another_law_that_loses_more_than_is_claimed() -> None:
    """In eight dimensions, 64 rows along each of two axes, and one more along the one or the other.

    The two laws are mirror images, so what they are divided by is the same.
    """

    def lost(power: int) -> float:
        behind = np.array([0.0, 1.0, *[65.0] * 6]) / 4  # at ε = 1, λ = ε/4
        low, high = 0.5, 8.0
        for _ in range(60):
            b = (low + high) / 2
            low, high = (b, high) if np.sum(1 / (b + 2 * behind)) > 1 else (low, b)
        logs = -behind - power * np.log1p(2 * behind / b)
        return float(logs[0] - logs[1])

    assert lost(0) == 0.25
    assert 1.8 < lost(8) < 1.9


@pytest.mark.slow
def test_a_component_of_digits_is_near_the_best_one() -> None:
    x = load_digits().data / 8 - 1
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    second = x.T @ x
    told = PCA(2, method="exponential", epsilon=10, data_norm=1, center=False).fit(x).components_
    assert told @ told.T == pytest.approx(np.eye(2), abs=1e-9)
    assert told[0] @ second @ told[0] / np.trace(second) > 0.585  # 0.5947 without noise


def test_what_makes_no_sense_is_refused_and_what_cannot_be_certified_ends() -> None:
    wrong: list[dict[str, Any]] = [{"epsilon": 2000}, {"delta": 0}, {"epsilon": None}, {"rho": 1}, {"method": "magic"}]
    for nonsense in wrong:
        given: dict[str, Any] = {"method": "exponential", "bounds": (0, 1), **nonsense}
        with pytest.raises(Refusal):
            PCA(1, **given).fit(np.eye(2))
    with pytest.raises(Refusal, match="at most 256"):
        ExponentialComponents(tuple(map(str, range(257))), 1, ONE)
    with pytest.raises(Fault):
        bingham(whole(np.diag([1e17, 3, 0])), SHIFT, RARE)
    assert bingham(whole([[7]]), SHIFT, RARE) == (1 << GRID,)


def test_no_rows_make_every_direction_as_likely() -> None:
    told = [PCA(1, method="exponential", bounds=(0, 5)).fit(np.zeros((0, 2))).components_[0] for _ in range(30)]
    assert np.std([each[0] for each in told]) > 0.1


def test_replaced_units_have_half_the_rate() -> None:
    """A unit that is replaced may raise one direction by as much as it lowers another."""
    one, two = (ExponentialComponents(("a", "b"), 1, ONE, neighbours=each).rate for each in (AddRemove(), Replace()))
    assert float(one / two) == pytest.approx(2)
    assert float(one) == pytest.approx(1 / 4, rel=1e-9)
