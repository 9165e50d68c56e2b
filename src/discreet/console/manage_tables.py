"""Tables that custodians keep: what is declared, new rows, an end, and a table that is added in five steps."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from nicegui import ui
from nicegui.events import GenericEventArguments

from discreet.console import data_dictionary, downloads, table_form, theme
from discreet.console import table_draft as drafts
from discreet.console.layout import UNCHANGED, apart, changed, confirm, trouble
from discreet.console.pages import Visit, static_address
from discreet.console.table_draft import BUDGET, COLUMNS, FILE, OWNER, REVIEW, STEPS, StepRefusal, TableDraft, in_words
from discreet.console.upload import UploadedFile, said_size
from discreet.curator.custody import Declared
from discreet.curator.declarations import stale
from discreet.curator.source_schema import SourceColumn, source_columns, source_types
from discreet.declared.table import Table
from discreet.desk import Desk, Visitor
from discreet.errors import Refusal
from discreet.ledger.balances import Account

Again = Callable[[], Awaitable[None]]
T = TypeVar("T")

_MOST = 500  # columns that can be described on a page
_TITLES = ("The file", "Whose rows", "Columns", "Budget", "Review")
_REMOVE = (
    "Its rows are deleted, and nobody can ask about it any more. What was spent stays spent, and answers that were "
    "given stay in the ledger. This cannot be taken back."
)
Chosen = Callable[[UploadedFile], Awaitable[None]]
_GLANCE = 0.25  # seconds


def listed(visit: Visit, tables: Sequence[Table], again: Again) -> None:
    """All tables."""
    if not tables:
        theme.empty("There is no table yet.", "Add one, and people can ask about it.", "table_chart")
    for table in tables:
        with theme.card(label=table.name):
            _table(visit, table, stale(table.name, tables), again)


def _table(visit: Visit, table: Table, then: str, again: Again) -> None:
    with ui.element("div").classes("d-row d-title"):
        theme.heading(table.name, 2)
        theme.tag("span", "Public" if table.public else "Private").classes(
            "d-badge" if table.public else "d-badge d-off"
        )
        theme.tag("span", f"version {table.version}").classes("d-muted d-small")
    with theme.facts():
        theme.fact("Whose rows", data_dictionary.owner(table))
        if table.population is not None:
            theme.fact("Population", table.population)
        if caps := data_dictionary.caps(table):
            theme.fact("Of one person", caps)
    data_dictionary.columns(table.columns)
    with ui.element("div").classes("d-tools"):
        theme.tool("Update rows", lambda: _update(visit, table, then, again), "upload")
        for kind, words in (("csv", "Made-up rows (CSV)"), ("parquet", "Made-up rows (Parquet)")):
            with ui.element("a").classes("d-get") as link:
                link.props["href"], link.props["download"] = downloads.sample_address(table.name, kind), ""
                ui.icon("download").props('aria-hidden="true"')
                theme.tag("span", words)
        theme.tool("Remove", lambda: _remove(visit, table, again), "delete_outline")


def _remove(visit: Visit, table: Table, again: Again) -> None:
    done = changed(visit, lambda custody: custody.remove(table.name), f"{table.name} is removed.", again)
    confirm(f"Remove {table.name}?", _REMOVE, table.name, "Remove it", done)


def _update(visit: Visit, table: Table, then: str, again: Again) -> None:
    with apart("persistent") as dialog, ui.element("div").classes("d-card d-dialog"):
        theme.heading(f"New rows for {table.name}", 2)
        theme.tag(
            "p", "They take the place of all rows that are there. What is declared stays, and so does the budget."
        )
        inner = ui.element("div")
        box = theme.live()
        with ui.element("div").classes("d-row d-foot"):
            leave = ui.button("Leave it", on_click=dialog.close, color=None).props("flat no-caps").classes("d-quiet")

    async def chosen(upload: UploadedFile) -> None:
        inner.clear()
        with dialog, theme.busy(leave), trouble(box, foot=UNCHANGED):
            await taken(upload)
            ui.notify(f"{table.name} has new rows. {then}".rstrip(), type="warning" if then else "positive")
            dialog.close()
            await again()
        if not dialog.is_deleted and dialog.value:
            choose()

    async def taken(upload: UploadedFile) -> None:
        share = WorkDone()
        with inner:
            progress(share, f"Reading {upload.name}")
        try:
            with visit.uploads.reading(upload) as path:
                await visit.custody(lambda custody: custody.update(table.name, path, progress=share.hear))
        except Refusal as refusal:
            raise in_words(refusal, str(upload.path)) from None
        finally:
            visit.uploads.drop(upload)
            inner.clear()

    def choose() -> None:
        with inner:
            chooser(visit, chosen)

    choose()
    dialog.open()


class NewTable:
    """A table on its way in."""

    def __init__(
        self,
        visit: Visit,
        tables: Sequence[Table],
        accounts: Mapping[str, Account],
        left: Callable[[], Awaitable[None]],
    ) -> None:
        self._visit, self._tables, self._accounts, self._left = visit, tables, accounts, left
        self._draft = TableDraft()
        self._upload: UploadedFile | None = None
        self._step = FILE
        with ui.element("div").classes("d-row d-spread"):
            theme.heading("Add a table", 2)
            theme.tool("Back to the tables", self._leave, "arrow_back")
        self._trail = ui.element("ol").classes("d-trail")
        with theme.card():
            self._panel = ui.element("div")
            self._box = theme.live()
            with ui.element("div").classes("d-row d-foot"):
                self._next = ui.button("Next", on_click=self._go_on).props("unelevated no-caps")
                self._back = ui.button("Back", on_click=self._go_back, color=None).props("flat no-caps")
                self._back.classes("d-quiet")
        self._draw(FILE)

    # drawing ---------------------------------------------------------------------------------------------------------

    def _draw(self, step: int, review: Table | None = None) -> None:
        self._step = step
        self._trail.clear()
        with self._trail:
            for number, words in enumerate(STEPS):
                with ui.element("li").classes("d-done" if number < step else "") as made:
                    if number == step:
                        made.props["aria-current"] = "step"
                    theme.tag("span", str(number + 1)).classes("d-number-dot").props('aria-hidden="true"')
                    theme.tag("span", words)
        self._panel.clear()
        self._next.set_text("Add the table" if step == REVIEW else "Next")
        self._next.set_visibility(step != FILE or self._upload is not None)
        self._back.set_visibility(step != FILE)
        with self._panel:
            theme.heading(_TITLES[step], 3)
            self._content(step, review)
        ui.run_javascript("document.querySelector('.d-trail')?.scrollIntoView({block: 'center'})")

    def _content(self, step: int, review: Table | None) -> None:
        draft = self._draft
        if step == FILE:
            self._file()
        elif step == OWNER:
            table_form.owner(draft, self._tables)
        elif step == COLUMNS:
            table_form.columns(draft)
        elif step == BUDGET:
            table_form.budget(draft, self._tables, self._accounts)
        elif review is not None:
            table_form.review(review, drafts.command(draft), draft)

    def _file(self) -> None:
        if self._upload is None:
            theme.lead(
                "It is kept in a private folder of this server until the table is added, and deleted then, or when "
                "you leave. Only you see what columns it has."
            )
            chooser(self._visit, self._chosen)
            return
        with ui.element("div").classes("d-said d-row"):
            ui.icon("description").props('aria-hidden="true"')
            size = said_size(self._upload.size)
            theme.tag("span", f"{self._upload.name}, {size}, {len(self._draft.fields)} columns").classes("d-grow")
            theme.tool("Another file", self._another)
        with ui.element("div").classes("d-fields"), ui.element("div"):
            table_form.text("Name of the table", self._draft, "name")
            theme.note("As people write it in questions: letters, digits and _.")

    # going -----------------------------------------------------------------------------------------------------------

    async def _chosen(self, upload: UploadedFile) -> None:
        self._upload = upload
        try:
            columns = await self._asked(_looked)
        except Refusal:
            self._upload = None
            self._visit.uploads.drop(upload)
            raise
        name = self._draft.name or drafts.table_name(upload.name)
        self._draft = TableDraft(file=upload.name, fields=drafts.described(columns), name=name)
        self._draw(FILE)

    async def _go_on(self) -> None:
        with theme.busy(self._next, self._back), trouble(self._box, foot=UNCHANGED):
            try:
                await (self._add() if self._step == REVIEW else self._check())
            except StepRefusal as blamed:
                if blamed.step != self._step:
                    self._draw(blamed.step)
                raise

    async def _check(self) -> None:
        """Whether what was said up to here would be refused; if not, the next step."""
        said = list(drafts.stages(self._draft, self._step))
        table = await self._asked(partial(_rehearsed, name=self._draft.name.strip(), stages=said))
        self._draw(self._step + 1, table)

    async def _add(self) -> None:
        draft, share = self._draft, WorkDone()
        said = list(drafts.stages(draft))
        await self._asked(partial(_rehearsed, name=draft.name.strip(), stages=said))
        with self._box:
            progress(share, f"Taking {draft.file} in")
        try:
            await self._asked(partial(_added, as_said=(draft.name.strip(), said[-1][1]), share=share))
        except Exception:
            self._box.clear()
            raise
        ui.notify(f"{draft.name.strip()} is added.", type="positive")
        await self._leave()

    async def _asked(self, doing: Callable[[Desk, Visitor, Path], T]) -> T:
        """What a function of the file answers, in words for this page."""
        upload, visit = self._upload, self._visit
        if upload is None:
            raise Refusal("there is no file yet", hint="choose one")
        try:
            with visit.uploads.reading(upload) as path:
                return await visit.call(partial(doing, visit.desk), path)
        except StepRefusal as blamed:
            raise StepRefusal(blamed.step, in_words(blamed, str(upload.path))) from None
        except Refusal as refusal:
            raise in_words(refusal, str(upload.path)) from None

    def _go_back(self) -> None:
        self._box.clear()
        self._draw(self._step - 1)

    def _another(self) -> None:
        self._drop()
        self._box.clear()
        self._draw(FILE)

    async def _leave(self) -> None:
        self._drop()
        await self._left()

    def _drop(self) -> None:
        if self._upload is not None:
            self._visit.uploads.drop(self._upload)
            self._upload = None


def _looked(desk: Desk, who: Visitor, path: Path) -> tuple[SourceColumn, ...]:
    desk.custody(who)
    return looked(path)


def looked(path: Path) -> tuple[SourceColumn, ...]:
    """The columns of a file, unless they are too many for a page."""
    count = len(source_types(path))
    if count > _MOST:
        raise Refusal(
            f"the file has {count:,} columns, and {_MOST} can be described here",
            hint="add it on the server itself, with discreet add",
        )
    return source_columns(path)


def _rehearsed(desk: Desk, who: Visitor, path: Path, *, name: str, stages: Sequence[tuple[int, Declared]]) -> Table:
    custody = desk.custody(who)
    for step, said in stages:
        try:
            table = custody.rehearse(name, path, said)
        except Refusal as refusal:
            raise StepRefusal(step, refusal) from None
    return table


def _added(desk: Desk, who: Visitor, path: Path, *, as_said: tuple[str, Declared], share: WorkDone) -> None:
    name, said = as_said
    desk.custody(who).add(name, path, said, progress=share.hear)


def script() -> None:
    """What sends files, for a page with a chooser."""
    ui.add_head_html(f'<script defer src="{static_address("bring.js")}"></script>')


def chooser(visit: Visit, chosen: Chosen) -> None:
    """A place to drop a file. What comes is handed on; it is dropped when the page goes."""
    most = visit.uploads.most
    with ui.element("label").classes("d-drop") as place:
        ui.icon("upload_file").props('aria-hidden="true"')
        theme.tag("strong", "Choose a file, or drop it here")
        theme.tag("span", f"Parquet, or CSV with a line of names. Up to {said_size(most)}.").classes("d-muted")
        field = ui.element("input").props('type="file" accept=".parquet,.pq,.csv,.tsv,.txt"')
    with ui.element("div").classes("d-coming") as coming:
        bar = ui.element("progress").props('max="100" aria-label="How much of the file has arrived"')
        words = theme.tag("span").classes("d-muted")
        ui.button("Stop", color=None).props("flat dense no-caps").classes("d-quiet").on(
            "click", js_handler="() => window.discreetStop()"
        )
    coming.set_visibility(False)
    box = theme.live()
    client = ui.context.client

    async def heard(event: GenericEventArguments) -> None:
        told = event.args if isinstance(event.args, dict) else {}
        share = told.get("share")
        on_its_way = isinstance(share, (int, float))
        place.set_visibility(not on_its_way)
        coming.set_visibility(on_its_way)
        if isinstance(share, (int, float)):
            box.clear()
            bar.props["value"] = str(round(100 * share))
            bar.update()
            theme.say(words, f"{min(99, round(100 * share))} % has arrived" if share < 1 else "Almost there")
            return
        with trouble(box, foot=UNCHANGED):
            upload = _arrived(visit, told)
            client.on_delete(lambda: visit.uploads.drop(upload))
            await chosen(upload)

    field.on("change", heard, js_handler=f"(event) => window.discreetBring(event.target, {most}, emit)")


def _arrived(visit: Visit, told: dict[str, object]) -> UploadedFile:
    if told.get("large"):
        limit = said_size(visit.uploads.most)
        raise Refusal(f"a file may have {limit} here", hint="add it on the server itself, with discreet add")
    if not isinstance(told.get("id"), str):
        raise Refusal(str(told.get("said") or "the file did not arrive")[:500])
    return visit.uploads.find(visit.session, told["id"])


@dataclass
class WorkDone:
    """A share of some work, told by one thread and read by another."""

    done: float = 0.0

    def hear(self, done: float) -> None:
        """What the work says of itself."""
        self.done = done


def progress(share: WorkDone, what: str) -> None:
    """A bar that follows a share."""
    with ui.element("div").classes("d-coming").props('role="status"'):
        bar = ui.element("progress").props('max="100"')
        bar.props["aria-label"] = what
        theme.tag("span", what).classes("d-muted")

    def look() -> None:
        bar.props["value"] = str(round(100 * max(0.0, min(1.0, share.done))))
        bar.update()

    ui.timer(_GLANCE, look)
