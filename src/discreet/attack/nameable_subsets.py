"""Sets of people that anybody can name in a question: by arithmetic on a public number of each person.

They look random and need no list in the question: a hash of a public attribute in a WHERE is how deployed systems were
reconstructed (Cohen & Nissim 2020).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Ground, Refusal

_PRIME = 104_729  # the ten-thousandth prime: more than there are people in a demonstration


@dataclass(frozen=True)
class Subset:
    """People whose number s has a·s² + b·s + c even, modulo 104729: about half of them."""

    square: int
    slope: int
    shift: int

    def condition(self, column: str) -> str:
        """It as SQL, of the column with the public number."""
        return f"({column} * {column} * {self.square} + {column} * {self.slope} + {self.shift}) % {_PRIME} % 2 = 0"

    def members(self, people: int) -> NDArray[np.bool_]:
        """Who of the people 0, 1, … is in it."""
        if not 1 <= people <= _PRIME:  # squares fit into 64 bits
            raise Refusal(f"expected from 1 to {_PRIME} people, got {people}", ground=Ground.VALUE)
        seats = np.arange(people)
        return np.asarray((seats * seats * self.square + seats * self.slope + self.shift) % _PRIME % 2 == 0)


def subsets(count: int) -> tuple[Subset, ...]:
    """The first `count` of one public list of subsets, each with its numbers from a hash of its place."""
    return tuple(_subset(place) for place in range(count))


def matrix(chosen: Sequence[Subset], people: int) -> NDArray[np.float64]:
    """A row of zeros and ones for each subset, a column for each person."""
    return np.array([subset.members(people) for subset in chosen], dtype=np.float64).reshape(len(chosen), people)


def _subset(place: int) -> Subset:
    digest = blake2b(b"subset %d" % place, digest_size=24).digest()
    square, slope, shift = (int.from_bytes(digest[k : k + 8]) for k in (0, 8, 16))
    return Subset(1 + square % (_PRIME - 1), slope % _PRIME, shift % _PRIME)
