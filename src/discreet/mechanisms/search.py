"""Looking for the first whole number from which on something holds."""

from __future__ import annotations

from collections.abc import Callable


def first(holds: Callable[[int], bool]) -> int:
    """The smallest n ≥ 0 for which it holds, if from some number on it does not stop holding.

    What is returned was seen to hold, so a bound stays a bound even where `holds` is not monotone.
    """
    high = 0
    while not holds(high):
        high = 2 * high + 1
    low = (high - 1) // 2  # was seen not to hold, or is −1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
