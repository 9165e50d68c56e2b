"""What a profile grants to floats, against intervals and fifty digits: never too small, wherever numbers cancel."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy import fft, special

from discreet.interval_arithmetic import UNIT, normal_tail
from discreet.privacy.convolve import _profile, _weights
from discreet.privacy.event import DiscreteGaussianNoise, LaplaceNoise
from discreet.privacy.loss_grid import (
    _adding,
    _discrete_gaussian,
    _laplace,
    _removing,
    _response,
    _split,
    _tail_units,
    on_grid,
    sampled_reach,
    sampled_tails,
)
from discreet.privacy.profile import Profile

mpmath.mp.dps = 50


def real(x: Fraction) -> mpmath.mpf:
    return mpmath.mpf(x.numerator) / x.denominator


def discrete_delta(sigma: Fraction, epsilon: Fraction) -> mpmath.mpf:
    """Of discrete Gaussian noise on a number that changes by 1, summed outcome by outcome."""
    weight = {n: mpmath.exp(-real(n**2 / (2 * sigma**2))) for n in range(-40, 41)}
    loss = {n: (1 - 2 * n) / (2 * sigma**2) for n in weight}
    gains = (weight[n] * -mpmath.expm1(real(epsilon - loss[n])) for n in weight if loss[n] > epsilon)
    return mpmath.fsum(gains) / mpmath.fsum(weight.values())


def test_more_discrete_gaussian_noise_may_lose_more_and_is_counted_so() -> None:
    """At ε = 5, σ = 0.45 loses ten times what σ = 0.317 does: no σ may stand for a larger one."""
    figures = {}
    for sigma in (Fraction("0.317"), Fraction("0.45"), Fraction(1, 3), Fraction(10, 31)):
        exact, found = discrete_delta(sigma, Fraction(5)), real(Profile.discrete_gaussian(sigma).delta_at(5))
        assert exact <= found <= exact * (1 + mpmath.mpf("1e-3"))
        figures[sigma] = float(found)
    assert figures[Fraction("0.317")] == pytest.approx(0.0068, rel=0.02)
    assert figures[Fraction("0.45")] == pytest.approx(0.066, rel=0.02)


@pytest.mark.parametrize("sigma", [Fraction(1, 3), Fraction(10, 7), Fraction("33.3")])
def test_losses_and_chances_of_discrete_gaussian_noise_are_right_to_what_is_said(sigma: Fraction) -> None:
    event = DiscreteGaussianNoise(sigma, 3)
    losses = _discrete_gaussian(event)
    radius = len(losses.values) // 2
    total = mpmath.fsum(mpmath.exp(-real(n**2 / (2 * sigma**2))) for n in range(-2 * radius, 2 * radius + 1))
    largest = max(abs(x) for x in losses.values)
    for n in range(-radius, radius + 1, max(1, radius // 20)):
        exact = Fraction(9 - 6 * n) / (2 * sigma**2)
        assert abs(Fraction(float(losses.values[n + radius])) - exact) <= Fraction(losses.off * UNIT * largest)
        chance = mpmath.exp(-real(n**2 / (2 * sigma**2))) / total
        assert losses.masses[n + radius] >= chance * (1 - losses.units * UNIT)


@pytest.mark.parametrize("epsilon", [0.01, 3.0, 400.0])
def test_corners_of_laplace_noise_do_not_cancel(epsilon: float) -> None:
    """Two of 65,536 corners are nearly the same number: their difference is not taken from them."""
    losses, count = _laplace(epsilon, 1 << 16, 1 << 16), 1 << 16
    for i in (0, 1, 77, count // 2, count - 1, count):
        a, up, down = (mpmath.exp(-mpmath.mpf(epsilon) * j / count) for j in (i, i - 1, i + 1))
        inner = a**2 * (up - down) / ((a + down) * (up + a))
        exact = 1 / (1 + down) if i == 0 else a * up / (up + a) if i == count else inner
        assert abs(losses.masses[i] / exact - 1) <= losses.units * UNIT


@pytest.mark.parametrize("step", [1e-3, 0.7, 5.0, 40.0, 900.0])
@pytest.mark.parametrize("epsilon", [3.3, 77.7, 1000.1])
def test_a_split_keeps_what_it_hides_at_any_step(epsilon: float, step: float) -> None:
    """The split law has at least the chance of every loss, and at most the other neighbour's, up to what is granted."""
    if epsilon / step > 1e5:
        return
    losses, atoms = _response(epsilon), _split(_response(epsilon), step)
    held = np.flatnonzero(atoms.masses)
    places = [mpmath.mpf(atoms.first + int(i)) * mpmath.mpf(step) for i in held]
    for ratio in (mpmath.mpf(0), mpmath.exp(-epsilon / 2), mpmath.mpf(1) / 2, mpmath.mpf(2), mpmath.exp(epsilon / 2)):
        exact = mpmath.fsum(
            mpmath.mpf(m) * max(0, 1 - ratio * mpmath.exp(-mpmath.mpf(x)))
            for x, m in zip(losses.values, losses.masses, strict=True)
        )
        seen = mpmath.fsum(
            mpmath.mpf(m) * max(0, 1 - ratio * mpmath.exp(-x - mpmath.mpf(atoms.blur)))
            for x, m in zip(places, atoms.masses[held], strict=True)
        )
        assert seen * (1 + atoms.units * UNIT) + atoms.infinite >= exact


