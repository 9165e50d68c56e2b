"""What a release would be: its cells, its error, and the price tag it shares with questions."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from discreet.console.prices import Purse, Tag, Wish, above, purse_of
from discreet.console.release_form.draft import Blueprint
from discreet.curator.run import Offer
from discreet.desk import Desk, Order, Visitor
from discreet.desk.release_quote import OUTSIDE, stepped, steps_of
from discreet.errors import Refusal
from discreet.mechanisms import described
from discreet.privacy import Concentrated
from discreet.release import PrivateBins, Publication, Release
from discreet.release.method import MARGINALS

_PART = 10  # of the budget, if nobody names a price
_STEPS = 16  # towards an error that somebody wants
_NEAR, _FAR = Fraction(19, 20), Fraction(1, 1000)  # how much a price is lowered at once, at least and at most
_UP_TO = frozenset({"hierarchy", "wavelet"})  # whose error is that of any range that begins at the lowest value
_LATER = frozenset({"automatic", "partition", "uniform-grid", "adaptive-grid"})  # whose error depends on the data
_TOTAL = "all records together"
_NAME = "name a price instead, or choose the kind histogram"


@dataclass(frozen=True)
class Quotation:
    """An order, with everything that is said before it is paid."""

    order: Order
    tag: Tag
    cells: int
    tables: int
    entry: int | None  # of the release that was bought before by the same order

    @property
    def shape(self) -> str:
        """How much is published, in words."""
        cells = f"{self.cells:,} {'cell' if self.cells == 1 else 'cells'}"
        return cells if self.tables == 1 else f"{cells} in {self.tables:,} tables"


def quoted(desk: Desk, visitor: Visitor, plan: Blueprint, wish: Wish) -> Quotation:
    """What is offered for a plan. It blocks, and raises what the desk raises."""
    purse = purse_of(desk, visitor, _population(desk, visitor, plan.table))
    usual = above(purse.total.amount / _PART)
    if wish.price is None and wish.error is not None:
        return _exact_enough(desk, visitor, plan, (wish.error, wish.confidence), (purse, usual))
    return _at(desk, visitor, plan, wish.price or usual, (purse, usual, wish.confidence))


def _population(desk: Desk, visitor: Visitor, name: str) -> str:
    for table in desk.tables(visitor):
        if table.name == name and table.population is not None:
            return table.population
    raise Refusal(f"there is no private table {name!r} that you may ask about")


def _at(
    desk: Desk, visitor: Visitor, plan: Blueprint, price: Fraction, around: tuple[Purse, Fraction, Fraction]
) -> Quotation:
    purse, usual, confidence = around
    order = plan.order(price, purse.total)
    offer = desk.offered(visitor, order)
    what = offer.run.mechanism
    if not isinstance(what, Publication):
        raise TypeError(what)
    error = what.error(confidence)
    columns = ((_of_what(what), None if error is None else Fraction(error)),)
    due = None if offer.entry is not None else offer.run.loss
    tag = Tag(order.sql, {}, offer.run.loss, due, purse.total.at(usual), purse, columns, _lines(offer, what))
    return Quotation(order, tag, what.cells, len(what.tables), offer.entry)


def _exact_enough(
    desk: Desk,
    visitor: Visitor,
    plan: Blueprint,
    wanted: tuple[Fraction, Fraction],
    around: tuple[Purse, Fraction],
) -> Quotation:
    """The cheapest price, but for some digits, whose error is no more than is wanted."""
    (error, confidence), (purse, usual) = wanted, around
    power = 2 if isinstance(purse.total, Concentrated) else 1  # an error falls with ε, or with the root of ρ
    price, rough, good = usual, Fraction(0), None
    for _ in range(_STEPS):
        found = _at(desk, visitor, plan, price, (purse, usual, confidence))
        if found.tag.error is None:
            raise Refusal("how exact this will be is known after paying, so no price can be found for it", hint=_NAME)
        off = found.tag.error / error
        rough, good = (price, good) if off > 1 else (rough, (price, found))
        if good is not None and (Fraction(9, 10) <= off <= 1 or good[0] * _NEAR <= rough):
            break
        price = above(price * max(off if off > 1 else off / _NEAR, _FAR) ** power)
        if good is not None and not rough < price < good[0]:
            price = above((rough + good[0]) / 2)
    return found if good is None else good[1]


def _of_what(what: Publication) -> str:
    """Whose error a mechanism names."""
    if what.kind == MARGINALS:
        return "any cell"
    method = what.mechanism.method if isinstance(what.mechanism, PrivateBins) else _name(what)
    if method == "identity":
        return "each cell"
    if method in _LATER:
        return "any count"
    return "any range from the lowest value" if method in _UP_TO else _TOTAL


def _name(what: Publication) -> str:
    return str(described(what.mechanism)["name"])


def _lines(offer: Offer[Release], what: Publication) -> tuple[str, ...]:
    """What is measured, for experts."""
    return (
        f"mechanism {_name(what)}, at most {what.caps.rows:,} rows of one {what.neighbours.unit}",
        f"rows: {offer.run.sql}",
        f"outside: rows {OUTSIDE[what.outside]}",
        *([f"bins {stepped(steps)}"] if (steps := steps_of(what)) else []),
    )
