"""For every client: a task of it, a value, and the exact law of what a device sends about that value.

Some reports begin with a public part that no value changes: a cohort, a row, a hash function. The law is that of the
whole report given this part, from the client's own channel in rationals.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from local.laws import singles
from numpy.typing import NDArray

from discreet.interval_arithmetic import exp
from discreet.local import (
    CountMeanSketch,
    DuchiMean,
    Hadamard,
    HadamardSketch,
    HeavyHitters,
    HybridMean,
    LocalHashing,
    OptimizedUnary,
    PiecewiseMean,
    Rappor,
    Reporter,
    Response,
    SubsetSelection,
    SymmetricUnary,
    VectorMean,
)
from discreet.local.hashing import PRIME
from discreet.noise import Entropy

Law = Mapping[Any, Fraction]
FALSE_ALARM = 1e-9  # of one client's test
_FOUR, _EIGHTH = Fraction(4), Fraction(1, 8)


class Read(NamedTuple):
    """What was said, its law, and which public part was drawn, of how many equally likely ones."""

    said: Hashable
    law: Law
    part: int = 0
    parts: int = 1


@dataclass(frozen=True)
class Wired:
    """A client, two values, and how to read what one device sent."""

    client: Any
    value: Any
    other: Any
    read: Callable[[Any, NDArray[Any], Any], Read]
    each: int = 1  # reports of a device that are read together

    def outcome(self, reports: NDArray[Any], value: object) -> Read:
        return self.read(self.client, reports, value)


def _plain(client: Any, reports: NDArray[Any], value: Any) -> Read:  # noqa: ANN401
    return Read(singles(reports)[0], client.channel()[value])


def _placed(client: Any, reports: NDArray[Any], value: Any) -> Read:  # noqa: ANN401
    return Read(singles(reports)[0], client.channel()[int(client.place([value])[0])])


def _vector(client: VectorMean, reports: NDArray[Any], value: Any) -> Read:  # noqa: ANN401
    return Read(singles(reports)[0], client.channel()[tuple(int(place) for place in client.each.place(value))])


def _hashed(client: LocalHashing, reports: NDArray[Any], value: int) -> Read:
    slope, shift, _ = said = reports.tolist()[0]
    return Read(said, client.channel(slope, shift)[value], (slope - 1) * PRIME + shift, (PRIME - 1) * PRIME)


def _filtered(client: Rappor, reports: NDArray[Any], value: str) -> Read:
    (cohort,) = set(client.cohort(reports).tolist())  # of one device: the same for ever
    bits = np.unpackbits(reports, axis=1, bitorder="little")[:, -8 * (-(-client.bits // 8)) :]
    said = tuple(sum(int(bit) << i for i, bit in enumerate(row)) for row in bits)
    return Read(said, client.channel([value], cohort, len(reports))[value], cohort, client.cohorts)


def _rowed(client: CountMeanSketch, reports: NDArray[Any], value: str) -> Read:
    (said,) = singles(reports)
    assert isinstance(said, bytes)
    return Read(said[1:], client.channel([value], said[0])[value], said[0], client.rows)


def _coordinate(client: Any, reports: NDArray[Any], value: str) -> Read:  # noqa: ANN401
    sketch = getattr(client, "sketch", client)
    row = int(reports[0]) // (2 * sketch.width)
    return Read(int(reports[0]), client.channel([value], row)[value], row, sketch.rows)


WIRED: dict[str, Wired] = {
    "response": Wired(Response(_FOUR, 5), 3, 0, _plain),
    "symmetric-unary": Wired(SymmetricUnary(_FOUR, 3), 1, 0, _plain),
    "optimized-unary": Wired(OptimizedUnary(_FOUR, 3), 1, 0, _plain),
    "local-hashing": Wired(LocalHashing(Fraction(2), 4), 3, 1, _hashed),
    "hadamard": Wired(Hadamard(_FOUR, 3), 2, 0, _plain),
    "subset-selection": Wired(SubsetSelection(_FOUR, 6), 4, 0, _plain),
    "duchi-mean": Wired(DuchiMean(_FOUR, digits=3), Fraction(1), Fraction(-1), _placed),
    "piecewise-mean": Wired(PiecewiseMean(_FOUR, digits=3), Fraction(1), Fraction(-1), _placed),
    "hybrid-mean": Wired(HybridMean(_FOUR, digits=2), Fraction(1), Fraction(-1), _placed),
    "vector-mean": Wired(VectorMean(Fraction(5), 2, digits=1), (1, -1), (-1, 1), _vector),
    "rappor": Wired(Rappor(2 * _FOUR, 3, 1, 2, _EIGHTH, 1 - _EIGHTH), "cat", "dog", _filtered, each=2),
    "count-mean-sketch": Wired(CountMeanSketch(_FOUR, 2, 4, key=1), "cat", "dog", _rowed),
    "hadamard-sketch": Wired(HadamardSketch(_FOUR, 2, 8, key=1), "cat", "owl", _coordinate),
    "heavy-hitters": Wired(HeavyHitters(_FOUR, 1, 4, 4, 2, 4, key=1), "a", "Q", _coordinate),
}


def worst(law: Law, other: Law) -> Fraction:
    """The largest ratio of two probabilities of one report, whichever way."""
    assert law.keys() == other.keys()
    return max(max(p / other[y], other[y] / p) for y, p in law.items())


def allowed(client: Reporter) -> Fraction:
    """e^ε, from below."""
    return Fraction(exp(client.epsilon, 200).down)


def drawn(found: Iterable[Read], rng: Entropy) -> NDArray[np.float64]:
    """The public parts as places: even on [0, 1] where each is equally likely, whatever the value is."""
    return np.array([float((one.part + Fraction(rng.bits(53), 1 << 53)) / one.parts) for one in found])


def transformed(found: Iterable[tuple[Hashable, Law, Law]], rng: Entropy) -> NDArray[np.float64]:
    """Each outcome as the share of its law's probability before it: even on [0, 1] where the first law holds, exactly.

    Outcomes stand in the order in which the first law prefers them to the second; within one, coins choose a place.
    """
    places = []
    for said, law, other in found:
        order = sorted(law, key=lambda y: other[y] / law[y])
        before = dict(zip(order, accumulate((law[y] for y in order), initial=Fraction(0)), strict=False))
        places.append(float(before[said] + law[said] * Fraction(rng.bits(53), 1 << 53)))
    return np.array(places)


def even(places: NDArray[np.float64], false_alarm: float = FALSE_ALARM) -> bool:
    """Dvoretzky-Kiefer-Wolfowitz (Massart 1990): what is even on [0, 1] fails with at most `false_alarm`."""
    ordered, steps = np.sort(places), np.arange(places.size + 1) / places.size
    gap = max(float(np.max(ordered - steps[:-1])), float(np.max(steps[1:] - ordered)))
    return gap <= math.sqrt(math.log(2 / false_alarm) / (2 * places.size))
