"""psql shows the same through our door and through that of a real Postgres with the same tables."""

from __future__ import annotations

import asyncio
import os
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import clinic
import pytest
import sqlalchemy as sa
from installed import program
from server.pg_catalog.real import postgres

from discreet.curator.custody import Custody
from discreet.desk import Desk
from discreet.server.pg_catalog import PostgresCatalogue
from discreet.server.pgwire import serve

COMMANDS = [
    r"\d", r"\dt", r"\d visits", r"\d+ visits", r"\d visit*", r"\d public.visits", r"\d nothing", r"\dt nothing",
    r"\dn", r"\df", r"\du", r"\dv", r"\di", r"\ds", r"\dm", r"\dT", r"\dp", r"\ddp", r"\dD", r"\des", r"\det",
    r"\dy", r"\db", r"\dA", r"\dtS pg_am*", r"\d pg_roles", r"\encoding",
    "SELECT relname, oid::regclass, reltuples FROM pg_class WHERE relname = 'visits';",
    "SELECT column_name, data_type FROM information_schema.columns WHERE table_name = 'visits';",
    "SELECT current_user, current_schema, current_schemas(false);",
    r"\x \\ \d visits",
]  # fmt: skip

_END = "and then"  # between what is told of one command and of the next


@dataclass(frozen=True)
class Doors:
    """How to come in: to ours and to the real one."""

    ours: str
    real: str
    token: str

    def shown(self, where: str, command: str) -> str:
        """What psql prints."""
        (told,) = self.one_after_another(where, [command])
        return told

    def one_after_another(self, where: str, commands: Sequence[str]) -> list[str]:
        """What one psql prints for each of them, and then what it complains about."""
        given = [program("psql", package="postgresql-client"), "-X", where]
        done = subprocess.run(
            given, input="".join(f"{command}\n\\echo {_END}\n\\warn {_END}\n" for command in commands),
            capture_output=True, text=True, check=False, timeout=60, env={**os.environ, "PGPASSWORD": self.token},
        )  # fmt: skip
        said, wrong = (text.split(f"{_END}\n") for text in (done.stdout, done.stderr))
        return ["".join(both) for both in zip(said[: len(commands)], wrong[: len(commands)], strict=True)]


@contextmanager
def opened(home: Path) -> Iterator[int]:
    """A door of ours: its port."""
    desk = Desk(home)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        starting = serve(desk, PostgresCatalogue(desk), "127.0.0.1", 0)
        server = asyncio.run_coroutine_threadsafe(starting, loop).result(60)
        try:
            yield server.address[1]
        finally:
            asyncio.run_coroutine_threadsafe(server.close(), loop).result(120)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


@pytest.fixture(scope="module")
def doors(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Doors]:
    home = clinic.home(tmp_path_factory.mktemp("clinic") / "home")
    token = Custody(home).let_in("ann", "analyst")
    desk = Desk(home)
    with postgres(desk.tables(desk.visitor("ann"))) as link, opened(home) as port:
        real = f"host={link.info.host} dbname=discreet user=ann"
        yield Doors(f"host=127.0.0.1 port={port} dbname=discreet user=ann sslmode=disable", real, token)


def test_psql_shows_the_same(doors: Doors) -> None:
    ours, real = (doors.one_after_another(where, COMMANDS) for where in (doors.ours, doors.real))
    assert len(ours) == len(COMMANDS)
    assert dict(zip(COMMANDS, ours, strict=True)) == dict(zip(COMMANDS, real, strict=True))
    assert all(ours)


def test_psql_lists_our_database(doors: Doors) -> None:
    lines = doors.shown(doors.ours, r"\l").splitlines()
    real = doors.shown(doors.real, r"\l").splitlines()
    assert [word.strip() for word in lines[1].split("|")] == [word.strip() for word in real[1].split("|")]
    ours = [[word.strip() for word in line.split("|")] for line in lines[3:-2]]
    theirs = [[word.strip() for word in line.split("|")] for line in real[3:-2]]
    assert ours == [line for line in theirs if line[0] == "discreet"]


def test_a_question_about_both_is_refused(doors: Doors) -> None:
    assert "ERROR" in doors.shown(doors.ours, "SELECT count(*) FROM visits, pg_class;")


def reflected(url: sa.URL) -> list[object]:
    """Everything that SQLAlchemy finds out about tables."""
    engine = sa.create_engine(url)
    try:
        inspector = sa.inspect(engine)
        columns = [{**column, "type": str(column["type"])} for column in inspector.get_columns("visits")]
        metadata = sa.MetaData()
        metadata.reflect(engine)
        return [
            inspector.get_schema_names(), inspector.get_table_names(), inspector.get_view_names(), columns,
            inspector.get_pk_constraint("visits"), inspector.get_foreign_keys("visits"),
            inspector.get_indexes("visits"), inspector.get_unique_constraints("visits"),
            inspector.get_check_constraints("visits"),
            inspector.get_table_comment("visits"), inspector.has_table("visits"), inspector.has_table("nothing"),
            sorted(metadata.tables), inspector.get_sequence_names(), inspector.default_schema_name,
        ]  # fmt: skip
    finally:
        engine.dispose()


def test_sqlalchemy_reflects_the_same(doors: Doors) -> None:
    urls = []
    for where in (doors.ours, doors.real):
        options = dict(word.split("=", 1) for word in where.split())
        query = {name: value for name, value in options.items() if name in ("host", "sslmode", "port")}
        urls.append(sa.URL.create("postgresql+psycopg", "ann", doors.token, database="discreet", query=query))
    ours, real = (reflected(url) for url in urls)
    assert ours == real
    assert ours[1] == ["visits"]
