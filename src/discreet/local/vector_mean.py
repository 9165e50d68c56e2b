"""Mechanism for means of many numbers at once: each person reports a few of theirs, and pays for those alone."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations, islice, product
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import Refusal
from discreet.exact import Number, count, shown
from discreet.local.local_mechanism import (
    Reporter,
    Reports,
    Tally,
    Whole,
    client,
    held,
    hoeffding,
    narrowest,
    price,
    written_down,
)
from discreet.local.mean import Curve, MeanEstimate, coins_variance
from discreet.local.piecewise import HybridMean
from discreet.mechanisms import Pair
from discreet.mechanisms.mechanism import USUAL, settle
from discreet.noise import SECURE, Entropy, belows
from discreet.privacy.divergence import Channel

_MOST = 1 << 16
_EACH = Fraction(5, 2)  # ε for each number that is reported: below it one more would make all of them worse
_CHUNK = 1 << 13


@client("vector-mean")
@dataclass(frozen=True)
class VectorMean(Reporter):
    """Draws `told` of a person's numbers evenly, and reports each as `HybridMean` does at ε/told.

    Guarantee: Pure(epsilon) for any two vectors of the person who reports, whoever reads the report.
    Proof: which are told does not depend on the numbers; given that, it is a composition of `told` reports, each
        Pure(epsilon/told) (docs/proofs/means.md).
    Source: Wang, Xiao, Yang, Zhao, Hui, Shin, Shin & Yu 2019, Algorithm 4.
    """

    epsilon: Fraction
    dimensions: int
    lower: Fraction = Fraction(-1)
    upper: Fraction = Fraction(1)
    digits: int = 16

    def __post_init__(self) -> None:
        settle(self, epsilon=price(self.epsilon), dimensions=count(self.dimensions, "dimensions"))
        if self.dimensions > _MOST:
            raise Refusal(f"expected at most 2^16 dimensions, got dimensions={shown(self.dimensions)}")
        each = self.each  # which checks the others
        settle(self, lower=each.lower, upper=each.upper, digits=each.digits)

    @property
    def told(self) -> int:
        """How many numbers a report tells: one for each 2.5 of ε, at least one, at most all."""
        return max(1, min(self.dimensions, math.floor(self.epsilon / _EACH)))

    @cached_property
    def each(self) -> HybridMean:
        """How one of them is told."""
        return HybridMean(self.epsilon / self.told, self.lower, self.upper, self.digits)

    @property
    def form(self) -> np.dtype[Any]:
        """`told` times a `coordinate` in 1 or 2 bytes and a `report` as of `HybridMean`, by rising coordinate."""
        one = np.dtype([("coordinate", narrowest(self.dimensions)), ("report", self.each.form)])
        return np.dtype((one, (self.told,)))

    def channel(self) -> Channel[tuple[int, ...], bytes]:
        """All probabilities of all reports, by how many steps above `lower` the numbers lie, for few of both."""
        outputs = math.comb(self.dimensions, self.told) * (self.each.piecewise.places + 2) ** self.told
        written_down(outputs * (self.each.steps + 1) ** self.dimensions)
        law, subsets = self.each.channel(), list(combinations(range(self.dimensions), self.told))
        places = range(self.each.steps + 1)
        rows: dict[tuple[int, ...], dict[bytes, Fraction]] = {}
        for vector in product(places, repeat=self.dimensions):
            rows[vector] = {
                self._written(told, said): math.prod(
                    (law[vector[i]][y] for i, y in zip(told, said, strict=True)), start=Fraction(1, len(subsets))
                )
                for told in subsets
                for said in product(*(law[vector[i]] for i in told))
            }
        return Channel(rows)

    def _written(self, told: tuple[int, ...], said: tuple[int, ...]) -> bytes:
        unit, _ = self.form.subdtype or (self.form, ())
        return np.array(list(zip(told, said, strict=True)), dtype=unit).tobytes()

    def __call__(self, value: object, /, *, rng: Entropy = SECURE) -> bytes:
        """One person's report."""
        given = self._row(value)
        told = np.sort(self._drawn(1, rng)[0]).tolist()
        return self._written(tuple(told), tuple(self.each(given[i], rng=rng) for i in told))

    def _row(self, person: object) -> list[object]:
        """A person's numbers: refused if there are not as many as there are dimensions."""
        known = list(islice(_numbers(person), self.dimensions + 1))
        if len(known) != self.dimensions:
            raise Refusal(f"expected {self.dimensions} numbers of each person", hint="nothing was sent or counted")
        return known

    def _people(self, values: ArrayLike | Iterable[object]) -> NDArray[np.generic]:
        known = np.atleast_1d(held(values))
        if isinstance(values, np.ndarray) and known.ndim == 2 and known.shape[1] == self.dimensions:
            return known
        rows = np.empty((len(known), self.dimensions), dtype=object)
        for i, person in enumerate(known):
            for j, cell in enumerate(self._row(person)):  # one by one: a list among the numbers stays one cell
                rows[i, j] = cell
        return rows

    def _truths(self, given: NDArray[np.generic]) -> Whole:
        return self.each.place(given.ravel()).reshape(given.shape)

    def _drawn(self, size: int, rng: Entropy) -> Whole:
        """So many sets of coordinates, evenly (Floyd; Bentley & Floyd 1987)."""
        out = np.empty((size, self.told), dtype=np.int64)
        for i, last in enumerate(range(self.dimensions - self.told, self.dimensions)):
            drawn = belows(last + 1, size, rng=rng)
            taken = np.any(out[:, :i] == drawn[:, None], axis=1)
            out[:, i] = np.where(taken, last, drawn)
        return out

    def randomize(self, truths: Whole, rng: Entropy) -> Reports:
        """A report for each, in arrays."""
        told = np.sort(self._drawn(len(truths), rng), axis=1)
        out = np.empty(len(truths), dtype=self.form)
        out["coordinate"] = told
        chosen = np.take_along_axis(truths, told, axis=1)
        out["report"] = self.each.randomize(chosen.ravel(), rng).reshape(told.shape)
        return out

    def strange(self, reports: Reports) -> NDArray[np.bool_]:
        """Which reports no run of this client can have sent."""
        coordinate = reports["coordinate"].astype(np.int64)
        wrong = (coordinate >= self.dimensions) | self.each.strange(reports["report"])
        return np.asarray(np.any(wrong, axis=1) | np.any(np.diff(coordinate, axis=1) <= 0, axis=1))

    @property
    def _together(self) -> int:
        return max(1, min(_CHUNK, (1 << 20) // self.dimensions))

    @property
    def _nothing(self) -> Whole:
        return np.zeros(self.dimensions * 6, dtype=np.int64)

    def sums(self, reports: Reports) -> Whole:
        """For each coordinate, how many told it, and what a tally of those keeps."""
        flat = reports.ravel()
        order = np.argsort(flat["coordinate"], kind="stable")
        sizes = np.bincount(flat["coordinate"], minlength=self.dimensions)
        said = np.split(flat["report"][order], np.cumsum(sizes)[:-1])
        rows = [np.concatenate([[some.size], self.each.sums(some)]) for some in said]
        return np.concatenate(rows)

    def estimate(self, tally: Tally) -> tuple[MeanEstimate, ...]:
        """The mean of each coordinate over all people: unbiased, with a standard error."""
        known = self.understood(tally, least=2)
        return tuple(self._estimate(known.people, row) for row in known.counts.reshape(self.dimensions, 6))

    def _estimate(self, people: int, row: Whole) -> MeanEstimate:
        """Whoever told it counts for dimensions/told people, less the middle; the others count for the middle."""
        tellers, weight, middle = int(row[0]), self._weight, self._middle
        total, squares = self.each.moments(tellers, row[1:])
        off, off_squares = total - tellers * middle, squares - 2 * middle * total + tellers * middle**2
        mean = weight * off / people
        likely = (*self.each.likely(people, middle + mean), *self._told(tellers, total))
        spread = coins_variance(
            self._curve, mean, weight**2 * off_squares / people, [place - middle for place in likely]
        )
        guess = MeanEstimate(mean, math.sqrt(spread / people), float(self._furthest / people))
        return guess.scaled(self.lower + middle * self.each.step, self.each.step)

    @property
    def _weight(self) -> Fraction:
        """For how many people one counts who told a coordinate."""
        return Fraction(self.dimensions, self.told)

    @property
    def _middle(self) -> Fraction:
        """From where coordinates are measured, in steps."""
        return Fraction(self.each.steps, 2)

    @cached_property
    def _curve(self) -> Curve:
        """That of `each`, measured from the middle, for people who tell the coordinate with probability 1/weight."""
        (constant, linear, bend), middle = self.each.curve, self._middle
        at_middle = constant + middle * (linear + middle * (bend - 1))
        return self._weight * at_middle, self._weight * (linear + 2 * middle * (bend - 1)), self._weight * bend

    @property
    def _furthest(self) -> Fraction:
        """How far a report's estimate of a coordinate can be from its person's own number, in steps."""
        return self._weight * max(abs(end - self._middle) for end in self.each.reach) + self._middle

    def _told(self, tellers: int, total: Fraction) -> tuple[Fraction, Fraction]:
        """Places where the mean may be by those who told it, as if two more had, at either bound.

        Where nobody told it the estimate is the middle, whatever it is: so it may be anywhere.
        """
        steps = Fraction(self.each.steps)
        inside = min(tellers * steps, max(Fraction(0), total))
        return inside / (tellers + 2), (inside + 2 * steps) / (tellers + 2)

    def pairs(self) -> tuple[Pair[Any], ...]:
        """All numbers at the lower bound, and all at the upper."""
        low, high = (self.lower,) * self.dimensions, (self.upper,) * self.dimensions
        return (Pair(low, high, "a person at the lower bounds, and at the upper"),)

    def error(self, confidence: Number = USUAL, people: int = 1) -> Fraction:
        """An α such that a given coordinate's mean, from so many people, is within α of that of their grid points."""
        furthest = max(abs(end - self._middle) for end in self.each.reach)
        scale = 2 * self._weight * furthest * self.each.step
        return hoeffding(count(people, "people"), confidence) * scale


def _numbers(person: object) -> Iterator[object]:
    """What a person has, one after another, up to where it breaks: a text, or what has no elements, is one cell."""
    try:
        walk = iter([person] if isinstance(person, (str, bytes)) else cast("Iterator[object]", person))
    except Exception:  # noqa: BLE001  # nothing that a person has makes a client raise
        walk = iter([person])
    while True:
        try:
            cell = next(walk)
        except Exception:  # noqa: BLE001  # the end, or an iterator that breaks
            return
        yield cell
