"""Releases page: counts that were published once, for everybody to compute on free."""

from __future__ import annotations

from functools import partial

from nicegui import ui

from discreet.console import prices, theme
from discreet.console.layout import page, styles
from discreet.console.pages import Visit
from discreet.console.release_builder import workshop
from discreet.console.release_page import about, address, exhibit
from discreet.desk import Desk, PaidRelease, Visitor
from discreet.errors import Refusal
from discreet.lru_cache import LruCache

NEW = "/releases?new=1"
_PAGE = 12  # cards at a time
_KEPT = 512  # of the last ones that were looked at: to draw one, all of a release is read
_drawn: LruCache[str, str] = LruCache(_KEPT)  # by the digest of the release


@page("/releases")
async def releases(visit: Visit) -> None:
    """The page: one release, the workshop, or all."""
    asked = ui.context.client.request.query_params
    entry = asked.get("entry", "")
    styles("releases.css")
    if entry.isascii() and entry.isdigit() and len(entry) <= 15:
        await exhibit(visit, int(entry))
    elif asked.get("new"):
        await workshop(visit)
    else:
        await _all(visit)


async def _all(visit: Visit) -> None:
    theme.lead("Published once, at one price. Everybody who may ask reads them and computes on them free.")
    every = await visit.call(visit.desk.releases)
    with ui.element("div").classes("d-row d-above"):
        theme.go("Make a release", "add", NEW)
    if not every:
        theme.empty("Nothing is published yet.", "A release can be tried on made-up rows first.", "bar_chart")
        return
    shown = ui.element("div").classes("d-grid d-releases")
    further = ui.button("Show more").props("outline no-caps")
    drawn = [0]

    async def more() -> None:
        some = every[drawn[0] : drawn[0] + _PAGE]
        drawn[0] += len(some)
        further.set_visibility(drawn[0] < len(every))
        with shown:
            boxes = [(each, _card(each, visit)) for each in some]
        for each, box in boxes:
            await _stamp(visit, each, box)

    further.set_visibility(len(every) > _PAGE)
    further.on_click(more)
    ui.timer(0.01, more, once=True)


async def _stamp(visit: Visit, listed: PaidRelease, box: ui.element) -> None:
    """The picture comes after the card: to draw it, all of the release is read."""
    try:
        drawn = await visit.call(partial(thumbnail_of, visit.desk), listed)
    except Refusal:  # its file is missing, or not what the ledger knows: its own page says so
        with box:
            ui.icon("broken_image").props('aria-hidden="true"').classes("d-muted")
        return
    with box:
        if drawn:
            ui.html(drawn, sanitize=False)  # ours, and without a word of anybody's
        else:
            ui.icon("description").props('aria-hidden="true"').classes("d-muted")


def _card(listed: PaidRelease, visit: Visit) -> ui.element:
    with ui.element("article").classes("d-card d-release"):
        box = ui.element("div").classes("d-stamp")
        with ui.element("h2").classes("d-heading"):
            theme.link(listed.name, address(listed.entry)).classes("d-release-link")
        theme.tag("p", about(listed)).classes("d-release-about")
        with ui.element("p").classes("d-meta"):
            theme.tag("strong", prices.price(listed.loss).capitalize())
            theme.tag("span", prices.when(listed.time)).classes("d-muted")
            if visit.custodian:
                theme.tag("span", f"by {listed.principal}").classes("d-muted")
    return box


def thumbnail_of(desk: Desk, visitor: Visitor, listed: PaidRelease) -> str:
    """The picture of a release, if the visitor may read it. It blocks; what was drawn before is not drawn again."""
    if (known := _drawn.get(listed.digest)) is not None:
        return known  # whoever has the digest was shown the release's entry
    made = desk.release(visitor, listed.entry).thumbnail()
    _drawn.put(listed.digest, made)
    return made
