"""The privacy loss of one event, on a grid and from above.

The loss of an outcome o is ln(P(o)/Q(o)), P and Q being the mechanism's laws on two neighbours. Here is the law of that
loss under P, moved onto multiples of a step so that no bound drawn from it is too small. An outcome between two grid
points is split between them so that it keeps both its P and its Q probability: joining the parts again is
post-processing, so the split pair reveals at least as much (Doroshenko, Ghazi, Kamath, Kumar & Manurangsi 2022 call it
connecting the dots). Proofs: docs/proofs/profile.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import special

from discreet.errors import Refusal
from discreet.privacy.event import (
    AnyMechanism,
    DiscreteGaussianNoise,
    DiscreteLaplaceNoise,
    Event,
    LaplaceNoise,
    SampledGaussianNoise,
)

Floats: TypeAlias = NDArray[np.float64]
Direction: TypeAlias = Literal["remove", "add"]

UNIT = 2.0**-53  # a correctly rounded operation is off by this much, relatively
_FINEST = 1 << 16  # corners that a Laplace profile keeps at most
_ATOMS = 1 << 20
_DEVIATIONS = 13  # a normal tail beyond is 6e-39


@dataclass(frozen=True)
class Atoms:
    """Loss (first + i)·step with probability masses[i], and an infinite loss with probability `infinite`."""

    first: int
    masses: Floats
    infinite: float


def on_grid(event: Event, step: float, direction: Direction) -> Atoms:
    """The loss of one event, from above. `direction` matters where the two neighbours are not interchangeable."""
    if isinstance(event, AnyMechanism):
        return _split(*_response(_up(event.epsilon)), step, failing=_up(event.delta))
    if isinstance(event, LaplaceNoise):
        eps = _up(event.epsilon)
        return _split(*_laplace(eps, _steps(eps, step), _steps(eps, step)), step)
    if isinstance(event, DiscreteLaplaceNoise):
        eps = _up(event.epsilon)
        return _split(*_laplace(eps, event.sensitivity, _steps(eps, step)), step)
    if isinstance(event, DiscreteGaussianNoise):
        return _split(*_discrete_gaussian(_down(event.sigma), event.sensitivity), step, failing=1e-30)
    if isinstance(event, SampledGaussianNoise):
        return _sampled(_up(event.rate), 1 / _down(event.sigma), step, direction)
    raise TypeError(f"{event} has no grid: Gaussian noise is composed in closed form")


def reach(event: Event, direction: Direction) -> tuple[float, float]:
    """The smallest and the largest loss worth a grid point."""
    if isinstance(event, (AnyMechanism, LaplaceNoise, DiscreteLaplaceNoise)):
        return -_up(event.epsilon), _up(event.epsilon)
    if isinstance(event, DiscreteGaussianNoise):
        losses, _ = _discrete_gaussian(_down(event.sigma), event.sensitivity)
        return float(losses.min()), float(losses.max())
    if isinstance(event, SampledGaussianNoise):
        rate, shift = _up(event.rate), 1 / _down(event.sigma)
        far = math.log1p(rate * math.expm1(min(700.0, shift * (_DEVIATIONS + shift / 2))))
        return (math.log1p(-rate), far) if direction == "remove" else (-far, -math.log1p(-rate))
    raise TypeError(f"{event} has no grid: Gaussian noise is composed in closed form")


def _up(x: Fraction) -> float:
    return math.nextafter(float(x), math.inf) if Fraction(float(x)) < x else float(x)


def _down(x: Fraction) -> float:
    return math.nextafter(float(x), 0.0) if Fraction(float(x)) > x else float(x)


def _steps(epsilon: float, step: float) -> int:
    """So many corners as the grid can tell apart."""
    return max(1, min(_FINEST, math.ceil(2 * epsilon / step)))


def _split(losses: Floats, masses: Floats, step: float, failing: float = 0.0) -> Atoms:
    """Each atom at l between the grid points a and a + h: the share (1 − e^{a−l})/(1 − e^{−h}) goes up."""
    below: NDArray[np.int64] = np.floor(losses / step).astype(np.int64)
    fuzz = 8 * UNIT * np.abs(losses).max() / step  # what rounding a loss may have taken from its share
    share = np.clip(np.expm1(below * step - losses) / math.expm1(-step) + fuzz, 0.0, 1.0)
    first = int(below.min())
    size = int(below.max()) - first + 2
    up = np.bincount(below - first + 1, masses * share, size)
    down = np.bincount(below - first, masses * (1 - share), size)
    return Atoms(first, np.asarray((up + down) * (1 - failing), dtype=np.float64), failing)


def _response(epsilon: float) -> tuple[Floats, Floats]:
    """Randomized response: it tells the truth with probability e^ε/(1 + e^ε)."""
    truth = 1 / (1 + math.exp(-epsilon))
    return np.array([epsilon, -epsilon]), np.array([truth, math.exp(-epsilon) * truth])


def _laplace(epsilon: float, sensitivity: int, steps: int) -> tuple[Floats, Floats]:
    """Discrete Laplace noise, its profile interpolated at so many of its corners.

    The profile is 1 − e^{(l−ε)/2} at the losses l = ε(1 − 2j/sensitivity), a chord in e^l between them. So leaving out
    corners raises it, and so does taking discrete noise for continuous. With A = e^{(l−ε)/2} an inner corner has
    probability A²(A₋ − A₊)/((A + A₊)(A₋ + A)), A₋ and A₊ being those of the corners above and below it.
    """
    kept = min(sensitivity, steps)
    corners = np.unique(np.arange(kept + 1, dtype=object) * sensitivity // kept).astype(np.float64)
    at = epsilon * corners / sensitivity  # A = e^{−at}
    a = np.exp(-at)
    masses = np.empty_like(a)
    masses[0] = a[0] / (a[0] + a[1])
    masses[-1] = a[-1] * a[-2] / (a[-2] + a[-1])
    fall = -a[:-2] * np.expm1(at[:-2] - at[2:])
    masses[1:-1] = a[1:-1] ** 2 * fall / ((a[1:-1] + a[2:]) * (a[:-2] + a[1:-1]))
    return epsilon - 2 * at, masses


def _discrete_gaussian(sigma: float, sensitivity: int) -> tuple[Floats, Floats]:
    """Loss (d² − 2nd)/(2σ²) with probability ∝ e^{−n²/(2σ²)}; the tails beyond 13σ lie on the two ends, or fail."""
    radius = math.ceil(_DEVIATIONS * sigma) + 1
    if 2 * radius >= _ATOMS:
        most, hint = _ATOMS // (2 * _DEVIATIONS), "use Renyi.gaussian or Concentrated"
        raise Refusal(f"a profile of discrete Gaussian noise takes sigma <= {most}, got {sigma}", hint=hint)
    n = np.arange(-radius, radius + 1, dtype=np.float64)
    weights = np.exp(-(n**2) / (2 * sigma**2))
    return (sensitivity**2 - 2 * n * sensitivity) / (2 * sigma**2), weights / weights.sum()


def _sampled(rate: float, shift: float, step: float, direction: Direction) -> Atoms:
    """Poisson-sampled Gaussian noise, through its profile δ at the grid points.

    The distribution that connects the dots has Pr[loss ≥ i·h] = (δ_{i−1} − e^{−h} δ_i)/(1 − e^{−h}); that is raised by
    what the floats may have lost, and a larger tail everywhere is a larger profile.
    """
    low, high = reach(SampledGaussianNoise(Fraction(rate), 1 / Fraction(shift)), direction)
    first, last = math.floor(low / step), math.ceil(high / step)
    delta, error = _sampled_profile(np.arange(first, last + 1, dtype=np.float64) * step, rate, shift, direction)
    tails = (delta[:-1] - math.exp(-step) * delta[1:] + 2 * (error[:-1] + error[1:])) / -math.expm1(-step)
    tails = np.minimum(1.0, np.maximum.accumulate(tails[::-1])[::-1] * (1 + 8 * UNIT))
    infinite = float(delta[-1] + error[-1])
    tails = np.concatenate([[1.0], tails, [infinite]])
    return Atoms(first, np.maximum(0.0, tails[:-1] - tails[1:]), infinite)


def _sampled_profile(epsilons: Floats, rate: float, shift: float, direction: Direction) -> tuple[Floats, Floats]:
    """The profile of N(0, 1) against (1−q) N(0, 1) + q N(m, 1), in closed form, and what rounding may have cost.

    remove: q Φ(m − x) − (e^ε − 1 + q) Φ(−x) where x is the outcome of loss ε; add: the same with the laws exchanged.
    """
    removing = direction == "remove"
    growth = np.expm1(epsilons if removing else -epsilons)  # of the likelihood ratio, less one
    inside = growth + rate > 0
    odds = np.where(inside, (growth + rate) / rate, 1.0)
    x = np.log(odds) / shift + shift / 2
    if removing:
        gain, cost = rate * special.ndtr(shift - x), (growth + rate) * special.ndtr(-x)
        outside = -growth
    else:
        gain = (rate * np.exp(epsilons) - np.expm1(epsilons)) * special.ndtr(x)
        cost = rate * np.exp(epsilons) * special.ndtr(x - shift)
        outside = np.zeros_like(x)
    delta = np.where(inside, gain - cost, outside)
    error = np.where(inside, 1e-13 * (np.abs(gain) + np.abs(cost)), 4 * UNIT * np.abs(outside))
    return np.maximum(0.0, delta), error
