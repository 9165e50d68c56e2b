"""Newton's method for a strongly convex objective, and a certificate of how short its gradient is at the end."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Fault
from discreet.learn.design import FEATURE_BITS
from discreet.learn.losses import Loss
from discreet.mechanisms.gram import product

_SLOPE_BITS = 52
_ROUNDS = 100  # of Newton's method; ten are usual
_HALVINGS = 40
_UNIT = 2.0**-53
_CHUNK = 1 << 17

Reals = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Objective:
    """Σ ℓ(Θᵀx) + (Λ/2)‖Θ‖² + b·Θ over rows of features, which are whole multiples of 2⁻⁴⁰ between −1 and 1."""

    loss: Loss
    rows: Reals
    labels: NDArray[Any]
    ridge: float
    tilt: Reals  # b, shaped as Θ
    reach: float  # how long the features of a row are at most

    def value(self, at: Reals) -> float:
        """The objective."""
        each = self.loss.value(self.rows @ at, self.labels)
        return float(each.sum()) + self.ridge / 2 * float(np.sum(at * at)) + float(np.sum(self.tilt * at))

    def gradient(self, at: Reals) -> Reals:
        """Its gradient, about."""
        told: Reals = self.rows.T @ self.loss.slope(self.rows @ at, self.labels) + self.ridge * at + self.tilt
        return told

    def hessian(self, at: Reals) -> Reals:
        """Its second derivative over Θ, row by row."""
        size, scores = at.shape
        total = np.zeros((size, scores, size, scores))
        for start in range(0, len(self.rows), _CHUNK):
            rows = self.rows[start : start + _CHUNK]
            bent = self.loss.curve(rows @ at, self.labels[start : start + _CHUNK])
            for i in range(scores):
                for j in range(i, scores):
                    block = (rows * bent[:, i, j, np.newaxis]).T @ rows
                    total[:, i, :, j] += block
                    if i != j:
                        total[:, j, :, i] += block
        return total.reshape(size * scores, size * scores) + self.ridge * np.eye(size * scores)

    def longest(self, at: Reals) -> float:
        """A bound on the length of the true gradient there.

        Proof: docs/proofs/convex.md, "What a solver certifies".
        """
        size, scores = at.shape
        slopes = self.loss.slope(self.rows @ at, self.labels)
        exactly = product(
            np.ldexp(self.rows, FEATURE_BITS).astype(np.int64), np.rint(np.ldexp(slopes, _SLOPE_BITS)).astype(np.int64)
        )
        summed = (exactly / 2 ** (FEATURE_BITS + _SLOPE_BITS)).astype(np.float64)
        length = float(np.linalg.norm(at))
        each = self.reach * math.sqrt(scores) * _UNIT * (10 + float(self.loss.bent) * (size + 2) * self.reach * length)
        rest = 8 * _UNIT * (float(np.linalg.norm(summed)) + self.ridge * length + float(np.linalg.norm(self.tilt)))
        computed = float(np.linalg.norm(summed + self.ridge * at + self.tilt))
        return float((computed + len(self.rows) * each + rest) * (1 + (size * scores + 8) * _UNIT))


def minimised(objective: Objective, tolerance: float) -> Reals:
    """Parameters at which the true gradient is no longer than `tolerance`; a constant sentence where that fails.

    The gradient of a strongly convex objective has one root, and Newton's method with halved steps comes to it. A bound
    on its rounds over all rows is not proved: promises of what uses it are conditional on its end.
    """
    at: Reals = np.zeros_like(objective.tilt)
    for _ in range(_ROUNDS):
        gradient = objective.gradient(at)
        if float(np.linalg.norm(gradient)) <= tolerance / 16:
            break
        step = np.asarray(np.linalg.solve(objective.hessian(at), gradient.ravel()), dtype=np.float64).reshape(at.shape)
        at = _stepped(objective, at, step, gradient)
    if not objective.longest(at) <= tolerance:
        raise Fault
    return at


def _stepped(objective: Objective, at: Reals, step: Reals, gradient: Reals) -> Reals:
    """A Newton step, halved until the objective falls, or the gradient does where the objective's digits end."""
    here, length, fall = objective.value(at), float(np.linalg.norm(gradient)), float(np.sum(step * gradient))
    share = 1.0
    for _ in range(_HALVINGS):
        there = at - share * step
        if objective.value(there) <= here - share * fall / 4:
            return there
        if float(np.linalg.norm(objective.gradient(there))) <= length / 2:
            return there
        share /= 2
    return at - step
