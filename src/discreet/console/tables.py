"""The tables of a home, for its custodians: what is declared, new rows, and an end."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path

from nicegui import ui

from discreet.console import data_dictionary, downloads, theme
from discreet.console.confirm import apart, confirm
from discreet.console.file_chooser import UNCHANGED, Share, chooser, progress
from discreet.console.layout import trouble
from discreet.console.page_visit import Visit
from discreet.console.table_draft import in_words
from discreet.console.upload import Upload
from discreet.curator.declarations import stale
from discreet.desk import Desk, Visitor
from discreet.errors import Refusal
from discreet.sql.schema import Table

Again = Callable[[], Awaitable[None]]

_REMOVE = (
    "Its rows are deleted, and nobody can ask about it any more. What was spent stays spent, and answers that were "
    "given stay in the ledger. This cannot be taken back."
)


def listed(visit: Visit, tables: Sequence[Table], again: Again) -> None:
    """All tables."""
    if not tables:
        theme.empty("There is no table yet.", "Add one, and people can ask about it.", "table_chart")
    for table in tables:
        with theme.card() as made:
            made.props["aria-label"] = table.name
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
        _tool("Update rows", "upload", lambda: _update(visit, table, then, again))
        for kind, words in (("csv", "Made-up rows (CSV)"), ("parquet", "Made-up rows (Parquet)")):
            with ui.element("a").classes("d-get") as link:
                link.props["href"], link.props["download"] = downloads.sample_address(table.name, kind), ""
                ui.icon("download").props('aria-hidden="true"')
                theme.tag("span", words)
        _tool("Remove", "delete_outline", lambda: _remove(visit, table, again))


def _tool(words: str, icon: str, doing: Callable[[], None]) -> None:
    ui.button(words, icon=icon, on_click=doing, color=None).props("flat dense no-caps").classes("d-quiet")


def _remove(visit: Visit, table: Table, again: Again) -> None:
    async def done() -> None:
        await visit.call(partial(_removed, visit.desk), table.name)
        ui.notify(f"{table.name} is removed.", type="positive")
        await again()

    confirm(f"Remove {table.name}?", _REMOVE, table.name, "Remove it", done)


def _removed(desk: Desk, who: Visitor, name: str) -> None:
    desk.custody(who).remove(name)


def _update(visit: Visit, table: Table, then: str, again: Again) -> None:
    with apart("persistent") as dialog, ui.element("div").classes("d-card d-dialog"):
        theme.heading(f"New rows for {table.name}", 2)
        theme.tag(
            "p", "They take the place of all rows that are there. What is declared stays, and so does the budget."
        )
        inner = ui.element("div")
        box = ui.element("div").props('aria-live="polite"')
        with ui.element("div").classes("d-row d-foot"):
            leave = ui.button("Leave it", on_click=dialog.close, color=None).props("flat no-caps").classes("d-quiet")

    async def chosen(upload: Upload) -> None:
        inner.clear()
        with dialog, theme.busy(leave), trouble(box, foot=UNCHANGED):
            await taken(upload)
            ui.notify(f"{table.name} has new rows. {then}".rstrip(), type="warning" if then else "positive")
            dialog.close()
            await again()
        if not dialog.is_deleted and dialog.value:
            choose()

    async def taken(upload: Upload) -> None:
        share = Share()
        with inner:
            progress(share, f"Reading {upload.name}")
        try:
            with visit.uploads.reading(upload) as path:
                await visit.call(partial(_updated, visit.desk), table.name, path, share)
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


def _updated(desk: Desk, who: Visitor, name: str, path: Path, share: Share) -> None:
    desk.custody(who).update(name, path, progress=share.hear)
