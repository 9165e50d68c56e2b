"""The clients that people have, against a real door: each connects, asks with parameters, and reads typed answers."""

from __future__ import annotations

import asyncio
import datetime as dt
import os
import subprocess
import warnings
from decimal import Decimal
from pathlib import Path
from typing import Literal

import asyncpg
import pandas as pd
import polars as pl
import psycopg
import pytest
import sqlalchemy as sa
from installed import program
from server.pgwire.door import Door

REGIONS = ["east", "north", "south"]
BY_REGION = "SELECT region, count(*) AS n, avg(cost) AS a FROM visits GROUP BY region ORDER BY region"
TYPED = (
    "SELECT count(*) AS n, sum(cost) AS s, 'north' AS t, DATE '2024-02-29' AS d, TIMESTAMP '2024-02-29 12:30:00' AS m, "
    "TRUE AS b, NULL AS z, 1.5 AS x FROM visits"
)

MOMENT = dt.datetime(2024, 2, 29, 12, 30)  # noqa: DTZ001  # TIMESTAMP has no zone
CONSTANTS = ["north", dt.date(2024, 2, 29), MOMENT, True, None, Decimal("1.5")]


# psql -----------------------------------------------------------------------------------------------------------------


def psql(door: Door, *commands: str, **options: str) -> subprocess.CompletedProcess[str]:
    where = {
        "host": "127.0.0.1",
        "port": str(door.port),
        "user": "ana",
        "dbname": "any",
        "sslmode": "disable",
        **options,
    }
    address = " ".join(f"{name}={value}" for name, value in where.items())
    given = [program("psql", package="postgresql-client"), "-X", "-A", "-t", address]
    for command in commands:
        given += ["-c", command]
    environment = {**os.environ, "PGPASSWORD": door.token}
    return subprocess.run(given, capture_output=True, text=True, env=environment, timeout=60, check=False)


def test_psql_asks(door: Door) -> None:
    found = psql(door, "\\timing off", "SET discreet.epsilon = 2", BY_REGION)
    assert [line.split("|")[0] for line in found.stdout.splitlines()[2:]] == REGIONS
    assert "NOTICE:  price epsilon 2; left epsilon" in found.stderr
    assert found.returncode == 0


def test_psql_points_at_the_trouble(door: Door) -> None:
    found = psql(door, "SELECT region, coun(*) FROM visits GROUP BY region")
    assert found.stderr.splitlines()[:3] == [
        "ERROR:  the function coun() is not supported",
        "LINE 1: SELECT region, coun(*) FROM visits GROUP BY region",
        "                       ^",
    ]
    assert found.returncode == 1


def test_psql_copies_and_reads_in_steps(door: Door, tmp_path: Path) -> None:
    file = tmp_path / "out.csv"
    assert psql(door, f"\\copy ({BY_REGION}) TO '{file}' WITH CSV HEADER").returncode == 0
    assert file.read_text().splitlines()[0] == "region,n,a"
    steps = psql(door, "\\set FETCH_COUNT 2", "BEGIN", BY_REGION, "COMMIT")
    assert [line.split("|")[0] for line in steps.stdout.splitlines()[1:-1]] == REGIONS


def test_psql_with_a_wrong_password_is_told_one_sentence(door: Door) -> None:
    environment = {**os.environ, "PGPASSWORD": "x" * 43}
    where = f"host=127.0.0.1 port={door.port} user=ana dbname=any sslmode=disable"
    found = subprocess.run(
        [program("psql", package="postgresql-client"), "-X", where, "-c", "SELECT 1"],
        capture_output=True,
        text=True,
        env=environment,
        timeout=60,
        check=False,
    )
    assert "FATAL:  password authentication failed" in found.stderr
    assert found.returncode == 2


# psycopg --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("binary", [False, True])
def test_psycopg_reads_every_type(door: Door, binary: bool) -> None:  # noqa: FBT001
    with psycopg.connect(door.uri()) as connection, connection.cursor(binary=binary) as cursor:
        ((n, s, *rest),) = cursor.execute(TYPED).fetchall()
        names = [column.name for column in cursor.description or []]
    assert names == ["n", "s", "t", "d", "m", "b", "z", "x"]
    assert isinstance(n, int)
    assert isinstance(s, float)
    assert rest == CONSTANTS


