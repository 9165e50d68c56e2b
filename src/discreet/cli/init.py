"""`discreet init`: an empty home."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.home import HOME, AtHome, new_app
from discreet.errors import Refusal

app = new_app()


@app.command()
def init(
    context: typer.Context,
    folder: Annotated[Path | None, typer.Argument(metavar="[HOME]", help="Where to make it.")] = None,
    *,
    home: AtHome = HOME,
) -> None:
    """Make a home: a folder for tables, declarations and the ledger, open to its owner only."""
    from discreet.curator.custody import found_home

    source = context.get_parameter_source("home")
    if folder is not None and source is not None and source.name == "COMMANDLINE" and folder != home:
        raise Refusal(
            f"a home is made in one place, got {str(folder)!r} and {str(home)!r}", hint="leave one of them out"
        )
    place = folder or home
    found_home(place)
    typer.echo(f"made a home in {place}")
    typer.echo("next: discreet add NAME FILE --unit COLUMN --epsilon 3 --delta 1e-8", err=True)
