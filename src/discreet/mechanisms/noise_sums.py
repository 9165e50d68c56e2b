"""Quantiles of weighted sums of independent noises, from their laws alone, never from data.

Proofs: docs/proofs/intervals.md. Every number here is an upper bound of a probability or of a quantile.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.mechanisms.integer_noise import GaussianVector, LaplaceVector

Additive = LaplaceVector | GaussianVector
Weighted = tuple[tuple[Additive, Fraction], ...]  # noises, each with the weight that it has in a sum
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

SURE = 1 + 1e-9  # more than rounding in a few hundred operations on doubles can add up to
_LISTED = 40_000  # deviations² up to which a discrete Gaussian is listed, number by number
UNSEEN = 1e-11  # more than what rounding hides in a sum of probabilities
_MORE = (1 / 12, 1 / 8, 1 / 6, 1 / 4, 1 / 3, 1 / 2, 1.0, 2.0)  # what a variance may gain
_RAREST = Fraction(1, 10**9)  # a noise, of what is convolved: below it, rounding could tell
_POINTS = 1 << 16  # of the lattice on which laws are convolved
_OUTSIDE = 1e-4  # of what may go wrong: how much of it is that a sum is outside the lattice
_APART = 1.02  # neighbouring scales in the closed form differ by this factor at least
_CUTS, _ROUNDS = 64, 4  # a quantile is found to 64⁻⁴ of how far a sum reaches at most
_SHORT = 8  # scales: of noise that is longer, half a step is little
_MOST_APART = 6  # as many scales; of more the closed form would lose its digits


@lru_cache(maxsize=4096)  # an exact quantile is costly, and the same prices come again and again
def reach(noise: Additive, rare: Fraction) -> int:
    """The smallest a with Pr[|noise| > a] ≤ rare."""
    return noise.error(1 - rare)


@lru_cache(maxsize=1024)
def bar(weighted: Weighted, rare: Fraction) -> Fraction:
    """A number that the weighted sum leaves with probability at most `rare`: exact for one noise, nearly for more."""
    weighted = tuple((noise, abs(weight)) for noise, weight in weighted if weight)
    if not weighted:
        return Fraction(0)
    if len(weighted) == 1:
        noise, weight = weighted[0]
        return weight * reach(noise, rare)
    each = sum((weight * reach(noise, rare / len(weighted)) for noise, weight in weighted), Fraction(0))
    if not each:
        return each
    sums = sums_of(tuple(noise for noise, _ in weighted), rare)
    weights = [float(weight) for _, weight in weighted]
    closed = sums.wide or rare < len(weights) * _RAREST
    nearly = sums.quantile(weights) if closed else _convolved(sums.noises, weights, float(rare))
    lattice = _common(weight for _, weight in weighted)  # the sum is a multiple of it
    return min(each, lattice * math.floor(Fraction(nearly) / lattice))


def _common(weights: Iterable[Fraction]) -> Fraction:
    """The largest number of which all these are multiples."""
    top, bottom = 0, 1
    for weight in weights:
        whole = math.lcm(bottom, weight.denominator)
        top, bottom = math.gcd(top * (whole // bottom), weight.numerator * (whole // weight.denominator)), whole
    return Fraction(top, bottom)


@lru_cache(maxsize=1024)
def sums_of(noises: tuple[Additive, ...], rare: Fraction) -> Sums:
    """Sums of these noises, beyond whose bounds they are with probability at most `rare`."""
    return Sums(noises, rare)


@dataclass(frozen=True, eq=False)
class Sums:
    """Weighted sums of some independent noises, all of one kind."""

    noises: tuple[Additive, ...]
    rare: Fraction

    @property
    def wide(self) -> bool:
        """Whether one of the noises is so wide that it is not listed."""
        return any(unlisted(noise) for noise in self.noises)

    @cached_property
    def _scales(self) -> Floats:
        """Of continuous noises that reach at least as far as these do, but for a slack."""
        return np.array([smooth(noise)[0] for noise in self.noises])

    @cached_property
    def _slacks(self) -> Floats:
        return np.array([smooth(noise)[1] for noise in self.noises])

    @cached_property
    def reaches(self) -> tuple[int, ...]:
        """How far each noise reaches, all of them at once."""
        return tuple(reach(noise, self.rare / len(self.noises)) for noise in self.noises)

    @cached_property
    def _level(self) -> float:
        return float(self.rare) / SURE

    def within(self, weights: ArrayLike, far: ArrayLike) -> Flags:
        """Whether the sums with these weights are within [−far, far] but for a probability of `rare`, surely.

        Of many sums at once: the last axis of the weights is over the noises, the others are those of `far`.
        """
        sizes, ends = np.abs(np.asarray(weights, dtype=np.float64)), np.asarray(far, dtype=np.float64)
        with np.errstate(all="ignore"):  # what is no number is within nothing
            return np.asarray((self._apart(sizes) <= ends) | (self._tail(sizes, ends) <= self._level))

    def _apart(self, sizes: Floats) -> Floats:
        """How far sums reach if every noise reaches as far as it can."""
        return np.asarray(sizes @ np.array(self.reaches, dtype=np.float64) * SURE)

    def quantile(self, weights: Sequence[float]) -> float:
        """Where the sum with these weights is within, as small as can be shown."""
        return float(self.quantiles([weights])[0])

    def quantiles(self, weights: ArrayLike) -> Floats:
        """The same for many sums: a row of weights for each."""
        sizes = np.abs(np.asarray(weights, dtype=np.float64))
        high = self._apart(sizes)
        low, rows = np.zeros_like(high), np.arange(len(sizes))
        inner = np.broadcast_to(sizes[:, None, :], (len(sizes), _CUTS - 1, sizes.shape[1]))
        for _ in range(_ROUNDS):
            ends = np.linspace(low, high, _CUTS + 1, axis=-1)
            with np.errstate(all="ignore"):
                beyond = ~(self._tail(inner, ends[:, 1:-1]) <= self._level)
            last = np.where(beyond.any(axis=1), _CUTS - 1 - np.argmax(beyond[:, ::-1], axis=1), 0)
            low, high = ends[rows, last], ends[rows, last + 1]
        return high

    @property
    def short(self) -> bool:
        """Whether half a step of one noise would tell, and all can be listed."""
        return not self.wide and any(map(_short, self.noises))

    def nearest(self, weights: Sequence[Sequence[float]]) -> list[float]:
        """The same, by the laws themselves where half a step of one noise would tell."""
        closed = self.quantiles(weights).tolist()
        return [self._listed(each, far) for each, far in zip(weights, closed, strict=True)] if self.short else closed

    def _listed(self, weights: Sequence[float], closed: float) -> float:
        used = [(noise, abs(weight)) for noise, weight in zip(self.noises, weights, strict=True) if weight]
        if self.rare < len(used) * _RAREST or len(used) < 2:
            return closed
        noises, sizes = zip(*used, strict=True)
        return min(closed, _convolved(noises, sizes, self._level) * SURE)

    def blurred(self, weights: ArrayLike, far: ArrayLike) -> tuple[Floats, float]:
        """How likely sums of continuous noises that are more spread are beyond `far`, and how far either may be apart.

        The last axis of the weights is over the noises.
        """
        sizes, ends = np.abs(np.asarray(weights, dtype=np.float64)), np.asarray(far, dtype=np.float64)
        apart = sizes @ self._slacks
        with np.errstate(all="ignore"):
            return self._tail(
                np.broadcast_to(sizes, (*ends.shape, sizes.shape[-1])), (ends + apart) * SURE
            ), apart.max()

    def _tail(self, sizes: Floats, far: Floats) -> Floats:
        """How likely sums are beyond `far`, at most."""
        left = far / SURE - sizes @ self._slacks
        scales = sizes * self._scales
        if isinstance(self.noises[0], GaussianVector):
            return np.where(left > 0, _normal_tail(np.sqrt((scales**2).sum(axis=-1)), left, len(self.noises)), 1.0)
        return np.where(left > 0, _laplace_tail(scales, left), 1.0)


def _short(noise: Additive) -> bool:
    """Whether half a step is more than some hundredths of how far a noise reaches."""
    return noise.scale < _SHORT if isinstance(noise, LaplaceVector) else noise.variance < _SHORT**2


def unlisted(noise: Additive) -> bool:
    """Whether it is Gaussian and so wide that it is not listed: it would not fit into memory."""
    return isinstance(noise, GaussianVector) and noise.variance > _LISTED


@lru_cache(maxsize=1024)
def smooth(noise: Additive) -> tuple[float, float]:
    """The scale of a continuous noise of the same kind that reaches further, and by how many steps it may fall short.

    Of a discrete Laplace law s it is s + 1/(12 s), which is above 1/(2 tanh(1/2s)). A Gaussian one gets the least of
    some variances that a look at all its cells allows; if it is wide, its own and a larger slack.
    """
    if isinstance(noise, LaplaceVector):
        scale = float(noise.scale)
        return (scale + 1 / (12 * scale)) * SURE, 0.5
    variance = float(noise.variance)
    if variance > _LISTED:
        return math.sqrt(variance) * SURE, 1.5
    sizes = np.diff(_below(noise, np.arange(reach(noise, Fraction(1, 10**14)) + 1.0)), prepend=0.0)
    wider = next((more for more in _MORE if _covers(sizes, math.sqrt(variance + more))), None)
    return (math.sqrt(variance) * SURE, 1.5) if wider is None else (math.sqrt(variance + wider) * SURE, 0.5)


def _covers(sizes: Floats, deviation: float) -> bool:
    """Whether a normal number is beyond t at least as often as noise blurred by half a step, for every t.

    Within the cell of k the second probability is a line and the first convex, so that their difference is least where
    the slopes agree, or at an end.
    """
    first = np.arange(sizes.size) - 0.5
    first[0] = 0.0
    width = np.arange(sizes.size) + 0.5 - first
    slopes = sizes / width  # of what falls: density of |noise + blur|
    with np.errstate(divide="ignore", invalid="ignore"):
        squares = -2 * np.log(slopes * deviation * math.sqrt(math.pi / 2))
        nearest = deviation * np.sqrt(np.maximum(squares, 0.0))
    places = np.clip(np.nan_to_num(nearest, posinf=np.inf), first, first + width)
    before = 1 - np.concatenate([[0.0], np.cumsum(sizes)[:-1]])
    for at in (first, places, first + width):
        blurred = before - slopes * (at - first)
        normal = np.array([math.erfc(x) for x in at / (deviation * math.sqrt(2))])
        if (normal < blurred - UNSEEN / 2).any():
            return False
    return True


def _normal_tail(deviation: Floats, far: Floats, many: int) -> Floats:
    """Pr[|X| > far] for normal X, and what the laws of so many noises may have hidden."""
    tails = [math.erfc(x) for x in np.nan_to_num(far / (deviation * math.sqrt(2)), posinf=np.inf).flat]
    return np.reshape(tails, np.shape(far)) + many * UNSEEN


def _laplace_tail(scales: Floats, far: Floats) -> Floats:
    """Pr[|Σ b_i L_i| > far] for standard Laplace L_i: Σ w_i e^(−far/b_i), w_i = Π_j b_i²/(b_i² − b_j²), j ≠ i.

    Scales that are too close are enlarged until they are not; of many, Chernoff's bound.
    """
    largest = scales.max(axis=-1)
    scales = np.sort(np.maximum(scales / largest[..., None], 1e-9), axis=-1)
    far = far / largest
    if scales.shape[-1] > _MOST_APART:
        return _chernoff(scales, far)
    apart: list[Floats] = []
    for scale in np.moveaxis(scales, -1, 0):
        apart.append(np.maximum(scale, apart[-1] * _APART) if apart else scale)
    total = np.zeros(np.shape(far))
    for i, own in enumerate(apart):
        others = (own * own / ((own - other) * (own + other)) for j, other in enumerate(apart) if j != i)
        total += math.prod(others, start=np.exp(-far / own))
    return np.asarray(np.minimum(1.0, np.maximum(0.0, total) + 1e-7 * np.exp(-far / apart[-1])))


def _chernoff(scales: Floats, far: Floats) -> Floats:
    """2 e^(−λ far) Π 1/(1 − λ² b_i²) at the best of a few λ, for scales of which the largest is 1."""
    best = np.zeros(np.shape(far))  # exponent
    for share in range(1, 64):
        rate = share / 64
        best = np.minimum(best, -rate * far - np.log1p(-((rate * scales) ** 2)).sum(axis=-1))
    return np.asarray(np.minimum(1.0, 2 * np.exp(best)))


def _convolved(noises: Sequence[Additive], weights: Sequence[float], rare: float) -> float:
    """The quantile of the sum of noises rounded to one lattice, and what rounding can add.

    The lattice is as long as the sum needs, not as all noises at their farthest would.
    """
    edge = rare * _OUTSIDE
    apart = sum(w * reach(noise, Fraction(1, 10**12)) for noise, w in zip(noises, weights, strict=True))
    most = min(apart, sums_of(tuple(noises), Fraction(edge)).quantile(weights))
    step = 2.2 * most / _POINTS
    law = np.ones(_POINTS // 2 + 1, dtype=np.complex128)
    for (noise, weight), times in Counter(zip(noises, weights, strict=True)).items():
        law *= np.fft.rfft(masses(noise, step / weight, _POINTS)) ** times
    summed = np.fft.irfft(law, _POINTS)
    sizes = summed[: _POINTS // 2].copy()
    sizes[1:] += summed[: _POINTS // 2 : -1]
    beyond = np.cumsum(sizes[::-1])[::-1]  # of this size or larger
    missing = len(noises) * 1e-11 + 3 * edge  # rounding of the transform; outside the lattice
    place = int(np.argmax(beyond + missing <= rare)) - 1
    return (place + len(noises) / 2) * step * SURE


def masses(noise: Additive, step: float, points: int) -> Floats:
    """Pr[noise lies in (j − 1/2, j + 1/2] · step] for j = 0, 1, … and then …, −2, −1."""
    half = points // 2
    edges = np.floor((np.arange(half) + 0.5) * step)  # the largest noise of each cell from 0 upward
    within = _below(noise, edges)  # Pr[|noise| ≤ edge]
    sizes = np.diff(within, prepend=0.0)
    chances = np.zeros(points)
    chances[0] = sizes[0]
    chances[1:half] = sizes[1:] / 2
    chances[half + 1 :] = sizes[:0:-1] / 2
    return chances


def _below(noise: Additive, edges: Floats) -> Floats:
    """Pr[|noise| ≤ edge] for whole edges ≥ 0."""
    if isinstance(noise, LaplaceVector):
        rate = 1 / float(noise.scale)
        return np.asarray(1 - 2 * np.exp(-rate * (edges + 1)) / (1 + math.exp(-rate)))
    last = reach(noise, Fraction(1, 10**15))
    weights = np.exp(-(np.arange(last + 1, dtype=np.float64) ** 2) / (2 * float(noise.variance)))
    weights[1:] *= 2
    sums = np.cumsum(weights)
    return np.asarray(sums[np.minimum(edges, last).astype(np.int64)] / sums[-1])
