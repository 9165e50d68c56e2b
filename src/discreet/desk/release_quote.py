"""A release before it is paid for: what it would cost, and how exact it would be."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from discreet.curator.explain import said
from discreet.curator.run import Offer
from discreet.errors import Refusal
from discreet.ledger.entry import BudgetLoss
from discreet.mechanisms import Bins, described
from discreet.mechanisms.mechanism import USUAL
from discreet.release import PrivateBins, Publication, Release
from discreet.release.bins import written
from discreet.release.other_cell import IN_OTHER, LEFT_OUT

# What the error of a mechanism is about, by its name; of all others it is about the total, and ranges are known later.
_MEASURED = {
    "identity": "one cell",
    "hierarchy": "the cells up to any one",
    "wavelet": "the cells up to any one",
    "fourier-marginals": "one cell of any table",
    "residual-marginals": "one cell of any table",
}
_ELSE = "the total of all cells"
_LATER = "any count"  # where it depends on the data how exact it will be
KNOWN_LATER = "known after paying"
OUTSIDE = {
    IN_OTHER: "whose value is missing, no declared key or in no bin are counted as (other), in every table",
    LEFT_OUT: "whose value is missing, no declared key or in no bin in any of the columns are left out of everything",
}


@dataclass(frozen=True)
class Offered:
    """What a release would be. Nothing of it depends on a row.

    The count of what `about` names is within `error` with probability 0.95, before what bounds and caps cut off. An
    error of None is known after paying. `outside` says what becomes of rows that are in no cell of a column, `steps` to
    what the numbers of a column are rounded before they are put into bins.
    """

    population: str
    price: BudgetLoss
    left: BudgetLoss
    cells: int
    error: Fraction | None
    about: str
    tables: tuple[tuple[str, ...], ...]  # the columns of each
    outside: str
    entry: int | None  # that holds it, if it was paid for before: then it is free
    steps: tuple[tuple[str, str], ...] = ()  # (column, step) of each that has bins

    def __str__(self) -> str:
        free = "" if self.entry is None else f", and free now: entry {self.entry} holds it"
        tables = ", ".join(" by ".join(names) for names in self.tables)
        return "\n".join(
            (
                f"price {said(self.price)}{free}",
                f"left {said(self.left)} of {self.population}",
                f"cells {self.cells} of {tables}",
                f"error {self.about}: {self.exactness}",
                f"rows {OUTSIDE[self.outside]}",
                *([f"bins {stepped(self.steps)}"] if self.steps else []),
            )
        )

    @property
    def exactness(self) -> str:
        """How exact what `about` names will be, in words."""
        return KNOWN_LATER if self.error is None else f"within {roughly(self.error)} at {float(USUAL):g}"


def offered(found: Offer[Release], left: BudgetLoss) -> Offered:
    """The public side of an offer, and what is left of the budget that would pay."""
    mechanism, population = found.run.mechanism, found.run.outline.population.name
    if not isinstance(mechanism, Publication):
        raise Refusal("this offer is of no release")
    inner = mechanism.mechanism
    name = inner.method if isinstance(inner, PrivateBins) else str(described(inner)["name"])
    bound = mechanism.error()
    error, about = (None, _LATER) if bound is None else (Fraction(bound), _MEASURED.get(name, _ELSE))
    size, rest = mechanism.cells, (mechanism.tables, mechanism.outside, found.entry, steps_of(mechanism))
    return Offered(population, found.run.loss, left, size, error, about, *rest)


def steps_of(what: Publication) -> tuple[tuple[str, str], ...]:
    """The step of each column that is cut into bins."""
    both = zip(what.columns, what.axes, strict=True)
    return tuple((col.name, written(col.grid.step)) for col, axis in both if isinstance(axis, Bins) and col.grid)


def stepped(steps: Sequence[tuple[str, str]]) -> str:
    """What becomes of numbers before they are put into bins."""
    told = ", ".join(f"{name} to steps of {step}" for name, step in steps)
    return f"take numbers that are held within the declared bounds and rounded: {told}"


def roughly(error: Fraction) -> str:
    """An error in three digits, rounded up."""
    if error >= 100:
        return str(math.ceil(error))
    scale = 10 ** (3 - len(str(math.ceil(error)))) if error >= 1 else 1000
    return f"{math.ceil(error * scale) / scale:g}"
