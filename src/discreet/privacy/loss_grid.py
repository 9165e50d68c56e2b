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
from itertools import pairwise
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import special

from discreet.errors import Refusal
from discreet.exact import shown, spoken
from discreet.interval_arithmetic import UNIT, sqrt
from discreet.privacy.event import (
    AnyMechanism,
    DiscreteGaussianNoise,
    DiscreteLaplaceNoise,
    Event,
    GaussianNoise,
    LaplaceNoise,
    SampledGaussianNoise,
    finite,
)

Floats: TypeAlias = NDArray[np.float64]
Direction: TypeAlias = Literal["remove", "add"]

_DEVIATIONS = 13  # a normal tail beyond is 6e-39
_FAINTEST = 1e-290  # no error is below it, where a float would vanish and be multiplied by e^ε < 1e9
_FAR = 37.0  # beyond, Φ(−x) vanishes as a float while o Φ(−x) may still be seen

_FINEST = 1 << 16  # corners that a Laplace profile keeps at most
_STEEPEST, _STEEPEST_SAMPLED = 10**6, 700  # loss of one event; e to more than 700 is no float
_MANY = 10**9  # mechanisms
_WHOLE = 10**12  # loss of all of them: a float still tells an ε from the next one
_SURELY = 1 - Fraction(1, 10**9)  # δ and rate of one event
_FAINT, _SMALL = 1e-12, 1e-9  # what is weaker is taken to be as strong: ε and rate, and the size of Gaussian noise
_VANISHED, _VANISHING = 1e-292, 1e-299  # probability of all that is dropped, and of one grid point that is
_HINT = "use Renyi or Concentrated, or add the losses"


def sampled_reach(rate: float, shift: float, direction: Direction) -> tuple[float, float]:
    """The smallest and the largest loss worth a grid point."""
    far = math.log1p(rate * math.expm1(shift * (_DEVIATIONS + shift / 2)))
    return (math.log1p(-rate), far) if direction == "remove" else (-far, -math.log1p(-rate))


def sampled_tails(rate: float, shift: float, step: float, direction: Direction) -> tuple[int, Floats]:
    """The first grid point, and from there on at least Pr[loss ≥ i·h] of a law that dominates; last, an infinite loss.

    The law that connects the dots of the profile has Pr[loss ≥ i·h] = (δ_{i−1} − e^{−h} δ_i)/(1 − e^{−h}); that is
    raised by what the floats may have lost, and a larger tail everywhere is a larger profile.
    """
    low, high = sampled_reach(rate, shift, direction)
    first, last = math.floor(low / step), math.ceil(high / step) + 1  # one more: `high` is rounded
    points = np.arange(first, last + 1, dtype=np.float64) * step
    delta, error = (_removing if direction == "remove" else _adding)(points, rate, shift)
    tails = (delta[:-1] - math.exp(-step) * delta[1:] + 2 * (error[:-1] + error[1:])) / -math.expm1(-step)
    tails = np.minimum(1.0, np.maximum.accumulate(tails[::-1])[::-1] * (1 + 32 * UNIT))
    return first, np.concatenate([[1.0], tails, [float(delta[-1] + error[-1])]])


@dataclass(frozen=True)
class _Outcomes:
    """Outcomes that are surely no less telling than those of the given losses; `odds` are their o, `off` its error."""

    odds: Floats
    x: Floats
    slack: Floats  # how much further than o the odds may lie, absolutely
    off: Floats  # e^{mx − m²/2} is within so many roundings of the odds


def _outcomes(losses: Floats, rate: float, shift: float, way: int) -> _Outcomes:
    """Of e^losses as the likelihood ratio; moved up (way = 1) or down (way = −1) by more than floats may have erred."""
    growth = np.expm1(losses)
    exact = (growth + rate) / rate
    slack = UNIT * (24 * np.abs(growth) + 4 * np.abs(losses) * np.exp(losses) + 8 * rate) / rate
    moved = exact + way * slack
    off = 16 * np.abs(np.log(np.maximum(moved, 1e-300))) + 8 * shift**2 + 16
    moved = np.maximum(0.0, moved * (1 + way * 2 * UNIT * off))
    with np.errstate(divide="ignore"):
        x = np.log(moved) / shift + shift / 2
    return _Outcomes(moved, x, 2 * slack + 4 * UNIT * off * moved, off)


