"""What people write in more than one way has the answer of plain DuckDB, said in its words where it has others."""

from __future__ import annotations

import re
from collections.abc import Iterator

import duckdb
import hospital
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.curator import Curator
from discreet.errors import Refusal
from discreet.sql.text_pattern import check_pattern

OURS = """
SELECT count(*) FROM visits WHERE diagnosis ~ '^d[1-3]$';
SELECT count(*) FROM visits WHERE diagnosis ~* 'D(1|2)';
SELECT count(*) FROM visits WHERE diagnosis !~ '5$';
SELECT count(*) FROM visits WHERE regexp_matches(ward, 'w\\d');
SELECT count(*) FROM visits WHERE diagnosis SIMILAR TO 'd(1|2)%';
SELECT count(*) FROM visits WHERE right(diagnosis, 1) = '5' AND starts_with(ward, 'w') AND contains(region, 'o');
SELECT concat(region, '-', ward) AS k, count(*) FROM visits GROUP BY k ORDER BY k;
SELECT to_char(day, 'YYYY-MM') AS m, count(*) FROM visits GROUP BY m ORDER BY m;
SELECT to_char(day, 'Mon') AS m, count(*) FROM visits GROUP BY m ORDER BY m;
SELECT to_char(day, 'Dy') AS m, count(*) FROM visits GROUP BY m ORDER BY m;
SELECT to_char(taken, 'MM "m"') AS m, count(*) FROM labs GROUP BY m ORDER BY m;
SELECT dayname(day) AS d, count(*) FROM visits GROUP BY d ORDER BY d;
SELECT year(day), dayofweek(day), count(*) FROM visits GROUP BY 1, 2 ORDER BY 1, 2;
SELECT month(day), count(*) FROM visits GROUP BY 1 ORDER BY 1;
SELECT last_day(day) AS d, count(*) FROM visits GROUP BY d ORDER BY d;
SELECT count(*) FROM visits WHERE day >= date_sub(DATE '2025-01-01', INTERVAL 3 MONTH);
SELECT count(*) FROM visits WHERE datediff('day', DATE '2024-03-01', day) > 100;
SELECT count(*) FROM labs WHERE taken > strptime('2024-05-01 12', '%Y-%m-%d %H');
SELECT count(*) FROM visits WHERE day < make_date(2024, 6, 30);
SELECT avg(log(cost + 1)), avg(log(2, age_less)) FROM (SELECT cost, cost + 2 AS age_less FROM visits) t;
SELECT avg(cos(cost)), avg(sin(cost)), avg(atan(cost)), sum(sign(cost - 100)) FROM visits;
SELECT avg(radians(cost)), pi() * count(*) FROM visits;
SELECT sum(trunc(cost)) FROM visits;
SELECT count_if(urgent), count(*) FILTER (WHERE urgent) FROM visits;
SELECT if(cost > 100, 'dear', 'cheap') AS k, count(*) FROM visits GROUP BY k ORDER BY k;
SELECT region, urgent, count(*) FROM visits GROUP BY ALL ORDER BY 1, 2;
SELECT count(*) FROM visits WHERE region = ANY (ARRAY['north', 'south']);
SELECT count(*) FROM visits WHERE region <> ALL (ARRAY['north', 'south']);
SELECT region, n, ntile(2) OVER (ORDER BY n DESC, region) FROM (SELECT region, count(*) AS n FROM visits GROUP BY region
) t ORDER BY region;
SELECT region, percent_rank() OVER (ORDER BY count(*)), cume_dist() OVER (ORDER BY count(*)) FROM visits GROUP BY region
ORDER BY region;
SELECT region, count(*) AS n FROM visits GROUP BY region QUALIFY row_number() OVER (ORDER BY count(*) DESC, region) <= 2
ORDER BY n, region;
WITH u AS (SELECT * FROM visits WHERE urgent) SELECT region, count(*) AS n FROM u GROUP BY region QUALIFY rank() OVER
(ORDER BY n DESC) < 3 ORDER BY region LIMIT 1;
SELECT k.r, count(v.patient) FROM (VALUES ('north'), ('nowhere')) k(r) LEFT JOIN visits v ON v.region = k.r GROUP BY k.r
ORDER BY k.r;
SELECT count(*) FROM (visits v JOIN (VALUES ('north', 1), ('south', 2)) k(r, n) ON v.region = k.r) WHERE k.n = 2;
SELECT count(*) FROM visits WHERE region IN (SELECT r FROM (VALUES ('north'), ('east')) k(r));
SELECT var_samp(cost) FROM visits;
"""
# What DuckDB has no word for, or another one.
WORDS = {
    "SELECT var(cost) FROM visits": "SELECT var_samp(cost) FROM visits",
    "SELECT every(urgent) FROM (SELECT count(*) > 3 AS urgent FROM visits GROUP BY region) t": "SELECT true",
    "SELECT sum(cost::numeric(12, 1)) FROM visits": "SELECT sum(round(cost, 1)) FROM visits",
    "SELECT approx_count_distinct(diagnosis) FROM visits": "SELECT count(DISTINCT diagnosis) FROM visits",
    "SELECT g, count(patient) FROM generate_series(20, 24, 2) g LEFT JOIN patients ON age = g GROUP BY g ORDER BY 1": (
        "SELECT g, count(age) FROM (VALUES (20), (22), (24)) k(g) LEFT JOIN patients ON age = g GROUP BY 1 ORDER BY g"
    ),
}
DUCKDB = (
    (r"to_char\((\w+), 'YYYY-MM'\)", r"strftime(\1, '%Y-%m')"),
    (r"to_char\((\w+), 'Mon'\)", r"strftime(\1, '%b')"),
    (r"to_char\((\w+), 'Dy'\)", r"strftime(\1, '%a')"),
    (r"to_char\((\w+), 'MM \"m\"'\)", r"strftime(\1, '%m m')"),
    (r"!~ '5\$'", "NOT LIKE '%5'"),
    (r"(\w+) ~\* '([^']*)'", r"regexp_matches(\1, '\2', 'i')"),
    (r"(\w+) ~ '([^']*)'", r"regexp_matches(\1, '\2')"),
    (r"SIMILAR TO 'd\(1\|2\)%'", "SIMILAR TO 'd(1|2).*'"),
    (r"date_sub\((.*?), (INTERVAL 3 MONTH)\)", r"(\1 - \2)"),
    (r"concat\((\w+), '-', (\w+)\)", r"coalesce(\1, '') || '-' || coalesce(\2, '')"),
)
ASKED = [sql for texts in hospital.listed("-- all\n" + OURS).values() for sql in texts]

