"""Data, for custodians: tables, the people they speak about, and who may ask."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from nicegui import ui

from discreet.console import add_table, assets, file_chooser, people, populations, tables, theme
from discreet.console.layout import page, trouble
from discreet.console.page_visit import Visit
from discreet.desk import Desk, Visitor
from discreet.desk.desk import Person
from discreet.ledger.books import Account
from discreet.sql.schema import Table

_PARTS = {"tables": "Tables", "populations": "Populations", "people": "People"}


@dataclass(frozen=True)
class _Seen:
    """Everything that the page shows, read at one time."""

    tables: Sequence[Table]
    accounts: Mapping[str, Account]
    priced: frozenset[str]  # the populations about which every question must name a price
    people: Sequence[Person]


def _seen(desk: Desk, who: Visitor) -> _Seen:
    return _Seen(desk.tables(who), desk.accounts(who), desk.custody(who).requiring_price(), desk.people(who))


@page("/data")
async def data(visit: Visit) -> None:
    """The page."""
    for style in ("records.css", "data.css"):
        ui.add_head_html(f'<link rel="stylesheet" href="{assets.address(style)}">')
    file_chooser.script()
    theme.lead("The tables that people may ask about, what may be learned in all, and who may ask.")
    box, shown = ui.element("div").props('aria-live="polite"'), ui.element("div")
    part = ["tables"]

    async def show() -> None:
        with trouble(box):
            found = await visit.call(partial(_seen, visit.desk))
            shown.clear()
            with shown:
                draw(found)

    def draw(found: _Seen) -> None:
        with ui.tabs(on_change=lambda event: part.__setitem__(0, str(event.value))) as chosen:
            chosen.props("no-caps align=left dense").classes("d-tabs")
            for name, words in _PARTS.items():
                ui.tab(name, words)
        with ui.tab_panels(chosen, value=part[0], animated=False).classes("d-panels"):
            with ui.tab_panel("tables"):
                with ui.element("div").classes("d-row d-spread"):
                    theme.lead("Everybody who may ask sees what is declared here. Nobody sees the rows.")
                    ui.button("Add a table", icon="add", on_click=lambda: add(found)).props("unelevated no-caps")
                tables.listed(visit, found.tables, show)
            with ui.tab_panel("populations"):
                populations.listed(visit, found.accounts, found.priced, found.tables, show)
            with ui.tab_panel("people"):
                people.listed(visit, found.people, [table.name for table in found.tables], show)

    def add(found: _Seen) -> None:
        part[0] = "tables"
        shown.clear()
        with shown:
            add_table.Adding(visit, found.tables, found.accounts, show)

    await show()
