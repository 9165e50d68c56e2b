"""The pictures of a release on a page: one at a time, because some are large, and a browser waits for each."""

from __future__ import annotations

from collections.abc import Sequence

from nicegui import ui

from discreet.console import theme
from discreet.release.figures import Picture


def gallery(shown: Sequence[Picture]) -> None:
    """The first picture, and a list to choose another one from."""
    if not shown:
        return
    names = {place: picture.title for place, picture in enumerate(shown)}
    box: ui.element

    def drawn(place: int) -> None:
        box.clear()
        with box:
            _picture(shown[place], named=len(shown) == 1)

    if len(shown) > 1:
        choice = ui.select(names, value=0, label="Show").props("outlined dense options-dense")
        choice.classes("d-which").on_value_change(lambda event: drawn(int(event.value)))
    box = ui.element("div").props('aria-live="polite"')
    drawn(0)


def _picture(picture: Picture, *, named: bool) -> None:
    with ui.element("figure").classes("d-picture"):
        if named:  # else the list says it
            theme.tag("p", picture.title).classes("d-picture-name")
        # ours: whatever a person wrote is escaped in them
        ui.html(picture.wide, sanitize=False).classes("d-wide-picture")
        ui.html(picture.narrow, sanitize=False).classes("d-narrow-picture")
        theme.tag("figcaption", picture.note).classes("d-muted d-small")
