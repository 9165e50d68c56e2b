"""`discreet release`: publish from a home, find what was published, and check or read it without a home."""

from __future__ import annotations

import csv
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.options import HOME, AtHome, NoHome, new_app, pairs
from discreet.cli.printing import AsFormat, Format, busy, print_csv, print_json, print_rows
from discreet.errors import Refusal

if TYPE_CHECKING:
    from discreet.desk import Listed
    from discreet.release import Reading, Release

app = new_app()

Source = Annotated[str, typer.Argument(metavar="TABLE", help="A table, or a SELECT of rows in quotes.")]
Columns = Annotated[str | None, typer.Option(metavar="A,B", help="What to count by.")]
Epsilon = Annotated[str | None, typer.Option(metavar="E", help="The price.")]
Rho = Annotated[str | None, typer.Option(metavar="R", help="The price, in zCDP.")]
Delta = Annotated[str | None, typer.Option(metavar="D", help="Beside epsilon, for marginals with Gaussian noise.")]
Method = Annotated[str | None, typer.Option(metavar="M", help="How; by default what suits.")]
Bins = Annotated[
    list[str] | None,
    typer.Option(metavar="COL=BINS", help="20, 0:100:5, 0,18,65, private or private:20. May be repeated."),
]
Ways = Annotated[int | None, typer.Option(metavar="N", help="All tables of so many columns; else of two.")]
Tables = Annotated[str | None, typer.Option(metavar="A+B,B+C", help="These tables instead.")]
MaxRows = Annotated[int | None, typer.Option(metavar="N", help="Rows of one unit that count, instead of as declared.")]
Outside = Annotated[
    str | None,
    typer.Option(metavar="other|leave-out", help="Rows in no cell of a column: in one of their own, or in no table."),
]
Name = Annotated[str, typer.Option(metavar="TEXT", help="What the release is called.")]
Out = Annotated[Path | None, typer.Option(metavar="DIR", help="A new folder to write it to.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say price, cells and error; pay and write nothing.")]
Practice = Annotated[bool, typer.Option("--practice", help="The same folder from made-up rows, free.")]
Folder = Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a release.")]
_OF_TABLES = ("ways", "tables", "outside")  # options that marginals alone have


def _published(kind: str, line: str, *less: str) -> None:
    """A command that publishes, with all options but these."""

    def publish(  # noqa: PLR0913  # the parts of a wish
        source: Source,
        *,
        columns: Columns = None,
        epsilon: Epsilon = None,
        rho: Rho = None,
        delta: Delta = None,
        method: Method = None,
        bins: Bins = None,
        ways: Ways = None,
        tables: Tables = None,
        max_rows: MaxRows = None,
        outside: Outside = None,
        name: Name = "",
        out: Out = None,
        dry_run: DryRun = False,
        practice: Practice = False,
        home: AtHome = HOME,
        form: AsFormat = Format.table,
    ) -> None:
        prices = {"epsilon": epsilon, "rho": rho, "delta": delta}
        wish = _wish(kind, columns, bins, **prices, method=method, ways=ways, max_rows=max_rows, outside=outside)
        if tables is not None:
            wish["tables"] = [table.split("+") for table in tables.split(",")]
        elif columns is None:
            wish["columns"] = _countable(home, source)
        _publish(home, source, wish, name, _How(out, form, dry_run=dry_run, practice=practice))

    known = signature(publish, eval_str=True)
    parts = [part for part in known.parameters.values() if part.name not in less]
    publish.__signature__ = known.replace(parameters=parts)  # type: ignore[attr-defined]  # what typer looks at
    app.command(kind, help=line)(publish)


_published("histogram", "Publish the counts of one or two columns, to be read cell by cell.", *_OF_TABLES)
_published(
    "ranges", "Publish the counts of one or two columns, to be read in ranges, shares and quantiles.", *_OF_TABLES
)
_published(
    "marginals",
    "Publish contingency tables that agree with each other; without columns, of all that have keys or bounds.",
)


@app.command("list")
def list_(*, home: AtHome = HOME, form: AsFormat = Format.table) -> None:
    """What was published, the latest first."""
    from discreet.curator.explain import said
    from discreet.desk import HOME as OWN
    from discreet.desk import Desk

    found = Desk(home).releases(OWN)
    rows = [[each.entry, each.name, each.time, each.principal, each.population, said(each.loss)] for each in found]
    print_rows(form, ["entry", "name", "time", "principal", "population", "cost"], rows, right=["entry"])


@app.command()
def show(
    entry: Annotated[int, typer.Argument(metavar="ENTRY", help="The entry of the ledger that holds it.")],
    *,
    out: Out = None,
    home: AtHome = HOME,
    form: AsFormat = Format.table,
) -> None:
    """One release, free: its facts and cells, or its folder once more."""
    from discreet.curator.explain import said
    from discreet.desk import HOME as OWN
    from discreet.desk import Desk
    from discreet.release.folder import refuse_taken

    desk = Desk(home)
    with busy("reading"):
        release = desk.release(OWN, entry)
    listed = next(each for each in desk.releases(OWN) if each.entry == entry)
    if out is not None:
        refuse_taken(out)
        with busy("writing"):
            desk.certified(OWN, entry, out)
    if form is Format.table:
        typer.echo(f"{listed.name}, published {listed.time} for {said(listed.loss)} of {listed.population}\n")
        typer.echo(str(release))
    else:
        _print_cells(release, listed, form)
    if out is not None:
        typer.echo(f"written to {out}", err=True)


