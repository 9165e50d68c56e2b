"""For experts: the price in letters, what is measured, settings, and the question for other programs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial

from nicegui import ui
from nicegui.events import GenericEventArguments

from discreet.console import snippets, theme
from discreet.console.page_visit import Visit
from discreet.console.price_tag import Tag, Wish
from discreet.curator.explain import said
from discreet.errors import Refusal
from discreet.exact import count, probability, spoken

Heard = Callable[[Wish], Awaitable[None]]


class Expert:
    """A panel that is closed until somebody opens it."""

    def __init__(self, visit: Visit, origin: str, *, wish: Callable[[], Wish], changed: Heard) -> None:
        self._visit, self._origin, self._wish, self._changed = visit, origin, wish, changed
        with ui.element("details").classes("d-expert"):
            theme.tag("summary", "For experts")
            self._facts = ui.element("div")
            theme.heading("Settings", 3)
            with ui.element("div").classes("d-row"):
                for name in ("delta", "max_rows", "max_groups"):
                    field = ui.input(name, placeholder="as declared", validation=partial(_wrong, name))
                    field.props("outlined dense debounce=300 maxlength=24").classes("d-field d-setting")
                    field.on("update:model-value", partial(self._set, name))
            self._programs = ui.element("div")

    def show(self, tag: Tag | None) -> None:
        """What is behind a tag."""
        self._facts.clear()
        self._programs.clear()
        if tag is None:
            return
        with self._facts:
            with theme.facts():
                _loss("Price", None if tag.price is None else said(tag.price))
                _loss("Charged now", None if tag.due is None else said(tag.due))
                if tag.purse is not None:
                    _loss("Left for you", said(tag.purse.left))
                    _loss("Budget in all", said(tag.purse.total))
                for name, error in tag.columns:
                    _loss(f"Error of {name}", tag.exactness(name) if error is None else f"± {spoken(error)}")
            if tag.plan:
                theme.heading("What is measured", 3)
                with ui.element("ul").classes("d-plan"):
                    for line in tag.plan:
                        theme.tag("li", line)
            if tag.bounding:
                theme.heading("What is left out", 3)
                theme.tag("p", tag.bounding)
        wire, who = self._visit.hall.wire, self._visit.visitor.name
        with self._programs:
            theme.heading("The same in other programs", 3)
            if wire is not None:
                _snippet("psql", snippets.psql(tag.sql, tag.payment, who, snippets.reached(wire, self._origin)))
            _snippet("HTTP", snippets.http(tag.sql, tag.payment, self._origin))
            _snippet("Python", snippets.python(tag.sql, tag.payment, self._origin))

    async def _set(self, name: str, event: GenericEventArguments) -> None:
        if _wrong(name, event.args) is None:
            await self._changed(setting(self._wish(), name, _text(event.args)))


def _text(given: object) -> str:
    return str(given or "").strip()


def _wrong(name: str, given: object) -> str | None:
    """What is wrong with a setting as somebody wrote it."""
    try:
        setting(Wish(), name, _text(given))
    except Refusal as refusal:
        return refusal.message
    return None


def setting(wish: Wish, name: str, text: str) -> Wish:
    """A wish with one of the settings as somebody wrote it; nothing written is as declared."""
    if name == "delta":
        return replace(wish, delta=probability(text, name) if text else None)
    whole = count(int(text) if text.isascii() and text.isdecimal() else 0, name) if text else None
    return replace(wish, max_rows=whole) if name == "max_rows" else replace(wish, max_groups=whole)


def _loss(name: str, value: str | None) -> None:
    theme.fact(name, value or "nothing")


def _snippet(name: str, text: str) -> None:
    made = ui.element("div").classes("d-snippet")
    with made:
        with ui.element("div").classes("d-snippet-head"):
            theme.tag("span", name).classes("d-muted d-small")
            button = ui.button("Copy", icon="content_copy", color=None).props("flat dense no-caps").classes("d-quiet")
        shown = theme.tag("pre", text).classes("d-code")
    button.props["data-copy"] = shown.html_id
    button.props["aria-label"] = f"Copy the text for {name}"
