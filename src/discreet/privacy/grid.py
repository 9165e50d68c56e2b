"""The privacy loss of one event, on a grid and from above.

The loss of an outcome o is ln(P(o)/Q(o)), P and Q being the mechanism's laws on two neighbours. Here is the law of that
loss under P, moved onto multiples of a step so that no bound drawn from it is too small. An outcome between two grid
points is split between them so that it keeps both its P and its Q probability: joining the parts again is
post-processing, so the split pair reveals at least as much (Doroshenko, Ghazi, Kamath, Kumar & Manurangsi 2022 call it
connecting the dots). Proofs: docs/proofs/profile.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import special

from discreet.errors import Refusal
from discreet.exact import shown, spoken
from discreet.interval import sqrt
from discreet.privacy.event import (
    AnyMechanism,
    DiscreteGaussianNoise,
    DiscreteLaplaceNoise,
    Event,
    GaussianNoise,
    LaplaceNoise,
    SampledGaussianNoise,
)
from discreet.privacy.finite import finite

Floats: TypeAlias = NDArray[np.float64]
Direction: TypeAlias = Literal["remove", "add"]

UNIT = 2.0**-53  # a correctly rounded operation is off by this much, relatively
_FINEST = 1 << 16  # corners that a Laplace profile keeps at most
_DEVIATIONS = 13  # a normal tail beyond is 6e-39
_WIDEST = (1 << 20) // (2 * _DEVIATIONS)  # σ of discrete Gaussian noise: a million atoms
_STEEPEST, _STEEPEST_SAMPLED = 10**6, 700  # loss of one event; e to more than 700 is no float
_MANY = 10**9  # mechanisms
_WHOLE = 10**12  # loss of all of them: a float still tells an ε from the next one
_SURELY = 1 - Fraction(1, 10**9)  # δ and rate of one event
_FAINT, _SMALL = 1e-12, 1e-9  # what is weaker is taken to be as strong: ε and rate, and the size of Gaussian noise


@dataclass(frozen=True)
class Atoms:
    """Loss (first + i)·step with probability masses[i], and an infinite loss with probability `infinite`."""

    first: int
    masses: Floats
    infinite: float


def gauge(events: Sequence[tuple[Event, int]], mu_squared: Fraction) -> float:
    """The size μ of the Gaussian noise, if floats can follow these events: the one place where they are refused.

    Nothing is too weak: a weaker event is dominated by a stronger one, so it is taken for the weakest that floats know.
    """
    total, times = mu_squared, sum(times for _, times in events)
    if times > _MANY:
        raise Refusal(f"a profile is computed for at most {_MANY} mechanisms, got {shown(times)}", hint="use Renyi")
    for event, often in events:
        total += often * _gauged(event)
    if total > _WHOLE:
        got = f"may lose {spoken(total)}"
        raise Refusal(f"a profile is computed for events that lose at most 1e12 together, these {got}", hint=_HINT)
    return max(_SMALL, _up(sqrt(mu_squared).up)) if mu_squared else 0.0


_HINT = "use Renyi or Concentrated, or add the losses"


def _gauged(event: Event) -> Fraction:
    """The most that one event may lose, for all that is worth a grid point."""
    most = Fraction(_STEEPEST)
    if isinstance(event, DiscreteGaussianNoise):
        if event.sigma > _WIDEST:
            got = spoken(event.sigma)
            raise Refusal(f"a profile of discrete Gaussian noise takes sigma <= {_WIDEST}, got {got}", hint=_HINT)
        reaches = event.sensitivity + 2 * (math.ceil(_DEVIATIONS * event.sigma) + 1)
        loss = event.sensitivity * reaches / (2 * event.sigma**2)
    elif isinstance(event, SampledGaussianNoise):
        if event.rate > _SURELY:
            got = f"1 - {spoken(1 - event.rate)}"
            raise Refusal(f"a profile takes rate <= 1 - 1e-9 or rate = 1, got rate={got}", hint="take rate = 1")
        loss, most = (_DEVIATIONS + 1 / (2 * event.sigma)) / event.sigma, Fraction(_STEEPEST_SAMPLED)
    elif isinstance(event, GaussianNoise):
        raise TypeError(f"{event} has no grid: Gaussian noise is composed in closed form")
    else:
        loss = event.epsilon
    if isinstance(event, AnyMechanism) and event.delta > _SURELY:
        got = f"1 - {spoken(1 - event.delta)}"
        raise Refusal(f"a profile takes delta <= 1 - 1e-9, got delta={got}, which promises nothing", hint=_HINT)
    if loss > most:
        raise Refusal(
            f"a profile takes losses up to {most}, got {_named(event)}, which may lose {spoken(loss)}", hint=_HINT
        )
    return loss


def _named(event: Event) -> str:
    values = (f"{field.name}={spoken(Fraction(getattr(event, field.name)))}" for field in fields(event))
    return f"{type(event).__name__}({', '.join(values)})"


def on_grid(event: Event, step: float, direction: Direction) -> Atoms:
    """The loss of one event, from above. `direction` matters where the two neighbours are not interchangeable."""
    if isinstance(event, AnyMechanism):
        return _split(*_response(_price(event)), step, failing=_up(event.delta))
    if isinstance(event, LaplaceNoise):
        eps = _price(event)
        return _split(*_laplace(eps, _steps(eps, step), _steps(eps, step)), step)
    if isinstance(event, DiscreteLaplaceNoise):
        eps = _price(event)
        return _split(*_laplace(eps, event.sensitivity, _steps(eps, step)), step)
    if isinstance(event, DiscreteGaussianNoise):
        return _split(*_discrete_gaussian(_down(event.sigma), event.sensitivity), step, failing=1e-30)
    if isinstance(event, SampledGaussianNoise):
        return _sampled(*_sample(event), step, direction)
    raise TypeError(f"{event} has no grid: Gaussian noise is composed in closed form")


def reach(event: Event, direction: Direction) -> tuple[float, float]:
    """The smallest and the largest loss worth a grid point."""
    if isinstance(event, (AnyMechanism, LaplaceNoise, DiscreteLaplaceNoise)):
        return -_price(event), _price(event)
    if isinstance(event, DiscreteGaussianNoise):
        losses, _ = _discrete_gaussian(_down(event.sigma), event.sensitivity)
        return float(losses.min()), float(losses.max())
    if isinstance(event, SampledGaussianNoise):
        return _sampled_reach(*_sample(event), direction)
    raise TypeError(f"{event} has no grid: Gaussian noise is composed in closed form")


def grain(event: Event) -> float:
    """A loss of which every loss of the event is a whole multiple; 0 where there is none, or none worth a grid."""
    if isinstance(event, AnyMechanism):
        return _price(event)
    if isinstance(event, DiscreteLaplaceNoise) and event.sensitivity <= _FINEST:
        return _price(event) / event.sensitivity
    if isinstance(event, DiscreteGaussianNoise):
        return event.sensitivity / (2 * _down(event.sigma) ** 2)
    return 0.0


def _sampled_reach(rate: float, shift: float, direction: Direction) -> tuple[float, float]:
    far = math.log1p(rate * math.expm1(shift * (_DEVIATIONS + shift / 2)))
    return (math.log1p(-rate), far) if direction == "remove" else (-far, -math.log1p(-rate))


def _price(event: AnyMechanism | LaplaceNoise | DiscreteLaplaceNoise) -> float:
    return max(_FAINT, _up(event.epsilon)) if event.epsilon else 0.0


def _sample(event: SampledGaussianNoise) -> tuple[float, float]:
    """The rate, and how far the noise is shifted."""
    return max(_FAINT, _up(event.rate)), max(_SMALL, _up(1 / event.sigma))


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
    return _atoms(first, np.asarray((up + down) * (1 - failing), dtype=np.float64), failing)


def _atoms(first: int, masses: Floats, infinite: float) -> Atoms:
    """The boundary where floats become probabilities that are relied on."""
    return Atoms(first, finite(masses, "the privacy loss of an event"), finite(infinite, "an infinite loss"))


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
    at = epsilon * np.array([(i * sensitivity // kept) / sensitivity for i in range(kept + 1)])  # A = e^{−at}
    fall = np.exp(at[:-1] - at[1:])  # A₊/A, from each corner to the next: where A is no float any more, these still are
    masses = np.exp(-at)
    masses[1:-1] *= -np.expm1(at[:-2] - at[2:]) / (1 + fall[:-1])
    masses[:-1] /= 1 + fall
    masses[-1] /= 1 + fall[-1]
    return epsilon - 2 * at, masses


def _discrete_gaussian(sigma: float, sensitivity: int) -> tuple[Floats, Floats]:
    """Loss (d² − 2nd)/(2σ²) with probability ∝ e^{−n²/(2σ²)}; the tails beyond 13σ lie on the two ends, or fail."""
    radius = math.ceil(_DEVIATIONS * sigma) + 1
    n = np.arange(-radius, radius + 1, dtype=np.float64)
    weights = np.exp(-(n**2) / (2 * sigma**2))
    return (sensitivity**2 - 2 * n * sensitivity) / (2 * sigma**2), weights / weights.sum()


def _sampled(rate: float, shift: float, step: float, direction: Direction) -> Atoms:
    """Poisson-sampled Gaussian noise, through its profile δ at the grid points.

    The distribution that connects the dots has Pr[loss ≥ i·h] = (δ_{i−1} − e^{−h} δ_i)/(1 − e^{−h}); that is raised by
    what the floats may have lost, and a larger tail everywhere is a larger profile.
    """
    low, high = _sampled_reach(rate, shift, direction)
    first, last = math.floor(low / step), math.ceil(high / step)
    delta, error = _sampled_profile(np.arange(first, last + 1, dtype=np.float64) * step, rate, shift, direction)
    tails = (delta[:-1] - math.exp(-step) * delta[1:] + 2 * (error[:-1] + error[1:])) / -math.expm1(-step)
    tails = np.minimum(1.0, np.maximum.accumulate(tails[::-1])[::-1] * (1 + 8 * UNIT))
    infinite = float(delta[-1] + error[-1])
    tails = np.concatenate([[1.0], tails, [infinite]])
    return _atoms(first, np.maximum(0.0, tails[:-1] - tails[1:]), infinite)


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
