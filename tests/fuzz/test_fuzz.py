"""A minute of made-up questions, always the same ones; `make fuzz` asks others for an hour."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from fuzz import grammar
from fuzz.campaign import case, variety_of
from fuzz.check import check
from fuzz.neighbours import VARIETIES, Pair

from discreet.curator import Curator
from discreet.engines import Counted, DuckStore
from discreet.errors import Fault, Refusal
from discreet.sql.plan import Measurement

CHUNKS, QUICK, CASES = 8, 1, 26

SAID = (
    " JOIN ", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", ", visits", "NOT IN (SELECT", " IN (SELECT", "EXISTS (",
    "NOT EXISTS", "WITH ", "SELECT DISTINCT", "count(DISTINCT", "FILTER (", "CASE WHEN", "CASE ",
    "OVER (PARTITION", "ROWS BETWEEN", "UNION ALL", " UNION ", "ROLLUP (", "CUBE (", "GROUPING SETS", "GROUPING(",
    "HAVING", "ORDER BY", "LIMIT", "OFFSET", "FETCH FIRST", "> (SELECT", "row_number()", "lag(", "lead(",
    "dense_rank()", "first_value(", "WITHIN GROUP", "median(", "variance(", "stddev_pop(", "abs(", "floor(",
    "ceil(", "round(", "sqrt(", "exp(", "ln(", "power(", "width_bucket(", "BETWEEN", "nullif(", "INTERVAL",
    "least(", "greatest(", "coalesce(", " AND ", " OR ", "NOT ", "IS NULL", "LIKE", "ILIKE", "IS TRUE",
    "IS DISTINCT FROM", "||", "trim(", "left(", "position(", "lower(", "upper(", "length(", "substring(",
    "extract(", "date_trunc(", "CAST(", "::", "/*", "-- ", ";", "LATERAL", "EXCEPT", "patients", "visits", "labs",
    "stays", "bills", "staff", "sensors", "wards", "regions",
)  # fmt: skip

THEIRS = "patient = 9007199254740993"  # somebody who is in one home only
CHOOSY = f"CASE WHEN v.{THEIRS} THEN 'x' END"
BROKEN = [
    # an engine fails on a row of theirs, and nowhere else
    f"SELECT count(*) FROM visits v LEFT JOIN labs l ON v.patient = l.patient AND CASE WHEN l.{THEIRS} THEN 'x' END",
    f"SELECT count(*) FROM visits v LEFT JOIN wards w ON v.ward = w.ward AND {CHOOSY}",
    f"SELECT count(*) FROM visits v WHERE EXISTS (SELECT 1 FROM labs l WHERE l.patient = v.patient AND {CHOOSY})",
    "SELECT count(*) FROM visits v LEFT JOIN labs l ON v.patient = l.patient AND v.day",
    f"SELECT count(*) FROM visits WHERE {THEIRS} AND round(cost, 99999999999) > 1",
    f"SELECT count(*) FROM visits WHERE {THEIRS} AND round(cost, 1e300) > 1",
    f"SELECT count(*) FROM visits WHERE {THEIRS} AND day + INTERVAL '9999999' MONTH > day",
    f"SELECT count(*) FROM visits WHERE {THEIRS} AND day - INTERVAL '9999999999' MONTH > day",
    # refused after something was paid
    "SELECT count(*) FROM visits WHERE cost > (SELECT exp(sum(cost)) FROM visits)",
    "SELECT count(*) FROM visits WHERE cost > (SELECT ln(-1 * count(*)) FROM visits)",
    # another price than was asked for
    "SELECT count(*) FROM labs WHERE value > (SELECT count(*) FROM bills) GROUP BY GROUPING SETS ((test), (test))",
    "SELECT sex, count(*) FROM patients WHERE age > (SELECT count(*) FROM visits) GROUP BY ROLLUP (sex)",
    # paid, then nothing: what fails above the noise was not seen before
    "SELECT count(*) % 0 FROM visits",
    "SELECT count(*) * 9223372036854775807 FROM visits",
    "SELECT CAST(sum(cost) * 1e300 AS bigint) FROM visits",
    "SELECT CAST(count(*) AS uuid) FROM visits",
    "SELECT CAST(region AS date), count(*) FROM visits GROUP BY region",
    "SELECT count(*), (SELECT region FROM visits GROUP BY region) FROM labs",
    "SELECT region, count(*) FROM visits GROUP BY region OFFSET (SELECT count(*) - 10000 FROM labs)",
    "SELECT substring('w1', 4611686018427387903), count(*) FROM visits",
    "SELECT k, n FROM (SELECT urgent AS k, count(*) AS n FROM visits GROUP BY 1) t JOIN regions r ON r.region = t.k",
    "SELECT DATE '2024-01-01', count(*) FROM visits UNION ALL SELECT count(*), count(*) FROM labs",
    # no refusal, but a crash
    "SELECT count(*) FROM visits WHERE day > DATE '2024-01-01' + INTERVAL '--5' DAY",
    "SELECT count(*) FROM visits WHERE day > DATE '2024-01-01' + INTERVAL '²' DAY",
    'SELECT count(*) AS "" FROM visits',
    "SELECT DATE '2024-01-01' + CAST(1e7 AS int), count(*) FROM visits",
    "SELECT count(*) FROM visits v WHERE EXISTS (SELECT 1 FROM wards w JOIN regions r ON ward = area WHERE v.urgent)",
    # words of a parser or an engine, and names made on the way
    "SELECT sum(amount) FROM regions r JOIN wards w JOIN bills b ON TRUE ON w.ward = r.region",
    "(",
    "SELECT count(*) FROM visits WHERE cost =",
    "SELECT",
    "SELECT *",
    "SELECT * BY FROM wards",
    "SELECT * GROUP BY 1",
    "SELECT 1/0",
    "SELECT sum(ward) FROM wards",
    "SELECT sum(beds) FROM wards GROUP BY 1",
    "SELECT CAST(ward AS int) FROM wards",
    "SELECT count(*) FROM visits v WHERE v.cost > (SELECT count(*) FROM labs l WHERE l.patient = v.patient)",
    "SELECT sum(LEAST(cost, (SELECT count(*) FROM labs))) FROM visits",
    "SELECT count(*) FROM (SELECT patient FROM visits GROUP BY patient HAVING min(diagnosis) = 5) t",
]


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Pair]]:
    made: dict[str, Pair] = {variety: Pair(tmp_path_factory.mktemp("fuzz"), variety) for variety in VARIETIES}
    yield made
    for each in made.values():
        each.close()


@pytest.fixture
def pair(pairs: dict[str, Pair]) -> Pair:
    return pairs["usual"]


@pytest.mark.parametrize(
    "chunk", [pytest.param(chunk, marks=[pytest.mark.slow] if chunk >= QUICK else []) for chunk in range(CHUNKS)]
)
def test_neighbours_hear_the_same_but_for_the_noise(pairs: dict[str, Pair], chunk: int) -> None:
    seeds = range(1000 * chunk, 1000 * chunk + CASES)
    tried = {seed: case(pairs[variety_of(seed)], seed) for seed in seeds}
    assert [(seed, verdict.failure, text) for seed, (text, verdict) in tried.items() if verdict.failure] == []
    outcomes = Counter(verdict.outcome for _, verdict in tried.values())
    assert outcomes["answered"] >= CASES // 5, outcomes
    assert outcomes["refused"] >= CASES // 10, outcomes


@pytest.mark.parametrize("text", [pytest.param(text, id=text[:90]) for text in BROKEN])
def test_what_once_broke_does_not_break_again(pair: Pair, text: str) -> None:
    assert check(pair, text).failure is None


def test_the_grammar_says_everything() -> None:
    texts = "\n".join(grammar.question(seed) for seed in range(3000))
    assert [word for word in SAID if word not in texts] == []
    assert re.search(r"[^\x00-\x7f]", texts)


def test_a_text_follows_from_its_seed() -> None:
    assert [grammar.question(seed) for seed in range(50)] == [grammar.question(seed) for seed in range(50)]


# what the check must notice -------------------------------------------------------------------------------------------

COUNT = "SELECT count(*) FROM visits"


def test_it_notices_rows_beyond_the_caps(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = DuckStore.counted

    def counted(self: DuckStore, measurement: Measurement) -> Counted:
        return honest(self, replace(measurement, max_rows=1000, max_groups=1000))

    monkeypatch.setattr(DuckStore, "counted", counted)
    for text in (COUNT, "SELECT diagnosis, count(DISTINCT patient) FROM visits GROUP BY 1"):
        failure = check(pair, text).failure
        assert failure is not None
        assert failure.kind == "leak"


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("unlike", lambda home: Refusal(f"there are {home} rows")),
        ("engine words", lambda _: Refusal("Binder Error: no such column")),
        ("misplaced", lambda _: Refusal("no", place=(5, 5000))),
        ("bad repair", lambda _: Refusal("no", repair="SELECT cost FROM visits")),
        ("fault", lambda _: Fault()),
        ("crash", lambda _: KeyError("cost")),
    ],
)
def test_it_notices_what_may_not_be_said(
    pair: Pair, monkeypatch: pytest.MonkeyPatch, kind: str, said: Callable[[int], Exception]
) -> None:
    honest = Curator._question

    def question(self: Curator, sql: str, *given: object) -> object:
        if sql == COUNT:
            raise said([curator.ledger for curator in pair.curators].index(self.ledger))
        return honest(self, sql, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(Curator, "_question", question)
    failure = check(pair, COUNT).failure
    assert failure is not None
    assert failure.kind == kind
