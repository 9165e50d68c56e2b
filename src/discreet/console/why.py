"""Page that shows why there is noise: what three attacks found, beside the most that anybody can find at a price.

It is plain HTML, as the page of what is promised is, and nothing in it comes from a home. The ceilings are proved
(docs/proofs/attacks.md); what was found was measured once, by benchmarks/why.py, on people who were made up.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from html import escape
from math import ceil
from typing import TYPE_CHECKING

from discreet.console.pages import ICON, static_address, static_text

if TYPE_CHECKING:
    from discreet.console.pages import Visit

PATH = "/why"
TITLE = "Why noise"
LEAD = "Three attacks on people who do not exist: what they find out, and the most that anybody can, at each price."
QUESTIONS, COLUMNS = 4096, 10_000
FIRST = 2  # where the slider stands at first: at price 1


@dataclass(frozen=True)
class Attack:
    """A card of the page: what is attacked, in words, and of 100 how many it found at each of the prices."""

    name: str
    title: str
    words: str
    guessed: str  # what of 100 is counted
    found: tuple[float, ...]  # in per cent, as measured; the last one without noise
    answers: int  # among which the price is divided evenly

    def most(self, price: str) -> Fraction:
        """The share that nobody gets beyond on average, rounded up.

        Guarantee: of fair secrets that are independent of all else; of membership, of people who were drawn alike.
        Proof: docs/proofs/attacks.md, Theorems 2 and 4: `discreet.attack.ceiling_of_many`.
        """
        from discreet.attack import ceiling_of_many  # noqa: PLC0415  # numpy, for whoever opens this page
        from discreet.privacy import Pure  # noqa: PLC0415

        return ceiling_of_many(Pure(Fraction(price) / self.answers), self.answers)


PRICES = ("0.1", "0.3", "1", "3", "10", "30", "100", "300", "1000")
ATTACKS = (
    Attack(
        "one",
        "One person",
        "How many people said yes? The attacker asks, and knows what everybody else said. Without noise a subtraction "
        "gives the last person away. With it, the whole price is spent on this one count.",
        "secrets guessed rightly",
        (52.3, 57.8, 73.2, 95.2, 100.0, 100.0, 100.0, 100.0, 100.0, 100.0),
        1,
    ),
    Attack(
        "all",
        "Everybody at once",
        "1,024 people have a yes or no each. The attacker asks for 4,096 counts over random sets of them, and solves "
        "the equations. Noise that is too small hides nobody, however harmless each count looks.",
        "secrets guessed rightly",
        (50.0, 50.1, 49.5, 50.0, 51.0, 52.9, 59.2, 76.8, 99.2, 100.0),
        QUESTIONS,
    ),
    Attack(
        "who",
        "Who took part",
        "A study of 100 people publishes the means of 10,000 columns. The attacker has somebody's row, from a hair, "
        "say, and asks whether it leans to the means more than a stranger's does.",
        "members told from strangers",
        (50.5, 50.0, 49.6, 50.2, 50.9, 52.8, 59.0, 73.8, 97.4, 100.0),
        COLUMNS,
    ),
)


def of_hundred(share: float) -> str:
    """A share as people count, rounded to halves, and never quite all where it is not."""
    if share >= 99.95:
        return "100"
    return f"{min(round(2 * share) / 2, 99.5):g}"


def at_most(share: Fraction) -> str:
    """A ceiling as people count, rounded up."""
    return "100" if share >= 1 else f"{ceil(200 * share) / 2:g}"


def links() -> str:
    """What the head of a page needs for the text."""
    sheets = "".join(f'<link rel="stylesheet" href="{static_address(name)}">' for name in ("promise.css", "why.css"))
    return f'{sheets}<script defer src="{static_address("why.js")}"></script>'


def register() -> None:
    """Make it a page for people who are signed in. Only this loads NiceGUI."""
    from nicegui import ui  # noqa: PLC0415

    from discreet.console.layout import page  # noqa: PLC0415

    @page(PATH)
    async def why(_: Visit) -> None:
        ui.add_head_html(links())
        ui.element("p").classes("d-lead")._text = LEAD  # noqa: SLF001  # as theme.tag does
        ui.html(text(), sanitize=False).classes("p-text")  # constants of ours


def page(theme: str) -> str:
    """The page for strangers."""
    style = f'<link rel="stylesheet" href="{static_address("console.css")}">'
    body = f'<p class="d-lead">{escape(LEAD)}</p>{text()}'
    return static_text("open.html").format(theme=theme, icon=ICON, links=style + links(), title=TITLE, body=body)


def text() -> str:
    """The text, with the slider at price 1."""
    return static_text("why.html").format(
        first=FIRST,
        last=len(PRICES),
        price=_named(PRICES[FIRST]),
        said=_said(FIRST),
        names=escape("|".join([*map(_named, PRICES), "without noise"])),
        sentences=escape("|".join(_said(place) for place in range(len(PRICES) + 1))),
        cards="".join(map(_card, ATTACKS)),
        rows="".join(_row(place) for place in range(len(PRICES) + 1)),
    )


def _named(price: str) -> str:
    return f"price {price}"


def _said(place: int) -> str:
    if place == len(PRICES):
        return "Without noise nothing limits an attacker, and these three find everything or nearly so."
    worst = max(float(attack.most(PRICES[place])) for attack in ATTACKS)
    if worst > 0.995:
        return (
            "At such a price the one person who is aimed at is hardly protected: nobody should set a limit like this."
        )
    if worst > 0.9:
        return "At such a price a single person who is aimed at may be found out, though a crowd may still be hidden."
    if worst > 0.6:
        return "Who aims at one person may come to lean one way; who aims at everybody gets hardly more than a coin."
    return "Nobody does much better than with a coin, however they ask and whatever they know."


def _card(attack: Attack) -> str:
    found = [*attack.found]
    most = [*(float(100 * attack.most(price)) for price in PRICES), 100.0]
    limits = [*(at_most(attack.most(price)) for price in PRICES), "100"]
    return (
        f'<section class="d-card w-card" data-found="{_listed(found)}" data-most="{_listed(most)}" '
        f'data-told="{"|".join(map(of_hundred, found))}" data-limits="{"|".join(limits)}">'
        f'<h2 class="d-heading">{attack.title}</h2><p>{attack.words}</p>'
        f'<svg class="w-bar" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect class="w-found" height="10" width="{found[FIRST]:.1f}"/><rect class="w-blind" x="49.8" width=".4" '
        f'height="10"/><rect class="w-most" y="0" height="10" width="1" x="{most[FIRST] - 1:.1f}"/></svg>'
        f'<div class="w-ends" aria-hidden="true"><span>0</span><span>a coin: 50</span><span>100</span></div>'
        f'<p class="w-told"><strong class="w-n">{of_hundred(found[FIRST])}</strong> of 100 {attack.guessed} by this '
        f'attack; nobody gets beyond <strong class="w-limit">{limits[FIRST]}</strong> on average.</p></section>'
    )


def _listed(shares: list[float]) -> str:
    return "|".join(f"{share:.1f}" for share in shares)


def _row(place: int) -> str:
    exact = place == len(PRICES)
    cells = "".join(
        f"<td>{of_hundred(attack.found[place])}</td><td>{'100' if exact else at_most(attack.most(PRICES[place]))}</td>"
        for attack in ATTACKS
    )
    return f'<tr><th scope="row">{"without noise" if exact else _named(PRICES[place])}</th>{cells}</tr>'
