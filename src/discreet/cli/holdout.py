"""`discreet holdout`: rows kept aside in a home, asked again and again, and what they prove of everybody."""

from __future__ import annotations

from math import isqrt
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.options import HOME, AtHome, new_app, option
from discreet.cli.printing import AsFormat, Format, print_json, print_rows
from discreet.errors import Refusal
from discreet.exact import count, exact

if TYPE_CHECKING:
    from discreet.curator.sessions import OpenSession
    from discreet.validity import Claim

app = new_app()

_HEAD = ("question", "answer", "hard", "share", "low", "high")
_OPENED = ("holdout", "a guess is off by", "a number is off by")  # at most, with 95 % confidence
Entry = Annotated[int, typer.Argument(metavar="HOLDOUT", help="Its number, as `new` printed it.")]
Sure = Annotated[str, option("C", "With which probability all intervals hold together.")]


@app.callback()
def holdout() -> None:
    """Rows kept aside, that judge many guesses for one price: you hear of them only where a guess is wrong."""


@app.command()
def new(  # noqa: PLR0913  # one option for each thing that is bought
    table: Annotated[str, typer.Argument(help="The rows that were kept aside.")],
    *,
    people: Annotated[int, option("N", "How many people they are of: a number that is public.")],
    epsilon: Annotated[str, option("E", "The whole price.")],
    delta: Annotated[str, option("D", "Its δ; smaller noise for many hard answers.")] = "0",
    hard: Annotated[int, option("N", "How many guesses may turn out wrong.")] = 10,
    questions: Annotated[int, option("N", "How many questions there may be in all.")] = 1000,
    threshold: Annotated[int | None, option("N", "How far off a guess may be; by default 4√people.")] = None,
    ladder: Annotated[bool, typer.Option("--ladder", help="A leaderboard: no guesses, the best so far.")] = False,
    home: AtHome = HOME,
    form: AsFormat = Format.table,
) -> None:
    """Open a holdout at its whole price. Its number stands alone on the last line."""
    from discreet.curator import Curator
    from discreet.validity import Ladder, Thresholdout

    root = isqrt(count(people, "--people"))
    mechanism = (Ladder if ladder else Thresholdout)(
        exact(epsilon, "--epsilon"),
        4 * root if threshold is None else threshold,
        people,
        hard,
        exact(delta, "--delta"),
        rounding=max(1, root // 8),
        questions=questions,
    )
    opened = Curator(home).paid_sessions().open(mechanism, table)
    row = opened.entry, mechanism.easy_error(), mechanism.hard_error()
    print_rows(form, _OPENED, [row], _OPENED)
    if form is Format.table:
        typer.echo(opened.entry)


@app.command()
def ask(  # noqa: PLR0913  # one option for each thing that may be said
    entry: Entry,
    sql: Annotated[str, typer.Argument(help="A SELECT of one COUNT or SUM.")],
    *,
    guess: Annotated[int | None, option("N", "What you take the number to be.")] = None,
    number: Annotated[int | None, option("N", "Which question it is; asked again, it is answered as before.")] = None,
    max_rows: Annotated[int | None, option("N", "Rows of one unit that count.")] = None,
    confidence: Sure = "0.95",
    home: AtHome = HOME,
    form: AsFormat = Format.table,
) -> None:
    """Have a guess checked. It was paid when the holdout was opened."""
    opened = _opened(home, entry)
    opened.ask(sql, number=number, max_rows=max_rows, guess=guess)
    _print(opened, confidence, form, number or -1)


@app.command()
def show(entry: Entry, *, confidence: Sure = "0.95", home: AtHome = HOME, form: AsFormat = Format.table) -> None:
    """All answers so far, free, each with an interval for the share in the whole population."""
    _print(_opened(home, entry), confidence, form, None)


def _opened(home: Any, entry: int) -> OpenSession[Any]:  # noqa: ANN401  # a path; typer has read it
    from discreet.curator import Curator
    from discreet.validity import AdaptiveCounts, Ladder, Thresholdout

    opened = Curator(home).paid_sessions().one(entry)
    if not isinstance(opened.mechanism, (Ladder, Thresholdout, AdaptiveCounts)):
        raise Refusal(f"session {entry} is no holdout", hint="see discreet session show")
    return opened


def _print(opened: OpenSession[Any], confidence: str, form: Format, one: int | None) -> None:
    from discreet.validity import claims

    every = claims(opened.mechanism, opened.answers, confidence)
    numbered = list(enumerate(zip(opened.answers, every, strict=True), start=1))
    chosen = numbered if one is None else numbered[one - 1 : one] if one > 0 else numbered[-1:]
    rows = [(turn, answer.number, claim.hard, *_ends(claim)) for turn, (answer, claim) in chosen]
    used = ", ".join(map(str, opened.status.used))
    if form is Format.json:
        told = [dict(zip(_HEAD, row, strict=True)) for row in rows]
        print_json({"confidence": float(exact(confidence, "--confidence")), "used": used, "answers": told})
        return
    print_rows(form, _HEAD, rows, [head for head in _HEAD if head != "hard"])
    typer.echo(used, err=True)


def _ends(claim: Claim) -> tuple[float, float, float]:
    """The share, and its interval as floats that hold it."""
    from math import inf, nextafter

    low, high = float(claim.low), float(claim.high)
    return float(claim.answer), max(0.0, nextafter(low, -inf)), min(1.0, nextafter(high, inf))
