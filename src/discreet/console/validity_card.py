"""Card of a free calculator: how far many adaptive answers may be from everybody, with sample splitting first."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, log10

from nicegui import ui

from discreet.console import theme
from discreet.console.layout import trouble
from discreet.console.pages import Visit
from discreet.desk import Visitor
from discreet.errors import Refusal
from discreet.exact import count, positive, probability
from discreet.pictures.svg import plain
from discreet.privacy import Approximate, Guarantee, Replace
from discreet.validity.bounds import Line, advice, of_analysis, of_questions

_LONGEST = 24  # letters of a number
_FREE = "Nothing is asked of anybody's data, and nothing is charged."
_LEAD = (
    "Each answer suggests the next question, and in the end something is found that is true of these rows alone. How "
    "wrong can so many answers be about everybody? It is computed from these numbers, and no data is looked at."
)


@dataclass(frozen=True)
class Told:
    """Lines of a bound, and what follows for who has to choose."""

    lines: tuple[Line, ...]
    advice: str


def bounded(rows: str, questions: str, epsilon: str = "", p_value: str = "") -> Told:
    """The numbers of `discreet validity bound`, as somebody typed what they are of."""
    n, lines, said = _whole(rows, "rows"), [], ""
    if not questions and not epsilon:
        raise Refusal("say how many questions, or what an analysis loses", hint="fill in Questions, or ε")
    if p_value and not epsilon:
        raise Refusal("a p-value is corrected for what the analysis could learn", hint="fill in its ε as well")
    if questions:
        lines = list(of_questions(n, _whole(questions, "questions"), "0.95"))
        said = theme.sentence(advice(lines))
    if epsilon:
        loss = Approximate(positive(_short(epsilon), "ε"), 0)
        corrected = str(probability(_short(p_value), "p-value")) and p_value if p_value else None
        lines += of_analysis(n, Guarantee(loss, Replace()), "0.95", corrected)
    return Told(tuple(lines), said)


def _short(text: str) -> str:
    if len(text) > _LONGEST:
        raise Refusal(f"nothing longer than {_LONGEST} letters fits here")
    return text


def _whole(text: str, name: str) -> int:
    typed = text.replace(",", "").strip()
    return count(int(typed) if typed.isascii() and typed.isdigit() and len(typed) <= 9 else 0, name)


def calculator(visit: Visit) -> None:
    """Draw it."""
    with theme.card("How wrong may many answers be?"):
        theme.muted(_LEAD)
        with ui.element("div").classes("d-asking"):
            fields = [
                ui.input(label, value=value).props("outlined dense inputmode=decimal maxlength=24").classes("d-bounded")
                for label, value in (
                    ("Rows", "10000"),
                    ("Questions", "500"),
                    ("ε of an analysis", ""),
                    ("A p-value it found", ""),
                )
            ]
            button = ui.button("Work it out · free").props("outline no-caps")
        box = theme.live()

    async def work() -> None:
        typed = [str(field.value or "").strip() for field in fields]
        with theme.busy(button), trouble(box, foot=_FREE):
            told = await visit.call(_bounded, *typed)
            with box:
                _shown(told)

    button.on_click(work)
    for field in fields:
        field.on("keydown.enter", work)
        field.on_value_change(box.clear)


def _bounded(_: Visitor, *typed: str) -> Told:
    return bounded(*typed)


def against_us(what: str, value: float) -> str:
    """Four digits, rounded against us: what may count as 0.05 never up, all else never down."""
    digits = max(0, 3 - floor(log10(value))) if value > 0 else 0
    rounded = (floor if what.startswith("p-value that counts") else ceil)(Fraction(repr(value)) * 10**digits)
    return plain(float(Fraction(rounded, 10**digits)))


def _shown(told: Told) -> None:
    theme.tag("p", told.advice).classes("d-promise d-bound-advice")
    titles = ("What", ""), ("How much", "d-num"), ("Theorem", "")
    with theme.table(titles, "Bounds at 95 % confidence", "d-whole d-bounds"):
        for what, value, theorem in told.lines:
            theme.row(
                (f"{what.strip()[:1].upper()}{what.strip()[1:]}", ""), (against_us(what, value), "d-num"), (theorem, "")
            )
    theme.note(
        "Errors are of shares, from 0 to 1, and hold together with 95 % confidence if rows were drawn independently. "
        "Where no theorem stands, it is what a textbook says, and not true where answers chose the questions."
    )
