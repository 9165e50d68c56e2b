"""Real functions of rationals, enclosed between two decimals.

Every operation rounds its lower end down and its upper end up, so the true real number always lies inside. `decimal`
documents `exp`, `ln` and `sqrt` as correctly rounded; one further unit in the last place on either side makes each an
enclosure whatever the rounding mode was. No operation consults the thread's own decimal context.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import (
    MAX_EMAX,
    MIN_EMIN,
    ROUND_CEILING,
    ROUND_FLOOR,
    Context,
    Decimal,
    DivisionByZero,
    InvalidOperation,
    Overflow,
)
from fractions import Fraction
from functools import lru_cache

DIGITS = 60  # enough that no figure we print can see the width
ONE = Decimal(1)
UNIT = 2.0**-53  # a correctly rounded operation on floats is off by this much, relatively
REACH = 4000  # powers of ten between which a number is written out as a fraction; Python prints integers up to 4300


@lru_cache(maxsize=64)
def _contexts(digits: int) -> tuple[Context, Context]:
    traps = [InvalidOperation, DivisionByZero, Overflow]
    down = Context(prec=digits, rounding=ROUND_FLOOR, Emin=MIN_EMIN, Emax=MAX_EMAX, traps=traps)
    up = Context(prec=digits, rounding=ROUND_CEILING, Emin=MIN_EMIN, Emax=MAX_EMAX, traps=traps)
    return down, up


@dataclass(frozen=True)
class Interval:
    """A real number known to lie in [low, high]. Arithmetic keeps that true."""

    low: Decimal
    high: Decimal
    digits: int = DIGITS

    @classmethod
    def of(cls, value: Fraction | int, digits: int = DIGITS) -> Interval:
        """The tightest interval of so many digits around a rational."""
        number = Fraction(value)
        down, up = _contexts(digits)
        top, bottom = Decimal(number.numerator), Decimal(number.denominator)
        return cls(down.divide(top, bottom), up.divide(top, bottom), digits)

    def _other(self, value: Interval | Fraction | int) -> Interval:
        return value if isinstance(value, Interval) else Interval.of(value, self.digits)

    def __add__(self, value: Interval | Fraction | int) -> Interval:
        other, (down, up) = self._other(value), _contexts(self.digits)
        return Interval(down.add(self.low, other.low), up.add(self.high, other.high), self.digits)

    def __neg__(self) -> Interval:
        return Interval(self.high.copy_negate(), self.low.copy_negate(), self.digits)

    def __sub__(self, value: Interval | Fraction | int) -> Interval:
        return self + -self._other(value)

    def __rsub__(self, value: Fraction | int) -> Interval:
        return self._other(value) + -self

    def __mul__(self, value: Interval | Fraction | int) -> Interval:
        other, (down, up) = self._other(value), _contexts(self.digits)
        if self.low >= 0 and other.low >= 0:
            return Interval(down.multiply(self.low, other.low), up.multiply(self.high, other.high), self.digits)
        ends = [(a, b) for a in (self.low, self.high) for b in (other.low, other.high)]
        return Interval(min(down.multiply(a, b) for a, b in ends), max(up.multiply(a, b) for a, b in ends), self.digits)

    def __truediv__(self, value: Interval | Fraction | int) -> Interval:
        other, (down, up) = self._other(value), _contexts(self.digits)
        if other.low <= 0 <= other.high:
            raise ZeroDivisionError(f"{other} may be zero")
        ends = [(a, b) for a in (self.low, self.high) for b in (other.low, other.high)]
        return Interval(min(down.divide(a, b) for a, b in ends), max(up.divide(a, b) for a, b in ends), self.digits)

    def __rtruediv__(self, value: Fraction | int) -> Interval:
        return self._other(value) / self

    __radd__ = __add__
    __rmul__ = __mul__

    def exp(self) -> Interval:
        """e to this power; e^0 is 1 and nothing else."""
        down, up = _contexts(self.digits)
        low = down.next_minus(down.exp(self.low)) if self.low else ONE
        high = up.next_plus(up.exp(self.high)) if self.high else ONE
        return Interval(max(Decimal(0), low), high, self.digits)  # the lower end is negative where it underflows

    def log(self) -> Interval:
        """The natural logarithm; the interval must be positive. That of 1 is 0 and nothing else."""
        if self.low <= 0:
            raise ArithmeticError(f"{self} may not be positive, so its logarithm has no lower end")
        down, up = _contexts(self.digits)
        low = down.next_minus(down.ln(self.low)) if self.low != 1 else Decimal(0)
        high = up.next_plus(up.ln(self.high)) if self.high != 1 else Decimal(0)
        return Interval(low, high, self.digits)

    def sqrt(self) -> Interval:
        """The square root; a lower end below zero counts as zero."""
        down, up = _contexts(self.digits)
        low = down.next_minus(down.sqrt(max(Decimal(0), self.low)))
        return Interval(max(Decimal(0), low), up.next_plus(up.sqrt(self.high)), self.digits)

    @property
    def up(self) -> Fraction:
        """A rational not below the true number; of one nearer to zero than 10^-REACH, no closer than that."""
        return -_floor(self.high.copy_negate())

    @property
    def down(self) -> Fraction:
        """A rational not above the true number; of one nearer to zero than 10^-REACH, no closer than that."""
        return _floor(self.low)


def _floor(x: Decimal) -> Fraction:
    """x itself, or below it where a fraction of x would fill the memory: e^-(10^12) has 10^11 digits."""
    if not x or -REACH <= x.adjusted() <= REACH:
        return Fraction(x)
    if x > 0:
        return Fraction(0) if x.adjusted() < 0 else Fraction(10**REACH)
    if x.adjusted() < 0:
        return Fraction(-1, 10**REACH)
    raise OverflowError(f"no fraction is written out for a number of {x.adjusted()} digits")


def exp(x: Fraction | int, digits: int = DIGITS) -> Interval:
    """e^x."""
    return Interval.of(x, digits).exp()


def log(x: Fraction | int, digits: int = DIGITS) -> Interval:
    """The natural logarithm of a positive rational."""
    return Interval.of(x, digits).log()


def sqrt(x: Fraction | int, digits: int = DIGITS) -> Interval:
    """The square root of a rational that is not negative."""
    return Interval.of(x, digits).sqrt()


def simpler_up(x: Fraction, bits: int = 64) -> Fraction:
    """A rational not below x >= 0, at most 2^(1-bits) larger relatively, with a short denominator."""
    if x.denominator.bit_length() <= 2 * bits:
        return x
    shift = bits + x.denominator.bit_length() - x.numerator.bit_length()
    return Fraction(-((-x.numerator << max(0, shift)) // x.denominator), 1 << max(0, shift))


def simpler_down(x: Fraction, bits: int = 64) -> Fraction:
    """A rational not above x >= 0, at most 2^(1-bits) smaller relatively, with a short denominator."""
    if x.denominator.bit_length() <= 2 * bits:
        return x
    shift = bits + x.denominator.bit_length() - x.numerator.bit_length()
    return Fraction((x.numerator << max(0, shift)) // x.denominator, 1 << max(0, shift))


WIDTH = Fraction(1, 10**10)  # relative width at which most bisections stop
_STEPS = 1000  # of a bisection: an edge at zero itself would have it halve for ever


def least(holds: Callable[[Fraction], bool], low: Fraction, high: Fraction, relative: Fraction) -> Fraction:
    """The smallest x in (low, high] that `holds`, to a relative width: false at `low`, true from some point above on.

    What is returned is `high` or was itself seen to hold, so a bound stays a bound even where `holds` is not monotone.
    """
    for _ in range(_STEPS):
        if high - low <= relative * high:
            break
        middle = _dyadic((low + high) / 2, (high - low) / 8)
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def greatest(holds: Callable[[Fraction], bool], low: Fraction, high: Fraction, relative: Fraction) -> Fraction:
    """The largest x in [low, high) that `holds`, to a relative width: the mirror image of `least`."""
    for _ in range(_STEPS):
        if high - low <= relative * high:
            break
        middle = _dyadic((low + high) / 2, (high - low) / 8)
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def _dyadic(x: Fraction, within: Fraction) -> Fraction:
    """A dyadic rational at most `within` > 0 away from x: a bisection over these keeps its numbers short."""
    shift = max(0, within.denominator.bit_length() - within.numerator.bit_length() + 1)  # so 2^-shift <= within
    return Fraction(round(x * (1 << shift)), 1 << shift)


@lru_cache(maxsize=64)
def pi(digits: int = DIGITS) -> Interval:
    """π by Machin's formula, 16 arctan(1/5) − 4 arctan(1/239)."""
    return 16 * _arctan_inverse(5, digits) - 4 * _arctan_inverse(239, digits)


