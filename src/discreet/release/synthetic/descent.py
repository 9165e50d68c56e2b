"""Descent on a smooth convex function by limited-memory BFGS (Liu & Nocedal 1989), with sums in one thread."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np

from discreet.release.interval_tree import Reals

Smooth = Callable[[Reals], tuple[float, Reals]]  # a function with its gradient
Heard = Callable[[float], None]  # hears how much is done, from 0 to 1

_KEPT = 12  # pairs of steps and changes of the gradient
_FALL, _HALVINGS = 1e-4, 30  # of the slope that a step must gain (Armijo), and how often it is shortened for that


def unheard(share: float) -> None:
    """Nobody wants to know."""


def descended(function: Smooth, start: Reals, steps: int, still: float, heard: Heard = unheard) -> Reals:
    """Where no entry of the gradient is above `still`, or what so many steps lead to.

    `heard` is told which share of the steps is done.
    """
    here, (value, slope) = start, function(start)
    pairs: deque[tuple[Reals, Reals, float]] = deque(maxlen=_KEPT)
    for step in range(steps):
        heard(step / steps)
        if float(np.abs(slope).max()) <= still:
            break
        way = -_curved(slope, pairs)
        fall, length = _dot(way, slope), 1.0 if pairs else 1.0 / float(np.abs(slope).max())
        for _ in range(_HALVINGS):
            there = here + length * way
            other, change = function(there)
            if other <= value + _FALL * length * fall:
                break
            length /= 2
        else:
            break  # floats see no way down
        moved, turned = there - here, change - slope
        if (along := _dot(moved, turned)) > 0:
            pairs.append((moved, turned, 1 / along))
        here, value, slope = there, other, change
    return here


def _curved(slope: Reals, pairs: deque[tuple[Reals, Reals, float]]) -> Reals:
    """The gradient times what the kept pairs say of the inverse of the second derivative: the two loops."""
    way, scales = slope.copy(), []
    for moved, turned, inverse in reversed(pairs):
        scale = inverse * _dot(moved, way)
        way -= scale * turned
        scales.append(scale)
    if pairs:
        _, turned, inverse = pairs[-1]
        way /= inverse * _dot(turned, turned)
    for (moved, turned, inverse), scale in zip(pairs, reversed(scales), strict=True):
        way += (scale - inverse * _dot(turned, way)) * moved
    return way


def _dot(one: Reals, two: Reals) -> float:
    """Their inner product, not by a library that starts threads for it."""
    return float(np.einsum("i,i->", one, two))
