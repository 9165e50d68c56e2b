"""Publishing from the command line: how a release is proposed, rehearsed and paid for, and what is said about that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import typer

from discreet.cli.printing import Format, busy, gauge, print_csv, print_json
from discreet.curator import Curator
from discreet.curator.explain import said
from discreet.desk import HOME, Desk, ReleaseOrder
from discreet.desk.practice_home import found_practice
from discreet.desk.release_store import Offered, called, offered
from discreet.errors import Refusal
from discreet.ledger.entry_kinds import BudgetLoss
from discreet.release.certificate import Certificate
from discreet.release.folder import CERTIFICATE, refuse_taken

MADE_UP = "made-up rows: "
_LONGEST = 120  # letters of a name


def propose(home: Path, order: ReleaseOrder, form: Format) -> None:
    """Say what a release would be and cost."""
    quote = _offer(Desk(home), order)
    if form is Format.table:
        typer.echo(str(quote))
    else:
        entry = {"entry": quote.entry}
        _print({"population": quote.population, "price": said(quote.price), **_exactness(quote), **entry}, quote, form)


def publish(home: Path, order: ReleaseOrder, out: Path, form: Format) -> None:
    """Pay for a release, unless it was paid for before, and write its folder."""
    refuse_taken(out)  # before it is paid
    desk = Desk(home)
    offer = _offer(desk, order)
    with gauge("counting") as heard:
        listed = desk.published(HOME, order, heard)
    cost = None if listed.entry == offer.entry else listed.loss
    try:
        with busy("writing"):
            certificate = desk.certified(HOME, listed.entry, out)
    except (Refusal, OSError):  # it is paid, so this is no refusal that charged nothing
        again = f"it is paid for: discreet release show {listed.entry} --out DIR writes it, free"
        typer.echo(f"fault: the release could not be written to {str(out)!r}\nhint: {again}", err=True)
        raise typer.Exit(1) from None
    left = desk.budgets(HOME)[listed.population].left
    _report(replace(offer, left=left, entry=listed.entry), cost, (listed.name, out, certificate), form)
    if note := called(order, listed):
        typer.echo(f"note: {note}", err=True)
    typer.echo(certificate.bounding, err=True)


def rehearse(home: Path, order: ReleaseOrder, out: Path, form: Format) -> None:
    """Write the folder that the release of made-up rows is, which says so. The ledger that vouches for it is lost."""
    refuse_taken(out)
    real = Curator(home)
    offer = _offer(Desk(home), order)  # what would be refused is refused here as well
    labelled = replace(order, name=f"{MADE_UP}{order.name}"[:_LONGEST])
    with busy("counting made-up rows"), TemporaryDirectory(prefix="discreet-practice-") as aside:
        found_practice(Path(aside) / "home", real.declared(), real.public_files())
        desk = Desk(Path(aside) / "home")
        certificate = desk.certified(HOME, desk.published(HOME, labelled).entry, out)
    _report(replace(offer, entry=None), None, (labelled.name, out, certificate), form)
    typer.echo("practice: every row was made up, nothing was paid", err=True)


def _offer(desk: Desk, order: ReleaseOrder) -> Offered:
    with busy("pricing"):
        offer = desk.offered(HOME, order)
        return offered(offer, desk.budgets(HOME)[offer.run.outline.population.name].left)


def _report(offer: Offered, cost: BudgetLoss | None, made: tuple[str, Path, Certificate], form: Format) -> None:
    name, out, certificate = made
    files = [CERTIFICATE, *sorted(certificate.files)]
    if form is not Format.table:
        known = {"entry": offer.entry, "name": name, "cost": None if cost is None else said(cost)}
        _print({**known, **_exactness(offer), "folder": str(out), "files": files}, offer, form)
        return
    entry = "" if offer.entry is None else f", entry {offer.entry} of the ledger"
    price = "free" if cost is None else said(cost)
    typer.echo(f"{name}{entry}\ncost {price}; left {said(offer.left)}")
    typer.echo(f"{offer.preview.cells} {offer.preview.unit}; {offer.preview.about} {_reported(offer)}")
    for line in offer.preview.lines:
        typer.echo(line)
    typer.echo(f"in {out}: {', '.join(files)}")


def _exactness(offer: Offered) -> dict[str, object]:
    within = {"of": offer.preview.about, "within": None if offer.error is None else float(offer.error)}
    return {"left": said(offer.left), "error": within, **offer.facts}


def _reported(offer: Offered) -> str:
    """How exact it is, once it is paid."""
    return offer.preview.later if offer.error is None else offer.exactness


def _print(known: Mapping[str, object], offer: Offered, form: Format) -> None:
    if form is Format.json:
        print_json(known)
        return
    error = None if offer.error is None else float(offer.error)
    flat = {name: _flat(value) for name, value in {**known, "error": error}.items()}
    print_csv(["what", "value"], list(flat.items()))


def _flat(value: object) -> object:
    """A value in one cell of CSV: parts of a list with spaces between them, of a list in it with pluses."""
    if isinstance(value, Mapping):
        return " ".join(f"{name}={part}" for name, part in value.items())
    if isinstance(value, list):
        return " ".join("+".join(map(str, part)) if isinstance(part, list) else str(part) for part in value)
    return value
