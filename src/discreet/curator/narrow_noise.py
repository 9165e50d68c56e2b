"""Weighted sums of two noises, one of them listed: for narrow noise, of which a step is as long as itself.

Proof: docs/proofs/intervals.md, "Narrow noise".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from discreet.curator.noise_sums import SURE, UNSEEN, Additive, masses, reach, unlisted
from discreet.mechanisms import LaplaceVector

Floats = NDArray[np.float64]

_OUTSIDE = Fraction(1, 10**12)
_NARROW = 30  # what noise reaches, but for `_OUTSIDE`: Laplace noise of a scale of 1. Of wider, half a step is little
_HAIR = 1e-9  # more than rounding of a quotient can be off, of itself

Ends = tuple[float, float]  # of a weight, on a piece on which all weights are lines


@lru_cache(maxsize=256)
def listed(noises: tuple[Additive, ...]) -> Listed | None:
    """Two noises of which one is listed at least; None if there are not two, or both are wide."""
    return Listed(noises) if len(noises) == 2 and any(map(_narrow, noises)) else None


def _narrow(noise: Additive) -> bool:
    """Whether a noise is hardly ever beyond `_NARROW`. Of most it is seen at once that they are: `reach` takes long.

    Laplace noise of a scale above 2 is beyond 30 more often than e^(−31/2), and Gaussian noise of a deviation above 10
    more often than once in a thousand times.
    """
    wide = noise.scale > 2 if isinstance(noise, LaplaceVector) else noise.variance > 100
    return not wide and reach(noise, _OUTSIDE) <= _NARROW


@dataclass(frozen=True, eq=False)
class Listed:
    """The laws of two noises."""

    noises: tuple[Additive, ...]

    def within(self, weights: Sequence[Ends], far: float, rare: float) -> bool:
        """Whether the sum is as far as this with probability at most `rare`, for all weights on the piece, surely."""
        for one, two in ((0, 1), (1, 0)):
            if weights[two][0] * weights[two][1] > 0 and _narrow(self.noises[one]):
                return self._chance((one, two), (weights[one], weights[two]), far) <= rare
        return False

    def _chance(self, which: tuple[int, int], weights: tuple[Ends, Ends], far: float) -> float:
        """Pr[|u·n + v·m| ≥ far] at most, where v has one sign on the piece and the law of n is listed.

        For each n the least m that reaches so far is a quotient of two lines, so it is least at an end of the piece.
        """
        if far <= 0:
            return 1.0
        sizes, sign = _sizes(self.noises[which[0]]), 1.0 if weights[1][0] > 0 else -1.0
        numbers, beyond = np.arange(len(sizes)) - len(sizes) // 2, np.zeros(len(sizes))
        for own, other in zip(*weights, strict=True):
            quotient = (far - sign * own * numbers) / (sign * other)
            least = np.ceil(quotient - _HAIR * np.maximum(1.0, np.abs(quotient)))
            beyond = np.maximum(beyond, _tails(self.noises[which[1]], least))
        return (2 * float(beyond @ sizes) + 4 * UNSEEN) * SURE


@lru_cache(maxsize=256)
def _sizes(noise: Additive) -> Floats:
    """How likely each number is, from −n to n."""
    far = reach(noise, _OUTSIDE)
    known = masses(noise, 1, 2 * far + 4)
    return np.concatenate([known[len(known) - far :], known[: far + 1]])


def _tails(noise: Additive, least: Floats) -> Floats:
    """How likely the noise is at least this, at most: exactly, but of wide Gaussian noise."""
    if isinstance(noise, LaplaceVector):
        rate = 1 / float(noise.scale)
        far = np.exp(-rate * np.where(least > 0, least, 1 - least)) / (1 + math.exp(-rate))
        return np.asarray(np.where(least > 0, far, 1 - far))
    if not unlisted(noise):
        tails = _upper(noise)
        half = (len(tails) - 2) // 2
        return np.asarray(tails[np.clip(least, -half, half + 1).astype(np.int64) + half])
    deviation = math.sqrt(2 * float(noise.variance))
    return np.array([math.erfc((x - 0.5) / deviation) / 2 if x > 0 else 1.0 for x in least])


@lru_cache(maxsize=256)
def _upper(noise: Additive) -> Floats:
    """How likely the noise is each number from −n to n or a larger one, and 0 for what is beyond."""
    return np.append(np.cumsum(_sizes(noise)[::-1])[::-1], 0.0)
