"""Intervals of sums of two ratios without a common noise, of which the divisors' noise turns the direction that counts.

Proof: docs/proofs/intervals.md, "Pivots".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from discreet.curator.arc_reach import Arc, Still, Turning, reach
from discreet.curator.formula import Leaf, Linear, Range, Ratio
from discreet.mechanisms.noise_sums import SURE, Additive, Sums, bar, smooth, sums_of

_FIRST, _NEXT, _LITTLE, _WALKS = 0.6, 0.96, 0.99, 8  # how the end of a sum of two ratios is looked for, inward
_FAR = 0.7  # how far noise may move a divisor, of itself, for directions to be told

Numbers = Mapping[Leaf, int]
Law = Callable[[Leaf], Additive]
Maybe = Range | None


@dataclass(frozen=True)
class TurnedRatios:
    """What is known of two ratios without a common noise before a number is put in."""

    ratios: tuple[Ratio, Ratio]
    turning: tuple[tuple[Leaf, ...], tuple[Leaf, ...]]  # the noises of either divisor
    sums: tuple[Sums | None, Sums | None]  # of these
    still: Still  # the noises that are above alone
    moves: tuple[float, float]  # how far noise moves either divisor at most
    scales: tuple[float, float]  # of the noise that is above alone: public, and the measure of what is far
    rare: Fraction

    @classmethod
    def of(cls, both: tuple[Ratio, Ratio], law: Law, rare: Fraction, beside: Fraction) -> TurnedRatios:
        """At one confidence; beside it either divisor is moved farther than is said."""
        one, two = (_Halves.of(each, law, rare) for each in both)
        scales = one.scale, two.scale
        above = tuple(law(leaf) for half in (one, two) for leaf in half.above)
        sizes = one.sizes, two.sizes
        still = Still.of(sums_of(above, rare) if above else None, sizes)
        moves = _moved(both[0].below, law, beside), _moved(both[1].below, law, beside)
        return cls(both, (one.below, two.below), (one.sums, two.sums), still, moves, scales, rare)

    def interval(self, numbers: Numbers, known: tuple[Range, Range]) -> Maybe:
        """How far the sum may be off."""
        values = [each.below.at(numbers) for each in self.ratios]
        told = [each.above.at(numbers) / below for each, below in zip(self.ratios, values, strict=True)]
        sizes = [abs(float(value)) for value in values]
        least = [size / SURE - moved for size, moved in zip(sizes, self.moves, strict=True)]
        if min(least) <= 0:
            return None
        off = [(float(seen - high), float(seen - low)) for seen, (low, high) in zip(told, known, strict=True)]
        arc, times = self._seen(sizes, least), math.hypot(self.scales[0] / sizes[0], self.scales[1] / sizes[1])

        def end(sign: int) -> float:
            """On one side: where the sum is far off there, neither ratio is far off on the other."""
            ranges = off if sign > 0 else [(-high, -low) for low, high in off]
            most = ranges[0][1] + ranges[1][1]
            share = _FIRST
            for _ in range(_WALKS):
                least, before = most * share, most
                one = self._turned(0, told[0], (max(ranges[0][0], least - ranges[1][1]), ranges[0][1]), sign)
                two = self._turned(1, told[1], (max(ranges[1][0], least - ranges[0][1]), ranges[1][1]), sign)
                far = reach(arc, self.still, one, two, float(self.rare)) * times
                most, share = min(most, max(least, far)), _FIRST if far <= least else _NEXT
                if most > _LITTLE * before:
                    break
            return most

        return told[0] + told[1] - Fraction(end(1) * SURE), told[0] + told[1] + Fraction(end(-1) * SURE)

    def _turned(self, which: int, told: Fraction, off: tuple[float, float], sign: int) -> Turning:
        """The noise of a divisor at the largest weights that it can have, where the ratio is off by so much."""
        ratio, ends = self.ratios[which], [float(told) - sign * each for each in off]
        slack = 1e-12 * max(map(abs, (*ends, *off)))
        sizes = []
        for leaf in self.turning[which]:
            above, below = (float(line.weights.get(leaf, 0)) for line in (ratio.above, ratio.below))
            size = max(abs(above - end * below) for end in ends) + slack * abs(below)
            sizes.append(size * SURE / self.scales[which])
        return Turning.of(self.sums[which], sizes)

    def _seen(self, sizes: Sequence[float], least: Sequence[float]) -> Arc:
        """For every ratio that the true divisors may have, the directions that may be seen."""
        shifts = [moved / size for moved, size in zip(self.moves, least, strict=True)]
        if max(shifts) > _FAR:
            return 0.0, math.pi / 2
        share = self.scales[1] / self.scales[0]
        low = share * least[0] / (sizes[1] + self.moves[1]) * (1 - shifts[0]) / (1 + shifts[1])
        high = share * (sizes[0] + self.moves[0]) / least[1] * (1 + shifts[0]) / (1 - shifts[1])
        return math.atan(low / SURE), math.atan(high * SURE)


@dataclass(frozen=True)
class _Halves:
    """The noises of one ratio: those of its divisor, and those that are above alone."""

    ratio: Ratio
    below: tuple[Leaf, ...]
    above: tuple[Leaf, ...]
    sums: Sums | None
    scale: float

    @classmethod
    def of(cls, ratio: Ratio, law: Law, rare: Fraction) -> _Halves:
        below = tuple(ratio.below.weights)
        above = tuple(leaf for leaf in ratio.above.weights if leaf not in ratio.below.weights)
        sums = sums_of(tuple(map(law, below)), rare) if below else None
        parts = (float(ratio.above.weights[leaf]) * smooth(law(leaf))[0] for leaf in above)
        return cls(ratio, below, above, sums, math.hypot(*parts) or 1.0)

    @property
    def sizes(self) -> tuple[float, ...]:
        """The weights of those that are above alone, in their scale."""
        return tuple(abs(float(self.ratio.above.weights[leaf])) / self.scale for leaf in self.above)


def _moved(line: Linear, law: Law, rare: Fraction) -> float:
    """How far noise moves a linear number, but for this probability."""
    return float(bar(tuple((law(leaf), weight) for leaf, weight in line.weights.items()), rare)) * SURE
