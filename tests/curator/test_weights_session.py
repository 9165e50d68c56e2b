"""Multiplicative weights online, asked in SQL at every door: which cells a question counts, what a kill leaves."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import clinic
import duckdb
import numpy as np
import pytest
from commandline import discreet
from curator.sessions import events, opened, sessions, spent
from curator.test_session_kills import Killed, killing
from house.test_session_tenant import door

import discreet as dp
from discreet.curator import Curator
from discreet.curator.custody import Custody
from discreet.curator.domain_cells import counted_cells
from discreet.curator.quote import Terms
from discreet.curator.sessions import scalar
from discreet.errors import OverBudget, Refusal
from discreet.ledger import StoredAnswer
from discreet.mechanisms import Answered, OnlineWeights
from discreet.mechanisms.weights_histogram import chosen

DOMAIN = (
    ("region", *clinic.REGIONS),
    ("urgent", "false", "true"),
    ("cost", "100", "300", "500", "700", "900"),
    ("day", "2024-06-30", "2025-06-30"),
)
SIZE = 60
MUCH = Fraction(10**5)
SURE = OnlineWeights(DOMAIN, MUCH, MUCH, MUCH, 10, 300, hard=5, sensitivity=50, questions=60)
ALL = clinic.COUNT
NORTH = "SELECT count(*) FROM visits WHERE region = 'north'"
PRICE = 3 * 10**5


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return clinic.home(tmp_path / "home", epsilon=10**12)


CONDITIONS = [
    "true",
    "region = 'north'",
    "region <> 'north' AND NOT urgent",
    "region IN ('north', 'east') OR cost > 600",
    "cost BETWEEN 200 AND 799.99",
    "cost * 2 > 700 AND upper(region) LIKE 'S%'",
    "day < DATE '2025-01-01'",
    "extract(year FROM day) = 2025 AND coalesce(urgent, false)",
    "CASE WHEN urgent THEN cost > 400 ELSE region = 'east' END",
    "region IS NULL",
]


@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_question_counts_the_cells_that_a_database_would(home: Path, condition: str) -> None:
    sql = f"SELECT count(*) FROM visits WHERE {condition}"
    cells = counted_cells(*scalar(Curator(home).paid_sessions().planned(sql, Terms())), DOMAIN)
    axes = ", ".join(f"(SELECT unnest({list(axis[1:])!r}) AS {axis[0]})" for axis in DOMAIN)
    casts = "region, urgent::BOOLEAN AS urgent, cost::DOUBLE AS cost, day::DATE AS day"
    with duckdb.connect() as plain:
        expected = plain.execute(f"SELECT count(*) FROM (SELECT {casts} FROM {axes}) WHERE {condition}").fetchone()
    assert expected == (int(chosen(cells, SIZE).sum()),)


def test_the_order_of_cells_is_that_of_the_domain(home: Path) -> None:
    sql = "SELECT count(*) FROM visits WHERE region = 'south' AND urgent AND cost > 800 AND day > DATE '2025-01-01'"
    cells = counted_cells(*scalar(Curator(home).paid_sessions().planned(sql, Terms())), DOMAIN)
    assert cells == 1 << int(np.ravel_multi_index((1, 1, 4, 1), (3, 2, 5, 2)))


def test_a_subquery_that_renames_and_computes_is_followed(home: Path) -> None:
    sql = (
        "SELECT count(*) FROM (SELECT cost / 100 AS c, urgent AS u FROM visits WHERE region = 'east') WHERE c > 4 AND u"
    )
    cells = counted_cells(*scalar(Curator(home).paid_sessions().planned(sql, Terms())), DOMAIN)
    assert int(chosen(cells, SIZE).sum()) == 3 * 2


REFUSED = {
    "SELECT sum(cost) FROM visits": "may move this by 50000",
    "SELECT count(cost) FROM visits": "answers counts",
    "SELECT count(*) FROM visits WHERE diagnosis = 'd1'": "columns that the session's domain has not",
    "SELECT count(*) FROM visits v JOIN visits w ON v.patient = w.patient": "may move this by",
    "SELECT count(*) FROM (SELECT patient FROM visits GROUP BY patient) t": "with WHERE and nothing else",
}


@pytest.mark.parametrize("sql", sorted(REFUSED))
def test_what_the_domain_does_not_know_is_refused_and_uses_nothing_up(home: Path, sql: str) -> None:
    session = opened(home, SURE)
    with pytest.raises(Refusal, match=REFUSED[sql]):
        session.ask(sql)
    assert session.status.asked == 0


def test_a_domain_that_the_table_has_not_is_refused_before_it_is_paid(home: Path) -> None:
    for domain, why in (
        ((("nothing", "1"),), "the domain has a column 'nothing'"),
        ((("urgent", "perhaps"),), "not as many different values of type boolean"),
        ((("cost", "1", "1.0"),), "not as many different values of type double"),
    ):
        with pytest.raises(Refusal, match=why):
            opened(home, OnlineWeights(domain, MUCH, MUCH, MUCH, 5, 5))
    assert spent(home) == 0


def test_it_answers_learns_and_closes(home: Path) -> None:
    session, plain = opened(home, SURE), Curator(home)
    assert spent(home) == PRICE
    truth = int(str(plain.query(NORTH, epsilon=10**6).rows[0][0]))
    first = session.ask(NORTH)
    again = session.ask(NORTH)
    assert not again.hard
    assert abs(first.number - truth) <= SURE.error("0.9999999999")
    assert abs(again.number - truth) <= SURE.error("0.9999999999")
    asked = [
        "urgent",
        "cost > 400",
        "cost > 800",
        "day < DATE '2025-01-01'",
        "region = 'east' AND urgent",
        "cost < 0",
        "true",
    ]
    while not session.closed:
        for condition in asked:
            if not session.closed:
                session.ask(f"SELECT count(*) FROM visits WHERE {condition}")
    with pytest.raises(OverBudget, match="is closed"):
        session.ask(ALL)
    said = events(home)[-1]
    assert isinstance(said, StoredAnswer)
    assert said.answer == {"closed": "it is used up", "answers": session.told}
    assert spent(home) == PRICE + 10**6


def test_a_kill_while_it_answers_leaves_the_state_before_or_the_answer_and_never_two(tmp_path: Path) -> None:
    home, seen = clinic.home(tmp_path / "home", epsilon=10**12), set()
    for at in range(100):
        entry = opened(home, SURE).entry
        session = sessions(home).one(entry)
        before = (session.ask(NORTH),)
        with pytest.MonkeyPatch.context() as patch:
            killing(patch, at)
            try:
                session.ask(ALL)
            except Killed:
                pass
            else:
                break
        again = sessions(home).one(entry)
        known = again.answers
        seen.add(len(known))
        answer = again.ask(ALL, number=2)
        assert again.answers == (*before, answer)
        assert known in (before, (*before, answer))
    assert seen == {1, 2}


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_process_that_is_really_killed(home: Path, moment: str) -> None:
    session = opened(home, SURE)
    script = """
