"""Which two data sets a promise compares. A loss means nothing without it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from discreet.errors import Refusal
from discreet.privacy.loss import Loss

L = TypeVar("L", bound=Loss)


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
            "a promise for replacing one unit says nothing about adding or removing one",
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
        raise Refusal("no one of these losses is the largest", hint="convert them to one number each, or add them")
    return first