Beside = tuple[Curator, duckdb.DuckDBPyConnection]


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Beside]:
    with hospital.beside() as plain:
        yield Curator(hospital.home(tmp_path_factory.mktemp("synonyms") / "home")), plain


def _in_duckdb(sql: str) -> str:
    for pattern, put in DUCKDB:
        sql = re.sub(pattern, put, sql)
    return sql


@pytest.mark.parametrize("sql", ASKED)
def test_the_answer_is_that_of_plain_duckdb(asked: Beside, sql: str) -> None:
    curator, plain = asked
    theirs = plain.execute(_in_duckdb(sql)).fetchall()
    assert theirs, "the text compares nothing"
    assert not hospital.unlike(hospital.exactly(curator, sql), theirs, 1e-5)


@pytest.mark.parametrize("sql", WORDS)
def test_the_answer_is_what_its_words_mean(asked: Beside, sql: str) -> None:
    curator, plain = asked
    assert not hospital.unlike(hospital.exactly(curator, sql), plain.execute(WORDS[sql]).fetchall(), 1e-5)


def test_columns_are_called_as_they_were_written(asked: Beside) -> None:
    sql = "SELECT concat(region, 'x'), right(region, 1), log(count(*)), var(cost) FROM visits GROUP BY 1, 2"
    assert asked[0].describe(sql, epsilon=1)[2:] == (("log", "double"), ("var", "double"))
    assert [name for name, _ in asked[0].describe(sql, epsilon=1)][:2] == ["concat", "right"]


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("SELECT count(*) FROM visits WHERE diagnosis ~ ward", "pattern must be a text in quotes"),
        ("SELECT count(*) FROM visits WHERE diagnosis ~ 'a{1000}'", "from character 2 on"),
        ("SELECT count(*) FROM visits WHERE diagnosis ~ '(a'", "cannot be read"),
        ("SELECT count(*) FROM visits WHERE diagnosis SIMILAR TO '[d_]1'", "text ~ 'pattern' is"),
        ("SELECT to_char(day, ward), count(*) FROM visits GROUP BY 1", "not a constant"),
        ("SELECT to_char(day, 'YYYY Q'), count(*) FROM visits GROUP BY 1", "not supported"),
        ("SELECT to_char(day, 'SSSS'), count(*) FROM visits GROUP BY 1", "not supported"),
        ("SELECT to_char(cost, '999'), count(*) FROM visits GROUP BY 1", "takes a date or a timestamp"),
        ("SELECT avg(log(cost, 3)) FROM visits", "base is a constant"),
        ("SELECT count(*) FROM generate_series(1, 2000000000) g(g)", "2000000000 rows"),
        ("SELECT count(*) FROM generate_series(1, 5, 0) g(g)", "constant whole numbers"),
        ("SELECT count(*) FROM generate_series(5, 1) g(g)", "has 0 rows"),
        ("SELECT count(*) FROM generate_series(1, 100000000000000000000000) g(g)", "00 rows"),
        ("SELECT g FROM (VALUES (1, 2), (3)) k(g)", "as many values"),
        ("SELECT * FROM visits QUALIFY row_number() OVER (ORDER BY day) = 1", "not supported here"),
        ("SELECT count(*) FROM visits WHERE day < make_date(2024, 2, 30)", "is no date"),
    ],
)
def test_what_has_no_meaning_here_is_refused_by_name(asked: Beside, sql: str, said: str) -> None:
    with pytest.raises(Refusal) as refused:
        asked[0].explain(sql, epsilon=1, delta="1e-9")
    assert said in f"{refused.value.message} {refused.value.hint}"


def test_an_infinite_number_has_no_cosine(asked: Beside) -> None:
    """`weight` holds NaN and infinities."""
    ((ours,),) = hospital.exactly(asked[0], "SELECT count(cos(weight)) FROM patients")
    ((theirs,),) = asked[1].execute("SELECT count(*) FROM patients WHERE isfinite(weight)").fetchall()
    assert ours == theirs


@given(st.text(alphabet="ab01 .^$*+?()[]|\\-dwsZ{}:", max_size=12))
def test_a_pattern_that_passes_is_one_to_the_engine(pattern: str) -> None:
    try:
        check_pattern(pattern, "here")
    except Refusal:
        return
    with duckdb.connect() as engine:
        engine.execute("SELECT regexp_matches('ab', ?, 's')", [pattern]).fetchall()


@pytest.mark.parametrize(
    "pattern", ["a(b|c)*d?", "^[^0-9a-f_-]+$", "\\d+\\.\\d\\d", "(?:x|y)z", "a.*?b", "", "[\\]\\w]"]
)
def test_patterns_that_people_write_pass(pattern: str) -> None:
    check_pattern(pattern, "here")
