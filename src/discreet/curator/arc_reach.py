"""How far u·cos φ + v·sin φ reaches, but for a stated probability, where a part of the noise of u and v also turns φ.

Proof: docs/proofs/intervals.md, "Pivots".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from discreet.mechanisms.noise_sums import SURE, UNSEEN, Floats, Sums

_PARTS = 96  # of a right angle
_PLACES, _TABLE, _BINS = 56, 1024, 512
_FURTHER = 2.5  # times as far as noise reaches nearly always
_ROUNDS = 14  # in which what the reach may be is halved
_HAIR = 1e-9

Arc = tuple[float, float]  # from angle to angle, between 0 and a right angle


@dataclass(frozen=True, eq=False)
class Still:
    """The part of the noise that does not turn φ: how likely it is beyond each place, in each part of a right angle."""

    step: float
    table: Floats
    apart: float  # how far it is at most from the continuous noise that the table is of

    @classmethod
    @lru_cache(maxsize=32)
    def of(cls, sums: Sums | None, weights: tuple[tuple[float, ...], tuple[float, ...]]) -> Still:
        """Of noises some of which are in u and the others in v, with these weights."""
        if sums is None:
            return cls(1.0, np.zeros((_PARTS, 2)), 0.0)
        edges = np.linspace(0, math.pi / 2, _PARTS + 1)
        sizes = np.concatenate(
            [np.outer(np.cos(edges[:-1]), weights[0]), np.outer(np.sin(edges[1:]), weights[1])], axis=1
        )
        step = _last(sums, [*weights[0], *weights[1]]) / (_TABLE - 1)
        places = np.broadcast_to(step * np.arange(_TABLE), (_PARTS, _TABLE))
        table, apart = sums.blurred(sizes[:, None, :], places)
        return cls(step, np.minimum.accumulate(table, axis=1), apart)

    def within(self, arc: Arc) -> Floats:
        """How likely it is beyond each place, at most, in any direction of the arc."""
        first, last = (math.floor(angle / (math.pi / 2) * _PARTS) for angle in arc)
        return np.asarray(self.table[max(0, first) : min(_PARTS, last + 1)].max(axis=0))


@dataclass(frozen=True, eq=False)
class Turning:
    """The part of the noise of u, or of v, that turns φ: where it may be, and how likely."""

    edges: Floats  # of cells of its size
    chances: Floats  # of each, and of what is beyond them
    apart: float

    @classmethod
    def of(cls, sums: Sums | None, weights: Sequence[float]) -> Turning:
        """Of noises with these weights."""
        if sums is None or not any(weights):
            return cls(np.zeros(2), np.array([1.0, 0.0]), 0.0)
        edges = _last(sums, weights) * np.linspace(0.0, 1.0, _PLACES + 1) ** 1.4
        tails, apart = sums.blurred(np.broadcast_to(weights, (edges.size, len(weights))), edges)
        tails = np.minimum.accumulate(np.append(1.0, tails[1:]))
        return cls(edges, np.append(-np.diff(tails), tails[-1]), apart)


def reach(arc: Arc, still: Still, one: Turning, two: Turning, rare: float) -> float:
    """An r such that |u·cos φ + v·sin φ| ≤ r but for `rare`, whatever in the arc φ is turned to."""
    sizes, chances = _farthest(arc, one, two)
    tails, step = still.within(arc), still.step
    width = float(sizes.max()) / _BINS or step
    held = np.bincount(np.ceil(sizes / width - _HAIR).astype(np.int64), chances, _BINS + 2)
    pushed: Floats = width * np.arange(held.size, dtype=np.float64)
    lost = float(one.chances[-1] + two.chances[-1]) + 8 * UNSEEN + 1e-6 * rare

    def beyond(far: Floats) -> Floats:  # of noise that is symmetric: on its own side with up to half of it
        place = np.clip(far / step - _HAIR, 0, tails.size - 1).astype(np.int64)
        return np.asarray(np.where(far > 0, tails[place], 2.0))

    def missed(far: float) -> float:
        both: Floats = beyond(far - pushed) + beyond(far + pushed)
        return float(held @ both) / 2 * SURE + lost

    low, high = 0.0, float(pushed[-1]) + step * tails.size
    if missed(high) > rare:
        return math.inf
    for _ in range(_ROUNDS):
        middle = (low + high) / 2
        low, high = (low, middle) if missed(middle) <= rare else (middle, high)
    return (high + math.hypot(one.apart, two.apart) + still.apart) * SURE


def _farthest(arc: Arc, one: Turning, two: Turning) -> tuple[Floats, Floats]:
    """How far both push at most in any direction of the arc, for all pairs of cells and both signs; and how likely."""
    low, high = arc
    near, far = one.edges[:-1, None], one.edges[1:, None]
    under, over = two.edges[None, :-1], two.edges[None, 1:]
    aim = np.arctan2(over, np.maximum(far, 1e-300))
    alike = np.hypot(far, over) * np.cos(np.maximum(0.0, np.maximum(low - aim, aim - high)))
    against = np.maximum(far * math.cos(low) - under * math.sin(low), over * math.sin(high) - near * math.cos(high))
    both = np.outer(one.chances[:-1], two.chances[:-1]) / 2
    return np.concatenate([alike.ravel(), np.maximum(against, 0.0).ravel()]), np.concatenate([both.ravel()] * 2)


def _last(sums: Sums, weights: Sequence[float]) -> float:
    """Where a sum is beyond hardly ever."""
    return _FURTHER * sum(weight * far for weight, far in zip(weights, sums.reaches, strict=True)) * SURE
