"""CURRENT_DATE and now() become constants before a question is looked up, and nothing else in it changes."""

from __future__ import annotations

import datetime as dt

import pytest

from discreet.sql.present_moment import bound

NOW = dt.datetime(2026, 2, 3, 4, 5, 6, 789, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("day > CURRENT_DATE - 7", "day > DATE '2026-02-03' - 7"),
        ("at > now() - INTERVAL '1 hour'", "at > TIMESTAMP '2026-02-03 04:05:00' - INTERVAL '1 hour'"),
        ("at > Now ( ), current_timestamp", "at > TIMESTAMP '2026-02-03 04:05:00', TIMESTAMP '2026-02-03 04:05:00'"),
        ("SELECT localtimestamp", "SELECT TIMESTAMP '2026-02-03 04:05:00'"),
    ],
)
def test_what_means_this_moment_is_written_out(written: str, meant: str) -> None:
    assert bound(written, NOW) == meant


@pytest.mark.parametrize(
    "sql",
    [
        "x = 'CURRENT_DATE' AND y = 'now()'",
        'SELECT "current_date", "now" FROM t',
        "SELECT t.now, count(*) AS current_date FROM t",
        "SELECT now FROM t -- CURRENT_DATE",
        "SELECT now( FROM t WHERE x = 'open",
        "SELECT known, snow() FROM t",
    ],
)
def test_what_only_looks_like_it_stays(sql: str) -> None:
    assert bound(sql, NOW) == sql


def test_one_minute_asks_one_question() -> None:
    sql = "SELECT count(*) FROM t WHERE at > now()"
    later = NOW.replace(second=59)
    assert bound(sql, NOW) == bound(sql, later)
    assert bound(sql, NOW) != bound(sql, NOW + dt.timedelta(minutes=1))
