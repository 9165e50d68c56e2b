"""For what cannot be taken back: one types its name before it happens."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

from nicegui import ui

from discreet.console import theme
from discreet.console.file_chooser import UNCHANGED
from discreet.console.layout import trouble

Doing = Callable[[], Awaitable[None]]


@contextmanager
def apart(props: str = "") -> Iterator[ui.dialog]:
    """A dialog that outlives what it was opened from, and is forgotten when it closes."""
    with ui.context.client.content, ui.dialog().props(props) as dialog:
        dialog.on("hide", dialog.delete)
        yield dialog


def confirm(title: str, words: str, name: str, verb: str, doing: Doing) -> None:
    """Ask in a dialog of its own; do it when the name was typed, and say there what is refused."""
    with apart() as dialog, ui.element("div").classes("d-card d-dialog"):
        theme.heading(title, 2)
        theme.tag("p", words)
        typed = ui.input(f"Type {name} to go on").props('outlined autofocus autocomplete="off" spellcheck="false"')
        typed.classes("full-width")
        box = ui.element("div").props('aria-live="polite"')
        with ui.element("div").classes("d-row d-foot"):
            button = ui.button(verb, color="negative").props("unelevated no-caps")
            ui.button("Leave it", on_click=dialog.close, color=None).props("flat no-caps").classes("d-quiet")

    def is_typed() -> bool:
        return str(typed.value or "").strip() == name

    async def done() -> None:
        if not is_typed():
            return
        with theme.busy(button), trouble(box, foot=UNCHANGED):
            await doing()
            dialog.close()

    button.set_enabled(False)
    typed.on_value_change(lambda: button.set_enabled(is_typed()))
    typed.on("keydown.enter", done)
    button.on_click(done)
    dialog.open()
