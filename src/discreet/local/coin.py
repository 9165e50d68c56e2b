"""Coins whose probability is a multiple of 2^−64: what a client flips, and what its estimator knows it flipped."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.interval import Interval
from discreet.noise import Entropy
from discreet.noise.uniform import words

DIGITS = 64  # binary ones of a coin's probability
_TOP = 8  # of them decide all but one coin in 256


def rounded_up(chance: Interval) -> Fraction:
    """The smallest multiple of 2^−64 that is surely not below the number."""
    return Fraction(math.ceil(chance.up * (1 << DIGITS)), 1 << DIGITS)


def rounded_down(chance: Interval) -> Fraction:
    """The largest multiple of 2^−64 that is surely not above the number."""
    return Fraction(math.floor(chance.down * (1 << DIGITS)), 1 << DIGITS)


def coins(chance: Fraction, size: int, rng: Entropy) -> NDArray[np.bool_]:
    """Independent coins, each true with a probability that is a multiple of 2^−64 below 1: `flips`, a byte a coin.

    Proof: a coin is true if a uniform number of 64 binary digits lies below the threshold. The first 8 digits decide
        unless they equal the threshold's; then 56 more are drawn and decide.
    """
    threshold = int(chance * (1 << DIGITS))
    top, rest = divmod(threshold, 1 << (DIGITS - _TOP))
    drawn = np.frombuffer(rng.raw(size), dtype=np.uint8)
    heads = drawn < np.uint8(top)
    undecided = np.flatnonzero(drawn == np.uint8(top))
    heads[undecided] = words(undecided.size, rng=rng) >> np.uint64(_TOP) < np.uint64(rest)
    return heads
