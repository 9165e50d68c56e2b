"""Rényi differential privacy: one bound for each order α, and composition adds them order by order.

Exact rationals throughout; every logarithm and exponential is rounded up by `interval`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import InvalidOperation
from fractions import Fraction
from functools import lru_cache

from discreet.errors import Refusal
from discreet.exact import FAR, ONE, ZERO, Number, count, exact, nonnegative, positive, share, shown, spoken
from discreet.interval_arithmetic import Interval, exp, log, simpler_up
from discreet.privacy.loss import Concentrated, Pure, ln

_BEYOND = 10**6  # an exponent at which the bound is ε to every digit
_LONGEST = 10**4  # terms of a moment: one of higher order takes too long to sum
_WIDE = 120  # digits where differences of nearly equal moments are taken
# The orders that dp-accounting's RDP accountant uses by default, so that figures can be compared.
ORDERS = (*(1 + Fraction(n, 10) for n in range(1, 100)), *map(Fraction, (*range(11, 64), 128, 256, 512, 1024)))


@dataclass(frozen=True, init=False)
class Renyi:
    """(α, ε)-Rényi differential privacy at several orders α > 1 (Mironov 2017, Definition 4).

    `curve` holds (α, ε) in increasing order of α. Sums are adaptive composition (Mironov 2017, Proposition 1). It may
    not fill a budget here: a filter would have to settle on one order beforehand.
    """

    curve: tuple[tuple[Fraction, Fraction], ...]

    def __init__(self, curve: Iterable[tuple[Number, Number]]) -> None:
        points = sorted((exact(order, "order"), nonnegative(epsilon, "epsilon")) for order, epsilon in curve)
        if not points:
            raise Refusal("a Rényi curve needs at least one order, got none")
        if points[0][0] <= 1:
            raise Refusal(f"expected order > 1, got order={spoken(points[0][0])}")
        if len({order for order, _ in points}) < len(points):
            raise Refusal(f"each order may occur once, got orders {[spoken(order) for order, _ in points]}")
        object.__setattr__(self, "curve", tuple(points))

    def __str__(self) -> str:
        (low, first), (high, last) = self.curve[0], self.curve[-1]
        return f"Renyi({spoken(first)} at order {spoken(low)}, …, {spoken(last)} at order {spoken(high)})"

    @classmethod
    def pure(cls, loss: Pure, orders: Sequence[Number] = ORDERS) -> Renyi:
        """Of any ε-private mechanism: that of randomized response, the worst one (Kairouz, Oh & Viswanath 2017).

        ln((e^{αε} + e^{(1−α)ε})/(1 + e^ε))/(α − 1), which is below both ε and αε²/2 (Bun & Steinke 2016, Prop. 3.3).
        """
        eps = loss.epsilon

        def price(a: Fraction) -> Fraction:
            if a * eps >= _BEYOND:
                return eps
            mass = (exp(a * eps) + exp((1 - a) * eps)) / (1 + exp(eps))
            return min(eps, a * eps**2 / 2, _root(mass, a))

        return cls(_priced(orders, price))

    @classmethod
    def concentrated(cls, loss: Concentrated, orders: Sequence[Number] = ORDERS) -> Renyi:
        """Of ρ-zCDP: αρ, by definition (Bun & Steinke 2016, Definition 1.1)."""
        if loss.delta:
            raise Refusal(f"{loss} bounds no Rényi divergence, because its delta is not 0", hint="keep it Concentrated")
        return cls(_priced(orders, lambda a: a * loss.rho))

    @classmethod
    def gaussian(cls, sigma: Number, orders: Sequence[Number] = ORDERS) -> Renyi:
        """Of Gaussian noise, σ in units of the L2 sensitivity: α/(2σ²) (Mironov 2017, Proposition 7).

        Holds for the discrete Gaussian on integers too (Canonne, Kamath & Steinke 2020, Theorem 4).
        """
        return cls.concentrated(Concentrated(1 / (2 * positive(sigma, "sigma") ** 2)), orders)

    @classmethod
    def laplace(cls, epsilon: Number, orders: Sequence[Number] = ORDERS) -> Renyi:
        """Of *continuous* Laplace noise of scale sensitivity/ε on one real number (Mironov 2017, Proposition 6).

        ln((α e^{(α−1)ε} + (α−1) e^{−αε})/(2α − 1))/(α − 1). Discrete Laplace noise is not covered: with sensitivity 1
        it is exactly randomized response, which loses more. Use `pure` for it.
        """
        eps = positive(epsilon, "epsilon")

        def price(a: Fraction) -> Fraction:
            if a * eps >= _BEYOND:
                return eps
            mass = (a * exp((a - 1) * eps) + (a - 1) * exp(-a * eps)) / (2 * a - 1)
            return min(eps, a * eps**2 / 2, _root(mass, a))

        return cls(_priced(orders, price))

    @classmethod
    def sampled_gaussian(cls, rate: Number, sigma: Number, orders: Sequence[Number] = ORDERS) -> Renyi:
        """Of Gaussian noise on a Poisson sample, add/remove neighbours: each unit is in with probability `rate`.

        At whole orders ln(Σ_k C(α, k) (1−q)^{α−k} q^k e^{k(k−1)/(2σ²)})/(α − 1) (Mironov, Talwar & Zhang 2019, Theorems
        4, 5 and Section 3.3); at others a moment bound from the whole ones around it. docs/proofs/subsampling.md.
        """
        q, variance = positive(rate, "rate"), positive(sigma, "sigma") ** 2
        if q > 1:
            raise Refusal(f"expected 0 < rate <= 1, got rate={shown(rate, str)}")
        if q == 1:
            return cls.gaussian(sigma, orders)
        moment = lru_cache(maxsize=None)(lambda n: _moment(q, variance, n))

        def price(a: Fraction) -> Fraction:
            whole = a / (2 * variance)  # without sampling, which is next to it where nothing is hidden anyway
            if whole >= _BEYOND or a > _LONGEST:
                return whole
            return min(whole, _root(moment(int(a)) if a == int(a) else _between(a, moment), a))

        return cls(_priced(orders, price))

    @property
    def orders(self) -> tuple[Fraction, ...]:
        """The orders at which something is promised."""
        return tuple(order for order, _ in self.curve)

    def __add__(self, other: Renyi) -> Renyi:
        if not isinstance(other, Renyi):
            return NotImplemented
        ours, theirs = dict(self.curve), dict(other.curve)
        common = sorted(ours.keys() & theirs.keys())
        if not common:
            raise Refusal(f"{self} and {other} have no order in common", hint="build both with the same orders")
        return Renyi((order, ours[order] + theirs[order]) for order in common)

    def __rmul__(self, times: int) -> Renyi:
        times = count(times, "times", least=0)
        return Renyi((order, times * epsilon) for order, epsilon in self.curve)

    def __le__(self, other: Renyi) -> bool:
        if not isinstance(other, Renyi):
            return NotImplemented
        return all(self._at(order) <= epsilon for order, epsilon in other.curve)

    def _at(self, order: Fraction) -> Fraction | float:
        """A bound at this order: that of the next order we know, since the divergence grows with α."""
        return next((epsilon for known, epsilon in self.curve if known >= order), math.inf)

    def group(self, size: int) -> Renyi:
        """For 2^k units, (α, ε) with α ≥ 2^(k+1) becomes (α/2^k, 3^k ε) (Mironov 2017, Proposition 2).

        Other sizes are rounded up to a power of two; smaller orders are lost.
        """
        doublings = (count(size, "size") - 1).bit_length()
        size = 2**doublings
        curve = [(order / size, 3**doublings * epsilon) for order, epsilon in self.curve if order >= 2 * size]
        if not doublings:
            return self
        if not curve:
            hint = "convert it to Approximate first, or start from larger orders"
            raise Refusal(f"group privacy for {size} units needs an order >= {2 * size}, got {self}", hint=hint)
        return Renyi(curve)

    def delta_at(self, epsilon: Number) -> Fraction:
        """The best order's e^{(α−1)(ε_α − ε)} (1 − 1/α)^α/(α − 1) (Canonne, Kamath & Steinke 2020, Proposition 12)."""
        target = nonnegative(epsilon, "epsilon")
        if any(price == 0 for _, price in self.curve):  # no divergence at one order means none at all
            return ZERO
        order, price = min(self.curve, key=lambda p: _near((p[0] - 1) * (p[1] - target)) + _log_factor(p[0]))
        exponent = (order - 1) * (price - target)
        if exponent > 0:
            return ONE
        bound = (exponent + order * log(1 - 1 / order)).exp() / (order - 1)
        return min(ONE, simpler_up(bound.up))

    def epsilon_at(self, delta: Number) -> Fraction:
        """The smallest ε at which `delta_at` is at most δ, solved order by order and rounded up."""
        total = share(delta, "delta")
        if any(price == 0 for _, price in self.curve):
            return ZERO
        far = log(1 / total)
        order, price = min(self.curve, key=lambda p: _near(p[1] + (far.up + Fraction(_log_factor(p[0]))) / (p[0] - 1)))
        needed = price + (far + order * log(1 - 1 / order) - log(order - 1)) / (order - 1)
        return simpler_up(needed.up) if needed.up > 0 else ZERO


