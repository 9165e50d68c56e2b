"""What a release would be: its cells, its error, and the price tag it shares with questions."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from discreet.console.prices import Purse, Tag, Wish, above, purse_of
from discreet.console.release_form.draft import Blueprint
from discreet.curator.run import Offer
from discreet.desk import Desk, ReleaseOrder, Visitor
from discreet.desk.publisher import mechanism_of
from discreet.errors import Refusal
from discreet.privacy import Concentrated
from discreet.release import Release, kinds

_PART = 10  # of the budget, if nobody names a price
_STEPS = 16  # towards an error that somebody wants
_NEAR, _FAR = Fraction(19, 20), Fraction(1, 1000)  # how much a price is lowered at once, at least and at most
_NAME = f"name a price instead, or choose the kind {kinds()[0].name}"


@dataclass(frozen=True)
class Quotation:
    """An order, with everything that is said before it is paid."""

    order: ReleaseOrder
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
    mechanism = mechanism_of(offer)
    preview, error = mechanism.preview, mechanism.error(confidence)
    columns = ((preview.about, None if error is None else Fraction(error)),)
    due = None if offer.entry is not None else offer.run.loss
    tag = Tag(order.sql, {}, offer.run.loss, due, purse.total.at(usual), purse, columns, _lines(offer))
    return Quotation(order, tag, preview.cells, len(preview.tables), offer.entry)


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


def _lines(offer: Offer[Release]) -> tuple[str, ...]:
    """What is measured, for experts."""
    mechanism = mechanism_of(offer)
    most = f"at most {mechanism.caps.rows:,} rows of one {mechanism.neighbours.unit}"
    return (
        f"mechanism {mechanism.preview.method}, {most}",
        f"selected: {offer.run.sql}",
        *mechanism.preview.lines,
    )
