"""Adding a table: five short steps, and nothing is declared before the last."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

from nicegui import ui

from discreet.console import adding_steps, theme
from discreet.console import table_draft as drafts
from discreet.console.file_chooser import UNCHANGED, Share, chooser, progress
from discreet.console.layout import trouble
from discreet.console.page_visit import Visit
from discreet.console.table_draft import BUDGET, COLUMNS, FILE, OWNER, REVIEW, STEPS, Blamed, Draft, in_words
from discreet.console.upload import Upload, said_size
from discreet.curator.custody import Declared
from discreet.curator.source import SourceColumn, found, source_types
from discreet.desk import Desk, Visitor
from discreet.errors import Refusal
from discreet.ledger.books import Account
from discreet.sql.schema import Table

T = TypeVar("T")

_MOST = 500  # columns that can be described on a page
_TITLES = ("The file", "Whose rows", "Columns", "Budget", "Review")


class Adding:
    """A table on its way in."""

    def __init__(
        self,
        visit: Visit,
        tables: Sequence[Table],
        accounts: Mapping[str, Account],
        left: Callable[[], Awaitable[None]],
    ) -> None:
        self._visit, self._tables, self._accounts, self._left = visit, tables, accounts, left
        self._draft = Draft()
        self._upload: Upload | None = None
        self._step = FILE
        with ui.element("div").classes("d-row d-spread"):
            theme.heading("Add a table", 2)
            ui.button("Back to the tables", icon="arrow_back", on_click=self._leave, color=None).props(
                "flat dense no-caps"
            ).classes("d-quiet")
        self._trail = ui.element("ol").classes("d-trail")
        with theme.card():
            self._panel = ui.element("div")
            self._box = ui.element("div").props('aria-live="polite"')
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
            adding_steps.owner(draft, self._tables)
        elif step == COLUMNS:
            adding_steps.columns(draft)
        elif step == BUDGET:
            adding_steps.budget(draft, self._tables, self._accounts)
        elif review is not None:
            adding_steps.review(review, drafts.command(draft), draft)

    def _file(self) -> None:
        if self._upload is None:
            theme.tag(
                "p",
                "It is kept in a private folder of this server until the table is added, and deleted then, or when "
                "you leave. Only you see what columns it has.",
            ).classes("d-lead")
            chooser(self._visit, self._chosen)
            return
        with ui.element("div").classes("d-said d-row"):
            ui.icon("description").props('aria-hidden="true"')
            size = said_size(self._upload.size)
            theme.tag("span", f"{self._upload.name}, {size}, {len(self._draft.fields)} columns").classes("d-grow")
            ui.button("Another file", on_click=self._another, color=None).props("flat dense no-caps").classes("d-quiet")
        with ui.element("div").classes("d-fields"), ui.element("div"):
            adding_steps.text("Name of the table", self._draft, "name")
            theme.tag("p", "As people write it in questions: letters, digits and _.").classes("d-muted d-small")

    # going -----------------------------------------------------------------------------------------------------------

    async def _chosen(self, upload: Upload) -> None:
        self._upload = upload
        try:
            columns = await self._asked(_looked)
        except Refusal:
            self._upload = None
            self._visit.uploads.drop(upload)
            raise
        name = self._draft.name or drafts.table_name(upload.name)
        self._draft = Draft(file=upload.name, fields=drafts.described(columns), name=name)
        self._draw(FILE)

    async def _go_on(self) -> None:
        with theme.busy(self._next, self._back), trouble(self._box, foot=UNCHANGED):
            try:
                await (self._add() if self._step == REVIEW else self._check())
            except Blamed as blamed:
                if blamed.step != self._step:
                    self._draw(blamed.step)
                raise

    async def _check(self) -> None:
        """Whether what was said up to here would be refused; if not, the next step."""
        said = list(drafts.stages(self._draft, self._step))
        table = await self._asked(partial(_rehearsed, name=self._draft.name.strip(), stages=said))
        self._draw(self._step + 1, table)

    async def _add(self) -> None:
        draft, share = self._draft, Share()
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
        except Blamed as blamed:
            raise Blamed(blamed.step, in_words(blamed, str(upload.path))) from None
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
    return found(path)


def _rehearsed(desk: Desk, who: Visitor, path: Path, *, name: str, stages: Sequence[tuple[int, Declared]]) -> Table:
    custody = desk.custody(who)
    for step, said in stages:
        try:
            table = custody.rehearse(name, path, said)
        except Refusal as refusal:
            raise Blamed(step, refusal) from None
    return table


def _added(desk: Desk, who: Visitor, path: Path, *, as_said: tuple[str, Declared], share: Share) -> None:
    name, said = as_said
    desk.custody(who).add(name, path, said, progress=share.hear)
