"""One or more small instances of every continual counter, for the audit that all of them must pass."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from discreet.privacy import Replace
from discreet.stream import (
    BufferedCounter,
    PanPrivateDensity,
    PanPrivateDistinct,
    PanPrivateVisits,
    SquareRootCounter,
    Stream,
    TreeCounter,
    Visitors,
)

EXAMPLES: dict[str, tuple[Any, ...]] = {
    "tree-counter": (TreeCounter.of(1, 4), TreeCounter.of(2, 3, 2, Replace())),
    "square-root-counter": (SquareRootCounter.of(Fraction(1, 2), 4),),
    "buffered-counter": (BufferedCounter.of(Fraction(1, 2), 4),),
    "pan-private-distinct": (PanPrivateDistinct(Fraction(1), Fraction(1, 2), 3),),
    "pan-private-density": (PanPrivateDensity(Fraction(1), Fraction(1, 2), 3, sample=2),),
    "pan-private-visits": (PanPrivateVisits(Fraction(1), Fraction(1, 2), 2, most=2),),
    "visitors": (
        Visitors(PanPrivateDistinct(Fraction(1), Fraction(1, 2), 3)),
        Visitors(PanPrivateVisits(Fraction(1), Fraction(1, 2), 2, most=2)),
    ),
    "stream": (
        Stream(TreeCounter.of(1, 3, 2), ("a", "b"), 2),
        Stream(TreeCounter.of(2, 2), owned=False),
        Stream(BufferedCounter.of(Fraction(1, 2), 3, 2), ("a", "b"), 2),
    ),
}
