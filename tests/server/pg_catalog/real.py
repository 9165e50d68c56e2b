"""A real Postgres with the same tables, empty: what the catalogue's answers are compared with."""

from __future__ import annotations

import sys
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest
from installed import missing
from psycopg import sql

from discreet.declared.group_key import Type
from discreet.declared.table import Table
from discreet.server.pg_catalog.catalogue_rows import comment_on_column, comment_on_table

if TYPE_CHECKING:
    from pgserver.postgres_server import PostgresServer

TYPES = {Type.DOUBLE: "double precision", Type.VARCHAR: "text"}  # the others are called the same


def declared(table: Table) -> Iterator[sql.Composed]:
    """The statements that make a table and say about it what we say."""
    columns = [
        sql.SQL("{} {}").format(sql.Identifier(column.name), sql.SQL(TYPES.get(column.type, column.type.value)))
        for column in table.columns
    ]
    name = sql.Identifier(table.name)
    yield sql.SQL("CREATE TABLE {} ({})").format(name, sql.SQL(", ").join(columns))
    yield sql.SQL("COMMENT ON TABLE {} IS {}").format(name, comment_on_table(table))
    for column in table.columns:
        if text := comment_on_column(table, column):
            where = sql.SQL("{}.{}").format(name, sql.Identifier(column.name))
            yield sql.SQL("COMMENT ON COLUMN {} IS {}").format(where, text)


def started(folder: Path) -> PostgresServer:
    """A server in a folder."""
    if sys.version_info >= (3, 13):
        pytest.skip("pgserver has no wheel for this Python")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it looks for a folder that few machines have
        try:
            from pgserver.postgres_server import get_server  # noqa: PLC0415
        except ImportError:
            missing("pgserver", "pip install pgserver")

        return get_server(folder, cleanup_mode="delete")


@contextmanager
def postgres(tables: Sequence[Table]) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    """A connection of ann, who may read everything, to a database that belongs to discreet, as ours does."""
    with tempfile.TemporaryDirectory() as folder:
        server = started(Path(folder))
        try:
            with psycopg.connect(server.get_uri(), autocommit=True) as link:
                link.execute("CREATE ROLE carpenter SUPERUSER LOGIN")
            with psycopg.connect(server.get_uri(), user="carpenter", autocommit=True) as link:
                link.execute("ALTER ROLE postgres RENAME TO discreet")
            with psycopg.connect(server.get_uri(), user="discreet", autocommit=True) as link:
                link.execute("DROP ROLE carpenter")
                link.execute("CREATE ROLE ann LOGIN IN ROLE pg_read_all_data")
                link.execute("CREATE DATABASE discreet TEMPLATE template0 LOCALE 'C' ENCODING 'UTF8'")
            with psycopg.connect(server.get_uri("discreet"), user="discreet", autocommit=True) as link:
                for table in sorted(tables, key=lambda table: table.name):  # so that they are numbered in this order
                    for statement in declared(table):
                        link.execute(statement)
            with psycopg.connect(server.get_uri("discreet"), user="ann", autocommit=True) as link:
                yield link
        finally:
            server.cleanup()
