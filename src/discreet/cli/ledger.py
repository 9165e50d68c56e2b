"""`discreet ledger`: verify it, sign its head, export it; prove to outsiders what is in it and that it goes on."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.home import HOME, AtHome, NoHome, new_app
from discreet.errors import Refusal

if TYPE_CHECKING:
    from discreet.ledger import Head
    from discreet.ledger.verify import Pinned, Row

app = new_app()


def _rows(home: Path) -> list[Row]:
    from discreet.curator import catalogue
    from discreet.ledger import SqliteLedger

    catalogue.read(home)
    return SqliteLedger(home / "ledger.db", new=False).rows()


def _sound(home: Path) -> list[Row]:
    """The rows, if they hold: nothing is signed, proved or passed on that was not recomputed."""
    from discreet.ledger import verify as verified

    rows = _rows(home)
    report = verified(rows)
    if not report.holds:
        raise Refusal("the ledger does not hold: " + "; ".join(report.faults))
    return rows


def _head(rows: list[Row], home: Path) -> Head:
    from datetime import UTC, datetime

    from discreet.ledger import sign, signing_key

    hashes = [stored for _, stored, _ in rows]
    return sign(hashes, datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"), signing_key(home / "ledger.key"))


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise Refusal(f"there is no text file {str(file)!r}") from None


def _kept(file: Path) -> Head:
    from discreet.ledger import read_head

    return read_head(_text(file))


@app.command()
def verify(
    *,
    head: Annotated[
        list[Path] | None, typer.Option(metavar="FILE", help="A head that was kept. May be repeated.")
    ] = None,
    key: Annotated[str | None, typer.Option(metavar="HEX", help="The key of the heads; else the home's own.")] = None,
    home: AtHome = HOME,
) -> None:
    """Recompute every hash and every sum, and compare with heads that somebody kept."""
    from discreet.ledger import verify as verified

    heads = [_kept(file) for file in head or ()]
    report = verified(_rows(home), heads=heads, key=_own(home) if key is None else _hex(key))
    if not report.holds:
        raise Refusal("the ledger does not hold: " + "; ".join(report.faults))
    typer.echo(f"the ledger holds: {report.size} entries, root {report.root}")


@app.command()
def head(*, home: AtHome = HOME) -> None:
    """Print a signed head. Whoever keeps it notices if the ledger is rewritten or rolled back."""
    typer.echo(_head(_sound(home), home).text())


@app.command()
def export(file: Path, *, home: AtHome = HOME) -> None:
    """Write all entries to a file, one JSON object a line."""
    lines = [
        json.dumps({"hash": stored, "entry": json.loads(body)}, ensure_ascii=False) for _, stored, body in _sound(home)
    ]
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as written:
        written.writelines(f"{line}\n" for line in lines)
    typer.echo(f"wrote {len(lines)} entries to {file}")


@app.command()
def prove(
    entry: int,
    *,
    head: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A head that was kept: prove also that the ledger goes on from it."),
    ] = None,
    home: AtHome = HOME,
) -> None:
    """Print a receipt: an entry word for word, the proof that it is in the ledger, and the signed head."""
    from discreet.ledger.verify import receipt

    rows = _sound(home)
    typer.echo(receipt(rows, entry, _head(rows, home), None if head is None else _kept(head)).text())


@app.command()
def extends(
    head: Annotated[Path, typer.Argument(metavar="HEADFILE", help="A head that was kept.")], *, home: AtHome = HOME
) -> None:
    """Print the proof that the ledger as it is now begins with all that a kept head knew."""
    from discreet.ledger.verify import extend

    rows = _sound(home)
    typer.echo(extend(rows, _kept(head), _head(rows, home)).text())


@app.command()
def check(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What `prove` or `extends` printed.")],
    *,
    head: Annotated[Path | None, typer.Option(metavar="FILE", help="The head that you kept.")] = None,
    key: Annotated[str | None, typer.Option(metavar="HEX", help="The key that you kept, if you kept no head.")] = None,
    _home: NoHome = None,
) -> None:
    """Check a receipt or an extension without the home, against a head or a key that you had before.

    Prints what is shown: of a receipt the entry, of an extension the newer head, which may be kept in place of the old.
    """
    from discreet.ledger.verify import Extension, read_proof

    held, proof = pinned(head, key), read_proof(_text(file))
    if faults := proof.faults(held):
        raise Refusal("the proof does not hold: " + "; ".join(faults))
    if isinstance(proof, Extension):
        typer.echo(proof.head.text())
        typer.echo(f"holds: these {proof.head.size} entries begin with the {proof.size} that you knew", err=True)
        return
    typer.echo(proof.entry.body.decode())
    known = "" if held.head is None else f", which goes on from the {held.head.size} that you knew"
    typer.echo(f"holds: entry {proof.entry.number} is in a ledger of {proof.head.size} entries{known}", err=True)


def pinned(head: Path | None, key: str | None) -> Pinned:
    """What a proof is held against. It must not come from the proof: anyone can make a key that fits their own."""
    from discreet.ledger.verify import Pinned, pin

    if head is not None and key is None:
        return pin(_kept(head))
    if key is None or head is not None:
        raise Refusal(
            "a proof is checked against one thing that you kept: a head or a key",
            hint="give the head with --head FILE, or the key with --key HEX",
        )
    return Pinned(_hex(key))


def _hex(key: str) -> str:
    from discreet.ledger.head import is_hex

    if not is_hex(key, 32):
        raise Refusal(f"a key is 64 hexadecimal digits, got {key!r}", hint="it is the `key` of a head")
    return key


def _own(home: Path) -> str | None:
    """The key that this home signs with, if it ever did."""
    from discreet.ledger import signing_key
    from discreet.ledger.head import public_part

    file = home / "ledger.key"
    return public_part(signing_key(file)) if file.exists() else None
