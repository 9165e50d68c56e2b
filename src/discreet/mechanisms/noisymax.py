"""Report noisy max: add noise to every score and name the largest."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.declared.grid import Integers
from discreet.errors import Refusal
from discreet.exact import Number, share, shown
from discreet.interval import Interval, exp
from discreet.mechanisms.exponential import PermuteAndFlip, Selection, first
from discreet.mechanisms.mechanism import USUAL
from discreet.mechanisms.registry import registered
from discreet.noise import SECURE, Entropy, below, geometric, geometrics, laplace, laplaces
from discreet.noise.vector import LARGEST, SMALLEST

NOISES = ("geometric", "laplace")


@registered("report-noisy-max")
@dataclass(frozen=True)
class ReportNoisyMax(Selection):
    """Adds noise to each score and names the candidate with the largest sum, one of them at random if several have it.

    With `noise` "geometric" (on n ≥ 0, the integers' exponential noise) the choice has exactly the law of
    `PermuteAndFlip`; with "laplace" it is the textbook's mechanism, and worse.

    Guarantee: |score(x, r) − score(x', r)| ≤ sensitivity for neighbours x, x' and every r implies Pure(epsilon).
        Ties cost nothing, because scores and noise are whole numbers.
    Proof: docs/proofs/selection.md, "Report noisy max".
    Source: Dwork & Roth 2014, Section 3.3; Ding, Kifer, Saghaian, Steinke, Wang, Xiao & Zhang 2021.
    """

    noise: str = "geometric"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.noise not in NOISES:
            raise Refusal(f"expected noise as one of {NOISES}, got noise={shown(self.noise)}")

    def error(self, confidence: Number = USUAL) -> int:
        """An α such that, whatever the scores, the choice is at most α below the best, so confidently.

        The smallest for geometric noise; a union bound over the candidates for Laplace noise.
        """
        rare = 1 - share(confidence, "confidence")
        if self.noise == "geometric":
            return self._twin.error(confidence)
        return first(lambda a: ((self.candidates - 1) * _overtakes(a + 1, self.rate)).high <= rare)

    @property
    def _twin(self) -> PermuteAndFlip:
        return PermuteAndFlip(self.epsilon, self.candidates, self.sensitivity, self.monotone, self.neighbours)

    def __call__(self, scores: Integers, /, *, rng: Entropy = SECURE) -> int:
        """The index of the chosen candidate."""
        values = self.scored(scores)
        if SMALLEST <= 1 / self.rate <= LARGEST:
            sums = values + self._vector(rng)
        else:
            sums = np.array([value + self._single(rng) for value in values.tolist()], dtype=object)
        best = np.flatnonzero(sums == sums.max())
        return int(best[below(best.size, rng=rng)])

    def _vector(self, rng: Entropy) -> NDArray[np.int64]:
        if self.noise == "laplace":
            return laplaces(1 / self.rate, self.candidates, rng=rng)
        return geometrics(self.rate, self.candidates, rng=rng)

    def _single(self, rng: Entropy) -> int:
        return laplace(1 / self.rate, rng=rng) if self.noise == "laplace" else geometric(self.rate, rng=rng)


def _overtakes(distance: int, rate: Fraction) -> Interval:
    """Pr[the difference of two independent discrete Laplace noises of ratio b = e^−rate is at least `distance` ≥ 0].

    Σ_{d ≥ s} c² ((d+1) b^d + 2 b^{d+2}/(1 − b²)) with c = (1−b)/(1+b), summed (docs/proofs/selection.md).
    """
    b = exp(-rate)
    inner = (distance + 1) * (1 - b) + b + 2 * b * b / (1 + b)
    return exp(-distance * rate) * inner / ((1 + b) * (1 + b))
