"""Release previews: a release in a few words, as a stamp, and as pictures shown one at a time."""

from __future__ import annotations

from collections.abc import Sequence

from nicegui import ui

from discreet.console import theme
from discreet.desk import Desk, PaidRelease, Visitor
from discreet.lru_cache import LruCache
from discreet.pictures import Picture
from discreet.release.kind import kinds

_KEPT = 512  # of the last ones that were looked at: to draw one, all of a release is read

_drawn: LruCache[str, str] = LruCache(_KEPT)  # by the digest of the release


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


def of_listed(desk: Desk, visitor: Visitor, listed: PaidRelease) -> str:
    """The picture of a release, if the visitor may read it. It blocks; what was drawn before is not drawn again."""
    if (known := _drawn.get(listed.digest)) is not None:
        return known  # whoever has the digest was shown the release's entry
    made = desk.release(visitor, listed.entry).thumbnail()
    _drawn.put(listed.digest, made)
    return made


def address(entry: int) -> str:
    """Where a release is."""
    return f"/releases?entry={entry}"


def about(listed: PaidRelease) -> str:
    """What a release counts."""
    columns, tables = ", ".join(listed.wish.columns), ", ".join(listed.tables)
    titles = {kind.name: kind.title for kind in kinds()}
    return f"{titles.get(listed.wish.kind, listed.wish.kind)} of {columns}, from {tables}"