@pytest.mark.parametrize("placeholder", ["%s", "%t", "%b"])
def test_psycopg_binds_every_type(door: Door, placeholder: str) -> None:
    p = placeholder
    sql = (
        f"SELECT count(*) FROM visits WHERE cost > {p} AND patient <> {p} AND region = {p} "
        f"AND day >= {p} AND urgent = {p} AND cost < {p} AND diagnosis IS DISTINCT FROM %s"
    )
    values = (0.5, -7, "north", dt.date(2024, 1, 1), True, Decimal("900.25"), None)
    with psycopg.connect(door.uri()) as connection:
        ((with_parameters,),) = connection.execute(sql, values).fetchall()
    plain = (
        "SELECT count(*) FROM visits WHERE cost > 0.5 AND patient <> (-7) AND region = 'north' "
        "AND day >= CAST('2024-01-01' AS date) AND urgent = TRUE AND cost < 900.25 AND diagnosis IS DISTINCT FROM NULL"
    )
    before = door.entries()
    with psycopg.connect(door.uri()) as connection:
        assert connection.execute(plain).fetchall() == [(with_parameters,)]
    assert door.entries() == before  # so it was the same question


def test_a_parameter_never_becomes_sql(door: Door) -> None:
    nasty = ["'", "''", "\\", "\\'", "' OR 1=1 --", "$$", "$1", "'; DROP TABLE visits; --", "é\u2028'", '"', "/*", "E'"]
    with psycopg.connect(door.uri()) as connection:
        for text in nasty:
            ((found,),) = connection.execute("SELECT %s AS t", (text,)).fetchall()
            assert found == text
        with pytest.raises(psycopg.DataError):
            connection.execute("SELECT %s AS t", ("\0",))


def test_psycopg_prepares_pipelines_and_reads_in_steps(door: Door) -> None:
    with psycopg.connect(door.uri(), autocommit=True) as connection:
        for _ in range(8):
            connection.execute("SELECT count(*) FROM visits WHERE patient < %s", (30,), prepare=True)
        with connection.pipeline():
            one, two = connection.execute(BY_REGION), connection.execute("SELECT count(*) FROM visits WHERE urgent")
        assert len(one.fetchall()) == 3
        assert len(two.fetchall()) == 1
        with connection.transaction(), connection.cursor(name="steps") as cursor:
            cursor.execute(BY_REGION)
            assert [row[0] for row in cursor.fetchmany(2)] == REGIONS[:2]
            assert [row[0] for row in cursor.fetchall()] == REGIONS[2:]
        assert [row[0] for row in connection.cursor().stream(BY_REGION)] == REGIONS
        with connection.cursor().copy(f"COPY ({BY_REGION}) TO STDOUT (FORMAT binary)") as copy:
            copy.set_types(["text", "int8", "float8"])
            assert [row[0] for row in copy.rows()] == REGIONS


def test_psycopg_errors_in_transactions(door: Door) -> None:
    with psycopg.connect(door.uri()) as connection:
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="rows of people") as refused:
            connection.execute("SELECT cost FROM visits")
        assert "aggregate them" in (refused.value.diag.message_hint or "")
        with pytest.raises(psycopg.errors.InFailedSqlTransaction):
            connection.execute("SELECT count(*) FROM visits")
        connection.rollback()
        with connection.transaction():
            with pytest.raises(psycopg.errors.UndefinedTable), connection.transaction():
                connection.execute("SELECT count(*) FROM nowhere")
            assert len(connection.execute(BY_REGION).fetchall()) == 3
        connection.execute("SET discreet.epsilon = 1e9")
        with pytest.raises(psycopg.errors.ConfigurationLimitExceeded):
            connection.execute("SELECT sum(cost) FROM visits WHERE cost > 3")


def test_psycopg_hears_prices(door: Door) -> None:
    heard: list[str] = []
    with psycopg.connect(door.uri(options="-c%20discreet.epsilon%3D0.125")) as connection:
        connection.add_notice_handler(lambda notice: heard.append(notice.message_primary or ""))
        connection.execute("SELECT count(*) FROM visits WHERE cost > 4")
    assert len(heard) == 1
    assert heard[0].startswith("price epsilon 0.125; left epsilon ")


def test_psycopg_with_a_wrong_password(door: Door) -> None:
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(door.uri().replace(door.token, door.token[::-1]))
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(door.uri().replace("//ana:", "//bob:"))


# asyncpg --------------------------------------------------------------------------------------------------------------