import os, signal, sys
from pathlib import Path
from discreet import durable
from discreet.curator import Curator
session = Curator(Path(sys.argv[1])).paid_sessions().one(int(sys.argv[2]))
move = durable.move
def killed(aside, path):
    if sys.argv[3] == "after":
        move(aside, path)
    os.kill(os.getpid(), signal.SIGKILL)
durable.move = killed
session.ask(sys.argv[4], number=1)
"""
    given = [str(home), str(session.entry), moment, NORTH]
    done = subprocess.run([sys.executable, "-c", script, *given], capture_output=True, check=False, env=os.environ)
    assert (done.returncode, done.stdout) == (-signal.SIGKILL, b""), done.stderr
    again = sessions(home).one(session.entry)
    assert again.status.asked == (moment == "after")
    answer = again.ask(NORTH, number=1)
    assert again.ask(NORTH, number=1) == answer
    assert again.status.asked == 1


def test_it_is_opened_and_asked_on_the_command_line(home: Path) -> None:
    given = ["--param", "epsilon=9000", "--param", "records=300", "--param", "sensitivity=50", "--param", "hard=3"]
    domain = ["--param", f"domain={json.dumps(DOMAIN)}"]
    made = discreet(home.parent, "session", "open", "online-weights", "visits", *given, *domain, "--home", str(home))
    assert made.returncode == 0, made.stderr
    entry = made.stdout.split()[-1]
    asked = discreet(home.parent, "session", "ask", entry, NORTH, "--home", str(home))
    assert json.loads(asked.stdout).keys() == {"number", "hard"}
    shown = discreet(home.parent, "session", "show", entry, "--home", str(home), "--format", "json")
    assert json.loads(shown.stdout)["answers"] == [json.loads(asked.stdout)]
    assert spent(home) == 9000


def test_it_is_opened_and_asked_over_http(home: Path) -> None:
    token = Custody(home).let_in("ann", "analyst")
    with door(home) as url:
        there = dp.connect(url, token)
        session = there.open_session(SURE, "visits")
        answer = session.ask(NORTH)
        assert isinstance(answer, Answered)
        assert session.answers == (answer,)
        assert session.mechanism.domain == DOMAIN
    here = dp.open(home).session(session.entry)
    assert here.answers == (answer,)
    assert here.status.mechanism["name"] == "online-weights"
