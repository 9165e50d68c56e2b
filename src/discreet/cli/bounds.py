"""`discreet bounds`: buy advice on the bounds of a column."""

from __future__ import annotations

import typer

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
    """What the declared bounds of a column cut off, and bounds that would hold nearly all of it. Spends its price."""
    from discreet.curator import Curator

    advice = Curator(home).bounds(table, column, epsilon=epsilon, rho=rho)
    if advice is None:
        typer.echo("nothing stands out of the noise at this price", err=True)
        return
    cut = None if advice.cut is None else f"{advice.cut:.3f}"
    print_rows(form, ["column", "suggested", "share cut off now"], [[column, f"{advice.low}:{advice.high}", cut]])
