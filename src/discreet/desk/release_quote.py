"""Quote of a release before it is paid for: what it would cost, and how exact it would be."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import cast

from discreet.curator.explain import said
from discreet.curator.run import Offer
from discreet.ledger.entry import BudgetLoss, Plain
from discreet.mechanisms.mechanism import USUAL
from discreet.release import Release
from discreet.release.kind import Preview, ReleaseMechanism

KNOWN_LATER = "known after paying"


@dataclass(frozen=True)
class Offered:
    """What a release would be. Nothing of it depends on a row.

    What `preview` is about is within `error` with probability 0.95, before what bounds and caps cut off. An error of
    None is known after paying.
    """

    population: str
    price: BudgetLoss
    left: BudgetLoss
    error: Fraction | None
    entry: int | None  # that holds it, if it was paid for before: then it is free
    preview: Preview

    def __str__(self) -> str:
        free = "" if self.entry is None else f", and free now: entry {self.entry} holds it"
        tables = ", ".join(" by ".join(names) for names in self.preview.tables)
        return "\n".join(
            (
                f"price {said(self.price)}{free}",
                f"left {said(self.left)} of {self.population}",
                f"cells {self.preview.cells} of {tables}",
                f"error {self.preview.about}: {self.exactness}",
                *self.preview.lines,
            )
        )

    @property
    def exactness(self) -> str:
        """How exact what it is about will be, in words."""
        return KNOWN_LATER if self.error is None else f"within {roughly(self.error)} at {float(USUAL):g}"

    @property
    def facts(self) -> Mapping[str, Plain]:
        """Its size and what its kind says of itself, as JSON can hold it."""
        tables: list[Plain] = [list(names) for names in self.preview.tables]
        return {"cells": self.preview.cells, **self.preview.facts, "tables": tables}


def offered(offer: Offer[Release], left: BudgetLoss) -> Offered:
    """The public side of an offer, and what is left of the budget that would pay."""
    mechanism, population = mechanism_of(offer), offer.run.outline.population.name
    bound = mechanism.error()
    error = None if bound is None else Fraction(bound)
    return Offered(population, offer.run.loss, left, error, offer.entry, mechanism.preview)


def mechanism_of(offer: Offer[Release]) -> ReleaseMechanism:
    """The mechanism of an offer that a publisher made: those of releases are all it takes."""
    return cast("ReleaseMechanism", offer.run.mechanism)


def roughly(error: Fraction) -> str:
    """An error in three digits, rounded up."""
    if error >= 100:
        return str(math.ceil(error))
    scale = 10 ** (3 - len(str(math.ceil(error)))) if error >= 1 else 1000
    return f"{math.ceil(error * scale) / scale:g}"
