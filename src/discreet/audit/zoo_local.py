"""Clients of the local model that tell more than they say: bits flipped one way only, or too rarely, or told twice.

Each is optimized unary encoding of four values with one thing wrong in it.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.audit.specimen import Specimen
from discreet.local import OptimizedUnary, bits
from discreet.local.coin import coins
from discreet.mechanisms.mechanism import Pair
from discreet.noise import Entropy
from discreet.privacy.loss import Pure

Sets = NDArray[np.uint8]
SOUND = OptimizedUnary(Fraction(1), 4)


def never_cleared(value: int, size: int, rng: Entropy) -> Sets:
    """The true bit always set, others now and then."""
    said = coins(SOUND.odds.other, size * SOUND.choices, rng).reshape(size, SOUND.choices)
    said[:, value] = True
    return bits.packed(said)


def never_set(value: int, size: int, rng: Entropy) -> Sets:
    """The true bit by a fair coin, and no other."""
    said = np.zeros((size, SOUND.choices), dtype=np.bool_)
    said[:, value] = coins(SOUND.odds.holder, size, rng)
    return bits.packed(said)


def half_the_lies(value: int, size: int, rng: Entropy) -> Sets:
    """The true bit by a fair coin, others half as often as the price asks."""
    said = coins(SOUND.odds.other / 2, size * SOUND.choices, rng).reshape(size, SOUND.choices)
    said[:, value] = coins(SOUND.odds.holder, size, rng)
    return bits.packed(said)


def told_twice(value: int, size: int, rng: Entropy) -> Sets:
    """Two reports, each with coins of its own."""
    return np.hstack([SOUND.sample(value, size, rng=rng) for _ in range(2)])


_PAIR = Pair(0, 1, "a person with one value, and with another")
_UNARY = "Wang, Blocki, Li & Jha 2017, “Locally differentially private protocols for frequency estimation”, Section 4.2"

LOCAL = (
    Specimen(
        "never-cleared",
        Pure(1),
        _PAIR,
        "a bit that is set is never cleared: a 0 rules its value out",
        "the RAPPOR client of pure-ldp 1.2.0; Erlingsson, Pihur & Korolova 2014, Section 3, flip both ways",
        never_cleared,
    ),
    Specimen(
        "never-set",
        Pure(1),
        _PAIR,
        "a bit that is clear is never set: a 1 is the truth",
        _UNARY,
        never_set,
    ),
    Specimen(
        "half-the-lies",
        Pure(1),
        _PAIR,
        "a bit of another value is set with probability 1/(2e^ε + 2): a 1 tells more than ε",
        _UNARY,
        half_the_lies,
    ),
    Specimen(
        "told-twice",
        Pure(1),
        _PAIR,
        "a person asked twice answers with fresh coins, for the price of one answer",
        "Erlingsson, Pihur & Korolova 2014, Section 3: an answer is drawn once and kept",
        told_twice,
    ),
)
