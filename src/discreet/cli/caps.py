"""`discreet caps`: buy advice on how many rows of one unit should count."""

from __future__ import annotations

import typer

from discreet.cli.home import HOME, AtHome, new_app
from discreet.cli.printing import AsFormat, Format, print_rows
from discreet.cli.query import Epsilon, Rho

app = new_app()
HIDDEN = "nothing stands out of the noise at this price; name a higher one, or there are too few people to tell"


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
        typer.echo(HIDDEN, err=True)
    head = ["table", "suggested max_rows", "units with more", "units cut now", "cost", "left"]
    shares = [None if share is None else str(share) for share in (advice.beyond, advice.cut)]
    left = None if advice.left is None else said(advice.left)
    print_rows(form, head, [[table, advice.rows, *shares, paid_for(advice.cost), left]])
