"""Truncated uniform-Laplace noise on a count, and a private test of a share among a public number of people."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from operator import index
from typing import ClassVar

from discreet.errors import Refusal
from discreet.exact import ONE, Number, count, exact, positive, probability, share, shown
from discreet.interval_arithmetic import Interval, exp, log, simpler_up
from discreet.mechanisms.mechanism import USUAL, Pair, Takes, settle
from discreet.mechanisms.registry import registered
from discreet.mechanisms.selection import first
from discreet.noise import SECURE, Entropy, below, flip_exp, laplace
from discreet.privacy import Approximate, Neighbours, Replace

_LARGEST = 1000  # of ε: noise of probability e^−1000 promises nothing
_FINEST = 256  # of the grid
_DIGITS = 60  # beside those of a cell: enough to tell one cell from the next where ε is at least 1e-20


@registered("tulap")
@dataclass(frozen=True)
class Tulap:
    """Adds to a count the difference of two geometric numbers and a uniform one in (−1/2, 1/2), cut off where δ allows.

    The uniform part is the middle of one of 2^bits equal cells, so a release is an odd multiple of 2^−(bits+1).

    Guarantee: |f(x) − f(x')| ≤ 1 for neighbours x, x' implies Approximate(epsilon, delta).
    Proof: docs/proofs/tulap.md, "Privacy".
    Source: Awan & Slavković 2018 (Tulap noise, and that one-sided tests based on it are uniformly most powerful where
        the number of people is public).
    """

    takes: ClassVar[Takes] = Takes.NUMBER

    epsilon: Fraction
    delta: Fraction = Fraction(0)
    bits: int = 32
    neighbours: Neighbours = Replace()

    def __post_init__(self) -> None:
        settle(
            self,
            epsilon=positive(self.epsilon, "epsilon"),
            delta=probability(self.delta, "delta"),
            bits=count(self.bits, "bits"),
            neighbours=self.neighbours,
        )
        if self.epsilon > _LARGEST or self.bits > _FINEST:
            got = f"epsilon={shown(self.epsilon, str)} bits={shown(self.bits)}"
            raise Refusal(f"expected epsilon <= {_LARGEST} and bits <= {_FINEST}, got {got}")

    @property
    def privacy(self) -> Approximate:
        """(ε, δ)."""
        return Approximate(self.epsilon, self.delta)

    @property
    def cells(self) -> int:
        """How many cells a unit of the count is divided into."""
        return 1 << self.bits

    @cached_property
    def cut(self) -> int | None:
        """How many cells on either side of zero the noise keeps to; None if it has no end."""
        if self.delta == 0:
            return None
        b = self._b

        def private(beyond: int) -> bool:  # F (1 − b)/b ≤ δ (1 − 2F), where F is the tail that is cut off
            tail = self._tail(self.cells // 2 + beyond)
            return (tail * (1 - b)).high <= (self.delta * b * (1 - 2 * tail)).low

        return self.cells // 2 + first(private)

    def error(self, confidence: Number = USUAL) -> Fraction:
        """The smallest α on the grid with Pr[|noise| ≤ α] ≥ confidence."""
        rare = 1 - share(confidence, "confidence")
        cells = 1 + first(lambda more: (2 * self._kept(self._tail(1 + more))).high <= rare)
        return Fraction(2 * cells - 1, 2 * self.cells)  # the middle of the outermost cell

    def pairs(self) -> tuple[Pair[int], ...]:
        """The law depends on the count only by a shift, so one pair is the worst."""
        return (Pair(0, 1, "counts that differ by one"),)

    def __call__(self, value: int, /, *, rng: Entropy = SECURE) -> Fraction:
        """The count with noise."""
        return index(value) + Fraction(2 * self._cell(rng) + 1, 2 * self.cells)

    def p_value(self, released: Number, n: int, theta0: Number) -> Fraction:
        """Pr[a release is at least this one], rounded up, if each of n people is counted with probability theta0.

        It tests θ ≤ theta0 against θ > theta0 for free, on what was released; `p_value(n − released, n, 1 − theta0)`
        tests θ ≥ theta0. n must be public, so it is refused where neighbours have different numbers of people. With
        continuous noise no test of this as private is more powerful (Awan & Slavković 2018); what the grid takes of
        that is in docs/proofs/tulap.md, and without a δ it is at most the probability of one cell.
        """
        if not isinstance(self.neighbours, Replace):
            raise Refusal(
                f"a test needs a public number of people, and for {self.neighbours} it is not public",
                hint="say neighbours=Replace(): then n may be told, and whoever takes part is not hidden",
            )
        people, chance = count(n, "n"), share(theta0, "theta0")
        seen = exact(released, "released")
        lowest = math.ceil(seen * self.cells - Fraction(1, 2))  # the cell of the noise, if nobody was counted
        mass, odds, total = (people * log(1 - chance)).exp(), chance / (1 - chance), Interval.of(0)
        for counted, above in enumerate(self._survival(lowest, people + 1)):
            total = total + mass * above
            mass = mass * (odds * (people - counted) / (counted + 1))
        return min(ONE, simpler_up(total.up))

    def _survival(self, cell: int, times: int) -> Iterator[Interval]:
        """Pr[the noise is in this cell or above], then for the cell a unit below, and so on.

        A unit further out, a tail is b times as heavy: it is computed once on either side of zero.
        """
        up, down = 1 / self._b, self._b
        inward = min(times, cell // self.cells + 1) if cell >= 0 else 0
        tail = self._tail(cell) if inward else Interval.of(0)
        for _ in range(inward):
            yield self._kept(tail)
            tail = tail * up
        if inward < times:
            tail = self._tail(inward * self.cells - cell)
        for _ in range(times - inward):
            yield 1 - self._kept(tail)
            tail = tail * down

    def _kept(self, tail: Interval) -> Interval:
        """What a tail without an end weighs after the ends are cut off."""
        if self.cut is None:
            return tail
        rest = tail - self._lost
        return Interval(max(rest.low, Decimal(0)), max(rest.high, Decimal(0)), rest.digits) / (1 - 2 * self._lost)

    @cached_property
    def _lost(self) -> Interval:
        """What is cut off on each side."""
        return Interval.of(0) if self.cut is None else self._tail(self.cut)

    def _cell(self, rng: Entropy) -> int:
        """The cell of the noise, counted from the one that begins at zero: rejection from a law without an end."""
        while True:
            cell = self._whole(rng) * self.cells + below(self.cells, rng=rng) - self.cells // 2
            if self.cut is None or -self.cut <= cell < self.cut:
                return cell

    def _whole(self, rng: Entropy) -> int:
        """The whole part: discrete Laplace, or the same law between the ends where these are near."""
        if self.cut is None:
            return laplace(1 / self.epsilon, rng=rng)
        most = (self.cut + self.cells // 2 - 1) // self.cells
        if most * self.epsilon > 1:
            return laplace(1 / self.epsilon, rng=rng)
        while True:
            n = below(2 * most + 1, rng=rng) - most
            if flip_exp(abs(n) * self.epsilon, rng=rng):
                return n

    def _tail(self, cells: int) -> Interval:
        """Pr[endless noise > T] for T = cells/2^bits ≥ 0: b^t (b + (t − T + 1/2)(1 − b))/(1 + b) with t = ⌊T + 1/2⌋."""
        nearest = (cells + self.cells // 2) // self.cells
        return exp(-nearest * self.epsilon, self._digits) * self._within(nearest - Fraction(cells, self.cells))

    @cached_property
    def _digits(self) -> int:
        """Of all probabilities: from cell to cell a tail falls by a part of itself that is about (1 − b)/2^bits."""
        return _DIGITS + self.bits * 302 // 1000  # log10(2) < 0.302

    @cached_property
    def _b(self) -> Interval:
        """e^−ε."""
        return exp(-self.epsilon, self._digits)

    def _within(self, part: Fraction) -> Interval:
        b = self._b
        return (b + (part + Fraction(1, 2)) * (1 - b)) / (1 + b)
