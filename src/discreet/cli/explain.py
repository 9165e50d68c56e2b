"""`discreet explain`: what a question would cost, free."""

from __future__ import annotations

import typer

from discreet.cli.home import HOME, AtHome, new_app
from discreet.cli.printing import AsFormat, Format, print_csv, print_json
from discreet.cli.query import Confidence, Delta, Epsilon, Error, Rho

app = new_app()


@app.command()
def explain(  # noqa: PLR0913  # the terms of a question
    sql: str,
    *,
    epsilon: Epsilon = None,
    rho: Rho = None,
    error: Error = None,
    delta: Delta = None,
    confidence: Confidence = "0.95",
    home: AtHome = HOME,
    form: AsFormat = Format.table,
) -> None:
    """Price, expected error and plan of a question, from public facts only. Spends nothing."""
    from discreet.curator import Curator
    from discreet.curator.explain import LATER, NONE, said

    found = Curator(home).explain(sql, epsilon=epsilon, rho=rho, error=error, delta=delta, confidence=confidence)
    if form is Format.table:
        typer.echo(str(found))
        return
    price = None if found.price is None else said(found.price)
    errors = {name: LATER if value is None else str(value) for name, value in found.error}
    errors |= dict.fromkeys(found.unbarred, NONE)
    notices = [*found.notices, *([found.notice] if found.notice else [])]
    if form is Format.json:
        plan = list(found.plan)
        print_json({"price": price, "error": errors, "plan": plan, "notices": notices, "bounding": found.bounding})
        return
    rows = [("price", "", price), *(("error", name, error) for name, error in errors.items())]
    rows += [("measure", "", line) for line in found.plan] + [("notice", "", line) for line in notices]
    rows += [("left out", "", found.bounding)] if found.bounding else []
    print_csv(["what", "column", "value"], rows)
