"""Releases: counts that were published once, for everybody to compute on free, and a workshop for new ones."""

from __future__ import annotations

from functools import partial

from nicegui import ui

from discreet.console import assets, prices, release_pictures, theme
from discreet.console.layout import page
from discreet.console.pages import Visit
from discreet.console.release_form.page import workshop
from discreet.console.release_page import exhibit
from discreet.desk import PaidRelease
from discreet.errors import Refusal

NEW = "/releases?new=1"
_PAGE = 12  # cards at a time


@page("/releases")
async def releases(visit: Visit) -> None:
    """The page: one release, the workshop, or all."""
    asked = ui.context.client.request.query_params
    entry = asked.get("entry", "")
    ui.add_head_html(f'<link rel="stylesheet" href="{assets.address("releases.css")}">')
    if entry.isascii() and entry.isdigit() and len(entry) <= 15:
        await exhibit(visit, int(entry))
    elif asked.get("new"):
        await workshop(visit)
    else:
        await _all(visit)


async def _all(visit: Visit) -> None:
    theme.lead("Published once, at one price. Everybody who may ask reads them and computes on them free.")
    found = await visit.call(visit.desk.releases)
    with ui.element("div").classes("d-row d-above"):
        button = ui.button("Make a release", icon="add").props("unelevated no-caps type=a")
        button.props["href"] = NEW
    if not found:
        theme.empty("Nothing is published yet.", "A release can be tried on made-up rows first.", "bar_chart")
        return
    shown = ui.element("div").classes("d-grid d-releases")
    further = ui.button("Show more").props("outline no-caps")
    drawn = [0]

    async def more() -> None:
        some = found[drawn[0] : drawn[0] + _PAGE]
        drawn[0] += len(some)
        further.set_visibility(drawn[0] < len(found))
        with shown:
            boxes = [(each, _card(each, visit)) for each in some]
        for each, box in boxes:
            await _stamp(visit, each, box)

    further.set_visibility(len(found) > _PAGE)
    further.on_click(more)
    ui.timer(0.01, more, once=True)


async def _stamp(visit: Visit, listed: PaidRelease, box: ui.element) -> None:
    """The picture comes after the card: to draw it, all of the release is read."""
    try:
        drawn = await visit.call(partial(release_pictures.of_listed, visit.desk), listed)
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
            link = theme.tag("a", listed.name).classes("d-release-link")
            link.props["href"] = release_pictures.address(listed.entry)
        theme.tag("p", release_pictures.about(listed)).classes("d-release-about")
        with ui.element("p").classes("d-meta"):
            theme.tag("strong", prices.price(listed.loss).capitalize())
            theme.tag("span", prices.when(listed.time)).classes("d-muted")
            if visit.custodian:
                theme.tag("span", f"by {listed.principal}").classes("d-muted")
    return box
