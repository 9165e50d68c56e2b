"""Budget page: what may be learned of each population in all, what was, and what is left, with its pictures."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from functools import partial

from nicegui import ui

from discreet.console import assets, prices, theme
from discreet.console.layout import page, trouble
from discreet.console.pages import Visit
from discreet.console.prices import Step, figure, path
from discreet.curator.explain import said
from discreet.curator.purchase import PastPayment
from discreet.desk import Desk, Visitor
from discreet.desk.desk import Person
from discreet.errors import Refusal
from discreet.ledger.books import Account
from discreet.ledger.entry import BudgetLoss
from discreet.privacy import Replace

Lifted = Callable[[str], Awaitable[None]]

_HELD = (
    "Rows of these people made an answer fail, and that it failed may tell of a row. So nothing more is answered about "
    "them until you have looked into it. What was paid stays paid."
)
_LIFT = (
    "Lift the hold when the cause is gone, for example after you brought corrected rows. If it is not gone, the next "
    "answer may fail again, and each failure tells a little more."
)


@dataclass(frozen=True)
class _Seen:
    """Everything that the page shows, read at one time."""

    accounts: Mapping[str, Account]
    people: Sequence[Person]
    receipts: Sequence[PastPayment]
    usual: Mapping[str, BudgetLoss]  # what a question about a population costs if nobody names a price


@page("/budget")
async def budget(visit: Visit) -> None:
    """The page."""
    ui.add_head_html(f'<link rel="stylesheet" href="{assets.address("records.css")}">')
    theme.lead(
        "Every answer tells a little about the people in the data, and has a price for it. All prices together stay "
        "below a limit that was set once. When it is spent, nothing more is answered."
    )
    box, shown = ui.element("div").props('aria-live="polite"'), ui.element("div")

    async def show() -> None:
        with theme.busy(button), trouble(box):
            found = await visit.call(partial(_seen, visit.desk))
            shown.clear()
            with shown:
                for name in sorted(found.accounts, key=lambda name: found.accounts[name].retired):  # those last
                    _population(name, found, visit, lifted)
                if not found.accounts:
                    theme.empty("There is no budget yet.", "It comes with the first table.", "donut_large")

    async def lifted(name: str) -> None:
        with trouble(box):
            await visit.call(partial(_lift, visit.desk), name)
            ui.notify(f"The hold on {name} is lifted.", type="positive")
        await show()

    button = ui.button("Look again", icon="refresh", on_click=show).props("flat no-caps").classes("d-again")
    await show()


def _seen(desk: Desk, who: Visitor) -> _Seen:
    return _Seen(desk.accounts(who), desk.people(who), desk.history(who), _usual(desk, who))


def _usual(desk: Desk, who: Visitor) -> dict[str, BudgetLoss]:
    """Of each population the usual price, told by a question about one of its tables that names none."""
    found: dict[str, BudgetLoss] = {}
    for table in desk.tables(who):
        if table.population is None or table.population in found:
            continue
        try:
            told = desk.explained(who, f'SELECT count(*) AS n FROM "{table.name}"', {}).price  # noqa: S608  # plain
        except Refusal:
            continue
        if told is not None:
            found[table.population] = told
    return found


def _lift(desk: Desk, who: Visitor, name: str) -> None:
    desk.custody(who).lift(name)


def _population(name: str, seen: _Seen, visit: Visit, lifted: Lifted) -> None:
    account = seen.accounts[name]
    with theme.card() as made:
        made.props["aria-label"] = name
        with ui.element("div").classes("d-row d-title"):
            theme.heading(name, 2)
            _state(account, custodian=visit.custodian)
        if account.held and not account.retired and visit.custodian:
            _hold(name, lifted)
        with ui.element("div").classes("d-halves"):
            with ui.element("div"):
                _spending(name, seen, visit)
            with ui.element("div"):
                _over_time(name, seen, visit)
        if visit.custodian:
            _who_spent(name, seen)
        elif (
            seen.people
            and seen.people[0].allowance is not None
            and type(seen.people[0].allowance) is type(account.budget.total)
        ):
            _allowance(name, seen.people[0], seen.people[0].allowance)
        _for_experts(account)


def _state(account: Account, *, custodian: bool) -> None:
    """In words. That a population is on hold is the custodian's business: others read what maintenance says."""
    if account.retired:
        theme.tag("span", "Retired").classes("d-badge d-off")
        theme.tag("span", "Nothing more will ever be asked about these people.").classes("d-muted d-small")
    elif account.held and custodian:
        theme.tag("span", "On hold").classes("d-badge d-stop")
    elif account.held:
        theme.tag("span", "Closed").classes("d-badge d-off")
        theme.tag("span", "For maintenance. Try again later.").classes("d-muted d-small")
    else:
        theme.tag("span", "Open").classes("d-badge")


