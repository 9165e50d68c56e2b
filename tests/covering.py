"""Does a stated error cover? An exact binomial test, and how wide an interval is beside the best one.

Every number that a door states with an error is tested in `tests/laws/test_coverage_*.py`: many independent runs, in
each of which the truth lies inside what was stated, or does not.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from scipy import stats

FALSE_ALARM = 1e-9
RUNS = 2_000  # at so many, intervals that cover 90 % where 95 % is stated are refuted with probability 0.998


@dataclass(frozen=True)
class Coverage:
    """How often the truth lay inside a stated interval, and how wide that was."""

    hits: int
    runs: int
    width: float = 0.0  # on average

    def refuted(self, confidence: Fraction | float, false_alarm: float = FALSE_ALARM) -> bool:
        """Whether intervals of this confidence would be hit so rarely with probability below `false_alarm`."""
        return bool(stats.binom.cdf(self.hits, self.runs, float(confidence)) < false_alarm)

    def exceeded(self, chance: Fraction | float, false_alarm: float = FALSE_ALARM) -> bool:
        """Whether what has at most this chance would happen so often with probability below `false_alarm`."""
        return bool(stats.binom.sf(self.hits - 1, self.runs, float(chance)) < false_alarm)

    def __str__(self) -> str:
        return f"{self.hits} of {self.runs} ({self.hits / self.runs:.1%}), mean width {self.width:.6g}"


def coverage(truths: Iterable[float], intervals: Sequence[tuple[float, float]]) -> Coverage:
    """Of one interval a run, each from a run of its own: a closed interval covers its ends."""
    hits = sum(low <= truth <= high for truth, (low, high) in zip(truths, intervals, strict=True))
    width = sum(high - low for low, high in intervals) / len(intervals)
    return Coverage(hits, len(intervals), width)
