"""Sums Σ weights[j] · events[t − j] for every t, exactly, by transforms of doubles; docs/proofs/counters.md."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft, next_fast_len, rfft

_LIMB = 10  # bits of the numbers that are multiplied by floating-point transforms
Whole = NDArray[np.int64]
Floats = NDArray[np.float64]


def products(weights: Whole, events: Whole, bits: int) -> tuple[Whole, Whole]:
    """The sums in units of 2^−bits, a multiple of ten: the last so many bits, and the number before them.

    Transforms multiply limbs of ten bits, whose sums they give to within less than a half.
    """
    size = next_fast_len(2 * events.size, real=True)
    ours = [rfft(limb.astype(float), size) for limb in _limbs(weights)]
    theirs = [rfft(limb.astype(float), size) for limb in _limbs(events)]
    places = len(ours) + len(theirs) - 1
    low, carried = np.zeros_like(events), np.zeros_like(events)
    high = np.zeros_like(events)
    for place in range(places):
        pairs = [ours[i] * theirs[place - i] for i in range(len(ours)) if 0 <= place - i < len(theirs)]
        digit = np.rint(irfft(sum(pairs), size)[: events.size]).astype(np.int64) + carried
        if place < bits // _LIMB:
            low += (digit & ((1 << _LIMB) - 1)) << (_LIMB * place)
            carried = digit >> _LIMB
        else:
            high += digit << (_LIMB * place - bits)
            carried = np.zeros_like(events)
    low += (carried & ((1 << max(0, bits - _LIMB * places)) - 1)) << (_LIMB * min(places, bits // _LIMB))
    return low, high + (carried >> max(0, bits - _LIMB * places))


def nearly(weights: Floats, values: Floats) -> Floats:
    """The same of doubles, as far as doubles go."""
    size = next_fast_len(2 * values.size, real=True)
    summed: Floats = irfft(rfft(values, size) * rfft(weights[: values.size], size), size)[: values.size]
    return summed


def _limbs(values: Whole) -> list[Whole]:
    """Values in digits of ten bits, the least first; the last has the sign."""
    limbs, left = [], values
    while np.any((left < -(1 << _LIMB)) | (left > (1 << _LIMB))):
        limbs.append(left & ((1 << _LIMB) - 1))
        left = left >> _LIMB
    return [*limbs, left]
