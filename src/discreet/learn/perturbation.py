"""Objective and output perturbation: how much noise, how much ridge, by public facts alone.

Σ ℓ(Θᵀx) + (Λ/2)‖Θ‖² + b·Θ over the rows is made as small as it gets, b random; or without b, and noise is added to Θ.
What a program finds is near that, and the distance is hidden by a little more noise on a public grid.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Literal

from discreet.errors import Refusal
from discreet.exact import spoken
from discreet.interval_arithmetic import exp, log, simpler_up, sqrt
from discreet.learn.convex_losses import Loss
from discreet.learn.gaussian_noise import MISSED, farther
from discreet.privacy import AddRemove, Approximate, Neighbours, gaussian_for

METHODS = ("automatic", "objective", "gaussian", "output")
_GRID_SHARE = Fraction(1, 64)  # of ε: for the noise that hides how far a solver is off
_MOST_BENDING = Fraction(1, 2)  # of ε: what curvature may cost before the ridge grows
_MOST = 50  # of ε: beyond it e^ε times next to nothing is something
LEAST_RIDGE = Fraction(1, 1 << 10)  # below it minima lie so far off that doubles do not find them on every table
COUNT_SHARE = Fraction(1, 64)  # of ε: for how many rows there are, where nobody names a ridge
_SCORES = 2  # what noise may move a score by; less than that tells classes apart
_BENT = 160  # rows in a box of uneven columns bend the objective about as a ridge of R²/(160 p) each
_LEAST = 8  # where rows bend enough: of that ridge, for directions in which they do not
_HEAVIEST = 10**9  # beyond it doubles do not hold what is added up
_FAR = Fraction(1 << 60)  # a ridge beside which curvature costs nothing
_STEEPEST = 1 << 20  # the square of a slope: 64 bits hold multiples of 2^-52 up to more than its root
TOLERANCE = Fraction(1, 1 << 24)  # of the steepest slope of one row: how long a gradient may be where a solver stops

Where = Literal["objective", "output"]


@dataclass(frozen=True)
class Perturbation:
    """All that is public about the noise of a fit.

    `ridge` is Λ; `scale` is what a standard vector is multiplied by, with density ∝ exp(−‖b‖) or normal. What is
    computed is off as if by a gradient of at most `tolerance`, of which `drawn_off` is for how far the noise is from an
    ideal one, and the rest for the solver: by tolerance/Λ at most. `step` is the public grid, and `grid_scale` that of
    the discrete Laplace noise on it.
    """

    where: Where
    exponential: bool
    ridge: Fraction
    scale: Fraction
    tolerance: Fraction
    drawn_off: Fraction
    step: Fraction
    grid_scale: Fraction


@dataclass(frozen=True)
class Reach:
    """How far all rows of a unit reach: the length of their summed slope, trace and rank of their summed curvature."""

    slope: Fraction
    bending: Fraction
    rank: int

    @classmethod
    def of(cls, loss: Loss, length_squared: Fraction, size: int, rows: int, neighbours: Neighbours) -> Reach:
        """Of so many rows, of features within a length; replaced slopes are two sums, curvature is compared with none.

        Proof: docs/proofs/convex.md, "One unit".
        """
        slope = rows * sqrt(loss.steep * length_squared).up
        rank = min(rows * loss.rank, size * loss.scores)
        two = 1 if isinstance(neighbours, AddRemove) else 2
        return cls(simpler_up(two * slope), rows * loss.bent * length_squared, rank)

    def turning(self, ridge: Fraction) -> Fraction:
        """What curvature costs, as ε: r ln(1 + T/(rΛ)), rounded up."""
        return (self.rank * log(1 + self.bending / (self.rank * ridge))).up


@lru_cache(maxsize=64)  # of public facts alone
def planned(  # noqa: PLR0913, PLR0917  # what a fit is
    loss: Loss, size: int, length_squared: Fraction, price: Approximate, rows: int, neighbours: Neighbours,
    alpha: Fraction, method: str,
) -> Perturbation:  # fmt: skip
    """The noise of a fit with this many features at this price.

    Guarantee: `price`, for what is told.
    Proof: docs/proofs/convex.md.
    """
    if loss.steep > _STEEPEST:
        raise Refusal(
            f"expected a loss with steep <= {_STEEPEST}, the square of its slope, got {spoken(loss.steep)}",
            hint="divide the loss by a number, and alpha too: that has the same minimum",
        )
    reach = Reach.of(loss, length_squared, size, rows, neighbours)
    alpha, numbers = max(alpha, LEAST_RIDGE), size * loss.scores
    dimensions = min(loss.rank * rows * (1 if isinstance(neighbours, AddRemove) else 2), numbers)
    rare = _left(price, 2 * numbers + 1)
    spent = price.epsilon * (1 - _GRID_SHARE)
    if method == "output":
        noise, ridge = spent, alpha
    else:
        ridge = _ridge(reach, alpha, price.epsilon)
        noise = spent - reach.turning(ridge)
    moved = reach.slope / ridge if method == "output" else reach.slope
    plain = simpler_up(moved / noise)
    normal = simpler_up(_normal(moved, noise, rare, dimensions, output=method == "output"))
    use_plain = method == "objective" or (method != "gaussian" and _shorter(plain, normal, numbers))
    scale = plain if use_plain else normal
    off = Fraction(farther(numbers, exponential=use_plain)) * scale * (1 if method != "output" else ridge)
    tolerance = simpler_up(max(reach.slope * TOLERANCE, 4 * off))
    step = _dyadic(tolerance / ridge)
    far = simpler_up(2 * sqrt(numbers).up * tolerance / (ridge * step)) + numbers
    where: Where = "output" if method == "output" else "objective"
    return Perturbation(where, use_plain, ridge, scale, tolerance, off, step, far / (price.epsilon * _GRID_SHARE))


def usual_ridge(  # noqa: PLR0913, PLR0917  # what a fit is
    loss: Loss, size: int, length_squared: Fraction, price: Approximate, rows: int, neighbours: Neighbours,
    counted: int, method: str,
) -> Fraction:  # fmt: skip
    """The ridge where nobody names one, of public facts and of about how many rows there are.

    Noise of σ on each of p numbers moves the score of a row of length R by about σR/(Λ + h), h what the rows bend: Λ is
    such that this is `_SCORES`, over the root of r where one of r + 1 scores wins, if the rows alone are not enough. On
    a minimum, noise falls with Λ and bias grows with Λ/h: their geometric mean. What this is changes how well a fit
    does, and no promise.
    """
    far = planned(loss, size, length_squared, price, rows, neighbours, _FAR, method)
    numbers = size * loss.scores
    spread = far.scale**2 * (numbers + 1 if far.exponential else 1) * (_FAR**2 if method == "output" else 1)
    wanted = sqrt(spread * length_squared * loss.rank).up / _SCORES
    bent = max(1, counted) * length_squared / (_BENT * numbers)
    ridge = sqrt(wanted * bent).up if method == "output" else max(wanted - bent, wanted / _LEAST)
    return simpler_up(min(ridge, Fraction(_HEAVIEST)))


def _left(price: Approximate, draws: int) -> Fraction:
    """What is left of δ after the chance that a draw was none of the ideal law."""
    if price.epsilon > _MOST:
        raise Refusal(f"expected epsilon <= {_MOST}, got {spoken(price.epsilon)}", hint="that much promises nothing")
    left = price.delta - draws * MISSED * (1 + exp(price.epsilon).up)
    if left <= 0:
        least = "computing with doubles may cost more than that"
        raise Refusal(f"delta={spoken(price.delta)} is too little: {least}", hint="say delta='1e-12', or less epsilon")
    return left


def _ridge(reach: Reach, alpha: Fraction, epsilon: Fraction) -> Fraction:
    """Λ: what was asked for, or more where curvature would cost more than its share."""
    most = epsilon * _MOST_BENDING
    if alpha > 0 and reach.turning(alpha) <= most:
        return alpha
    least = reach.bending / reach.rank / (exp(most / reach.rank).down - 1)
    return simpler_up(least * (1 + Fraction(1, 1 << 20)))


def _normal(moved: Fraction, epsilon: Fraction, delta: Fraction, dimensions: int, *, output: bool) -> Fraction:
    """The standard deviation of normal noise that is (ε, δ)-private for moves of this length.

    On what is told the move is fixed, and the law is that of the Gaussian mechanism. On an objective the move may turn
    with the noise within a subspace. Proof: docs/proofs/convex.md, "Normal noise".
    """
    if output:
        return moved / sqrt(gaussian_for(epsilon, delta).mu_squared).down
    if dimensions == 1:
        return moved / sqrt(gaussian_for(epsilon, delta / 2).mu_squared).down
    # μ t + μ²/2 ≤ ε with t = √r + √(2 ln(1/δ)), which a χ of r dimensions exceeds with a chance of at most δ
    far = (sqrt(dimensions) + (2 * log(1 / delta)).sqrt()).up
    ratio = 2 * epsilon / (far + sqrt(far**2 + 2 * epsilon).up)
    return moved / ratio


def _shorter(plain: Fraction, normal: Fraction, numbers: int) -> bool:
    """Whether exponential noise, of a length of about `numbers`, is shorter than normal noise of about its root."""
    return float(plain) * numbers <= float(normal) * math.sqrt(numbers)


def _dyadic(x: Fraction) -> Fraction:
    """The largest power of two up to x."""
    power = Fraction(2) ** (x.numerator.bit_length() - x.denominator.bit_length())
    return power if power <= x else power / 2