def _removing(losses: Floats, rate: float, shift: float) -> tuple[Floats, Floats]:
    """q (Φ(m − x) − o Φ(−x)), which falls with x; where the ratio is below 1 − q, 1 − e^ε."""
    out = _outcomes(losses, rate, shift, -1)
    gain, below, far = special.ndtr(shift - out.x), special.ndtr(-out.x), np.maximum(out.x, _FAR)
    mills = np.exp(-0.5 * np.square(far - shift)) * special.erfcx(far / math.sqrt(2)) / 2  # o Φ(−x) = φ(x − m) r(x)
    cost = np.where(out.x > _FAR, mills, out.odds * below)
    moved = out.slack * np.where(out.x > _FAR, mills / np.maximum(out.odds, 1.0), below)
    delta = np.where(out.odds > 0, rate * (gain - cost), -np.expm1(losses))
    units = (_tail_units(out.x - shift) + 16) * gain + (_tail_units(out.x) + out.off + 16) * cost
    error = rate * (UNIT * units + moved) + 16 * UNIT * (1 + np.abs(losses)) * np.abs(delta)
    return np.maximum(0.0, delta), error + _FAINTEST


def _adding(losses: Floats, rate: float, shift: float) -> tuple[Floats, Floats]:
    """e^ε q (o Φ(x) − Φ(x − m)), which grows with x; 0 where the ratio e^−ε is below 1 − q."""
    out = _outcomes(-losses, rate, shift, 1)
    gain, cost = special.ndtr(out.x), special.ndtr(out.x - shift)
    scale = np.exp(losses) * rate
    delta = scale * (out.odds * gain - cost)
    units = (_tail_units(-out.x) + out.off + 16) * out.odds * gain + (_tail_units(shift - out.x) + 16) * cost
    error = scale * (UNIT * units + out.slack * gain) + 16 * UNIT * (1 + np.abs(losses)) * np.abs(delta)
    return np.maximum(0.0, delta), error + _FAINTEST


def _tail_units(x: Floats) -> Floats:
    """Roundings within which Φ(−x) is trusted: a few, and in the tail what rounding x² does to e^{−x²/2}."""
    return np.asarray(64 + 8 * np.square(np.clip(x, 0.0, 100.0)))


_WIDEST = (1 << 20) // (2 * _DEVIATIONS)  # σ of discrete Gaussian noise: a million atoms


@dataclass(frozen=True)
class Atoms:
    """Loss (first + i)·step with probability masses[i], and an infinite loss with probability `infinite`.

    The masses are those of a law that loses no less than the event, but for two things: each may be too small by
    `units` roundings, relatively, and each loss of the event may be larger than its place here by `blur`.
    """

    first: int
    masses: Floats
    infinite: float
    units: float
    blur: float


@dataclass(frozen=True)
class Losses:
    """The losses of an event before they meet a grid, and their probabilities.

    The losses are off by at most `off` roundings of the largest, the probabilities by `units` roundings of themselves.
    """

    values: Floats
    masses: Floats
    off: float
    units: float


