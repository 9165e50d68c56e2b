"""`discreet run`: a mechanism by its name, on the rows of a table or a SELECT."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.options import HOME, AtHome, new_app, option, pairs, value_of
from discreet.cli.printing import AsFormat, Format, busy, print_csv, print_json

if TYPE_CHECKING:
    from discreet.curator.named_run import RunAnswer

app = new_app()


@app.command()
def run(  # noqa: PLR0913  # the terms of a run
    mechanism: Annotated[str, typer.Argument(metavar="MECHANISM", help="The name of a mechanism, such as mean.")],
    source: Annotated[str, typer.Argument(metavar="TABLE", help="A table, or a SELECT of rows in quotes.")],
    *,
    param: Annotated[list[str] | None, option("NAME=VALUE", "A parameter. May be repeated.")] = None,
    epsilon: Annotated[str | None, option("E", "The price: the parameter epsilon.")] = None,
    rho: Annotated[str | None, option("R", "The price: the parameter rho.")] = None,
    delta: Annotated[str | None, option("D", "Its parameter delta, or the δ at which its loss is charged.")] = None,
    max_rows: Annotated[int | None, option("N", "Rows of one unit that count, instead of as declared.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say price and error; pay nothing.")] = False,
    home: AtHome = HOME,
    form: AsFormat = Format.table,
) -> None:
    """Run a mechanism by its name. Its price is spent before a row is read; the same again is free."""
    from discreet.client import Home

    parameters: dict[str, object] = {name: value_of(text) for name, text in pairs(param, "--param")}
    parameters |= {name: price for name, price in (("epsilon", epsilon), ("rho", rho)) if price is not None}
    db = Home(home)
    quote = db.offer_run(mechanism, source, max_rows=max_rows, delta=delta, **parameters)
    if dry_run:
        typer.echo(str(quote))
        return
    with busy("running the mechanism"):
        answer = db.run(mechanism, source, max_rows=max_rows, delta=delta, **parameters)
    _print(answer, form)


def _print(answer: RunAnswer, form: Format) -> None:
    from discreet.curator.explain import said

    value = answer.value
    if form is Format.json:
        print_json(value)
    elif form is Format.csv:
        cells = value if isinstance(value, dict) else {"value": value}
        print_csv(list(cells), [list(cells.values())])
    elif isinstance(value, dict):
        for name, cell in value.items():
            typer.echo(f"{name}  {json.dumps(cell, ensure_ascii=False)}")
    else:
        typer.echo(str(answer))
    cost = "free: this was answered before" if answer.cost is None else f"cost {said(answer.cost)}"
    typer.echo(f"{cost}; {said(answer.left)} is left; entry {answer.entry}", err=True)
    if answer.bounding:
        typer.echo(f"left out: {answer.bounding}", err=True)
