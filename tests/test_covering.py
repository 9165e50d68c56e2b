"""The test of coverage accepts what covers and rejects what does not."""

from __future__ import annotations

from covering import RUNS, Coverage
from scipy import stats


def test_it_accepts_the_stated_confidence_and_rejects_ninety_per_cent() -> None:
    alarm = [Coverage(hits, RUNS).refuted(0.95) for hits in range(RUNS + 1)]
    first = alarm.index(False)
    assert stats.binom.cdf(first - 1, RUNS, 0.95) < 1e-9
    assert stats.binom.cdf(first - 1, RUNS, 0.90) > 0.99
