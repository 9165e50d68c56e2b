"""A question that was asked before is answered at once, in the words that a thread would have brought."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from server.pgwire.door import Door, opened
from server.pgwire.raw import Raw, errors, rows

from discreet.curator.custody import Custody
from discreet.desk import Visitor
from discreet.server.fair_share import Pool

COUNT = "SELECT count(*) AS n FROM visits"
MEANS = "SELECT region, count(*), avg(cost) AS a FROM public.visits GROUP BY region ORDER BY region"


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Door]:
    with opened(tmp_path) as found:
        yield found


@pytest.fixture
def fetched(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """For whom a thread did something."""
    seen: list[str] = []
    asked = Pool.asked

    async def noted(pool: Pool, who: Visitor, blocking: Callable[[], object]) -> object:
        seen.append(who.name)
        return await asked(pool, who, blocking)

    monkeypatch.setattr(Pool, "asked", noted)
    return seen


@pytest.mark.parametrize("sql", [COUNT, MEANS])
def test_it_is_said_without_a_thread_and_is_the_same(own: Door, fetched: list[str], sql: str) -> None:
    with Raw(own.port) as ana:
        ana.login(own.token)
        paid, free = ana.ask(sql), ana.ask(sql)
        before = len(fetched)
        assert ana.ask(sql) == free
        assert len(fetched) == before > 0
        assert rows(free) == rows(paid)
        ana.ask("SET discreet.epsilon = 30")  # more than was paid: another answer
        assert rows(ana.ask(sql))
        assert len(fetched) > before
    told = [json.loads(line) for line in own.journal]
    assert [line["outcome"] for line in told if line["event"] == "question"] == ["answered", "free", "free", "answered"]
    assert len({line["entry"] for line in told if line["event"] == "question"}) == 2


def test_it_is_said_to_nobody_who_was_shut_out(own: Door, fetched: list[str]) -> None:
    with Raw(own.port) as ana:
        ana.login(own.token)
        for _ in range(3):
            assert rows(ana.ask(COUNT))
        before = len(fetched)
        assert rows(ana.ask(COUNT))
        assert len(fetched) == before
        Custody(own.home).shut_out("ana")
        (error,) = errors(ana.ask(COUNT))
        assert error["M"].startswith("your token does not let you in any more")


def test_it_is_said_to_nobody_else_who_may_not_ask_about_the_table(own: Door, fetched: list[str]) -> None:
    token = Custody(own.home).let_in("bob", "analyst", tables=[])
    with Raw(own.port) as ana, Raw(own.port) as bob:
        ana.login(own.token)
        bob.login(token, user="bob")
        for _ in range(3):
            assert rows(ana.ask(COUNT))
        before = len(fetched)
        (error,) = errors(bob.ask(COUNT))
        assert error["C"] == "42P01"
        assert len(fetched) > before


def test_error_bars_that_are_wanted_and_terms_that_are_wrong_are_not_passed_over(own: Door) -> None:
    with Raw(own.port) as ana:
        ana.login(own.token)
        for _ in range(3):
            assert len(rows(ana.ask(COUNT))[0]) == 1
        ana.ask("SET discreet.intervals = on")
        assert len(rows(ana.ask(COUNT))[0]) == 3
        ana.ask("RESET discreet.intervals; SET discreet.epsilon = 1; SET discreet.rho = 1")
        assert errors(ana.ask(COUNT))
