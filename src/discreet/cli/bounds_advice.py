"""`discreet bounds` and `discreet caps`: advice on declarations, bought like an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from discreet.cli.options import HOME, AtHome, new_app
from discreet.cli.printing import AsFormat, Format, print_rows
from discreet.cli.query import Epsilon, Rho

if TYPE_CHECKING:
    from discreet.curator.share_intervals import ShareInterval

app = new_app()
_HIDDEN = "nothing stands out of the noise at this price; name a higher one, or there are too few people to tell"


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
