"""`discreet ledger`: verify it, sign its head, prove what is in it; have others keep its head; adopt a copy."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.options import HOME, AtHome, NoHome, new_app, option, text_of
from discreet.cli.printing import AsFormat, Format, print_rows
from discreet.errors import Refusal

if TYPE_CHECKING:
    from discreet.ledger import Head, SqliteLedger
    from discreet.ledger.read_snapshot import View
    from discreet.ledger.verify import Pinned, Report

app, witness = new_app(), new_app()
app.add_typer(witness, name="witness", help="Who keeps the newest head of the ledger outside the home.")


def _raw(home: Path) -> SqliteLedger:
    """The ledger as it lies there, whoever may answer from it."""
    from discreet.curator import catalogue
    from discreet.ledger import SqliteLedger

    catalogue.read(home)
    return SqliteLedger(home / "ledger.db", new=False)


def _verified(rows: Sequence[tuple[int, str, bytes]], heads: Sequence[Head] = (), key: str | None = None) -> Report:
    """The report of a ledger that holds; one that does not is refused."""
    from discreet.ledger import verify as recomputed

    report = recomputed(rows, heads=heads, key=key)
    if not report.holds:
        raise Refusal(f"the ledger does not hold: {'; '.join(report.faults)}")
    return report


@contextmanager
def _known(home: Path) -> Iterator[tuple[View, Head]]:
    """The ledger and its head, signed, if it goes on from all that a witness knows: else there would be two of it."""
    from discreet.ledger import signing_key
    from discreet.ledger.signed_head import now

    ledger = _raw(home)
    _refuse_refuted(home)
    with ledger.looked_at() as view:
        yield view, view.head(now(), signing_key(home / "ledger.key"))


def _refuse_refuted(home: Path) -> None:
    """Refuse a ledger that does not go on from what a witness knows; say what else there is to say of witnesses."""
    from discreet.ledger.home_ledger import standings

    known = standings(home)
    for each in known:
        if each.refuted:
            raise Refusal(f"the ledger does not hold: {each.trouble}")
    for each in known:
        if each.trouble:
            typer.echo(f"note: {each.trouble}", err=True)


def _kept(file: Path) -> Head:
    from discreet.ledger import read_head

    return read_head(text_of(file))


@app.command()
def verify(
    *,
    head: Annotated[list[Path] | None, option("FILE", "A head that was kept. May be repeated.")] = None,
    key: Annotated[str | None, option("HEX", "The key of the heads; else the home's own.")] = None,
    home: AtHome = HOME,
) -> None:
    """Recompute every hash and every sum, and compare with heads that somebody kept."""
    heads = [_kept(file) for file in head or ()]
    report = _verified(_raw(home).rows(), heads, _own(home) if key is None else _hex(key))
    _refuse_refuted(home)
    typer.echo(f"the ledger holds: {report.size} entries, root {report.root}")


@app.command()
def head(*, home: AtHome = HOME) -> None:
    """Print a signed head. Whoever keeps it notices if the ledger is rewritten or rolled back."""
    with _known(home) as (_, signed):
        typer.echo(signed.text())


@app.command()
def export(file: Path, *, home: AtHome = HOME) -> None:
    """Write all entries to a file, one JSON object a line."""
    rows = _raw(home).rows()
    _verified(rows)
    lines = [json.dumps({"hash": stored, "entry": json.loads(body)}, ensure_ascii=False) for _, stored, body in rows]
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as written:
        written.writelines(f"{line}\n" for line in lines)
    typer.echo(f"wrote {len(lines)} entries to {file}")


@app.command()
def prove(
    entry: int,
    *,
    head: Annotated[
        Path | None,
        option("FILE", "A head that was kept: prove also that the ledger goes on from it."),
    ] = None,
    home: AtHome = HOME,
) -> None:
    """Print a receipt: an entry word for word, the proof that it is in the ledger, and the signed head."""
    with _known(home) as (view, signed):
        typer.echo(view.receipt(entry, signed, None if head is None else _kept(head)).text())


@app.command()
def extends(
    head: Annotated[Path, typer.Argument(metavar="HEADFILE", help="A head that was kept.")], *, home: AtHome = HOME
) -> None:
    """Print the proof that the ledger as it is now begins with all that a kept head knew."""
    with _known(home) as (view, signed):
        typer.echo(view.extension(_kept(head), signed).text())


@app.command()
def adopt(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What the copy is to be called; the ledger notes it.")],
    *,
    head: Annotated[str, option("HASH", "The root of its newest head: see discreet ledger head.")],
    home: AtHome = HOME,
) -> None:
    """Make a copied or moved home the one that answers; where its head is kept, no other copy answers any more."""
    from discreet.ledger import adopt as adopted

    entry = adopted(home, name, head)
    typer.echo(f"{home} answers from now on, as {name}; entry {entry.number} of its ledger says so")


@app.command()
def upgrade(*, home: AtHome = HOME) -> None:
    """Read all entries of the ledger, and make its index and its checkpoint anew from them."""
    ledger = _raw(home)
    _verified(ledger.rows())
    typer.echo(f"added up {ledger.upgrade()} entries")


@witness.command("list")
def list_(*, home: AtHome = HOME, form: AsFormat = Format.table) -> None:
    """Where heads of this ledger are kept, how far each knows it, and whether the ledger goes on from there."""
    from discreet.ledger.home_ledger import standings

    _raw(home)
    rows = [
        [each.where, "" if each.head is None else str(each.head.size), each.trouble or "the ledger goes on from it"]
        for each in standings(home)
    ]
    print_rows(form, ["witness", "entries", "how it is"], rows)


@witness.command()
def add(
    where: Annotated[str, typer.Argument(metavar="WHERE", help="A folder, or the address of a discreet serve.")],
    *,
    token: Annotated[
        str, typer.Option(envvar="DISCREET_TOKEN", metavar="TOKEN", help="By which a discreet serve lets us in.")
    ] = "",
    home: AtHome = HOME,
) -> None:
    """Have the newest head kept there too. While it cannot be reached, nothing is paid."""
    from discreet.ledger.home_ledger import add_witness

    kept = add_witness(home, where, token)
    typer.echo(f"{where} keeps the head of this ledger: {kept.size} entries")


@witness.command()
def remove(where: Annotated[str, typer.Argument(metavar="WHERE")], *, home: AtHome = HOME) -> None:
    """Keep no more heads there."""
    from discreet.ledger.home_ledger import remove_witness

    remove_witness(home, where)
    typer.echo(f"{where} is told nothing any more; what it knows, it keeps")


@app.command()
def check(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What `prove` or `extends` printed.")],
    *,
    head: Annotated[Path | None, option("FILE", "The head that you kept.")] = None,
    key: Annotated[str | None, option("HEX", "The key that you kept, if you kept no head.")] = None,
    _home: NoHome = None,
) -> None:
    """Check a receipt or an extension without the home, against a head or a key that you had before.

    Prints what is shown: of a receipt the entry, of an extension the newer head, which may be kept in place of the old.
    """
    from discreet.ledger.verify import Extension, read_proof

    held, proof = pinned(head, key), read_proof(text_of(file))
    if faults := proof.faults(held):
        raise Refusal(f"the proof does not hold: {'; '.join(faults)}")
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
        given = "neither" if head is None else f"both, {head} and {key}"
        raise Refusal(
            f"a proof is checked against one thing that you kept: a head or a key, got {given}",
            hint="give the head with --head FILE, or the key with --key HEX",
        )
    return Pinned(_hex(key))


def _hex(key: str) -> str:
    from discreet.ledger.signed_head import is_hex

    if not is_hex(key, 32):
        raise Refusal(f"a key is 64 hexadecimal digits, got {key!r}", hint="it is the `key` of a head")
    return key


def _own(home: Path) -> str | None:
    """The key that this home signs with, if it ever did."""
    from discreet.ledger import signing_key
    from discreet.ledger.signed_head import public_part

    file = home / "ledger.key"
    return public_part(signing_key(file)) if file.exists() else None
