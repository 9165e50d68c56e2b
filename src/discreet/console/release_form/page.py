"""Make a release: say what, see its price and its error, try it on made-up rows, publish it."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial

from nicegui import ui

from discreet.console import assets, release_pictures, theme
from discreet.console.layout import apart, trouble
from discreet.console.pages import Visit
from discreet.console.price_card import Dial, Strip, note, too_little
from discreet.console.prices import Tag, Wish, figure, promised
from discreet.console.release_form.draft import Blueprint, beside
from discreet.console.release_form.fields import PlanSheet
from discreet.console.release_form.quote import Quotation, quoted
from discreet.console.release_pictures import gallery
from discreet.curator.explain import said
from discreet.declared.table import Table
from discreet.desk import Desk, Order, Visitor
from discreet.errors import Refusal
from discreet.pictures import Picture
from discreet.release.figures import pictures

_PAUSE = 0.12  # seconds without a change, after which a price is looked up
_LOOK = 0.6  # seconds that a new price stands before it can be paid
_NOTHING = "Choose a column, and you see here what it would be."
_PAYS = (
    "It is paid once, before a row is read, and cannot be taken back. Everybody who may ask about the table can then "
    "read the release and compute on it, free."
)


async def workshop(visit: Visit) -> None:
    """Draw it."""
    ui.add_head_html(f'<link rel="stylesheet" href="{assets.address("ask.css")}">')
    theme.tag("a", "← All releases").props('href="/releases"').classes("d-back")
    theme.lead("Counts that are published once. You see the price and the error before anything is paid.")
    found = [table for table in await visit.call(visit.desk.tables) if not table.public]
    if not found:
        theme.empty("There is no private table that you may ask about.", "A custodian can let you.", "table_chart")
        return
    Workshop(visit, found)


def rehearsed(desk: Desk, who: Visitor, order: Order) -> list[Picture]:
    """The pictures of a release of made-up rows. It blocks."""
    return pictures(desk.rehearsed(who, order))


class Workshop:
    """A release that somebody works on."""

    def __init__(self, visit: Visit, tables: list[Table]) -> None:
        self._visit = visit
        self._turn = 0  # grows with every change: what belongs to an earlier one comes too late
        self._found: Quotation | None = None
        self._populations = {table.name: table.population for table in tables}
        self._population = self._populations[tables[0].name]
        self._paying = False
        self._previewed: object = None  # the order whose preview is shown
        with ui.element("div").classes("d-build"):
            with ui.element("div").classes("d-build-left"):
                self._sheet = PlanSheet(tables, self._changed)
            with ui.element("div").classes("d-build-right"):
                self._price_card()
        self._preview = ui.element("div")

    def _price_card(self) -> None:
        with theme.card("What it costs"):
            self._shape = theme.tag("p", _NOTHING).classes("d-shape").props('aria-live="polite"')
            self._said = ui.element("div").props('aria-live="polite"')
            with ui.element("div") as self._numbers:
                self._strip = Strip()
                self._dial = Dial(self._price)
            self._warned = ui.element("div").props('aria-live="polite"')
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
        self._turn += 1
        mine = self._turn
        await asyncio.sleep(_PAUSE)
        if mine == self._turn:
            await self._price()

    async def _price(self) -> None:
        """Look up what the release would be as it is now, and show it unless somebody has gone on since."""
        self._turn += 1
        mine, plan, wish = self._turn, self._sheet.plan, self._wish()
        if not plan.columns:
            self._show(None)
            return
        try:
            found = await self._visit.call(self._quoted, plan, wish)
        except Refusal as refusal:
            if mine == self._turn:
                self._refused(refusal)
            return
        if mine == self._turn:
            self._show(found)

    def _wish(self) -> Wish:
        """What is wanted of the price; a price of another budget is none of this one."""
        population = self._populations[self._sheet.plan.table]
        if population != self._population:
            self._population = population
            self._dial.set(replace(self._dial.wish, price=None, error=None))
        return self._dial.wish

    def _quoted(self, visitor: Visitor, plan: Blueprint, wish: Wish) -> Quotation:
        return quoted(self._visit.desk, visitor, plan, wish)

    def _show(self, found: Quotation | None) -> None:
        self._found, tag = found, None if found is None else found.tag
        if self._previewed is not None and (found is None or found.order != self._previewed):
            self._previewed = None  # it was of another release, or at another price
            self._preview.clear()
        for box in (self._said, self._warned, self._facts):
            box.clear()
        self._sheet.accept()
        self._numbers.set_visibility(True)
        self._says(_NOTHING if found is None else found.shape)
        self._strip.show(tag)
        self._publish.set_text(_spoken(found))
        self._publish.set_enabled(tag is not None and not tag.over and not self._paying)
        self._try.set_enabled(found is not None)
        if tag is None or found is None:
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

    def _says(self, text: str) -> None:
        self._shape._text = text  # noqa: SLF001  # as theme.tag does
        self._shape.update()

    def _refused(self, refusal: Refusal) -> None:
        """Say why beside the field it is about; what is about everything stands where the numbers were."""
        self._show(None)
        where = beside(refusal, self._sheet.plan)
        if self._sheet.refuse(where, refusal, partial(self._sheet.clear, where)):
            self._says("This cannot be published so: look at the field that says why.")
            return
        self._says("")
        self._numbers.set_visibility(False)
        with self._said:
            usual = self._dial.wish.price is not None or self._dial.wish.error is not None
            note(refusal, lambda _: None, self._use_usual if usual else None)

    async def _use_usual(self) -> None:
        with self._preview:  # whatever button was pressed may go away
            self._dial.set(replace(self._dial.wish, price=None, error=None))
            await self._price()

    async def _use_rest(self) -> None:
        wish = self._found and self._found.tag.affordable(self._dial.wish)
        if wish:
            with self._preview:
                self._dial.set(wish)
                await self._price()

    # made-up rows ----------------------------------------------------------------------------------------------------

    async def _tried(self) -> None:
        if self._found is None:
            return
        order = self._found.order
        with theme.busy(self._try), trouble(self._said):
            shown = await self._visit.call(partial(rehearsed, self._visit.desk), order)
            self._previewed = order
            self._preview.clear()
            with self._preview, theme.card() as made:
                made.classes("d-previewed").props('aria-label="Preview of made-up rows" tabindex="-1"')
                theme.heading(f"Preview: {order.name}", 2)
                with ui.element("p").classes("d-made-up").props('role="note"'):
                    ui.icon("science").props('aria-hidden="true"')
                    theme.tag("span", "These rows were made up from what is declared. They say nothing about anyone.")
                gallery(shown)
                theme.tag("p", "The noise is that of the real release, at this price.").classes("d-muted d-small")
            ui.run_javascript("document.querySelector('.d-previewed')?.scrollIntoView({block: 'nearest'})")

    # publishing ------------------------------------------------------------------------------------------------------

    async def _asked(self) -> None:
        """Ask once more, with the price as it is now."""
        shown = self._found
        if self._paying or shown is None:
            return
        with theme.busy(self._publish), trouble(self._warned):
            now = await self._visit.call(self._quoted, self._sheet.plan, self._dial.wish)
            if now.entry is not None:
                ui.navigate.to(release_pictures.address(now.entry))
            elif promised(now.tag, shown.tag):
                self._confirm(now)
            else:
                self._show(now)
                ui.notify("The price has changed. Look at it, and press Publish again.", type="info")
                await asyncio.sleep(_LOOK)

    def _confirm(self, found: Quotation) -> None:
        tag = found.tag
        price = "nothing" if tag.due is None else figure(tag.due.amount, up=True)
        with apart() as dialog, ui.element("div").classes("d-card d-dialog"):
            theme.heading(f"Publish “{found.order.name}”?", 2)
            with ui.element("div") as words:
                theme.tag("p", f"This pays {price} of the budget “{_population(tag)}”{_after(tag)}.").classes("d-pays")
                theme.tag("p", _PAYS)
            with ui.element("div").classes("d-coming").props('role="status"') as coming:
                ui.element("progress").props('aria-label="The rows are being counted"')
                theme.tag("span", "The rows are being counted. This page may be left: what is paid is kept.").classes(
                    "d-muted"
                )
            coming.set_visibility(False)
            box = ui.element("div").props('aria-live="polite"')
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
                    made = await self._visit.call(self._visit.desk.published, found.order)
                    ui.navigate.to(release_pictures.address(made.entry))
            finally:
                self._paying = False
                dialog.props(remove="persistent")
                coming.set_visibility(False)
                words.set_visibility(True)

        pay.on_click(paid)
        dialog.open()


def _spoken(found: Quotation | None) -> str:
    """What the button says that publishes."""
    if found is None or (found.tag.over and not found.tag.bought):
        return "Publish"
    return "Open it · free" if found.tag.due is None else f"Publish · pays {figure(found.tag.due.amount, up=True)}"


def _population(tag: Tag) -> str:
    return "" if tag.purse is None else tag.purse.population


def _after(tag: Tag) -> str:
    return "" if tag.after is None else f", of which {figure(tag.after.amount)} is left then"