def _log_factor(order: Fraction) -> float:
    """ln of (1 − 1/α)^α/(α − 1), to choose an order; any order proves a bound, so floats may choose it."""
    log_excess = ln(order - 1)
    return _near(order) * (log_excess - ln(order)) - log_excess


def _near(x: Fraction) -> float:
    """A float nearby, for a choice."""
    return float(min(max(x, -FAR), FAR))


def _priced(orders: Sequence[Number], price: Callable[[Fraction], Fraction]) -> list[tuple[Number, Number]]:
    known = [exact(order, "order") for order in orders]
    for order in known:
        if order <= 1:
            raise Refusal(f"expected order > 1, got order={spoken(order)}")
    return [(order, price(order)) for order in known]


def _root(mass: Interval, order: Fraction) -> Fraction:
    """ln(mass)/(α − 1), rounded up, and never below nothing. Only the upper end counts: the lower may cancel."""
    height = Interval(mass.high, mass.high, mass.digits).log().up / (order - 1)
    return simpler_up(height) if height > 0 else ZERO


def _moment(rate: Fraction, variance: Fraction, order: int) -> Interval:
    """Σ_k C(α, k) (1−q)^{α−k} q^k e^{k(k−1)/(2σ²)}: each term from the one before."""
    odds, growth = Interval.of(rate / (1 - rate), _WIDE), exp(1 / variance, _WIDE)
    term = (order * log(1 - rate, _WIDE)).exp()
    total, power = term, Interval.of(1, _WIDE)  # power is e^{k/σ²}
    for k in range(order):
        term = term * odds * power * (order - k) / (k + 1)
        total, power = total + term, power * growth
    return total


def _between(order: Fraction, moment: Callable[[int], Interval]) -> Interval:
    """A bound on E[r^α] for α that is not whole, from E[r^n] for four whole n: two-point Gauss quadrature.

    With r^α = r^n r^t and t in (0, 1) or (2, 3) the fourth derivative of r^t is negative, so the quadrature that is
    exact for cubics gives too much (its error is that derivative somewhere, times a positive number).
    """
    start = 1 if order < 2 else int(order) - 2
    power = order - start
    m0, m1, m2, m3 = (moment(start + n) for n in range(4))
    try:
        spread = m0 * m2 - m1 * m1
        total, product = (m0 * m3 - m1 * m2) / spread, (m1 * m3 - m2 * m2) / spread
        far = (total + (total * total - 4 * product).sqrt()) / 2
        near = product / far
        weight = (m1 - near * m0) / (far - near)
        return (m0 - weight) * (power * near.log()).exp() + weight * (power * far.log()).exp()
    except (ArithmeticError, InvalidOperation):  # too few digits to tell the two points apart: Hölder's bound instead
        low = int(order)
        return ((low + 1 - order) * moment(low).log() + (order - low) * moment(low + 1).log()).exp()
