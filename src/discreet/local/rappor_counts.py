"""What RAPPOR's reports say about single bits, before anybody asks which texts set them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.local.estimate import Odds, Reals
from discreet.local.report_sums import Whole


@dataclass(frozen=True, eq=False)
class BitCounts:
    """For each cohort: how many people reported, and how many told each bit as 1.

    Counts are unbiased for the people who reported, and may be negative. docs/proofs/rappor.md.
    """

    reports: Whole
    ones: Whole
    odds: Odds

    @property
    def people(self) -> int:
        """In all cohorts."""
        return int(self.reports.sum())

    @cached_property
    def counts(self) -> Reals:
        """In how many filters each bit is set: (ones − reports · p*) / (q* − p*)."""
        counts: Reals = (self.ones - self.reports[:, None] * float(self.odds.other)) / float(self.odds.gap)
        return counts

    @cached_property
    def errors(self) -> Reals:
        """The standard error of each count, at the estimated share: that of the clients' coins alone."""
        inside = np.clip(self.counts, 0, self.reports[:, None])
        p, q = float(self.odds.other), float(self.odds.holder)
        spread = inside * q * (1 - q) + (self.reports[:, None] - inside) * p * (1 - p)
        errors: Reals = np.sqrt(spread) / float(self.odds.gap)
        return errors