def gauge(events: Sequence[tuple[Event, int]], mu_squared: Fraction) -> float:
    """The size μ of the Gaussian noise, if floats can follow these events: the one place where they are refused.

    Nothing is too weak: a smaller ε or rate, or more continuous noise, is dominated, so it is taken for the weakest
    that floats know. Of discrete Gaussian noise that is not true, and its σ is taken as it is.
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
        return _split(_response(_price(event)), step, failing=_up(event.delta))
    if isinstance(event, LaplaceNoise):
        eps = _price(event)
        return _split(_laplace(eps, _steps(eps, step), _steps(eps, step)), step)
    if isinstance(event, DiscreteLaplaceNoise):
        eps = _price(event)
        return _split(_laplace(eps, event.sensitivity, _steps(eps, step)), step)
    if isinstance(event, DiscreteGaussianNoise):
        return _split(_discrete_gaussian(event), step, failing=1e-30)
    if isinstance(event, SampledGaussianNoise):
        first, tails = sampled_tails(*_sample(event), step, direction)
        return _atoms(first, np.maximum(0.0, tails[:-1] - tails[1:]), float(tails[-1]), units=2, blur=0.0)
    raise TypeError(f"{event} has no grid: Gaussian noise is composed in closed form")


def reach(event: Event, direction: Direction) -> tuple[float, float]:
    """The smallest and the largest loss worth a grid point."""
    if isinstance(event, (AnyMechanism, LaplaceNoise, DiscreteLaplaceNoise)):
        return -_price(event), _price(event)
    if isinstance(event, DiscreteGaussianNoise):
        losses = _discrete_gaussian(event).values
        return float(losses.min()), float(losses.max())
    if isinstance(event, SampledGaussianNoise):
        return sampled_reach(*_sample(event), direction)
    raise TypeError(f"{event} has no grid: Gaussian noise is composed in closed form")


def grain(event: Event) -> float:
    """A loss of which every loss of the event is a whole multiple; 0 where there is none, or none worth a grid."""
    if isinstance(event, AnyMechanism):
        return _price(event)
    if isinstance(event, DiscreteLaplaceNoise) and event.sensitivity <= _FINEST:
        return _price(event) / event.sensitivity
    if isinstance(event, DiscreteGaussianNoise):
        return float(event.sensitivity / (2 * event.sigma**2))
    return 0.0


def _price(event: AnyMechanism | LaplaceNoise | DiscreteLaplaceNoise) -> float:
    return max(_FAINT, _up(event.epsilon)) if event.epsilon else 0.0


def _sample(event: SampledGaussianNoise) -> tuple[float, float]:
    """The rate, and how far the noise is shifted."""
    return max(_FAINT, _up(event.rate)), max(_SMALL, _up(1 / event.sigma))


def _up(x: Fraction) -> float:
    return math.nextafter(float(x), math.inf) if Fraction(float(x)) < x else float(x)


def _steps(epsilon: float, step: float) -> int:
    """So many corners as the grid can tell apart."""
    return max(1, min(_FINEST, math.ceil(2 * epsilon / step)))


def _split(losses: Losses, step: float, failing: float = 0.0) -> Atoms:
    """Each atom at l between the grid points a and a + h: the share (1 − e^{a−l})/(1 − e^{−h}) goes up, or more."""
    values, masses = losses.values, losses.masses
    below: NDArray[np.int64] = np.floor(values / step).astype(np.int64)
    share = np.clip(np.expm1(below * step - values) / math.expm1(-step) * (1 + 32 * UNIT), 0.0, 1.0)
    first = int(below.min())
    size = int(below.max()) - first + 2
    up = np.bincount(below - first + 1, masses * share, size)
    down = np.bincount(below - first, masses * (1 - share), size)
    whole = np.asarray((up + down) * (1 - failing), dtype=np.float64)
    crowd = int(np.bincount(below - first).max())  # atoms that were added up one by one
    return _atoms(
        first,
        np.where(whole < _VANISHING, 0.0, whole),
        failing + _VANISHED,
        units=losses.units + crowd + 8,
        blur=(losses.off + 6) * UNIT * (float(np.abs(values).max()) + step),
    )


def _atoms(first: int, masses: Floats, infinite: float, *, units: float, blur: float) -> Atoms:
    """The boundary where floats become probabilities that are relied on."""
    masses, infinite = finite(masses, "the privacy loss of an event"), finite(infinite, "an infinite loss")
    return Atoms(first, masses, infinite, units, finite(blur, "the privacy loss of an event"))


def _response(epsilon: float) -> Losses:
    """Randomized response: it tells the truth with probability e^ε/(1 + e^ε)."""
    truth = 1 / (1 + math.exp(-epsilon))
    return Losses(np.array([epsilon, -epsilon]), np.array([truth, math.exp(-epsilon) * truth]), off=0, units=16)


def _laplace(epsilon: float, sensitivity: int, steps: int) -> Losses:
    """Discrete Laplace noise, its profile interpolated at so many of its corners.

    The profile is 1 − e^{(l−ε)/2} at the losses l = ε(1 − 2j/sensitivity), a chord in e^l between them. So leaving out
    corners raises it, and so does taking discrete noise for continuous. With A = e^{(l−ε)/2} an inner corner has
    probability A²(A₋ − A₊)/((A + A₊)(A₋ + A)), A₋ and A₊ being those of the corners above and below it. What lies
    between two corners is taken from their numbers j: from their losses it would cancel.
    """
    kept = min(sensitivity, steps)
    corners = [i * sensitivity // kept for i in range(kept + 1)]
    at = epsilon * np.array([j / sensitivity for j in corners])  # A = e^{−at}
    one = [(b - a) / sensitivity for a, b in pairwise(corners)]
    two = [(b - a) / sensitivity for a, b in zip(corners[:-2], corners[2:], strict=True)]
    fall = np.exp(-epsilon * np.array(one))  # A₊/A, from each corner to the next: where A is no float, these still are
    masses = np.exp(-at)
    masses[1:-1] *= -np.expm1(-epsilon * np.array(two)) / (1 + fall[:-1])
    masses[:-1] /= 1 + fall
    masses[-1] /= 1 + fall[-1]
    return Losses(epsilon - 2 * at, masses, off=6, units=2 * epsilon + 36)


def _discrete_gaussian(event: DiscreteGaussianNoise) -> Losses:
    """Loss (d² − 2nd)/(2σ²) with probability ∝ e^{−n²/(2σ²)}; the tails beyond 13σ are taken for infinite losses."""
    radius, twice = math.ceil(_DEVIATIONS * event.sigma) + 1, float(2 * event.sigma**2)
    n, d = np.arange(-radius, radius + 1, dtype=np.float64), float(event.sensitivity)
    weights = np.exp(-(n**2) / twice)
    weights[weights < _VANISHING] = 0.0
    steepest = min(radius**2 / twice, -math.log(_VANISHING))
    return Losses(d * (d - 2 * n) / twice, weights / math.fsum(weights), off=3, units=2 * steepest + 24)
