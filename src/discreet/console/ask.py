"""Ask page: a question, its price before it is paid, and the answer with its error."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import replace
from fractions import Fraction

from nicegui import ui

from discreet.console import hypothesis_page, theme
from discreet.console.answer import ShownAnswer, draw, file_name
from discreet.console.data_dictionary import shelf
from discreet.console.downloads import shown_csv
from discreet.console.expert_details import Expert
from discreet.console.layout import Newest, page, trouble
from discreet.console.pages import Visit
from discreet.console.price_card import Dial, Strip, note, spoken_button, too_little
from discreet.console.prices import PriceWish, Tag, counter, promised, tagged
from discreet.console.sql_editor import Editor, Example, examples
from discreet.declared.table import Table
from discreet.desk import Terms, Visitor
from discreet.errors import Refusal

_PAUSE = 0.12  # seconds without a keystroke, after which a price is looked up
_LOOK = 0.6  # seconds that a new price stands before it can be paid: the second half of a double click is no consent
_EARLIER = "This is the answer to an earlier question, not to the one above."
_LONGEST = 20_000  # characters of a question that an address may bring


@page("/ask")
async def ask(visit: Visit) -> None:
    """The page: a question in SQL, or a private test."""
    asked = ui.context.client.request.query_params
    if asked.get("test"):
        await hypothesis_page.workshop(visit)
        return
    with theme.lead("Ask in SQL. You see what it costs before you pay, and how exact the answer will be."):
        theme.link("Or test a hypothesis", hypothesis_page.ADDRESS)
    tables = await visit.call(visit.desk.tables)
    given = asked.get("sql", "")[:_LONGEST]  # it is shown and priced, never asked
    with ui.element("div").classes("d-ask"):
        shelf(tables)
        with ui.element("div").classes("d-work"):
            Desktop(visit, tables, given)


class Desktop:
    """The question that somebody works on, and what became of it."""

    def __init__(self, visit: Visit, tables: list[Table], given: str) -> None:
        self._visit = visit
        self._newest = Newest()
        self._tag: Tag | None = None
        self._asking = False
        self._population = ""
        self._result: ShownAnswer | None = None
        with theme.card("Your question"):
            self._examples(examples(tables))
            self._editor = Editor(given, tables, changed=self._typed, entered=self._ask)
            with ui.element("div").classes("d-tag"):
                self._said = theme.live()
                with ui.element("div") as self._numbers:
                    self._strip = Strip()
                    self._dial = Dial(self._price)
                    self._warned = theme.live()  # below the slider: that stays
            with ui.element("div").classes("d-row d-doing"):
                self._button = ui.button("Ask", on_click=self._ask).props("unelevated no-caps")
                self._button.classes("d-main-button").tooltip("Ctrl + Enter")
                self._try = ui.button("Try it on made-up data", on_click=self._tried, color=None)
                self._try.props("outline no-caps").classes("d-second")
                link = ui.button("Copy link", icon="link", color=None).props("flat no-caps").classes("d-quiet")
                link.props["data-copy"] = "link"
            self._expert = Expert(visit, wish=lambda: self._dial.wish, changed=self._want)
        self._news = ui.label().classes("d-away").props('role="status"')  # for who hears the page
        self._earlier = theme.tag("p", _EARLIER).classes("d-hint d-earlier").props('role="status"')
        self._earlier.set_visibility(False)
        self._answer = ui.element("div")
        self._waiting()
        offered = examples(tables)
        if given:
            ui.timer(0.01, self._price, once=True)
        elif offered:
            ui.timer(0.2, lambda: self._rehearse(offered[0].sql), once=True)

    def _examples(self, offered: tuple[Example, ...]) -> None:
        if not offered:
            return
        with ui.element("div").classes("d-row d-examples"):
            theme.tag("span", "For example").classes("d-muted d-small")
            for each in offered:
                made = theme.tag("button", each.words).classes("d-chip d-example").props('type="button"')
                made.on("click", lambda sql=each.sql: self._editor.write(sql))

    async def _rehearse(self, sql: str) -> None:
        """The first price that a server looks up takes longest: let nobody wait for it."""
        with contextlib.suppress(Refusal):
            await self._visit.call(self._tagged, sql, PriceWish())

    def _waiting(self) -> None:
        self._answer.clear()
        with self._answer:
            theme.empty("Your answer comes here.", "Nothing is paid before you press Ask.", "query_stats")

    # the price -------------------------------------------------------------------------------------------------------

    async def _typed(self) -> None:
        self._mark()
        newest = self._newest.change()
        await asyncio.sleep(_PAUSE)
        if newest():
            await self._price()

    def _mark(self) -> None:
        """Say that an answer belongs to an earlier question, as soon as the question is another."""
        earlier = self._result is not None and self._result.sql.strip() != self._editor.text.strip()
        self._earlier.set_visibility(earlier)
        self._answer.classes(**{"add" if earlier else "remove": "d-stale"})

    async def _want(self, wish: PriceWish) -> None:
        self._dial.set(wish)
        await self._price()

    async def _price(self) -> None:
        """Look up what the question costs as it is now, and show it unless somebody has gone on since."""
        newest, sql, wish = self._newest.change(), self._editor.text, self._dial.wish
        if not sql.strip():
            self._show(None)
            self._said.clear()
            return
        try:
            tag = await self._visit.call(self._tagged, sql, wish)
        except Refusal as refusal:
            too_low = await self._is_too_low(sql, wish)
            if newest():
                self._refused(sql, refusal, self._use_usual if too_low else None)
            return
        if not newest():
            return
        if self._elsewhere(tag) and (wish.price or wish.error):  # that was a price of another budget
            await self._use_usual()
            return
        self._said.clear()
        self._show(tag)

    def _elsewhere(self, tag: Tag) -> bool:
        """Whether a question is about another population than the one before."""
        before, self._population = self._population, tag.purse.population if tag.purse else self._population
        return before not in ("", self._population)

    async def _is_too_low(self, sql: str, wish: PriceWish) -> bool:
        """Whether a question is refused for its price alone."""
        if wish.price is None:
            return False
        with contextlib.suppress(Refusal):
            await self._visit.call(self._tagged, sql, replace(wish, price=None))
            return True
        return False

    async def _use_usual(self) -> None:
        with self._answer:  # whatever button was pressed may go away
            await self._want(replace(self._dial.wish, price=None, error=None))

    def _tagged(self, visitor: Visitor, sql: str, wish: PriceWish) -> Tag:
        return tagged(self._visit.desk, visitor, sql, wish)

    def _show(self, tag: Tag | None) -> None:
        self._tag = tag
        self._warned.clear()
        self._editor.mark("", None)
        self._numbers.set_visibility(True)
        self._strip.show(tag)
        self._expert.show(tag)
        self._button.set_text(spoken_button(tag))
        self._button.set_enabled(not self._asking and (tag is None or not tag.over))
        if tag is None:
            return
        self._dial.show(tag)
        with self._warned:
            if tag.over:
                too_little(tag, self._use_rest if tag.affordable(self._dial.wish) else None)
            elif tag.purse is not None and tag.purse.closed:
                theme.tag("p", tag.purse.closed).classes("d-hint")

    def _refused(self, sql: str, refusal: Refusal, usual: Callable[[], Awaitable[None]] | None) -> None:
        self._stop(sql, refusal)
        self._said.clear()
        with self._said:
            note(refusal, self._repaired, usual)

    def _stop(self, sql: str, refusal: Refusal) -> None:
        """There is no price: mark why, and leave the room of the numbers to what is said."""
        self._show(None)
        self._numbers.set_visibility(False)
        self._editor.mark(sql, refusal.place)

    def _repaired(self, sql: str) -> None:
        self._said.clear()
        self._editor.write(sql)

    async def _use_rest(self) -> None:
        wish = self._tag and self._tag.affordable(self._dial.wish)
        if wish:
            with self._answer:  # the button that was pressed goes away
                await self._want(wish)

    # the answer ------------------------------------------------------------------------------------------------------

    async def _ask(self) -> None:
        """Pay what the button says, once."""
        if self._asking:
            return
        shown, self._asking = self._tag, True
        try:
            with theme.busy(self._button), trouble(self._said, repaired=self._repaired, question=True):
                tag = await self._now()
                if promised(tag, shown):
                    await self._pay(tag)
                else:
                    await self._let_look(tag, shown)
        finally:
            self._asking = False
            self._button.set_enabled(self._tag is None or not self._tag.over)

    async def _now(self) -> Tag:
        """The tag of the question as it is now; raises why it is refused."""
        self._newest.change()
        sql, wish = self._editor.text, self._dial.wish
        if not sql.strip():
            raise Refusal("there is no question yet", hint="write one, or take one of the examples")
        try:
            tag = await self._visit.call(self._tagged, sql, wish)
        except Refusal as refusal:
            self._stop(sql, refusal)
            raise
        return tag

    async def _let_look(self, tag: Tag, shown: Tag | None) -> None:
        """Show a price that nobody has seen yet, in place of paying it."""
        self._show(tag)
        if tag.over:  # which it says by itself
            return
        words = "This is the price." if shown is None else "The price has changed."
        ui.notify(f"{words} Look at it, and press Ask again.", type="info")
        await asyncio.sleep(_LOOK)

    async def _pay(self, tag: Tag) -> None:
        try:
            answer = await self._visit.call(counter(self._visit.desk, tag), tag.sql, tag.payment)
        except Refusal:
            fresh = await self._now()
            if promised(fresh, tag):  # it is not the price
                raise
            await self._let_look(fresh, tag)
            return
        self._shown(ShownAnswer(tag.sql, answer, answer.spans, answer.confidence))
        if self._editor.text == tag.sql:
            await self._price()

    async def _tried(self) -> None:
        sql = self._editor.text
        with theme.busy(self._try), trouble(self._said, repaired=self._repaired):
            tag = await self._now()
            self._show(tag)
            terms: Terms = tag.payment
            answer = await self._visit.call(self._visit.desk.tried, sql, terms)
            self._shown(ShownAnswer(sql, answer, answer.spans, answer.confidence, made_up=True))

    def _shown(self, result: ShownAnswer) -> None:
        self._result = result
        self._news.set_text(f"The answer has come, with {len(result.answer.rows)} rows.")
        self._answer.clear()
        with self._answer:
            draw(result, self._surer, self._saved)
        self._mark()

    async def _saved(self, result: ShownAnswer) -> None:
        with trouble(self._said):
            told = result.answer, result.spans, result.confidence
            content = await self._visit.call(lambda _: shown_csv(*told).encode())  # it may be long
            ui.download.content(content, file_name(result), "text/csv")

    async def _surer(self, confidence: Fraction) -> None:
        """Error bars at another confidence, of the answer and of the tag: free."""
        self._dial.set(replace(self._dial.wish, confidence=confidence))
        result = self._result
        if result is not None:
            spans = await self._visit.call(lambda _: result.answer.intervals(confidence))
            self._shown(replace(result, spans=spans, confidence=confidence))
        await self._price()
