"""`discreet caps`: buy advice on how many rows of one unit should count."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from discreet.cli.home import HOME, AtHome, new_app
from discreet.cli.printing import AsFormat, Format, print_rows
from discreet.cli.query import Epsilon, Rho

if TYPE_CHECKING:
    from discreet.curator.share_intervals import ShareInterval

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
    shares = {**told(form, "units with more", advice.beyond), **told(form, "units cut now", advice.cut)}
    left = None if advice.left is None else said(advice.left)
    line = {"table": table, "suggested max_rows": advice.rows, **shares, "cost": paid_for(advice.cost), "left": left}
    print_rows(form, list(line), [list(line.values())])


def told(form: Format, name: str, share: ShareInterval | None) -> dict[str, object]:
    """A share: for eyes in words, for programs its two ends."""
    if form is Format.table:
        return {name: None if share is None else str(share)}
    low, high = (None, None) if share is None else (share.low, share.high)
    return {f"{name}, low": low, f"{name}, high": high}
