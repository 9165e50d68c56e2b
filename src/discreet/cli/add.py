"""`discreet add`: take a table in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.home import HOME, AtHome, new_app
from discreet.errors import Refusal

app = new_app()
Strict = Annotated[bool, typer.Option("--strict", help="Refuse rows with cells that cannot be read as declared.")]
Many = list[str] | None


def _option(metavar: str, text: str) -> typer.models.OptionInfo:
    option: typer.models.OptionInfo = typer.Option(metavar=metavar, help=text)
    return option


@app.command()
def add(  # noqa: PLR0913  # each option is one declaration
    name: str,
    source: Annotated[str, typer.Argument(help="A .parquet or .csv file, FILE.duckdb::TABLE, or a release.")],
    *,
    unit: Annotated[str | None, _option("COLUMN|row", "Whose rows they are: a column, or each row its own.")] = None,
    link: Annotated[Many, _option("COL=TABLE.COL", "Instead of a unit: where a row finds its owner.")] = None,
    relation: Annotated[str, _option("add-remove|replace", "Neighbours; replace makes the number of units public.")] = (
        "add-remove"
    ),
    epsilon: Annotated[str | None, _option("E", "The whole budget of the population.")] = None,
    delta: Annotated[str | None, _option("D", "Its δ, used to name groups that were not declared.")] = None,
    rho: Annotated[str | None, _option("R", "The budget in zCDP instead; better for many questions.")] = None,
    population: Annotated[str | None, _option("P", "Who the rows speak about; by default the unit's name.")] = None,
    max_rows: Annotated[int | None, _option("N", "Of a person with more rows, N of them count.")] = None,
    max_groups: Annotated[int | None, _option("N", "The most groups that one unit is in.")] = None,
    bounds: Annotated[Many, _option("COL=LO:HI", "Between which numbers or dates a column lies.")] = None,
    keys: Annotated[Many, _option("COL=a,b,c|@FILE", "The values that a column is grouped by.")] = None,
    types: Annotated[Many, _option("COL=TYPE", "The type of a column.")] = None,
    step: Annotated[Many, _option("COL=STEP", "The grid on which a column is summed.")] = None,
    describe: Annotated[Many, _option("COL=TEXT", "What a column means.")] = None,
    public: Annotated[bool, typer.Option("--public", help="Nobody's data: free to ask.")] = False,
    require_price: Annotated[
        bool, typer.Option("--require-price", help="Every question about the population must name a price.")
    ] = False,
    strict: Strict = False,
    home: AtHome = HOME,
) -> None:
    """Take a table in, with its unit, caps, bounds and keys. The first table of a population sets its budget."""
    from discreet.cli.printing import gauge
    from discreet.cli.source import rows_from
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
        bounds={column: _interval(column, text) for column, text in pairs(bounds, "--bounds")},
        keys={column: _listed(text) for column, text in pairs(keys, "--keys")},
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


def pairs(texts: Sequence[str] | None, option: str) -> list[tuple[str, str]]:
    """What is said about each column, as COLUMN=VALUE."""
    found = []
    for text in texts or ():
        column, equals, value = text.partition("=")
        if not equals or not column:
            raise Refusal(f"{option} takes COLUMN=VALUE, got {text!r}")
        found.append((column, value))
    return found


def _interval(column: str, text: str) -> tuple[str, str]:
    """Two ends with a colon between them. A time of day has colons too, as many on one side as on the other."""
    parts = text.split(":")
    half = len(parts) // 2
    if len(parts) < 2 or len(parts) % 2:
        raise Refusal(f"--bounds takes {column}=LOW:HIGH, got {text!r}")
    return ":".join(parts[:half]), ":".join(parts[half:])


def _listed(text: str) -> list[str]:
    if not text.startswith("@"):
        return text.split(",")
    path = Path(text[1:])
    try:
        return [line for line in path.read_text(encoding="utf-8").splitlines() if line]
    except (OSError, UnicodeDecodeError):
        raise Refusal(f"there is no text file {str(path)!r}") from None
