"""Page of what is promised to the person whose data it is: text, and a picture of Bob's best guess.

It is plain HTML without NiceGUI, so that somebody who will never sign in can read it. Everything in it is a constant, a
number, or an escaped name.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from html import escape
from typing import TYPE_CHECKING

from discreet.console.pages import ICON, static_address, static_text
from discreet.curator.explain import said
from discreet.ledger.balances import Account
from discreet.ledger.entry_kinds import BudgetLoss
from discreet.privacy import Concentrated, Pure, Replace

if TYPE_CHECKING:
    from discreet.console.pages import Visit

PATH = "/promise"
TITLE = "What is promised"
HIGHEST = 10  # the right end of the slider
_USUAL = Fraction(1)  # what the slider shows where there is no budget yet
_EXAMPLES = ("0.1", "0.5", "1", "2", "3", "5")
_ALMOST = Fraction(99, 100)  # beyond it one does not say a whole number: it would be a hundred


@dataclass(frozen=True)
class Limit:
    """What all answers about some people may cost together."""

    name: str  # nothing: of everybody in the home
    price: float  # ε, or the one that allows Bob the same best guess; rounded up to hundredths
    chance: Fraction  # that he is right, at most
    delta: Fraction
    replaced: bool  # what Bob asks: what somebody answered, or else whether they took part
    words: str  # for experts


def limit_of(name: str, total: BudgetLoss, *, replaced: bool) -> Limit:
    """The limit that a budget sets.

    Guarantee: Bob, to whom two neighbouring data sets are equally likely at first, is right with e^ε/(1+e^ε) at most,
        but for events of probability δ; where a budget is kept in ρ, with (1 + δ(0))/2, where δ is its profile.
    Proof: Bayes' rule; discreet.audit.game.bound.
    """
    if isinstance(total, Concentrated):
        chance = (1 + total.delta_at(0)) / 2
        price = math.inf if chance >= 1 else math.log(chance / (1 - chance))
    else:
        chance, price = _guess(total.epsilon), float(total.epsilon)
    rounded = price if math.isinf(price) else math.ceil(100 * price - 1e-9) / 100
    return Limit(name, rounded, chance, total.delta, replaced, said(total))


def _guess(epsilon: Fraction) -> Fraction:
    return (1 + Pure(epsilon).delta_at(0)) / 2


def limits_of(accounts: dict[str, Account]) -> list[Limit]:
    """The limit of each population; those that are closed for good last."""
    return [
        limit_of(name, each.budget.total, replaced=isinstance(each.neighbours, Replace))
        for name, each in sorted(accounts.items(), key=lambda item: item[1].retired)
    ]


def widest(accounts: dict[str, Account]) -> list[Limit]:
    """One limit that holds for everybody, and names nobody: for strangers, who need not know which tables there are.

    Where some budgets are about replacing somebody, all are told for that: replacing is removing, then adding.
    """
    replaced = any(isinstance(each.neighbours, Replace) for each in accounts.values())
    every = [
        limit_of(
            "",
            each.budget.total if not replaced or isinstance(each.neighbours, Replace) else each.budget.total.group(2),
            replaced=replaced,
        )
        for each in accounts.values()
    ]
    if not every:
        return []
    worst = max(every, key=lambda limit: limit.price)
    return [replace(worst, delta=max(limit.delta for limit in every))]


def of_hundred(chance: Fraction) -> str:
    """A chance as people count, rounded up, and never as a certainty."""
    return "more than 99" if chance > _ALMOST else str(math.ceil(100 * chance))


def exception(delta: Fraction) -> str:
    """δ in words."""
    if not delta:
        return "There is no exception to this limit."
    one_in = math.floor(1 / delta)
    digits = max(0, len(str(one_in)) - 2)
    return f"With a chance of at most one in {one_in // 10**digits * 10**digits:,}, an answer may tell more than that."


# the page -------------------------------------------------------------------------------------------------------------

_ASKS = {
    False: "Bob wants to know whether you took part in a survey about music: are you in the data, or not?",
    True: "Bob knows that you took part in a survey about music. He wants to know whether you said yes or no.",
}

LEAD = (
    "Is your data in the tables that are kept here? Then this page is for you: what is promised, and what nobody can."
)


def links() -> str:
    """What the head of a page needs for the text."""
    style = f'<link rel="stylesheet" href="{static_address("promise.css")}">'
    return f'{style}<script defer src="{static_address("promise.js")}"></script>'


def register() -> None:
    """Make it a page for people who are signed in, with the limits by name. Only this loads NiceGUI."""
    from nicegui import ui  # noqa: PLC0415

    from discreet.console.layout import page  # noqa: PLC0415

    @page(PATH)
    async def promise(visit: Visit) -> None:
        ui.add_head_html(links())
        ui.element("p").classes("d-lead")._text = LEAD  # noqa: SLF001  # as theme.tag does
        limits = limits_of(await visit.call(visit.desk.accounts))
        ui.html(text(limits), sanitize=False).classes("p-text")  # ours, and the names in it are escaped


def page(theme: str, limits: list[Limit]) -> str:
    """The page for strangers."""
    style = f'<link rel="stylesheet" href="{static_address("console.css")}">'
    body = f'<p class="d-lead">{escape(LEAD)}</p>{text(limits)}'
    return static_text("open.html").format(theme=theme, icon=ICON, links=style + links(), title=TITLE, body=body)


def text(limits: list[Limit]) -> str:
    """The text for people with these limits; the first is shown."""
    first = limits[0] if limits else None
    chance = _guess(_USUAL) if first is None else first.chance
    price = float(_USUAL) if first is None else first.price
    ten = _guess(Fraction(10 * min(price, 1000.0)).limit_denominator(100))
    return static_text("promise.html").format(
        asks=_ASKS[first is not None and first.replaced],
        chooser=_chooser(limits) if first is not None and first.name else "",
        price=_price(price),
        real=_price(price),
        slider=_price(min(price, HIGHEST)),
        highest=HIGHEST,
        before=_dots(50),
        count=of_hundred(chance),
        after=_dots(math.ceil(100 * min(chance, _ALMOST)), half=chance > _ALMOST),
        said=_said(chance),
        home=escape(_home(first)),
        exception="" if first is None else exception(first.delta),
        ten=_at_most(ten),
        rows="".join(_row(example) for example in _EXAMPLES),
        words="" if first is None else escape(_words(first)),
    )


def _price(price: float) -> str:
    return "without bound" if math.isinf(price) else f"{price:.2f}".rstrip("0").rstrip(".")


def _at_most(chance: Fraction) -> str:
    return of_hundred(chance) if chance > _ALMOST else f"up to {of_hundred(chance)}"


def _said(chance: Fraction) -> str:
    if chance > _ALMOST:
        return "At such a limit Bob may become all but sure. Very little is promised to you."
    if chance > Fraction(9, 10):
        return "At such a limit Bob may become quite sure, if he spends all of it on you."
    if chance > Fraction(6, 10):
        return "Bob may come to lean one way, but he cannot be sure."
    return "Bob may hardly do better than with his coin."


def _home(limit: Limit | None) -> str:
    if limit is None:
        return ""
    if not limit.name:
        return f"In this place no limit is above price {_price(limit.price)}."
    return f"The limit that holds for {limit.name} is price {_price(limit.price)}."


def _words(limit: Limit) -> str:
    return f"Here it is {limit.words}."


def _chooser(limits: list[Limit]) -> str:
    if len(limits) < 2:
        return ""
    options = "".join(
        f'<option data-price="{_price(each.price)}" data-asks="{escape(_ASKS[each.replaced])}" '
        f'data-home="{escape(_home(each))}" data-except="{escape(exception(each.delta))}" '
        f'data-words="{escape(_words(each))}">{escape(each.name)}</option>'
        for each in limits
    )
    return f'<p class="p-choose"><label for="p-who">Whose data? </label><select id="p-who">{options}</select></p>'


def _dots(filled: int, *, half: bool = False) -> str:
    kinds = ["p-on" if place < filled else "p-half" if half and place == filled else "" for place in range(100)]
    return "".join(f'<i class="{kind}"></i>' for kind in kinds)


def _row(example: str) -> str:
    return f"<tr><td>price {example}</td><td>{of_hundred(_guess(Fraction(example)))} of 100</td></tr>"
