"""History page: what somebody asked and paid, each answer shown again free."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from urllib.parse import quote

from nicegui import ui

from discreet.console import downloads, prices, theme
from discreet.console.layout import page, styles, trouble
from discreet.console.pages import Visit
from discreet.curator import Answer
from discreet.curator.purchase import PastPayment, total
from discreet.curator.significant_digits import NO_BAR, Span, is_number, key, measured
from discreet.desk import Desk, Visitor
from discreet.ledger.entry_kinds import BudgetLoss

_MOST = 500  # payments: as many as are read at once, however long the ledger is
_OLDER = "Older ones are found through the HTTP door, at /api/v1/history with its parameter before."
_PAGE = 20  # questions at a time
Made = Callable[[Answer, downloads.Citation], bytes]
_ROWS = 200  # rows on a page; a download has all


@page("/history")
async def history(visit: Visit) -> None:
    """The page."""
    styles("records.css")
    theme.lead(
        "What everybody asked and paid. To see an answer again costs nothing."
        if visit.custodian
        else "What you asked and paid. To see an answer again costs nothing."
    )
    receipts = await visit.call(visit.desk.history, most=_MOST)
    if len(receipts) == _MOST:
        theme.note(f"These are the latest {_MOST:,} payments. {_OLDER}")
    every = grouped(receipts)
    if not every:
        theme.empty("Nothing was asked yet.", "The first question will stand here.", "history")
        return
    find = ui.input(label="Find", placeholder="a word of the question, or an entry").props("outlined dense clearable")
    find.classes("d-find").props('debounce="200" type="search"')
    count = theme.tag("p").classes("d-muted d-small").props('role="status"')
    shown = ui.element("div")
    further = ui.button("Show more").props("outline no-caps")
    page_of = _Pages(every, visit, shown, count, further)
    find.on_value_change(lambda change: page_of.begin(str(change.value or "")))
    further.on_click(page_of.more)
    page_of.begin("")


class _Pages:
    """The questions that fit a text, some at a time."""

    def __init__(
        self, every: list[PaidQuestion], visit: Visit, shown: ui.element, count: ui.element, further: ui.button
    ) -> None:
        self._every, self._visit, self._shown, self._count, self._further = every, visit, shown, count, further
        self._wanted, self._drawn = every, 0

    def begin(self, text: str) -> None:
        """From the newest on."""
        self._wanted, self._drawn = [each for each in self._every if each.holds(text)], 0
        self._shown.clear()
        wanted = len(self._wanted)
        theme.say(self._count, f"{wanted} question{'' if wanted == 1 else 's'}")
        if not wanted:
            with self._shown:
                theme.empty("Nothing fits.", "Look for another word.", "search_off")
        self.more()

    def more(self) -> None:
        """The next ones."""
        until = self._drawn + _PAGE
        with self._shown:
            for each in self._wanted[self._drawn : until]:
                _asked(each, self._visit)
        self._drawn = min(until, len(self._wanted))
        self._further.set_visibility(self._drawn < len(self._wanted))


def _asked(asked: PaidQuestion, visit: Visit) -> None:
    with theme.card() as made:
        made.classes("d-asked").props("role=article")
        with ui.element("div").classes("d-meta"):
            theme.tag("strong", prices.price(asked.paid).capitalize())
            theme.tag("span", prices.when(asked.latest.time)).classes("d-muted")
            if visit.custodian:
                theme.tag("span", f"by {asked.principal}").classes("d-muted")
            theme.tag("span", f"about {asked.population}").classes("d-muted")
            if len(asked.payments) == 1:
                theme.tag("span", f"entry {asked.latest.entry}").classes("d-muted")
        if asked.release is not None:
            theme.tag("p", f"Release: {asked.release}" if asked.release else "A release").classes("d-released")
        what = "The question" if asked.release is None else "The rows that were counted"
        theme.tag("pre", asked.sql).classes("d-code").props(f'tabindex="0" aria-label="{what}"')
        if len(asked.payments) > 1:
            _payments(asked)
        if asked.unanswered:
            theme.tag("p", "A payment has no answer: it failed, or the server stopped meanwhile.").classes("d-small")
        _tools(asked, visit)


def _payments(asked: PaidQuestion) -> None:
    with ui.element("details").classes("d-payments"):
        theme.tag("summary", f"{len(asked.payments)} payments")
        with theme.table((("Entry", "d-num"), ("When", ""), ("Price", "d-num"), ("Answer in entry", "d-num"))):
            for each in asked.payments:
                price = prices.figure(each.loss.amount, up=True)
                answer = "none" if each.answer is None else str(each.answer)
                theme.row((str(each.entry), "d-num"), (prices.when(each.time), ""), (price, "d-num"), (answer, "d-num"))


def _tools(asked: PaidQuestion, visit: Visit) -> None:
    tools = ui.element("div").classes("d-tools")
    box = ui.element("div").classes("d-answer").props('aria-live="polite"')

    async def show() -> None:
        with theme.busy(again), trouble(box, sql=asked.sql):
            answer = await visit.call(visit.desk.shown, asked.sql, {})
            with box:
                _table(answer)

    async def take(button: ui.button, made: Made, name: str, kind: str) -> None:
        with theme.busy(button), trouble(box, sql=asked.sql):
            content = await visit.call(partial(_taken, visit.desk), asked, made)
            ui.download.content(content, f"answer-{asked.latest.entry}{name}", kind)

    with tools:
        if asked.is_question:
            again = ui.button("Show again", icon="visibility", on_click=show).props("flat no-caps dense")
            theme.go("Ask again", "edit", f"/ask?sql={quote(asked.sql, safe='')}", "flat dense")
            for words, made, name, kind in (
                ("CSV", downloads.as_zip, ".zip", "application/zip"),
                ("Parquet", downloads.as_parquet, ".parquet", "application/vnd.apache.parquet"),
            ):
                button = ui.button(words, icon="download").props("flat no-caps dense")
                button.props["aria-label"] = f"Download {words} with a citation"
                button.on_click(partial(take, button, made, name, kind))
        if asked.release is not None and asked.latest.answer is not None:
            theme.go("Open the release", "bar_chart", f"/releases?entry={asked.latest.answer}", "flat dense")
        theme.go("Proof", "verified", f"/ledger?entry={asked.latest.answer or asked.latest.entry}", "flat dense")


def _taken(desk: Desk, who: Visitor, asked: PaidQuestion, made: Made) -> bytes:
    """The file of an answer. Never at a price."""
    answer = desk.shown(who, asked.sql, {})
    neighbours = desk.accounts(who)[asked.population].neighbours
    return made(answer, downloads.cited(asked.sql, answer, desk.history(who), neighbours, desk.head(who)))


def _table(answer: Answer) -> None:
    """The rows, scrolling in their place."""
    known = answer.noisy or (False,) * len(answer.columns)
    kinds = ["d-num" if is_number(kind) else "" for kind in answer.types]
    with theme.table(zip(answer.columns, kinds, strict=True), "The answer"):
        for row, spans in list(zip(answer.rows, answer.spans, strict=True))[:_ROWS]:
            with ui.element("tr"):
                for cell, kind, span, noisy in zip(row, kinds, spans, known, strict=True):
                    _cell(cell, kind, span, noisy=noisy)
    if len(answer.rows) > _ROWS:
        theme.note(f"The first {_ROWS} of {len(answer.rows):,} rows. A download has all.")
    elif not answer.rows:
        theme.note("The answer has no rows.")
    barred = any(span is not None for row in answer.spans for span in row)
    sure = f"The error holds in {100 * float(answer.confidence):g} of 100 cases." if barred else ""
    doubts = [sentence for sentence in answer.notices if sentence not in answer.bounding]
    if told := " ".join(filter(None, [*doubts, sure, answer.bounding])):
        theme.note(told)


def _cell(cell: object, kind: str, span: Span, *, noisy: bool) -> None:
    value, give = (key(cell), NO_BAR if noisy and cell is not None else "") if span is None else measured(cell, span)
    with theme.tag("td", value).classes(kind):
        if give:
            words = give if give.startswith("±") else f"({give})"
            theme.tag("span", f" {words}").classes("d-pm")  # a space for who copies it


@dataclass(frozen=True)
class PaidQuestion:
    """A question of one person, and everything they ever paid for it, the latest first."""

    principal: str
    sql: str
    population: str
    payments: tuple[PastPayment, ...]

    @property
    def latest(self) -> PastPayment:
        """The newest payment."""
        return self.payments[0]

    @property
    def release(self) -> str | None:
        """The name of the release that was bought; None if it was no release."""
        return self.latest.release

    @property
    def paid(self) -> BudgetLoss:
        """The sum of them."""
        return total([each.loss for each in self.payments]) or self.latest.loss

    @property
    def price(self) -> BudgetLoss:
        """What it cost the last time: its parts are paid at once, so their entries follow each other."""
        parts = [each.loss for place, each in enumerate(self.payments) if each.entry == self.latest.entry - place]
        return total(parts) or self.latest.loss

    @property
    def is_question(self) -> bool:
        """Whether it is SQL that can be asked again: advice on bounds and mechanisms are paid for as well."""
        begins = self.sql.lstrip(" \t\r\n(").lower()
        return self.release is None and begins.startswith(("select", "with", "from", "values"))

    @property
    def unanswered(self) -> bool:
        """Whether something was paid for which no answer is kept. That of a session comes when it is closed."""
        return any(each.answer is None and not each.session for each in self.payments)

    def holds(self, text: str) -> bool:
        """Whether somebody who looks for this text would want to see it."""
        entries = " ".join(str(each.entry) for each in self.payments)
        words = f"{self.release or ''} {self.sql} {self.principal} {self.population} {entries}"
        return all(word in words.lower() for word in text.lower().split())


def grouped(receipts: Iterable[PastPayment]) -> list[PaidQuestion]:
    """The questions that receipts are for, the one that was paid last first."""
    parts: dict[tuple[str, str, str, int], list[PastPayment]] = {}
    for each in sorted(receipts, key=lambda receipt: -receipt.entry):
        alone = 0 if each.release is None else each.entry  # releases of the same rows are different ones
        parts.setdefault((each.principal, each.sql, each.population, alone), []).append(each)
    return [PaidQuestion(*key[:3], tuple(payments)) for key, payments in parts.items()]
