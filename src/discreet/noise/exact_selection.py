"""Exact selection: a winner among candidates, better scores more likely, without a float in the law."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Refusal
from discreet.exact import Number, nonnegative
from discreet.noise.bernoulli import flips_exp
from discreet.noise.secure_random import SECURE, Entropy, belows, permutation

Scores = Sequence[int] | NDArray[np.int64]


def exponential(scores: Scores, rate: Number, *, rng: Entropy = SECURE) -> int:
    """The index i with Pr[i] ∝ exp(rate · scores[i]) (McSherry & Talwar 2007).

    Proof: an index is proposed uniformly and kept with probability exp(−rate · (best − score)); what is kept first has
        the law asked for. As many proposals as there are candidates hold a kept one more often than not.
    """
    gaps, slope = _gaps(scores), nonnegative(rate, "rate")
    while True:
        proposed = belows(gaps.size, gaps.size, rng=rng)
        kept = np.flatnonzero(_survive(gaps[proposed], slope, rng))
        if kept.size:
            return int(proposed[kept[0]])


def permute_and_flip(scores: Scores, rate: Number, *, rng: Entropy = SECURE) -> int:
    """The first index, in random order, whose coin of probability exp(−rate · (best − score)) lands heads.

    (McKenna & Sheldon 2020, Algorithm 1.) A best candidate's coin always does.
    """
    gaps, slope = _gaps(scores), nonnegative(rate, "rate")
    order = permutation(gaps.size, rng=rng)
    return int(order[np.argmax(_survive(gaps[order], slope, rng))])


def _gaps(scores: Scores) -> NDArray[np.int64]:
    values = np.asarray(scores)
    if values.ndim != 1 or values.size == 0 or values.dtype.kind not in "iu":
        raise Refusal(f"expected a list of whole scores, got {values.dtype} of shape {values.shape}")
    if max(int(values.max()), -int(values.min())) >= 1 << 61:
        raise Refusal("expected scores below 2^61 in size", hint="put them on a coarser grid")
    whole = values.astype(np.int64)
    gaps: NDArray[np.int64] = whole.max() - whole
    return gaps


def _survive(gaps: NDArray[np.int64], rate: Fraction, rng: Entropy) -> NDArray[np.bool_]:
    slope = np.float64(min(rate, Fraction(1 << 64)))  # no float overflows, and a gap of 1 is far either way
    near: NDArray[np.float64] = gaps * slope
    return flips_exp(near, lambda i: int(gaps[i]) * rate, rng=rng)
