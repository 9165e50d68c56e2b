"""Intervals of the share that one noisy number is of another, by the laws of their noise and nothing else.

A share p is told unless the noise of (1 − p)·some − p·rest is as large as what was seen too rarely (Fieller 1954). The
laws of sums of noises are added up, not bounded. Proof: docs/proofs/intervals.md, "Shares".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms import GaussianVector
from discreet.mechanisms.noise_sums import SURE, UNSEEN, Additive, masses, reach, smooth, unlisted

Floats = NDArray[np.float64]
Sum = tuple[Additive, int]  # so many independent noises of one law

_OUTSIDE = Fraction(1, 10**12)  # what may lie beyond the lattice
_POINTS = 1 << 16  # of the lattice on which laws are added up
_KEPT = 1 << 9  # of the one on which two sums are weighed against each other
_FIRST = np.concatenate([[0.0], np.geomspace(1e-7, 1e-2, 21)[:-1], np.linspace(0.01, 0.99, 50), [1.0]])
_PARTS = 16  # of a cell that is looked at more closely
_FINE = 64  # the cells at both ends are so many times smaller than what lies between them
_FINEST = 1e-12
_HAIR = 1e-9  # of a step: more than rounding of numbers within the lattice can be off


@dataclass(frozen=True)
class ShareInterval:
    """Interval of a share: the truth lies within it, with 95 % confidence."""

    low: float
    high: float

    def __str__(self) -> str:
        low, high = math.floor(self.low * 1000) / 10, math.ceil(self.high * 1000) / 10
        if high >= 100:
            return f"at least {low:g} %" if low > 0 else "anything from 0 to 100 %"
        return f"{low:g} to {high:g} %" if low > 0 else f"at most {high:g} %"


@dataclass(frozen=True)
class Tails:
    """How rarely noise may make a share seem larger than it is, and smaller; and how far the rest may be beyond noise.

    `excess` is what is added to the rest at most, where so many of its noises were `chosen` for being large.
    """

    larger: Fraction
    smaller: Fraction
    excess: int = 0
    chosen: int = 0

    @classmethod
    def even(cls, rare: Fraction) -> Tails:
        """Either as rarely as the other."""
        return cls(rare / 2, rare / 2)


def compatible(some: int, rest: int, noise: tuple[Sum, Sum], tails: Tails, *, part_of: bool = False) -> ShareInterval:
    """The shares p for which (1 − p)·some − p·rest is no larger, and no smaller, than its noise may make it.

    The true one is left out with probability at most that of both tails. If the first number is `part_of` another,
    `rest` is that other less the first, and the noise belongs to those two. Where the noise makes even the nearest
    share, 0 or 1, too unlikely, what is below nothing counts as nothing: that leaves no more out.
    """
    scene = _Scene(float(some), float(some + rest), noise, tails, part_of)
    cells = np.column_stack([_FIRST[:-1], _FIRST[1:]])
    known = cells[scene.possible(cells)]
    if not len(known):
        inside = max(0, some), max(0, rest)
        return compatible(*inside, noise, tails, part_of=part_of) if any(inside) else ShareInterval(0.0, 1.0)
    low, high = list(map(tuple, known[::-1])), list(map(tuple, known))  # the last is looked at first
    while True:
        fine = max(_FINEST, (high[-1][1] - low[-1][0]) / _FINE)
        coarse = [(cells, last) for cells, last in ((low, False), (high, True)) if cells[-1][1] - cells[-1][0] > fine]
        if not coarse:
            return ShareInterval(float(low[-1][0]), float(high[-1][1]))
        for ends, last in coarse:
            scene.refine(ends, last=last)


@dataclass(frozen=True)
class _Scene:
    """What was seen, and by what noise."""

    some: float
    total: float
    noise: tuple[Sum, Sum]
    tails: Tails
    part_of: bool

    def refine(self, cells: list[tuple[float, float]], *, last: bool) -> None:
        """The cell at the end of a list, replaced by those parts of it that are possible; never is the list empty."""
        low, high = cells[-1]
        edges = np.linspace(low, high, _PARTS + 1)
        parts = np.column_stack([edges[:-1], edges[1:]])
        left = parts[self.possible(parts)]
        if len(left):
            cells[-1:] = map(tuple, left if last else left[::-1])
        elif len(cells) > 1:
            cells.pop()
        else:
            cells[-1:] = [tuple(parts[-1 if last else 0])]

    def possible(self, cells: Floats) -> NDArray[np.bool_]:
        """Whether some share in each of these cells is compatible with what was seen."""
        off = self.some - cells * self.total
        slack = np.where(off.max(axis=1) < 0, cells[:, 1] * self.tails.excess, 0.0)
        size = np.where(off[:, 0] * off[:, 1] <= 0, 0.0, np.maximum(0.0, np.abs(off).min(axis=1) - slack)) / SURE
        rare = np.where(off.min(axis=1) > 0, float(self.tails.larger), float(self.tails.smaller))
        chances = self._chances(self.noise, cells, size)
        if self.tails.chosen:  # those are in the excess: what is left has a law of its own
            one, (law, many) = self.noise
            others = self._chances((one, (law, many - self.tails.chosen)), cells, size)
            chances = np.where(off.max(axis=1) < 0, others, chances)
        return np.asarray(chances * SURE > 2 * rare)  # of either sign; one is half as likely

    def _chances(self, noise: tuple[Sum, Sum], cells: Floats, size: Floats) -> Floats:
        """How likely the noise is as large as this, at most, for every share in each cell."""
        weights = (np.ones(len(cells)) if self.part_of else 1 - cells[:, 0]), cells[:, 1]  # the largest in each
        if any(unlisted(each) for each, _ in noise):
            return _normal(noise, weights, size)
        one, two = (_law(*each) for each in noise)
        left = size - weights[0] * one.slack - weights[1] * two.slack
        chances = np.where(left <= 0, 1.0, 2 * UNSEEN)
        near = (left > 0) & (left <= weights[0] * one.far + weights[1] * two.far)
        below: Floats = np.zeros((int(near.sum()), len(one.places)))
        for end in cells[near].T:
            with np.errstate(divide="ignore", invalid="ignore"):
                until = (one.places - left[near, np.newaxis]) / end[:, np.newaxis]
            until = np.where(np.isnan(until), np.inf, until)
            below = np.maximum(below, two.below(until if self.part_of else until - one.places))
        chances[near] += 2 * (below @ one.sizes)  # the other sign is as likely
        return np.asarray(chances)


def _normal(noise: Sequence[Sum], weights: Sequence[Floats], size: Floats) -> Floats:
    """By normal numbers that reach further, if the noise is Gaussian and too wide to be listed."""
    known = [(*smooth(each), many) for each, many in noise]
    square = sum((w**2 * many * scale**2 for w, (scale, _, many) in zip(weights, known, strict=True)), np.zeros(1))
    left = size - sum((w * many * slack for w, (_, slack, many) in zip(weights, known, strict=True)), np.zeros(1))
    tails = [math.erfc(x) for x in np.maximum(0, left) / np.sqrt(2 * square)]
    return np.asarray(tails) + sum(many for _, many in noise) * UNSEEN


@dataclass(frozen=True, eq=False)
class _Law:
    """The law of a sum of noises, rounded to multiples of a step: no further off than `slack`."""

    step: int
    sizes: Floats  # of −n steps, …, n steps
    slack: float

    @property
    def half(self) -> int:
        return len(self.sizes) // 2

    @property
    def far(self) -> int:
        return self.half * self.step

    @cached_property
    def places(self) -> Floats:
        return np.arange(-self.half, self.half + 1.0) * self.step

    @cached_property
    def _sums(self) -> Floats:
        return np.concatenate([[0.0], np.cumsum(self.sizes)])

    def below(self, ends: Floats) -> Floats:
        """How likely the sum is at most this, or a hair above."""
        places = np.floor(np.clip(ends / self.step, -self.half - 1, self.half) + _HAIR)
        return np.asarray(self._sums[places.astype(np.int64) + self.half + 1])


@lru_cache(maxsize=64)
def _law(noise: Additive, many: int) -> _Law:
    """By a transform, and then on fewer points."""
    if not many:
        return _Law(1, np.ones(1), 0.0)
    far = min(many * reach(noise, _OUTSIDE / many), _chernoff(noise, many))
    step = max(1, math.ceil(2.1 * far / _POINTS))
    points = min(_POINTS, 1 << max(4, math.ceil(math.log2(2.1 * far / step + 4))))
    summed = np.maximum(0, np.fft.irfft(np.fft.rfft(masses(noise, step, points)) ** many, points))
    half = min(points // 2 - 1, math.ceil(far / step))
    sizes = np.concatenate([summed[len(summed) - half :], summed[: half + 1]])
    slack = many * step / 2 if step > 1 else 0.0
    several = math.ceil((2 * half + 1) / _KEPT)
    if several == 1:
        return _Law(step, sizes, slack)
    nearest = np.round(np.arange(-half, half + 1) / several).astype(np.int64)
    return _Law(step * several, np.bincount(nearest - nearest[0], sizes).astype(np.float64), slack + step * several / 2)


def _chernoff(noise: Additive, many: int) -> int:
    """What a sum of so many is beyond with probability at most `_OUTSIDE`.

    Discrete Laplace noise has E e^{tN} = (1 − a)²/((1 − a e^t)(1 − a e^{−t})), a = e^{−1/scale}. Discrete Gaussian
    noise has at most e^{t²σ²/2}: completing the square leaves Σ e^{−(n − tσ²)²/2σ²} over Σ e^{−n²/2σ²}, and of all
    shifts none sums to more (Poisson: its coefficients are positive).
    """
    wanted = math.log(2 / _OUTSIDE)
    if isinstance(noise, GaussianVector):
        return math.ceil(math.sqrt(2 * many * float(noise.variance) * wanted) * SURE)
    step = 1 / float(noise.scale)
    t = step * np.linspace(1 / 65, 64 / 65, 64)  # 1 − a e^t = −expm1(t − step): nothing cancels
    logs = 2 * math.log(-math.expm1(-step)) - np.log(-np.expm1(t - step)) - np.log(-np.expm1(-t - step))
    return math.ceil(float(((wanted + many * logs) / t).min()) * SURE)
