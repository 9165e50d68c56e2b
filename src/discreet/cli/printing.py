"""Printing of what commands tell: a table for people, CSV and JSON for programs."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.errors import Refusal

if TYPE_CHECKING:
    import pyarrow as pa


class Format(StrEnum):
    """How an answer is printed."""

    table = "table"
    csv = "csv"
    json = "json"


_NARROWEST = 16  # characters of a column of text, before the table is wider than the terminal

AsFormat = Annotated[Format, typer.Option("--format", help="How to print the answer.")]


def busy(what: str) -> AbstractContextManager[object]:
    """A sign of life on a terminal, for what may take longer than a second."""
    from rich.console import Console

    return Console(stderr=True).status(what)


@contextmanager
def gauge(what: str) -> Iterator[Callable[[float], None] | None]:
    """A bar for work that tells its share, on a terminal; elsewhere nothing. It shows no size: sizes are private.

    Until a share is told it says that something goes on.
    """
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

    columns = TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda share: bar.update(task, total=1, completed=share)


def print_json(whole: object) -> None:
    """One JSON value."""
    typer.echo(json.dumps(whole, ensure_ascii=False, indent=2, default=str))


def print_csv(head: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """A head line and rows; NULL is empty."""
    csv.writer(sys.stdout, lineterminator="\n").writerows([list(head), *map(list, rows)])


def _cell(cell: object) -> str:
    """For eyes: ten digits of a float are more than noise leaves any meaning to. CSV and JSON carry them all."""
    if cell is None:
        return ""
    return f"{cell:.10g}" if isinstance(cell, float) else str(cell)


def print_table(head: Sequence[str], rows: Sequence[Sequence[object]], *, right: Sequence[str] = ()) -> None:
    """A table on a terminal; the columns named in `right` are numbers, aligned there and never broken in two."""
    from rich.box import SIMPLE
    from rich.console import Console
    from rich.table import Table

    cells, table = [[_cell(cell) for cell in row] for row in rows], Table(box=SIMPLE, padding=(0, 1, 0, 0))
    needed = 1
    for place, title in enumerate(head):
        number, longest = title in right, max(len(each) for each in (title, *(row[place] for row in cells)))
        table.add_column(title, justify="right" if number else "left", overflow="fold", no_wrap=number)
        needed += (longest if number else min(longest, _NARROWEST)) + 2
    for row in cells:
        table.add_row(*row)
    console = Console(highlight=False, markup=False)
    if needed > console.width:  # a line that is too long is the terminal's to wrap
        console = Console(highlight=False, markup=False, width=needed)
    console.print(table)


def print_rows(form: Format, head: Sequence[str], rows: Sequence[Sequence[object]], right: Sequence[str] = ()) -> None:
    """Rows in any of the three forms; as JSON, a list of objects."""
    if form is Format.json:
        print_json([dict(zip(head, row, strict=True)) for row in rows])
    elif form is Format.csv:
        print_csv(head, rows)
    else:
        print_table(head, rows, right=right)


def write_rows(out: Path, rows: pa.Table) -> None:
    """Write a table to a new file, of the kind that its name ends with."""
    from pyarrow import csv as text
    from pyarrow import parquet

    if out.suffix not in (".csv", ".parquet"):
        raise Refusal(f"expected a file that ends with .csv or .parquet, got {str(out)!r}")
    if out.exists():
        raise Refusal(f"{str(out)!r} is there already", hint="name a file that is new")
    try:
        parquet.write_table(rows, out) if out.suffix == ".parquet" else text.write_csv(rows, out)
    except OSError:
        raise Refusal(f"{str(out)!r} cannot be written") from None