@app.command()
def verify(
    folder: Folder,
    *,
    head: Annotated[Path | None, typer.Option(metavar="FILE", help="A head of the ledger that you kept.")] = None,
    key: Annotated[str | None, typer.Option(metavar="HEX", help="The key that you kept, if you kept no head.")] = None,
    _home: NoHome = None,
    form: AsFormat = Format.table,
) -> None:
    """Check the folder of a release without the home that published it. Exit code 2 if something does not hold."""
    from discreet.cli.ledger import pinned
    from discreet.exact import shown
    from discreet.release.folder import checked, read

    kept = None if head is None and key is None else pinned(head, key)
    with busy("checking"):
        found = checked(folder, kept)
    if form is Format.table:
        typer.echo("\n".join([f"the release {shown(read(folder)[1].title)} holds:", *(f"  {line}" for line in found)]))
    else:
        print_rows(form, ["finding"], [[line] for line in found])


@app.command()
def ask(
    folder: Folder,
    where: Annotated[
        list[str] | None, typer.Argument(metavar="[COL=FROM:TO|COL=a,b]...", help="Which records; else all.")
    ] = None,
    *,
    quantile: Annotated[
        list[str] | None, typer.Option(metavar="SHARE", help="The value below which this share lies. May be repeated.")
    ] = None,
    _home: NoHome = None,
    form: AsFormat = Format.table,
) -> None:
    """How many records, or which value, by the folder of a release: free, with an error bar where one covers."""
    from discreet.release.folder import read

    with busy("reading"):
        release, _ = read(folder)
    if where and quantile:
        raise Refusal("a release is asked for a count or for quantiles, not both at once")
    if quantile:
        found = [(f"quantile {level}", release.quantile(level)) for level in quantile]
    else:
        asked = {column: _asked(release, column, text) for column, text in pairs(where, "a count")}
        found = [(" ".join(where or ["all"]), release.range(**asked))]
    rows = [[what, each.value, each.error, *_ends(each), each.note] for what, each in found]
    numbers = ["value", "standard_error", "low", "high"]
    print_rows(form, ["what", *numbers, "note"], rows, right=numbers)
    typer.echo(release.bounding, err=True)


def _ends(found: Reading) -> tuple[float | None, float | None]:
    """Where the error bar begins and ends, if there is one."""
    return found.interval() if found.barred else (None, None)


def _asked(release: Release, column: str, text: str) -> object:
    """A range of numbers, or keys, as the release has them."""
    from discreet.release import OTHER, KeyAxis

    axis = release.axis(column)
    if isinstance(axis, KeyAxis):
        named = dict(zip(axis.labels, axis.values, strict=True))
        return [named.get(label, label) for label in text.split(",")]  # one that there is not is refused by its name
    if axis.other and text == axis.labels[-1]:
        return OTHER
    low, colon, high = text.partition(":")
    if not colon:
        raise Refusal(f"{column!r} has numbers, which are asked for as {column}=FROM:TO, got {text!r}")
    return low or None, high or None


# publishing -----------------------------------------------------------------------------------------------------------


class _How:
    """Where a release goes, and whether it is real."""

    def __init__(self, out: Path | None, form: Format, *, dry_run: bool, practice: bool) -> None:
        if dry_run and practice:
            raise Refusal("--dry-run writes nothing, and --practice does", hint="leave out one of them")
        if out is None and not dry_run:
            raise Refusal("a release goes to a folder", hint="say --out DIR, or --dry-run to see its price")
        self.out, self.form, self.dry_run, self.practice = out, form, dry_run, practice


def _wish(kind: str, columns: str | None, bins: list[str] | None, **parts: object) -> dict[str, Any]:
    named = [] if columns is None else next(csv.reader([columns]), [])  # a name with a comma stands in quotes
    if not named and kind != "marginals":
        raise Refusal(f"{kind} is of one or two columns", hint="say --columns A, or --columns A,B")
    return {"kind": kind, "columns": named, "bins": dict(pairs(bins, "--bins")), **parts}


def _countable(home: Path, source: str) -> list[str]:
    """The columns of a table that something is declared of, but for its unit."""
    from discreet.curator import Curator
    from discreet.declared.key import Type
    from discreet.declared.table import chosen

    tables = {table.name: table for table in Curator(home).tables()}
    table = tables.get(chosen(source, tables) or "")
    if table is None:
        raise Refusal(f"there is no table {source!r} whose columns could be taken", hint="say --columns A,B")
    found = [
        column.name
        for column in table.columns
        if column.name != table.unit
        and (column.keys or (column.bounds and column.type.numeric) or column.type is Type.BOOLEAN)
    ]
    if not found:
        raise Refusal(f"no column of {source!r} has declared keys or bounds to be counted by", hint="see discreet add")
    return found


def _publish(home: Path, source: str, wish: dict[str, Any], name: str, how: _How) -> None:
    from discreet.cli.publishing import propose, publish, rehearse
    from discreet.desk import Order
    from discreet.release import Wish

    order = Order.of(source, Wish.read(wish), name)
    if how.out is None or how.dry_run:
        propose(home, order, how.form)
    elif how.practice:
        rehearse(home, order, how.out, how.form)
    else:
        publish(home, order, how.out, how.form)


def _print_cells(release: Release, listed: Listed, form: Format) -> None:
    tables = release.to_arrow()
    if form is Format.json:
        cells = {name: table.to_pylist() for name, table in tables.items()}
        said = {"entry": listed.entry, "name": listed.name, "time": listed.time, "sql": listed.sql}
        print_json({**said, "facts": dict(release.facts), "bounding": release.bounding, "tables": cells})
        return
    if len(tables) > 1:
        raise Refusal(
            f"as CSV one table is shown, and this release has {len(tables)}",
            hint="take --format json, or write Parquet files with --out DIR",
        )
    [table] = tables.values()
    print_csv(table.column_names, [list(row.values()) for row in table.to_pylist()])
