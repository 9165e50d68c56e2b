"""The `discreet` command itself: which commands there are, and how each of them ends.

Exit codes: 0 done, 2 refused (usage, privacy, budget), 1 fault. Answers go to stdout, everything else to stderr.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from io import TextIOWrapper
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from discreet import __version__
from discreet.errors import Fault, Refusal

# Name, and one line for `discreet --help`.
COMMANDS = {
    "demo": "A tour on generated sample data, until a budget runs out.",
    "init": "Make a home for tables, declarations and the ledger.",
    "add": "Take a table in, with its unit, caps, bounds and keys.",
    "update": "Bring new rows for a table.",
    "remove": "Forget a table's rows; what was spent stays spent.",
    "tables": "What may be asked about, as it was declared.",
    "query": "Ask a question in SQL, at a price.",
    "explain": "Price and error of a question, free.",
    "run": "Run a mechanism by its name: a mean, a quantile, or one of your own.",
    "bounds": "Buy advice on the bounds of a column.",
    "caps": "Buy advice on how many rows of one unit should count.",
    "fit": "Fit a model at a price, into a folder that predicts without the home.",
    "predict": "What a fitted model says of the rows of a file.",
    "score": "Buy how good a fitted model is about private rows.",
    "release": "Publish histograms, ranges and contingency tables; find, check and read what was published.",
    "survey": "Ask people whose devices randomise their answers; open, invite, close, read.",
    "sum": "Sums that nobody can look into: ask, invite, start, join, send, read; and which scheme is best.",
    "session": "Many questions for one price: open an interactive mechanism, ask it, see what is left.",
    "stream": "Running counts while rows arrive: open a stream, push its steps, see what it counted.",
    "visitors": "How many people came, and how often, from a memory that may be looked into.",
    "budget": "What is spent and what is left.",
    "lift": "Open a population again that went on hold.",
    "retire": "Close a population for good.",
    "ledger": "Verify the ledger, sign its head, export it; prove what is in it, and check such a proof.",
    "user": "Who may ask.",
    "serve": "Open the doors: Postgres wire and HTTP.",
    "doctor": "What is installed, what is locked down, whether the ledger holds.",
    "account": "What many mechanisms lose together: every theorem's total, tightest first.",
    "audit": "Try to refute a claim of privacy by running the mechanism.",
    "game": "Guess on which of two inputs a mechanism ran: the game of Alice and Bob.",
    "validity": "How far from the truth answers may be when questions were chosen by earlier answers.",
    "test": "Private tests, and intervals for the population, of a table's rows.",
    "holdout": "Rows kept aside, that judge many guesses for one price.",
    "attack": "What an adversary does with answers, on made-up people.",
}
# A command stands in the module of its name, or in this one; it is imported when the command is called.
_MODULES = {
    **dict.fromkeys(("init", "doctor"), "home"),
    **dict.fromkeys(("add", "update", "remove"), "tables"),
    **dict.fromkeys(("lift", "retire"), "budget"),
    **dict.fromkeys(("explain", "bounds", "caps"), "query"),
    "predict": "fit",
    "score": "fit",
}
_ENGINES = ("duckdb", "pyarrow", "sqlite3")


class LazyGroup(TyperGroup):
    """Group of commands that knows them by name, and imports the one that is called."""

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:  # noqa: ANN401
        """The command that `args` names, with its real parameters (typer keeps click, hence its types, to itself)."""
        name, listed, rest = super().resolve_command(ctx, args)
        return name, listed if name is None else opened(name), rest


def opened(name: str) -> Any:  # noqa: ANN401  # as above
    """The command of a name, with its real parameters: one of those in its module, or all of the module."""
    whole = get_command(import_module(f"discreet.cli.{_MODULES.get(name, name)}").app)
    return getattr(whole, "commands", {}).get(name, whole)


app = typer.Typer(
    cls=LazyGroup,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,  # they print local variables, and those may be data
    rich_markup_mode=None,  # laying out the help in colour costs more than everything else `--help` does
)


def _print_version(asked: bool) -> None:  # noqa: FBT001  # typer calls it by position
    if asked:
        typer.echo(f"discreet {__version__}")
        raise typer.Exit


@app.callback()
def discreet(
    *,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and stop.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Put sensitive data to use under differential privacy."""


def _list(name: str, line: str) -> None:
    @app.command(name, short_help=line)
    def stands_in() -> None:
        raise NotImplementedError(name)  # `LazyGroup` calls the real one


for _name, _line in COMMANDS.items():
    _list(_name, _line)


def main() -> None:
    """Run the command line, and turn what this package raises on purpose into a sentence and an exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without ε is no reason to fail
    os.umask(0o077)  # what a command or its engine writes is its owner's alone
    try:
        app()
    except Refusal as refusal:
        hint = f"\nhint: {refusal.hint}" if refusal.hint else ""
        instead = f"\nthis would be answered: {refusal.repair}" if refusal.repair else ""
        typer.echo(f"refused: {refusal.message}{hint}{instead}", err=True)
        sys.exit(2)
    except Fault as fault:
        typer.echo(f"fault: {fault}", err=True)
        sys.exit(1)
    except OSError as broken:  # about a file and its name; what an engine says about rows was caught where they are
        typer.echo(f"refused: {broken.strerror or 'a file cannot be used'}: {broken.filename}", err=True)
        sys.exit(2)
    except Exception as broken:
        if not _may_quote(broken):
            raise
        typer.echo(f"fault: {Fault.SENTENCE}", err=True)
        sys.exit(1)


def _may_quote(broken: Exception) -> bool:
    """Whether what went wrong may speak of a row: engines and decoders put the value into their text."""
    return isinstance(broken, UnicodeError) or type(broken).__module__.strip("_").partition(".")[0] in _ENGINES
