"""The losses of many events, added: one Fourier transform of a tilted distribution, with a derived error.

Weighting every loss x by e^{θx} first moves the tail that δ speaks about into the middle of the distribution, so that
the round-off of the transform, which is spread evenly, is small beside it (without the tilt it drowns a small δ).
Gaussian noise never meets the grid: its profile is known in closed form and is averaged over the other losses. Whatever
the floats may have lost is added to δ. Proofs: docs/proofs/profile.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import fft, optimize, special

from discreet.interval_arithmetic import UNIT
from discreet.privacy.event import Event, finite
from discreet.privacy.loss_grid import Atoms, Direction, Floats, grain, on_grid, reach

Part: TypeAlias = tuple[Atoms, int, float]  # how an event loses, how often it happened, the step of its grid
Aim: TypeAlias = Callable[[float, float], float]  # of θ and ln E[e^{θ loss}]; the best tilt makes it small

_LOST = 1e-15  # share of the tilted distribution that may lie outside the window, at either end
_FAINTEST = 1e-300  # no δ is below it, where a float would vanish
_SMALLEST, _LARGEST = 1 << 15, 1 << 21  # points of the grid
_FINENESS = 160  # points per typical loss of one mechanism: splitting losses then adds 1e-5 to their variance
_WIDEST = 1 << 17  # points of one event
_WORK = 1 << 27  # points times transforms
_TRIED = np.geomspace(0.05, 20, 20), np.geomspace(0.01, 1e5, 20)  # exponents for Chernoff: per deviation, and plain


def near_delta(delta: float) -> Aim:
    """Be most exact at the ε that belongs to δ: the ε of Rényi's bound (Canonne, Kamath & Steinke 2020, Prop. 12)."""
    far = -math.log(delta)
    return lambda theta, moment: (moment + far + theta * math.log(theta) - (theta + 1) * math.log1p(theta)) / theta


def near_epsilon(epsilon: float) -> Aim:
    """Be most exact at this ε: the exponent of Chernoff's bound."""
    return lambda theta, moment: moment - theta * epsilon


class Cumulants:
    """ln E[e^{θ loss}] of parts that happen together, for any θ: how the tilt and the window are chosen."""

    def __init__(self, parts: Sequence[Part]) -> None:
        kept = [np.flatnonzero(atoms.masses) for atoms, _, _ in parts]
        sizes = [len(some) for some in kept]
        self._kept, self._sizes = kept, [len(atoms.masses) for atoms, _, _ in parts]
        self._starts = np.cumsum([0, *sizes[:-1]])
        self._owner = np.repeat(np.arange(len(parts)), sizes)
        self._losses = np.concatenate([(a.first + some) * step for (a, _, step), some in zip(parts, kept, strict=True)])
        self._logs = np.log(np.concatenate([a.masses[some] for (a, _, _), some in zip(parts, kept, strict=True)]))
        self._times = np.array([times for _, times, _ in parts], dtype=np.float64)

    def each(self, theta: float) -> Floats:
        """ln E[e^{θ loss}] of each part, once."""
        heights = finite(self._logs + theta * self._losses, "a tilted loss")
        peaks = np.maximum.reduceat(heights, self._starts)
        return np.asarray(peaks + np.log(np.add.reduceat(np.exp(heights - peaks[self._owner]), self._starts)))

    def tilted(self, theta: float) -> list[Floats]:
        """The tilted chances of each part, at all of its grid points; no chance becomes no chance, whatever the loss.

        The exponents are never above 0, so none of them is too large for a float; a chance below 1e-308 becomes 0.
        """
        chances = np.exp(self._logs + theta * self._losses - self.each(theta)[self._owner])
        spread = [np.zeros(size) for size in self._sizes]
        for whole, some, start in zip(spread, self._kept, self._starts, strict=True):
            whole[some] = chances[start : start + len(some)]
        return spread

    @property
    def faintest(self) -> list[float]:
        """How large the logarithm of a chance is at most, part by part: what it may be off by, in units."""
        return [float(x) for x in np.maximum.reduceat(np.abs(self._logs), self._starts)]

    def total(self, theta: float) -> float:
        """ln E[e^{θ loss}] of the sum."""
        return float(self._times @ self.each(theta))

    def deviation(self, theta: float) -> float:
        """The standard deviation of the tilted sum."""
        chances = np.exp(self._logs + theta * self._losses - self.each(theta)[self._owner])
        means = np.add.reduceat(chances * self._losses, self._starts)
        squares = np.add.reduceat(chances * (self._losses - means[self._owner]) ** 2, self._starts)
        return math.sqrt(float(self._times @ squares))

    def window(self, theta: float) -> tuple[float, float]:
        """Two losses with all but `_LOST` of the tilted distribution below the one, above the other (Chernoff)."""
        here, far = self.total(theta), -math.log(_LOST)
        exponents = np.concatenate([_TRIED[0] / max(self.deviation(theta), 1e-9), _TRIED[1]])
        high = min((self.total(theta + s) - here + far) / s for s in exponents)
        low = max((here - self.total(theta - s) - far) / s for s in exponents)
        return low, high