def _unit(digits: int) -> Decimal:
    return Decimal((0, (1,), -digits))


def _arctan_inverse(n: int, digits: int) -> Interval:
    total, power, k = Interval.of(0, digits), Interval.of(Fraction(1, n), digits), 0
    while power.high > _unit(digits):
        total = total + power / (2 * k + 1) if k % 2 == 0 else total - power / (2 * k + 1)
        power, k = power / (n * n), k + 1
    rest = power.high  # an alternating series stops within its first omitted term
    down, up = _contexts(digits)
    return Interval(down.subtract(total.low, rest), up.add(total.high, rest), digits)


_SERIES_ENDS = 6  # from here on the continued fraction is the shorter of the two


def normal_tail(x: Fraction | int | Interval) -> Interval:
    """Pr[N(0, 1) > x]."""
    if isinstance(x, Interval):  # decreasing in x
        return Interval(normal_tail(x.up).low, normal_tail(x.down).high, x.digits)
    if x < 0:
        return 1 - normal_tail(-x)
    if x > _SERIES_ENDS:
        return _normal_density(Interval.of(x)) / _mills_inverse(Interval.of(x))
    return _normal_tail_series(Interval.of(x, DIGITS + 12))  # 1/2 minus the series: ten digits cancel at most


def _normal_density(x: Interval) -> Interval:
    return (-(x * x / 2)).exp() / (2 * pi(x.digits)).sqrt()


