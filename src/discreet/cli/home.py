"""`discreet init` and `discreet doctor`: make a home, and look whether it is in order."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.options import HOME, AtHome, new_app
from discreet.cli.printing import AsFormat, Format, print_rows
from discreet.errors import Refusal

app = new_app()

_UNNOTICED = (
    "this machine restored as a whole, with its state folder; two copies of this home adopted on two machines that "
    "share no witness: keep a head on another machine, with discreet ledger witness add"
)
_TROUBLES = ("it answers nothing", "it takes no payments")
_PARTS = ("cryptography", "duckdb", "numpy", "pyarrow", "scipy", "sqlglot", "pandas", "polars", "matplotlib")


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


@app.command()
def doctor(*, home: AtHome = HOME, form: AsFormat = Format.table) -> None:
    """What is installed, whether the home is its owner's alone, and whether the ledger holds."""
    rows = [["python", sys.version.split()[0]], *([name, _version(name)] for name in _PARTS)]
    rows += _home(home) if home.exists() else [["home", f"{home} does not exist: discreet init makes one"]]
    print_rows(form, ["what", "how it is"], rows)
    wrong = [what for what, how in rows if "open to others" in how or "does not hold" in how or what in _TROUBLES]
    if wrong:
        raise Refusal(f"this home is not in order: {', '.join(wrong)}", hint="see the table above")


def _version(name: str) -> str:
    from importlib import metadata

    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"


def _home(home: Path) -> list[list[str]]:
    from discreet.curator import catalogue

    known = catalogue.read(home)
    published = home / "releases"  # what lies there is for everybody, in a folder that is not
    loose = [path.name for path in [home, *home.rglob("*")] if published not in path.parents and _open(path)]
    return [
        ["home", "its owner's alone" if not loose else f"open to others: {', '.join(loose)}"],
        ["tables", str(len(known.tables))],
        *_ledger(home),
    ]


def _open(path: Path) -> bool:
    """Whether others may look into it. A link says nothing of that, and what an engine is done with may be gone."""
    try:
        return not path.is_symlink() and bool(path.stat().st_mode & 0o077)
    except FileNotFoundError:
        return False


def _ledger(home: Path) -> list[list[str]]:
    from discreet.ledger import SqliteLedger, verify
    from discreet.ledger.entry_kinds import session_population

    try:
        ledger = SqliteLedger(home / "ledger.db", new=False)
        report = verify(ledger.rows())
        if not report.holds:
            return [["ledger", "does not hold: " + "; ".join(report.faults)]]
        waiting = sum(session_population(question) is None for question in ledger.books().unanswered.values())
    except Refusal as refusal:
        return [["ledger", f"does not hold: {refusal}"]]
    known = _witnesses(home)
    refuted = any(what == "ledger" for what, _ in known)
    return [
        *([] if refuted else [["ledger", f"holds, {report.size} entries"]]),
        *known,
        ["payments without an answer", f"{waiting}; they stay paid and are never run again" if waiting else "0"],
    ]


def _witnesses(home: Path) -> list[list[str]]:
    """Who knows the head of the ledger outside the home, and what nobody would notice."""
    from discreet.ledger.home_ledger import standings

    try:
        known = standings(home)
    except Refusal as refusal:
        return [[_TROUBLES[0], str(refusal)]]
    if not known:
        return [["its head is kept", "nowhere: this home is for practice, and every copy of it answers"]]
    rows = []
    for each in known:
        if each.refuted:
            rows.append(["ledger", f"does not hold: {each.trouble}"])
        elif each.trouble:
            rows.append([_TROUBLES[0 if each.copied else 1], each.trouble])
        else:
            told = "nothing yet" if each.head is None else f"{each.head.size} entries, on {each.head.time}"
            rows.append(["its head is kept", f"in {each.where}: {told}; an older ledger and a copy are refused"])
    return [*rows, ["not noticed", _UNNOTICED]]
