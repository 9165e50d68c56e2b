"""A release that chooses its own way: it buys the total with a small share and looks at ε times that."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.exact import Number, share
from discreet.mechanisms.mechanism import USUAL, settle
from discreet.mechanisms.whole import Integers
from discreet.noise import SECURE, Entropy
from discreet.privacy.calibrate import laplace_error
from discreet.release.counts import Counts, noisy, released
from discreet.release.grids import AdaptiveGrid
from discreet.release.hierarchy import Hierarchy
from discreet.release.histogram import Histogram
from discreet.release.identity import Uniform
from discreet.release.partition import Partition
from discreet.release.tuned import tuned

# ε · records for one record of a unit, from which the next way is taken: where it had the smaller error on average over
# DPBench's data, of 4096 cells on a line and 128 × 128 on a plane.
_FEW, _SOME, _PLENTY = 5, 30, 5_000_000
_GRID = 1_000


@released("automatic")
@dataclass(frozen=True)
class Automatic(Counts):
    """Buys the total with `ratio` of ε and then takes what suits ε times the total best, at the rest of ε.

    Few records are told evenly, more by a `Partition`; many on a plane by an `AdaptiveGrid`, and very many on a line by
    the best `Hierarchy`.

    Guarantee: Pure(epsilon) for counts that differ by at most `distance` records in all.
    Proof: the total loses ratio · ε, and whatever is chosen by it loses the rest (composition, the second part chosen
        after the first).
    Source: Hay, Machanavajjhala, Miklau, Chen & Zhang 2016: what suits depends on ε times the number of records.
    """

    ratio: Fraction = Fraction(1, 20)

    def __post_init__(self) -> None:
        super().__post_init__()
        settle(self, ratio=share(self.ratio, "ratio"))

    def error(self, confidence: Number = USUAL) -> int:
        """The smallest α with Pr[|noise of the total as first bought| ≤ α] ≥ confidence; ranges: known after paying."""
        return laplace_error(self.distance / (self.ratio * self.epsilon), confidence)

    def chosen(self, total: int) -> Uniform | Partition | Hierarchy | AdaptiveGrid:
        """What is taken for so many records, as bought."""
        rest = (1 - self.ratio) * self.epsilon
        product, line = self.epsilon * total / self.distance, len(self.shape) == 1
        if product < _FEW or self.cells == 1:
            return Uniform(rest, self.shape, self.most, self.neighbours)
        if line and product >= Fraction(_PLENTY * self.cells, 4096):
            return tuned(rest, self.cells, self.most, self.neighbours)
        if not line and product >= _GRID:
            return AdaptiveGrid(rest, self.shape, self.most, self.neighbours)
        search = Fraction(1, 2 if not line else 8 if product < _SOME else 4)
        return Partition(rest, self.shape, self.most, self.neighbours, search)

    def __call__(self, counts: Integers, /, *, rng: Entropy = SECURE) -> Histogram:
        """What the chosen release tells."""
        values = self.counted(counts)
        total = noisy(np.array([values.sum()]), self.distance / (self.ratio * self.epsilon), rng)
        return self.chosen(int(total[0]))(values, rng=rng)
