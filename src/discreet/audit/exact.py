"""Where outputs are few, a promise is not sampled but worked out: every probability and every ratio, exactly."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeAlias

from discreet.audit.claim import Pairs, named, points
from discreet.errors import Refusal
from discreet.exact import ZERO, spoken
from discreet.interval_arithmetic import Interval, exp
from discreet.mechanisms.mechanism import Pair
from discreet.privacy.divergence import Channel
from discreet.privacy.loss import Approximate, Loss, Pure

Chance: TypeAlias = Fraction | Interval  # exact, or enclosed
Law: TypeAlias = Mapping[Any, Chance]
CURVE = 1 << 20  # samples that the points of a curve would be chosen for


@dataclass(frozen=True)
class Enumeration:
    """The exact loss over some pairs of neighbours, and what it says about a claim.

    Guarantee: `epsilon` encloses the largest |ln(Pr[y | x] / Pr[y | x'])| over all outputs y and these pairs; it is
        None if that is infinite. `kept` is True only if the claim holds on these pairs, and False only if it does not;
        it is None where enclosures are too wide to tell, or where a curve holds at every point tried.
    """

    claim: Loss | None
    epsilon: Interval | None
    kept: bool | None
    pair: Pair[Any]
    output: Hashable

    @property
    def attained(self) -> bool:
        """Whether the claimed ε is the exact one, as far as the enclosure can tell."""
        if self.epsilon is None or not isinstance(self.claim, Pure):
            return False
        return self.epsilon.down <= self.claim.epsilon <= self.epsilon.up

    def __str__(self) -> str:
        size = "infinite" if self.epsilon is None else f"ε = {spoken(self.epsilon.up)}"
        known = {True: "kept", False: "broken", None: "attained" if self.attained else "not decided"}[self.kept]
        claimed = "" if self.claim is None else f"; {self.claim} is {known} on these pairs"
        return f"exact loss: {size}, at output {self.output!r} for {self.pair.why}{claimed}"


def enumerated(
    law: Channel[Any, Any] | Callable[[Any], Law | Sequence[Chance]],
    pairs: Pairs,
    claim: Loss | None = None,
) -> Enumeration:
    """Work out the loss of a mechanism from the probability of every output, for every pair, both ways.

    `law` is a finite channel, or a function from an input to the probabilities of all outputs, by output or in order:
    rationals, or intervals where they are irrational. What is missing has probability 0, so no law may be cut off.
    """
    table = law.__getitem__ if isinstance(law, Channel) else law
    known = named(pairs)
    laws = [(_checked(table(pair.left), pair.left), _checked(table(pair.right), pair.right)) for pair in known]
    sizes = [(size, pair, y) for pair, (p, q) in zip(known, laws, strict=True) for y, size in _losses(p, q).items()]
    finite = [size for size, _, _ in sizes if size is not None]
    epsilon = _largest(finite) if len(finite) == len(sizes) else None
    _, pair, output = max(sizes, key=lambda entry: _rank(entry[0]))
    return Enumeration(claim, epsilon, None if claim is None else _kept(claim, epsilon, laws), pair, output)


def _checked(given_law: Law | Sequence[Chance], given: object) -> Law:
    law = given_law if isinstance(given_law, Mapping) else dict(enumerate(given_law))
    total = sum((_enclosed(p) for p in law.values()), Interval.of(0))
    if not total.low <= 1 <= total.high or any(_enclosed(p).low < 0 for p in law.values()):
        raise Refusal(f"the probabilities on {given!r} must sum to 1, got about {float(total.up):.6g}")
    return law


def _enclosed(chance: Chance) -> Interval:
    return chance if isinstance(chance, Interval) else Interval.of(chance)


def _losses(p: Law, q: Law) -> dict[Any, Interval | None]:
    return {y: _distance(_enclosed(p.get(y, ZERO)), _enclosed(q.get(y, ZERO))) for y in (*p, *q)}


def _distance(p: Interval, q: Interval) -> Interval | None:
    """|ln(p/q)|; None if one of them is 0 and the other is not."""
    if p.high == 0 or q.high == 0:
        return Interval.of(0) if p.high == q.high else None
    if p.low <= 0 or q.low <= 0:
        raise Refusal(f"a probability may be 0 and may be positive: {p} or {q}", hint="enclose it more tightly")
    size = (p / q).log()
    return size if size.low >= 0 else -size if size.high <= 0 else Interval(Decimal(0), max(size.high, -size.low))


def _rank(size: Interval | None) -> tuple[bool, Decimal]:
    return (True, Decimal(0)) if size is None else (False, size.high)


def _largest(sizes: list[Interval]) -> Interval:
    return Interval(max(size.low for size in sizes), max(size.high for size in sizes))


def _kept(claim: Loss, epsilon: Interval | None, laws: list[tuple[Law, Law]]) -> bool | None:
    if isinstance(claim, Pure):
        if epsilon is None or epsilon.down > claim.epsilon:
            return False
        return True if epsilon.up <= claim.epsilon else None
    verdicts = [_at(laws, point.epsilon, point.delta) for point in points(claim, CURVE)]
    if False in verdicts:
        return False
    return True if isinstance(claim, Approximate) and verdicts == [True] else None


def _at(laws: list[tuple[Law, Law]], epsilon: Fraction, delta: Fraction) -> bool | None:
    """Whether Σ max(0, p − e^ε q) ≤ δ for all laws, both ways."""
    low, high = ZERO, ZERO
    for one, other in laws:
        for p, q in ((one, other), (other, one)):
            gaps = [_enclosed(a) - exp(epsilon) * _enclosed(q.get(y, ZERO)) for y, a in p.items()]
            low = max(low, sum((max(ZERO, gap.down) for gap in gaps), ZERO))
            high = max(high, sum((max(ZERO, gap.up) for gap in gaps), ZERO))
    return True if high <= delta else False if low > delta else None
