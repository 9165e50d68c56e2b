"""Budget page: what may be learned of each population in all, what was, and what is left, with its pictures."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from functools import partial

from nicegui import ui

from discreet.console import holdouts, prices, streams, theme
from discreet.console.history import PaidQuestion, grouped
from discreet.console.holdouts import HoldoutRead
from discreet.console.layout import page, styles, trouble
from discreet.console.pages import Visit
from discreet.console.prices import figure, moment
from discreet.console.streams import StreamRead
from discreet.curator.explain import said
from discreet.curator.paid_mechanism import SessionStatus
from discreet.curator.purchase import PastPayment
from discreet.desk import Desk, Visitor
from discreet.desk.desk import Person
from discreet.errors import Refusal
from discreet.ledger.balances import Account
from discreet.ledger.entry_kinds import BudgetLoss
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
_AREA = (600.0, 140.0)


@dataclass(frozen=True)
class _BudgetRead:
    """Everything that the page shows, read at one time."""

    accounts: Mapping[str, Account]
    people: Sequence[Person]
    receipts: Sequence[PastPayment]
    usual: Mapping[str, BudgetLoss]  # what a question about a population costs if nobody names a price
    sessions: Sequence[SessionStatus]
    streams: Sequence[StreamRead]
    holdouts: Sequence[HoldoutRead]


@page("/budget")
async def budget(visit: Visit) -> None:
    """The page."""
    styles("releases.css", "records.css")
    theme.lead(
        "Every answer tells a little about the people in the data, and has a price for it. All prices together stay "
        "below a limit that was set once. When it is spent, nothing more is answered."
    )
    box, shown = theme.live(), ui.element("div")

    async def show() -> None:
        with theme.busy(button), trouble(box):
            read = await visit.call(partial(_seen, visit.desk))
            shown.clear()
            with shown:
                for name in sorted(read.accounts, key=lambda name: read.accounts[name].retired):  # those last
                    _population(name, read, visit, lifted)
                if read.streams:
                    streams.growing(visit, read.streams)
                if not read.accounts:
                    theme.empty("There is no budget yet.", "It comes with the first table.", "donut_large")

    async def lifted(name: str) -> None:
        with trouble(box):
            await visit.custody(lambda custody: custody.lift(name))
            ui.notify(f"The hold on {name} is lifted.", type="positive")
        await show()

    button = ui.button("Look again", icon="refresh", on_click=show).props("flat no-caps").classes("d-again")
    await show()


def _seen(desk: Desk, who: Visitor) -> _BudgetRead:
    accounts, people, sessions = desk.accounts(who), desk.people(who), desk.sessions(who).all()
    proven = holdouts.seen(desk, who, sessions)
    return _BudgetRead(
        accounts, people, desk.history(who), _usual(desk, who), sessions, streams.seen(desk, who), proven
    )


def _usual(desk: Desk, who: Visitor) -> dict[str, BudgetLoss]:
    """Of each population the usual price, told by a question about one of its tables that names none."""
    known: dict[str, BudgetLoss] = {}
    for table in desk.tables(who):
        if table.population is None or table.population in known:
            continue
        try:
            told = desk.explained(who, f'SELECT count(*) AS n FROM "{table.name}"', {}).price  # noqa: S608  # plain
        except Refusal:
            continue
        if told is not None:
            known[table.population] = told
    return known


def _population(name: str, seen: _BudgetRead, visit: Visit, lifted: Lifted) -> None:
    account = seen.accounts[name]
    with theme.card(label=name):
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
        _sessions([each for each in seen.sessions if each.population == name])
        for each in seen.holdouts:
            if each.status.population == name:
                holdouts.shown(each)
        _for_experts(account)


def _sessions(bought: Sequence[SessionStatus]) -> None:
    """What is left of each: it was paid whole when it was opened, so asking it costs nothing more."""
    if not bought:
        return
    theme.heading("Sessions", 3)
    with theme.table((("Session", "d-num"), ("Of", ""), ("By", ""), ("Used", ""), ("State", "")), "Sessions"):
        for each in bought:
            used, state = ", ".join(map(str, each.used)), f"closed: {each.closed}" if each.closed else "open"
            named = str(each.mechanism.get("name", ""))
            theme.row((str(each.entry), "d-num"), (named, ""), (each.principal, ""), (used, ""), (state, ""))


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


def _spending(name: str, seen: _BudgetRead, visit: Visit) -> None:
    spent, total = seen.accounts[name].budget.spent, seen.accounts[name].budget.total
    left = seen.accounts[name].budget.left
    retired = seen.accounts[name].retired
    with ui.element("p").classes("d-big"):
        theme.tag("strong", prices.figure((spent if retired else left).amount, up=retired))
        theme.tag("span", f"{'spent' if retired else 'left'} of {prices.figure(total.amount)}").classes("d-muted")
    pieces = [spent_of("Spent", spent, total)]
    if not visit.custodian:
        own = seen.people[0].used.get(name, 0 * total) if seen.people else 0 * total
        others = spent.less(own)  # type: ignore[arg-type]
        pieces = [spent_of("You spent", own, total), spent_of("Others together", others, total, "others")]
    bar(*pieces, left_of("Left", left, total))
    if not retired:
        _how_many(name, seen, visit, left)


def _how_many(name: str, seen: _BudgetRead, visit: Visit, left: BudgetLoss) -> None:
    """How far the rest reaches, in questions."""
    mine = next((person for person in seen.people if person.name == visit.visitor.name), None)
    if mine is not None and mine.allowance is not None and type(mine.allowance) is type(left):
        left = left.meet(prices.rest(mine.allowance, mine.used.get(name, 0 * mine.allowance)))
    last = next(
        (each for each in grouped(seen.receipts) if each.population == name and _own(each, visit)),
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


def _own(asked: PaidQuestion, visit: Visit) -> bool:
    return asked.principal == visit.visitor.name


def _over_time(name: str, seen: _BudgetRead, visit: Visit) -> None:
    steps = stairs(seen.receipts, name)
    theme.heading("Spending over time" if visit.custodian else "Your spending over time", 3)
    if not steps:
        theme.muted("Nothing was spent yet." if visit.custodian else "You have spent nothing yet.")
        return
    spent, total = seen.accounts[name].budget.spent, seen.accounts[name].budget.total
    level = None if visit.custodian else spent.amount
    line(steps, datetime.now(UTC), total.amount, level)
    if level is not None:
        theme.note("The dashed line is what everybody spent together.")


def _who_spent(name: str, seen: _BudgetRead) -> None:
    total = seen.accounts[name].budget.total
    people = sorted(
        (person for person in seen.people if person.role == "analyst" or person.used.get(name)),
        key=lambda person: -person.used.get(name, 0 * total).amount,
    )
    if not seen.accounts[name].budget.spent.amount:
        return
    theme.heading("Who spent what", 3)
    with theme.table((("Who", ""), ("Spent", "d-num"), ("", "d-wide"), ("Own limit", "d-num"))):
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
    bar(spent_of("You spent", used, allowance), left_of("Left for you", left, allowance))


def _for_experts(account: Account) -> None:
    replaced = isinstance(account.neighbours, Replace)
    change = "replaced, and their number is public" if replaced else "added or removed"
    with theme.experts(), theme.facts():
        theme.fact("In all", said(account.budget.total))
        theme.fact("Spent", said(account.budget.spent))
        theme.fact("Left", said(account.budget.left))
        theme.fact("Neighbours", f"all rows of one {account.neighbours.unit} are {change}")


@dataclass(frozen=True)
class BudgetPiece:
    """A piece of a bar: whose it is, how much, and which part of the whole."""

    name: str
    amount: str
    part: float
    kind: str  # own, others or left


def spent_of(name: str, spent: BudgetLoss, whole: BudgetLoss, kind: str = "own") -> BudgetPiece:
    """The piece of a whole that was spent."""
    return BudgetPiece(name, prices.figure(spent.amount, up=True), prices.part(spent, whole), kind)


def left_of(name: str, left: BudgetLoss, whole: BudgetLoss) -> BudgetPiece:
    """The piece of a whole that is left."""
    return BudgetPiece(name, prices.figure(left.amount), prices.part(left, whole), "left")


def bar(*shares: BudgetPiece) -> None:
    """One bar of several pieces, with its legend in words."""
    with ui.element("div").classes("d-gauge").props('role="img"') as made:
        made.props["aria-label"] = ", ".join(f"{each.name} {each.amount}" for each in shares)
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


def line(steps: Sequence[SpentSince], now: datetime, whole: Fraction, level: Fraction | None) -> None:
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


@dataclass(frozen=True)
class SpentSince:
    """So much was spent in all since then."""

    since: datetime
    amount: Fraction


def stairs(receipts: Iterable[PastPayment], population: str) -> list[SpentSince]:
    """How spending grew, one step for each payment."""
    steps: list[SpentSince] = []
    for each in sorted(receipts, key=lambda receipt: receipt.entry):
        if each.population == population:
            before = steps[-1].amount if steps else Fraction(0)
            steps.append(SpentSince(moment(each.time), before + each.loss.amount))
    return steps


def path(steps: Sequence[SpentSince], now: datetime, whole: Fraction, area: tuple[float, float]) -> str:
    """The steps as the path of an SVG, from the first payment to now, in an area of this width and height."""
    if not steps or not whole:
        return ""
    width, height = area
    begin = steps[0].since
    long = max((now - begin).total_seconds(), 1.0)
    drawn = [f"M0 {height:.1f}"]
    for step in steps:
        x = width * min(1.0, (step.since - begin).total_seconds() / long)
        drawn.append(f"H{x:.1f}V{height * (1 - float(min(Fraction(1), step.amount / whole))):.1f}")
    return f"{''.join(drawn)}H{width:.1f}"
