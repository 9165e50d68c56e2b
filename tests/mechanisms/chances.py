"""What the tests of this room share: whether outcomes fit a law, and whether an error bar covers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping
from fractions import Fraction
from typing import Any, TypeAlias, TypeVar

from covering import Coverage
from doubles import Seeded

from discreet.noise import Entropy

RUNS = 2000
Y = TypeVar("Y", bound=Hashable)
Whatever: TypeAlias = Any  # what callers pass that no type checker has seen


def fits(seen: Iterable[Y], law: Mapping[Y, float], false_alarm: float = 1e-9) -> bool:
    """Exact binomial tails for each outcome: a right sampler fails with probability at most `false_alarm`."""
    counts = Counter(seen)
    total, each = sum(counts.values()), false_alarm / (2 * len(law))
    tails = [(Coverage(counts[y], total), min(p, 1.0)) for y, p in law.items()]
    return counts.keys() <= law.keys() and not any(c.refuted(p, each) or c.exceeded(p, each) for c, p in tails)


def covers(miss: Callable[[Entropy], bool], confidence: Fraction | float, seed: int, runs: int = RUNS) -> bool:
    """Whether that share of runs does not miss: if so, this is False with probability below 1e-9 (exact binomial)."""
    rng = Seeded(seed)
    return not Coverage(sum(not miss(rng) for _ in range(runs)), runs).refuted(confidence)
