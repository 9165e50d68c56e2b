"""`discreet validity`: how far what a sample says may be from the truth, when its answers chose the questions."""

from __future__ import annotations

from enum import StrEnum
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

_HEAD = ("what", "value", "theorem")


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
        from discreet.validity.bounds import advice, of_analysis, of_questions

        lines = [] if questions is None else list(of_questions(n, questions, confidence))
        if epsilon is not None:
            lines += of_analysis(n, _promise(epsilon, delta, neighbours), confidence, p_value)
    print_rows(form, _HEAD, [(what, value, theorem or None) for what, value, theorem in lines], ["value"])
    if form is Format.table and questions is not None:
        typer.echo(advice(lines))


def _promise(epsilon: str, delta: str, neighbours: Relation) -> Guarantee[Approximate]:
    from discreet.privacy import AddRemove, Approximate, Guarantee, Replace

    relation = Replace() if neighbours is Relation.replaced else AddRemove()
    return Guarantee(Approximate(exact(epsilon, "--epsilon"), exact(delta, "--delta")), relation)