def sampled(rate: float, shift: float, epsilon: float, direction: str) -> mpmath.mpf:
    q, m, e = mpmath.mpf(rate), mpmath.mpf(shift), mpmath.mpf(epsilon)
    odds = (mpmath.expm1(e if direction == "remove" else -e) + q) / q
    if odds <= 0:
        return -mpmath.expm1(e) if direction == "remove" else mpmath.mpf(0)
    x = mpmath.log(odds) / m + m / 2
    if direction == "remove":
        return q * (mpmath.ncdf(m - x) - odds * mpmath.ncdf(-x))
    return mpmath.exp(e) * q * (odds * mpmath.ncdf(x) - mpmath.ncdf(x - m))


@pytest.mark.parametrize("direction", ["remove", "add"])
@pytest.mark.parametrize(
    ("rate", "shift"),
    [(0.01, 1.0), (0.3, 5.0), (1e-12, 0.2), (0.999, 20.0), (0.999, 26.4), (0.5, 25.0), (0.01, 1e-9)],
)
def test_the_profile_of_a_sample_is_within_its_error_also_where_it_cancels(
    rate: float, shift: float, direction: str
) -> None:
    low, high = sampled_reach(rate, shift, "remove" if direction == "remove" else "add")
    near = (high if direction == "add" else low) * (1 - 10.0 ** -np.arange(3.0, 17.0))
    places = np.concatenate([np.linspace(low, high, 24), near, [high * (1 - 2**-50), low * (1 - 2**-50), high]])
    delta, error = (_removing if direction == "remove" else _adding)(places, rate, shift)
    for place, found, off in zip(places.tolist(), delta.tolist(), error.tolist(), strict=True):
        exact = sampled(rate, shift, place, direction)
        assert abs(exact - mpmath.mpf(found)) <= mpmath.mpf(off)
        assert off <= 1e-10 * (float(exact) + rate)  # and not granted away
    step = (high - low) / 300
    first, tails = sampled_tails(rate, shift, step, "remove" if direction == "remove" else "add")
    for i in range(1, len(tails) - 1, 41):  # the law that connects the dots, from below
        less, more = (sampled(rate, shift, (first + i + j) * mpmath.mpf(step), direction) for j in (-1, 0))
        assert tails[i] >= (less - mpmath.exp(-mpmath.mpf(step)) * more) / -mpmath.expm1(-mpmath.mpf(step)) * (
            1 - 1e-14
        )


@pytest.mark.parametrize("mu", [0.5, 1e3, 1e6])
def test_the_gaussian_profile_is_never_too_small_where_its_terms_are_huge(mu: float) -> None:
    """e^{μ²/2} Φ(−μ) is a number near 0, made of one near e^{5·10^11} and one near e^{−5·10^11}."""
    z = np.array([mu / 2, 0.999 * mu / 2, mu / 2 - 1, 0.0, -mu / 2, -mu / 2 - 3])
    z = z[z <= mu / 2]
    for place, found in zip(z.tolist(), _profile(z, mu).tolist(), strict=True):
        m, x = mpmath.mpf(mu), mpmath.mpf(place)
        with mpmath.workdps(60):
            far = m / 2 + x  # Φ(−far) e^{mx} = φ(x − m/2) r(far)
            mills = mpmath.quad(lambda s, far=far: mpmath.exp(-far * s - s * s / 2), [0, 1, 5, mpmath.inf])
            second = mpmath.npdf(x - m / 2) * mills if far > 0 else mpmath.exp(m * x) * mpmath.ncdf(-far)
            exact = mpmath.ncdf(m / 2 - x) - second
        assert exact <= found <= exact + mpmath.mpf("1e-12")
    assert _weights(np.array([-1e9, 0.0, 1e9]), 0.5, mu).max() <= 1 + 1e-9


def test_the_normal_tail_of_scipy_is_right_to_what_is_trusted() -> None:
    for x in np.linspace(-8, 37, 46):
        exact = real(normal_tail(Fraction(float(x))).up)
        assert abs(special.ndtr(-x) / exact - 1) <= float(_tail_units(np.array([x]))[0]) * UNIT


def test_many_atoms_in_one_cell_are_counted() -> None:
    atoms = on_grid(LaplaceNoise(Fraction(1)), 0.5, "remove")
    assert atoms.units >= 1  # four corners
    wide = on_grid(DiscreteGaussianNoise(Fraction(400), 1), 0.01, "remove")
    assert wide.units > len(_discrete_gaussian(DiscreteGaussianNoise(Fraction(400), 1)).values) / len(wide.masses)
    assert math.isclose(float(wide.masses.sum()), 1.0, rel_tol=1e-12)


@pytest.mark.parametrize("size", [2**15, 3**9, 5**6, 2**6 * 3**4 * 5**2, 2**3 * 3 * 5**4])
def test_a_transform_errs_no_more_than_is_derived_for_its_radices(size: int) -> None:
    """Against the same transform in 64 binary digits; the worst of what was seen is a small part of the bound."""
    assert fft.next_fast_len(size, real=True) == size
    assert all(prime in (2, 3, 5) for n in range(1 << 15, (1 << 15) + 300) for prime in primes(fast(n)))
    rng = np.random.default_rng(size)
    for masses in (rng.random(size), np.exp(-np.arange(size) / 9.0), np.eye(1, size, size // 3)[0]):
        exact = fft.rfft(masses.astype(np.longdouble))
        off = float(np.linalg.norm(fft.rfft(masses) - exact) / np.linalg.norm(exact))
        assert off <= (16 * math.log2(size) + 16) * UNIT
        back = float(np.linalg.norm(fft.irfft(fft.rfft(masses), size) - masses) / np.linalg.norm(masses))
        assert back <= 2 * (16 * math.log2(size) + 16) * UNIT


def fast(size: int) -> int:
    return int(fft.next_fast_len(size, real=True))


def primes(size: int) -> set[int]:
    factors, prime = set[int](), 2
    while size > 1:
        while size % prime == 0:
            factors, size = factors | {prime}, size // prime
        prime += 1
    return factors
