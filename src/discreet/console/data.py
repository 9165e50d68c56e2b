"""Data page, for custodians: tables, the populations that they speak about, and who may ask."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from nicegui import ui

from discreet.console import data_dictionary, manage_tables, prices, theme
from discreet.console.budget import bar, left_of, spent_of
from discreet.console.expert_details import reached
from discreet.console.layout import UNCHANGED, apart, changed, confirm, origin, page, styles, trouble
from discreet.console.pages import Visit
from discreet.curator.explain import said
from discreet.declared.table import Table
from discreet.desk import Desk, Visitor
from discreet.desk.desk import Person
from discreet.ledger.balances import OWNER, Account

Again = Callable[[], Awaitable[None]]

_PARTS = {"tables": "Tables", "populations": "Populations", "people": "People"}
_RETIRE = (
    "Its budget is closed for good: no question about these people is answered any more, and there is no way back. "
    "Answers that were given stay free to read."
)
_LIFT = (
    "Rows of these people made an answer fail. Look into the cause first, for example by bringing corrected rows: if "
    "it is still there, the next answer may fail again, and each failure tells a little more."
)
_ROLES = {"analyst": "Analyst: asks questions", "custodian": "Custodian: keeps the data too"}
_OUT = (
    "Their token lets them in no more, at once, through every door. What they spent stays spent. You can let them in "
    "again later, with a new token."
)


@dataclass(frozen=True)
class _DataRead:
    """Everything that the page shows, read at one time."""

    tables: Sequence[Table]
    accounts: Mapping[str, Account]
    priced: frozenset[str]  # the populations about which every question must name a price
    people: Sequence[Person]


def _seen(desk: Desk, who: Visitor) -> _DataRead:
    return _DataRead(desk.tables(who), desk.accounts(who), desk.custody(who).requiring_price(), desk.people(who))


@page("/data")
async def data(visit: Visit) -> None:
    """The page."""
    styles("records.css", "data.css")
    manage_tables.script()
    theme.lead("The tables that people may ask about, what may be learned in all, and who may ask.")
    box, shown = theme.live(), ui.element("div")
    part = ["tables"]

    async def show() -> None:
        with trouble(box):
            read = await visit.call(partial(_seen, visit.desk))
            shown.clear()
            with shown:
                draw(read)

    def draw(read: _DataRead) -> None:
        with ui.tabs(on_change=lambda event: part.__setitem__(0, str(event.value))) as chosen:
            chosen.props("no-caps align=left dense").classes("d-tabs")
            for name, words in _PARTS.items():
                ui.tab(name, words)
        with ui.tab_panels(chosen, value=part[0], animated=False).classes("d-panels"):
            with ui.tab_panel("tables"):
                with ui.element("div").classes("d-row d-spread"):
                    theme.lead("Everybody who may ask sees what is declared here. Nobody sees the rows.")
                    ui.button("Add a table", icon="add", on_click=lambda: add(read)).props("unelevated no-caps")
                manage_tables.listed(visit, read.tables, show)
            with ui.tab_panel("populations"):
                _populations(visit, read.accounts, read.priced, read.tables, show)
            with ui.tab_panel("people"):
                _people(visit, read.people, [table.name for table in read.tables], show)

    def add(read: _DataRead) -> None:
        part[0] = "tables"
        shown.clear()
        with shown:
            manage_tables.NewTable(visit, read.tables, read.accounts, show)

    await show()


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
        with theme.card(label=name):
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
    bar(spent_of("Spent", budget.spent, budget.total), left_of("Left", budget.left, budget.total))
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
            theme.tool("Lift the hold", lambda: _lift(visit, name, again), "lock_open")
        theme.tool("Close for good", lambda: _retire(visit, name, again), "block")


def _pricing(visit: Visit, name: str, *, required: bool) -> None:
    """Whether questions about these people must name a price: seen, and changed at once."""
    kept = [required]

    async def change() -> None:
        wanted = bool(ticked.value)
        if wanted == kept[0]:  # it was put back
            return
        with trouble(box, foot=UNCHANGED):
            await visit.custody(lambda custody: custody.require_price(name, required=wanted))
            kept[0] = wanted
            ui.notify(f"Questions about {name} {'must' if wanted else 'need not'} name a price.", type="positive")
        ticked.set_value(kept[0])

    ticked = ui.checkbox(theme.PRICED, value=required, on_change=change)
    theme.note(theme.UNPRICED)
    box = theme.live()


def _retire(visit: Visit, name: str, again: Again) -> None:
    done = changed(visit, lambda custody: custody.retire(name), f"{name} is closed for good.", again)
    confirm(f"Close {name} for good?", _RETIRE, name, "Close it for good", done)


def _lift(visit: Visit, name: str, again: Again) -> None:
    done = changed(visit, lambda custody: custody.lift(name), f"The hold on {name} is lifted.", again)
    confirm(f"Lift the hold on {name}?", _LIFT, name, "Lift it", done)


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
    titles = ("Name", ""), ("Role", ""), ("Tables", ""), ("Own limit", "d-num"), ("Spent", "d-num"), ("", "")
    with theme.card(), theme.table(titles) as table:
        table.classes("d-people")
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
            button = theme.tool("Shut out", lambda: _shut_out(visit, person, again))
            button.props["aria-label"] = f"Shut out {person.name}"


def _shut_out(visit: Visit, person: Person, again: Again) -> None:
    done = changed(visit, lambda custody: custody.shut_out(person.name), f"{person.name} is shut out.", again)
    own = " This is you: you will be signed out." if person.name == visit.visitor.name else ""
    confirm(f"Shut {person.name} out?", _OUT + own, person.name, "Shut out", done)


def _let_in(visit: Visit, tables: Sequence[str], again: Again) -> None:
    with apart("persistent") as dialog, ui.element("div").classes("d-card d-dialog d-form") as inner:
        theme.heading("Let somebody in", 2)
        name = ui.input("Name").props('outlined autofocus autocomplete="off" spellcheck="false"')
        role = ui.select(_ROLES, value="analyst", label="Role").props("outlined")
        chosen = ui.select(list(tables), multiple=True, value=[], label="Tables (none chosen: all)").props(
            "outlined use-chips"
        )
        most = ui.input("Own limit (optional)").props('outlined inputmode="decimal" autocomplete="off"')
        theme.note("The most that they may spend of each population's budget. Empty: as much as is left.")
        priced = ui.checkbox("Each of their questions must name a price")
        theme.note(theme.UNPRICED)
        box = theme.live()
        with ui.element("div").classes("d-row d-foot"):
            button = ui.button("Let in").props("unelevated no-caps")
            ui.button("Leave it", on_click=dialog.close, color=None).props("flat no-caps").classes("d-quiet")
    reached_at = origin()

    async def done() -> None:
        who, kind = str(name.value or "").strip(), str(role.value)
        limit, only = str(most.value or "").strip() or None, list(chosen.value or []) or None
        must = bool(priced.value)
        with theme.busy(button), trouble(box, foot=UNCHANGED):
            token = await visit.custody(
                lambda custody: custody.let_in(who, kind, allowance=limit, tables=only, require_price=must)
            )
            inner.clear()
            with inner:  # the token goes when it closes
                _shown_once(who, token, connections(who, reached_at, visit.host.wire), dialog)
            await again()

    button.on_click(done)
    name.on("keydown.enter", done)
    dialog.open()


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
