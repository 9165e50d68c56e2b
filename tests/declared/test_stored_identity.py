"""Digests that ledgers hold of a table, questions, a run and releases: what they were before, to the letter."""

from __future__ import annotations

import hashlib
from fractions import Fraction
from pathlib import Path

import clinic
import pytest

from discreet.curator import catalogue
from discreet.curator.catalogue import declaration
from discreet.curator.run import Wanted, planned
from discreet.declared.column import Column
from discreet.declared.group_key import Type
from discreet.declared.table import Schema, Table
from discreet.desk.release_store import ReleaseOrder
from discreet.mechanisms import Grid, Mean
from discreet.release import Wish
from discreet.sql.split_at_noise import question, rows_of

QUESTIONS = {
    "SELECT region, count(*), sum(cost), avg(cost), stddev(cost), median(cost) FROM visits GROUP BY region": (
        "ca9e057e7ba7d2e7b90dc1b910d9f4da1ce93feb4d6bc110deee6324161d0844"
    ),
    "SELECT sum(LEAST(cost / 3, 100)) FROM visits WHERE day > DATE '2024-01-05'": (
        "624daec59a88589d49e2f5a9a06b91e47d0da3f2dd5507e23a11b88d34bfa48a"
    ),
    "SELECT avg(c) FROM (SELECT patient, sum(cost) AS c, min(day) AS d FROM visits GROUP BY patient) t": (
        "25db78feef3b8b831697635f3e7ae4b1d997d072b25d5204bac27fd9e0cd98cb"
    ),
    "SELECT c.chapter, count(*) FROM visits v JOIN codes c ON v.diagnosis = c.code GROUP BY c.chapter": (
        "148f76271a1408522133b3ba95892eb5aae5db0a1d437776433bd9e0928271d4"
    ),
    "SELECT avg(cost) FROM (SELECT *, row_number() OVER (PARTITION BY patient ORDER BY day DESC) AS k FROM visits) t "
    "WHERE k = 1": "d809b4f75e8e61784e4c023fc5a3d3435be603663df52f1e846b403e53116ea7",
}
CODES = Table("codes", (Column("code", Type.VARCHAR), Column("chapter", Type.VARCHAR)))
TABLE = "e94deb926e91324cf9830e0acc62febec6b6151b86837887b003020427d6dd9c"
RUN = "b2ad23ecc6e5443fc46740443edc465f3a49a03c45bbafbbeda04d3126819e76"
WISHES = {
    "histogram": (
        Wish.of("histogram", ("cost",), epsilon=1),
        "f2fe2a4d7919eb1b01236bf7a05ec7f3b2ea433ddac6308ab7dfd0d5c9104d89",
    ),
    "ranges": (
        Wish.of("ranges", ("cost",), epsilon=1, bins={"cost": "0:1000:25"}),
        "15845497d5ed13540aa71aeef930422b373a1b679c29c384d214b38aa0d5e696",
    ),
    "marginals": (
        Wish.of("marginals", ("region", "urgent", "cost"), epsilon=1),
        "09b5983d6f1203e428cb184d3bb2978f7c9e9c0c87cbe9b2393df09230704e03",
    ),
}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return clinic.home(tmp_path_factory.mktemp("identity") / "home", describe={"region": "where"})


def test_a_table_keeps_its_digest(home: Path) -> None:
    assert declaration(catalogue.read(home).tables["visits"]) == TABLE


@pytest.mark.parametrize(("sql", "key"), QUESTIONS.items())
def test_a_question_keeps_its_key(sql: str, key: str) -> None:
    parts = question(sql, Schema({**clinic.schema().tables, "codes": CODES})).parts
    assert hashlib.sha256("".join(part.measurement.question for part in parts).encode()).hexdigest() == key


def test_a_run_keeps_its_key(home: Path) -> None:
    known, sql = (
        catalogue.read(home),
        "SELECT region, urgent, cost, sqrt(cost) AS root, day FROM visits WHERE cost < 100.005",
    )
    mechanism = Mean.of(Grid(0, 100, "0.01"), Fraction(1, 10))
    what = planned(known, Wanted(sql, lambda _: mechanism, 3), rows_of(sql, known.schema), lambda _: None)
    assert what.question == RUN


@pytest.mark.parametrize("kind", WISHES)
def test_a_release_keeps_its_key(home: Path, kind: str) -> None:
    wish, key = WISHES[kind]
    known, wanted = catalogue.read(home), ReleaseOrder.of("visits", wish).wanted
    what = planned(known, wanted, rows_of(wanted.sql, known.schema), lambda _: None)
    assert what.question == key
