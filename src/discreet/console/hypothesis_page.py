"""Page of private tests: what is tested, its price before it is paid, and what came of it in plain words."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial

from nicegui import ui

from discreet.console import hypothesis_tests as known
from discreet.console import theme
from discreet.console.hypothesis_tests import TESTS, WORDS, Finding, HypothesisDraft, HypothesisQuote, columns, keys
from discreet.console.layout import Newest, styles, trouble
from discreet.console.pages import Visit
from discreet.console.price_card import Strip, note, too_little
from discreet.console.prices import Tag, figure, promised
from discreet.console.validity_card import calculator
from discreet.curator.explain import said
from discreet.curator.named_run import RunAnswer
from discreet.declared.table import Table
from discreet.errors import Refusal
from discreet.pictures.number_line import interval_line, p_value_line

ADDRESS = "/ask?test=1"
_PAUSE = 0.12  # seconds without a change, after which a price is looked up
_LOOK = 0.6  # seconds that a new price stands before it can be paid
_LEAD = "A test is bought like any answer, and its p-value knows of the noise. You see the price before you pay."
_EARLIER = "It counts as it stands if it was decided on before anything was known of these people."


async def workshop(visit: Visit) -> None:
    """Draw it."""
    styles("releases.css", "ask.css", "records.css", "tests.css")
    theme.tag("a", "← Ask in SQL").props('href="/ask"').classes("d-back")
    theme.heading("Private tests", 2).classes("d-release-name")
    theme.lead(_LEAD)
    tables = [table for table in await visit.call(visit.desk.tables) if not table.public]
    if tables:
        HypothesisTester(visit, tables)
    else:
        theme.empty("There is no private table that you may ask about.", "A custodian can let you.", "table_chart")
    calculator(visit)


class HypothesisTester:
    """A test that somebody works on, and what became of it."""

    def __init__(self, visit: Visit, tables: Sequence[Table]) -> None:
        self._visit = visit
        self._newest = Newest()
        self._tables = {table.name: table for table in tables}
        self._table = tables[0]
        self._draft = HypothesisDraft()
        self._quote: HypothesisQuote | None = None
        self._paying = False
        self._key: ui.select | None = None  # where a key of the chosen column is chosen
        with ui.element("div").classes("d-build d-testing"):
            with ui.element("div").classes("d-build-left"):
                self._form()
            with ui.element("div").classes("d-build-right"):
                self._price_card()
        self._result = theme.live()
        self._waiting()
        self._draw()
        ui.timer(0.01, self._price, once=True)

    # the form --------------------------------------------------------------------------------------------------------

    def _form(self) -> None:
        with theme.card("What to test"):
            chosen = ui.select(list(self._tables), value=self._table.name, label="Table")
            chosen.props("outlined dense options-dense").classes("d-some")
            chosen.on_value_change(lambda event: self._of_table(str(event.value)))
            with ui.element("fieldset").classes("d-kind-list d-test-list"):
                theme.tag("legend", "Test")
                for each in TESTS:
                    with ui.element("label").classes("d-kind"):
                        radio = ui.element("input").props('type="radio" name="test"')
                        if each.name == self._draft.test:
                            radio.props["^checked"] = ""
                        radio.on("change", partial(self._of_test, each.name), args=[])
                        with ui.element("span"):
                            theme.tag("strong", each.title)
                            theme.tag("span", each.words).classes("d-muted d-small d-kind-words")
            self._fields = ui.element("div").classes("d-test-fields")

    def _draw(self) -> None:
        """The fields of this test for this table; what is filled in already stays where it can."""
        test, before = known.named(self._draft.test), self._draft.parts
        self._key = None
        parts: dict[str, str] = {}
        self._fields.clear()
        with self._fields:
            for need in test.needs:
                parts[need] = self._field(need, before.get(need, ""), parts)
        self._draft = HypothesisDraft(test.name, parts, self._draft.epsilon)

    def _field(self, need: str, value: str, parts: dict[str, str]) -> str:
        if need in ("numbers", "groups", "keys", "others"):
            offered = {each: each for each in columns(self._table, need)}
            if not offered:
                self._lacking(need)
                return ""
            rest = [each for each in offered if need != "others" or each != parts.get("keys")] or [*offered]
            return self._choice(need, offered, value if value in rest else rest[0])
        if need == "key":
            offered = {each: each for each in keys(self._table, parts["keys"])} if parts.get("keys") else {}
            return self._choice(need, offered, value if value in offered else next(iter(offered), ""))
        if need == "side":
            return self._choice(need, known.SIDES, value or "greater")
        field = ui.input(WORDS[need], value=value).props("outlined dense debounce=200 maxlength=400 stack-label")
        field.props(f'placeholder="{"0.5, 0.3, 0.2" if need == "shares" else ""}" autocomplete=off')
        field.on_value_change(lambda event: self._hear(need, str(event.value or "").strip()))
        field.on("keydown.enter", self._go)
        return value

    def _choice(self, need: str, offered: dict[str, str], value: str) -> str:
        made = ui.select(dict(offered), value=value or None, label=WORDS[need]).props("outlined dense options-dense")
        made.on_value_change(lambda event: self._hear(need, str(event.value or "")))
        if need == "key":
            self._key = made
        return value

    def _lacking(self, need: str) -> None:
        lacks = {"numbers": "declared bounds", "groups": "exactly two declared keys"}.get(need, "declared keys")
        words = f"No column of {self._table.name} has {lacks}: a custodian declares them when the table is added."
        theme.tag("p", words).classes("d-hint")

    async def _of_table(self, name: str) -> None:
        self._table = self._tables[name]
        self._draw()
        await self._changed()

    async def _of_test(self, name: str) -> None:
        self._draft = HypothesisDraft(name, self._draft.parts, self._draft.epsilon)
        self._draw()
        await self._changed()

    async def _hear(self, need: str, text: str) -> None:
        parts = {**self._draft.parts, need: text}
        if need == "keys" and self._key is not None:
            offered = keys(self._table, text)
            parts["key"] = offered[0]
            self._key.set_options(list(offered), value=offered[0])
        self._draft = HypothesisDraft(self._draft.test, parts, self._draft.epsilon)
        await self._changed()

    async def _of_price(self, text: str) -> None:
        self._draft = HypothesisDraft(self._draft.test, self._draft.parts, text)
        await self._changed()

    # the price -------------------------------------------------------------------------------------------------------

    def _price_card(self) -> None:
        with theme.card("What it costs"):
            self._shape = theme.tag("p").classes("d-shape").props('aria-live="polite"')
            self._said = theme.live()
            self._strip = Strip()
            field = ui.input("Price ε", placeholder="a tenth of the budget")
            field.props("outlined dense debounce=200 maxlength=24 stack-label inputmode=decimal autocomplete=off")
            field.on_value_change(lambda event: self._of_price(str(event.value or "").strip()))
            field.on("keydown.enter", self._go)
            self._warned = theme.live()
            with ui.element("div").classes("d-row d-doing"):
                self._button = ui.button("Test", on_click=self._go).props("unelevated no-caps")
                self._button.classes("d-main-button")
            theme.heading("What it assumes", 3)
            self._assumes = theme.tag("p").classes("d-small")
            self._left_out = theme.tag("p").classes("d-muted d-small")
        self._show(None)

    async def _changed(self) -> None:
        self._waiting()
        newest = self._newest.change()
        await asyncio.sleep(_PAUSE)
        if newest():
            await self._price()

    async def _price(self) -> None:
        newest, draft, table = self._newest.change(), self._draft, self._table.name
        if draft.missing:
            self._show(None, "Still to be filled in: " + ", ".join(f"“{each}”" for each in draft.missing) + ".")
            return
        try:
            quote = await self._quoted(table, draft)
        except Refusal as refusal:
            if newest():
                self._show(None, "This cannot be tested so.")
                with self._said:
                    note(refusal, lambda _: None)
            return
        if newest():
            self._show(quote)

    async def _quoted(self, table: str, draft: HypothesisDraft) -> HypothesisQuote:
        return await self._visit.call(lambda who: known.quoted(self._visit.desk, who, table, draft))

    def _show(self, quote: HypothesisQuote | None, words: str = "") -> None:
        self._quote, tag = quote, None if quote is None else quote.tag
        for box in (self._said, self._warned):
            box.clear()
        gets = "an interval" if "population" in known.named(self._draft.test).mechanism else "a p-value"
        theme.say(self._shape, words or ("" if tag is None else f"You get {gets}."))
        theme.say(self._assumes, known.named(self._draft.test).assumes)
        theme.say(self._left_out, "" if quote is None else quote.left_out)
        self._strip.show(tag)
        self._button.set_text(_spoken(quote))
        self._button.set_enabled(tag is not None and not tag.over and not self._paying)
        if tag is None:
            return
        with self._warned:
            if tag.over:
                _too_dear(tag)
            elif tag.purse is not None and tag.purse.closed and not tag.bought:
                theme.tag("p", tag.purse.closed).classes("d-hint")

    # the result ------------------------------------------------------------------------------------------------------

    def _waiting(self) -> None:
        self._result.clear()

    async def _go(self) -> None:
        """Buy it, at no more than the price that is shown; or show it again, if that is what is offered."""
        shown, draft, table = self._quote, self._draft, self._table
        if self._paying or shown is None or shown.tag.over:
            return
        self._paying = True
        try:
            with theme.busy(self._button), trouble(self._result, question=True):
                now = await self._quoted(table.name, draft)
                if not promised(now.tag, shown.tag) or draft != self._draft or table is not self._table:
                    self._show(now)
                    ui.notify("The price has changed. Look at it, and press the button again.", type="info")
                    await asyncio.sleep(_LOOK)
                    return
                desk = self._visit.desk
                answer = await self._visit.call(desk.run_shown if now.tag.due is None else desk.run, now.order)
                with self._result:
                    self._told(draft, table, answer)
        finally:
            self._paying = False
        await self._price()

    def _told(self, draft: HypothesisDraft, table: Table, answer: RunAnswer) -> None:
        test, finding = known.named(draft.test), known.found(draft, answer)
        with theme.card(test.title) as made:
            made.classes("d-tested").props('aria-label="Result" tabindex="-1"')
            with ui.element("p").classes("d-big"):
                theme.tag("strong", finding.figure)
            theme.tag("p", finding.words).classes("d-promise")
            _picture(finding, draft, table)
            theme.note(test.assumes)
            if finding.p_value is not None:
                theme.note(_EARLIER)
            cost = "Shown again, free" if answer.cost is None else f"Cost {said(answer.cost)}"
            theme.note(f"{cost}; {said(answer.left)} is left; entry {answer.entry} of the ledger.")
        ui.run_javascript("document.querySelector('.d-tested')?.scrollIntoView({block: 'nearest'})")


def _picture(finding: Finding, draft: HypothesisDraft, table: Table) -> None:
    if finding.p_value is not None:
        picture = p_value_line(finding.p_value)
    elif finding.interval is not None:
        bounds = table.column(draft.parts["numbers"]).bounds if "numbers" in draft.parts else None
        low, high = (0.0, 1.0) if bounds is None else map(float, bounds)
        name = draft.parts["numbers"] if bounds else f"share with {draft.parts['keys']} = {draft.parts['key']}"
        picture = interval_line("The interval", name, (low, high), finding.interval)
    else:
        return
    with ui.element("figure").classes("d-picture"):
        ui.html(picture.wide, sanitize=False).classes("d-wide-picture")  # ours: labels are escaped in them
        ui.html(picture.narrow, sanitize=False).classes("d-narrow-picture")
        theme.tag("figcaption", picture.note).classes("d-muted d-small")


def _too_dear(tag: Tag) -> None:
    """That the price is more than is left."""
    if tag.purse is None or tag.due is None or not tag.purse.left.amount:
        too_little(tag, None)
        return
    left, price = figure(tag.purse.left.amount), figure(tag.due.amount, up=True)
    with ui.element("div").classes("d-refusal").props('role="alert"'):
        theme.tag("strong", "Over budget")
        theme.tag("p", f"This costs {price}, and the budget “{tag.purse.population}” has {left} left for you.")
        theme.note("Choose a lower ε. Nothing was charged.")


def _spoken(quote: HypothesisQuote | None) -> str:
    """What the button says that pays."""
    if quote is None or (quote.tag.over and not quote.tag.bought):
        return "Test"
    return "Show it · free" if quote.tag.due is None else f"Test · pays {figure(quote.tag.due.amount, up=True)}"
