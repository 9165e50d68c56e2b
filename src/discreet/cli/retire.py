"""`discreet retire`: close a population for good."""

from __future__ import annotations

import typer

from discreet.cli.home import HOME, AtHome, new_app

app = new_app()


@app.command()
def retire(population: str, *, home: AtHome = HOME) -> None:
    """Close a population's budget for good. Answers given before stay free to read."""
    from discreet.curator.custody import Custody

    Custody(home).retire(population)
    typer.echo(f"retired {population}")
