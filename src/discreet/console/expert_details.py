"""Panel for experts: the price in letters, what is measured, settings, and the question for psql, curl and Python."""

from __future__ import annotations

import json
import shlex
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import partial
from urllib.parse import urlsplit

from nicegui import ui
from nicegui.events import GenericEventArguments

from discreet.console import theme
from discreet.console.layout import origin
from discreet.console.pages import Visit
from discreet.console.prices import PriceWish, Tag
from discreet.curator.explain import said
from discreet.errors import Refusal
from discreet.exact import count, probability, spoken
from discreet.mechanisms.mechanism import USUAL

Heard = Callable[[PriceWish], Awaitable[None]]
_EVERYWHERE = ("0.0.0.0", "::")  # noqa: S104  # what a door that listens on all addresses says


class Expert:
    """A panel that is closed until somebody opens it."""

    def __init__(self, visit: Visit, *, wish: Callable[[], PriceWish], changed: Heard) -> None:
        self._visit, self._origin, self._wish, self._changed = visit, origin(), wish, changed
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
                theme.fact("Price", "nothing" if tag.price is None else said(tag.price))
                theme.fact("Charged now", "nothing" if tag.due is None else said(tag.due))
                if tag.purse is not None:
                    theme.fact("Left for you", said(tag.purse.left))
                    theme.fact("Budget in all", said(tag.purse.total))
                for name, error in tag.columns:
                    theme.fact(f"Error of {name}", tag.exactness(name) if error is None else f"± {spoken(error)}")
            if tag.plan:
                theme.heading("What is measured", 3)
                with ui.element("ul").classes("d-plan"):
                    for line in tag.plan:
                        theme.tag("li", line)
            if tag.bounding:
                theme.heading("What is left out", 3)
                theme.tag("p", tag.bounding)
        wire, who = self._visit.host.wire, self._visit.visitor.name
        with self._programs:
            theme.heading("The same in other programs", 3)
            if wire is not None:
                _snippet("psql", psql(tag.sql, tag.payment, who, reached(wire, self._origin)))
            _snippet("HTTP", http(tag.sql, tag.payment, self._origin))
            _snippet("Python", python(tag.sql, tag.payment, self._origin))

    async def _set(self, name: str, event: GenericEventArguments) -> None:
        if _wrong(name, event.args) is None:
            await self._changed(setting(self._wish(), name, _text(event.args)))


def _text(given: object) -> str:
    return str(given or "").strip()


def _wrong(name: str, given: object) -> str | None:
    """What is wrong with a setting as somebody wrote it."""
    try:
        setting(PriceWish(), name, _text(given))
    except Refusal as refusal:
        return refusal.message
    return None


def setting(wish: PriceWish, name: str, text: str) -> PriceWish:
    """A wish with one of the settings as somebody wrote it; nothing written is as declared."""
    if name == "delta":
        return replace(wish, delta=probability(text, name) if text else None)
    whole = count(int(text) if text.isascii() and text.isdecimal() else 0, name) if text else None
    return replace(wish, max_rows=whole) if name == "max_rows" else replace(wish, max_groups=whole)


def _snippet(name: str, text: str) -> None:
    made = ui.element("div").classes("d-snippet")
    with made:
        with ui.element("div").classes("d-snippet-head"):
            theme.tag("span", name).classes("d-muted d-small")
            button = ui.button("Copy", icon="content_copy", color=None).props("flat dense no-caps").classes("d-quiet")
        shown = theme.tag("pre", text).classes("d-code")
    button.props["data-copy"] = shown.html_id
    button.props["aria-label"] = f"Copy the text for {name}"


def reached(wire: tuple[str, int], at: str) -> tuple[str, int]:
    """Host and port by which whoever has this page open reaches the Postgres door."""
    host, port = wire
    return (urlsplit(at).hostname or host if host in _EVERYWHERE else host), port


def psql(sql: str, terms: Mapping[str, object], who: str, at: tuple[str, int]) -> str:
    """As a command for psql; it asks for the token as a password."""
    said = "; ".join([*(f"SET discreet.{name} = {value}" for name, value in _terms(terms).items()), sql])
    address = f"host={at[0]} port={at[1]} user={who} dbname=discreet"
    return f"psql {shlex.quote(address)} -c {shlex.quote(said)}"


def http(sql: str, terms: Mapping[str, object], at: str) -> str:
    """As a command for curl, with the token from the environment."""
    body = json.dumps({"sql": sql, **_terms(terms)}, ensure_ascii=False)
    return (
        f"curl {shlex.quote(f'{at}/api/v1/query')} \\\n"
        '  -H "Authorization: Bearer $DISCREET_TOKEN" \\\n'
        "  -H 'Content-Type: application/json' \\\n"
        f"  -d {shlex.quote(body)}"
    )


def python(sql: str, terms: Mapping[str, object], at: str) -> str:
    """As a few lines of Python."""
    given = "".join(f", {name}={value!r}" for name, value in _terms(terms).items())
    return (
        "import os\nimport discreet as dp\n\n"
        f'db = dp.connect({at!r}, token=os.environ["DISCREET_TOKEN"])\n'
        f"answer = db.query({sql!r}{given})\nprint(answer)"
    )


def _terms(terms: Mapping[str, object]) -> dict[str, str | int]:
    """What was named, exactly; the usual confidence goes without saying."""
    usual = terms.get("confidence") == USUAL
    return {name: _value(each) for name, each in terms.items() if name != "confidence" or not usual}


def _value(each: object) -> str | int:
    if isinstance(each, int):
        return each
    number = each if isinstance(each, Fraction) else Fraction(str(each))
    text = spoken(number, 30)
    return str(number) if text.startswith("≈") else text
