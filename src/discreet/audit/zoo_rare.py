"""Right nearly always: what leaves without noise leaves once in some hundred runs."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.audit.specimen import Specimen
from discreet.mechanisms.mechanism import Pair
from discreet.noise import Entropy, flips, laplaces
from discreet.privacy.loss import Pure

RARE = Fraction(1, 500)  # of the runs: 200 of 100,000, of which half can prove something
FINE = 1 << 14  # steps of the grid in one unit


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
    ),
    Specimen(
        "once-in-500-without-noise",
        Pure(1),
        _ONE,
        "a sampler that fails with no noise puts a peak on the truth",
        "SOUNDNESS 20: there is no noise-off switch, and no failure may be one",
        tired,
    ),
    Specimen(
        "once-in-500-too-late",
        Pure(1),
        _ONE,
        "a limit that one person's rows cross now and then: silence says that they are there",
        "SOUNDNESS 16: failure is an output",
        timed_out,
    ),
)
