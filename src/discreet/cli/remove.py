"""`discreet remove`: forget a table's rows."""

from __future__ import annotations

import typer

from discreet.cli.home import HOME, AtHome, new_app

app = new_app()


@app.command()
def remove(name: str, *, home: AtHome = HOME) -> None:
    """Forget a table's rows. What was spent on its population stays spent."""
    from discreet.curator.custody import Custody

    Custody(home).remove(name)
    typer.echo(f"removed {name}")
