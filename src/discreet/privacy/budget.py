"""A budget is a loss not yet used: check first, then spend, never refund."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import reduce
from typing import Generic, TypeVar

from discreet.errors import OverBudget
from discreet.privacy.loss import FilterLoss
from discreet.privacy.neighbours import AddRemove, Guarantee, Neighbours

F = TypeVar("F", bound=FilterLoss)

_HINT = "ask for less, or a new budget"


@dataclass(frozen=True)
class Budget(Generic[F]):
    """What may be lost in all, what is lost already, and for which neighbours.

    Guarantee: if every mechanism is charged before it runs, everything released together loses at most `total`, also
        when each mechanism and its price are chosen after seeing the earlier answers.
    Proof: the measures that type-check here have a composition theorem for sums under adaptive choice, named at their
        `fills` and proved in docs/proofs/filters.md; a refused charge runs nothing.
    """

    total: F
    spent: F
    neighbours: Neighbours

    def __post_init__(self) -> None:
        if not self.spent <= self.total:
            raise OverBudget(f"{self.spent} is spent of {self.total}", hint=_HINT)

    @classmethod
    def of(cls, total: F, neighbours: Neighbours | None = None) -> Budget[F]:
        """A budget of which nothing is spent."""
        return cls(total, 0 * total, neighbours or AddRemove())

    @property
    def left(self) -> F:
        """What may still be lost."""
        return self.total.less(self.spent)

    def spend(self, guarantee: Guarantee[F]) -> Budget[F]:
        """The budget after this charge; refuses without spending anything if it does not fit."""
        loss = guarantee.under(self.neighbours).loss
        after = self.spent + loss
        if not after <= self.total:
            raise OverBudget(
                f"{loss} on top of {self.spent} exceeds {self.total}", hint="ask for less, or a new budget"
            )
        return replace(self, spent=after)


def balance(budget: Budget[F], entries: Iterable[Guarantee[F]]) -> Budget[F]:
    """The budget after the entries, in order."""
    return reduce(lambda rest, entry: rest.spend(entry), entries, budget)
