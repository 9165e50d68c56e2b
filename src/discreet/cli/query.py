"""`discreet query`, `explain`, `bounds` and `caps`: a question in SQL, its price, and advice that is bought like it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.options import HOME, AtHome, new_app
from discreet.cli.printing import AsFormat, Format, print_csv, print_json, print_rows

if TYPE_CHECKING:
    from discreet.curator import Answer
    from discreet.curator.share_intervals import ShareInterval

app = new_app()

Epsilon = Annotated[str | None, typer.Option("--epsilon", metavar="E", help="The price.")]
Rho = Annotated[str | None, typer.Option("--rho", metavar="R", help="The price, where the budget is in zCDP.")]
Error = Annotated[str | None, typer.Option("--error", metavar="X", help="The error wanted; the price follows.")]
Delta = Annotated[str | None, typer.Option("--delta", metavar="D", help="δ for naming groups.")]
Confidence = Annotated[str, typer.Option("--confidence", metavar="C", help="Of error bars.")]
_HIDDEN = "nothing stands out of the noise at this price; name a higher one, or there are too few people to tell"


@app.command()
def query(  # noqa: PLR0913  # the terms of a question
    sql: str,
    *,
    epsilon: Epsilon = None,
    rho: Rho = None,
    error: Error = None,
    delta: Delta = None,
    confidence: Confidence = "0.95",
    intervals: Annotated[
        bool, typer.Option("--intervals/--no-intervals", help="Print the ends of the error bars too, or do not.")
    ] = True,
    fresh: Annotated[bool, typer.Option("--fresh", help="Buy a new draw even if this was answered before.")] = False,
    within: Annotated[bool, typer.Option("--within", help="If the price does not fit, use what is left.")] = False,
    home: AtHome = HOME,
    form: AsFormat = Format.table,
) -> None:
    """Ask a question in SQL. Its price is spent before a row is read; the same question again is free."""
    from discreet.curator import Curator
    from discreet.curator.explain import said
    from discreet.curator.quote import TermsGiven

    curator = Curator(home)
    terms = TermsGiven(
        epsilon=epsilon, rho=rho, error=error, delta=delta, confidence=confidence, fresh=fresh, within=within
    )
    told = curator.explain(sql, **terms)
    for sentence in told.notices:  # before it is paid: the same follows from the plan
        if sentence not in told.bounding:
            typer.echo(f"notice: {sentence}", err=True)
    answer = curator.query(sql, **terms)
    _print(answer, form, confidence, intervals=intervals)
    if intervals and answer.unbarred:
        typer.echo(f"no error bar: {', '.join(answer.unbarred)}", err=True)
    if intervals and answer.partly_unbarred:
        typer.echo(f"no error bar in some rows: {', '.join(answer.partly_unbarred)}", err=True)
    if answer.left is not None:
        price = "free: answered before" if answer.cost is None else said(answer.cost)
        typer.echo(f"cost {price}; left {said(answer.left)}", err=True)
        typer.echo(answer.bounding, err=True)


@app.command()
def explain(  # noqa: PLR0913  # the terms of a question
    sql: str,
    *,
    epsilon: Epsilon = None,
    rho: Rho = None,
    error: Error = None,
    delta: Delta = None,
    confidence: Confidence = "0.95",
    home: AtHome = HOME,
    form: AsFormat = Format.table,
) -> None:
    """Price, expected error and plan of a question, from public facts only. Spends nothing."""
    from discreet.curator import Curator
    from discreet.curator.explain import LATER, NONE, said

    told = Curator(home).explain(sql, epsilon=epsilon, rho=rho, error=error, delta=delta, confidence=confidence)
    if form is Format.table:
        typer.echo(str(told))
        return
    price = None if told.price is None else said(told.price)
    errors = {name: LATER if value is None else str(value) for name, value in told.error}
    errors |= dict.fromkeys(told.unbarred, NONE)
    notices = [*told.notices, *([told.notice] if told.notice else [])]
    if form is Format.json:
        plan = list(told.plan)
        print_json({"price": price, "error": errors, "plan": plan, "notices": notices, "bounding": told.bounding})
        return
    rows = [("price", "", price), *(("error", name, error) for name, error in errors.items())]
    rows += [("measure", "", line) for line in told.plan] + [("notice", "", line) for line in notices]
    rows += [("left out", "", told.bounding)] if told.bounding else []
    print_csv(["what", "column", "value"], rows)


def _print(answer: Answer, form: Format, confidence: str, *, intervals: bool) -> None:
    numbers = [name for name, kind in zip(answer.columns, answer.types, strict=True) if kind in ("bigint", "double")]
    if intervals and form is Format.table:
        print_rows(form, answer.columns, _with_bars(answer, confidence), numbers)
        return
    head, rows = list(answer.columns), [list(row) for row in answer.rows]
    if intervals:
        spans = answer.intervals(confidence)
        for i, name in reversed(list(enumerate(answer.columns))):
            if any(span[i] is not None for span in spans):
                head[i + 1 : i + 1] = [f"{name}_low", f"{name}_high"]
                for row, span in zip(rows, spans, strict=True):
                    row[i + 1 : i + 1] = list(span[i] or (None, None))
    if form is Format.json:
        print_json({"columns": head, "rows": rows})
    else:
        print_rows(form, head, rows, numbers)


def _with_bars(answer: Answer, confidence: str) -> list[list[object]]:
    """Each number with its error bar behind it, and no more digits than that leaves a meaning to."""
    from discreet.curator.significant_digits import measured

    def shown(cell: object, span: tuple[float, float] | None) -> object:
        if cell is None or span is None:
            return cell
        value, bar = measured(cell, span)
        return f"{value} ({bar})" if " to " in bar else f"{value} {bar}".strip()

    spans = answer.intervals(confidence)
    return [list(map(shown, row, bars)) for row, bars in zip(answer.rows, spans, strict=True)]


@app.command()
def bounds(  # noqa: PLR0913  # where, what, and the price
    table: str,
    column: str,
    *,
    epsilon: Epsilon = None,
    rho: Rho = None,
    home: AtHome = HOME,
    form: AsFormat = Format.table,
) -> None:
    """What the declared bounds of a column cut off, and bounds that would hold nearly all of it. Spends its price.

    Every share is of the values that max_rows lets count, and holds with 95 % confidence.
    """
    from discreet.curator import Curator
    from discreet.curator.explain import paid_for, said

    advice = Curator(home).bounds(table, column, epsilon=epsilon, rho=rho)
    if advice.low is None:
        typer.echo(_HIDDEN, err=True)
    ends = None if advice.low is None else f"{advice.low}:{advice.high}"
    shares = {**_told(form, "values beyond them", advice.beyond), **_told(form, "values cut off now", advice.cut)}
    left = None if advice.left is None else said(advice.left)
    line = {"column": column, "suggested": ends, **shares, "cost": paid_for(advice.cost), "left": left}
    print_rows(form, list(line), [list(line.values())])


@app.command()
def caps(
    table: str, *, epsilon: Epsilon = None, rho: Rho = None, home: AtHome = HOME, form: AsFormat = Format.table
) -> None:
    """How many rows nearly all units stay within, and the share of units that max_rows cuts. Spends its price.

    Every share holds with 95 % confidence. The advice is on whole units: a unit beyond the cap counts with some rows.
    """
    from discreet.curator import Curator
    from discreet.curator.explain import paid_for, said

    advice = Curator(home).caps(table, epsilon=epsilon, rho=rho)
    if advice.rows is None:
        typer.echo(_HIDDEN, err=True)
    shares = {**_told(form, "units with more", advice.beyond), **_told(form, "units cut now", advice.cut)}
    left = None if advice.left is None else said(advice.left)
    line = {"table": table, "suggested max_rows": advice.rows, **shares, "cost": paid_for(advice.cost), "left": left}
    print_rows(form, list(line), [list(line.values())])


def _told(form: Format, name: str, share: ShareInterval | None) -> dict[str, object]:
    """A share: for eyes in words, for programs its two ends."""
    if form is Format.table:
        return {name: None if share is None else str(share)}
    low, high = (None, None) if share is None else (share.low, share.high)
    return {f"{name}, low": low, f"{name}, high": high}
