"""Coins that land with an exact probability: a rational p, or exp(−x) for a rational x."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Refusal
from discreet.exact import Number, count, exact, nonnegative
from discreet.interval_arithmetic import exp, log
from discreet.noise.secure_random import SECURE, Entropy, whole_below, words

DIGITS = 64  # binary ones of the probability of `coins`
_TOP = 8  # of them decide all but one coin in 256


def flip(p: Number, *, rng: Entropy = SECURE) -> bool:
    """True with probability p, 0 ≤ p ≤ 1."""
    chance = _chance(p)
    return whole_below(chance.denominator, rng) < chance.numerator


def flip_exp(x: Number, *, rng: Entropy = SECURE) -> bool:
    """True with probability exp(−x), x ≥ 0 (Canonne, Kamath & Steinke 2020, Algorithm 1)."""
    exponent = nonnegative(x, "x")
    return flip_exp_ratio(exponent.numerator, exponent.denominator, rng)


def flip_exp_ratio(top: int, bottom: int, rng: Entropy) -> bool:
    """True with probability exp(−top/bottom): `flip_exp` in whole numbers, for inner loops.

    Proof: for x ≤ 1 the loop passes its k-th test with probability x/k, so it passes at least k tests with probability
        x^k/k! and an even number of them with Σ (−x)^k/k! = exp(−x). A larger x is a product of such factors.
    """
    while top > bottom:
        if not flip_exp_ratio(1, 1, rng):
            return False
        top -= bottom
    k = 1
    while whole_below(bottom * k, rng) < top:
        k += 1
    return k % 2 == 1


def flips(p: Number, size: int, *, rng: Entropy = SECURE) -> NDArray[np.bool_]:
    """`size` independent coins, each true with probability p."""
    chance, size = _chance(p), count(size, "size", least=0)
    if chance in (0, 1):
        return np.full(size, bool(chance))
    drawn, (threshold, rest) = words(size, rng=rng), divmod(chance.numerator << 64, chance.denominator)
    heads = drawn < np.uint64(threshold)
    for i in np.flatnonzero(drawn == np.uint64(threshold)):  # the first 64 binary digits agree: the others decide
        heads[i] = whole_below(chance.denominator, rng) < rest
    return heads


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


def _chance(p: Number) -> Fraction:
    chance = exact(p, "p")
    if not 0 <= chance <= 1:
        raise Refusal(f"expected 0 <= p <= 1, got p={p}")
    return chance


# exp(−x) in floating point, with a proven error. Only + − × of IEEE doubles are used on values
# (docs/proofs/sampling.md).
_CELLS = 16  # table step 1/16
_FAR = 64  # beyond it exp(−x) < 2^−92, and 32 digits that are not all 0 already say no
ERROR = 2.0**-26  # relative error of `exp_near` on [0, 64), given an argument within 2^−40


@lru_cache(maxsize=1)
def _powers() -> NDArray[np.float64]:
    """exp(−j/16), each the double nearest to a 60-digit enclosure."""
    return np.array([float(exp(Fraction(-j, _CELLS)).up) for j in range(_FAR * _CELLS + 1)])


def exp_near(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """exp(−x) for 0 ≤ x < 64 within the relative error `ERROR`: a table entry times Taylor's polynomial of degree 4."""
    cell = (x * _CELLS).astype(np.int32)
    r = cell * (1 / _CELLS) - x  # exact, in (−1/16, 0]
    series = 1 + r * (1 + r * (1 / 2 + r * (1 / 6 + r * (1 / 24))))
    near: NDArray[np.float64] = _powers()[cell] * series
    return near


def flips_exp(x: NDArray[np.float64], at: Callable[[int], Fraction], *, rng: Entropy = SECURE) -> NDArray[np.bool_]:
    """Independent coins; the i-th is true with probability exp(−at(i)) exactly.

    `x[i]` must be within 2^−40 of at(i) where at(i) < 64, and at least 63 elsewhere. It decides all but about one coin
    in 2^25; the exact exponent decides the rest.
    """
    drawn = np.frombuffer(rng.raw(4 * x.size), dtype=np.uint32) * 2.0**-32  # U lies in [drawn, drawn + 2^−32)
    near = exp_near(np.minimum(x, _FAR - 1))
    gap = near - drawn
    heads = gap > 0
    for i in np.flatnonzero(np.abs(gap - 2.0**-33) <= 2.0**-33 + 2.0**-50 + near * ERROR):
        heads[i] = under_exp(int(drawn[i] * 2.0**32), 32, at(int(i)), rng)
    return heads


def under_exp(start: int, size: int, x: Fraction, rng: Entropy) -> bool:
    """Whether U < exp(−x), for a uniform U in [0, 1) whose first `size` binary digits are `start`.

    Logarithms are compared, so that an exponent of any size costs no more than a small one.
    """
    digits = 40
    while x:
        if log(Fraction(start + 1, 1 << size), digits).up <= -x:
            return True
        if start and log(Fraction(start, 1 << size), digits).down >= -x:
            return False
        start, size, digits = (start << 64) | rng.bits(64), size + 64, digits + 20
    return True
