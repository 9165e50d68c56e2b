"""`discreet release`: publish from a home, find what was published, and check or read it without a home."""

from __future__ import annotations

import csv
from inspect import Parameter, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from discreet import durable
from discreet.cli.options import HOME, AtHome, NoHome, new_app, pairs
from discreet.cli.printing import AsFormat, Format, busy, gauge, print_csv, print_json, print_rows, write_rows
from discreet.errors import Refusal

if TYPE_CHECKING:
    from discreet.desk import PaidRelease
    from discreet.release import Estimate, Kind, Release, SyntheticRelease
    from discreet.release.release_kind import Option

Source = Annotated[str, typer.Argument(metavar="TABLE", help="A table, or a SELECT of rows in quotes.")]
Columns = Annotated[str | None, typer.Option(metavar="A,B", help="What to count by.")]
Epsilon = Annotated[str | None, typer.Option(metavar="E", help="The price.")]
Rho = Annotated[str | None, typer.Option(metavar="R", help="The price, in zCDP.")]
Delta = Annotated[str | None, typer.Option(metavar="D", help="Beside epsilon, for marginals with Gaussian noise.")]
MaxRows = Annotated[int | None, typer.Option(metavar="N", help="Rows of one unit that count, instead of as declared.")]
Name = Annotated[str, typer.Option(metavar="TEXT", help="What the release is called.")]
Out = Annotated[Path | None, typer.Option(metavar="DIR", help="A new folder to write it to.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say price, cells and error; pay and write nothing.")]
Practice = Annotated[bool, typer.Option("--practice", help="The same folder from made-up rows, free.")]
Folder = Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a release.")]


class ReleaseGroup(TyperGroup):
    """A group with a command for each kind of release that is known when it is opened."""

    def __init__(self, **parts: Any) -> None:  # noqa: ANN401  # those of typer
        from discreet.release import kinds

        super().__init__(**parts)
        self.commands = {kind.name: _published(kind) for kind in kinds()} | dict(self.commands)


app = new_app(ReleaseGroup)


def _published(kind: Kind) -> Any:  # noqa: ANN401  # a command of typer, which keeps the type to itself
    """The command that publishes one kind, with the options of that kind between those of all."""
    options = kind.wish.options()

    def publish(  # noqa: PLR0913  # the parts of a wish
        source: Source,
        *,
        columns: Columns = None,
        epsilon: Epsilon = None,
        rho: Rho = None,
        delta: Delta = None,
        max_rows: MaxRows = None,
        name: Name = "",
        out: Out = None,
        dry_run: DryRun = False,
        practice: Practice = False,
        home: AtHome = HOME,
        form: AsFormat = Format.table,
        **own: Any,  # noqa: ANN401  # as the kind's options are
    ) -> None:
        said = {part: _said(options[part], part, given) for part, given in own.items() if given is not None}
        common = {"kind": kind.name, "epsilon": epsilon, "rho": rho, "delta": delta, "max_rows": max_rows}
        names = [] if columns is None else next(csv.reader([columns]), [])  # a name with a comma stands in quotes
        if not names and not kind.wish.names_columns(said):
            names = _columns(home, source, kind)
        _publish(home, source, {**common, **said, "columns": names}, name, _How(out, form, dry_run, practice))

    known = signature(publish, eval_str=True)
    before = [part for part in known.parameters.values() if part.kind is not Parameter.VAR_KEYWORD]
    parts = [
        Parameter(
            part,
            Parameter.KEYWORD_ONLY,
            default=None,
            annotation=Annotated[
                (list[str] if option.many else int if option.read is int else str) | None,
                typer.Option(metavar=option.metavar, help=option.help),
            ],
        )
        for part, option in options.items()
        if option.help
    ]
    publish.__signature__ = known.replace(parameters=[*before, *parts])  # type: ignore[attr-defined]  # typer looks at it
    one = new_app()
    one.command(kind.name, help=kind.help or kind.words)(publish)
    return get_command(one)


def _said(option: Option, part: str, given: Any) -> object:  # noqa: ANN401  # as typer read it
    """A part of a wish as its kind takes it."""
    if option.many:
        return dict(pairs(given, f"--{part.replace('_', '-')}"))
    return option.read(given)


