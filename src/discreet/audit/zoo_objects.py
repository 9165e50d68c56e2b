"""Right numbers in the wrong wrapping: what an object carries, and what a generator does, is told too."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from discreet.audit.specimen import Specimen
from discreet.mechanisms.mechanism import Pair
from discreet.noise import Entropy, laplaces
from discreet.privacy.loss import Pure

UPPER = 4


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
class Record:
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
    return [Record(count + noise, count) for noise in laplaces(1, size, rng=rng).tolist()]


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


_ONE = Pair(0, 1, "a count with one person and without")
_OUTPUT = "SOUNDNESS 16: failure is an output"
_ALL = "Ding, Wang, Wang, Zhang & Kifer 2018, “Detecting violations of differential privacy”, read strictly"

OBJECTS = (
    Specimen(
        "keeps-its-working",
        Pure(1),
        _ONE,
        "the object that holds the noisy count also tells whether anybody was counted",
        _ALL,
        replies,
    ),
    Specimen(
        "number-with-a-note",
        Pure(1),
        _ONE,
        "the noisy number carries the exact one as an attribute",
        _ALL,
        noted,
    ),
    Specimen(
        "field-not-compared",
        Pure(1),
        _ONE,
        "a field that is left out of comparisons and of print is still there",
        _ALL,
        recorded,
    ),
    Specimen(
        "as-many-as-rows",
        Pure(1),
        Pair((1, 1), (1, 1, 1), "one person added"),
        "a generator yields a noisy value for each row: how many there are is told exactly",
        "SOUNDNESS 35: what a stream is made of shows in it",
        yielded,
    ),
    Specimen(
        "strict-at-the-end",
        Pure(1),
        Pair((1, 1), (1, 1, UPPER + 1), "one person added, out of bounds"),
        "a generator that raises after its answer has answered twice",
        _OUTPUT,
        checked_late,
    ),
)
