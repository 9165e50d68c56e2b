"""`discreet add` and `discreet query` as a person types them, about a file with capitals, blanks, dates and NULLs."""

from __future__ import annotations

import contextlib
import datetime as dt
import io
import json
import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pytest
from differential.compare import compare
from differential.files import declared, home_of, plain_of
from differential.maker import COUNT, Maker
from differential.question import Key, Question, asked, spelled
from differential.sheet import World
from differential.world import made

from discreet.cli import main

ROWS = 200


def fits(world: World) -> bool:
    """A CSV file with blanks in names, under ε, whose keys can be written one on a line."""
    sheet, keys = world.sheets["main"], world.field("key").keys or ()
    blanks = any(" " in each.name for each in sheet.fields)
    return (
        world.measure == "epsilon" and sheet.source == "csv" and blanks and all(str(k).strip() == k != "" for k in keys)
    )


WORLD = next(world for world in (made(seed, ROWS) for seed in range(200)) if fits(world))


def discreet(*arguments: str) -> str:
    """The command, in this process."""
    out, err, code = io.StringIO(), io.StringIO(), 0
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        patch.setattr(sys, "argv", ["discreet", *arguments])
        try:
            main()
        except SystemExit as done:
            code = int(done.code or 0)
    assert code == 0, err.getvalue()
    return out.getvalue()


@dataclass(frozen=True)
class Typed:
    """An answer as a command prints it."""

    columns: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]
    spans: tuple[tuple[object, ...], ...]


def answered(home: Path, question: Question) -> Typed:
    """What `discreet query` prints, with its error bars beside the numbers."""
    price = ("--epsilon", "1e15", "--delta", "1e-9", "--confidence", "0.999999999999", "--intervals")
    said = json.loads(discreet("query", question.ours, *price, "--format", "json", "--home", str(home)))
    place = {name: i for i, name in enumerate(said["columns"])}
    rows = tuple(tuple(row[place[name]] for name in question.names) for row in said["rows"])
    spans = tuple(
        tuple(
            (row[place[f"{name}_low"]], row[place[f"{name}_high"]]) if f"{name}_low" in place else None
            for name in question.names
        )
        for row in said["rows"]
    )
    return Typed(question.names, rows, spans)


@dataclass(frozen=True)
class Kept:
    """A home that commands made, and plain DuckDB."""

    home: Path
    plain: duckdb.DuckDBPyConnection


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kept]:
    folder, sheet = tmp_path_factory.mktemp("typed"), WORLD.sheets["main"]
    home_of(WORLD, folder)  # for its files
    said, home = declared(WORLD, sheet), folder / "typed"
    options = ["--unit", str(said.unit), "--population", str(said.population), "--epsilon", str(said.epsilon)]
    options += ["--delta", str(said.delta), "--max-rows", str(said.max_rows), "--max-groups", str(said.max_groups)]
    for name, ends in said.bounds.items():
        low, high = (str(end).partition(" ")[0] for end in ends)  # of a moment its day
        options += ["--bounds", f"{name}={low}:{high}"]
    for name, keys in said.keys.items():
        (folder / f"{name}.txt").write_text("\n".join(keys), encoding="utf-8")
        options += ["--keys", f"{name}=@{folder / f'{name}.txt'}"]
    options += [part for name, kind in said.types.items() for part in ("--types", f"{name}={kind}")]
    options += [part for name, step in said.steps.items() for part in ("--step", f"{name}={step}")]
    discreet("init", str(home))
    discreet("add", sheet.name, str(folder / f"main.{sheet.source}"), "--home", str(home), *options)
    with plain_of(WORLD) as plain:
        yield Kept(home, plain)


def questions() -> list[Question]:
    maker = Maker(WORLD, random.Random(1))
    made_up = [
        asked("numbers", [COUNT, maker.sum_of("tame"), maker.avg_of("wild"), maker.count_of("wild")]),
        asked("texts", [COUNT, maker.sum_of("tame")], (Key("v.«key»", WORLD.field("key").keys),)),
        asked("truths", [COUNT], (Key("v.«flag»", (False, True)),), where="v.«day» > DATE '2024-02-25'"),
        asked("codes", [COUNT, maker.avg_of("other")], (Key("v.«code»", WORLD.field("code").keys),)),
    ]
    return [spelled(question, WORLD, maker.rng) for question in made_up]


@pytest.mark.parametrize("question", questions(), ids=lambda question: question.kind)
def test_a_command_prints_what_plain_duckdb_says(kept: Kept, question: Question) -> None:
    compare(question, answered(kept.home, question), kept.plain.execute(question.plain).fetchall(), ROWS)


def test_days_are_printed_as_they_are(kept: Kept) -> None:
    question = spelled(asked("days", [COUNT], (Key("v.«day»"),)), WORLD, random.Random(2))
    typed = answered(kept.home, question)
    rows = tuple((None if day is None else dt.date.fromisoformat(str(day)), number) for day, number in typed.rows)
    compare(question, Typed(typed.columns, rows, typed.spans), kept.plain.execute(question.plain).fetchall(), ROWS)
