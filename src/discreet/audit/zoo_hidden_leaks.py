"""Right numbers, and something beside them: what an object carries, or what leaves without noise once in many runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.audit.claim import Specimen
from discreet.mechanisms.mechanism import Pair
from discreet.noise import Entropy, flips, laplaces
from discreet.privacy.loss import Pure

RARE = Fraction(1, 500)  # of the runs: 200 of 100,000, of which half can prove something
FINE = 1 << 14  # steps of the grid in one unit

UPPER = 4
_OUTPUT = "SOUNDNESS 16: failure is an output"
_ALL = "Ding, Wang, Wang, Zhang & Kifer 2018, “Detecting violations of differential privacy”, read strictly"


def debugged(count: int, size: int, rng: Entropy) -> list[object]:
    """A noisy count, and now and then a line that was meant for the log."""
    noisy, told = (count + laplaces(1, size, rng=rng)).tolist(), flips(RARE, size, rng=rng).tolist()
    return [f"count = {count}" if slipped else number for number, slipped in zip(noisy, told, strict=True)]


def tired(count: int, size: int, rng: Entropy) -> NDArray[np.float64]:
    """A noisy count on a fine grid, by a sampler that now and then gives up and returns no noise."""
    noise = np.where(flips(RARE, size, rng=rng), 0, laplaces(FINE, size, rng=rng))
    return count + noise / FINE


def timed_out(count: int, size: int, rng: Entropy) -> list[object]:
    """A noisy count, or nothing where the rows took too long, which only those of one person now and then do."""
    slow = flips(RARE, size, rng=rng) if count else np.zeros(size, dtype=np.bool_)
    noisy = (count + laplaces(1, size, rng=rng)).tolist()
    return [None if late else number for number, late in zip(noisy, slow.tolist(), strict=True)]


_ONE = Pair(0, 1, "a count with one person and without")

RARELY = (
    Specimen(
        "once-in-500-debugged",
        Pure(1),
        _ONE,
        "one answer in 500 is the count itself: a chance of telling it all that ε does not allow",
        "Dwork & Roth 2014, Section 2.3, on what a δ permits",
        debugged,
        runs=100_000,
    ),
    Specimen(
        "once-in-500-without-noise",
        Pure(1),
        _ONE,
        "a sampler that fails with no noise puts a peak on the truth",
        "SOUNDNESS 20: there is no noise-off switch, and no failure may be one",
        tired,
        runs=100_000,
    ),
    Specimen(
        "once-in-500-too-late",
        Pure(1),
        _ONE,
        "a limit that one person's rows cross now and then: silence says that they are there",
        "SOUNDNESS 16: failure is an output",
        timed_out,
        runs=100_000,
    ),
)


class Reply:
    """An answer that keeps its working."""

    def __init__(self, noisy: int, rows: int) -> None:
        self.noisy, self._rows = noisy, rows

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reply) and other.noisy == self.noisy

    def __hash__(self) -> int:
        return hash(self.noisy)

    @property
    def is_empty(self) -> bool:
        """Whether there was anybody to count."""
        return self._rows == 0


class Noted(int):
    """A number with a note."""

    exact: int


@dataclass(frozen=True)
class LeakyCount:
    """A noisy count, and for the log what it was made of; equal and printed by the first alone."""

    noisy: int
    made_of: int = field(compare=False, repr=False)


def replies(count: int, size: int, rng: Entropy) -> list[object]:
    """Noisy counts that know whether there was anybody."""
    return [Reply(noise + count, count) for noise in laplaces(1, size, rng=rng).tolist()]


def noted(count: int, size: int, rng: Entropy) -> list[object]:
    """Noisy counts that are numbers, each with the exact one as an attribute."""
    numbers: list[object] = []
    for noise in laplaces(1, size, rng=rng).tolist():
        number = Noted(count + noise)
        number.exact = count
        numbers.append(number)
    return numbers


def recorded(count: int, size: int, rng: Entropy) -> list[object]:
    """Noisy counts with a field that takes no part in comparisons."""
    return [LeakyCount(count + noise, count) for noise in laplaces(1, size, rng=rng).tolist()]


def _one_by_one(values: Sequence[int], noise: Sequence[int]) -> Iterator[int]:
    for value, each in zip(values, noise, strict=True):
        yield value + each


def yielded(values: Sequence[int], size: int, rng: Entropy) -> list[object]:
    """A stream of noisy values, one for each row."""
    noise = laplaces(UPPER, size * len(values), rng=rng).reshape(size, -1).tolist()
    return [_one_by_one(values, row) for row in noise]


def _checked(values: Sequence[int], noise: int) -> Iterator[int]:
    yield sum(min(value, UPPER) for value in values) + noise
    if max(values) > UPPER:
        raise ValueError("a value is out of bounds")


def checked_late(values: Sequence[int], size: int, rng: Entropy) -> list[object]:
    """A noisy sum as a stream that fails at its end where a value is out of its bounds."""
    return [_checked(values, noise) for noise in laplaces(UPPER, size, rng=rng).tolist()]


OBJECTS = (
    Specimen(
        "keeps-its-working",
        Pure(1),
        _ONE,
        "the object that holds the noisy count also tells whether anybody was counted",
        _ALL,
        replies,
        runs=4_000,
    ),
    Specimen(
        "number-with-a-note",
        Pure(1),
        _ONE,
        "the noisy number carries the exact one as an attribute",
        _ALL,
        noted,
        runs=4_000,
    ),
    Specimen(
        "field-not-compared",
        Pure(1),
        _ONE,
        "a field that is left out of comparisons and of print is still there",
        _ALL,
        recorded,
        runs=4_000,
    ),
    Specimen(
        "as-many-as-rows",
        Pure(1),
        Pair((1, 1), (1, 1, 1), "one person added"),
        "a generator yields a noisy value for each row: how many there are is told exactly",
        "SOUNDNESS 35: what a stream is made of shows in it",
        yielded,
        runs=4_000,
    ),
    Specimen(
        "strict-at-the-end",
        Pure(1),
        Pair((1, 1), (1, 1, UPPER + 1), "one person added, out of bounds"),
        "a generator that raises after its answer has answered twice",
        _OUTPUT,
        checked_late,
        runs=4_000,
    ),
)
