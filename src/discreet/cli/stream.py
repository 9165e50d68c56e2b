"""`discreet stream`: running counts, opened at a price, pushed one step at a time, read as they grow."""

from __future__ import annotations

import sys
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.options import HOME, AtHome, Many, new_app, option, pairs
from discreet.cli.printing import AsFormat, Format, print_json, print_rows
from discreet.errors import Refusal

if TYPE_CHECKING:
    from discreet.curator.streams import OpenStream, StreamCount, Streams, StreamStatus

app = new_app()

Name = Annotated[str, typer.Argument(help="What the stream is called.")]


@app.command()
def new(  # noqa: PLR0913  # each option is one declaration
    name: Name,
    *,
    unit: Annotated[str, option("COLUMN|row", "Whose rows they are: a column, or each row protected by itself.")],
    horizon: Annotated[int, option("STEPS", "How many steps there are at most.")],
    events: Annotated[int, option("K", "Rows of one unit that count, over all steps and keys together.")] = 1,
    population: Annotated[str | None, option("P", "Who the rows speak about; by default the unit's name.")] = None,
    by: Annotated[Many, option("COL=a,b,c", "A column, and the keys that it is counted by.")] = None,
    sums: Annotated[Many, typer.Option("--sum", metavar="COL=LO:HI", help="Sum a column between these bounds.")] = None,
    step: Annotated[Many, option("COL=STEP", "To which its numbers are rounded.")] = None,
    types: Annotated[Many, option("COL=TYPE", "The type of a column; text where nobody says.")] = None,
    epsilon: Annotated[str | None, option("E", "The price of all counts together.")] = None,
    rho: Annotated[str | None, option("R", "The price in zCDP.")] = None,
    delta: Annotated[str | None, option("D", "Its δ: with one, the sharper of two counters is taken.")] = None,
    relation: Annotated[str, option("add-remove|replace", "Neighbours of a population that is new.")] = "add-remove",
    home: AtHome = HOME,
    form: AsFormat = Format.table,
) -> None:
    """Open a stream at its whole price. A population that is not there yet gets it as its whole budget."""
    from discreet.curator.streams import StreamOrder

    order = StreamOrder(
        unit,
        horizon,
        events,
        population,
        by={column: _keys(text, column, types) for column, text in pairs(by, "--by")},
        sums={column: _ends(text) for column, text in pairs(sums, "--sum")},
        steps=dict(pairs(step, "--step")),
        types=dict(pairs(types, "--types")),
        epsilon=epsilon,
        rho=rho,
        delta=delta,
        relation=relation,
    )
    opened = _streams(home).open(name, order)
    _print([opened.standing], form)
    if opened.declared.table.unit is None:
        typer.echo("each row is protected by itself: whoever has several rows is protected less", err=True)


@app.command()
def push(
    name: Name,
    rows: Annotated[str, typer.Argument(metavar="FILE|-", help="A .csv, .parquet or .arrow file; - is CSV on stdin.")],
    *,
    step: Annotated[int | None, option("N", "Which step it is; pushed again, it is answered as before.")] = None,
    home: AtHome = HOME,
    form: AsFormat = Format.table,
) -> None:
    """Push the rows of the next step; an empty file is a step too. It was paid when the stream was opened."""
    from discreet.stream.read_step import text_rows

    opened = _streams(home).one(name)
    source: object = text_rows(sys.stdin.buffer.read()) if rows == "-" else Path(rows)
    _counts(opened, [opened.push(source, step=step)], form)
    if opened.closed:
        typer.echo(f"closed: {opened.closed}", err=True)


@app.command()
def show(
    name: Name,
    *,
    plot: Annotated[Path | None, option("FILE", "Also draw the counts into an .svg file.")] = None,
    home: AtHome = HOME,
    form: AsFormat = Format.table,
) -> None:
    """Everything that a stream said, free, and how far off it may be."""
    from discreet.curator.stream_picture import drawn

    opened = _streams(home).one(name)
    counts, standing = opened.counts, opened.standing
    if plot is not None:
        try:
            plot.write_text(drawn(standing, counts).wide, encoding="utf-8")
        except OSError:
            raise Refusal(f"{str(plot)!r} cannot be written") from None
    _counts(opened, counts, form)
    closed = f"; closed: {standing.session.closed}" if standing.session.closed else ""
    typer.echo(f"{len(counts)} steps of {standing.horizon}{closed}", err=True)


@app.command("list")
def list_(*, home: AtHome = HOME, form: AsFormat = Format.table) -> None:
    """All streams, the latest first, how many steps came, and why one is closed."""
    _print([each.standing for each in _streams(home).all()], form)


@app.command()
def close(name: Name, *, home: AtHome = HOME) -> None:
    """Give up the steps that are left of a stream. What it said stays; nothing is paid back."""
    opened = _streams(home).one(name)
    opened.close()
    typer.echo(f"closed: {opened.closed}", err=True)


def _streams(home: Any) -> Streams:  # noqa: ANN401  # a path; typer has read it
    from discreet.desk import HOME as OWNER
    from discreet.desk import Desk

    return Desk(home).streams(OWNER)


def _keys(text: str, column: str, types: Many) -> tuple[Any, ...]:
    """Keys of a text, as the column's type has them."""
    kind = dict(pairs(types, "--types")).get(column, "varchar").lower()
    listed = [each.strip() for each in text.split(",")]
    if kind != "bigint":
        return tuple(listed)
    try:
        return tuple(map(int, listed))
    except ValueError:
        raise Refusal(f"keys of {column} are whole numbers, got {text!r}") from None


def _ends(text: str) -> tuple[str, str]:
    low, colon, high = text.partition(":")
    if not colon:
        raise Refusal(f"--sum takes COLUMN=LOW:HIGH, got {text!r}")
    return low, high


def _counts(opened: OpenStream, counts: list[StreamCount] | tuple[StreamCount, ...], form: Format) -> None:
    keys = opened.declared.keys
    names = ["total" if keys else "count", "error", *map(str, keys), *(["key_error"] if keys else [])]
    rows = [
        [each.step, *map(_number, (each.count, each.error, *each.by.values(), *([each.key_error] if keys else [])))]
        for each in counts
    ]
    print_rows(form, ["step", *names], rows)


def _number(value: Fraction) -> int | float:
    return int(value) if value.denominator == 1 else float(value)


def _print(every: list[StreamStatus], form: Format) -> None:
    if form is Format.json:
        print_json([_plain(each) for each in every])
        return
    head = ["stream", "unit", "population", "events", "price", "counter", "steps", "closed"]
    print_rows(form, head, [[*_plain(each).values()][:6] + _end(each) for each in every])


def _end(each: StreamStatus) -> list[object]:
    return [f"{each.session.asked} of {each.horizon}", each.session.closed]


def _plain(each: StreamStatus) -> dict[str, object]:
    from discreet.curator.explain import said

    counter: Any = each.session.mechanism["parameters"]
    return {
        "stream": each.name,
        "unit": each.unit,
        "population": each.session.population,
        "events": each.declared.table.max_rows,
        "price": said(each.session.loss),
        "counter": counter["counter"]["name"],
        "keys": list(each.declared.keys),
        "steps": each.session.asked,
        "horizon": each.horizon,
        "by": each.session.principal,
        "closed": each.session.closed,
    }
