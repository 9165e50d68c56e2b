"""`discreet tables`: what may be asked about."""

from __future__ import annotations

from typing import Annotated

import typer

from discreet.cli.home import HOME, AtHome, new_app
from discreet.cli.printing import AsFormat, Format, print_rows

app = new_app()


@app.command()
def tables(
    name: Annotated[str | None, typer.Argument(help="One table, with its columns.")] = None,
    *,
    home: AtHome = HOME,
    form: AsFormat = Format.table,
) -> None:
    """List the tables, or the columns of one. Everything shown was declared; nothing was counted."""
    from discreet.curator import catalogue
    from discreet.sql.dates import ends

    known = catalogue.read(home)
    if name is None:
        head = ["table", "population", "unit", "max_rows", "max_groups"]
        rows = [
            [
                t.name,
                t.population or "(public)",
                "" if t.public else t.unit or "row",
                t.max_rows,
                "" if t.public else t.max_groups,
            ]
            for t in known.tables.values()
        ]
        print_rows(form, head, rows)
        return
    head = ["column", "type", "bounds", "step", "keys", "description"]
    columns = [
        [
            c.name,
            c.type.value,
            ":".join(ends(c) or ()),
            c.step,
            "" if c.keys is None else ",".join(map(str, c.keys)),
            c.description,
        ]
        for c in known.schema.table(name).columns
    ]
    print_rows(form, head, columns)
