"""`discreet caps`: buy advice on how many rows of one unit should count."""

from __future__ import annotations

from discreet.cli.home import HOME, AtHome, new_app
from discreet.cli.printing import AsFormat, Format, print_rows
from discreet.cli.query import Epsilon, Rho

app = new_app()


@app.command()
def caps(
    table: str, *, epsilon: Epsilon = None, rho: Rho = None, home: AtHome = HOME, form: AsFormat = Format.table
) -> None:
    """How many rows nearly all units stay within, and the share of units that max_rows cuts. Spends its price."""
    from discreet.curator import Curator

    advice = Curator(home).caps(table, epsilon=epsilon, rho=rho)
    cut = None if advice.cut is None else f"{advice.cut:.3f}"
    print_rows(form, ["table", "suggested max_rows", "share of units cut now"], [[table, advice.rows, cut]])