@app.command("list")
def list_(*, home: AtHome = HOME, form: AsFormat = Format.table) -> None:
    """What was published, the latest first."""
    from discreet.curator.explain import said
    from discreet.desk import HOME as OWN
    from discreet.desk import Desk

    releases = Desk(home).releases(OWN)
    rows = [[each.entry, each.name, each.time, each.principal, each.population, said(each.loss)] for each in releases]
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
        findings = checked(folder, kept)
    if form is Format.table:
        typer.echo(
            "\n".join([f"the release {shown(read(folder)[1].title)} holds:", *(f"  {line}" for line in findings)])
        )
    else:
        print_rows(form, ["finding"], [[line] for line in findings])


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
        raise Refusal(f"a release is asked for a count or for quantiles, not both at once, got {where} and {quantile}")
    if quantile:
        read_off = [(f"quantile {level}", release.quantile(level)) for level in quantile]
    else:
        asked = {column: release.side(column).asked(text) for column, text in pairs(where, "a count")}
        read_off = [(" ".join(where or ["all"]), release.range(**asked))]
    rows = [[what, each.value, each.error, *_ends(each), each.note] for what, each in read_off]
    numbers = ["value", "standard_error", "low", "high"]
    print_rows(form, ["what", *numbers, "note"], rows, right=numbers)
    typer.echo(release.bounding, err=True)


@app.command()
def draw(
    folder: Folder,
    where: Annotated[
        list[str] | None, typer.Argument(metavar="[COL=FROM:TO|COL=a,b]...", help="Which rows; else any.")
    ] = None,
    *,
    rows: Annotated[int, typer.Option(metavar="N", help="How many.")],
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="A new file, .csv or .parquet.")] = None,
    _home: NoHome = None,
    form: AsFormat = Format.table,
) -> None:
    """Draw more synthetic rows from the model of a release, or rows of some kind: free."""
    release = _model(folder)
    asked = {column: release.side(column).asked(text) for column, text in pairs(where, "which rows")}
    with busy("drawing"):
        drawn = release.draw(rows, where=asked)
    if drawn.num_rows < rows:
        typer.echo(f"note: {drawn.num_rows} rows: others would have been impossible", err=True)
    if out is not None:
        write_rows(out, drawn)
        typer.echo(f"written to {out}", err=True)
        return
    print_rows(form, drawn.column_names, [list(row.values()) for row in drawn.to_pylist()])


@app.command()
def link(
    parents: Annotated[Path, typer.Argument(metavar="PARENTS", help="The folder of a release, one row each.")],
    children: Annotated[Path, typer.Argument(metavar="CHILDREN", help="That of their rows joined with their own.")],
    *,
    count: Annotated[str, typer.Option(metavar="COLUMN", help="Which column says how many children a parent has.")],
    key: Annotated[str, typer.Option(metavar="NAME", help="What the numbers of the parents are called.")] = "parent",
    out: Annotated[Path, typer.Option(metavar="DIR", help="A new folder for both tables.")],
    _home: NoHome = None,
) -> None:
    """Draw children for made-up parents from two releases of synthetic rows: free."""
    from discreet.release import linked

    both = _model(parents), _model(children)
    with busy("drawing"):
        made = linked(*both, count=count, key=key)
    if out.exists():
        raise Refusal(f"{str(out)!r} is there already", hint="name a folder that is new")
    out.mkdir()
    for name, table in (("parents", made.parents), ("children", made.children)):
        for ending in ("parquet", "csv"):
            write_rows(out / f"{name}.{ending}", table)
    typer.echo(f"{made.parents.num_rows:,} parents and {made.children.num_rows:,} children in {out}")


