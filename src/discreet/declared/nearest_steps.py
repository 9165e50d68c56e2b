"""Nearest steps of many doubles at once, where doubles tell which step is nearest; where they do not, nothing is told.

A number v has the image ⌊v/s + 1/2⌋ on a grid of step s, held between the bounds. With q the computed quotient, held
between the bounds, and n the whole number nearest to it, n is that image wherever |q − n| < 1/2 − (r + 2) 2⁻⁵⁰, r the
reach of the grid.

Proof: 1/s is rounded to a double once and v times it once, so before it is held q is within (1 + |v/s|) 2⁻⁵¹ of v/s.
    Where v/s lies between the bounds that is at most (r + 1) 2⁻⁵¹, also after q was held, which brings it no further
    from v/s; so |v/s − n| < 1/2, n is the only such whole number, and ⌊v/s + 1/2⌋ is. Where v/s lies above the upper
    bound h, q is at least h − (r + 1) 2⁻⁵¹ before it is held and at most h after, so n = h, the image; and below the
    lower bound alike. An infinity is held at a bound. What is not a number stays that, and is below nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]

_SHORTEST, _LONGEST = Fraction(1, 1 << 1000), 1 << 1000  # of a step: doubles hold it, and a number over it


@dataclass(frozen=True, eq=False)
class NearestSteps:
    """Several columns, a row each: bounds in steps, how many steps make one, and how far from a step is near it."""

    low: Reals
    high: Reals
    density: Reals
    near: Reals

    @classmethod
    def of(cls, grids: Sequence[tuple[int, int, Fraction]]) -> NearestSteps | None:
        """Of grids from so many steps to so many; nothing where doubles hold too little of one."""
        if any(not _SHORTEST < step < _LONGEST or max(-low, high) >= 1 << 48 for low, high, step in grids):
            return None
        near = [0.5 - (max(-low, high) + 2) * 2.0**-50 for low, high, _ in grids]
        lows, highs = ([float(each[i]) for each in grids] for i in range(2))
        density = [float(1 / step) for _, _, step in grids]
        return cls(*(np.array(each).reshape(-1, 1) for each in (lows, highs, density, near)))

    def told(self, columns: Sequence[NDArray[np.generic]], out: Reals, off: Reals) -> bool:
        """Put the steps of the columns into the rows of `out`, if that tells all of them; or else say no.

        `off` is room for as many doubles. What `out` holds if it does not tell them means nothing.
        """
        with np.errstate(all="ignore"):
            for column, row, density in zip(columns, off, self.density[:, 0], strict=True):
                np.multiply(column, density, out=row, dtype=np.float64)
            np.clip(off, self.low, self.high, out=off)
            np.rint(off, out=out)
            np.subtract(off, out, out=off)
            np.abs(off, out=off)
            return bool(np.all(off.max(axis=1, initial=0.0) < self.near[:, 0]))
