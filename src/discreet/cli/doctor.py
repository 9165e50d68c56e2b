"""`discreet doctor`: what is installed, what is locked down, whether the ledger holds."""

from __future__ import annotations

import sys
from importlib import metadata
from pathlib import Path

from discreet.cli.home import HOME, AtHome, new_app
from discreet.cli.printing import print_table
from discreet.errors import Refusal

app = new_app()

_PARTS = ("cryptography", "duckdb", "numpy", "pyarrow", "scipy", "sqlglot", "pandas", "polars", "matplotlib")


@app.command()
def doctor(*, home: AtHome = HOME) -> None:
    """What is installed, whether the home is its owner's alone, and whether the ledger holds."""
    rows = [["python", sys.version.split()[0]], *([name, _version(name)] for name in _PARTS)]
    rows += _home(home) if home.exists() else [["home", f"{home} does not exist: discreet init makes one"]]
    print_table(["what", "how it is"], rows)
    if any("open to others" in how or "does not hold" in how for _, how in rows):
        raise Refusal("this home is not in order", hint="see the table above")


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"


def _home(home: Path) -> list[list[str]]:
    from discreet.curator import catalogue
    from discreet.ledger import SqliteLedger, verify

    known = catalogue.read(home)
    loose = [path.name for path in [home, *home.rglob("*")] if path.stat().st_mode & 0o077]
    report = verify(SqliteLedger(home / "ledger.db").rows())
    return [
        ["home", "its owner's alone" if not loose else f"open to others: {', '.join(loose)}"],
        ["tables", str(len(known.tables))],
        ["ledger", f"holds, {report.size} entries" if report.holds else "does not hold: " + "; ".join(report.faults)],
    ]