@app.command()
def report(
    folder: Folder,
    records: Annotated[
        str, typer.Argument(metavar="FILE", help="The records it was made from: Parquet, CSV, or FILE.duckdb::TABLE.")
    ],
    *,
    out: Annotated[Path, typer.Option(metavar="FILE.html", help="A new file for the report, not in a release.")],
    target: Annotated[str | None, typer.Option(metavar="COLUMN", help="What models are to predict.")] = None,
    _home: NoHome = None,
    form: AsFormat = Format.table,
) -> None:
    """How good made-up rows are, beside the records: for whoever may see these. Nothing of it is private."""
    from discreet.engines.ingest import read_columns
    from discreet.release.folder import CERTIFICATE, read
    from discreet.release.quality import BANNER, HEADS, lines_of, page, quality

    inside = out.absolute().resolve().parent
    if out.exists() or not inside.is_dir():
        raise Refusal(f"{str(out)!r} is there already, or its folder is not", hint="name a new file")
    if any((above / CERTIFICATE).exists() for above in (inside, *inside.parents)):
        raise Refusal(
            f"{str(out)!r} lies in the folder of a release, which is handed on, and the report is secret",
            hint="name a file elsewhere",
        )
    typer.echo(BANNER, err=True)
    with busy("reading"):
        release, _ = read(folder)
        rows = read_columns(records, release.columns)
    with gauge("comparing") as heard:
        made = quality(release, rows, target=target, heard=heard or (lambda _: None))
    durable.create(out, page(made).encode())
    print_rows(form, [*HEADS], lines_of(made), right=HEADS[1:])
    typer.echo(f"written to {out}", err=True)


def _model(folder: Path) -> SyntheticRelease:
    """The release of synthetic rows in a folder."""
    from discreet.release import SyntheticRelease
    from discreet.release.folder import read

    with busy("reading"):
        release, _ = read(folder)
    if not isinstance(release, SyntheticRelease):
        raise Refusal(
            f"rows are drawn from a model, and {str(folder)!r} has a release of the kind {release.kind}",
            hint="take a folder that discreet release synthetic wrote",
        )
    return release


def _ends(estimate: Estimate) -> tuple[float | None, float | None]:
    """Where the error bar begins and ends, if there is one."""
    return estimate.interval() if estimate.barred else (None, None)


# publishing -----------------------------------------------------------------------------------------------------------


class _How:
    """Where a release goes, and whether it is real."""

    def __init__(self, out: Path | None, form: Format, dry_run: bool, practice: bool) -> None:  # noqa: FBT001  # two flags
        if dry_run and practice:
            raise Refusal("--dry-run writes nothing, and --practice does", hint="leave out one of them")
        if out is None and not dry_run:
            raise Refusal("a release goes to a folder", hint="say --out DIR, or --dry-run to see its price")
        self.out, self.form, self.dry_run, self.practice = out, form, dry_run, practice


def _columns(home: Path, source: str, kind: Kind) -> list[str]:
    """The columns of a release for which none are named, if there may be such."""
    if not kind.wish.every:
        raise Refusal(f"say which columns {kind.name} is of", hint="say --columns A, or --columns A,B")
    return _countable(home, source)


def _countable(home: Path, source: str) -> list[str]:
    """The columns of a table that something is declared of, but for its unit."""
    from discreet.curator import Curator
    from discreet.declared.group_key import Type
    from discreet.declared.table import chosen

    tables = {table.name: table for table in Curator(home).tables()}
    table = tables.get(chosen(source, tables) or "")
    if table is None:
        raise Refusal(f"there is no table {source!r} whose columns could be taken", hint="say --columns A,B")
    names = [
        column.name
        for column in table.columns
        if column.name != table.unit and (column.keys or column.line or column.type is Type.BOOLEAN)
    ]
    if not names:
        raise Refusal(f"no column of {source!r} has declared keys or bounds to be counted by", hint="see discreet add")
    return names


def _publish(home: Path, source: str, wish: dict[str, Any], name: str, how: _How) -> None:
    from discreet.cli.publishing import propose, publish, rehearse
    from discreet.desk import ReleaseOrder
    from discreet.release import Wish

    order = ReleaseOrder.of(source, Wish.read(wish), name)
    if how.out is None or how.dry_run:
        propose(home, order, how.form)
    elif how.practice:
        rehearse(home, order, how.out, how.form)
    else:
        publish(home, order, how.out, how.form)


def _print_cells(release: Release, listed: PaidRelease, form: Format) -> None:
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
