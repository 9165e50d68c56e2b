"""Names with capitals and blanks through the door for Postgres clients: psql, psycopg and SQLAlchemy find them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import people
import psycopg
import pytest
import sqlalchemy as sa
from installed import program
from server.pg_catalog.test_door import opened

from discreet.curator.custody import Custody

NAMES = people.people().column_names


@dataclass(frozen=True)
class Door:
    """Where it is, and the password."""

    port: int
    token: str

    def psql(self, *commands: str) -> str:
        """What psql prints."""
        psql = program("psql", package="postgresql-client")
        given = [psql, "-X", "-A", "-t", f"host=127.0.0.1 port={self.port} user=ann sslmode=disable"]
        given += [part for command in commands for part in ("-c", command)]
        environment = {**os.environ, "PGPASSWORD": self.token}
        done = subprocess.run(given, capture_output=True, text=True, check=False, timeout=60, env=environment)
        return done.stdout + done.stderr

    def connect(self) -> psycopg.Connection[tuple[object, ...]]:
        where = f"host=127.0.0.1 port={self.port} user=ann password={self.token} dbname=x sslmode=disable"
        return psycopg.connect(where, autocommit=True)

    @property
    def engine(self) -> sa.Engine:
        return sa.create_engine(f"postgresql+psycopg://ann:{self.token}@127.0.0.1:{self.port}/x?sslmode=disable")


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    home: Path = people.home(tmp_path_factory.mktemp("capitals") / "home", epsilon=10**6)
    token = Custody(home).let_in("ann", "analyst")
    with opened(home) as port:
        yield Door(port, token)


def test_psql_shows_and_asks(door: Door) -> None:
    shown = door.psql('\\d "People"').splitlines()
    assert [line.split("|")[0] for line in shown] == NAMES
    assert door.psql('\\dt "Vis"*').split("|")[1] == "Visits"
    answer = door.psql("SET discreet.epsilon = 1000", "SELECT sex, count(*) AS N FROM people GROUP BY SEX ORDER BY sex")
    assert [line.split("|")[0] for line in answer.splitlines() if "|" in line] == list(people.SEXES)
    assert 'spelled exactly: "People"' in door.psql('SELECT count(*) FROM "people"')


@pytest.mark.parametrize(
    ("sql", "given", "names"),
    [
        ("SELECT SEX, avg(age) AS Mean FROM people GROUP BY sex", (), ["Sex", "mean"]),
        (
            'SELECT "Marital Status", count(*) FROM "People" WHERE age > %s GROUP BY 1',
            (30,),
            ["Marital Status", "count"],
        ),
        ('SELECT people."Order", count(*) AS "N" FROM people WHERE sex = %s GROUP BY 1', ("Male",), ["Order", "N"]),
        ("SELECT beds FROM wards WHERE ward = %s", ("a",), ["Beds"]),
    ],
)
def test_psycopg_gets_names_as_they_are_declared(
    door: Door, sql: str, given: tuple[object, ...], names: list[str]
) -> None:
    with door.connect() as connection:
        cursor = connection.execute(sql.encode(), given)
        assert [column.name for column in cursor.description or []] == names
        assert cursor.fetchall()


def test_sqlalchemy_reflects_them_and_asks_in_quotes(door: Door) -> None:
    engine = door.engine
    try:
        inspector = sa.inspect(engine)
        assert sorted(inspector.get_table_names()) == ["People", "Visits", "Wards"]
        assert [column["name"] for column in inspector.get_columns("People")] == NAMES
        assert inspector.has_table("People")
        table = sa.Table("People", sa.MetaData(), autoload_with=engine)
        mean = sa.func.avg(table.c["Hours per week"]).label("Mean")
        asked = sa.select(table.c.Sex, mean).where(table.c["income>50K"]).group_by(table.c.Sex).order_by(table.c.Sex)
        with engine.connect() as connection:
            result = connection.execute(asked)
            assert list(result.keys()) == ["Sex", "Mean"]
            assert [row[0] for row in result] == list(people.SEXES)
    finally:
        engine.dispose()
