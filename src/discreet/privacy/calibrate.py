"""How much noise a loss buys, and how much loss an error costs. Both are rounded so that the promise holds.

Noise here is discrete, on answers that are integers: Pr[n] ∝ exp(−|n|/scale) or Pr[n] ∝ exp(−n²/(2 variance)). An error
is the size of the noise on one number.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import TypeVar

from discreet.errors import Refusal
from discreet.exact import FAR, Number, count, exact, nonnegative, positive, share, shown
from discreet.interval_arithmetic import (
    DIGITS,
    WIDTH,
    Interval,
    exp,
    greatest,
    least,
    log,
    normal_tail,
    pi,
    simpler_down,
    sqrt,
)
from discreet.privacy.compose import crossing
from discreet.privacy.loss import AddRemove, Concentrated, Neighbours, Pure, best_order
from discreet.privacy.tradeoff import Gaussian, log_profile

X = TypeVar("X")

_SUMMED = 1000  # a variance up to which the tail of the discrete Gaussian is summed term by term


@dataclass(frozen=True, init=False)
class Sensitivity:
    """Bounds on f(x) − f(x') over all neighbours x, x', for a query f that answers with a vector of numbers.

    At most `l0` coordinates change, each by at most `linf`; the absolute changes sum to at most `l1` and their squares
    to at most `l2_squared`. Where these two are not given, l0·linf and l1·linf hold.
    """

    linf: Fraction
    l0: int
    l1: Fraction
    l2_squared: Fraction

    def __init__(self, linf: Number, l0: int = 1, l1: Number | None = None, l2_squared: Number | None = None) -> None:
        each, cells = nonnegative(linf, "linf"), count(l0, "l0")
        total = cells * each if l1 is None else nonnegative(l1, "l1")
        square = total * each if l2_squared is None else nonnegative(l2_squared, "l2_squared")
        _slip("l1", total, "l0 * linf", cells * each)  # what cannot be the largest of its norm was mistyped
        _slip("l2_squared", square, "l1 * linf", total * each)
        _slip("linf", each, "l1", total)
        _slip("linf ** 2", each * each, "l2_squared", square)
        for name, value in (("linf", each), ("l0", cells), ("l1", total), ("l2_squared", square)):
            object.__setattr__(self, name, value)

    @classmethod
    def of_count(cls, rows: int = 1) -> Sensitivity:
        """Of a count to which one unit gives at most so many rows; for either neighbours."""
        return cls(count(rows, "rows"))

    @classmethod
    def of_sum(
        cls, low: Number, high: Number, neighbours: Neighbours, *, rows: int = 1, always: bool = False
    ) -> Sensitivity:
        """Of a sum of values clamped to [low, high], at most `rows` of them from one unit.

        Adding or removing a unit moves it by rows · max(|low|, |high|). Replacing one moves it by the length of what
        a unit can give: rows · (high − low) if every unit `always` gives exactly `rows` values, and otherwise the
        same with 0 taken in, because a unit may come to give nothing.
        """
        bottom, top, many = exact(low, "low"), exact(high, "high"), count(rows, "rows")
        if bottom > top:
            raise Refusal(f"expected low <= high, got low={low} and high={high}")
        if isinstance(neighbours, AddRemove):
            return cls(many * max(abs(bottom), abs(top)))
        if always:
            return cls(many * (top - bottom))
        return cls(many * (max(top, Fraction(0)) - min(bottom, Fraction(0))))

    @classmethod
    def of_histogram(cls, neighbours: Neighbours, *, max_groups: int, rows: int | None = None) -> Sensitivity:
        """Of counts per group, where one unit touches at most `max_groups` groups.

        Without `rows` it counts at most once in each. With `rows` it gives at most so many rows in all, which may fall
        into one group. Under Replace one unit leaves its groups and another enters: counts are not negative, so the
        squares at most double.
        """
        groups = count(max_groups, "max_groups")
        if rows is None:
            once = cls(1, groups)
        else:
            many = count(rows, "rows")
            once = cls(many, min(groups, many), many, many * many)
        if isinstance(neighbours, AddRemove):
            return once
        return cls(once.linf, 2 * once.l0, 2 * once.l1, 2 * once.l2_squared)

    @classmethod
    def of(cls, function: Callable[[X], Sequence[Fraction | int]], pairs: Iterable[tuple[X, X]]) -> Sensitivity:
        """Exactly, by trying all `pairs` of neighbours of a finite domain: for tests and for teaching."""
        linf, l0, l1, l2_squared = Fraction(0), 1, Fraction(0), Fraction(0)
        for one, other in pairs:
            moves = [abs(Fraction(a) - b) for a, b in zip(function(one), function(other), strict=True)]
            linf, l1 = max([linf, *moves]), max(l1, sum(moves, Fraction(0)))
            l0, l2_squared = max(l0, sum(map(bool, moves))), max(l2_squared, sum((m * m for m in moves), Fraction(0)))
        return cls(linf, l0, l1, l2_squared)

    def __rmul__(self, factor: Number) -> Sensitivity:
        size = abs(exact(factor, "factor"))
        return Sensitivity(size * self.linf, self.l0, size * self.l1, size * size * self.l2_squared)

    def beside(self, other: Sensitivity) -> Sensitivity:
        """Of both queries answered together, as one longer vector."""
        return Sensitivity(
            max(self.linf, other.linf),
            self.l0 + other.l0,
            self.l1 + other.l1,
            self.l2_squared + other.l2_squared,
        )


def _slip(small: str, value: Fraction, large: str, bound: Fraction) -> None:
    if value > bound:
        raise Refusal(f"{small}={value} exceeds {large}={bound}", hint="one of the two is not the largest change")


def laplace_scale(loss: Pure, sensitivity: Sensitivity) -> Fraction:
    """L1/ε, exactly (Dwork, McSherry, Nissim & Smith 2006; on integers Ghosh, Roughgarden & Sundararajan 2009)."""
    return _moves(sensitivity).l1 / positive(loss.epsilon, "epsilon")


def gaussian_variance(loss: Concentrated, sensitivity: Sensitivity) -> Fraction:
    """L2²/(2ρ), exactly, for the discrete Gaussian and the continuous (Canonne, Kamath & Steinke 2020, Theorem 4)."""
    return _moves(sensitivity).l2_squared / (2 * positive(loss.rho, "rho"))


def gaussian_variance_for(epsilon: Number, delta: Number, sensitivity: Sensitivity) -> Fraction:
    """σ² for the *continuous* Gaussian to be (ε, δ)-private, rounded up (Balle & Wang 2018, Theorem 8)."""
    return _moves(sensitivity).l2_squared / gaussian_for(epsilon, delta).mu_squared


def gaussian_for(epsilon: Number, delta: Number) -> Gaussian:
    """The largest μ² that is (epsilon, delta)-private, to ten digits, rounded down."""
    target, rare = positive(epsilon, "epsilon"), share(delta, "delta")

    def holds(square: Fraction) -> bool:
        return Gaussian(square).delta_at(target) <= rare

    low = 2 * concentrated_for(target, rare).rho  # μ-GDP is (μ²/2)-zCDP, so this much is certainly private
    high = 2 * low
    while holds(high):
        low, high = high, 2 * high
    near, aim = float(min(target, FAR)), float(log(rare).low)
    farthest = float(1 / sqrt(low).up)
    guess = 1 / Fraction(crossing(lambda t: log_profile(near, 1 / t) - aim, farthest)) ** 2 if target < FAR else low
    safe, unsafe = guess * (1 - WIDTH), guess * (1 + WIDTH)
    if low < safe and holds(safe) and not holds(unsafe):  # a float guessed well
        low, high = safe, unsafe
    return Gaussian(simpler_down(greatest(holds, low, high, WIDTH), 48))


def concentrated_for(epsilon: Number, delta: Number) -> Concentrated:
    """The largest ρ that is (epsilon, delta)-private by Canonne, Kamath & Steinke 2020, Proposition 12, from below."""
    target, rare = positive(epsilon, "epsilon"), share(delta, "delta")
    near, rarely = float(min(target, FAR)), float(log(rare).low)
    alpha = best_order(lambda a: -(near + (math.log(a) + rarely) / (a - 1) - math.log1p(-1 / a)) / a)
    rho = (target + (log(alpha) + log(rare)) / (alpha - 1) - log(1 - 1 / alpha)) / alpha
    if rho.low <= 0:
        asked = f"epsilon={shown(epsilon, str)} and delta={shown(delta, str)}"
        raise Refusal(f"no rho is found for {asked}", hint="ask for more of either")
    return Concentrated(simpler_down(rho.down))


def laplace_error(scale: Number, confidence: Number) -> int:
    """The smallest a for which discrete Laplace noise is in [−a, a] with at least this probability, exactly."""
    width, rare = positive(scale, "scale"), 1 - share(confidence, "confidence")
    if width > FAR:
        raise Refusal(f"expected scale <= 1e300, got scale={shown(scale, str)}", hint="such noise tells nothing")
    return _first(lambda a: _laplace_exceeds(a, width, rare), float(min(width, FAR)) * float(log(1 / rare).high))


def gaussian_error(variance: Number, confidence: Number) -> int:
    """An a for which discrete Gaussian noise is in [−a, a] with at least this probability.

    The smallest there is for a variance up to 1000, and at most one above it beyond.
    """
    spread, rare = positive(variance, "variance"), 1 - share(confidence, "confidence")
    near = math.sqrt(min(spread, FAR)) * -NormalDist().inv_cdf(max(float(rare) / 2, sys.float_info.min))
    return _first(lambda a: gaussian_tail(a, spread).up > rare, near)


def laplace_loss_for_error(error: int, confidence: Number, sensitivity: Sensitivity) -> Pure:
    """The smallest ε, to ten digits, whose discrete Laplace noise is in [−error, error] with this probability."""
    most, rare = count(error, "error", least=0), 1 - share(confidence, "confidence")
    high = (log(2 / rare) / (most + 1)).up  # 2q^(a+1)/(1 + q) lies between q^(a+1) and 2q^(a+1)
    low = (log(1 / rare) / (most + 1)).down
    inverse = least(lambda t: not _laplace_exceeds(most, 1 / t, rare), low, high, WIDTH)
    return Pure(inverse * _moves(sensitivity).l1)


def gaussian_loss_for_error(error: int, confidence: Number, sensitivity: Sensitivity) -> Concentrated:
    """A ρ whose discrete Gaussian noise is in [−error, error] with this probability: the smallest that is certified.

    Larger variances have heavier tails: the likelihood ratio of two of them increases in n².
    """
    most, rare = count(error, "error", least=0), 1 - share(confidence, "confidence")
    low = Fraction(most + 1) ** 2 / (8 * log(4 / rare)).up  # small enough, see the loop
    while gaussian_tail(most, low).up > rare:
        low /= 2
    high = 2 * low
    while gaussian_tail(most, high).up <= rare:
        low, high = high, 2 * high
    variance = greatest(lambda v: gaussian_tail(most, v).up <= rare, low, high, WIDTH)
    return Concentrated(_moves(sensitivity).l2_squared / (2 * variance))


def laplace_tail(error: int, scale: Number) -> Interval:
    """Pr[|noise| > error] = 2 q^(error+1) / (1 + q) with q = exp(−1/scale), for discrete Laplace noise."""
    most, width = count(error, "error", least=0), positive(scale, "scale")
    return 2 * exp(-(most + 1) / width) / (1 + exp(-1 / width))


def gaussian_tail(error: int, variance: Number) -> Interval:
    """Pr[|noise| > error] for discrete Gaussian noise: summed, or enclosed by integrals where that is long.

    Proof: docs/proofs/conversions.md, "The tail of discrete noise".
    """
    most, spread = count(error, "error", least=0), positive(variance, "variance")
    beyond = _summed_tail(most, spread) if spread <= _SUMMED else _integral_tail(most, spread)
    return Interval(max(beyond.low, Interval.of(0).low), min(beyond.high, Interval.of(1).high))


def _summed_tail(most: int, spread: Fraction) -> Interval:
    inside = 1 + 2 * _terms(1, most, spread)
    outside = 2 * _terms(most + 1, None, spread)
    return outside / (inside + outside)


def _terms(first: int, last: int | None, spread: Fraction) -> Interval:
    """Σ r^(n²) for n from `first` to `last`, r = exp(−1/(2σ²)), each by r^((n+1)²) = r^(n²) · r^(2n+1)."""
    term, step = exp(-Fraction(first**2) / (2 * spread)), exp(-Fraction(2 * first + 1) / (2 * spread))
    square, total, tiny, n = exp(-1 / spread), Interval.of(0), Interval.of(Fraction(1, 10**DIGITS)), first
    while last is None or n <= last:
        total = total + term
        if term.high <= (tiny * total).high and (2 * step).high <= 1:
            return Interval(total.low, (total + term).high)  # further terms shrink by half or more each time
        term, step, n = term * step, step * square, n + 1
    return total


def _integral_tail(most: int, spread: Fraction) -> Interval:
    """The sum of g(n) = exp(−n²/(2σ²)) from a+1 on is below ∫ from a+1/2 on, and above ∫ from a+1 on plus g(a+1)/2."""
    sigma, after = sqrt(spread), Fraction(most + 1)
    above = 2 * normal_tail((after - Fraction(1, 2)) / sigma)
    half = exp(-(after**2) / (2 * spread)) / (2 * pi() * spread).sqrt()
    below = (2 * normal_tail(after / sigma) + half) / (1 + _theta(spread))
    return Interval(below.low, above.high)


def _theta(spread: Fraction) -> Interval:
    """t in Σ exp(−n²/(2σ²)) = √(2πσ²) (1 + t): by Poisson 2 Σ_{k≥1} exp(−2π²σ²k²), at most twice its first term."""
    return Interval(Interval.of(0).low, (4 * (-(2 * spread * pi() * pi())).exp()).high)


def _laplace_exceeds(most: int, width: Fraction, rare: Fraction) -> bool:
    """Whether 2q^(a+1)/(1+q) > rare. Equality cannot be: q is transcendental (Lindemann), so more digits decide."""
    digits = DIGITS
    while True:
        q = Interval.of(-1 / width, digits).exp()
        gap = 2 * Interval.of(-(most + 1) / width, digits).exp() - rare * (1 + q)
        if gap.low > 0 or gap.high < 0:
            return gap.low > 0
        digits *= 2


def _first(exceeds: Callable[[int], bool], near: float) -> int:
    """The smallest a ≥ 0 that does not exceed, for something that falls with a; `near` is where to begin.

    From there in steps that double, up or down: a look is costly, and mostly two or three are enough.
    """
    low, high, step = -1, max(0, math.ceil(near)), 1
    while exceeds(high):
        low, high, step = high, high + step, 2 * step
    while high - step > low and not exceeds(high - step):
        high, step = high - step, 2 * step
    low = max(low, high - step)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if exceeds(middle) else (low, middle)
    return high


def _moves(sensitivity: Sensitivity) -> Sensitivity:
    if sensitivity.linf == 0:
        raise Refusal(
            f"a query of sensitivity {sensitivity.linf} needs no noise", hint="release it as it is, or say what moves"
        )
    return sensitivity
