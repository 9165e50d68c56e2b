"""Decoder of RAPPOR: which of some candidate texts people hold, and how many of them, from counts of bits."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse, special

from discreet.errors import Refusal
from discreet.exact import Number, share, shown
from discreet.local.bloom import BitCounts, written
from discreet.local.frequencies import Odds, Reals, reach
from discreet.local.lasso import LassoPath, path
from discreet.local.local_mechanism import Tally, Whole
from discreet.local.matching_pursuit import tail
from discreet.local.mean import BitMean
from discreet.local.rappor import Rappor
from discreet.mechanisms.mechanism import USUAL

MOST_CHOSEN, MOST_FILLED = 500, 0.8  # texts, and of the number of bits: beyond them a fit follows the noise
ALPHA = 0.05
_ROUNDS = 2  # of weighing by what was fitted: a third changes nothing that a standard error would show
_SHOWN = 20  # rows of a table
LISTED = "p-values are for a list made without the reports"  # else what was seen in them chose what is tested
_HALVINGS = 60  # of an interval's end: more than a double has digits
_KNOWN = 1e-6  # how far from 1 the part of a coefficient may be that the data determine


@dataclass(frozen=True, eq=False)
class ShareVariance:
    """How the variance of an estimated share changes with the true share, and how far one person or coin moves it.

    Of the variance, `drawn` times s (1 − s) is that of drawing people, and `coins` times s what the coins of those who
    hold the text have beyond others'. The rest is the same at every share.
    """

    drawn: Reals | float = 0.0
    coins: Reals | float = 0.0
    jump: Reals | float = 0.0

    def ends(self, shares: Reals, errors: Reals, far: float) -> tuple[Reals, Reals]:
        """All shares of which the estimate is at most `far` errors away, given the error at *that* share.

        The given errors are those at the estimate, which tells too little of them near 0 and 1 (Wilson 1927). Further
        out by what people and coins are skewed at most (Cornish & Fisher 1938). docs/proofs/rappor.md.
        """
        known = np.isfinite(errors)
        rest = np.where(known, errors, 0) ** 2 - self._changing(shares)
        skewed = max(0.0, far**2 - 1) / 6 * self.jump
        low, high = (self._end(shares + way * skewed, rest, way * far) for way in (-1, 1))
        return np.where(known, low, -np.inf), np.where(known, high, np.inf)

    def _changing(self, shares: Reals) -> Reals:
        """The part of the variance that depends on the share: beyond 0 and 1 it is that at 0 and 1."""
        inside = np.clip(shares, 0, 1)
        changing: Reals = self.drawn * inside * (1 - inside) + self.coins * inside
        return changing

    def _end(self, start: Reals, rest: Reals, far: float) -> Reals:
        """By halving: errors are concave in the share, so the distance in errors passes `far` once, going outwards."""
        near = start
        end = start + far * np.sqrt(np.maximum(0, rest) + np.abs(self.drawn) + np.abs(self.coins))
        for _ in range(_HALVINGS):
            middle = (near + end) / 2
            beyond = np.abs(middle - start) > abs(far) * np.sqrt(np.maximum(0, rest + self._changing(middle)))
            near, end = np.where(beyond, near, middle), np.where(beyond, middle, end)
        return np.asarray(end)


@dataclass(frozen=True, eq=False)
class Decoded:
    """Texts that may be held, the largest share first, each with a standard error and a p-value.

    Standard errors cover the clients' coins, the drawing of these people from a larger crowd, and texts that are no
    candidates. They hold for a text that was bound to be chosen; one that was chosen barely looks larger than it is,
    and `interval` allows for that.

    `chances`: how likely any of `tested` texts that nobody holds would seem as common as this one, at most: p-values
    after Bonferroni's correction for all candidates, chosen or not, for a list made without the reports. With one bit
    it is that nobody holds any text at all, as one bit cannot tell which. docs/proofs/rappor.md.
    """

    people: int
    tested: int
    values: tuple[Hashable, ...]
    shares: Reals
    errors: Reals
    chances: Reals
    spread: ShareVariance = field(default=ShareVariance(), kw_only=True)

    @property
    def counts(self) -> Reals:
        """How many of the people who reported."""
        return self.shares * self.people

    def interval(self, confidence: Number = USUAL) -> tuple[Reals, Reals]:
        """Ends that cover the shares of all texts that were chosen, together, with about this probability.

        Of all candidates (Bonferroni), as it was chance which of them were chosen. With the error at each end, where
        `errors` has that at the estimate: near 0 and 1 they differ.
        """
        return self.spread.ends(self.shares, self.errors, reach(confidence, max(1, self.tested)))

    def found(self, alpha: Number = ALPHA) -> tuple[Hashable, ...]:
        """The texts that somebody holds: any that nobody does is among them with a probability of at most `alpha`.

        For a list made without the reports. With one bit: the text, if somebody holds anything.
        """
        level = float(share(alpha, "alpha"))
        return tuple(value for value, p in zip(self.values, self.chances, strict=True) if p <= level)

    def __str__(self) -> str:
        """A table of the largest: those that are found at 0.05 have a star."""
        known = zip(self.values[:_SHOWN], self.shares, *self.interval(), self.counts, self.chances, strict=False)
        lines = [
            (
                shown(value),
                f"{part:.2%}",
                f"{a:.2%} to {b:.2%}",
                f"{people:,.0f}",
                f"{p:.2g}",
                "*" if p <= ALPHA else "",
            )
            for value, part, a, b, people, p in known
        ]
        rows = [("text", "share", "95 % together", "people", "p-value", ""), *lines]
        wide = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        out = [f"{row[0]:<{wide[0]}}  " + "  ".join(f"{row[i]:>{wide[i]}}" for i in range(1, 6)) for row in rows]
        more = [f"and {len(self.values) - _SHOWN} more"] if len(self.values) > _SHOWN else []
        return "\n".join(line.rstrip() for line in [*out, *more, LISTED])


def decode(client: Rappor, tally: Tally, candidates: Iterable[Hashable]) -> Decoded:
    """Which candidates people hold: chosen by a non-negative lasso, then estimated by weighted least squares.

    Nothing but the tally is used, so it costs no privacy, however often it is done. docs/proofs/rappor.md.
    """
    given, counts = list(dict.fromkeys(candidates)), client.estimate(tally)
    _checked(client, given)
    given = list({written(value): value for value in reversed(given)}.values())[::-1]  # 7 and "7" are one text
    if client.bits == 1:
        return _whether(counts, given)
    design = FilterMatrix.of(client, counts, given)
    weights = 1 / design.variances(design.shares)
    ended = path(design.matrix, design.shares, weights, min(MOST_CHOSEN, int(MOST_FILLED * design.shares.size)))
    fit = FilterFit.of(design, ended.chosen, weights)
    for _ in range(_ROUNDS):
        own = design.variances(fit.fitted)
        fit = FilterFit.of(design, ended.chosen, 1 / (own + ended.strangers(own)))
    return fit.decoded(counts.people, given, ended)


def _checked(client: Rappor, given: list[Hashable]) -> None:
    wrong = [value for value in given if written(value) is None]
    if wrong or not given:
        raise Refusal(f"expected candidates that are texts, got {shown(wrong[0]) if wrong else 'none'}")
    if client.bits == 1 and len(given) > 1:
        raise Refusal(f"one bit cannot tell {len(given)} texts apart", hint="take more bits, or one candidate")


def _whether(counts: BitCounts, given: list[Hashable]) -> Decoded:
    """With one bit: the share of those who have anything, over all cohorts together. If nobody has, ones are coins."""
    people, ones, odds = counts.people, int(counts.ones.sum()), counts.odds
    low, gap = float(odds.other), float(odds.gap)
    told = min(float(odds.holder), max(low, ones / people))
    error = float(np.sqrt(told * (1 - told) / people) / gap)
    chance = special.bdtrc(ones - 1, people, low) if ones else 1.0
    ends = -odds.other / odds.gap, (1 - odds.other) / odds.gap
    mean = BitMean((Fraction(ones, people) - odds.other) / odds.gap, error, people=people, ones=ones, ends=ends)
    columns = np.array([float(mean.value)]), np.array([error]), np.array([chance])
    return _Anything(people, 1, tuple(given), *columns, mean)


@dataclass(frozen=True, eq=False)
class _Anything(Decoded):
    """Of one bit, which is a coin for each person: its probability is known as exactly as coins tell."""

    mean: BitMean

    def interval(self, confidence: Number = USUAL) -> tuple[Reals, Reals]:
        """Ends that cover the share of those who have anything with at least this probability, from 1/2 on."""
        low, high = self.mean.interval(confidence)
        return np.array([low]), np.array([high])


@dataclass(frozen=True, eq=False)
class FilterMatrix:
    """For every bit of every cohort that reported: the estimated share of filters that have it set, and who sets it.

    A row of the matrix is a bit, a column a candidate. The last column is the mean filter: texts that are no candidate.
    `places` has, for each candidate, the row that each hash function of each cohort gives it.
    """

    matrix: sparse.csc_array
    places: Whole
    shares: Reals
    reports: Whole
    odds: Odds
    bits: int

    @classmethod
    def of(cls, client: Rappor, counts: BitCounts, given: list[Hashable]) -> FilterMatrix:
        """The candidates' filters, in the cohorts that are not empty."""
        seen = np.flatnonzero(counts.reports)
        known = client.bloom.places(client.bloom.functions.digests([written(value) or b"" for value in given]))
        bits = known.reshape(len(given), client.cohorts, client.hashes)[:, seen] % client.bits
        places = (bits + client.bits * np.arange(seen.size)[:, None]).reshape(len(given), -1)
        columns = np.repeat(np.arange(len(given)), places.shape[1])
        size = seen.size * client.bits
        matrix = sparse.csc_array((np.ones(places.size), (places.ravel(), columns)), shape=(size, len(given)))
        matrix.sum_duplicates()
        matrix.data[:] = 1  # where two functions set one bit
        mean = sparse.csc_array(np.full((size, 1), 1 - (1 - 1 / client.bits) ** client.hashes))
        whole = sparse.csc_array(sparse.hstack([matrix, mean], format="csc"))
        shares = (counts.counts[seen] / counts.reports[seen, None]).ravel()
        return cls(whole, places, shares, np.repeat(counts.reports[seen], client.bits), counts.odds, client.bits)

    def variances(self, shares: Reals) -> Reals:
        """Of the estimated shares, if these are the true ones."""
        gap, low = float(self.odds.gap), float(self.odds.other)
        told = low + gap * np.clip(shares, 0, 1)
        variances: Reals = told * (1 - told) / (self.reports * gap**2)
        return variances

    def coins(self, shares: Reals) -> Reals:
        """The part of these variances that is the clients' coins', whoever was drawn."""
        none, all_ = float(self.odds.variance(Fraction(0))), float(self.odds.variance(Fraction(1)))
        coins: Reals = (none + (all_ - none) * np.clip(shares, 0, 1)) / self.reports
        return coins