def _mills_inverse(x: Interval) -> Interval:
    """φ(x) / Pr[N(0, 1) > x] for x > 0, by Laplace's continued fraction x + 1/(x + 2/(x + 3/(x + …))).

    Proof: let I(n) = ∫_x^∞ (t − x)^n φ(t) dt / n! and I(−1) = φ(x), all positive. Integration by parts gives
    I(n−1) = x I(n) + (n+1) I(n+1), so K(n) = I(n−1) / I(n) obeys K(n) = x + (n+1) / K(n+1) and K(n) > x for every
    n ≥ 0. Hence K(n) lies in [x, x + (n+1)/x] for any n, and the recursion carries that down to K(0).
    """
    depth = 60 + int((DIGITS / float(x.low)) ** 2)  # the width shrinks about like exp(−2x √(2 depth))
    ratio = Interval(x.low, (x + Fraction(depth + 1) / x).high, x.digits)
    for n in range(depth, 0, -1):
        ratio = x + n / ratio
    return ratio


def _normal_tail_series(x: Interval) -> Interval:
    """1/2 − φ(x) Σ x^(2n+1) / (2n+1)!!, all terms positive; the rest after a term is below a geometric series."""
    up, square, term, total, n = _contexts(x.digits)[1], x * x, x, x, 0
    while term.high > _unit(x.digits) or up.multiply(square.high, Decimal(2)) > 2 * n + 3:
        n += 1
        term = term * square / (2 * n + 1)
        total = total + term
    total = Interval(total.low, up.add(total.high, term.high), x.digits)  # ratio of further terms is at most 1/2
    tail = Fraction(1, 2) - _normal_density(x) * total
    return Interval(max(Decimal(0), tail.low), tail.high)
