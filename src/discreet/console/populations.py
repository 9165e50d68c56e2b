"""The people that tables speak about, for custodians: their budgets, and whether they can be asked about."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial

from nicegui import ui

from discreet.console import amounts, budget_charts, data_dictionary, theme
from discreet.console.budget_charts import Share
from discreet.console.confirm import confirm
from discreet.console.file_chooser import UNCHANGED
from discreet.console.layout import trouble
from discreet.console.page_visit import Visit
from discreet.console.people import USUAL
from discreet.curator.explain import said
from discreet.desk import Desk, Visitor
from discreet.ledger.books import Account
from discreet.sql.schema import Table

Again = Callable[[], Awaitable[None]]

PRICED = "Each question about these people must name a price"
_RETIRE = (
    "Its budget is closed for good: no question about these people is answered any more, and there is no way back. "
    "Answers that were given stay free to read."
)
_LIFT = (
    "Rows of these people made an answer fail. Look into the cause first, for example by bringing corrected rows: if "
    "it is still there, the next answer may fail again, and each failure tells a little more."
)


def listed(
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
            amounts.figure(budget.spent.amount, up=True),
            amounts.part(budget.spent, budget.total),
            "own",
        ),
        Share("Left", amounts.figure(budget.left.amount), amounts.part(budget.left, budget.total), "left"),
    ]
    budget_charts.bar(shares, ", ".join(f"{each.name} {each.amount}" for each in shares))
    with ui.element("div").classes("d-spaced"), theme.facts():
        theme.fact("In all", amounts.price(budget.total))
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

    ticked = ui.checkbox(PRICED, value=required, on_change=change)
    theme.tag("p", USUAL).classes("d-muted d-small")
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
