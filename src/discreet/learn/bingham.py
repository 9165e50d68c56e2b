"""Bingham law on the unit sphere: a vector x with density ∝ exp(xᵀSx), by rejection, for a matrix of whole numbers.

A proposal is x = Ty/|Ty| of normal y, with T near Ω^{−1/2} for Ω = I + t(l − S): its density is known from |y|²/|Ty|²
alone, whatever T is. It is accepted by a coin of exactly the chance that the law asks for (Kent, Ganeiber & Mardia
2018, Section 2). All is whole numbers; normals are drawn on a lattice so fine, and the vector that is told is dithered
onto one so coarse, that the law is the ideal one but for a gap that `lattice` bounds (docs/proofs/bingham.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Fault
from discreet.interval_arithmetic import Interval, log
from discreet.noise import SECURE, Entropy, gaussian

Whole: TypeAlias = NDArray[np.object_]
Reals = NDArray[np.float64]

GRID = 24  # bits of what is told of each coordinate
MOST = 256  # dimensions

_ROOT = 62  # bits of T
_LARGEST = 2.0**50  # of Ω
_DECIMAL = math.log10(2)


def lattice(size: int, gap: Fraction) -> int:
    """How fine normals are drawn, in bits, for the law of a direction to be within `gap` of the ideal one.

    Proof: docs/proofs/bingham.md, "The gap": 2^84 d⁴ 2^{0.73 d} steps are enough.
    """
    rare = gap.denominator.bit_length() - gap.numerator.bit_length() + 1
    return 84 + 4 * size.bit_length() + -(-73 * size // 100) + max(0, rare)


@dataclass(frozen=True, eq=False)
class Envelope:
    """A law that proposes: x = Ty/|Ty|, T in units of 2^−62, for S = matrix / 2^shift, Ω = I + t (top − S), b = 2/t."""

    matrix: Whole
    shift: int
    root: Whole
    top: Fraction
    bend: Fraction  # t
    slack: Fraction  # by which the eigenvalues of TᵀΩT may differ from 1

    @classmethod
    def of(cls, matrix: Whole, shift: int) -> Envelope:
        """Ends in a `Fault` where doubles cannot certify T: S is then beyond 10^8, of few dimensions beyond 10^11."""
        size, slack = len(matrix), Fraction(1, 16 * len(matrix))
        reals = np.array([[float(Fraction(int(v), 1 << shift)) for v in row] for row in matrix])
        top = Fraction(float(np.linalg.eigvalsh(reals)[-1]))
        away = np.array([
            [float((top if i == j else 0) - Fraction(int(v), 1 << shift)) for j, v in enumerate(row)]
            for i, row in enumerate(matrix)
        ])  # fmt: skip
        values, vectors = np.linalg.eigh(away)
        bend = Fraction(2 / _breadth(np.maximum(values, 0)))
        omega = np.eye(size) + float(bend) * away
        root = np.rint(vectors / np.sqrt(1 + float(bend) * np.maximum(values, 0)) * 2.0**_ROOT)
        if not _certified(root * 2.0**-_ROOT, omega, float(bend), float(slack)):
            raise Fault
        whole = np.array([[int(v) for v in row] for row in root], dtype=object)
        return cls(matrix, shift, whole, top, bend, slack)

    def chance(self, wide: Fraction, along: Fraction, digits: int) -> Interval:
        """Of what is proposed, of accepting x, where wide = |y|²/|Ty|² and along = xᵀSx; never above 1.

        Proof: docs/proofs/bingham.md, "The coin".
        """
        size, b = len(self.root), 2 / self.bend
        grown = log(wide * b * (1 - self.slack) / size, digits)
        return (grown * Fraction(size, 2) + (along - self.top + (size - b) / 2)).exp()

    def draw(self, bits: int, rng: Entropy = SECURE) -> tuple[int, ...]:
        """A vector, in steps of 2^−24, of normals in steps of 2^−bits."""
        while True:
            told = self._proposed(bits, rng)
            if told is not None:
                return told

    def _proposed(self, bits: int, rng: Entropy) -> tuple[int, ...] | None:
        """One proposal: the vector if it is accepted."""
        drawn = np.array([gaussian(1 << 2 * bits, rng=rng) for _ in range(len(self.root))], dtype=object)
        point = self.root.dot(drawn)
        square = int(point.dot(point))
        if not square:
            return None
        along = Fraction(int(point.dot(self.matrix.dot(point))), square << self.shift)
        wide = Fraction(int(drawn.dot(drawn)) << 2 * _ROOT, square)
        chance = self.chance(wide, along, math.ceil((bits + 80) * _DECIMAL))
        if rng.bits(bits) >= chance.down * (1 << bits):
            return None
        length = math.isqrt(square)
        return tuple(((int(each) << GRID + bits) // length + rng.bits(bits)) >> bits for each in point)


def _breadth(values: Reals) -> float:
    """b, the root of Σ 1/(b + 2aᵢ) = 1 for aᵢ ≥ 0 of which one is about 0: from 1 to their number."""
    low, high = 0.5, float(len(values))
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if np.sum(1 / (middle + 2 * values)) > 1 else (low, middle)
    return high


def _certified(root: Reals, omega: Reals, bend: float, slack: float) -> bool:
    """Whether TᵀΩT is certainly near I, and Ω, T and b no larger than the proof has them.

    A product of doubles is off by at most γ |A||B|, γ about its inner size times 2⁻⁵³, in whatever order it is summed
    (Higham 2002, Section 3.5).
    """
    size = len(root)
    off = np.linalg.norm(np.eye(size) - root.T @ omega @ root)
    sizes = np.abs(root)
    rounded = (4 * size + 32) * 2.0**-52 * np.linalg.norm(sizes.T @ np.abs(omega) @ sizes)
    traced = abs(float(np.sum(root**2)) * bend / 2 - 1)
    return bool(off + rounded <= slack and np.linalg.norm(omega) <= _LARGEST and traced <= slack / 2)


def bingham(matrix: Whole, shift: int, gap: Fraction, *, rng: Entropy = SECURE) -> tuple[int, ...]:
    """A unit vector with density ∝ exp(xᵀSx), S = matrix / 2^shift, each coordinate in steps of 2^−24.

    Guarantee: the law of what is told is within `gap`, in total variation, of the ideal one, dithered and rounded.
    Proof: docs/proofs/bingham.md, "The gap".
    """
    if len(matrix) == 1:
        return (1 << GRID,)
    return Envelope.of(matrix, shift).draw(lattice(len(matrix), gap), rng)
