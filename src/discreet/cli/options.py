"""Options that many commands take: the home (--home, else DISCREET_HOME, else ./discreet-home), files, COLUMN=VALUE."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from discreet.errors import Refusal

AtHome = Annotated[
    Path,
    typer.Option("--home", envvar="DISCREET_HOME", metavar="DIR", help="The home to work in.", show_default=True),
]
HOME = Path("discreet-home")

NoHome = Annotated[
    Path | None,
    typer.Option("--home", metavar="DIR", help="Taken as by every command; this one looks into no home."),
]
Many = list[str] | None  # of an option that may be given several times


def new_app(group: type[TyperGroup] = TyperGroup) -> typer.Typer:
    """A command that prints no local variables when it fails: they may be data."""
    return typer.Typer(cls=group, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)


def option(metavar: str, text: str) -> typer.models.OptionInfo:
    """An option with a value: what stands for the value in the help, and what it does."""
    made: typer.models.OptionInfo = typer.Option(metavar=metavar, help=text)
    return made


def pairs(texts: Sequence[str] | None, option: str) -> list[tuple[str, str]]:
    """What is said about each column, as COLUMN=VALUE."""
    split = []
    for text in texts or ():
        column, equals, value = text.partition("=")
        if not equals or not column:
            raise Refusal(f"{option} takes COLUMN=VALUE, got {text!r}")
        split.append((column, value))
    return split


def value_of(text: str) -> Any:  # noqa: ANN401  # whatever a mechanism takes
    """JSON, its numbers exactly; a text that is none is meant as it stands."""
    try:
        return json.loads(text, parse_float=str)
    except ValueError:
        return text


def text_of(file: Path) -> str:
    """What a file of text holds."""
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise Refusal(f"there is no text file {str(file)!r}") from None
