"""What is promised, for people who are signed in: the text of the page for strangers, with the limits by name."""

from __future__ import annotations

from nicegui import ui

from discreet.console import pledge, theme
from discreet.console.frame import page
from discreet.console.visit import Visit


@page(pledge.PATH)
async def promise(visit: Visit) -> None:
    """The page."""
    ui.add_head_html(pledge.links())
    theme.lead(pledge.LEAD)
    limits = pledge.limits_of(await visit.call(visit.desk.accounts))
    ui.html(pledge.text(limits), sanitize=False).classes("p-text")  # ours, and the names in it are escaped
