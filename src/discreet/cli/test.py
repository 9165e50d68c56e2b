"""`discreet test`: private tests of rows in a home, and intervals for the population; paid like any run."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from discreet.cli.options import HOME, AtHome, new_app, option
from discreet.cli.printing import AsFormat, Format, busy, print_rows

app = new_app()

Table = Annotated[str, typer.Argument(metavar="TABLE", help="A table, or a SELECT of one row a person, in quotes.")]
Price = Annotated[str, option("E", "The price.")]
Rows = Annotated[int | None, option("N", "Rows of one unit that count, instead of as declared; a test takes one.")]
Blocks = Annotated[int, option("N", "Into how many blocks rows are dealt: how many reject is what is told.")]
Level = Annotated[str, option("A", "At which level a block rejects.")]
Sure = Annotated[str, option("C", "With which probability the interval holds.")]


@app.callback()
def test() -> None:
    """Private tests, whose p-values know of the noise, and intervals that include the sampling."""


@app.command()
def binomial(  # noqa: PLR0913  # what is tested
    table: Table,
    *,
    column: Annotated[str, option("COLUMN", "The column that is looked at.")],
    key: Annotated[str, option("KEY", "The key that is counted.")],
    share: Annotated[str, option("S", "The share of the null hypothesis.")],
    people: Annotated[int, option("N", "How many people there are, which is public.")],
    epsilon: Price,
    delta: Annotated[str, option("D", "Its δ.")] = "0",
    alternative: Annotated[str, option("SIDE", "greater, less or two-sided.")] = "greater",
    max_rows: Rows = None,
    home: AtHome = HOME,
    form: AsFormat = Format.table,
) -> None:
    """Whether more than a share of people have a key."""
    asked = {"column": column, "key": key, "share": share, "people": people, "alternative": alternative}
    _run("binomial-test", table, {**asked, "epsilon": epsilon, "delta": delta}, max_rows, home, form)


@app.command("chi-square")
def chi_square(  # noqa: PLR0913  # what is tested
    table: Table,
    *,
    columns: Annotated[str, option("A,B", "One column with --shares, or two that may be independent.")],
    epsilon: Price,
    shares: Annotated[
        str | None, option("S,T", "The shares of the null hypothesis, one for each declared key.")
    ] = None,
    max_rows: Rows = None,
    home: AtHome = HOME,
    form: AsFormat = Format.table,
) -> None:
    """Whether keys have these shares; or whether two columns are independent."""
    asked = {"columns": columns.split(","), "shares": shares.split(",") if shares else [], "epsilon": epsilon}
    _run("chi-square-test", table, asked, max_rows, home, form)


@app.command()
def t(  # noqa: PLR0913  # what is tested
    table: Table,
    *,
    column: Annotated[str, option("COLUMN", "The numbers.")],
    epsilon: Price,
    by: Annotated[str | None, option("COLUMN", "A column of two groups, whose means are compared.")] = None,
    mean: Annotated[str, option("M", "Without groups: the mean of the null hypothesis.")] = "0",
    blocks: Blocks = 40,
    level: Level = "0.2",
    max_rows: Rows = None,
    home: AtHome = HOME,
    form: AsFormat = Format.table,
) -> None:
    """Whether a mean is as said, or those of two groups are the same: Student's t and Welch's, in blocks."""
    asked = {"column": column, "by": by, "mean": mean, "blocks": blocks, "level": level, "epsilon": epsilon}
    _run("t-test", table, asked, max_rows, home, form)


@app.command()
def permutation(  # noqa: PLR0913  # what is tested
    table: Table,
    *,
    column: Annotated[str, option("COLUMN", "The numbers.")],
    by: Annotated[str, option("COLUMN", "A column of two groups.")],
    epsilon: Price,
    blocks: Blocks = 40,
    level: Level = "0.2",
    max_rows: Rows = None,
    home: AtHome = HOME,
    form: AsFormat = Format.table,
) -> None:
    """Whether the numbers of two groups have one law, whatever it is."""
    asked = {"column": column, "by": by, "blocks": blocks, "level": level, "epsilon": epsilon}
    _run("permutation-test", table, asked, max_rows, home, form)


@app.command()
def mean(  # noqa: PLR0913  # what is asked
    table: Table,
    *,
    column: Annotated[str, option("COLUMN", "The numbers.")],
    epsilon: Price,
    confidence: Sure = "0.95",
    max_rows: Rows = None,
    home: AtHome = HOME,
    form: AsFormat = Format.table,
) -> None:
    """An interval for the mean of the whole population."""
    asked = {"column": column, "epsilon": epsilon, "confidence": confidence}
    _run("population-mean", table, asked, max_rows, home, form)


@app.command()
def share(  # noqa: PLR0913  # what is asked
    table: Table,
    *,
    column: Annotated[str, option("COLUMN", "The column that is looked at.")],
    key: Annotated[str, option("KEY", "The key that is counted.")],
    epsilon: Price,
    confidence: Sure = "0.95",
    max_rows: Rows = None,
    home: AtHome = HOME,
    form: AsFormat = Format.table,
) -> None:
    """An interval for the share of a key in the whole population."""
    asked = {"column": column, "key": key, "epsilon": epsilon, "confidence": confidence}
    _run("population-share", table, asked, max_rows, home, form)


def _run(name: str, table: str, asked: dict[str, Any], max_rows: int | None, home: Any, form: Format) -> None:  # noqa: ANN401, PLR0913, PLR0917
    """Pay for a mechanism by its name, and print what it says."""
    from discreet.client import Home
    from discreet.curator.explain import said

    with busy("testing"):
        answer = Home(home).run(name, table, max_rows=max_rows, **asked)
    print_rows(form, list(answer.value), [list(answer.value.values())], list(answer.value)[:-1])
    if form is Format.table:
        cost = "free: this was answered before" if answer.cost is None else f"cost {said(answer.cost)}"
        typer.echo(f"{cost}; {said(answer.left)} is left; entry {answer.entry}", err=True)
