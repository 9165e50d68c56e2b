"""From bits back to texts: which of some candidates people hold, and how many of them, by RAPPOR's reports."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse, special

from discreet.errors import Refusal
from discreet.exact import Number, share, shown
from discreet.local.bloom import written
from discreet.local.decode_lasso import path
from discreet.local.estimate import Odds, Reals
from discreet.local.rappor import Rappor
from discreet.local.rappor_counts import BitCounts
from discreet.local.tally import Tally, Whole

MOST_CHOSEN, MOST_FILLED = 500, 0.8  # texts, and of the number of bits: beyond them a fit follows the noise
ALPHA = 0.05
_ROUNDS = 2  # of weighing by what was fitted: a third changes nothing that a standard error would show
_KNOWN = 1e-6  # how far from 1 the part of a coefficient may be that the data determine


@dataclass(frozen=True, eq=False)
class Decoded:
    """Texts that may be held, the largest share first, each with a standard error.

    Standard errors cover the clients' coins, and the drawing of these people from a larger crowd. `tested` is how many
    candidates there were.
    """

    people: int
    tested: int
    values: tuple[Hashable, ...]
    shares: Reals
    errors: Reals

    @property
    def counts(self) -> Reals:
        """How many of the people who reported."""
        return self.shares * self.people

    @cached_property
    def chances(self) -> Reals:
        """How likely any of `tested` texts that nobody holds would seem as common as this one: p-values, Bonferroni."""
        chances: Reals = np.minimum(1, self.tested * special.ndtr(-self.shares / self.errors))
        return chances

    def found(self, alpha: Number = ALPHA) -> tuple[Hashable, ...]:
        """The texts that somebody holds: one that nobody does is among them with a probability of about `alpha`."""
        level = float(share(alpha, "alpha"))
        return tuple(value for value, p in zip(self.values, self.chances, strict=True) if p <= level)


def decode(client: Rappor, tally: Tally, candidates: Iterable[Hashable]) -> Decoded:
    """Which candidates people hold: chosen by a non-negative lasso, then estimated by weighted least squares.

    Nothing but the tally is used, so it costs no privacy, however often it is done. docs/proofs/rappor.md.
    """
    given, counts = list(dict.fromkeys(candidates)), client.estimate(tally)
    _checked(client, given)
    if client.bits == 1:
        return _whether(counts, given)
    design = Design.of(client, counts, given)
    weights = 1 / design.variances(design.shares)
    chosen = path(design.matrix, design.shares, weights, min(MOST_CHOSEN, int(MOST_FILLED * design.shares.size)))
    fit = Fit.of(design, chosen, weights)
    for _ in range(_ROUNDS):
        fit = Fit.of(design, chosen, 1 / design.variances(fit.fitted))
    return fit.decoded(counts.people, given)


def _checked(client: Rappor, given: list[Hashable]) -> None:
    wrong = [value for value in given if written(value) is None]
    if wrong or not given:
        raise Refusal(f"expected candidates that are texts, got {shown(wrong[0]) if wrong else 'none'}")
    if client.bits == 1 and len(given) > 1:
        raise Refusal(f"one bit cannot tell {len(given)} texts apart", hint="take more bits, or one candidate")


def _whether(counts: BitCounts, given: list[Hashable]) -> Decoded:
    """With one bit: the share of those who have anything at all, over all cohorts together."""
    whole = BitCounts(counts.reports.sum(keepdims=True), counts.ones.sum(axis=0, keepdims=True), counts.odds)
    shares, errors = whole.counts[0] / whole.people, whole.errors[0] / whole.people
    return Decoded(whole.people, 1, tuple(given), shares, errors)


@dataclass(frozen=True, eq=False)
class Design:
    """For every bit of every cohort that reported: the estimated share of filters that have it set, and who sets it.

    A row of the matrix is a bit, a column a candidate. The last column is the mean filter: texts that are no candidate.
    """

    matrix: sparse.csc_array
    shares: Reals
    reports: Whole
    odds: Odds
    bits: int

    @classmethod
    def of(cls, client: Rappor, counts: BitCounts, given: list[Hashable]) -> Design:
        """The candidates' filters, in the cohorts that are not empty."""
        size, seen = client.cohorts * client.bits, np.flatnonzero(counts.reports)
        places = client.bloom.places(client.bloom.functions.digests([written(value) or b"" for value in given]))
        columns = np.repeat(np.arange(len(given)), places.shape[1])
        matrix = sparse.csc_array((np.ones(places.size), (places.ravel(), columns)), shape=(size, len(given)))
        matrix.sum_duplicates()
        matrix.data[:] = 1  # where two functions set one bit
        mean = sparse.csc_array(np.full((size, 1), 1 - (1 - 1 / client.bits) ** client.hashes))
        rows = (seen[:, None] * client.bits + np.arange(client.bits)).ravel()
        whole = sparse.csc_array(sparse.hstack([matrix, mean], format="csr")[rows])
        shares = (counts.counts[seen] / counts.reports[seen, None]).ravel()
        return cls(whole, shares, np.repeat(counts.reports[seen], client.bits), counts.odds, client.bits)

    def variances(self, shares: Reals) -> Reals:
        """Of the estimated shares, if these are the true ones."""
        gap, low = float(self.odds.gap), float(self.odds.other)
        told = low + gap * np.clip(shares, 0, 1)
        variances: Reals = told * (1 - told) / (self.reports * gap**2)
        return variances


@dataclass(frozen=True, eq=False)
class Fit:
    """Weighted least squares on some columns of a design, and the last one."""

    design: Design
    chosen: NDArray[np.intp]
    weights: Reals
    shares: Reals
    inverse: Reals

    @classmethod
    def of(cls, design: Design, chosen: NDArray[np.intp], weights: Reals) -> Fit:
        """x = (XᵀWX)⁻¹ XᵀWy; where columns depend on each other, the shortest x."""
        x = cls._columns(design, chosen)
        inverse = linalg.pinvh((x.T @ x.multiply(weights[:, None])).toarray())
        return cls(design, chosen, weights, inverse @ (x.T @ (weights * design.shares)), inverse)

    @staticmethod
    def _columns(design: Design, chosen: NDArray[np.intp]) -> sparse.csc_array:
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

    @property
    def errors(self) -> Reals:
        """Standard errors; infinite where the data do not determine a share.

        A person sets several bits of one cohort, so those depend on each other: the variance is that of the estimate
        under this dependence, (XᵀWX)⁻¹ XᵀWΣWX (XᵀWX)⁻¹, with Σ as the fit has it.
        """
        gram = (self.matrix.T @ self.matrix.multiply(self.weights[:, None])).toarray()
        spread = self.inverse @ (gram + self._together()) @ self.inverse
        known = np.abs(np.diag(self.inverse @ gram) - 1) <= _KNOWN
        return np.where(known, np.sqrt(np.maximum(np.diag(spread), 0)), np.inf)

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

    def decoded(self, people: int, given: list[Hashable]) -> Decoded:
        """By falling share."""
        errors, order = self.errors, np.argsort(-self.shares[:-1], kind="stable")
        values = tuple(given[self.chosen[i]] for i in order)
        return Decoded(people, len(given), values, self.shares[:-1][order], errors[:-1][order])
