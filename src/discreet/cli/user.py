"""`discreet user`: who may ask."""

from __future__ import annotations

from typing import Annotated

import typer

from discreet.cli.options import HOME, AtHome, new_app, option
from discreet.cli.printing import AsFormat, Format, print_rows

app = new_app()


@app.command()
def add(  # noqa: PLR0913  # what somebody may do
    name: str,
    *,
    role: Annotated[str, option("analyst|custodian", "What they may do.")] = "analyst",
    allowance: Annotated[str | None, option("E", "The most they may spend of each population's budget.")] = None,
    grant: Annotated[list[str] | None, option("TABLE", "A table they may ask about; else all.")] = None,
    require_price: Annotated[
        bool, typer.Option("--require-price", help="Each of their questions must name a price.")
    ] = False,
    home: AtHome = HOME,
) -> None:
    """Let a person in. Their token stands alone on the last line and is kept nowhere."""
    from discreet.curator.custody import Custody

    token = Custody(home).let_in(name, role, allowance=allowance, tables=grant, require_price=require_price)
    typer.echo(f"{name} may ask as {role}; this token is shown once", err=True)
    typer.echo(token)


@app.command("list")
def list_(*, home: AtHome = HOME, form: AsFormat = Format.table) -> None:
    """Who may ask, about which tables, and how much they may spend."""
    from discreet.curator.curator import Curator
    from discreet.curator.explain import said

    rows = [
        [
            g.principal,
            g.role,
            "all" if g.tables is None else ",".join(g.tables),
            "" if g.allowance is None else said(g.allowance),
            "required" if g.require_price else "",
        ]
        for g in Curator(home).grants()
    ]
    print_rows(form, ["user", "role", "tables", "allowance", "price"], rows)


@app.command()
def revoke(name: str, *, home: AtHome = HOME) -> None:
    """Take a person's access away."""
    from discreet.curator.custody import Custody

    Custody(home).shut_out(name)
    typer.echo(f"{name} may not ask any more")