@dataclass(frozen=True)
class Composed:
    """Everything together, in one direction: Gaussian noise of size μ, and the other losses tilted by θ."""

    losses: Floats
    masses: Floats  # tilted, and summing to one
    theta: float
    mu: float
    log_moment: float  # ln E[e^{θ loss}], Gaussian noise included
    error: float  # of the masses, as a Euclidean length
    slop: float  # of everything, relatively
    blur: float  # by how much the losses may add up to more than `losses` say
    infinite: float  # probability of an infinite loss

    def delta_at(self, epsilon: float) -> float:
        """An upper bound on δ(ε): e^{ln M(θ) − θε} Σ_x tilted(x) weight(ε − x), plus the infinite losses."""
        near = math.nextafter(epsilon - self.blur, -math.inf)  # losses that are larger by so much, seen from ε
        begin = 0 if self.mu else int(np.searchsorted(self.losses, near))  # else the losses below weigh nothing
        weights = _weights(near - self.losses[begin:], self.theta, self.mu)
        lost = float(np.linalg.norm(weights)) * self.error + 4 * _LOST * math.exp(2 * self.slop)  # no weight is above 1
        average = finite(float(weights @ self.masses[begin:]), "an average of weights")
        rounded = self.slop + 4 * UNIT * (abs(self.log_moment) + self.theta * abs(near))
        exponent = self.log_moment - self.theta * near + math.log(max(0.0, average) + lost) + rounded
        delta = math.exp(min(0.0, exponent)) + self.infinite * math.exp(self.slop) + _FAINTEST
        return min(1.0, finite(delta, "a δ"))

    def epsilon_at(self, delta: float) -> float:
        """An ε with `delta_at(ε)` at most δ, as small as floats find one; infinity where no ε is enough."""
        if self.delta_at(0.0) <= delta:
            return 0.0
        spare = delta - self.infinite * math.exp(self.slop) - _FAINTEST
        if spare <= 0:
            return math.inf
        most = self.blur + (self.log_moment + self.slop + 1 - math.log(spare)) / self.theta  # Chernoff: adds spare/e
        if self.delta_at(most) > delta:
            return math.inf
        root = float(optimize.brentq(lambda e: math.log(self.delta_at(e) / delta), 0.0, most, xtol=1e-12, rtol=1e-11))
        step = 1e-10
        while self.delta_at(root) > delta:
            root, step = root + step * max(1.0, root), 2 * step
        return root


