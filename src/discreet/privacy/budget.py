"""A budget is a loss not yet used: check first, then spend, never refund."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import reduce
from typing import Generic, TypeVar

from discreet.errors import OverBudget, Refusal
from discreet.exact import count, spoken
from discreet.privacy.loss import Concentrated, FilterLoss
from discreet.privacy.neighbours import AddRemove, Guarantee, Neighbours

F = TypeVar("F", bound=FilterLoss)

_HINT = "ask for less, or a new budget"


@dataclass(frozen=True)
class Budget(Generic[F]):
    """What may be lost in all, what is lost already, and for which neighbours.

    Guarantee: if every mechanism is charged before it runs, everything released together loses at most `total`, also
        when each mechanism and its price are chosen after seeing the earlier answers. One that stays open and is asked
        in turns with others is charged whole by `open`, and `close` says that it answers no more.
    Proof: the measures that type-check here have a composition theorem for sums under adaptive choice, named at their
        `fills` and proved in docs/proofs/filters.md; a refused charge runs nothing. For mechanisms asked in turns the
        theorem is that of Haney et al. 2023 for filters; it does not speak of zCDP with a δ, which is refused there.
    """

    total: F
    spent: F
    neighbours: Neighbours
    sessions: int = 0  # interactive mechanisms that are open

    def __post_init__(self) -> None:
        count(self.sessions, "sessions", least=0)
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
        if self.sessions and not _interleaves(loss):
            raise Refusal(
                f"this costs delta {spoken(vars(loss)['delta'])}, and beside an open session only charges without a "
                "delta are proven for a budget of rho",
                hint="close the session first, or ask what needs no delta",
            )
        after = self.spent + loss
        if not after <= self.total:
            name, price, left, total = _beyond(loss, self.left, self.left, self.total)
            raise OverBudget(f"this costs {name} {price}, and {left} of {total} is left", hint=_HINT)
        return replace(self, spent=after)

    def open(self, guarantee: Guarantee[F]) -> Budget[F]:
        """The budget after the whole price of an interactive mechanism, which from now on may be asked in turns."""
        if not _interleaves(guarantee.under(self.neighbours).loss):
            raise Refusal(
                "a session whose price in rho has a delta is not proven beside other questions",
                hint="open it in a budget of epsilon and delta, or run it whole, without a session",
            )
        return replace(self.spend(guarantee), sessions=self.sessions + 1)

    def close(self) -> Budget[F]:
        """The budget after one open session has given its last answer."""
        if not self.sessions:
            raise Refusal("no session is open in this budget")
        return replace(self, sessions=self.sessions - 1)

    def explain(self, guarantee: Guarantee[F]) -> str:
        """What `spend` would do, in words and without spending."""
        try:
            self.spend(guarantee)
        except Refusal as refusal:
            return f"refused: {refusal.message}"
        return f"this fits: {guarantee.under(self.neighbours).loss} of {self.left} that is left"


def _interleaves(loss: FilterLoss) -> bool:
    """Whether sums of such losses are proven where mechanisms are asked in turns."""
    return not (isinstance(loss, Concentrated) and loss.delta)


def _beyond(loss: F, most: F, *told: F) -> tuple[str, ...]:
    """The first number of a loss that is more than in another: its name, itself, and what it is in those told."""
    parts = list(vars(loss))
    name = next((part for part in parts if vars(loss)[part] > vars(most)[part]), parts[0])
    return name, *(spoken(vars(each)[name]) for each in (loss, *told))


def balance(budget: Budget[F], entries: Iterable[Guarantee[F]]) -> Budget[F]:
    """The budget after the entries, in order."""
    return reduce(lambda rest, entry: rest.spend(entry), entries, budget)
