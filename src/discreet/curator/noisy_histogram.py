"""A histogram with noise on every bar: which bars stand out, and which share of it lies beyond some of them.

An empty bar is noise. Dozens of empty bars, each held at 0 where it is negative and then added up, look like a crowd:
so bars are chosen by a threshold first, and sums are taken of the noisy numbers as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from discreet.curator.share_intervals import Share, compatible
from discreet.curator.till import Bought
from discreet.errors import Refusal
from discreet.mechanisms import GaussianVector, LaplaceVector

CONFIDENCE = Fraction(95, 100)  # of every share that is told
RARE = Fraction(1, 1000)  # how often an empty bar may stand out of the noise, all of them together


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
        noises = (self.noise, len(far)), (self.noise, len(near))
        return compatible(sum(far), sum(near), noises, (1 - CONFIDENCE) / choices)


def ratio(part: int, whole: int, noise: Sequence[LaplaceVector | GaussianVector]) -> Share:
    """The share that one noisy number is of another, which it is a part of; each with its own noise."""
    one, two = noise
    return compatible(part, whole - part, ((one, 1), (two, 1)), 1 - CONFIDENCE, part_of=True)


@lru_cache(maxsize=64)
def standing_out(noise: LaplaceVector | GaussianVector, bars: int) -> int:
    """What none of so many empty bars exceeds, but with probability `RARE`."""
    return noise.error(1 - RARE / bars)
