"""Where a command finds its home: --home, else DISCREET_HOME, else ./discreet-home."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

AtHome = Annotated[
    Path,
    typer.Option("--home", envvar="DISCREET_HOME", metavar="DIR", help="The home to work in.", show_default=True),
]
HOME = Path("discreet-home")

NoHome = Annotated[
    Path | None,
    typer.Option("--home", metavar="DIR", help="Taken as by every command; this one looks into no home."),
]


def new_app() -> typer.Typer:
    """A command that prints no local variables when it fails: they may be data."""
    return typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