def _hold(name: str, lifted: Lifted) -> None:
    with ui.dialog() as sure, ui.element("div").classes("d-card d-dialog"):
        theme.heading(f"Lift the hold on {name}?", 2)
        theme.tag("p", _LIFT)
        with ui.element("div").classes("d-row"):
            ui.button("Lift it", on_click=lambda: sure.submit(True)).props("unelevated no-caps")  # noqa: FBT003
            ui.button("Not yet", on_click=lambda: sure.submit(False)).props("flat no-caps")  # noqa: FBT003

    async def ask() -> None:
        if await sure:
            await lifted(name)

    with ui.element("div").classes("d-refusal"):
        theme.tag("strong", "On hold")
        theme.tag("p", _HELD)
        ui.button("Lift the hold", on_click=ask).props("outline no-caps")


def _spending(name: str, seen: _Seen, visit: Visit) -> None:
    spent, total = seen.accounts[name].budget.spent, seen.accounts[name].budget.total
    left = seen.accounts[name].budget.left
    retired = seen.accounts[name].retired
    with ui.element("p").classes("d-big"):
        theme.tag("strong", prices.figure((spent if retired else left).amount, up=retired))
        theme.tag("span", f"{'spent' if retired else 'left'} of {prices.figure(total.amount)}").classes("d-muted")
    rest = Share("Left", prices.figure(left.amount), prices.part(left, total), "left")
    if visit.custodian:
        shares = [Share("Spent", prices.figure(spent.amount, up=True), prices.part(spent, total), "own"), rest]
    else:
        own = seen.people[0].used.get(name, 0 * total) if seen.people else 0 * total
        others = spent.less(own)  # type: ignore[arg-type]
        shares = [
            Share("You spent", prices.figure(own.amount, up=True), prices.part(own, total), "own"),
            Share("Others together", prices.figure(others.amount, up=True), prices.part(others, total), "others"),
            rest,
        ]
    bar(shares, ", ".join(f"{each.name} {each.amount}" for each in shares))
    if not retired:
        _how_many(name, seen, visit, left)


def _how_many(name: str, seen: _Seen, visit: Visit, left: BudgetLoss) -> None:
    """How far the rest reaches, in questions."""
    mine = next((person for person in seen.people if person.name == visit.visitor.name), None)
    if mine is not None and mine.allowance is not None and type(mine.allowance) is type(left):
        left = left.meet(prices.rest(mine.allowance, mine.used.get(name, 0 * mine.allowance)))
    last = next(
        (each for each in prices.grouped(seen.receipts) if each.population == name and _own(each, visit)),
        None,
    )
    likes = [("at the usual price", seen.usual.get(name)), ("like your last one", None if last is None else last.price)]
    with ui.element("ul").classes("d-reach"):
        for what, each in likes:
            count = None if each is None else prices.more(left, each)
            if each is None or count is None:
                continue
            with ui.element("li"):
                theme.tag("strong", f"about {prices.about(count)}" if count else "no")
                theme.tag("span", f"more questions {what}")
                theme.tag("span", f"({prices.price(each)} each)").classes("d-muted")


def _own(asked: prices.Asked, visit: Visit) -> bool:
    return asked.principal == visit.visitor.name


def _over_time(name: str, seen: _Seen, visit: Visit) -> None:
    steps = prices.stairs(seen.receipts, name)
    theme.heading("Spending over time" if visit.custodian else "Your spending over time", 3)
    if not steps:
        theme.tag("p", "Nothing was spent yet." if visit.custodian else "You have spent nothing yet.").classes(
            "d-muted"
        )
        return
    spent, total = seen.accounts[name].budget.spent, seen.accounts[name].budget.total
    level = None if visit.custodian else spent.amount
    line(steps, datetime.now(UTC), total.amount, level)
    if level is not None:
        theme.tag("p", "The dashed line is what everybody spent together.").classes("d-muted d-small")


