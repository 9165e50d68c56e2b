"""Mechanisms with finitely many inputs and outputs, whose promises can be worked out instead of believed.

>>> from fractions import Fraction
>>> classroom = Channel(
...     {  # answer truly on heads; on tails toss again and let that coin answer
...         "yes": {"yes": Fraction(3, 4), "no": Fraction(1, 4)},
...         "no": {"yes": Fraction(1, 4), "no": Fraction(3, 4)},
...     }
... )
>>> classroom.ratio([("yes", "no")])  # so ε = ln 3
Fraction(3, 1)
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Generic, TypeVar

from discreet.errors import Refusal
from discreet.exact import ZERO, Number, exact, nonnegative, shown
from discreet.interval_arithmetic import Interval, exp, log

X = TypeVar("X", bound=Hashable)
Y = TypeVar("Y", bound=Hashable)
Z = TypeVar("Z", bound=Hashable)

_BEYOND = 10**12  # an ε whose e^ε exceeds every ratio of two probabilities that anyone can write
_HIGHEST = 10**12  # an order at which the divergence is the largest one to every digit


@dataclass(frozen=True, init=False, eq=False)
class Channel(Generic[X, Y]):
    """For each input a probability law over the outputs, in exact numbers that sum to 1."""

    rows: Mapping[X, Mapping[Y, Fraction]]

    def __init__(self, rows: Mapping[X, Mapping[Y, Number]]) -> None:
        laws = {given: MappingProxyType(law(chances, f"the row of {given!r}")) for given, chances in rows.items()}
        object.__setattr__(self, "rows", MappingProxyType(laws))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Channel) and dict(self.rows) == dict(other.rows)

    def __hash__(self) -> int:
        return hash(frozenset((given, frozenset(row.items())) for given, row in self.rows.items()))

    def then(self, after: Channel[Y, Z]) -> Channel[X, Z]:
        """Post-processing: the output is the input of `after`, which sees nothing else."""
        return Channel({given: _mixed((p, after[y]) for y, p in row.items()) for given, row in self.rows.items()})

    def beside(self, other: Channel[X, Z]) -> Channel[X, tuple[Y, Z]]:
        """Composition: both run on the same input, with coins of their own."""
        return Channel({
            given: {(y, z): p * q for y, p in row.items() for z, q in other[given].items()}
            for given, row in self.rows.items()
        })  # fmt: skip

    def __getitem__(self, given: X) -> Mapping[Y, Fraction]:
        if given not in self.rows:
            raise Refusal(f"the channel has no input {given!r}", hint=f"its inputs are {list(self.rows)}")
        return self.rows[given]

    def ratio(self, pairs: Iterable[tuple[X, X]]) -> Fraction | None:
        """The largest Pr[y | x] / Pr[y | x'] over pairs of neighbours, both ways; None if none is large enough."""
        ratios = [max_ratio(self[a], self[b]) for one, other in pairs for a, b in ((one, other), (other, one))]
        known = [ratio for ratio in ratios if ratio is not None]
        return max([Fraction(1), *known]) if len(known) == len(ratios) else None

    def epsilon(self, pairs: Iterable[tuple[X, X]]) -> Interval | None:
        """The exact pure loss over these pairs of neighbours, enclosed; None if it is infinite."""
        ratio = self.ratio(pairs)
        return None if ratio is None else log(ratio)

    def delta_at(self, epsilon: Number, pairs: Iterable[tuple[X, X]]) -> Fraction:
        """The exact δ at this ε over these pairs of neighbours, both ways, rounded up."""
        both = ((a, b) for one, other in pairs for a, b in ((one, other), (other, one)))
        return max((delta_at(self[a], self[b], epsilon) for a, b in both), default=ZERO)


def law(chances: Mapping[Y, Number], name: str = "the law") -> dict[Y, Fraction]:
    """Probabilities read exactly, without the zeros, if they sum to 1."""
    exactly = {y: nonnegative(p, f"Pr[{y!r}]") for y, p in chances.items()}
    if sum(exactly.values()) != 1:
        raise Refusal(
            f"{name} must sum to 1, got {shown(sum(exactly.values(), ZERO), str)}",
            hint="write thirds as Fraction(1, 3)",
        )
    return {y: p for y, p in exactly.items() if p}


def max_ratio(p: Mapping[Y, Fraction], q: Mapping[Y, Fraction]) -> Fraction | None:
    """The largest p(y)/q(y), exactly; None if q misses something that p allows."""
    pairs = list(_supported(p, q))
    return None if any(b == 0 for _, b in pairs) else max((a / b for a, b in pairs), default=Fraction(1))


def max_divergence(p: Mapping[Y, Fraction], q: Mapping[Y, Fraction]) -> Interval | None:
    """The logarithm of the largest ratio: the ε of pure privacy, one way. None if it is infinite."""
    ratio = max_ratio(p, q)
    return None if ratio is None else log(ratio)


def hockey_stick(p: Mapping[Y, Fraction], q: Mapping[Y, Fraction], ratio: Number) -> Fraction:
    """Σ max(0, p(y) − ratio · q(y)), exactly: the δ at ε = ln ratio, one way (Barthe & Olmedo 2013)."""
    factor = nonnegative(ratio, "ratio")
    return sum((max(ZERO, a - factor * b) for a, b in _supported(p, q)), ZERO)


def delta_at(p: Mapping[Y, Fraction], q: Mapping[Y, Fraction], epsilon: Number) -> Fraction:
    """The hockey-stick divergence at e^ε, one way, rounded up: it falls with the ratio, and ours is rounded down."""
    return hockey_stick(p, q, exp(min(nonnegative(epsilon, "epsilon"), Fraction(_BEYOND))).down)


def kl(p: Mapping[Y, Fraction], q: Mapping[Y, Fraction]) -> Interval | None:
    """Σ p(y) ln(p(y)/q(y)): the mean privacy loss (Kullback & Leibler 1951). None if it is infinite."""
    pairs = list(_supported(p, q))
    if any(b == 0 for _, b in pairs):
        return None
    return sum((a * log(a / b) for a, b in pairs), Interval.of(0))


def renyi_divergence(p: Mapping[Y, Fraction], q: Mapping[Y, Fraction], alpha: Number) -> Interval | None:
    """ln(Σ p(y)^α q(y)^(1−α)) / (α − 1) for α > 1 (Rényi 1961). None if it is infinite."""
    order = exact(alpha, "alpha")
    if order <= 1:
        raise Refusal(
            f"expected alpha > 1, got alpha={shown(alpha, str)}", hint="at 1 it is kl, at infinity max_divergence"
        )
    if order > _HIGHEST:
        raise Refusal(f"expected alpha <= 1e12, got alpha={shown(alpha, str)}", hint="at infinity it is max_divergence")
    pairs = list(_supported(p, q))
    if any(b == 0 for _, b in pairs):
        return None
    return sum((a * ((order - 1) * log(a / b)).exp() for a, b in pairs), Interval.of(0)).log() / (order - 1)


def privacy_loss(p: Mapping[Y, Fraction], q: Mapping[Y, Fraction]) -> dict[Fraction | None, Fraction]:
    """The law of p(y)/q(y) for y drawn from p, whose logarithm is the privacy loss; None stands for an infinite one."""
    losses: dict[Fraction | None, Fraction] = {}
    for a, b in _supported(p, q):
        ratio = a / b if b else None
        losses[ratio] = losses.get(ratio, ZERO) + a
    return losses


def _supported(p: Mapping[Y, Fraction], q: Mapping[Y, Fraction]) -> Iterator[tuple[Fraction, Fraction]]:
    return ((a, q.get(y, ZERO)) for y, a in p.items() if a)


def _mixed(parts: Iterable[tuple[Fraction, Mapping[Y, Fraction]]]) -> dict[Y, Fraction]:
    total: dict[Y, Fraction] = {}
    for weight, chances in parts:
        for y, p in chances.items():
            total[y] = total.get(y, ZERO) + weight * p
    return total
