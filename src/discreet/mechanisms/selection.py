"""What the mechanisms that choose one of several candidates share: their price, and how scores can move."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Refusal
from discreet.exact import count, positive
from discreet.mechanisms.int64 import Integers, whole
from discreet.mechanisms.mechanism import Pair, Takes, one_way, settle
from discreet.privacy import AddRemove, Neighbours, Pure

FARTHEST = (1 << 60) - 1  # of a score from zero: the samplers compare differences in 64 bits


@dataclass(frozen=True)
class Selection:
    """The public parameters of a choice. Scores are whole numbers, one for each candidate; the largest is the best.

    `sensitivity` bounds how far neighbours move any one score. `monotone` says that, between two neighbours, no score
    rises while another falls, as with counts when a row is added or removed; it halves the noise. When a row is
    replaced one count falls and another rises, so with `Replace` it is refused.
    """

    takes: ClassVar[Takes] = Takes.SCORES

    epsilon: Fraction
    candidates: int
    sensitivity: int = 1
    monotone: bool = False
    neighbours: Neighbours = AddRemove()

    def __post_init__(self) -> None:
        settle(
            self,
            epsilon=positive(self.epsilon, "epsilon"),
            candidates=count(self.candidates, "candidates"),
            sensitivity=count(self.sensitivity, "sensitivity"),
            monotone=one_way(self.monotone, self.neighbours),
            neighbours=self.neighbours,
        )

    @property
    def privacy(self) -> Pure:
        """ε, whatever the scores."""
        return Pure(self.epsilon)

    @property
    def rate(self) -> Fraction:
        """What a unit of score is worth: ε/(2 sensitivity), or ε/sensitivity for monotone scores."""
        return self.epsilon / (self.sensitivity if self.monotone else 2 * self.sensitivity)

    def pairs(self) -> tuple[Pair[tuple[int, ...]], ...]:
        """Neighbouring scores that make a choice as telling as it gets: at a tie, and for a candidate far behind."""
        step, others = self.sensitivity, self.candidates - 1
        fall, behind = (0 if self.monotone else step), math.ceil(3 / self.rate)
        return (
            Pair((0,) * (others + 1), (step, *(-fall,) * others), "one of equal candidates gets ahead"),
            Pair((0,) * (others + 1), (-fall, *(step,) * others), "one of equal candidates falls behind"),
            Pair((0, *(behind,) * others), (-fall, *(behind + step,) * others), "one far behind falls back further"),
        )

    def scored(self, scores: Integers) -> NDArray[np.int64]:
        """The scores, one for each candidate, those beyond ±(2^60 − 1) there: neighbours move no further apart."""
        values = whole(scores, FARTHEST)
        if values.shape != (self.candidates,):  # how many candidates there are is public
            raise Refusal(f"expected {self.candidates} scores, got {values.shape}")
        return values
