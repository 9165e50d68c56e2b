"""Convex losses of a score, by what objective perturbation has to know of them: how steep they are and how bent.

A row x with parameters Θ has scores s = Θᵀx, one or several, and a loss ℓ(s) that is convex and twice continuously
differentiable. For all s and labels the slope ∇ℓ has length at most the root of `steep`, and the second derivative
has trace at most `bent`; it has rank at most `rank`, and ∇ℓ lies in a subspace of that dimension.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax, softmax

from discreet.exact import positive
from discreet.mechanisms.mechanism import settle

Reals = NDArray[np.float64]


class Loss(Protocol):
    """A loss of scores. Labels are places among the classes, or numbers between −1 and 1."""

    def __hash__(self) -> int:
        """It is a value: what is planned for it is planned once."""
        ...

    @property
    def scores(self) -> int:
        """How many scores a row has."""
        ...

    @property
    def steep(self) -> Fraction:
        """The square of the longest slope."""
        ...

    @property
    def bent(self) -> Fraction:
        """The largest trace of the second derivative."""
        ...

    @property
    def rank(self) -> int:
        """Of the second derivative, at most."""
        ...

    def value(self, scores: Reals, labels: NDArray[Any], /) -> Reals:
        """The loss of each row."""
        ...

    def slope(self, scores: Reals, labels: NDArray[Any], /) -> Reals:
        """Its first derivative, a column for each score; off by at most 2⁻⁵⁰ √max(scores, steep) in length."""
        ...

    def curve(self, scores: Reals, labels: NDArray[Any], /) -> Reals:
        """Its second derivative, a matrix for each row."""
        ...


class _Margin:
    """A loss of y s for labels 0 and 1, which are y = −1 and 1."""

    scores, steep, rank = 1, Fraction(1), 1

    def value(self, scores: Reals, labels: NDArray[Any], /) -> Reals:
        return self._value(_signs(labels) * scores[:, 0])

    def slope(self, scores: Reals, labels: NDArray[Any], /) -> Reals:
        signs = _signs(labels)
        return (signs * self._slope(signs * scores[:, 0]))[:, np.newaxis]

    def curve(self, scores: Reals, labels: NDArray[Any], /) -> Reals:
        return self._curve(_signs(labels) * scores[:, 0])[:, np.newaxis, np.newaxis]

    def _value(self, margins: Reals) -> Reals:
        raise NotImplementedError

    def _slope(self, margins: Reals) -> Reals:
        raise NotImplementedError

    def _curve(self, margins: Reals) -> Reals:
        raise NotImplementedError


def _signs(labels: NDArray[Any]) -> Reals:
    return 2.0 * labels - 1.0


@dataclass(frozen=True)
class Logistic(_Margin):
    """ln(1 + e^{−z}) of the margin z = y s: |ℓ'| ≤ 1 and 0 ≤ ℓ'' = σ(z) σ(−z) ≤ 1/4."""

    bent = Fraction(1, 4)

    def _value(self, margins: Reals) -> Reals:
        told: Reals = np.log(1 + np.exp(-np.abs(margins))) - np.minimum(margins, 0)
        return told

    def _slope(self, margins: Reals) -> Reals:
        small = np.exp(-np.abs(margins))  # no library's sigmoid is as quick
        told: Reals = -np.where(margins > 0, small, 1) / (1 + small)
        return told

    def _curve(self, margins: Reals) -> Reals:
        small = np.exp(-np.abs(margins))
        told: Reals = small / (1 + small) ** 2
        return told


