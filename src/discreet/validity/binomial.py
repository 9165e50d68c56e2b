"""Private test of a share among a public number of people."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from discreet.declared.table import Outline
from discreet.errors import Refusal
from discreet.exact import ONE, count, positive, probability, share, shown
from discreet.mechanisms import Column, Frame, Pair, Tulap
from discreet.mechanisms.mechanism import settle
from discreet.mechanisms.private_rows import Relation
from discreet.mechanisms.registry import registered
from discreet.noise import SECURE, Entropy
from discreet.privacy import AddRemove, Approximate, Neighbours, Pure, Replace
from discreet.validity.private_tests import OfPeople, TestResult, key_place

_SIDES = ("greater", "less", "two-sided")
_MOST = 10**6  # people: the law of the count is summed over all of them


@registered("binomial-test")
@dataclass(frozen=True)
class BinomialTest(OfPeople):
    """Whether more than a share of people have a key, of `people` who are a public number, or fewer, or not as many.

    Guarantee: Pure(epsilon), or Approximate(epsilon, delta), when one person is added, removed or replaced. If exactly
        `people` rows are independent and have the key with the same probability, the p-value is valid. One-sided, no
        test of this as private is more powerful, but for the grid of the noise.
    Proof: docs/proofs/private-tests.md, "Shares"; docs/proofs/tulap.md.
    Source: Awan & Slavković 2018.
    """

    column: str
    key: str
    share: Fraction
    people: int
    epsilon: Fraction
    delta: Fraction = Fraction(0)
    alternative: str = "greater"
    max_rows: int = 1
    neighbours: Neighbours = AddRemove()

    def __post_init__(self) -> None:
        settle(
            self,
            share=share(self.share, "share"),
            people=count(self.people, "people"),
            epsilon=positive(self.epsilon, "epsilon"),
            delta=probability(self.delta, "delta"),
            neighbours=self.neighbours,
        )
        self._refuse_many()
        if self.alternative not in _SIDES:
            raise Refusal(f"expected alternative as one of {', '.join(_SIDES)}, got {shown(self.alternative)}")
        self.noise  # noqa: B018  # which refuses an ε beyond all sense
        if self.people > _MOST:
            raise Refusal(f"expected at most {_MOST} people, got {self.people}", hint="take chi-square-test")

    @cached_property
    def noise(self) -> Tulap:
        """The law of the noise; the number of people is public, whoever they are."""
        return Tulap(self.epsilon, self.delta, neighbours=Replace())

    @property
    def privacy(self) -> Pure | Approximate:
        """ε, and δ if there is one."""
        return Approximate(self.epsilon, self.delta) if self.delta else Pure(self.epsilon)

    @property
    def columns_read(self) -> tuple[str, ...]:
        """The one with the key."""
        return (self.column,)

    def refuse_unfit(self, known: Outline) -> None:
        """Where the key is not declared."""
        key_place(known, self.column, self.key)

    def __call__(self, relation: Relation, /, *, rng: Entropy = SECURE) -> TestResult:
        """The p-value. Spends `privacy`."""
        place = key_place(relation, self.column, self.key)
        released = self.noise(int(relation.counts([self.column])[place]), rng=rng)
        greater = less = ONE
        if self.alternative != "less":
            greater = self.noise.p_value(released, self.people, self.share)
        if self.alternative != "greater":
            less = self.noise.p_value(self.people - released, self.people, 1 - self.share)
        twice = 2 if self.alternative == "two-sided" else 1
        p_value = min(ONE, twice * min(greater, less))
        return TestResult(float(p_value), float(released), f"people with {self.column} = {self.key}")

    def pairs(self) -> tuple[Pair[Frame], ...]:
        """One person with the key, or none."""
        return (Pair(_frame(self, 1), _frame(self, 2), "one person more with the key"),)


def _frame(test: BinomialTest, size: int) -> Frame:
    held: dict[str, Any] = {"person": list(range(size)), test.column: [test.key] * size}
    column = Column(test.column, keys=(test.key, f"not {test.key}"))
    if isinstance(test.neighbours, Replace):
        held = {"person": [0, 1], test.column: [test.key] * size + [f"not {test.key}"] * (2 - size)}
    return Frame.of(held, column, unit="person", max_rows=1, neighbours=test.neighbours)
