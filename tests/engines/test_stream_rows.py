"""Where rows are kept and how they are read makes no difference to what they add up to."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path

import clinic
import duckdb
import pyarrow as pa
import pytest

from discreet.curator import Curator, catalogue
from discreet.curator.custody import Custody
from discreet.declared.column import Column
from discreet.declared.grid import Grid
from discreet.declared.table import Schema
from discreet.engines import Counted, DuckStore
from discreet.engines.ingest import MOST_CODES
from discreet.engines.one_pass_bounding import FARTHEST
from discreet.engines.stream_rows import streamed
from discreet.errors import Refusal
from discreet.privacy import Approximate
from discreet.sql import bounding
from discreet.sql.plan import Measurement
from discreet.sql.render import code_name, quoted, steps_name
from discreet.sql.split_at_noise import question

COST = Grid(0, 1000, "0.01")
AWKWARD = [math.nan, math.inf, -math.inf, None, -0.004, 0.005, 999.995, 1000.004, 1e300, -1e300, 333.333]
NUMBERS = "count(*), count(cost), sum(cost), avg(cost)"
QUESTIONS = [
    f"SELECT {NUMBERS} FROM visits",
    f"SELECT region, {NUMBERS} FROM visits GROUP BY region",
    f"SELECT diagnosis, {NUMBERS} FROM visits GROUP BY diagnosis",
    f"SELECT region, diagnosis, {NUMBERS} FROM visits GROUP BY region, diagnosis",
    f"SELECT urgent, diagnosis, {NUMBERS} FROM visits GROUP BY urgent, diagnosis",
    f"SELECT diagnosis, {NUMBERS} FROM visits WHERE cost > 100 AND region <> 'north' GROUP BY diagnosis",
    f"SELECT d, {NUMBERS} FROM (SELECT diagnosis AS d, cost FROM visits WHERE urgent) v GROUP BY d",
    f"SELECT date_trunc('month', day) AS m, {NUMBERS} FROM visits GROUP BY date_trunc('month', day)",
    "SELECT diagnosis, count(DISTINCT patient), count(region) FROM visits GROUP BY diagnosis",
    "SELECT region, sum(cost * 2 - 5), avg(cost), count(cost + 1) FROM visits GROUP BY region",
    "SELECT upper(region) AS r, count(*), sum(LEAST(GREATEST(cost, 100), 200)) FROM visits GROUP BY upper(region)",
    "SELECT DISTINCT diagnosis FROM visits",
]


def awkward(patients: int = 80) -> pa.Table:
    """The clinic, with values that are hard to sum and keys that are not there."""
    rows = [tuple(row.values()) for row in clinic.visits(patients).to_pylist()]
    for place, cost in enumerate(AWKWARD * 3):
        region, diagnosis = (*clinic.REGIONS, "elsewhere", None)[place % 5], ("d1", None, "ünïcode", "")[place % 4]
        rows.append((place % 7, region, diagnosis, cost, clinic.START, place % 2 == 0))
    rows += [(None, "north", "d1", 5.0, clinic.START, True)] * 4
    return clinic.table(rows)


def file(home: Path) -> Path:
    return home / "tables" / "visits.1.duckdb"


def measured(home: Path, sql: str, **caps: int) -> Measurement:
    found = question(sql, catalogue.read(home).schema).parts[0].measurement
    return replace(found, **caps)  # type: ignore[arg-type]


@cache
def store(home: Path) -> DuckStore:
    """The rows of a home that nobody changes any more: opening a file takes longer than counting what it holds."""
    return DuckStore(home / "tables")


def counted(home: Path, measurement: Measurement) -> Counted:
    return store(home).counted(measurement)


def in_sql(home: Path, measurement: Measurement) -> Counted:
    """The same without the stream: by the SQL for rows that are anywhere."""
    with store(home).reading(measurement.rows) as (connection, salt, located):
        rows = connection.execute(bounding.counts(measurement, located, salt)).fetchall()
    width = len(measurement.keys)
    return Counted(
        {tuple(row[:width]): row[width] for row in rows}, {tuple(row[:width]): row[width + 1 :] for row in rows}
    )


def present(numbers: Counted) -> dict[tuple[object, ...], tuple[int, ...]]:
    return {group: row for group, row in numbers.values.items() if any(row) or not row}


def passes(home: Path, measurement: Measurement) -> bool:
    with store(home).reading(measurement.rows) as (_, _, located):
        return streamed(measurement, located, FARTHEST) is not None


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return clinic.home(tmp_path_factory.mktemp("passing") / "home", awkward())


@pytest.mark.parametrize("sql", QUESTIONS)
def test_the_stream_and_sql_agree_where_nothing_is_chosen(home: Path, sql: str) -> None:
    measurement = measured(home, sql)
    assert passes(home, measurement)
    ours, theirs = counted(home, measurement), in_sql(home, measurement)
    assert present(ours) == present(theirs)
    if not measurement.declared:
        assert ours.units == theirs.units


@pytest.mark.parametrize("cap", [5, 1])
@pytest.mark.parametrize("sql", [sql for sql in QUESTIONS if "count(*)" in sql])
def test_where_rows_are_chosen_both_keep_as_many(home: Path, sql: str, cap: int) -> None:
    measurement = measured(home, sql, max_rows=cap)
    ours, theirs = counted(home, measurement), in_sql(home, measurement)
    assert sum(row[0] for row in ours.values.values()) == sum(row[0] for row in theirs.values.values())
    assert present(ours) != present(theirs) or cap > 1  # by another digest


@pytest.mark.parametrize("word", ["median(cost)", "count(DISTINCT cost)", "variance(cost)"])
def test_what_a_stream_does_not_know_takes_the_others_with_it(home: Path, word: str) -> None:
    assert not passes(home, measured(home, f"SELECT region, count(*), {word} FROM visits GROUP BY region"))


@pytest.mark.parametrize("sql", QUESTIONS)
def test_where_groups_are_chosen_both_keep_as_many(home: Path, sql: str) -> None:
    measurement = measured(home, sql, max_groups=2)
    ours, theirs = counted(home, measurement), in_sql(home, measurement)
    if not measurement.declared:
        assert sum(ours.units.values()) == sum(theirs.units.values())


def changed(home: Path, folder: Path, *statements: str) -> Path:
    """A home with the same rows, kept in another way."""
    made = clinic.home(folder / "home", awkward())
    with duckdb.connect(str(file(made))) as connection:
        for statement in statements:
            connection.execute(statement)
        with duckdb.connect(str(file(home)), read_only=True) as first:
            [(salt,)] = first.execute("SELECT salt FROM salt").fetchall()
        connection.execute("UPDATE salt SET salt = ?", [salt])
    return made


OLDER = (
    f"ALTER TABLE rows DROP COLUMN {quoted(steps_name('cost', COST))}",
    *(f"ALTER TABLE rows DROP COLUMN {quoted(code_name(name))}" for name in ("region", "diagnosis")),
    "DROP TABLE codes",
)
RECODED = (
    'UPDATE rows SET "#code diagnosis" = 99 - "#code diagnosis"',
    "UPDATE codes SET code = 99 - code WHERE name = 'diagnosis'",
    (
        "INSERT INTO codes SELECT 'diagnosis', range, 'nobody ' || range FROM range(100)"
        " WHERE range NOT IN (SELECT code FROM codes WHERE name = 'diagnosis')"
    ),
)


@pytest.fixture(scope="module")
def older(home: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return changed(home, tmp_path_factory.mktemp("older"), *OLDER)


@pytest.fixture(scope="module")
def recoded(home: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return changed(home, tmp_path_factory.mktemp("recoded"), *RECODED)


@pytest.mark.parametrize("sql", QUESTIONS)
@pytest.mark.parametrize("kept", ["older", "recoded"])
def test_files_without_our_columns_or_with_other_codes_answer_the_same(
    home: Path, request: pytest.FixtureRequest, sql: str, kept: str
) -> None:
    other = request.getfixturevalue(kept)
    measurement = measured(home, sql, max_rows=4, max_groups=2)
    assert counted(other, measurement) == counted(home, measurement)


def test_rows_out_of_order_are_still_counted_right(home: Path, tmp_path: Path) -> None:
    other = changed(
        home,
        tmp_path,
        "CREATE TABLE mixed AS SELECT * FROM rows ORDER BY hash(rowid)",
        "DROP TABLE rows",
        "ALTER TABLE mixed RENAME TO rows",
    )
    measurement = measured(home, QUESTIONS[2])
    assert present(counted(other, measurement)) == present(counted(home, measurement))


@pytest.mark.parametrize(
    "edit",
    [
        lambda column: replace(column, step=Fraction(1)),
        lambda column: replace(column, bounds=(Fraction(-100), Fraction(2000))),
        lambda column: replace(column, bounds=(Fraction(-(10**12)), Fraction(10**12))),
        lambda column: replace(column, bounds=(Fraction(10), Fraction(20)), step=Fraction(1, 1000)),
        lambda column: replace(column, bounds=(Fraction(10), Fraction(1000))),
        lambda column: replace(column, bounds=(Fraction(0), Fraction(20))),
    ],
    ids=["step", "wider", "too wide for a stream", "narrower", "narrower below", "narrower above"],
)
def test_a_custodian_may_change_step_and_bounds(home: Path, older: Path, edit: Callable[[Column], Column]) -> None:
    known = catalogue.read(home).schema.table("visits")
    columns = tuple(edit(column) if column.name == "cost" else column for column in known.columns)
    schema = Schema({"visits": replace(known, columns=columns)})
    measurement = question(QUESTIONS[1], schema).parts[0].measurement
    assert counted(home, measurement) == counted(older, measurement)


def test_our_columns_are_there_and_nobody_can_ask_for_them(home: Path) -> None:
    with duckdb.connect(str(file(home)), read_only=True) as connection:
        names = {name for name, *_ in connection.execute("SELECT * FROM rows LIMIT 0").description or []}
    kept = {name for name in names if name.startswith("#")}
    assert kept == {steps_name("cost", COST), code_name("region"), code_name("diagnosis")}
    for name in kept:
        with pytest.raises(Refusal):
            Curator(home).query(f"SELECT count({quoted(name)}) FROM visits", epsilon=1)


def test_texts_with_too_many_values_have_no_codes(tmp_path: Path) -> None:
    size = MOST_CODES + 1
    rows = pa.table({"who": list(range(size)), "few": ["a"] * size, "many": [str(i) for i in range(size)]})
    folder = clinic.home(tmp_path / "home", clinic.visits(3))
    Custody(folder).add("wide", rows, clinic.declared(unit="who", bounds={}, keys={}))
    with duckdb.connect(str(folder / "tables" / "wide.1.duckdb"), read_only=True) as connection:
        names = [name for name, *_ in connection.execute("SELECT * FROM rows LIMIT 0").description or []]
    assert names == ["who", "few", "many", code_name("few")]
    found = counted(folder, measured(folder, "SELECT many, count(*) FROM wide GROUP BY many"))
    assert found.units == {(str(i),): 1 for i in range(size)}


def test_a_file_whose_steps_are_not_clamped_as_their_name_says_is_refused(home: Path, tmp_path: Path) -> None:
    column = quoted(steps_name("cost", COST))
    other = changed(home, tmp_path, f"UPDATE rows SET {column} = 100001 WHERE rowid = 3")
    with pytest.raises(Refusal, match="changed after it was written"):
        counted(other, measured(home, QUESTIONS[1]))


def test_a_file_that_lost_its_salt_is_refused_before_anything_is_paid(tmp_path: Path) -> None:
    lost = clinic.home(tmp_path / "home", clinic.visits(3))
    with duckdb.connect(str(file(lost))) as connection:
        connection.execute("DROP TABLE salt")
    curator = Curator(lost)
    with pytest.raises(Refusal, match="cannot be opened"):
        curator.query(QUESTIONS[1], epsilon=1)
    assert curator.budget("patient").spent == Approximate(0)
