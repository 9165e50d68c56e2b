"""A histogram with noise on every bar: which bars stand out, and which share of it lies beyond some of them.

An empty bar is noise. Dozens of empty bars, each held at 0 where it is negative and then added up, look like a crowd:
so bars are chosen by a threshold first, and sums are taken of the noisy numbers as they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from discreet.curator.till import Bought
from discreet.errors import Refusal
from discreet.mechanisms import GaussianVector, LaplaceVector

Floats = NDArray[np.float64]

CONFIDENCE = Fraction(95, 100)  # of every share that is told
RARE = Fraction(1, 1000)  # how often an empty bar may stand out of the noise, all of them together
SHARES = np.concatenate([[0.0], np.geomspace(1e-6, 1e-3, 60)[:-1], np.linspace(1e-3, 1, 2000)])  # that are tried
_STEPS = np.linspace(1 / 65, 64 / 65, 64)  # exponents for Chernoff's bound: each proves one, the best is taken


@dataclass(frozen=True)
class Share:
    """Between which two shares the truth lies, with 95 % confidence."""

    low: float
    high: float

    def __str__(self) -> str:
        low, high = math.floor(self.low * 1000) / 10, math.ceil(self.high * 1000) / 10
        if high >= 100:
            return f"at least {low:g} %" if low > 0 else "anything from 0 to 100 %"
        return f"{low:g} to {high:g} %" if low > 0 else f"at most {high:g} %"


@dataclass(frozen=True)
class Bars:
    """Noisy numbers, each with independent noise of one law, by the name of their bar."""

    heights: Mapping[int, int]
    noise: LaplaceVector | GaussianVector

    @classmethod
    def of(cls, bought: Bought) -> Bars:
        """The histogram that was bought: one key, one number."""
        noise = bought.price.charge(bought.price.part.measurement.statistics[0]).mechanism
        if not isinstance(noise, (LaplaceVector, GaussianVector)):
            raise Refusal("a histogram needs additive noise")
        rows = zip(bought.noisy.groups, bought.noisy.values, strict=True)
        return cls({int(str(group[0])): row[0] for group, row in rows}, noise)

    @property
    def visible(self) -> list[int]:
        """The bars that stand out of the noise, in order."""
        threshold = standing_out(self.noise, len(self.heights))
        return sorted(bar for bar, height in self.heights.items() if height > threshold)

    def beyond(self, outside: Callable[[int], bool], choices: int = 1) -> Share:
        """The share of the whole in the bars outside.

        `choices` is how many sets of bars the noisy numbers could have chosen this one from: with 95 % probability what
        would be told of each of them is true.
        """
        far = [height for bar, height in self.heights.items() if outside(bar)]
        near = [height for bar, height in self.heights.items() if not outside(bar)]
        if not far or not near:
            return Share(float(not near), float(not near))
        rare = (1 - CONFIDENCE) / (2 * choices)
        return _shares(sum(far), sum(near), _reaches((self.noise, len(far)), (self.noise, len(near)), rare))


def ratio(part: int, whole: int, noise: Sequence[LaplaceVector | GaussianVector]) -> Share:
    """The share that one noisy number is of another, which it is a part of; each with its own noise."""
    one, two = noise
    rare = (1 - CONFIDENCE) / 2  # and part − p·whole is (1 − p)·part − p·(whole − part)
    return _shares(part, whole - part, _reaches((one, 1), (two, 1), rare, part_of=True))


def _shares(some: int, rest: int, reaches: Floats) -> Share:
    """The shares p for which (1 − p)·some − p·rest is no larger than its noise may make it (Fieller 1954).

    At the true share that is (1 − p) times the one noise less p times the other: so the truth is left out as rarely as
    that noise is larger. Between two shares that were tried nothing is lost: one more is taken at either end.
    """
    known = np.flatnonzero(np.abs((1 - SHARES) * some - SHARES * rest) <= reaches)
    if not len(known) and min(some, rest) >= 0 < max(
        some, rest
    ):  # what is left lies between two shares that were tried
        above = int(np.searchsorted(SHARES, some / (some + rest)))
        return Share(float(SHARES[max(0, above - 1)]), float(SHARES[min(len(SHARES) - 1, above)]))
    if not len(known):  # the noise was larger than it should be
        return Share(0.0, 1.0)
    first, last = max(0, known[0] - 1), min(len(SHARES) - 1, known[-1] + 1)
    return Share(float(SHARES[first]) if known[0] else 0.0, float(SHARES[last]))


Sum = tuple[LaplaceVector | GaussianVector, int]  # so many independent noises of one law


@lru_cache(maxsize=64)
def _reaches(one: Sum, two: Sum, rare: Fraction, *, part_of: bool = False) -> Floats:
    """For each share p, what (1 − p)·one − p·two reaches with probability at most `rare`; of a part, one − p·two."""
    weights = (np.ones_like(SHARES) if part_of else 1 - SHARES), SHARES
    least = min(1 / _width(each[0]) for each in (one, two))
    t = least * _STEPS[np.newaxis, :] / np.maximum(*weights)[:, np.newaxis]
    logs = sum(
        (
            each[1] * _log_moment(each[0], weight[:, np.newaxis] * t)
            for each, weight in zip((one, two), weights, strict=True)
        ),
        start=np.full_like(t, -math.log(rare)),
    )
    return np.asarray((logs / t).min(axis=1) * (1 + 1e-9))


def _width(noise: LaplaceVector | GaussianVector) -> float:
    """Below one over it every moment is finite; of Gaussian noise, where the best exponents surely lie."""
    return float(noise.scale) if isinstance(noise, LaplaceVector) else math.sqrt(noise.variance) / 16


def _log_moment(noise: LaplaceVector | GaussianVector, t: Floats) -> Floats:
    """ln E[e^{t noise}], or more.

    Discrete Laplace noise has (1 − a)²/((1 − a e^t)(1 − a e^{−t})), a = e^{−1/scale}. Discrete Gaussian noise has at
    most e^{t²σ²/2}: completing the square leaves Σ e^{−(n − tσ²)²/2σ²} over Σ e^{−n²/2σ²}, and of all shifts none sums
    to more (Poisson: its coefficients are positive).
    """
    if isinstance(noise, GaussianVector):
        return np.asarray(t**2 * float(noise.variance) / 2)
    step = 1 / float(noise.scale)  # 1 − a e^t = −expm1(t − step): nothing cancels
    return np.asarray(2 * math.log(-math.expm1(-step)) - np.log(-np.expm1(t - step)) - np.log(-np.expm1(-t - step)))


@lru_cache(maxsize=64)
def standing_out(noise: LaplaceVector | GaussianVector, bars: int) -> int:
    """What none of so many empty bars exceeds, but with probability `RARE`."""
    return noise.error(1 - RARE / bars)
