"""Additive noise: a shift of the exact samplers, priced exactly, total on every integer."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from doubles import Seeded
from hypothesis import given
from hypothesis import strategies as st
from mechanisms.chances import Whatever, covers

from discreet.errors import Refusal
from discreet.interval_arithmetic import Interval, exp
from discreet.mechanisms.integer_noise import Gaussian, GaussianVector, Laplace, LaplaceVector
from discreet.noise import gaussian, gaussians, laplace, laplaces
from discreet.privacy import AddRemove, Concentrated, Pure, Replace

SCALARS: list[tuple[Any, Callable[..., int]]] = [(Laplace, laplace), (Gaussian, gaussian)]
VECTORS: list[tuple[Any, Callable[..., Any]]] = [(LaplaceVector, laplaces), (GaussianVector, gaussians)]
EVERY = [Laplace, LaplaceVector, Gaussian, GaussianVector]


@pytest.mark.parametrize(("kind", "noise"), SCALARS)
@given(st.integers(), st.fractions(min_value=Fraction(1, 100), max_value=1000, max_denominator=100), st.integers(0, 99))
def test_a_number_comes_out_with_the_samplers_noise(
    kind: type[Any], noise: Whatever, value: int, width: Fraction, seed: int
) -> None:
    assert kind(width)(value, rng=Seeded(seed)) == value + noise(width, rng=Seeded(seed))


@pytest.mark.parametrize(("kind", "noise"), VECTORS)
@given(st.lists(st.integers(-(1 << 61), 1 << 61), max_size=20), st.integers(0, 99))
def test_a_vector_comes_out_with_the_noise(kind: type[Any], noise: Whatever, values: list[int], seed: int) -> None:
    drawn = noise(7, len(values), rng=Seeded(seed))
    noisy = kind(7)(values, rng=Seeded(seed))
    assert noisy.dtype == np.int64
    assert noisy.tolist() == [value + int(n) for value, n in zip(values, drawn, strict=True)]


@pytest.mark.parametrize("kind", [LaplaceVector, GaussianVector])
@pytest.mark.parametrize("width", [Fraction(1, 10**9), 5, 1 << 100])
def test_vectors_of_any_width_and_any_integers(kind: type[Any], width: Fraction) -> None:
    far = [0, 1 << 70, -(1 << 70), (1 << 63) - 1, -(1 << 63)]
    noisy = kind(width)(far, rng=Seeded(3))
    assert noisy.dtype == np.int64
    if width <= 5:
        assert np.abs(noisy - np.array([0, 1, -1, 1, -1]) * ((1 << 62) - 1)).max() < 100  # clamped, then noise
    else:
        assert len(set(noisy.tolist())) > 1
    assert kind(width)(np.zeros((2, 3), dtype=np.int32), rng=Seeded(3)).shape == (2, 3)
    assert kind(width)([], rng=Seeded(3)).shape == (0,)
    assert kind(width)([2**63, -1], rng=Seeded(3)).shape == (2,)  # which numpy would read as floats


def test_noise_beyond_64_bits_is_clamped_after_it_is_added() -> None:
    wide = LaplaceVector(Fraction(1 << 66))
    noisy = [wide([value], rng=Seeded(seed)).item() for seed in range(40) for value in (0, 1000)]
    exactly = [value + laplace(1 << 66, rng=Seeded(seed)) for seed in range(40) for value in (0, 1000)]
    end = (1 << 63) - 1
    assert noisy == [max(-end, min(end, n)) for n in exactly]
    assert {end, -end} < set(noisy)


@pytest.mark.parametrize("values", [np.array([0.5]), [0.5], ["1"], [None], np.array(["1"]), [1, 2.0]])
def test_what_is_not_whole_is_not_taken(values: Whatever) -> None:
    with pytest.raises(Refusal, match="expected whole numbers"):
        LaplaceVector(Fraction(1))(values)
    with pytest.raises(TypeError):
        Laplace(Fraction(1))(0.5)  # type: ignore[arg-type]


@given(st.fractions(min_value=Fraction(1, 10**6), max_value=50), st.integers(1, 10**6))
def test_a_price_is_met_exactly(price: Fraction, sensitivity: int) -> None:
    assert Laplace.of(price, sensitivity).privacy == LaplaceVector.of(price, sensitivity).privacy == Pure(price)
    assert Gaussian.of(price, sensitivity).privacy == Concentrated(price)
    assert GaussianVector.of(price, sensitivity).privacy == Concentrated(price)
    assert Laplace.of(price, sensitivity).scale == sensitivity / price
    assert Gaussian.of(price, sensitivity).variance == sensitivity**2 / (2 * price)


def _mass(n: int, scale: Fraction) -> Interval:
    b = exp(-1 / scale)
    return (1 - b) / (1 + b) * exp(-Fraction(abs(n)) / scale)


@pytest.mark.parametrize(("scale", "sensitivity"), [(Fraction(1), 1), (Fraction(7, 3), 3), (Fraction(1, 2), 2)])
def test_the_exact_loss_of_laplace_is_its_price(scale: Fraction, sensitivity: int) -> None:
    pair = Laplace(scale, sensitivity).pairs()[0]
    losses = [(_mass(n - pair.left, scale) / _mass(n - pair.right, scale)).log() for n in range(-20, 30)]
    worst = max(losses, key=lambda loss: loss.high)
    epsilon = Laplace(scale, sensitivity).privacy.epsilon
    assert worst.down <= epsilon <= worst.up
    assert worst.up - worst.down < Fraction(1, 10**40)


@pytest.mark.parametrize("kind", EVERY)
@pytest.mark.parametrize("confidence", ["0.5", "0.9", "0.95", "0.999"])
def test_the_error_covers(kind: type[Any], confidence: str) -> None:
    mechanism = kind(Fraction(40, 3))
    bound = mechanism.error(confidence)
    if kind in (Laplace, Gaussian):
        assert covers(lambda rng: abs(mechanism(5, rng=rng) - 5) > bound, Fraction(confidence), seed=7)
    else:
        assert covers(lambda rng: abs(mechanism([5], rng=rng).item() - 5) > bound, Fraction(confidence), seed=8)


@pytest.mark.parametrize("kind", EVERY)
@pytest.mark.parametrize("nonsense", [0, -1, float("nan"), float("inf"), "x", True, None])
def test_nonsense_is_refused_by_value(kind: type[Any], nonsense: Whatever) -> None:
    with pytest.raises(Refusal, match=r"scale|variance"):
        kind(nonsense)
    with pytest.raises(Refusal, match=r"epsilon|rho"):
        kind.of(nonsense)
    with pytest.raises(Refusal, match="sensitivity"):
        kind.of(1, 0.5 if nonsense == "x" else nonsense)
    with pytest.raises(Refusal, match="neighbours"):
        kind.of(1, 1, nonsense)


def test_numpy_numbers_are_read_as_pythons() -> None:
    mechanism = Laplace(np.float64(0.1), np.int64(3), Replace())  # type: ignore[arg-type]
    assert mechanism == Laplace(Fraction(1, 10), 3, Replace())
    assert type(mechanism.scale) is Fraction
    assert type(mechanism.sensitivity) is int
    assert type(mechanism(np.int64((1 << 63) - 1), rng=Seeded(1))) is int  # type: ignore[arg-type]
    assert mechanism.neighbours == Replace()
    assert Laplace(Fraction(1)).neighbours == AddRemove()


@pytest.mark.parametrize("sensitivity", [1, 2, 9, 10, 50])
def test_pairs_are_neighbours_at_full_distance(sensitivity: int) -> None:
    l1 = [np.abs(np.subtract(pair.left, pair.right)).sum() for pair in LaplaceVector.of(1, sensitivity).pairs()]
    l2 = [(np.subtract(pair.left, pair.right) ** 2).sum() for pair in GaussianVector.of(1, sensitivity).pairs()]
    assert max(l1) == sensitivity
    assert max(l2) <= sensitivity
    assert [pair.right - pair.left for pair in Gaussian.of(1, sensitivity).pairs()] == [sensitivity]


# numbers of any size ------------------------------------------------------------------------------------------------

WIDE = st.lists(st.integers(-(1 << 200), 1 << 200), max_size=6)


@pytest.mark.parametrize(
    ("kind", "each", "noise"), [(LaplaceVector, laplace, laplaces), (GaussianVector, gaussian, gaussians)]
)
@given(
    WIDE,
    st.sampled_from([Fraction(7), Fraction(1, 10**9), Fraction(1 << 100), Fraction(10**60, 7)]),
    st.integers(0, 99),
)
def test_integers_of_any_size_come_out_whole_with_the_samplers_noise(  # noqa: PLR0913, PLR0917
    kind: type[Any], each: Whatever, noise: Whatever, values: list[int], width: Fraction, seed: int
) -> None:
    rng = Seeded(seed)
    drawn = noise(7, len(values), rng=rng).tolist() if width == 7 else [each(width, rng=rng) for _ in values]
    assert kind(width).exactly(values, rng=Seeded(seed)) == [a + b for a, b in zip(values, drawn, strict=True)]


def test_wide_noise_follows_its_law_and_no_other() -> None:
    scale, size = 1 << 90, 6000
    sample = np.array([value / scale for value in LaplaceVector(Fraction(scale)).exactly([0] * size, rng=Seeded(5))])

    def gap(width: float) -> float:
        law = np.where(
            np.sort(sample) < 0, 0.5 * np.exp(np.sort(sample) / width), 1 - 0.5 * np.exp(-np.sort(sample) / width)
        )
        return float(np.abs(np.arange(1, size + 1) / size - law).max()) + 1 / size

    far = (np.log(2 / 1e-9) / (2 * size)) ** 0.5  # Dvoretzky, Kiefer & Wolfowitz: a right law is further with 1e-9
    assert gap(1.0) <= far < min(gap(0.7), gap(1.5))
