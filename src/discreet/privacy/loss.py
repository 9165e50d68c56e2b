"""Losses, bounds on what one unit's data can change, and the neighbours for which they are promised.

The class of a loss is its measure. Adding two losses is adaptive composition, `k * loss` is the same mechanism k times,
`0 * loss` is nothing. Two measures do not add: `convert` turns one into another, rounding against us.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Generic, Protocol, Self, TypeVar

from discreet.errors import Refusal
from discreet.exact import FAR, ONE, Number, count, nonnegative, probability, spoken
from discreet.interval_arithmetic import Interval, exp, log, simpler_down, simpler_up


class Loss(Protocol):
    """What all measures share. `not a <= b` means: not known to be smaller."""

    def __add__(self, other: Self, /) -> Self: ...
    def __rmul__(self, times: int, /) -> Self: ...
    def __le__(self, other: Self, /) -> bool: ...

    def group(self, size: int, /) -> Self:
        """The loss of `size` units together (SOUNDNESS 4)."""
        ...

    def delta_at(self, epsilon: Number, /) -> Fraction:
        """The smallest proven δ for which this loss is (epsilon, δ)-private; never below the true one."""
        ...


class FilterLoss(Loss, Protocol):
    """A loss whose sums stay valid when each next one is chosen after seeing the answers: it may fill a budget."""

    def less(self, spent: Self, /) -> Self:
        """What is left of this much once `spent` of it is gone."""
        ...

    def fills(self) -> None:
        """Marks the measures with an adaptive composition theorem for sums."""
        ...


L = TypeVar("L", bound=Loss)


@dataclass(frozen=True, init=False)
class Pure:
    """Pure ε-differential privacy (Dwork, McSherry, Nissim & Smith 2006, Definition 1)."""

    epsilon: Fraction
    word: ClassVar[str] = "epsilon"
    delta: ClassVar[Fraction] = Fraction(0)

    def __init__(self, epsilon: Number) -> None:
        object.__setattr__(self, "epsilon", nonnegative(epsilon, "epsilon"))  # below zero, spending could refund

    def __str__(self) -> str:
        return f"Pure(epsilon={spoken(self.epsilon)})"

    def __add__(self, other: Pure) -> Pure:
        if not isinstance(other, Pure):
            return NotImplemented
        return Pure(self.epsilon + other.epsilon)

    def __rmul__(self, times: int) -> Pure:
        return Pure(count(times, "times", least=0) * self.epsilon)

    def __le__(self, other: Pure) -> bool:
        if not isinstance(other, Pure):
            return NotImplemented
        return self.epsilon <= other.epsilon

    def group(self, size: int) -> Pure:
        """ε grows with the size of the group (Dwork & Roth 2014, Theorem 2.2)."""
        return count(size, "size") * self

    def delta_at(self, epsilon: Number) -> Fraction:
        """That of randomized response, the worst (Kairouz, Oh & Viswanath 2017; docs/proofs/conversions.md)."""
        target = nonnegative(epsilon, "epsilon")
        if target >= self.epsilon:
            return Fraction(0)
        worst = (1 - exp(target - self.epsilon)) / (1 + exp(-self.epsilon))  # (e^ε₀ − e^ε) / (1 + e^ε₀)
        return min(ONE, worst.up)

    def less(self, spent: Pure) -> Pure:
        """What is left of this much once `spent` of it is gone."""
        return Pure(self.epsilon - within(spent, self).epsilon)

    def fills(self) -> None:
        """Sums are valid for adaptive choices (Rogers, Roth, Ullman & Vadhan 2016, Theorem 3.6)."""

    @property
    def amount(self) -> Fraction:
        """The number that people name as a price."""
        return self.epsilon

    def at(self, amount: Number, delta: Number = 0) -> Pure:  # noqa: ARG002  # it has none
        """Another loss in this measure."""
        return Pure(amount)

    def meet(self, other: Loss) -> Pure:
        """The smaller of two, number by number."""
        twin = _same(self, other)
        return Pure(min(self.epsilon, twin.epsilon))

    def rounded_down(self) -> Pure:
        """Hardly less, in numbers that can be written down."""
        return Pure(simpler_down(self.epsilon))

    def covers(self, other: Loss) -> bool:
        """Whether this is known to be at least as much, in the same measure."""
        return isinstance(other, Pure) and other <= self


@dataclass(frozen=True, init=False)
class Approximate:
    """(ε, δ)-differential privacy (Dwork, Kenthapadi, McSherry, Mironov & Naor 2006)."""

    epsilon: Fraction
    delta: Fraction
    word: ClassVar[str] = "epsilon"

    def __init__(self, epsilon: Number, delta: Number = 0) -> None:
        object.__setattr__(self, "epsilon", nonnegative(epsilon, "epsilon"))
        object.__setattr__(self, "delta", probability(delta, "delta"))

    @classmethod
    def capped(cls, epsilon: Fraction, delta: Fraction) -> Approximate:
        """A sum may reach δ = 1, which promises nothing; a person may not ask for that."""
        loss = cls(epsilon)
        object.__setattr__(loss, "delta", min(ONE, delta))
        return loss

    def __str__(self) -> str:
        return f"Approximate(epsilon={spoken(self.epsilon)}, delta={spoken(self.delta)})"

    def __add__(self, other: Approximate) -> Approximate:
        if not isinstance(other, Approximate):
            return NotImplemented
        return Approximate.capped(self.epsilon + other.epsilon, self.delta + other.delta)

    def __rmul__(self, times: int) -> Approximate:
        times = count(times, "times", least=0)
        return Approximate.capped(times * self.epsilon, times * self.delta)

    def __le__(self, other: Approximate) -> bool:
        if not isinstance(other, Approximate):
            return NotImplemented
        return self.epsilon <= other.epsilon and self.delta <= other.delta

    def group(self, size: int) -> Approximate:
        """(cε, δ (1 + e^ε + … + e^{(c−1)ε})), the sum inside the proof of Vadhan 2017, Lemma 2.2."""
        size = count(size, "size")
        if self.epsilon == 0 or self.delta == 0 or size == 1:
            return Approximate.capped(size * self.epsilon, size * self.delta)
        if (size - 1) * self.epsilon >= log(1 / self.delta).down:  # the last term alone is (almost) 1
            return Approximate.capped(size * self.epsilon, ONE)
        if self.epsilon < TINY:  # too small for the quotient below; no term of the sum is above its last
            grown = size * self.delta * exp((size - 1) * self.epsilon)
        else:
            grown = self.delta * ((exp(size * self.epsilon) - 1) / (exp(self.epsilon) - 1))
        return Approximate.capped(size * self.epsilon, simpler_up(grown.up))

    def delta_at(self, epsilon: Number) -> Fraction:
        """The profile of the worst such mechanism (Kairouz, Oh & Viswanath 2017; docs/proofs/conversions.md)."""
        return min(ONE, self.delta + (1 - self.delta) * Pure(self.epsilon).delta_at(epsilon))

    def less(self, spent: Approximate) -> Approximate:
        """What is left of this much once `spent` of it is gone."""
        return Approximate.capped(self.epsilon - within(spent, self).epsilon, self.delta - spent.delta)

    def fills(self) -> None:
        """Sums are valid for adaptive choices (Rogers, Roth, Ullman & Vadhan 2016, Theorem 3.6)."""

    @property
    def amount(self) -> Fraction:
        """The number that people name as a price."""
        return self.epsilon

    def at(self, amount: Number, delta: Number = 0) -> Approximate:
        """Another loss in this measure."""
        return Approximate(amount, delta)

    def meet(self, other: Loss) -> Approximate:
        """The smaller of two, number by number."""
        twin = _same(self, other)
        return Approximate(min(self.epsilon, twin.epsilon), min(self.delta, twin.delta))

    def rounded_down(self) -> Approximate:
        """Hardly less, in numbers that can be written down."""
        return Approximate(simpler_down(self.epsilon), simpler_down(self.delta))

    def covers(self, other: Loss) -> bool:
        """Whether this is known to be at least as much, in the same measure."""
        return isinstance(other, Approximate) and other <= self


@dataclass(frozen=True, init=False)
class Concentrated:
    """ρ-zCDP, or δ-approximate ρ-zCDP when δ > 0 (Bun & Steinke 2016, Definitions 1.1 and 8.1)."""

    rho: Fraction
    delta: Fraction
    word: ClassVar[str] = "rho"

    def __init__(self, rho: Number, delta: Number = 0) -> None:
        object.__setattr__(self, "rho", nonnegative(rho, "rho"))
        object.__setattr__(self, "delta", probability(delta, "delta"))

    @classmethod
    def capped(cls, rho: Fraction, delta: Fraction) -> Concentrated:
        """A sum may reach δ = 1, which promises nothing; a person may not ask for that."""
        loss = cls(rho)
        object.__setattr__(loss, "delta", min(ONE, delta))
        return loss

    def __str__(self) -> str:
        return f"Concentrated(rho={spoken(self.rho)}, delta={spoken(self.delta)})"

    def __add__(self, other: Concentrated) -> Concentrated:
        if not isinstance(other, Concentrated):
            return NotImplemented
        return Concentrated.capped(self.rho + other.rho, self.delta + other.delta)

    def __rmul__(self, times: int) -> Concentrated:
        times = count(times, "times", least=0)
        return Concentrated.capped(times * self.rho, times * self.delta)

    def __le__(self, other: Concentrated) -> bool:
        if not isinstance(other, Concentrated):
            return NotImplemented
        return self.rho <= other.rho and self.delta <= other.delta

    def group(self, size: int) -> Concentrated:
        """c²ρ (Bun & Steinke 2016, Proposition 1.9), which is proven for δ = 0 only."""
        size = count(size, "size")
        if self.delta and size > 1:
            raise Refusal(f"group privacy of {self} is not known", hint="convert it to Approximate first")
        return Concentrated.capped(size * size * self.rho, self.delta)

    def delta_at(self, epsilon: Number) -> Fraction:
        """The best order's bound (Canonne, Kamath & Steinke 2020, Proposition 12), plus the δ it already has."""
        target = nonnegative(epsilon, "epsilon")
        if self.rho == 0:
            return self.delta
        rho, far = float(min(self.rho, FAR)), float(min(target, FAR))
        order = best_order(lambda a: (a - 1) * (a * rho - far) + a * math.log1p(-1 / a) - math.log(a - 1))
        exponent = Interval.of((order - 1) * (order * self.rho - target))
        bound = exponent + order * log(1 - 1 / order) - log(order - 1)
        return ONE if bound.high >= 0 else min(ONE, self.delta + (1 - self.delta) * bound.exp().up)

    def less(self, spent: Concentrated) -> Concentrated:
        """What is left of this much once `spent` of it is gone."""
        return Concentrated.capped(self.rho - within(spent, self).rho, self.delta - spent.delta)

    def fills(self) -> None:
        """Sums are valid for adaptive choices (Whitehouse, Ramdas, Rogers & Wu 2023, Theorem 1)."""

    @property
    def amount(self) -> Fraction:
        """The number that people name as a price."""
        return self.rho

    def at(self, amount: Number, delta: Number = 0) -> Concentrated:
        """Another loss in this measure."""
        return Concentrated(amount, delta)

    def meet(self, other: Loss) -> Concentrated:
        """The smaller of two, number by number."""
        twin = _same(self, other)
        return Concentrated(min(self.rho, twin.rho), min(self.delta, twin.delta))

    def rounded_down(self) -> Concentrated:
        """Hardly less, in numbers that can be written down."""
        return Concentrated(simpler_down(self.rho), simpler_down(self.delta))

    def covers(self, other: Loss) -> bool:
        """Whether this is known to be at least as much, in the same measure."""
        return isinstance(other, Concentrated) and other <= self


