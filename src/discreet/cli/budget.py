"""`discreet budget`: what was spent and what is left."""

from __future__ import annotations

from typing import Annotated

import typer

from discreet.cli.home import HOME, AtHome, new_app
from discreet.cli.printing import AsFormat, Format, print_rows

app = new_app()


@app.command()
def budget(
    population: Annotated[str | None, typer.Argument(help="One population.")] = None,
    *,
    home: AtHome = HOME,
    form: AsFormat = Format.table,
) -> None:
    """What each population's budget was, what is spent of it, and what is left."""
    from discreet.curator import Curator
    from discreet.curator.explain import said

    curator = Curator(home)
    names = [population] if population else curator.populations()
    rows = []
    for name in names:
        account = curator.budget(name)
        rows.append([name, said(account.total), said(account.spent), said(account.left)])
    print_rows(form, ["population", "total", "spent", "left"], rows)
