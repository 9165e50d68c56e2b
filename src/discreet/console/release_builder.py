"""Page on which a release is made: its price and its error, a rehearsal on made-up rows, and publishing it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

from nicegui import ui

from discreet.console import theme
from discreet.console.layout import Newest, apart, styles, trouble
from discreet.console.pages import Visit
from discreet.console.price_card import Dial, Strip, note, too_little
from discreet.console.prices import PriceWish, Purse, Tag, above, figure, promised, purse_of
from discreet.console.release_form import ReleaseDraft, ReleaseForm
from discreet.console.release_page import address, gallery
from discreet.curator.explain import said
from discreet.curator.run import Offer
from discreet.declared.table import Table
from discreet.desk import Desk, ReleaseOrder, Visitor
from discreet.desk.release_store import mechanism_of
from discreet.errors import Refusal
from discreet.privacy import Concentrated
from discreet.release import Release, kinds

_PAUSE = 0.12  # seconds without a change, after which a price is looked up
_LOOK = 0.6  # seconds that a new price stands before it can be paid
_PART = 10  # of the budget, if nobody names a price
_STEPS = 16  # towards an error that somebody wants
_NEAR, _FAR = Fraction(19, 20), Fraction(1, 1000)  # how much a price is lowered at once, at least and at most
_NAME = f"name a price instead, or choose the kind {kinds()[0].name}"
_NOTHING = "Choose a column, and you see here what it would be."
_PAYS = (
    "It is paid once, before a row is read, and cannot be taken back. Everybody who may ask about the table can then "
    "read the release and compute on it, free."
)


async def workshop(visit: Visit) -> None:
    """Draw it."""
    styles("ask.css")
    theme.tag("a", "← All releases").props('href="/releases"').classes("d-back")
    theme.lead("Counts that are published once. You see the price and the error before anything is paid.")
    tables = [table for table in await visit.call(visit.desk.tables) if not table.public]
    if not tables:
        theme.empty("There is no private table that you may ask about.", "A custodian can let you.", "table_chart")
        return
    ReleaseBuilder(visit, tables)


class ReleaseBuilder:
    """A release that somebody works on."""

    def __init__(self, visit: Visit, tables: list[Table]) -> None:
        self._visit = visit
        self._newest = Newest()
        self._quote: ReleaseQuote | None = None
        self._populations = {table.name: table.population for table in tables}
        self._population = self._populations[tables[0].name]
        self._paying = False
        self._previewed: object = None  # the order whose preview is shown
        with ui.element("div").classes("d-build"):
            with ui.element("div").classes("d-build-left"):
                self._sheet = ReleaseForm(tables, self._changed)
            with ui.element("div").classes("d-build-right"):
                self._price_card()
        self._preview = ui.element("div")

    def _price_card(self) -> None:
        with theme.card("What it costs"):
            self._shape = theme.tag("p", _NOTHING).classes("d-shape").props('aria-live="polite"')
            self._said = theme.live()
            with ui.element("div") as self._numbers:
                self._strip = Strip()
                self._dial = Dial(self._price)
            self._warned = theme.live()
            with ui.element("div").classes("d-row d-doing"):
                self._publish = ui.button("Publish", on_click=self._asked).props("unelevated no-caps")
                self._publish.classes("d-main-button")
                self._try = ui.button("Try on made-up rows", on_click=self._tried, color=None)
                self._try.props("outline no-caps").classes("d-second")
            with theme.experts():
                self._facts = ui.element("div")
                self._sheet.experts()
        self._show(None)

    # the price -------------------------------------------------------------------------------------------------------

    async def _changed(self) -> None:
        newest = self._newest.change()
        await asyncio.sleep(_PAUSE)
        if newest():
            await self._price()

    async def _price(self) -> None:
        """Look up what the release would be as it is now, and show it unless somebody has gone on since."""
        newest, plan, wish = self._newest.change(), self._sheet.plan, self._wish()
        if not plan.columns:
            self._show(None)
            return
        try:
            quote = await self._visit.call(self._quoted, plan, wish)
        except Refusal as refusal:
            if newest():
                self._refused(refusal)
            return
        if newest():
            self._show(quote)

    def _wish(self) -> PriceWish:
        """What is wanted of the price; a price of another budget is none of this one."""
        population = self._populations[self._sheet.plan.table]
        if population != self._population:
            self._population = population
            self._dial.set(replace(self._dial.wish, price=None, error=None))
        return self._dial.wish

    def _quoted(self, visitor: Visitor, plan: ReleaseDraft, wish: PriceWish) -> ReleaseQuote:
        return quoted(self._visit.desk, visitor, plan, wish)

    def _show(self, quote: ReleaseQuote | None) -> None:
        self._quote, tag = quote, None if quote is None else quote.tag
        if self._previewed is not None and (quote is None or quote.order != self._previewed):
            self._previewed = None  # it was of another release, or at another price
            self._preview.clear()
        for box in (self._said, self._warned, self._facts):
            box.clear()
        self._sheet.accept()
        self._numbers.set_visibility(True)
        theme.say(self._shape, _NOTHING if quote is None else quote.shape)
        self._strip.show(tag)
        self._publish.set_text(_spoken(quote))
        self._publish.set_enabled(tag is not None and not tag.over and not self._paying)
        self._try.set_enabled(quote is not None)
        if tag is None or quote is None:
            return
        self._dial.show(tag)
        with self._warned:
            if tag.over:
                too_little(tag, self._use_rest if tag.affordable(self._dial.wish) else None)
            elif tag.purse is not None and tag.purse.closed and not tag.bought:
                theme.tag("p", tag.purse.closed).classes("d-hint")
        with self._facts, theme.facts():
            theme.fact("Price", "nothing" if tag.price is None else said(tag.price))
            for line in tag.plan:
                name, _, rest = line.partition(" ")
                theme.fact(name.strip(":").capitalize(), rest)

    def _refused(self, refusal: Refusal) -> None:
        """Say why beside the field it is about; what is about everything stands where the numbers were."""
        self._show(None)
        where = refusal.field
        if self._sheet.plan.says(where) and self._sheet.refuse(where, refusal, partial(self._sheet.clear, where)):
            theme.say(self._shape, "This cannot be published so: look at the field that says why.")
            return
        theme.say(self._shape, "")
        self._numbers.set_visibility(False)
        with self._said:
            usual = self._dial.wish.price is not None or self._dial.wish.error is not None
            note(refusal, lambda _: None, self._use_usual if usual else None)

    async def _use_usual(self) -> None:
        with self._preview:  # whatever button was pressed may go away
            self._dial.set(replace(self._dial.wish, price=None, error=None))
            await self._price()

    async def _use_rest(self) -> None:
        wish = self._quote and self._quote.tag.affordable(self._dial.wish)
        if wish:
            with self._preview:
                self._dial.set(wish)
                await self._price()

    # made-up rows ----------------------------------------------------------------------------------------------------

    async def _tried(self) -> None:
        if self._quote is None:
            return
        order = self._quote.order
        with theme.busy(self._try), trouble(self._said):
            shown = await self._visit.call(lambda who: self._visit.desk.rehearsed(who, order).pictures())
            self._previewed = order
            self._preview.clear()
            with self._preview, theme.card() as made:
                made.classes("d-previewed").props('aria-label="Preview of made-up rows" tabindex="-1"')
                theme.heading(f"Preview: {order.name}", 2)
                theme.made_up()
                gallery(shown)
                theme.note("The noise is that of the real release, at this price.")
            ui.run_javascript("document.querySelector('.d-previewed')?.scrollIntoView({block: 'nearest'})")

    # publishing ------------------------------------------------------------------------------------------------------

    async def _asked(self) -> None:
        """Ask once more, with the price as it is now."""
        shown = self._quote
        if self._paying or shown is None:
            return
        with theme.busy(self._publish), trouble(self._warned):
            now = await self._visit.call(self._quoted, self._sheet.plan, self._dial.wish)
            if now.entry is not None:
                ui.navigate.to(address(now.entry))
            elif promised(now.tag, shown.tag):
                self._confirm(now)
            else:
                self._show(now)
                ui.notify("The price has changed. Look at it, and press Publish again.", type="info")
                await asyncio.sleep(_LOOK)

    def _confirm(self, quote: ReleaseQuote) -> None:
        tag = quote.tag
        price = "nothing" if tag.due is None else figure(tag.due.amount, up=True)
        with apart() as dialog, ui.element("div").classes("d-card d-dialog"):
            theme.heading(f"Publish “{quote.order.name}”?", 2)
            with ui.element("div") as words:
                theme.tag(
                    "p", f"This pays {price} of the budget “{tag.purse.population if tag.purse else ''}”{_after(tag)}."
                ).classes("d-pays")
                theme.tag("p", _PAYS)
            with ui.element("div").classes("d-coming").props('role="status"') as coming:
                ui.element("progress").props('aria-label="The rows are being counted"')
                theme.tag("span", "The rows are being counted. This page may be left: what is paid is kept.").classes(
                    "d-muted"
                )
            coming.set_visibility(False)
            box = theme.live()
            with ui.element("div").classes("d-row d-foot"):
                pay = ui.button(f"Publish · pays {price}").props("unelevated no-caps")
                leave = ui.button("Not yet", on_click=dialog.close, color=None).props("flat no-caps autofocus")
                leave.classes("d-quiet")

        async def paid() -> None:
            if self._paying:
                return
            self._paying = True
            dialog.props("persistent")  # from here on, no key takes it back
            coming.set_visibility(True)
            words.set_visibility(False)
            try:
                with theme.busy(pay, leave), trouble(box, question=True):
                    made = await self._visit.call(self._visit.desk.published, quote.order)
                    ui.navigate.to(address(made.entry))
            finally:
                self._paying = False
                dialog.props(remove="persistent")
                coming.set_visibility(False)
                words.set_visibility(True)

        pay.on_click(paid)
        dialog.open()


def _spoken(quote: ReleaseQuote | None) -> str:
    """What the button says that publishes."""
    if quote is None or (quote.tag.over and not quote.tag.bought):
        return "Publish"
    return "Open it · free" if quote.tag.due is None else f"Publish · pays {figure(quote.tag.due.amount, up=True)}"


def _after(tag: Tag) -> str:
    return "" if tag.after is None else f", of which {figure(tag.after.amount)} is left then"


@dataclass(frozen=True)
class ReleaseQuote:
    """An order, with everything that is said before it is paid."""

    order: ReleaseOrder
    tag: Tag
    cells: int
    tables: int
    entry: int | None  # of the release that was bought before by the same order
    unit: str = "cells"  # what is published, in the words of its kind

    @property
    def shape(self) -> str:
        """How much is published, in words."""
        cells = f"{self.cells:,} {self.unit.removesuffix('s') if self.cells == 1 else self.unit}"
        return cells if self.tables == 1 or self.unit != "cells" else f"{cells} in {self.tables:,} tables"


def quoted(desk: Desk, visitor: Visitor, plan: ReleaseDraft, wish: PriceWish) -> ReleaseQuote:
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
    desk: Desk, visitor: Visitor, plan: ReleaseDraft, price: Fraction, around: tuple[Purse, Fraction, Fraction]
) -> ReleaseQuote:
    purse, usual, confidence = around
    order = plan.order(price, purse.total)
    offer = desk.offered(visitor, order)
    mechanism = mechanism_of(offer)
    preview, error = mechanism.preview, mechanism.error(confidence)
    columns = ((preview.about, None if error is None else Fraction(error)),)
    due = None if offer.entry is not None else offer.run.loss
    tag = Tag(order.sql, {}, offer.run.loss, due, purse.total.at(usual), purse, columns, _lines(offer))
    return ReleaseQuote(order, tag, preview.cells, len(preview.tables), offer.entry, preview.unit)


def _exact_enough(
    desk: Desk,
    visitor: Visitor,
    plan: ReleaseDraft,
    wanted: tuple[Fraction, Fraction],
    around: tuple[Purse, Fraction],
) -> ReleaseQuote:
    """The cheapest price, but for some digits, whose error is no more than is wanted."""
    (error, confidence), (purse, usual) = wanted, around
    power = 2 if isinstance(purse.total, Concentrated) else 1  # an error falls with ε, or with the root of ρ
    price, rough, good = usual, Fraction(0), None
    for _ in range(_STEPS):
        quote = _at(desk, visitor, plan, price, (purse, usual, confidence))
        if quote.tag.error is None:
            raise Refusal("how exact this will be is known after paying, so no price can be quoted for it", hint=_NAME)
        off = quote.tag.error / error
        rough, good = (price, good) if off > 1 else (rough, (price, quote))
        if good is not None and (Fraction(9, 10) <= off <= 1 or good[0] * _NEAR <= rough):
            break
        price = above(price * max(off if off > 1 else off / _NEAR, _FAR) ** power)
        if good is not None and not rough < price < good[0]:
            price = above((rough + good[0]) / 2)
    return quote if good is None else good[1]


def _lines(offer: Offer[Release]) -> tuple[str, ...]:
    """What is measured, for experts."""
    mechanism = mechanism_of(offer)
    most = f"at most {mechanism.caps.rows:,} rows of one {mechanism.neighbours.unit}"
    return (
        f"mechanism {mechanism.preview.method}, {most}",
        f"selected: {offer.run.sql}",
        *mechanism.preview.lines,
    )
