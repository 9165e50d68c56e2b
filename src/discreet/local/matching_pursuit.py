"""Matching pursuit on a sketch: what common texts add to others is taken off, and what is left has a p-value."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from scipy import optimize, special

from discreet.local.frequencies import Reals
from discreet.local.local_mechanism import Whole
from discreet.local.sketch import CellCounts, Sketched

_LYAPUNOV = 0.56  # Berry and Esseen's constant for sums of unlike numbers (Shevtsova 2010)
_STEEPEST = 700.0  # of the tilt, times the widest gain: its exponential is a double


def tail(gains: Reals, hashes: int, total: float) -> float:
    """A bound on the probability that `hashes` even draws from each row of gains sum to the total or more.

    By the exponential tilt that makes the total the mean: e^(K(θ) − θ · total) times what is above the mean of a sum
    that Berry and Esseen's inequality puts near a normal one. docs/proofs/rappor.md.
    """
    mean = gains.mean(axis=1, keepdims=True)
    centred, over = gains - mean, total - hashes * float(mean.sum())
    widest = float(np.abs(centred).max(initial=0))
    if not widest or over <= 0:
        return 1.0
    sums = _Tilted(centred / widest, hashes)
    over /= widest
    if sums.mean(0.0) >= over:  # above the mean by less than sums of floats are off
        return 1.0
    if sums.mean(_STEEPEST) <= over:  # at its end: any tilt gives a bound
        return math.exp(min(0.0, sums.log_mean(_STEEPEST) - _STEEPEST * over))
    tilt = float(optimize.brentq(lambda theta: sums.mean(theta) - over, 0, _STEEPEST, xtol=1e-12, rtol=1e-14))
    return math.exp(min(0.0, sums.log_mean(tilt) - tilt * over)) * min(1.0, sums.above(tilt))


class _Tilted:
    """The sum of draws, a number g being e^(θg) times as likely as it was. Gains are at most 1 in size."""

    def __init__(self, gains: Reals, hashes: int) -> None:
        self.gains, self.hashes = gains, hashes

    def log_mean(self, theta: float) -> float:
        """K(θ): the logarithm of the mean of e^(θ · sum), before the tilt."""
        rows = special.logsumexp(theta * self.gains, axis=1) - math.log(self.gains.shape[1])
        return self.hashes * float(rows.sum())

    def mean(self, theta: float) -> float:
        """K′(θ): the mean of the sum."""
        return self.hashes * float((special.softmax(theta * self.gains, axis=1) * self.gains).sum())

    def above(self, theta: float) -> float:
        """A bound on the mean of e^(−θ(sum − mean)), counted where it is at most 1."""
        odds = special.softmax(theta * self.gains, axis=1)
        off = np.abs(self.gains - (odds * self.gains).sum(axis=1, keepdims=True))
        spread = math.sqrt(self.hashes * float((odds * off**2).sum()))
        if not spread:
            return 1.0
        cubes = self.hashes * float((odds * off**3).sum()) / spread**3
        return float(special.erfcx(theta * spread / math.sqrt(2))) / 2 + 2 * _LYAPUNOV * cubes


ALPHA = 0.05
_TAKEN_OFF = 64  # of the largest shares
_NEVER = 1e-15  # a chance


@dataclass(frozen=True, eq=False)
class Pursuit:
    """The shares of some texts, whose cells in all rows the table has, and which of them were taken off the others.

    A text that many hold shows in all texts that have one of its cells. Which those are is known, so the largest share
    is taken off the others, then the largest of what is left, as long as it seems to be there (orthogonal matching
    pursuit; Pati, Rezaiifar & Krishnaprasad 1993).
    """

    rows: CellCounts
    table: Whole
    guess: Sketched
    taken: tuple[int, ...]
    large: Reals
    overlaps: dict[int, Reals]
    barred: int | None = None

    @classmethod
    def of(cls, rows: CellCounts, table: Whole) -> Pursuit:
        """Until nothing that is left seems to be there."""
        return cls(rows, table, rows.estimate((), table), (), np.empty(0), {}).ended

    @property
    def ended(self) -> Pursuit:
        """From here on to its end."""
        now = self
        while (then := now._next) is not None:
            now = then
        return now

    @property
    def _next(self) -> Pursuit | None:
        """With one more text taken off, if there is one to be."""
        rest = self.shares.copy()
        rest[[*self.taken, *([] if self.barred is None else [self.barred])]] = -np.inf
        best = int(np.argmax(rest))
        if len(self.taken) == _TAKEN_OFF or len(rest) * self._seeming(rest[[best]], np.sqrt([self._left]))[0] > ALPHA:
            return None
        return self._of((*self.taken, best), self.barred)

    def _of(self, taken: tuple[int, ...], barred: int | None) -> Pursuit:
        """Where these are taken off. What each adds to all others is worked out once."""
        for one in taken:
            if one not in self.overlaps:
                self.overlaps[one] = self.rows.overlaps(self.table, one)
        among = np.array([self.overlaps[one][list(taken)] for one in taken]).reshape(len(taken), len(taken))
        large = np.asarray(np.linalg.lstsq(among.T, self.guess.shares[list(taken)], rcond=None)[0], np.float64)
        return Pursuit(self.rows, self.table, self.guess, taken, large, self.overlaps, barred)

    @cached_property
    def shares(self) -> Reals:
        """Of each text, without what others add that were taken off."""
        shares = self.guess.shares.copy()
        for one, share in zip(self.taken, self.large, strict=True):
            shares -= share * self.overlaps[one]
        shares[list(self.taken)] += self.large
        return shares

    @property
    def _cells(self) -> int:
        return len(self.rows.reports) * int(self.rows.supports.shape[1] - 1)

    @property
    def _left(self) -> float:
        """Of the sum of squared shares: what those have that were not taken off."""
        return max(0.0, self._cells * float(self.guess.collisions) - float((self.large**2).sum()))

    @property
    def errors(self) -> Reals:
        """Standard errors: of coins, of the drawing of people, and of what smaller shares add."""
        inside = (self.guess.people * np.clip(self.shares, 0, 1) + 2) / (self.guess.people + 4)  # as for means
        variance = float(self.guess.odds.variance(Fraction(0))) - inside**2
        errors: Reals = np.sqrt(variance / self.guess.people + self._left / self._cells)
        return errors

    @property
    def jump(self) -> float:
        """What the largest single thing that is left to chance adds to a share: see `Sketched`.

        One report; and one row of a text that is all of those that were not taken off.
        """
        many, width = self.rows.supports.shape
        report = 1 / (self.guess.people * float(self.guess.odds.gap))
        return report + math.sqrt(self._left) / (int(many) * (1 - 1 / int(width)))

    @property
    def seeming(self) -> Reals:
        """About how likely so large a share is of a text that nobody holds: quick, and no more than a first look."""
        others = np.full(self.guess.supports.size, self._left)
        others[list(self.taken)] += self.large**2  # nobody holds it, so what was taken for its share is another's
        return self._seeming(self.shares, np.sqrt(others))

    def _seeming(self, shares: Reals, largest: Reals) -> Reals:
        """By chance a text shares some rows with others.

        How uneven these are is known, and as if one text of share `largest` were all of it, the number of rows is
        binomial. The coins have the error of a share of 0: at a large one they vary less, or not at all. Supports are
        whole, so half of one is taken off.
        """
        many, width = self.rows.supports.shape
        chance, total, met, rest = 1 / width, np.zeros(len(shares)), -1, 1.0
        half = 1 / (2 * self.guess.people * float(self.guess.odds.gap))
        coin = float(self.guess.odds.variance(Fraction(0)) / self.guess.people) ** 0.5
        while rest > _NEVER:
            met += 1
            before, rest = rest, float(special.bdtrc(met, many, chance))
            shown_by_it = largest * (met / many - chance) / (1 - chance)
            total += (before - rest) * special.ndtr((shown_by_it + half - shares) / coin)
        return total + rest

    @cached_property
    def chances(self) -> Reals:
        """P-values after Bonferroni's correction for all these texts; 1 of those that do not seem common.

        For a list made without the reports.
        """
        many = self.guess.supports.size
        chances = np.ones(many)
        for one in np.flatnonzero(many * self.seeming < 1).tolist():
            chances[one] = min(1.0, many * self.chance(one))
        return chances

    def chance(self, one: int) -> float:
        """A bound on how likely a text that *nobody* holds has so many supports: its cells fall anywhere.

        Of what a pursuit leaves that never saw the text. docs/proofs/hitters.md.
        """
        blind = self._of(self.taken[: self.taken.index(one)], one).ended if one in self.taken else self
        gains = blind.gains
        return tail(gains, 1, float(gains[np.arange(len(gains)), self.table[one]].sum()))

    @cached_property
    def gains(self) -> Reals:
        """The supports of all cells, without those of texts that were taken off."""
        gains = self.rows.supports.astype(np.float64)
        for one, share in zip(self.taken, self.large, strict=True):
            gains[np.arange(len(gains)), self.table[one]] -= share * float(self.rows.inside.gap) * self.rows.reports
        return gains
