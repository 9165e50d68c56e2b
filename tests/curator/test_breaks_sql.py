"""What a second attack on the way from SQL to noise found, each closed and kept closed."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import clinic
import duckdb
import pyarrow as pa
import pytest
import template
from doubles import Seeded

from discreet.curator import Curator, Terms
from discreet.curator.custody import Custody, Declared
from discreet.errors import Refusal
from discreet.privacy import Approximate
from discreet.sql.split_at_noise import question
from discreet.sql.value_range import Range, greatest, least

WARDS = pa.table({"ward": ["w1", "w2"], "beds": [10, 20]})


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return template.home(tmp_path / "home", make, "visits and wards")


def make(folder: Path) -> None:
    Custody(clinic.home(folder, epsilon=10**9)).add("wards", WARDS, Declared(public=True))


def exact(curator: Curator, sql: str) -> list[tuple[object, ...]]:
    """The answer with so little noise that there is none."""
    asked = Terms(epsilon=10**6, delta="1e-5", fresh=True)
    return list(curator._answer(sql, asked, curator._store, Seeded(1)).rows)


def test_a_part_of_a_date_is_one_of_ours_and_not_sql(home: Path) -> None:
    inner = "year FROM DATE '2020-01-01') FROM WARDS; SELECT MAX(PATH) FROM DUCKDB_DATABASES() --"
    file = next((home / "tables").glob("wards.*.duckdb"))
    before = file.read_bytes()
    for source in ("wards", "visits"):
        with pytest.raises(Refusal):
            Curator(home).query(f"""SELECT extract("{inner}" FROM DATE '2020-01-01') AS a FROM {source}""")
    assert file.read_bytes() == before


@pytest.mark.parametrize("name", ["#unit", "#UNIT", "#0", "#other", "#x0"])
def test_no_name_of_a_question_is_one_of_ours(home: Path, name: str) -> None:
    for sql in (
        f'SELECT sum("{name}") FROM (SELECT cost AS "{name}" FROM visits) t',
        f'WITH "{name}" AS (SELECT 1 AS value_0) SELECT count(*) FROM visits, "{name}"',
        f'SELECT count(*) FROM visits "{name}"',
    ):
        with pytest.raises(Refusal, match="begin with"):
            Curator(home).query(sql, epsilon="1e-9")
    assert Curator(home).budget("patient").spent == Approximate(0, 0)


def test_a_query_of_with_never_stands_in_for_a_noisy_table(home: Path) -> None:
    sql = """WITH part_0 AS (SELECT 1 AS value_0, 2 AS n) SELECT a.value_0, b.n
             FROM part_0 a, (SELECT count(*) AS n FROM visits) b"""
    ((one, number),) = exact(Curator(home), sql)
    assert one == 1
    assert number == clinic.visits().num_rows


@pytest.mark.parametrize("reserved", ["#unit", "#"])
def test_no_column_of_a_source_is_named_like_ours(tmp_path: Path, reserved: str) -> None:
    folder = clinic.home(tmp_path / "home")
    with pytest.raises(Refusal, match="cannot be called"):
        Custody(folder).add("odd", pa.table({"patient": [1], reserved: [2]}), Declared(unit="patient", max_rows=1))


def test_a_source_s_collation_merges_neither_keys_nor_people(tmp_path: Path) -> None:
    source = tmp_path / "source.duckdb"
    with duckdb.connect(str(source)) as made:
        made.execute("CREATE TABLE t (who VARCHAR COLLATE NOCASE, region VARCHAR COLLATE NOCASE)")
        made.execute("INSERT INTO t SELECT 'p' || i, 'North' FROM range(50) s(i)")
        made.execute("INSERT INTO t VALUES ('P1', 'NORTH')")
    folder = clinic.home(tmp_path / "home")
    said = Declared(unit="who", epsilon=10**9, max_rows=2, keys={"region": ["North"]})
    Custody(folder).add("t", f"{source}::t", said)
    curator = Curator(folder)
    assert exact(curator, "SELECT region, count(*) FROM t GROUP BY region") == [("North", 50)]
    assert exact(curator, "SELECT count(DISTINCT who) FROM t") == [(51,)]


def test_people_whose_numbers_a_double_cannot_tell_apart_stay_two(tmp_path: Path) -> None:
    source = tmp_path / "source.duckdb"
    with duckdb.connect(str(source)) as made:
        made.execute(
            "CREATE TABLE t AS SELECT CAST(100000000000000000 + i AS DECIMAL(20, 0)) AS who FROM range(9) s(i)"
        )
    folder = clinic.home(tmp_path / "home")
    with pytest.raises(Refusal, match="two people could become one"):
        Custody(folder).add("t", f"{source}::t", Declared(unit="who", epsilon=10**9, max_rows=2))
    Custody(folder).add("t", f"{source}::t", Declared(unit="who", types={"who": "varchar"}, epsilon=10**9, max_rows=2))
    assert exact(Curator(folder), "SELECT count(DISTINCT who) FROM t") == [(9,)]


def test_a_number_that_is_not_spelled_exactly_is_nobody(tmp_path: Path) -> None:
    rows = tmp_path / "rows.csv"
    rows.write_text("who\n1\n1.4\n01\n2\n2.0\n", encoding="utf-8")
    folder = clinic.home(tmp_path / "home")
    Custody(folder).add("t", rows, Declared(unit="who", types={"who": "bigint"}, epsilon=10**9, max_rows=9))
    assert exact(Curator(folder), "SELECT count(*), count(DISTINCT who) FROM t") == [(3, 2)]


def test_wide_caps_do_not_run_out_of_memory_with_the_number_of_people(tmp_path: Path) -> None:
    people = 9000
    rows = pa.table({"who": [i // 2 for i in range(2 * people)], "g": [f"g{i % 40}" for i in range(2 * people)]})
    folder = clinic.home(tmp_path / "home")
    Custody(folder).add("t", rows, Declared(unit="who", epsilon=10**9, delta="0.01", max_rows=9, max_groups=10_000))
    found = exact(Curator(folder), "SELECT g, count(*) FROM t GROUP BY g")
    assert sum(int(str(row[1])) for row in found) == 2 * people


@pytest.mark.parametrize(
    "expression",
    [
        "cost " + "".join(f"+ NULLIF({'NULLIF(' * 18}cost{', 1)' * 18}, 2)" for _ in range(2)),
        "CAST(" * 18 + "day" + " AS TIMESTAMP) AS DATE)".replace(" AS TIMESTAMP)", " AS VARCHAR)") * 9,
        "CASE CASE CASE cost WHEN 1 THEN 2 WHEN 2 THEN 3 END WHEN 2 THEN 3 WHEN 3 THEN 4 END WHEN 3 THEN 4 END",
    ],
)
def test_a_short_question_is_planned_or_refused_but_never_grows_without_end(expression: str) -> None:
    sql = f"SELECT count(*) FROM visits WHERE ({expression}) IS NOT NULL"
    try:
        (part,) = question(sql, clinic.schema()).parts
    except Refusal:
        return
    assert len(repr(part.measurement)) < 10**6


def test_layers_that_double_each_other_are_refused() -> None:
    layers = ["t0 AS (SELECT patient, cost FROM visits)"]
    layers += [f"t{i} AS (SELECT patient, cost + cost AS cost FROM t{i - 1})" for i in range(1, 20)]
    with pytest.raises(Refusal, match="too many times over"):
        question(f"WITH {', '.join(layers)} SELECT count(*) FROM t19 WHERE cost > 1", clinic.schema())


def test_an_average_leaves_out_what_is_no_number_from_both_its_halves(tmp_path: Path) -> None:
    day = clinic.START
    rows = [(i, "north", "d", 900.0 if i % 2 else float("nan"), day, True) for i in range(1000)]
    curator = Curator(clinic.home(tmp_path / "home", clinic.table(rows), epsilon=10**9))
    ((mean, spread, count),) = exact(curator, "SELECT avg(cost), var_pop(cost), count(cost) FROM visits")
    assert (mean, spread, count) == (pytest.approx(900, abs=0.01), 0.0, 500)


def test_the_range_of_the_least_knows_that_null_is_skipped() -> None:
    few, huge, nought = (
        Range(Fraction(-5), Fraction(7)),
        Range(Fraction(10**17), Fraction(10**17)),
        Range(Fraction(0), Fraction(0)),
    )
    hundred = Range(Fraction(100), Fraction(100))
    assert least([few, huge], [False, True]) == Range(Fraction(-5), Fraction(10**17))
    assert least([few, huge], [False, False]) == Range(Fraction(-5), Fraction(10**17))
    above = greatest([Range(), nought], [False, True])
    assert above == Range(Fraction(0), None)
    assert least([above, hundred], [False, True]) == Range(Fraction(0), Fraction(100))


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT max(cost, patient) FROM visits",
        "SELECT count(patient, region) FROM visits",
        "SELECT count(*) FROM visits WHERE cost BETWEEN SYMMETRIC 10 AND 1",
        "SELECT count(*) FROM visits WHERE date_trunc('day', day, 'x') > DATE '2024-01-01'",
        "SELECT count(*) FROM visits WHERE CAST(day AS TIMESTAMP) > '2024-01-01 00:00:00+05:00'",
        "SELECT sum(cost ORDER BY day) FROM visits",
    ],
)
def test_what_would_be_ignored_is_refused(home: Path, sql: str) -> None:
    with pytest.raises(Refusal):
        Curator(home).query(sql, epsilon="0.1")


@pytest.mark.parametrize("word", ["IS NOT NULL", "NOT LIKE '%th'", "IS NOT TRUE"])
def test_a_not_inside_an_operator_is_heard(home: Path, word: str) -> None:
    column = {"IS NOT NULL": "cost", "NOT LIKE '%th'": "region", "IS NOT TRUE": "urgent"}[word]
    sql = f"SELECT count(*) FROM visits WHERE {column} {word}"
    plain = duckdb.connect()
    plain.register("visits", clinic.visits())
    assert exact(Curator(home), sql) == plain.execute(sql).fetchall()


@pytest.mark.parametrize(
    "number",
    ["count(*)", "count(1)", "sum(w.beds)", "sum(COALESCE(v.cost, 5))", "sum(CASE WHEN v.cost IS NULL THEN 1 END)"],
)
def test_public_rows_that_are_kept_are_not_counted_as_people(home: Path, number: str) -> None:
    sql = f"SELECT w.ward, {number} FROM wards w LEFT JOIN visits v ON v.diagnosis = w.ward GROUP BY w.ward"
    with pytest.raises(Refusal, match="no private row fits"):
        Curator(home).query(sql, epsilon="0.1")
    with pytest.raises(Refusal, match="the join keeps"):
        Curator(home).query(
            """SELECT w.ward, count(v.patient) FROM wards w LEFT JOIN visits v ON v.diagnosis = w.ward
               WHERE v.patient IN (SELECT patient FROM visits WHERE urgent) GROUP BY w.ward""",
            epsilon="0.1",
        )