async def _asyncpg(door: Door) -> None:
    connection = await asyncpg.connect(
        host="127.0.0.1", port=door.port, user="ana", password=door.token, database="any", ssl=False
    )
    try:
        sql = (
            "SELECT count(*) AS n FROM visits WHERE cost > $1 AND region = ANY($2) AND day >= $3 AND urgent = $4 "
            "AND patient BETWEEN $5 AND $6 AND diagnosis LIKE $7 AND cost < $8::numeric LIMIT $9"
        )
        statement = await connection.prepare(sql)
        assert [kind.name for kind in statement.get_parameters()] == [
            *("float8", "text[]", "date", "bool", "int8", "int8", "text", "numeric", "int8")
        ]
        values = (0.5, ["north", "south"], dt.date(2024, 1, 1), False, 0, 50, "d%", Decimal(900), 10)
        first = await statement.fetch(*values)
        assert isinstance(first[0]["n"], int)
        assert await connection.fetch(sql, *values) == first
        ((*typed,),) = await connection.fetch(TYPED)
        assert typed[2:] == CONSTANTS
        async with connection.transaction():
            steps = [row["region"] async for row in connection.cursor(BY_REGION, prefetch=1)]
        assert steps == REGIONS
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await connection.fetch("SELECT cost FROM visits")
        await connection.reset()
    finally:
        await connection.close()


def test_asyncpg(door: Door) -> None:
    asyncio.run(_asyncpg(door))


async def _crowd(door: Door) -> list[int]:
    async with asyncpg.create_pool(
        host="127.0.0.1",
        port=door.port,
        user="ana",
        password=door.token,
        database="any",
        ssl=False,
        min_size=4,
        max_size=12,
    ) as pool:
        sql = "SELECT count(*) FROM visits WHERE patient < $1"
        return list(await asyncio.gather(*(pool.fetchval(sql, 5 + i % 3) for i in range(60))))


def test_a_pool_of_asyncpg_gets_the_same_answers_to_the_same_questions(door: Door) -> None:
    found = asyncio.run(_crowd(door))
    assert all(len({*found[i::3]}) == 1 for i in range(3))


# SQLAlchemy, pandas, polars -------------------------------------------------------------------------------------------


@pytest.fixture
def engine(door: Door) -> sa.Engine:
    return sa.create_engine(door.uri("postgresql+psycopg"), poolclass=sa.NullPool)


VISITS = sa.table("visits", *(sa.column(name) for name in ("region", "cost", "day", "patient")))


def test_sqlalchemy_core(engine: sa.Engine) -> None:
    asked = (
        sa.select(VISITS.c.region, sa.func.count().label("n"), sa.func.avg(VISITS.c.cost).label("a"))
        .where(VISITS.c.cost > 10, VISITS.c.region.in_(REGIONS), VISITS.c.day >= dt.date(2024, 1, 1))
        .group_by(VISITS.c.region)
        .order_by(VISITS.c.region)
    )
    with engine.connect() as connection:
        found = connection.execute(asked).all()
        assert [row.region for row in found] == REGIONS
        assert connection.execute(asked).all() == found
        with pytest.raises(sa.exc.ProgrammingError, match="rows of people"):
            connection.execute(sa.select(VISITS.c.cost))
        connection.rollback()
        with connection.begin(), connection.begin_nested():
            assert connection.execute(asked).all() == found
        steps = connection.execution_options(stream_results=True, max_row_buffer=1).execute(asked)
        assert [row.region for row in steps] == REGIONS


def test_pandas(engine: sa.Engine) -> None:
    frame = pd.read_sql(sa.text(BY_REGION), engine)
    assert list(frame.columns) == ["region", "n", "a"]
    assert [str(kind) for kind in frame.dtypes][1:] == ["int64", "float64"]
    asked = sa.text("SELECT count(*) AS n FROM visits WHERE cost > :c")
    assert len(pd.read_sql(asked, engine, params={"c": 100})) == 1
    assert [len(chunk) for chunk in pd.read_sql(sa.text(BY_REGION), engine, chunksize=2)] == [2, 1]


@pytest.mark.parametrize("by", ["connectorx", "adbc"])
def test_polars(door: Door, by: Literal["connectorx", "adbc"]) -> None:
    sql = f"{BY_REGION} LIMIT {3 if by == 'adbc' else 4}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        frame = pl.read_database_uri(sql, door.uri(), engine=by)
        before = door.entries()
        again = pl.read_database_uri(sql, door.uri(), engine=by)
    assert frame["region"].to_list() == REGIONS
    assert frame.dtypes == [pl.String, pl.Int64, pl.Float64]
    assert frame.equals(again)
    assert door.entries() == before