TINY = Fraction(1, 10**30)  # half of the digits of an interval


def _same(one: L, other: Loss) -> L:
    """`other`, if it is in the measure of `one`."""
    if isinstance(other, type(one)):
        return other
    raise Refusal(f"{one} and {other} are kept in two measures", hint="a custodian can give you another")


def within(spent: L, total: L) -> L:
    """`spent`, if it is known to be no more than `total`."""
    if spent <= total:
        return spent
    raise Refusal(f"{spent} is not within {total}", hint="ask for less, or a new budget")


def ln(x: Fraction) -> float:
    """For a guess or a choice, also of an x > 0 that no float can hold."""
    return math.log(x.numerator) - math.log(x.denominator)


def best_order(objective: Callable[[float], float]) -> Fraction:
    """A rational order α > 1 that nearly minimises `objective`. Any α proves a bound, so floats may choose it."""
    low, high = math.log(1e-6), math.log(1e15)  # of α − 1
    for _ in range(200):
        a, b = low + (high - low) / 3, high - (high - low) / 3
        if objective(1 + math.exp(a)) <= objective(1 + math.exp(b)):
            high = b
        else:
            low = a
    excess = Fraction(math.exp(low)).limit_denominator(10**9)
    return 1 + max(excess, Fraction(1, 10**6))


