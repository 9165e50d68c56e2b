"""`discreet update`: new rows for a table."""

from __future__ import annotations

import typer

from discreet.cli.add import Strict, listener
from discreet.cli.home import HOME, AtHome, new_app

app = new_app()


@app.command()
def update(name: str, source: str, *, strict: Strict = False, home: AtHome = HOME) -> None:
    """Bring new rows for a table. Declarations stay, and so does what was spent."""
    from discreet.cli.printing import gauge
    from discreet.cli.source import rows_from
    from discreet.curator import catalogue
    from discreet.curator.custody import Custody
    from discreet.curator.declarations import stale

    with gauge(f"reading {source}") as progress:
        custody, known = Custody(home), catalogue.read(home)
        rows = rows_from(source, public=known.schema.table(name).public)
        table = custody.update(name, rows, progress=progress, unread=listener(strict=strict))
    typer.echo(f"updated {name}, version {table.version}")
    if words := stale(table.name, known.tables.values()):
        typer.echo(words, err=True)
