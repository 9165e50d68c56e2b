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

from discreet.curator.till import Bought
from discreet.errors import Refusal
from discreet.exact import spoken
from discreet.mechanisms import GaussianVector, LaplaceVector

CONFIDENCE = Fraction(95, 100)  # of every share that is told
RARE = Fraction(1, 1000)  # how often an empty bar may stand out of the noise, all of them together
_TRIED = np.linspace(1e-3, 1 - 1e-3, 999)  # where Chernoff's exponent is looked for, as a share of what is possible


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
        threshold = slack(self.noise, 1, RARE / len(self.heights))
        return sorted(bar for bar, height in self.heights.items() if height > threshold)

    def beyond(self, outside: Callable[[int], bool], choices: int = 1) -> Share:
        """The share of the whole in the bars outside.

        `choices` is how many sets of bars the noisy numbers could have chosen this one from: with 95 % probability what
        would be told of each of them is true. With the number outside between a₁ and a₂ and the number inside between
        b₁ and b₂, the share lies between a₁/(a₁ + b₂) and a₂/(a₂ + b₁).
        """
        rare = (1 - CONFIDENCE) / (4 * choices)  # two numbers, and two ends of each
        far, near = self._between(outside, rare), self._between(lambda bar: not outside(bar), rare)
        return Share(_part(far[0], near[1]), _part(far[1], near[0]) if near[0] else 1.0)

    def _between(self, among: Callable[[int], bool], rare: Fraction) -> tuple[int, int]:
        chosen = [height for bar, height in self.heights.items() if among(bar)]
        middle, far = sum(chosen), slack(self.noise, len(chosen), rare)
        return max(0, middle - far), max(0, middle + far)


def _part(some: int, rest: int) -> float:
    return some / (some + rest) if some else 0.0


def ratio(part: int, whole: int, noise: Sequence[LaplaceVector | GaussianVector]) -> Share:
    """The share that one noisy number is of another, which it is a part of; each with its own noise."""
    rare = (1 - CONFIDENCE) / 4
    far = [slack(each, 1, rare) for each in noise]
    low, high = max(0, part - far[0]) / max(1, whole + far[1]), (part + far[0]) / max(1, whole - far[1])
    return Share(min(1.0, low), min(1.0, max(0.0, high)) if whole > far[1] else 1.0)


@lru_cache(maxsize=256)
def slack(noise: LaplaceVector | GaussianVector, terms: int, rare: Fraction) -> int:
    """A number that a sum of so many independent noises reaches with probability at most `rare`, on either side.

    Chernoff: Pr[sum ≥ s] ≤ M(t)^terms e^{−ts} for every t, so s = (terms ln M(t) + ln(1/rare))/t. Discrete Laplace
    noise has M(t) = (1 − a)²/((1 − a e^t)(1 − a e^{−t})), a = e^{−1/scale}. Discrete Gaussian noise has at most
    e^{t²σ²/2}: completing the square leaves Σ e^{−(n − tσ²)²/2σ²} over Σ e^{−n²/2σ²}, and of all shifts none sums to
    more (Poisson: its coefficients are positive). Floats choose t; what is returned is rounded up.
    """
    if terms == 0:
        return 0
    if terms == 1:
        return noise.error(1 - 2 * rare)
    far = -math.log(rare)
    if isinstance(noise, GaussianVector):
        return math.ceil(math.sqrt(2 * terms * float(noise.variance) * far) * (1 + 1e-9))
    width = float(noise.scale)
    t = _TRIED / width
    # 1 − a e^t = −expm1(t − 1/scale), and 1 − a = −expm1(−1/scale): nothing cancels
    logs = 2 * math.log(-math.expm1(-1 / width)) - np.log(-np.expm1(t - 1 / width)) - np.log(-np.expm1(-t - 1 / width))
    reached = float(((terms * logs + far) / t).min())
    if not math.isfinite(reached):
        raise Refusal(f"noise of scale {spoken(noise.scale)} is beyond what floats hold", hint="name a higher price")
    return math.ceil(reached * (1 + 1e-9))
