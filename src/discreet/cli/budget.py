"""`discreet budget`, `lift` and `retire`: the budgets of populations, and whether they can be asked about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.options import HOME, AtHome, new_app
from discreet.cli.printing import AsFormat, Format, print_rows

if TYPE_CHECKING:
    from discreet.ledger import Account

app = new_app()


@app.command()
def budget(
    population: Annotated[str | None, typer.Argument(help="One population.")] = None,
    *,
    require_price: Annotated[
        bool | None,
        typer.Option(
            "--require-price/--no-require-price", help="Every question about it must name a price, or need not."
        ),
    ] = None,
    home: AtHome = HOME,
    form: AsFormat = Format.table,
) -> None:
    """What each population's budget was, what is spent of it, what is left, and whether it is on hold or retired."""
    from discreet.curator import Curator
    from discreet.curator.custody import Custody
    from discreet.errors import Refusal
    from discreet.ledger import SqliteLedger

    if require_price is not None:
        if population is None:
            raise Refusal("name the population that this is for", hint="discreet budget POPULATION --require-price")
        Custody(home).require_price(population, required=require_price)
    curator = Curator(home)  # refuses a home whose declarations contradict its ledger
    books = SqliteLedger(home / "ledger.db", new=False).books()
    asked = {each.name for each in curator.declared().populations.values() if each.require_price}
    rows = [
        _row(name, books.account(name), price_required=name in asked)
        for name in ([population] if population else curator.populations())
    ]
    print_rows(form, ["population", "total", "spent", "left", "state"], rows)


@app.command()
def lift(population: str, *, home: AtHome = HOME) -> None:
    """Open a population again that went on hold because rows made an answer fail. Look into the cause first."""
    from discreet.curator.custody import Custody

    Custody(home).lift(population)
    typer.echo(f"lifted the hold of {population}")


@app.command()
def retire(population: str, *, home: AtHome = HOME) -> None:
    """Close a population's budget for good. Answers given before stay free to read."""
    from discreet.curator.custody import Custody

    Custody(home).retire(population)
    typer.echo(f"retired {population}")


def _row(name: str, account: Account, *, price_required: bool) -> list[str]:
    from discreet.curator.explain import said

    state = "retired" if account.retired else "on hold" if account.held else "open"
    state += "; questions name a price" if price_required else ""
    budget = account.budget
    return [name, said(budget.total), said(budget.spent), said(budget.left), state]
