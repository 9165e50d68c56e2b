"""Newton's method for a strongly convex objective, and a certificate of how short its gradient is at the end."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Fault
from discreet.learn.convex_losses import Loss
from discreet.learn.design_matrix import FEATURE_BITS
from discreet.mechanisms.gram import product

_SLOPE_BITS = 52
_ROUNDS = 100  # of Newton's method; ten are usual
_HALVINGS = 40
_SWEEPS = 1000  # of one number after another, for a step where there are corners
_SETTLED = 2.0**-40
_DIGITS = 2.0**-40  # of an objective: what its computed values are off by
_UNIT = 2.0**-53
_FEW = 1 << 12  # rows, of which a start is found
_SHARE = 16  # of the blocks one, for that
_SERVES = 1e-3  # times as long is a gradient after a step, or less, while its second derivative is good enough

Reals = NDArray[np.float64]
Block = tuple[Reals, NDArray[Any]]  # rows, and their labels


@dataclass(frozen=True, eq=False)
class Objective:
    """Σ ℓ(Θᵀx) + (Λ/2)‖Θ‖² + b·Θ + Σ cᵢ|Θᵢ| over rows of features: whole multiples of 2⁻⁴⁰ between −1 and 1.

    Rows come in blocks with their labels, as many at once as lie in a cache, and are never copied into one.
    """

    loss: Loss
    blocks: tuple[Block, ...]
    ridge: float
    tilt: Reals  # b, shaped as Θ
    reach: float  # how long the features of a row are at most
    corner: Reals  # c, shaped as Θ

    @property
    def size(self) -> int:
        """How many rows there are."""
        return sum(len(labels) for _, labels in self.blocks)

    def seen(self, at: Reals) -> tuple[float, Reals]:
        """The objective, and the gradient of all but the sizes, about: rows are read once for both."""
        risks, slope = [], self.ridge * at + self.tilt
        for rows, labels in self.blocks:
            scores = rows @ at
            risks.append(float(self.loss.value(scores, labels).sum()))
            slope = slope + rows.T @ self.loss.slope(scores, labels)
        plain = math.fsum(risks) + self.ridge / 2 * float(np.sum(at * at)) + float(np.sum(self.tilt * at))
        return plain + float(np.sum(self.corner * np.abs(at))), slope

    def smooth(self, at: Reals) -> Reals:
        """The gradient of all but the sizes, about."""
        return self.seen(at)[1]

    def gradient(self, at: Reals) -> Reals:
        """Its gradient, about; where it has a corner the shortest of its subgradients."""
        return self.shortest(at, self.smooth(at))

    def shortest(self, at: Reals, smooth: Reals) -> Reals:
        """The shortest subgradient, of this gradient of all but the sizes."""
        if not self.corner.any():
            return smooth
        inside = np.sign(smooth) * np.maximum(np.abs(smooth) - self.corner, 0)
        return np.where(at == 0, inside, smooth + self.corner * np.sign(at))

    def hessian(self, at: Reals) -> Reals:
        """Its second derivative over Θ, row by row."""
        size, scores = at.shape
        total = np.zeros((size, scores, size, scores))
        for rows, labels in self.blocks:
            bent = self.loss.curve(rows @ at, labels)
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
        exactly = np.zeros(at.shape, dtype=object)
        for rows, labels in self.blocks:
            slopes = np.rint(np.ldexp(self.loss.slope(rows @ at, labels), _SLOPE_BITS)).astype(np.int64)
            exactly += product(np.ldexp(rows, FEATURE_BITS).astype(np.int64), slopes)
        summed = (exactly / 2 ** (FEATURE_BITS + _SLOPE_BITS)).astype(np.float64)
        length = float(np.linalg.norm(at))
        entries = math.sqrt(max(scores, float(self.loss.steep)))  # what else is rounded grows with slopes too
        each = self.reach * entries * _UNIT * (10 + float(self.loss.bent) * (size + 2) * self.reach * length)
        sizes = self.ridge * length + float(np.linalg.norm(self.tilt)) + float(np.linalg.norm(self.corner))
        rest = 8 * _UNIT * (float(np.linalg.norm(summed)) + sizes)
        computed = float(np.linalg.norm(self.shortest(at, summed + self.ridge * at + self.tilt)))
        return float((computed + self.size * each + rest) * (1 + (size * scores + 8) * _UNIT))


def minimised(objective: Objective, tolerance: float) -> Reals:
    """Parameters at which the true gradient is no longer than `tolerance`; a constant sentence where that fails.

    The gradient of a strongly convex objective has one root, and Newton's method with halved steps comes to it. A bound
    on its rounds over all rows is not proved: promises of what uses it are conditional on its end.
    """
    try:
        at = descended(objective, _start(objective), tolerance / 16)
    except np.linalg.LinAlgError:
        raise Fault from None
    if not objective.longest(at) <= tolerance:
        raise Fault
    return at


def _start(objective: Objective) -> Reals:
    """Where the least is of a share of the rows, which come in an order that nobody chose; of few rows zero."""
    zero: Reals = np.zeros_like(objective.tilt)
    some = objective.blocks[: len(objective.blocks) // _SHARE]
    few = sum(len(labels) for _, labels in some)
    if few < _FEW:
        return zero
    share = few / objective.size
    part = replace(
        objective, blocks=some, ridge=objective.ridge * share, tilt=objective.tilt * share,
        corner=objective.corner * share,
    )  # fmt: skip
    return descended(part, zero, math.sqrt(few) / 16)  # so far they are off in any case


@dataclass(frozen=True, eq=False)
class _Place:
    """Where a solver is: the objective there, the gradient of all but the sizes, and the shortest of the whole."""

    at: Reals
    value: float
    smooth: Reals
    gradient: Reals
    length: float

    @classmethod
    def of(cls, objective: Objective, at: Reals) -> _Place:
        value, smooth = objective.seen(at)
        gradient = objective.shortest(at, smooth)
        return cls(at, value, smooth, gradient, float(np.linalg.norm(gradient)))


def descended(objective: Objective, at: Reals, enough: float) -> Reals:
    """Newton's method from there on, until the gradient is about so short."""
    here, bent = _Place.of(objective, at), None
    for _ in range(_ROUNDS):
        if here.length <= enough:
            break
        if bent is None:
            bent = objective.hessian(here.at)
        if objective.corner.any():
            step, fall = cornered(objective.corner, here.at, here.smooth, bent)
        else:
            step = np.asarray(np.linalg.solve(bent, here.gradient.ravel()), dtype=np.float64).reshape(at.shape)
            fall = float(np.sum(step * here.gradient))
        before, here = here, _stepped(objective, here, step, fall)
        if here.length > before.length * _SERVES:
            bent = None
    return here.at


