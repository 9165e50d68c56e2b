"""A budget is a loss not yet used: check first, then spend, never refund."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import reduce
from typing import Generic, TypeVar

from discreet.errors import OverBudget, Refusal
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
    Proof: the measures that are taken here, by the type checker and when the program runs, have a composition theorem
        for sums under adaptive choice, named at their `fills` and proved in docs/proofs/filters.md; a refused charge
        runs nothing.
    """

    total: F
    spent: F
    neighbours: Neighbours

    def __post_init__(self) -> None:
        fillable(self.total, "a budget")
        alike(self.spent, self.total, "this budget")
        if not self.spent <= self.total:
            name, spent, total = _beyond(self.spent, self.total, self.total)
            raise OverBudget(f"{name} {spent} is spent of {total}", hint=_HINT)

    @classmethod
    def of(cls, total: F, neighbours: Neighbours | None = None) -> Budget[F]:
        """A budget of which nothing is spent."""
        fillable(total, "a budget")
        return cls(total, 0 * total, neighbours or AddRemove())

    @property
    def left(self) -> F:
        """What may still be lost."""
        return self.total.less(self.spent)

    def spend(self, guarantee: Guarantee[F]) -> Budget[F]:
        """The budget after this charge; refuses without spending anything if it does not fit."""
        loss = charged(guarantee, self.total, self.neighbours, "this budget")
        after = self.spent + loss
        if not after <= self.total:
            name, price, left, total = _beyond(loss, self.left, self.left, self.total)
            raise OverBudget(f"this costs {name} {price}, and {left} of {total} is left", hint=_HINT)
        return replace(self, spent=after)


def fillable(loss: object, place: str) -> None:
    """Refuse a measure whose sums are not proven when each next price is chosen after seeing answers (SOUNDNESS 6)."""
    if not callable(getattr(type(loss), "fills", None)):
        raise Refusal(
            f"{place} is not kept in {type(loss).__name__}: nothing is proven of its sums when the next price is chosen"
            " after seeing answers",
            hint="use Pure, Approximate, Concentrated or Gaussian; convert() turns other losses into these",
        )


def alike(loss: object, kept: object, place: str) -> None:
    """Refuse a loss in another measure than a place is kept in."""
    if type(loss) is not type(kept):
        ours, theirs = type(kept).__name__, type(loss).__name__
        raise Refusal(f"{place} is kept in {ours}, got a loss in {theirs}", hint=f"convert(loss, {ours}) may turn it")


def charged(guarantee: Guarantee[F], kept: F, neighbours: Neighbours, place: str) -> F:
    """What a guarantee costs in a place that is kept in this measure, for these neighbours. Only whole sentences do."""
    if not isinstance(guarantee, Guarantee):
        raise Refusal(
            f"expected a Guarantee, a loss with the neighbours that it is promised for, got {guarantee}",
            hint="write Guarantee(loss, AddRemove('person')), or whatever the mechanism's neighbours are",
        )
    alike(guarantee.loss, kept, place)
    return guarantee.under(neighbours).loss


def _beyond(loss: F, most: F, *told: F) -> tuple[str, ...]:
    """The first number of a loss that is more than in another: its name, itself, and what it is in those told."""
    parts = list(vars(loss))
    name = next((part for part in parts if vars(loss)[part] > vars(most)[part]), parts[0])
    return name, *(spoken(vars(each)[name]) for each in (loss, *told))


def balance(budget: Budget[F], entries: Iterable[Guarantee[F]]) -> Budget[F]:
    """The budget after the entries, in order."""
    return reduce(lambda rest, entry: rest.spend(entry), entries, budget)
