"""`discreet init`: an empty home."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.home import HOME, new_app

app = new_app()


@app.command()
def init(
    folder: Annotated[Path | None, typer.Argument(metavar="[HOME]", help="Where to make it.")] = None,
    home: Annotated[Path, typer.Option("--home", envvar="DISCREET_HOME", metavar="DIR")] = HOME,
) -> None:
    """Make a home: a folder for tables, declarations and the ledger, open to its owner only."""
    from discreet.curator.custody import found_home

    place = folder or home
    found_home(place)
    typer.echo(f"made a home in {place}")
    typer.echo("next: discreet add NAME FILE --unit COLUMN --epsilon 3 --delta 1e-8", err=True)
