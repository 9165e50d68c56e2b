"""Data page, for custodians: tables, the populations that they speak about, and who may ask."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from nicegui import ui
from starlette.requests import Request

from discreet.console import assets, data_dictionary, prices, tables, theme
from discreet.console.budget import Share, bar
from discreet.console.expert_panel import reached
from discreet.console.layout import UNCHANGED, apart, confirm, page, trouble
from discreet.console.pages import Visit
from discreet.curator.explain import said
from discreet.declared.table import Table
from discreet.desk import Desk, Visitor
from discreet.desk.desk import Person
from discreet.ledger.books import OWNER, Account

Again = Callable[[], Awaitable[None]]

_PARTS = {"tables": "Tables", "populations": "Populations", "people": "People"}


@dataclass(frozen=True)
class _Seen:
    """Everything that the page shows, read at one time."""

    tables: Sequence[Table]
    accounts: Mapping[str, Account]
    priced: frozenset[str]  # the populations about which every question must name a price
    people: Sequence[Person]


def _seen(desk: Desk, who: Visitor) -> _Seen:
    return _Seen(desk.tables(who), desk.accounts(who), desk.custody(who).requiring_price(), desk.people(who))


@page("/data")
async def data(visit: Visit) -> None:
    """The page."""
    for style in ("records.css", "data.css"):
        ui.add_head_html(f'<link rel="stylesheet" href="{assets.address(style)}">')
    tables.script()
    theme.lead("The tables that people may ask about, what may be learned in all, and who may ask.")
    box, shown = ui.element("div").props('aria-live="polite"'), ui.element("div")
    part = ["tables"]

    async def show() -> None:
        with trouble(box):
            found = await visit.call(partial(_seen, visit.desk))
            shown.clear()
            with shown:
                draw(found)

    def draw(found: _Seen) -> None:
        with ui.tabs(on_change=lambda event: part.__setitem__(0, str(event.value))) as chosen:
            chosen.props("no-caps align=left dense").classes("d-tabs")
            for name, words in _PARTS.items():
                ui.tab(name, words)
        with ui.tab_panels(chosen, value=part[0], animated=False).classes("d-panels"):
            with ui.tab_panel("tables"):
                with ui.element("div").classes("d-row d-spread"):
                    theme.lead("Everybody who may ask sees what is declared here. Nobody sees the rows.")
                    ui.button("Add a table", icon="add", on_click=lambda: add(found)).props("unelevated no-caps")
                tables.listed(visit, found.tables, show)
            with ui.tab_panel("populations"):
                _populations(visit, found.accounts, found.priced, found.tables, show)
            with ui.tab_panel("people"):
                _people(visit, found.people, [table.name for table in found.tables], show)

    def add(found: _Seen) -> None:
        part[0] = "tables"
        shown.clear()
        with shown:
            tables.Adding(visit, found.tables, found.accounts, show)

    await show()


_RETIRE = (
    "Its budget is closed for good: no question about these people is answered any more, and there is no way back. "
    "Answers that were given stay free to read."
)
_LIFT = (
    "Rows of these people made an answer fail. Look into the cause first, for example by bringing corrected rows: if "
    "it is still there, the next answer may fail again, and each failure tells a little more."
)


def _populations(
    visit: Visit, accounts: Mapping[str, Account], priced: frozenset[str], tables: Sequence[Table], again: Again
) -> None:
    """All populations, and which of them are asked about at a named price alone."""
    theme.lead(
        "A population is a group of people with one budget. All tables that speak about them share it, and it is set "
        "once, with the first table."
    )
    if not accounts:
        theme.empty("There is no population yet.", "It comes with the first private table.", "groups")
    for name, account in accounts.items():
        with theme.card() as made:
            made.props["aria-label"] = name
            theirs = [table.name for table in tables if table.population == name]
            _population(visit, name, account, theirs, again)
            if not account.retired:
                _pricing(visit, name, required=name in priced)


def _population(visit: Visit, name: str, account: Account, tables: Sequence[str], again: Again) -> None:
    words, kind = data_dictionary.state(account)
    with ui.element("div").classes("d-row d-title"):
        theme.heading(name, 2)
        theme.tag("span", words).classes(f"d-badge {kind}")
    budget = account.budget
    shares = [
        Share(
            "Spent",
            prices.figure(budget.spent.amount, up=True),
            prices.part(budget.spent, budget.total),
            "own",
        ),
        Share("Left", prices.figure(budget.left.amount), prices.part(budget.left, budget.total), "left"),
    ]
    bar(shares, ", ".join(f"{each.name} {each.amount}" for each in shares))
    with ui.element("div").classes("d-spaced"), theme.facts():
        theme.fact("In all", prices.price(budget.total))
        theme.fact("What is compared", data_dictionary.relation(account))
        theme.fact("Tables", ", ".join(tables) or "none")
    with theme.experts(), theme.facts():
        for title, loss in (("In all", budget.total), ("Spent", budget.spent), ("Left", budget.left)):
            theme.fact(title, said(loss))
    if account.retired:
        return
    with ui.element("div").classes("d-tools"):
        if account.held:
            _tool("Lift the hold", "lock_open", lambda: _lift(visit, name, again))
        _tool("Close for good", "block", lambda: _retire(visit, name, again))


def _pricing(visit: Visit, name: str, *, required: bool) -> None:
    """Whether questions about these people must name a price: seen, and changed at once."""
    kept = [required]

    async def change() -> None:
        wanted = bool(ticked.value)
        if wanted == kept[0]:  # it was put back
            return
        with trouble(box, foot=UNCHANGED):
            await visit.call(partial(_require_price, visit.desk), name, wanted)
            kept[0] = wanted
            ui.notify(f"Questions about {name} {'must' if wanted else 'need not'} name a price.", type="positive")
        ticked.set_value(kept[0])

    ticked = ui.checkbox(theme.PRICED, value=required, on_change=change)
    theme.tag("p", theme.UNPRICED).classes("d-muted d-small")
    box = ui.element("div").props('aria-live="polite"')


def _tool(words: str, icon: str, doing: Callable[[], None]) -> None:
    ui.button(words, icon=icon, on_click=doing, color=None).props("flat dense no-caps").classes("d-quiet")


def _retire(visit: Visit, name: str, again: Again) -> None:
    async def done() -> None:
        await visit.call(partial(_retired, visit.desk), name)
        ui.notify(f"{name} is closed for good.", type="positive")
        await again()

    confirm(f"Close {name} for good?", _RETIRE, name, "Close it for good", done)


def _lift(visit: Visit, name: str, again: Again) -> None:
    async def done() -> None:
        await visit.call(partial(_lifted, visit.desk), name)
        ui.notify(f"The hold on {name} is lifted.", type="positive")
        await again()

    confirm(f"Lift the hold on {name}?", _LIFT, name, "Lift it", done)


def _require_price(desk: Desk, who: Visitor, name: str, required: bool) -> None:  # noqa: FBT001  # as it is ticked
    desk.custody(who).require_price(name, required=required)


def _retired(desk: Desk, who: Visitor, name: str) -> None:
    desk.custody(who).retire(name)


def _lifted(desk: Desk, who: Visitor, name: str) -> None:
    desk.custody(who).lift(name)


_ROLES = {"analyst": "Analyst: asks questions", "custodian": "Custodian: keeps the data too"}
_OUT = (
    "Their token lets them in no more, at once, through every door. What they spent stays spent. You can let them in "
    "again later, with a new token."
)


def _people(visit: Visit, people: Sequence[Person], tables: Sequence[str], again: Again) -> None:
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
        limit = "none" if person.allowance is None else prices.figure(person.allowance.amount)
        with ui.element("td").classes("d-num"):
            theme.tag("div", limit)
            if person.require_price:
                theme.tag("div", "names a price each time").classes("d-muted d-small")
        with ui.element("td").classes("d-num"):
            for population, loss in person.used.items():
                theme.tag("div", f"{prices.figure(loss.amount, up=True)} of {population}")
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
        theme.tag("p", theme.UNPRICED).classes("d-muted d-small")
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
    theme.copied(token, "Copy the token")
    theme.heading("How they come in", 3)
    for title, text in ways:
        theme.tag("p", title).classes("d-muted d-small d-tight")
        theme.copied(text, f"Copy: {title}")
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
