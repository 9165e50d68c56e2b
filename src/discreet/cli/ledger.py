"""`discreet ledger`: verify it, sign its head, export it, prove an entry."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.home import HOME, AtHome, new_app
from discreet.errors import Refusal

if TYPE_CHECKING:
    from discreet.ledger import Head, SqliteLedger

app = new_app()


def _open(home: Path) -> SqliteLedger:
    from discreet.curator import catalogue
    from discreet.ledger import SqliteLedger

    catalogue.read(home)
    return SqliteLedger(home / "ledger.db")


def _head(home: Path) -> Head:
    from datetime import UTC, datetime

    from discreet.ledger import sign, signing_key

    hashes = [stored for _, stored, _ in _open(home).rows()]
    return sign(hashes, datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"), signing_key(home / "ledger.key"))


@app.command()
def verify(
    *,
    head: Annotated[
        list[Path] | None, typer.Option(metavar="FILE", help="A head that was kept. May be repeated.")
    ] = None,
    home: AtHome = HOME,
) -> None:
    """Recompute every hash and every sum, and compare with heads that somebody kept."""
    from discreet.ledger import read_head
    from discreet.ledger import verify as verified

    heads = [read_head(path.read_text(encoding="utf-8")) for path in head or ()]
    report = verified(_open(home).rows(), heads=heads)
    if not report.holds:
        raise Refusal("the ledger does not hold: " + "; ".join(report.faults))
    typer.echo(f"the ledger holds: {report.size} entries, root {report.root}")


@app.command()
def head(*, home: AtHome = HOME) -> None:
    """Print a signed head. Whoever keeps it notices if the ledger is rewritten or rolled back."""
    typer.echo(_head(home).text())


@app.command()
def export(file: Path, *, home: AtHome = HOME) -> None:
    """Write all entries to a file, one JSON object a line."""
    rows = _open(home).rows()
    lines = [json.dumps({"hash": stored, "entry": json.loads(body)}, ensure_ascii=False) for _, stored, body in rows]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    typer.echo(f"wrote {len(lines)} entries to {file}")


@app.command()
def prove(entry: int, *, home: AtHome = HOME) -> None:
    """Print the proof that an entry is in the ledger, with the head it is proved against."""
    from discreet.ledger import prove as proved

    hashes = [stored for _, stored, _ in _open(home).rows()]
    typer.echo(proved(hashes, entry, _head(home)).text())
