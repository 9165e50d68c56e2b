"""`discreet bounds`: buy advice on the bounds of a column."""

from __future__ import annotations

import typer

from discreet.cli.caps import HIDDEN, told
from discreet.cli.home import HOME, AtHome, new_app
from discreet.cli.printing import AsFormat, Format, print_rows
from discreet.cli.query import Epsilon, Rho

app = new_app()


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
        typer.echo(HIDDEN, err=True)
    ends = None if advice.low is None else f"{advice.low}:{advice.high}"
    shares = {**told(form, "values beyond them", advice.beyond), **told(form, "values cut off now", advice.cut)}
    left = None if advice.left is None else said(advice.left)
    line = {"column": column, "suggested": ends, **shares, "cost": paid_for(advice.cost), "left": left}
    print_rows(form, list(line), [list(line.values())])