@dataclass(frozen=True, eq=False)
class FilterFit:
    """Weighted least squares on some columns of a design, and the last one."""

    design: FilterMatrix
    chosen: NDArray[np.intp]
    weights: Reals
    shares: Reals
    inverse: Reals

    @classmethod
    def of(cls, design: FilterMatrix, chosen: NDArray[np.intp], weights: Reals) -> FilterFit:
        """x = (XᵀWX)⁻¹ XᵀWy; where columns depend on each other, the shortest x."""
        x = cls._columns(design, chosen)
        inverse = linalg.pinvh((x.T @ x.multiply(weights[:, None])).toarray())
        return cls(design, chosen, weights, inverse @ (x.T @ (weights * design.shares)), inverse)

    @staticmethod
    def _columns(design: FilterMatrix, chosen: NDArray[np.intp]) -> sparse.csc_array:
        return design.matrix[:, [*chosen.tolist(), design.matrix.shape[1] - 1]]

    @cached_property
    def matrix(self) -> sparse.csc_array:
        """The columns."""
        return self._columns(self.design, self.chosen)

    @property
    def fitted(self) -> Reals:
        """What the shares of the bits would be."""
        fitted: Reals = self.matrix @ self.shares
        return fitted

    @cached_property
    def errors(self) -> Reals:
        """Standard errors; infinite where the data do not determine a share.

        A person sets several bits of one cohort, so those depend on each other: the variance is that of the estimate
        under this dependence, (XᵀWX)⁻¹ XᵀWΣWX (XᵀWX)⁻¹, with Σ as the fit has it. That may be no law's if reports are
        few, so the variance is never below that of the coins, which are independent.
        """
        gram = (self.matrix.T @ self.matrix.multiply(self.weights[:, None])).toarray()
        coins = (
            self.matrix.T @ self.matrix.multiply((self.weights**2 * self.design.coins(self.fitted))[:, None])
        ).toarray()
        spread, least = (np.diag(self.inverse @ middle @ self.inverse) for middle in (gram + self._together(), coins))
        known = np.abs(np.diag(self.inverse @ gram) - 1) <= _KNOWN
        return np.where(known, np.sqrt(np.maximum(spread, least)), np.inf)

    def spread(self, order: NDArray[np.intp]) -> ShareVariance:
        """How these variances change with the shares of some texts: each estimate is a sum over reports and bits."""
        design, x = self.design, self.matrix.toarray()
        parts = (self.weights[:, None] * (x @ self.inverse))[:, order]  # of each bit in each estimate
        mean, x = x[:, -1:], x[:, order]
        reports, gap = design.reports[:, None], float(design.odds.gap)
        person = np.add.reduceat(parts * x / reports, np.arange(0, len(x), design.bits))  # who holds a text adds to it
        none, all_ = (float(design.odds.variance(Fraction(held))) for held in (0, 1))
        coins = (all_ - none) * (parts**2 * (x - mean) / reports).sum(axis=0)
        jump = np.maximum(np.abs(person).max(axis=0), (np.abs(parts) / reports).max(axis=0) / gap)
        return ShareVariance((design.reports[:: design.bits, None] * person**2).sum(axis=0), coins, jump)

    def _together(self) -> Reals:
        """XᵀWΣWX for what Σ has beside its diagonal."""
        bits, held = self.design.bits, np.maximum(self.shares, 0)
        fitted, rows = np.clip(self.fitted, 0, 1), self.matrix.tocsr()
        total = np.zeros((held.size, held.size))
        for start in range(0, fitted.size, bits):
            part = slice(start, start + bits)
            x = rows[part].toarray()
            both = (x * held) @ x.T - np.outer(fitted[part], fitted[part])
            np.fill_diagonal(both, 0)
            weighed = x * self.weights[part, None]
            total += weighed.T @ both @ weighed / self.design.reports[start]
        return total

    def chances(self, tested: int, ended: LassoPath) -> Reals:
        """P-values after Bonferroni's correction, of those texts that look common at all: the others have 1.

        Each is of what is left without the text, so that neither the choice nor the fit has looked at it.
        """
        chances = np.ones(self.chosen.size)
        hashes = self.design.places.shape[1] * self.design.bits // self.design.shares.size
        for i in np.flatnonzero(tested * special.ndtr(-self.shares[:-1] / self.errors[:-1]) < 1):
            column = int(self.chosen[i])
            left = ended.without(column)
            gain = float(left[self.design.places[column]].sum())
            chances[i] = min(1.0, tested * tail(left.reshape(-1, self.design.bits), hashes, gain))
        return chances

    def decoded(self, people: int, given: list[Hashable], ended: LassoPath) -> Decoded:
        """By falling share."""
        order = np.argsort(-self.shares[:-1], kind="stable")
        values = tuple(given[self.chosen[i]] for i in order)
        errors, chances = self.errors[:-1], self.chances(len(given), ended)
        known = values, self.shares[:-1][order], errors[order], chances[order]
        return Decoded(people, len(given), *known, spread=self.spread(order))
