"""A budget is a loss not yet used: check first, then spend, never refund."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import reduce
from typing import Generic, TypeVar

from discreet.errors import OverBudget
from discreet.exact import spoken
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
            name, spent, total = _beyond(self.spent, self.total, self.total)
            raise OverBudget(f"{name} {spent} is spent of {total}", hint=_HINT)

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
            name, price, left, total = _beyond(loss, self.left, self.left, self.total)
            raise OverBudget(f"this costs {name} {price}, and {left} of {total} is left", hint=_HINT)
        return replace(self, spent=after)


def _beyond(loss: F, most: F, *told: F) -> tuple[str, ...]:
    """The first number of a loss that is more than in another: its name, itself, and what it is in those told."""
    parts = list(vars(loss))
    name = next((part for part in parts if vars(loss)[part] > vars(most)[part]), parts[0])
    return name, *(spoken(vars(each)[name]) for each in (loss, *told))


def balance(budget: Budget[F], entries: Iterable[Guarantee[F]]) -> Budget[F]:
    """The budget after the entries, in order."""
    return reduce(lambda rest, entry: rest.spend(entry), entries, budget)
