"""Who may ask, for custodians: the list, a token for somebody new, and an end."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial

from nicegui import ui
from starlette.requests import Request

from discreet.console import tally, theme
from discreet.console.chooser import UNCHANGED
from discreet.console.confirm import apart, confirm
from discreet.console.frame import trouble
from discreet.console.snippets import reached
from discreet.console.visit import Visit
from discreet.desk import Desk, Visitor
from discreet.desk.desk import Person
from discreet.ledger.books import OWNER

Again = Callable[[], Awaitable[None]]

_ROLES = {"analyst": "Analyst: asks questions", "custodian": "Custodian: keeps the data too"}
USUAL = "Else a question without one pays the usual price: a dashboard that asks often can spend all."
_OUT = (
    "Their token lets them in no more, at once, through every door. What they spent stays spent. You can let them in "
    "again later, with a new token."
)


def listed(visit: Visit, people: Sequence[Person], tables: Sequence[str], again: Again) -> None:
    """Everybody who is let in, and a way to let in somebody else."""
    with ui.element("div").classes("d-row d-spread"):
        theme.lead("Everybody who is let in has a token of their own. Only its digest is kept.")
        ui.button("Let somebody in", icon="person_add", on_click=lambda: _let_in(visit, tables, again)).props(
            "unelevated no-caps"
        )
    known = [person for person in people if person.role and person.name != OWNER]
    if not known:
        theme.empty("Nobody is let in yet.", "Let somebody in, and give them their token.", "people")
        return
    with theme.card(), ui.element("div").classes("d-scroll"), ui.element("table").classes("d-table d-people"):
        with ui.element("thead"), ui.element("tr"):
            for title in ("Name", "Role", "Tables", "Own limit", "Spent", ""):
                theme.tag("th", title).props('scope="col"').classes("d-num" if title in ("Own limit", "Spent") else "")
        with ui.element("tbody"):
            for person in known:
                _row(visit, person, again)


def _row(visit: Visit, person: Person, again: Again) -> None:
    with ui.element("tr"):
        theme.tag("td", person.name).classes("d-name")
        theme.tag("td", person.role)
        theme.tag("td", "all" if person.tables is None else ", ".join(person.tables) or "none")
        limit = "none" if person.allowance is None else tally.figure(person.allowance.amount)
        with ui.element("td").classes("d-num"):
            theme.tag("div", limit)
            if person.require_price:
                theme.tag("div", "names a price each time").classes("d-muted d-small")
        with ui.element("td").classes("d-num"):
            for population, loss in person.used.items():
                theme.tag("div", f"{tally.figure(loss.amount, up=True)} of {population}")
            if not person.used:
                theme.tag("span", "nothing").classes("d-muted")
        with ui.element("td").classes("d-num"):
            button = ui.button("Shut out", color=None, on_click=lambda: _shut_out(visit, person, again))
            button.props("flat dense no-caps").classes("d-quiet")
            button.props["aria-label"] = f"Shut out {person.name}"


def _shut_out(visit: Visit, person: Person, again: Again) -> None:
    async def done() -> None:
        await visit.call(partial(_shut, visit.desk), person.name)
        ui.notify(f"{person.name} is shut out.", type="positive")
        await again()

    own = " This is you: you will be signed out." if person.name == visit.visitor.name else ""
    confirm(f"Shut {person.name} out?", _OUT + own, person.name, "Shut out", done)


def _shut(desk: Desk, who: Visitor, name: str) -> None:
    desk.custody(who).shut_out(name)


def _let_in(visit: Visit, tables: Sequence[str], again: Again) -> None:
    with apart("persistent") as dialog, ui.element("div").classes("d-card d-dialog d-form") as inner:
        theme.heading("Let somebody in", 2)
        name = ui.input("Name").props('outlined autofocus autocomplete="off" spellcheck="false"')
        role = ui.select(_ROLES, value="analyst", label="Role").props("outlined")
        chosen = ui.select(list(tables), multiple=True, value=[], label="Tables (none chosen: all)").props(
            "outlined use-chips"
        )
        most = ui.input("Own limit (optional)").props('outlined inputmode="decimal" autocomplete="off"')
        theme.tag("p", "The most that they may spend of each population's budget. Empty: as much as is left.").classes(
            "d-muted d-small"
        )
        priced = ui.checkbox("Each of their questions must name a price")
        theme.tag("p", USUAL).classes("d-muted d-small")
        box = ui.element("div").props('aria-live="polite"')
        with ui.element("div").classes("d-row d-foot"):
            button = ui.button("Let in").props("unelevated no-caps")
            ui.button("Leave it", on_click=dialog.close, color=None).props("flat no-caps").classes("d-quiet")
    origin = _origin(ui.context.client.request)

    async def done() -> None:
        who = str(name.value or "").strip()
        limit, only = str(most.value or "").strip() or None, list(chosen.value or []) or None
        with theme.busy(button), trouble(box, foot=UNCHANGED):
            allowed = _Allowed(limit, only, bool(priced.value))
            token = await visit.call(partial(_granted, visit.desk), who, str(role.value), allowed)
            inner.clear()
            with inner:  # the token goes when it closes
                _shown_once(who, token, connections(who, origin, visit.hall.wire), dialog)
            await again()

    button.on_click(done)
    name.on("keydown.enter", done)
    dialog.open()


@dataclass(frozen=True)
class _Allowed:
    """What somebody may do: how much they may spend, about which tables, and whether they must name prices."""

    limit: str | None
    tables: list[str] | None
    require_price: bool


def _granted(desk: Desk, who: Visitor, name: str, role: str, to: _Allowed) -> str:
    return desk.custody(who).let_in(name, role, allowance=to.limit, tables=to.tables, require_price=to.require_price)


def _origin(request: Request) -> str:
    return f"{request.url.scheme}://{request.url.netloc}"


def _shown_once(name: str, token: str, ways: Sequence[tuple[str, str]], dialog: ui.dialog) -> None:
    theme.heading(f"{name} is let in", 2)
    theme.tag("p", "This is their token. It is shown once and kept nowhere: give it to them now, in a safe way.")
    copied(token, "Copy the token")
    theme.heading("How they come in", 3)
    for title, text in ways:
        theme.tag("p", title).classes("d-muted d-small d-tight")
        copied(text, f"Copy: {title}")
    with ui.element("div").classes("d-row d-foot"):
        ui.button("I have given it to them", on_click=dialog.close).props("unelevated no-caps")


def connections(name: str, origin: str, wire: tuple[str, int] | None) -> list[tuple[str, str]]:
    """How somebody comes in through each door that is open."""
    python = f'import discreet\n\ndb = discreet.connect("{origin}", token="…")\nprint(db.tables())'
    ways = [("In a browser", origin), ("Python", python)]
    if wire is not None:
        host, port = reached(wire, origin)
        mode = "require" if origin.startswith("https") else "disable"
        psql = f'psql "host={host} port={port} dbname=discreet user={name} sslmode={mode}"'
        ways.insert(1, ("psql; the password is the token", psql))
    return ways


def copied(text: str, label: str) -> None:
    """A text with a button that copies it."""
    with ui.element("div").classes("d-copied"):
        theme.tag("pre", text).classes("d-code")
        button = theme.tag("button", "Copy").classes("d-copy").props('type="button"')
        button.props["data-copy"], button.props["aria-label"] = text, label