def _stepped(objective: Objective, here: _Place, step: Reals, fall: float) -> _Place:
    """A Newton step, halved until the objective falls, or the gradient does where the objective's digits end."""
    level = here.value + _DIGITS * (
        1 + abs(here.value)
    )  # higher than which a shorter gradient may be the way in a circle
    share = 1.0
    for _ in range(_HALVINGS):
        there = _Place.of(objective, here.at - share * step)
        if there.value <= level and (there.value <= here.value - share * fall / 4 or there.length <= here.length / 2):
            return there
        share /= 2
    return _Place.of(objective, here.at - step)


def cornered(sizes: Reals, at: Reals, smooth: Reals, bent: Reals) -> tuple[Reals, float]:
    """Newton's step where there are corners, to the least of the quadratic with them, and how far it promises to fall.

    The quadratic falls along one number after another until none moves; where the signs are then known, it is solved.
    """
    slope, start, corner = smooth.ravel(), at.ravel(), sizes.ravel()
    there, rest = start.copy(), slope.copy()  # the gradient of the quadratic at `there`
    for _ in range(_SWEEPS):
        moved = 0.0
        for i in range(there.size):
            free = there[i] - rest[i] / bent[i, i]
            new = math.copysign(max(abs(free) - corner[i] / bent[i, i], 0.0), free)
            change = new - there[i]
            if change:
                rest += change * bent[:, i]
                there[i] = new
                moved = max(moved, abs(change) * math.sqrt(bent[i, i]))
        if moved <= _SETTLED * float(np.linalg.norm(slope)) / math.sqrt(float(np.trace(bent))):
            break
    own = np.flatnonzero((there != 0) | (corner == 0))
    others = np.delete(start, own)  # which all go to zero
    target = bent[own][:, own] @ start[own] + np.delete(bent[own], own, axis=1) @ others
    sign = np.sign(there[own])
    exact = np.linalg.solve(bent[own][:, own], target - slope[own] - corner[own] * sign)
    if np.all((np.sign(exact) == sign) | (corner[own] == 0)):
        there[own] = exact
    fall = float(slope @ (start - there)) + float(corner @ (np.abs(start) - np.abs(there)))
    return (start - there).reshape(at.shape), fall
