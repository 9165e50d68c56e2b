"""What is promised, for people who are signed in: the text of the page for strangers, with the limits by name."""

from __future__ import annotations

from nicegui import ui

from discreet.console import promise_text, theme
from discreet.console.layout import page
from discreet.console.pages import Visit


@page(promise_text.PATH)
async def promise(visit: Visit) -> None:
    """The page."""
    ui.add_head_html(promise_text.links())
    theme.lead(promise_text.LEAD)
    limits = promise_text.limits_of(await visit.call(visit.desk.accounts))
    ui.html(promise_text.text(limits), sanitize=False).classes("p-text")  # ours, and the names in it are escaped
