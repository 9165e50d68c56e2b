"""`discreet validity`: how far what a sample says may be from the truth, when its answers chose the questions."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.options import NoHome, new_app, option
from discreet.cli.printing import AsFormat, Format, busy, print_rows
from discreet.errors import Refusal
from discreet.exact import exact

if TYPE_CHECKING:
    from discreet.privacy import Guarantee
    from discreet.privacy.loss import Approximate

app = new_app()

Line = tuple[str, float, str]

_HEAD = ("what", "value", "theorem")
_NONE = "none for adaptive questions"
_SPLIT = "Hoeffding 1963"


class Relation(StrEnum):
    """What a promise compares."""

    replaced = "replace"
    added = "add-remove"


@app.callback()
def validity() -> None:
    """What differential privacy says about fresh data: that nothing was found which is not there."""


@app.command()
def bound(  # noqa: PLR0913  # one option for each thing that a theorem speaks of
    *,
    n: Annotated[int, option("N", "How many rows, drawn independently.")],
    questions: Annotated[int | None, option("K", "How many questions, each chosen after the earlier answers.")] = None,
    epsilon: Annotated[str | None, option("E", "What an analysis of the rows loses.")] = None,
    delta: Annotated[str, option("D", "Its δ.")] = "0",
    neighbours: Annotated[
        Relation, typer.Option("--neighbours", help="What E compares: a row replaced, or one more.")
    ] = Relation.replaced,
    p_value: Annotated[str | None, option("P", "A p-value of a test that the analysis chose, to be corrected.")] = None,
    confidence: Annotated[str, option("C", "With which probability errors hold.")] = "0.95",
    _home: NoHome = None,
    form: AsFormat = Format.table,
) -> None:
    """How far from the truth the answers may be, beside what sample splitting gives, and which number has a theorem.

    With --questions: for so many counts with the best noise. With --epsilon: for what a private analysis finds.
    """
    if questions is None and epsilon is None:
        raise Refusal("say what to bound", hint="--questions K for many questions, --epsilon E for a private analysis")
    if p_value is not None and epsilon is None:
        raise Refusal("--p-value needs --epsilon", hint="a p-value is corrected for what the analysis could learn")
    with busy("looking for the smallest error"):
        lines = [] if questions is None else list(_of_questions(n, questions, confidence))
        if epsilon is not None:
            lines += _of_analysis(n, _promise(epsilon, delta, neighbours), confidence, p_value)
    print_rows(form, _HEAD, [(what, value, theorem or None) for what, value, theorem in lines], ["value"])
    if form is Format.table and questions is not None:
        typer.echo(_advice(lines))


def _promise(epsilon: str, delta: str, neighbours: Relation) -> Guarantee[Approximate]:
    from discreet.privacy import AddRemove, Approximate, Guarantee, Replace

    relation = Replace() if neighbours is Relation.replaced else AddRemove()
    return Guarantee(Approximate(exact(epsilon, "--epsilon"), exact(delta, "--delta")), relation)


def _of_questions(n: int, questions: int, confidence: str) -> Iterator[Line]:
    from discreet.validity import adaptive_error, asked_beforehand, published_error, splitting

    plan = adaptive_error(n, questions, confidence)
    yield "error, sample splitting", _above(splitting(n, questions, confidence)), _SPLIT
    yield "error, Gaussian noise on each count", _above(plan.error), "4 (transfer)"
    yield "  deviation, in rows", float(plan.variance) ** 0.5, ""
    yield "  price, ρ of a row replaced", _above(plan.loss.rho), ""
    published = published_error(n, questions, confidence).error
    yield "error, the same as published", _above(published), "Jung et al. 2020"
    yield "error, exact answers from all rows", _above(asked_beforehand(n, questions, confidence)), _NONE


def _of_analysis(n: int, promise: Guarantee[Approximate], confidence: str, p_value: str | None) -> Iterator[Line]:
    from discreet.privacy import Guarantee, Pure
    from discreet.validity import (
        after_selection,
        hoeffding,
        in_expectation,
        largest_p_value,
        max_information,
        on_the_sample,
    )

    half = max(1, n // 2)
    yield "error, answered from fresh halves", _above(hoeffding(half, 1, confidence)), _SPLIT
    yield "error on average", _above(in_expectation(promise)), "1, tanh(ε/4) + δ"
    if promise.loss.delta:
        yield "error at this confidence", 1.0, "none for δ > 0; see --questions"
        return
    pure = Guarantee(Pure(promise.loss.epsilon), promise.neighbours)
    yield "error at this confidence", _above(on_the_sample(pure, n, confidence)), "2, with Hoeffding's inequality"
    yield "max-information, bits", _above(max_information(pure, n)), "3, but for 1 %"
    yield "p-value that counts as 0.05", _below(largest_p_value("0.05", pure, n)), "2"
    if p_value is not None:
        yield f"p-value {p_value}, corrected", _above(after_selection(p_value, pure, n)), "2"


def _advice(lines: list[Line]) -> str:
    values = {what.partition(",")[2].strip(): value for what, value, _ in lines if what.startswith("error")}
    split, noisy = values["sample splitting"], values["Gaussian noise on each count"]
    return "split the sample: so few questions need no noise" if split <= noisy else "noise beats splitting the sample"


def _above(x: Fraction) -> float:
    from math import inf, nextafter

    return float(x) if Fraction(float(x)) >= x else nextafter(float(x), inf)


def _below(x: Fraction) -> float:
    from math import nextafter

    return float(x) if Fraction(float(x)) <= x else nextafter(float(x), 0.0)
