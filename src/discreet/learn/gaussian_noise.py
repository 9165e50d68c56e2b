"""Continuous noise as doubles can hold it: how it is drawn, how near it is to the ideal, and what that costs.

A normal number is drawn as a whole number of steps of 2⁻⁶⁰ under the exact discrete Gaussian law. docs/proofs/convex.md
shows, under "Noise that is continuous", that this is an ideal normal rounded to a step, but for a chance of `MISSED`.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.noise import SECURE, Entropy, gaussian

_STEP = Fraction(1, 1 << 60)
FARTHEST = 12  # standard deviations; a normal is beyond with a chance below 2^-103
MISSED = Fraction(1, 1 << 100)  # the chance that a draw is not the ideal one rounded, or lies beyond
_UNIT = 2.0**-53  # what a double is off by, relatively


def normals(size: int, *, rng: Entropy = SECURE) -> NDArray[np.float64]:
    """So many standard normals, each within 2⁻⁴⁸ of an ideal one, but for a chance of `MISSED` each."""
    drawn = [float(gaussian(1 / _STEP**2, rng=rng) * _STEP) for _ in range(size)]
    return np.array(drawn, dtype=np.float64)


def exponential_vector(size: int, *, rng: Entropy = SECURE) -> NDArray[np.float64]:
    """A vector b with density ∝ exp(−‖b‖), of 2 size + 1 normals.

    Proof: b = ‖W‖ Z for independent normal W of size+1 and Z of size numbers: given V = ‖W‖², b is normal with variance
        V, which has density ∝ v^{(size−1)/2} e^{−v/2}, and ∫ v^{−1/2} e^{−‖b‖²/(2v) − v/2} dv ∝ e^{−‖b‖}.
    """
    both = normals(2 * size + 1, rng=rng)
    vector: NDArray[np.float64] = np.linalg.norm(both[size:]) * both[:size]
    return vector


def farther(size: int, *, exponential: bool) -> float:
    """How far a vector that was drawn is from an ideal one, at most, where no draw was `MISSED`.

    Proof: docs/proofs/convex.md, "Noise that is continuous".
    """
    each = 2 * FARTHEST * _UNIT  # of rounding to 2^-60, and of that to a double
    if not exponential:
        return math.sqrt(size) * 2 * each  # the scale is rounded too, and so are its product and what that is added to
    return (size + 1) * FARTHEST * (2 * each + (size + 8) * FARTHEST * _UNIT)
