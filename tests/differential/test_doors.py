"""The same questions through the doors: dates, moments, truth values, wide numbers and texts arrive as they are."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import duckdb
import psycopg
import pytest
from differential.compare import compare
from differential.files import home_of, plain_of
from differential.maker import COUNT, Maker
from differential.question import Key, Question, asked, spelled
from differential.sheet import World
from differential.world import made
from server.served import Server, served

from discreet.curator.custody import Custody

ROWS, PRICE, CONFIDENCE = 300, "1e15", "0.999999999999"
KINDS = ("days", "moments", "codes", "truths", "texts")


def fit(world: World) -> bool:
    """Whether it has sums of wide whole numbers."""
    wild = world.field("wild")
    return world.measure == "epsilon" and wild.kind == "whole" and wild.reach > 2**53


def questions(world: World) -> list[Question]:
    maker = Maker(world, random.Random(1))
    made_up = [
        asked("days", [COUNT], (Key("v.«day»"),)),
        asked("moments", [COUNT, maker.sum_of("tame")], (Key("date_trunc('day', v.«moment»)"),)),
        asked("codes", [maker.sum_of("wild"), maker.avg_of("wild")], (Key("v.«code»", world.field("code").keys),)),
        asked("truths", [COUNT, maker.count_of("wild")], (Key("v.«flag»", (False, True)),)),
        asked("texts", [COUNT], (Key("v.«key»", world.field("key").keys),), where="v.«day» >= DATE '2024-02-22'"),
    ]
    return [spelled(question, world, maker.rng) for question in made_up]


@dataclass(frozen=True)
class Doors:
    """A world behind both doors, and plain DuckDB."""

    server: Server
    token: str
    plain: duckdb.DuckDBPyConnection
    questions: dict[str, Question]


@pytest.fixture(scope="module")
def doors(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Doors]:
    world = made(next(seed for seed in range(500) if fit(made(seed, 1))), ROWS)
    assert fit(world)
    home = home_of(world, tmp_path_factory.mktemp("doors"))
    token = Custody(home).let_in("ada", "analyst")
    with served(home, doors=("http", "pg")) as server, plain_of(world) as plain:
        yield Doors(server, token, plain, {each.kind: each for each in questions(world)})


@pytest.mark.parametrize("kind", KINDS)
def test_both_doors_say_what_plain_duckdb_says(doors: Doors, kind: str) -> None:
    question = doors.questions[kind]
    terms: dict[str, Any] = {"epsilon": PRICE, "delta": "1e-9", "confidence": CONFIDENCE}
    answer = doors.server.connect(doors.token).query(question.ours, epsilon=PRICE, delta="1e-9", confidence=CONFIDENCE)
    compare(question, answer, doors.plain.execute(question.plain).fetchall(), ROWS)
    where = f"host=127.0.0.1 port={doors.server.pg} dbname=discreet user=ada password={doors.token} sslmode=disable"
    with psycopg.connect(where, autocommit=True) as connection:
        for name, value in terms.items():
            connection.execute(f"SET discreet.{name} = '{value}'")
        rows = connection.execute(question.ours).fetchall()
    assert sorted(rows, key=str) == sorted(answer.rows, key=str)  # bought once, so the same noise
