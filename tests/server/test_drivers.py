"""Libraries of Python with which people reach Postgres, at `discreet serve`: each in the way in which it writes SQL.

SQLAlchemy casts every parameter, and so its LIMIT; ADBC quotes the table that it describes; pg8000 prepares all.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from importlib.util import find_spec

import adbc_driver_postgresql.dbapi as adbc
import clinic
import psycopg
import pytest
import sqlalchemy as sa
from installed import missing
from server.served import served
from server.test_programs import COLUMNS, Open

from discreet.curator.custody import Custody

REGIONS = sorted(clinic.REGIONS)
UTC_FIRST = dt.datetime(2024, 2, 1, tzinfo=dt.UTC)


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Open]:
    home = clinic.home(tmp_path_factory.mktemp("clinic") / "home", epsilon=10**9)
    token = Custody(home).let_in("ana", "analyst")
    with served(home, doors=("pg",)) as server:
        yield Open(server.pg, token, home)


def address(door: Open, driver: str = "postgresql") -> str:
    return f"{driver}://ana:{door.token}@127.0.0.1:{door.port}/discreet"


def told(n: object, truth: int) -> bool:
    """At this price the noise is less than a half, but for a chance of 1e-9 in all."""
    return isinstance(n, int) and n == truth


def truth(**chosen: object) -> int:
    """How many visits are from February 2024 on, of these regions."""
    rows = clinic.visits().to_pylist()
    regions = chosen.get("regions", clinic.REGIONS)
    return sum(row["day"] > dt.date(2024, 2, 1) and row["region"] in regions for row in rows)  # type: ignore[operator]


# SQLAlchemy -----------------------------------------------------------------------------------------------------------


@pytest.fixture(params=["psycopg", "pg8000"])
def engine(request: pytest.FixtureRequest, door: Open) -> Iterator[sa.Engine]:
    if find_spec(request.param) is None:
        missing(request.param, f"pip install {request.param}")
    made = sa.create_engine(address(door, f"postgresql+{request.param}"))
    yield made
    made.dispose()


def test_sqlalchemy_asks_as_it_writes(engine: sa.Engine) -> None:
    metadata = sa.MetaData()
    metadata.reflect(engine)
    visits = metadata.tables["visits"]
    assert list(visits.columns.keys()) == COLUMNS
    count = sa.func.count()
    few = sa.select(visits.c.region, count.label("update")).group_by(visits.c.region).order_by(visits.c.region)
    month = sa.func.date_trunc("month", visits.c.day)
    moment = sa.func.to_timestamp("2024-02-01", "YYYY-MM-DD")
    with engine.connect() as link:
        assert [row.region for row in link.execute(few.limit(2).offset(1))] == REGIONS[1:]
        (row,) = link.execute(few.where(visits.c.cost > 10.5).limit(1))
        assert row.update > 0
        for start in (UTC_FIRST, UTC_FIRST.replace(tzinfo=None), UTC_FIRST.date(), moment):
            found = link.execute(sa.select(count).select_from(visits).where(visits.c.day > start)).scalar()
            assert told(found, truth())
        some = sa.select(count).where(visits.c.region.in_(["north", "south"]), visits.c.day > UTC_FIRST.date())
        assert told(link.execute(some).scalar(), truth(regions=("north", "south")))
        (row,) = link.execute(sa.select(sa.extract("epoch", moment).label("e"), count).select_from(visits))
        assert float(row.e) == UTC_FIRST.timestamp()
        by_month = link.execute(sa.select(month.label("m"), count).group_by("m").order_by("m")).all()
        assert [row.m.day for row in by_month] == [1] * len(by_month)
        years = sa.extract("year", visits.c.day)
        assert [row[0] for row in link.execute(sa.select(years, count).group_by(years).order_by(years))] == [2024, 2025]


# pg8000 ---------------------------------------------------------------------------------------------------------------


def test_pg8000_prepares_and_asks(door: Open) -> None:
    if find_spec("pg8000") is None:
        missing("pg8000", "pip install pg8000")
    from pg8000.native import Connection, DatabaseError  # noqa: PLC0415

    link = Connection("ana", host="127.0.0.1", port=door.port, password=door.token, database="discreet")
    sql = "SELECT count(*) AS n FROM visits WHERE region = :r AND day > :d LIMIT :l"
    prepared = link.prepare(sql)
    for region in REGIONS:
        ((n,),) = prepared.run(r=region, d=UTC_FIRST, l=1)
        assert told(n, truth(regions=(region,)))
    prepared.close()
    with pytest.raises(DatabaseError, match="42501"):
        link.run("SELECT cost FROM visits")
    link.close()


# ADBC -----------------------------------------------------------------------------------------------------------------


def test_adbc_describes_and_asks(door: Open) -> None:
    with adbc.connect(address(door)) as link, link.cursor() as cursor:
        assert link.adbc_get_table_schema("visits").names == COLUMNS  # it asks for '"visits"'::regclass
        (catalogue,) = link.adbc_get_objects(depth="columns", table_name_filter="visits").read_all().to_pylist()
        (schema,) = [each for each in catalogue["catalog_db_schemas"] if each["db_schema_name"] == "public"]
        (table,) = schema["db_schema_tables"]
        assert [column["column_name"] for column in table["table_columns"]] == COLUMNS
        cursor.execute("SELECT count(*) AS n FROM visits WHERE day > $1 AND region = $2", (UTC_FIRST, "north"))
        assert told(cursor.fetchone()[0], truth(regions=("north",)))


# psycopg --------------------------------------------------------------------------------------------------------------


def test_psycopg_says_prepare_and_execute_itself(door: Open) -> None:
    with psycopg.connect(address(door), autocommit=True) as link:
        link.execute(
            "PREPARE regional(text, timestamptz) AS SELECT count(*) FROM visits WHERE region = $1 AND day > $2"
        )
        for region in REGIONS:
            ((n,),) = link.execute(f"EXECUTE regional('{region}', '2024-02-01T00:00:00Z')").fetchall()
            assert told(n, truth(regions=(region,)))
        assert "price" in str(link.execute("EXPLAIN EXECUTE regional('north', '2024-02-01')").fetchall())
        with pytest.raises(psycopg.errors.SyntaxError):
            link.execute("EXECUTE regional('north')")
        link.execute("DEALLOCATE regional")
        with pytest.raises(psycopg.errors.InvalidSqlStatementName):
            link.execute("EXECUTE regional('north', NULL)")


@pytest.mark.parametrize(
    "condition",
    [
        "day > '2024-02-01T00:00:00Z'",
        "day > '2024-02-01T00:00:00.000+00:00'",
        "day > TIMESTAMPTZ '2024-02-01 02:00:00+02'",
        "day > '2024-01-31 19:00:00-05'::timestamptz(6)",
        "day::timestamptz > CAST('2024-02-01T05:30:00+05:30' AS timestamp with time zone)",
        "day AT TIME ZONE 'UTC' > '2024-02-01 00:00:00'",
        "day > to_timestamp('2024-02-01T00', 'YYYY-MM-DD\"T\"HH24')",
        "day > to_date('01 Feb 2024', 'DD Mon YYYY')",
        "day > to_timestamp(1706745600)",
        "extract(epoch FROM day) > extract(epoch FROM TIMESTAMPTZ '2024-02-01 00:00:00Z')",
        "date_part('epoch', day) > 1706745600",
        "extract(epoch FROM day - DATE '2024-02-01') > 0",
        "to_timestamp(extract(epoch FROM day)) > '2024-02-01'",
        "day > DATE '2024-03-01' - '29 days'::interval",
        (
            "to_date(split_part(day::text, '-', 1) || '-' || (regexp_split_to_array(day::text, '-'))[2] || '-' || "
            "(string_to_array(day::text, '-'))[3], 'YYYY-MM-DD') > '2024-02-01'"
        ),
    ],
)
def test_moments_as_people_write_them(door: Open, condition: str) -> None:
    with psycopg.connect(address(door), autocommit=True) as link:
        ((n,),) = link.execute(f"SELECT count(*) FROM visits WHERE {condition}").fetchall()
    assert told(n, truth())


@pytest.mark.parametrize(
    ("question", "word"),
    [
        ("day > '2024-02-01T00:00:00+02'", "TIMESTAMPTZ"),  # Postgres forgets the zone; here nothing is forgotten
        ("day AT TIME ZONE 'Europe/Berlin' > '2024-02-01'", "time zone"),
        ("day > TIMESTAMPTZ '2024-02-01 00:00:00+99'", "TIMESTAMPTZ"),
        ("to_timestamp(region, diagnosis) IS NULL", "constant"),
        ("day > to_date('2024-02', 'YYYY-QQ')", "format"),
        ("day > to_date('x', 'YYYY-MM-DD')", "form"),
        ("(regexp_split_to_array(region, '[aeiou]'))[1] = 'n'", "pattern"),
    ],
)
def test_what_would_be_misunderstood_is_refused(door: Open, question: str, word: str) -> None:
    with psycopg.connect(address(door), autocommit=True) as link, pytest.raises(psycopg.Error) as refused:
        link.execute(f"SELECT count(*) FROM visits WHERE {question}")
    assert word in f"{refused.value} {refused.value.diag.message_hint}"


KEYWORDS = ("select", "from", "where", "update", "order", "group", "user", "end", "case", "null", "as", "table", "all")


def test_any_word_may_name_a_column(door: Open) -> None:
    with psycopg.connect(address(door), autocommit=True) as link:
        for word in KEYWORDS:
            cursor = link.execute(f"SELECT t.{word} FROM (SELECT count(*) AS {word} FROM visits) t")
            assert [column.name for column in cursor.description or []] == [word]
