"""One world, asked many questions: each answer compared with plain DuckDB."""

from __future__ import annotations

import math
import random
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
from differential.compare import Differs, compare
from differential.families import FAMILIES
from differential.files import home_of, plain_of
from differential.maker import Maker
from differential.question import Question, spelled
from differential.refusals import allowed
from differential.sheet import World
from differential.world import made

import discreet as dp
from discreet.client import Database

PRICES = {"epsilon": ("1e15", "1e18"), "rho": ("1e30", "1e34")}
CONFIDENCE = "0.999999999999"
QUESTIONS = 60  # of each world


@dataclass(frozen=True)
class Trouble:
    """A question whose answer is not what plain DuckDB says, or that was refused for no good reason."""

    seed: int
    number: int
    rows: int | None  # if the world has another number of rows than its seed says
    question: Question
    what: str
    ours: str
    plain: str

    @property
    def mark(self) -> str:
        """What the same trouble has again elsewhere."""
        return f"{self.question.kind}: {''.join('#' if c.isdigit() else c for c in self.what)[:60]}"


@dataclass
class Report:
    """What was seen so far."""

    answered: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    troubles: list[Trouble] = field(default_factory=list)
    slowest: tuple[float, int, int] = (0.0, 0, 0)

    def __str__(self) -> str:
        kinds = len({trouble.mark for trouble in self.troubles})
        seconds, seed, number = self.slowest
        return (
            f"{self.answered.total()} answers, {self.refused.total()} refusals, {len(self.troubles)} troubles"
            f" of {kinds} kinds; slowest {seconds:.1f} s (seed {seed}, question {number})"
        )

    def add(self, other: Report) -> None:
        self.answered += other.answered
        self.refused += other.refused
        self.troubles += other.troubles
        self.slowest = max(self.slowest, other.slowest)

    def seldom_answered(self) -> list[str]:
        """Families that were refused more often than they may be, of those asked often enough to tell."""
        found = []
        for kind, (_, share) in FAMILIES.items():
            asked = self.answered[kind] + self.refused[kind]
            if asked >= 10 and self.answered[kind] < share * asked:
                found.append(f"{kind}: {self.answered[kind]} of {asked} answered, at least {share:.0%} must be")
        return found


@dataclass(frozen=True)
class Place:
    """A world that can be asked: a home, and plain DuckDB."""

    world: World
    rows: int | None
    db: Database
    plain: duckdb.DuckDBPyConnection


@contextmanager
def opened(seed: int, rows: int | None = None) -> Iterator[Place]:
    """The world of a seed, taken into a home of its own for a while."""
    world = made(seed, rows)
    with tempfile.TemporaryDirectory() as folder, plain_of(world) as plain:
        yield Place(world, rows, dp.open(home_of(world, Path(folder))), plain)


def question_of(world: World, number: int) -> Question:
    """A question of a world; it follows from the seed and the number alone."""
    rng = random.Random(f"question {world.seed} {number}")
    kinds = list(FAMILIES)
    family, _ = FAMILIES[kinds[(world.seed + number) % len(kinds)]]
    return spelled(family(Maker(world, rng)), world, rng)


def terms_of(world: World, number: int, question: Question) -> dict[str, Any]:
    """The price, the confidence and the caps of a question."""
    price = random.Random(f"terms {world.seed} {number}").choice(PRICES[world.measure])
    terms: dict[str, Any] = {"delta": "1e-9", "confidence": CONFIDENCE, world.measure: price}
    if question.caps is not None:
        terms |= {"max_rows": question.caps[0], "max_groups": question.caps[1]}
    return terms


def asked(place: Place, number: int, report: Report) -> None:
    """Ask one question of both."""
    question = question_of(place.world, number)
    began, kind = time.monotonic(), question.kind
    ours, theirs, what = "", "", None
    try:
        plain = place.plain.execute(question.plain).fetchall()
        theirs = str(plain)
        answer = place.db.query(question.ours, **terms_of(place.world, number, question))
        ours = f"{answer.rows} {answer.spans}"
        report.answered[kind] += 1
        compare(question, answer, plain, most_rows(place.world, question))
    except Differs as differs:
        what = str(differs)
    except dp.Refusal as refusal:
        report.refused[kind] += 1
        what = None if allowed(refusal.message) else f"refused: {refusal.message}"
    except Exception as broken:  # noqa: BLE001  # whatever it is, it is what is looked for
        last = traceback.extract_tb(broken.__traceback__)[-1]
        what = f"{type(broken).__name__} in {Path(last.filename).name}:{last.lineno}: {broken}"
    if what is not None:
        report.troubles.append(Trouble(place.world.seed, number, place.rows, question, what, ours, theirs))
    report.slowest = max(report.slowest, (time.monotonic() - began, place.world.seed, number))


def most_rows(world: World, question: Question) -> int:
    """How many rows a question can speak of."""
    rows, side = world.sheets[question.rows].rows, world.sheets["side"]
    pairs = (rows + side.rows) * (side.max_rows + world.sheets["main"].max_rows)
    return {"two tables": rows * side.max_rows, "union": rows + side.rows, "sayings": pairs}.get(question.kind, rows)


def run(seed: int, questions: int = QUESTIONS, rows: int | None = None, *, end: float = math.inf) -> Report:
    """Ask a world so many questions, until some moment."""
    report = Report()
    with opened(seed, rows) as place:
        for number in range(questions):
            if time.monotonic() > end:
                break
            asked(place, number, report)
    return report
