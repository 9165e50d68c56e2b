"""`discreet visitors`: how many people came, from a memory that may be looked into."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.options import HOME, AtHome, new_app, option, text_of
from discreet.cli.printing import AsFormat, Format, print_rows
from discreet.errors import Refusal

if TYPE_CHECKING:
    from discreet.curator.paid_visitors import Counter, OpenVisitors, PaidVisitors, VisitorsEstimate

app = new_app()

Name = Annotated[str, typer.Argument(help="What the memory is called.")]
Step = Annotated[int | None, option("N", "Which step it is; a step that was done is not done again.")]


@app.command()
def new(  # noqa: PLR0913  # each option is one declaration
    name: Name,
    *,
    unit: Annotated[str, option("COLUMN", "The column that says who came.")],
    people: Annotated[str, option("N|@FILE", "Who may come: numbers 0 to N-1, or the names in a file's lines.")],
    epsilon_memory: Annotated[str, option("E", "The price of one look into the memory.")],
    epsilon_answer: Annotated[str, option("E", "The price of one answer.")],
    answers: Annotated[int, option("C", "How many answers there are.")] = 1,
    intrusions: Annotated[int, option("I", "Looks that are covered; after each but the last, refresh.")] = 1,
    most: Annotated[int | None, option("K", "Count visits, up to so many: heavy hitters and incidence.")] = None,
    sample: Annotated[int | None, option("M", "Tell the share who came, from so many of them.")] = None,
    steps: Annotated[int, option("S", "How many steps there are at most.")] = 10_000,
    population: Annotated[str | None, option("P", "Who they are; by default the unit's name.")] = None,
    home: AtHome = HOME,
) -> None:
    """Open a memory at its whole price. A population that is not there yet gets it as its whole budget."""
    names = _names(people)
    size = len(names) if names else _number(people)
    said = {"epsilon_memory": epsilon_memory, "epsilon_answer": epsilon_answer, "size": size}
    counter = _counter({**said, "answers": answers, "intrusions": intrusions}, most, sample)
    opened = _visitors(home).open(name, counter, unit=unit, names=names, steps=steps, population=population)
    typer.echo(f"opened {opened.name} for epsilon {counter.privacy.epsilon}")
    typer.echo(opened.bounding, err=True)


@app.command()
def push(
    name: Name,
    rows: Annotated[str, typer.Argument(metavar="FILE|-", help="A .csv, .parquet or .arrow file; - is CSV on stdin.")],
    *,
    step: Step = None,
    strict: Annotated[bool, typer.Option("--strict", help="Refuse rows of people who were not declared.")] = False,
    home: AtHome = HOME,
) -> None:
    """Let the people of these rows come. Nothing is told of them but that it was done."""
    from discreet.stream.read_step import text_rows

    source: object = text_rows(sys.stdin.buffer.read()) if rows == "-" else Path(rows)
    opened = _visitors(home).one(name)
    done = opened.push(source, step=step, unread=_listener(strict=strict))
    typer.echo(f"step {done} is done")
    typer.echo(opened.bounding, err=True)


@app.command()
def refresh(name: Name, *, step: Step = None, home: AtHome = HOME) -> None:
    """Blur the memory anew: at once after somebody looked into it."""
    done = _visitors(home).one(name).refresh(step=step)
    typer.echo(f"step {done} is done")


@app.command()
def tell(name: Name, *, step: Step = None, home: AtHome = HOME, form: AsFormat = Format.table) -> None:
    """One of the answers that were paid for, and how far off it may be."""
    opened = _visitors(home).one(name)
    _print([(None, each) for each in opened.tell(step=step)], opened, form)


@app.command()
def show(name: Name, *, home: AtHome = HOME, form: AsFormat = Format.table) -> None:
    """Everything that was told, free, and what is left."""
    opened = _visitors(home).one(name)
    told = [(step, each) for step, said in enumerate(opened.answers, start=1) for each in opened.estimates(said)]
    _print(told, opened, form)
    status = opened.status
    closed = f"; closed: {status.closed}" if status.closed else ""
    typer.echo(f"{', '.join(map(str, status.used))}{closed}", err=True)


@app.command()
def close(name: Name, *, home: AtHome = HOME) -> None:
    """Give up what is left of a memory. What it told stays; nothing is paid back."""
    opened = _visitors(home).one(name)
    opened.close()
    typer.echo(f"closed: {opened.closed}", err=True)


def _visitors(home: Any) -> PaidVisitors:  # noqa: ANN401  # a path; typer has read it
    from discreet.desk import HOME as OWNER
    from discreet.desk import Desk

    return Desk(home).visitors(OWNER)


def _names(people: str) -> tuple[str, ...]:
    if not people.startswith("@"):
        return ()
    return tuple(dict.fromkeys(line.strip() for line in text_of(Path(people[1:])).splitlines() if line.strip()))


def _number(people: str) -> int:
    try:
        return int(people)
    except ValueError:
        raise Refusal(f"--people takes a number or @FILE, got {people!r}") from None


def _counter(said: dict[str, Any], most: int | None, sample: int | None) -> Counter:
    from discreet.stream import PanPrivateDensity, PanPrivateDistinct, PanPrivateVisits

    if most is not None and sample is not None:
        raise Refusal("--most and --sample do not go together", hint="open two memories")
    if most is not None:
        return PanPrivateVisits(**said, most=most)
    return PanPrivateDistinct(**said) if sample is None else PanPrivateDensity(**said, sample=sample)


def _listener(*, strict: bool) -> Callable[[tuple[str, ...]], None]:
    def heard(columns: tuple[str, ...]) -> None:
        named = ", ".join(columns)
        if strict:
            raise Refusal(f"--strict: some rows are of nobody who was declared, by {named}", hint="nothing was pushed")
        typer.echo(f"some rows are of nobody who was declared, by {named}", err=True)

    return heard


def _print(told: Sequence[tuple[int | None, VisitorsEstimate]], opened: OpenVisitors, form: Format) -> None:
    stepped = any(step is not None for step, _ in told)
    rows = [[*([step] if stepped else []), each.what, _shown(each.value), _shown(each.error)] for step, each in told]
    print_rows(form, [*(["step"] if stepped else []), "what", "estimate", "error"], rows)
    typer.echo(opened.bounding, err=True)


def _shown(value: Fraction) -> float:
    return float(f"{float(value):.6g}")
