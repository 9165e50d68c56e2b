"""For custodians: a released table becomes a public one, about which everybody asks in SQL, free."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from nicegui import ui

from discreet.console import theme
from discreet.console.file_chooser import UNCHANGED
from discreet.console.layout import trouble
from discreet.console.page_visit import Visit
from discreet.curator.custody import Declared
from discreet.desk import Desk, Visitor


def registered(desk: Desk, who: Visitor, entry: int, table: str, name: str) -> None:
    """Add a table of a release as a public one. It blocks."""
    rows = desk.release(who, entry).to_arrow()[table]
    desk.custody(who).add(name, rows, Declared(public=True))


def registering(visit: Visit, entry: int, tables: Sequence[str]) -> None:
    """A card to do so."""
    with theme.card("Make it a public table"):
        theme.tag("p", "Everybody who may ask can then ask about it in SQL, and questions about it are free.").classes(
            "d-muted"
        )
        with ui.element("div").classes("d-asking"):
            which = ui.select(list(tables), value=tables[0], label="Table").props("outlined dense options-dense")
            which.classes("d-some").set_visibility(len(tables) > 1)
            name = ui.input("Its name in SQL", value=f"released_{entry}").props("outlined dense maxlength=64")
            name.classes("d-some")
            button = ui.button("Make it public").props("outline no-caps")
        box = ui.element("div").props('aria-live="polite"')

    async def done() -> None:
        called = str(name.value or "").strip()
        with theme.busy(button), trouble(box, foot=UNCHANGED):
            await visit.call(partial(registered, visit.desk), entry, str(which.value), called)
            with box, ui.element("div").classes("d-good").props('role="status"'):
                theme.tag("strong", f"{called} is a public table now.")
                with ui.element("p"):
                    link = theme.tag("a", "Ask about it")
                    link.props["href"] = f"/ask?sql=SELECT%20*%20FROM%20{called}"

    button.on_click(done)
    name.on("keydown.enter", done)