@dataclass(frozen=True)
class SmoothHinge(_Margin):
    """The hinge of the margin, its corner replaced by a quartic over ±`width` that meets it in value, slope and curve.

    With u = 1 − z it is 0 for u ≤ −h, u for u ≥ h, and −u⁴/(16h³) + 3u²/(8h) + u/2 + 3h/16 between: its slope in u is
    −u³/(4h³) + 3u/(4h) + 1/2, from 0 to 1, and its curve 3(h² − u²)/(4h³), from 0 up to 3/(4h) and back.
    """

    width: Fraction = Fraction(1, 2)

    def __post_init__(self) -> None:
        settle(self, width=positive(self.width, "width"))

    @property
    def bent(self) -> Fraction:
        """3/(4h)."""
        return Fraction(3, 4) / self.width

    def _value(self, margins: Reals) -> Reals:
        width, u = float(self.width), self._place(margins)
        above: Reals = np.maximum(1 - margins - width, 0)
        return width * (-(u**4) / 16 + 3 * u**2 / 8 + u / 2 + 3 / 16) + above

    def _slope(self, margins: Reals) -> Reals:
        u = self._place(margins)
        return u**3 / 4 - 3 * u / 4 - 0.5

    def _curve(self, margins: Reals) -> Reals:
        return 3 * (1 - self._place(margins) ** 2) / (4 * float(self.width))

    def _place(self, margins: Reals) -> Reals:
        """u/h, held within ±1."""
        told: Reals = np.clip((1 - margins) / float(self.width), -1, 1)
        return told


@dataclass(frozen=True)
class Huber:
    """A number's distance r = s − y from its label, squared within ±`width`: √(h² + r²) − h, |ℓ'| ≤ 1, ℓ'' ≤ 1/h."""

    width: Fraction = Fraction(1, 10)
    scores, steep, rank = 1, Fraction(1), 1

    def __post_init__(self) -> None:
        settle(self, width=positive(self.width, "width"))

    @property
    def bent(self) -> Fraction:
        """1/h."""
        return 1 / self.width

    def value(self, scores: Reals, labels: NDArray[Any], /) -> Reals:
        """√(h² + r²) − h."""
        told: Reals = np.hypot(float(self.width), scores[:, 0] - labels) - float(self.width)
        return told

    def slope(self, scores: Reals, labels: NDArray[Any], /) -> Reals:
        """r/√(h² + r²)."""
        off = scores[:, 0] - labels
        return np.asarray(off / np.hypot(float(self.width), off))[:, np.newaxis]

    def curve(self, scores: Reals, labels: NDArray[Any], /) -> Reals:
        """h²/(h² + r²)^{3/2}."""
        off, width = scores[:, 0] - labels, float(self.width)
        return np.asarray((width / np.hypot(width, off)) ** 2 / np.hypot(width, off))[:, np.newaxis, np.newaxis]


@dataclass(frozen=True)
class Softmax:
    """−ln p of the label's class, p = softmax(s): ∇ℓ = p − e and ∇²ℓ = diag(p) − ppᵀ.

    ‖p − e‖² = (1 − p_y)² + Σ_{j≠y} p_j² ≤ 2 (1 − p_y)² ≤ 2; the trace is 1 − Σ p_j² ≤ 1 − 1/K; both lie where numbers
    add up to zero, which has K − 1 dimensions.
    """

    scores: int

    steep = Fraction(2)

    @property
    def bent(self) -> Fraction:
        """1 − 1/K."""
        return 1 - Fraction(1, self.scores)

    @property
    def rank(self) -> int:
        """K − 1."""
        return self.scores - 1

    def value(self, scores: Reals, labels: NDArray[Any], /) -> Reals:
        """−ln p of the label."""
        told: Reals = -log_softmax(scores, axis=1)[np.arange(len(labels)), labels]
        return told

    def slope(self, scores: Reals, labels: NDArray[Any], /) -> Reals:
        """p − e."""
        chances: Reals = softmax(scores, axis=1)
        chances[np.arange(len(labels)), labels] -= 1
        return chances

    def curve(self, scores: Reals, labels: NDArray[Any], /) -> Reals:  # noqa: ARG002  # it is the same for every label
        """diag(p) − ppᵀ."""
        chances = softmax(scores, axis=1)
        told: Reals = chances[:, :, np.newaxis] * (np.eye(self.scores) - chances[:, np.newaxis, :])
        return told