@dataclass(frozen=True)
class AddRemove:
    """Neighbours differ by all rows of one unit, present in one data set and absent from the other."""

    unit: str = "row"


@dataclass(frozen=True)
class Replace:
    """Neighbours have the same number of units and differ in the rows of one. The number of units is public."""

    unit: str = "row"


Neighbours = AddRemove | Replace


@dataclass(frozen=True)
class Guarantee(Generic[L]):
    """A loss and the neighbours for which it is promised: a whole sentence."""

    loss: L
    neighbours: Neighbours

    def under(self, neighbours: Neighbours) -> Guarantee[L]:
        """The same mechanism's promise for other neighbours, where one follows (SOUNDNESS 2)."""
        if neighbours == self.neighbours:
            return self
        if neighbours.unit != self.neighbours.unit:
            raise Refusal(
                f"a promise about one {self.neighbours.unit!r} says nothing about one {neighbours.unit!r}",
                hint="bound the rows of a unit and use .group",
            )
        if isinstance(self.neighbours, AddRemove):  # replacing is removing, then adding
            return Guarantee(self.loss.group(2), neighbours)
        raise Refusal(
            f"a promise for replacing one {neighbours.unit} says nothing about adding or removing one",
            hint="sample or pad the rows to a public number, or make the budget's own relation Replace",
        )

    def __add__(self, other: Guarantee[L]) -> Guarantee[L]:
        return Guarantee(self.loss + other.under(self.neighbours).loss, self.neighbours)

    def __rmul__(self, times: int) -> Guarantee[L]:
        return Guarantee(times * self.loss, self.neighbours)


def parallel(*guarantees: Guarantee[L]) -> Guarantee[L]:
    """Mechanisms on disjoint parts, where each unit lies in one part: the largest loss (McSherry 2009, Theorem 4).

    True under add/remove only: replacing a unit may move it from one part to another (SOUNDNESS 3).
    """
    if not guarantees:
        raise Refusal("parallel composition needs at least one guarantee, got none")
    first = guarantees[0]
    for guarantee in guarantees:
        if not isinstance(guarantee.neighbours, AddRemove) or guarantee.neighbours != first.neighbours:
            raise Refusal(
                f"parallel composition is true for add/remove neighbours of one unit only, got {guarantee.neighbours}",
                hint="add the losses instead",
            )
        if first.loss <= guarantee.loss:
            first = guarantee
    if not all(guarantee.loss <= first.loss for guarantee in guarantees):
        losses = ", ".join(str(guarantee.loss) for guarantee in guarantees)
        raise Refusal(
            f"no one of these losses is the largest: {losses}", hint="convert them to one number each, or add them"
        )
    return first
