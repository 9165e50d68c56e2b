"""`discreet tables`, `add`, `update` and `remove`: what may be asked about, and where its rows come from."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.options import HOME, AtHome, Many, new_app, option, pairs, text_of
from discreet.cli.printing import AsFormat, Format, gauge, print_rows
from discreet.errors import Refusal

app = new_app()
Strict = Annotated[bool, typer.Option("--strict", help="Refuse rows with cells that cannot be read as declared.")]
_CERTIFICATE = "certificate.json"  # as discreet.release.folder has it, which is imported for releases alone


@app.command()
def tables(
    name: Annotated[str | None, typer.Argument(help="One table, with its columns.")] = None,
    *,
    home: AtHome = HOME,
    form: AsFormat = Format.table,
) -> None:
    """List the tables, or the columns of one. Everything shown was declared; nothing was counted."""
    from discreet.curator import catalogue
    from discreet.declared.column import ends

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


@app.command()
def add(  # noqa: PLR0913  # each option is one declaration
    name: str,
    source: Annotated[str, typer.Argument(help="A .parquet or .csv file, FILE.duckdb::TABLE, or a release.")],
    *,
    unit: Annotated[str | None, option("COLUMN|row", "Whose rows they are: a column, or each row its own.")] = None,
    link: Annotated[Many, option("COL=TABLE.COL", "Instead of a unit: where a row finds its owner.")] = None,
    relation: Annotated[str, option("add-remove|replace", "Neighbours; replace makes the number of units public.")] = (
        "add-remove"
    ),
    epsilon: Annotated[str | None, option("E", "The whole budget of the population.")] = None,
    delta: Annotated[str | None, option("D", "Its δ, used to name groups that were not declared.")] = None,
    rho: Annotated[str | None, option("R", "The budget in zCDP instead; better for many questions.")] = None,
    population: Annotated[str | None, option("P", "Who the rows speak about; by default the unit's name.")] = None,
    max_rows: Annotated[int | None, option("N", "Of a person with more rows, N of them count.")] = None,
    max_groups: Annotated[int | None, option("N", "The most groups that one unit is in.")] = None,
    bounds: Annotated[Many, option("COL=LO:HI", "Between which numbers or dates a column lies.")] = None,
    keys: Annotated[Many, option("COL=a,b,c|@FILE", "The values that a column is grouped by.")] = None,
    types: Annotated[Many, option("COL=TYPE", "The type of a column.")] = None,
    step: Annotated[Many, option("COL=STEP", "The grid on which a column is summed.")] = None,
    describe: Annotated[Many, option("COL=TEXT", "What a column means.")] = None,
    public: Annotated[bool, typer.Option("--public", help="Nobody's data: free to ask.")] = False,
    require_price: Annotated[
        bool, typer.Option("--require-price", help="Every question about the population must name a price.")
    ] = False,
    strict: Strict = False,
    home: AtHome = HOME,
) -> None:
    """Take a table in, with its unit, caps, bounds and keys. The first table of a population sets its budget."""
    from discreet.curator.custody import Custody, Declared

    said = Declared(
        unit=unit,
        link=dict(pairs(link, "--link")),
        relation=relation,
        population=population,
        epsilon=epsilon,
        rho=rho,
        delta=delta,
        max_rows=max_rows,
        max_groups=max_groups,
        bounds={column: interval_of(column, text) for column, text in pairs(bounds, "--bounds")},
        keys={column: listed(text) for column, text in pairs(keys, "--keys")},
        types=dict(pairs(types, "--types")),
        steps=dict(pairs(step, "--step")),
        describe=dict(pairs(describe, "--describe")),
        public=public,
        require_price=require_price,
    )
    with gauge(f"reading {source}") as progress:
        table = Custody(home).add(
            name, rows_from(source, public=public), said, progress=progress, unread=listener(strict=strict)
        )
    typer.echo(f"added {name}, version {table.version}")
    if table.population is not None:
        shared = "each row is its own unit" if table.unit is None else f"unit {table.unit}"
        typer.echo(f"{shared}; budget of population {table.population}", err=True)
        if table.max_rows is None and table.unit is not None:
            typer.echo("without --max-rows only COUNT(DISTINCT unit) is answered", err=True)


@app.command()
def update(name: str, source: str, *, strict: Strict = False, home: AtHome = HOME) -> None:
    """Bring new rows for a table. Declarations stay, and so does what was spent."""
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


@app.command()
def remove(name: str, *, home: AtHome = HOME) -> None:
    """Forget a table's rows. What was spent on its population stays spent."""
    from discreet.curator.custody import Custody

    Custody(home).remove(name)
    typer.echo(f"removed {name}")


def listener(*, strict: bool) -> Callable[[tuple[str, ...]], None]:
    """Says which columns cannot all be read; or refuses the rows. On this terminal alone: it tells of the rows."""

    def heard(columns: tuple[str, ...]) -> None:
        if strict:
            raise Refusal(
                f"--strict: some cells cannot be read as declared, in the columns {', '.join(columns)}",
                hint="nothing was stored; declare other --types, mend the cells, or leave out --strict",
            )
        typer.echo(
            f"some cells cannot be read as declared and become NULL, or are read only in part, in the columns: "
            f"{', '.join(columns)}",
            err=True,
        )

    return heard


def interval_of(column: str, text: str) -> tuple[str, str]:
    """Two ends with a colon between them. A time of day has colons too, as many on one side as on the other."""
    parts = text.split(":")
    half = len(parts) // 2
    if len(parts) < 2 or len(parts) % 2:
        raise Refusal(f"--bounds takes {column}=LOW:HIGH, got {text!r}")
    return ":".join(parts[:half]), ":".join(parts[half:])


def listed(text: str) -> list[str]:
    """Values with commas between them, or one a line in a file."""
    if not text.startswith("@"):
        return text.split(",")
    return [line for line in text_of(Path(text[1:])).splitlines() if line]


def rows_from(source: str, *, public: bool) -> str:
    """The file of a source. What a release holds is nobody's, and is what its publisher's ledger knows."""
    path = Path(source)
    folder, table = (path, None) if path.is_dir() else (path.parent, path.name)
    if not path.exists() or not (folder / _CERTIFICATE).is_file():
        return source
    from discreet.release.folder import checked, read

    if not public:
        raise Refusal(
            f"{source!r} is a release: its rows are cells, and nobody's", hint="add it with --public and without a unit"
        )
    checked(folder)
    tables = sorted(name for name in read(folder)[1].files if name.endswith(".parquet"))
    if table is None and len(tables) > 1:
        named = ", ".join(str(folder / name) for name in tables)
        raise Refusal(f"the release in {source!r} has {len(tables)} tables", hint=f"name one of them: {named}")
    if table is not None and table not in tables:
        raise Refusal(f"{table!r} is no table of the release it lies in", hint=f"there are {tables}")
    return str(folder / (table or tables[0]))