def compose(events: Sequence[tuple[Event, int]], mu: float, direction: Direction, aim: Aim) -> Composed:
    """All events together with Gaussian noise of size μ, made most exact where `aim` says."""
    spans = [reach(event, direction) for event, _ in events]
    rough = Cumulants(_parts(events, [(high - low) / 256 or 1.0 for low, high in spans], direction))
    theta = _tilt(rough, mu, aim)
    low, high = rough.window(theta)
    typical = rough.deviation(theta) / math.sqrt(sum(times for _, times in events))
    points = min(_LARGEST, _FINENESS * (high - low) / max(typical, 1e-9), max(_SMALLEST, _WORK // len(events)))
    step = max((high - low) / max(_SMALLEST, points), max(high - low for low, high in spans) / _WIDEST)
    widest = max(range(len(events)), key=lambda i: events[i][1] * spans[i][1] ** 2)  # whose largest loss matters most
    for part in (grain(events[widest][0]), spans[widest][1]):  # all of its losses may lie on the grid, or the largest
        if part >= step:  # a smaller one would make the grid endless
            step = part / math.ceil(part / step)
            break
    parts = _parts(events, [step] * len(events), direction)
    return _transform(parts, Cumulants(parts), theta, mu)


def _parts(events: Sequence[tuple[Event, int]], steps: Sequence[float], direction: Direction) -> list[Part]:
    return [(on_grid(event, step, direction), times, step) for (event, times), step in zip(events, steps, strict=True)]


def _tilt(cumulants: Cumulants, mu: float, aim: Aim) -> float:
    """The best θ for the aim. Any other θ proves a bound as well, only a larger one."""

    def height(log_theta: float) -> float:
        theta = math.exp(log_theta)
        return aim(theta, cumulants.total(theta) + theta * (theta + 1) * mu**2 / 2)

    return math.exp(float(optimize.minimize_scalar(height, bounds=(-7.0, 8.0), method="bounded").x))


def _transform(parts: Sequence[Part], cumulants: Cumulants, theta: float, mu: float) -> Composed:
    """Multiplies the spectra of the tilted parts, and bounds what the floats did to them.

    A transform of n points is off by at most 16 log₂(n) + 16 units of its Euclidean length, derived in
    docs/proofs/profile.md for the radices 2, 3, 4 and 5, of which alone n is made. A spectrum is nowhere above 1 (or
    the sum of its masses), so a product of spectra is off by the sum of their errors.
    """
    step, each, (low, high) = parts[0][2], cumulants.each(theta), cumulants.window(theta)
    first = math.floor(low / step)
    size = int(fft.next_fast_len(math.ceil(high / step) - first + 1, real=True))
    spectrum, excess = np.ones(size // 2 + 1, dtype=np.complex128), 0.0
    for (_, times, _), tilted in zip(parts, cumulants.tilted(theta), strict=True):
        spectrum *= _power(fft.rfft(_folded(tilted, size)), times)
        excess += times * (max(0.0, float(tilted.sum()) - 1) + 64 * UNIT)
    start = sum(atoms.first * times for atoms, times, _ in parts)
    masses = np.roll(fft.irfft(spectrum, size), -((first - start) % size))
    mechanisms = float(sum(times for _, times, _ in parts))
    unit = (16 * math.log2(size) + 20) * UNIT
    losses = np.asarray(first + np.arange(size), dtype=np.float64) * step
    return Composed(
        losses=losses,
        masses=finite(masses, "a convolution"),
        theta=theta,
        mu=mu,
        log_moment=math.fsum(times * x for (_, times, _), x in zip(parts, each, strict=True))
        + theta * (theta + 1) * mu**2 / 2,
        error=(mechanisms + 2) * unit * math.exp(mechanisms * unit * math.sqrt(size) + excess),
        slop=1e-9 + _rounded(parts, cumulants, theta, size) + 16 * UNIT * mu * (theta + 1) * (theta * mu + 32),
        blur=math.fsum(times * atoms.blur for atoms, times, _ in parts) + 2 * UNIT * float(np.abs(losses).max()),
        infinite=-math.expm1(sum(times * math.log1p(-atoms.infinite) for atoms, times, _ in parts)),
    )


def _rounded(parts: Sequence[Part], cumulants: Cumulants, theta: float, size: int) -> float:
    """By how much the tilted masses, and the moments they are divided by, may be too small together, relatively."""
    total = 0.0
    for (atoms, times, step), faintest in zip(parts, cumulants.faintest, strict=True):
        farthest = max(abs(atoms.first), abs(atoms.first + len(atoms.masses))) * step
        wrapped = len(atoms.masses) // size + 1
        total += times * (8 * theta * farthest + 16 * faintest + atoms.units + wrapped + 64)
    return UNIT * total


def _power(spectrum: NDArray[np.complex128], times: int) -> NDArray[np.complex128]:
    """By repeated squaring: each product is off by √5 units, the whole by at most `times` times as much."""
    result = np.ones_like(spectrum)
    while times:
        if times & 1:
            result = result * spectrum
        spectrum, times = spectrum * spectrum, times >> 1
    return result


def _folded(masses: Floats, size: int) -> Floats:
    """Wrapped around a circle of so many points."""
    padded = np.pad(masses, (0, -len(masses) % size))
    return np.asarray(padded.reshape(-1, size).sum(axis=0))


def _weights(far: Floats, theta: float, mu: float) -> Floats:
    """e^{θt} times the profile of Gaussian noise at t, over its moment e^{θ(θ+1)μ²/2}; if μ = 0, e^{θt} (1 − e^t)₊.

    The profile is φ(z − μ/2) (r(z − μ/2) − r(z + μ/2)) with z = t/μ and r Mills's ratio. Only that last difference may
    cancel, and what it may have lost is added.
    """
    if mu == 0:
        near = np.minimum(far, 0.0)
        return np.asarray(-np.exp(theta * near) * np.expm1(near))
    z = far / mu
    z = z - 4 * UNIT * np.abs(z)  # a little before the loss, whatever was rounded: the profile falls
    beyond = np.maximum(z, mu / 2)
    high, low = special.erfcx((beyond - mu / 2) / math.sqrt(2)), special.erfcx((beyond + mu / 2) / math.sqrt(2))
    tail = np.exp(-0.5 * (beyond - mu * (theta + 0.5)) ** 2) * (high - low + 1e-12 * high) / 2
    before = np.minimum(z, mu / 2)
    body = np.exp(theta * mu * before - theta * (theta + 1) * mu**2 / 2) * _profile(before, mu)
    return np.asarray(np.where(z > mu / 2, tail, body))


def _profile(z: Floats, mu: float) -> Floats:
    """Φ(μ/2 − z) − e^{μz} Φ(−μ/2 − z) for z ≤ μ/2, and 1e-13 more; no exponent in it is large where it matters.

    The second term is φ(z − μ/2) r(z + μ/2) with Mills's ratio r, which is used where z + μ/2 > 0.
    """
    right, left = np.maximum(z, -mu / 2), np.minimum(z, -mu / 2)
    mills = np.exp(-0.5 * (right - mu / 2) ** 2) * special.erfcx((right + mu / 2) / math.sqrt(2)) / 2
    plain = np.exp(mu * left) * special.ndtr(-mu / 2 - left)
    return np.asarray(special.ndtr(mu / 2 - z) - np.where(z > -mu / 2, mills, plain) + 1e-13)