def _who_spent(name: str, seen: _Seen) -> None:
    total = seen.accounts[name].budget.total
    people = sorted(
        (person for person in seen.people if person.role == "analyst" or person.used.get(name)),
        key=lambda person: -person.used.get(name, 0 * total).amount,
    )
    if not seen.accounts[name].budget.spent.amount:
        return
    theme.heading("Who spent what", 3)
    with ui.element("div").classes("d-scroll"), ui.element("table").classes("d-table"):
        with ui.element("thead"), ui.element("tr"):
            for title, kind in (("Who", ""), ("Spent", "d-num"), ("", "d-wide"), ("Own limit", "d-num")):
                theme.tag("th", title).classes(kind).props('scope="col"')
        with ui.element("tbody"):
            for person in people:
                used = person.used.get(name, 0 * total)
                with ui.element("tr"):
                    with theme.tag("td", person.name):
                        if not person.role:
                            theme.tag("span", "not let in any more").classes("d-muted d-note")
                    theme.tag("td", prices.figure(used.amount, up=True)).classes("d-num")
                    with ui.element("td").classes("d-wide"):
                        meter(prices.part(used, total))
                    same = type(person.allowance) is type(total)  # a limit in another measure lets nobody ask here
                    limit = prices.figure(person.allowance.amount) if person.allowance and same else "none"
                    theme.tag("td", limit).classes("d-num" if same else "d-num d-muted")


def _allowance(name: str, me: Person, allowance: BudgetLoss) -> None:
    used = me.used.get(name, 0 * allowance)
    theme.heading("Your own limit", 3)
    left = prices.rest(allowance, used)
    shares = [
        Share("You spent", prices.figure(used.amount, up=True), prices.part(used, allowance), "own"),
        Share("Left for you", prices.figure(left.amount), prices.part(left, allowance), "left"),
    ]
    bar(shares, ", ".join(f"{each.name} {each.amount}" for each in shares))


def _for_experts(account: Account) -> None:
    replaced = isinstance(account.neighbours, Replace)
    change = "replaced, and their number is public" if replaced else "added or removed"
    with theme.experts(), theme.facts():
        theme.fact("In all", said(account.budget.total))
        theme.fact("Spent", said(account.budget.spent))
        theme.fact("Left", said(account.budget.left))
        theme.fact("Neighbours", f"all rows of one {account.neighbours.unit} are {change}")


_AREA = (600.0, 140.0)


@dataclass(frozen=True)
class Share:
    """A piece of a bar: whose it is, how much, and which part of the whole."""

    name: str
    amount: str
    part: float
    kind: str  # own, others or left


def bar(shares: Sequence[Share], label: str) -> None:
    """One bar of several pieces, with its legend in words."""
    with ui.element("div").classes("d-gauge").props('role="img"') as made:
        made.props["aria-label"] = label
        for each in shares:
            if each.part > 0:
                ui.element("span").classes(f"d-piece d-{each.kind}").style(f"flex-grow: {max(each.part, 0.004):.4f}")
    with ui.element("ul").classes("d-legend"):
        for each in shares:
            with ui.element("li"):
                ui.element("span").classes(f"d-dot d-{each.kind}").props('aria-hidden="true"')
                theme.tag("span", each.name).classes("d-muted")
                theme.tag("span", each.amount).classes("d-figure")


def meter(part: float) -> None:
    """A small bar in a table."""
    with ui.element("span").classes("d-meter").props('aria-hidden="true"'):
        ui.element("span").style(f"width: {100 * part:.1f}%")


def line(steps: Sequence[Step], now: datetime, whole: Fraction, level: Fraction | None) -> None:
    """Spending over time. The top of the picture is the whole budget; a level is what everybody spent together."""
    width, height = _AREA
    drawn = path(steps, now, whole, _AREA)
    with ui.element("figure").classes("d-line"):
        with ui.element("div").classes("d-line-top"):
            theme.tag("span", f"{figure(whole)} in all")
        with (
            ui.element("svg")
            .props(f'viewBox="0 -4 {width:g} {height + 8:g}" preserveAspectRatio="none" role="img"')
            .classes("d-svg") as picture
        ):
            picture.props["aria-label"] = f"Spending grew to {figure(steps[-1].amount, up=True)} of {figure(whole)}"
            ui.element("path").props(f'd="M0 0H{width:g}"').classes("d-whole")
            if level is not None:
                y = height * (1 - float(min(Fraction(1), level / whole)))
                ui.element("path").props(f'd="M0 {y:.1f}H{width:g}"').classes("d-level")
            ui.element("path").props(f'd="{drawn}V{height:g}H0Z"').classes("d-under")
            ui.element("path").props(f'd="{drawn}"').classes("d-stroke")
            ui.element("path").props(f'd="M0 {height:g}H{width:g}"').classes("d-ground")
        with ui.element("figcaption").classes("d-line-foot"):
            theme.tag("span", f"{steps[0].since:%-d %b %Y}")
            theme.tag("span", "now")
