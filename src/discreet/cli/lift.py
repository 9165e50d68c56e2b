"""`discreet lift`: open a population that is on hold."""

from __future__ import annotations

import typer

from discreet.cli.home import HOME, AtHome, new_app

app = new_app()


@app.command()
def lift(population: str, *, home: AtHome = HOME) -> None:
    """Open a population again that went on hold because rows made an answer fail. Look into the cause first."""
    from discreet.curator.custody import Custody

    Custody(home).lift(population)
    typer.echo(f"lifted the hold of {population}")
