"""`discreet stream`: running counts, opened at a price, pushed one step at a time, read as they grow."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.options import HOME, AtHome, Many, new_app, option, pairs
from discreet.cli.printing import AsFormat, Format, print_json, print_rows
from discreet.errors import Refusal

if TYPE_CHECKING:
    from discreet.curator.stream_answers import StreamCount
    from discreet.curator.streams import OpenStream, Streams, StreamStatus

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
    bins: Annotated[Many, option("COL=a,b,c", "Instead: a column of numbers, and the edges of a histogram.")] = None,
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
        bins={column: text.split(",") for column, text in pairs(bins, "--bins")},
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
    typer.echo(opened.words.bounding, err=True)


@app.command()
def push(  # noqa: PLR0913  # each option is one of the terminal
    name: Name,
    rows: Annotated[str, typer.Argument(metavar="FILE|-", help="A .csv, .parquet or .arrow file; - is CSV on stdin.")],
    *,
    step: Annotated[int | None, option("N", "Which step it is; pushed again, it is answered as before.")] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Refuse rows of which some would not count as they are.")] = (
        False
    ),
    home: AtHome = HOME,
    form: AsFormat = Format.table,
) -> None:
    """Push the rows of the next step; an empty file is a step too. It was paid when the stream was opened."""
    from discreet.stream.read_step import text_rows

    opened = _streams(home).one(name)
    source: object = text_rows(sys.stdin.buffer.read()) if rows == "-" else Path(rows)
    _counts(opened, [opened.push(source, step=step, unread=_listener(strict=strict))], form)
    if opened.closed:
        typer.echo(f"closed: {opened.closed}", err=True)


@app.command()
def show(  # noqa: PLR0913  # each option is one of the terminal
    name: Name,
    *,
    window: Annotated[int | None, option("W", "Instead of running counts, what came in the last W steps.")] = None,
    every: Annotated[int, option("N", "With --window: told every N steps; N as W, and none overlap.")] = 1,
    top: Annotated[int | None, option("N", "Of the last step, the N keys with the largest counts.")] = None,
    plot: Annotated[Path | None, option("FILE", "Also draw it into an .svg file.")] = None,
    home: AtHome = HOME,
    form: AsFormat = Format.table,
) -> None:
    """Everything that a stream said, free, and how far off it may be."""
    from discreet.curator.stream_picture import counts_picture, keys_picture

    opened = _streams(home).one(name)
    if window is None and every != 1:
        raise Refusal(f"--every {every} goes with --window", hint="say --window W too")
    counts = opened.counts if window is None else opened.windows(window, every)
    standing = opened.standing
    if top is None:
        _counts(opened, counts, form)
    else:
        _top(opened, counts, top, form)
    if plot is not None:
        of_keys = top is not None and counts
        drawn = keys_picture(standing, counts[-1], top) if of_keys else counts_picture(standing, counts, window, every)
        try:
            plot.write_text(drawn.wide, encoding="utf-8")
        except OSError:
            raise Refusal(f"{str(plot)!r} cannot be written") from None
    closed = f"; closed: {standing.session.closed}" if standing.session.closed else ""
    typer.echo(f"{standing.session.asked} steps of {standing.horizon}{closed}", err=True)


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


def _listener(*, strict: bool) -> Callable[[tuple[str, ...]], None]:
    """Says which columns keep rows from counting; or refuses them. On this terminal alone: it tells of the rows."""

    def heard(columns: tuple[str, ...]) -> None:
        named = ", ".join(columns)
        if strict:
            raise Refusal(
                f"--strict: some rows would not count as they are, for cells in the columns {named}",
                hint="nothing was pushed; mend the cells, or leave out --strict",
            )
        typer.echo(f"some rows do not count as they are, for cells in the columns: {named}", err=True)

    return heard


def _counts(opened: OpenStream, counts: Sequence[StreamCount], form: Format) -> None:
    keys, steps = opened.declared.keys, ["after", "step"] if any(each.start for each in counts) else ["step"]
    names = ["total" if keys else "count", "error", *map(str, keys), *(["key_error"] if keys else [])]
    rows = []
    for each in counts:
        numbers = (each.count, each.error, *each.by.values(), *([each.key_error] if keys else []))
        rows.append([*([each.start, each.step][-len(steps) :]), *map(_number, numbers)])
    print_rows(form, [*steps, *names], rows)
    typer.echo(opened.words.bounding, err=True)


def _top(opened: OpenStream, counts: Sequence[StreamCount], most: int, form: Format) -> None:
    if not opened.declared.keys:
        raise Refusal(f"stream {opened.name!r} has no keys", hint="open one with --by COLUMN=a,b,c")
    last = counts[-1].top(most) if counts else []
    print_rows(form, ["key", "count", "error"], [[k, _number(n), _number(counts[-1].top_error)] for k, n in last])
    typer.echo(opened.words.bounding, err=True)


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
