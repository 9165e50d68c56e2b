"""The facts about Postgres are those of a real one, and no more than they need to be."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import psycopg
import pytest
from server.pg_catalog.extract import extracted
from server.pg_catalog.real import started

from discreet.server.pg_catalog import functions
from discreet.server.pg_catalog.types import FILE, facts

# Numbers from here on are given out when a server is set up, so they depend on how many locales a machine has.
FIRST = 12_000


def shape(found: dict[str, object]) -> dict[str, list[str]]:
    """Rows without such numbers, and without what a machine decides."""
    shaped = {}
    for name, held in found.items():
        rows = held["rows"] if isinstance(held, dict) else held
        assert isinstance(rows, list)
        shaped[name] = [
            repr(plain(row)) for row in rows if name != "pg_settings" or row[0] not in ("TimeZone", "DateStyle")
        ]
    return shaped


def plain(value: object) -> object:
    if isinstance(value, list):
        return [plain(item) for item in value]
    return "made" if isinstance(value, int) and value >= FIRST else value


@pytest.mark.slow
def test_the_file_is_what_a_real_postgres_says() -> None:
    with tempfile.TemporaryDirectory() as folder:
        server = started(Path(folder))
        try:
            with psycopg.connect(server.get_uri(), autocommit=True) as link:
                found = shape(extracted(link))
        finally:
            server.cleanup()
    assert shape(json.loads(FILE.read_text(encoding="utf-8"))) == found


def test_the_files_are_small() -> None:
    assert FILE.stat().st_size < 300_000
    assert Path(__file__).with_name("sent.json").stat().st_size < 60_000


def test_types_and_functions_that_are_named_exist() -> None:
    known = facts().types
    for relation in facts().relations.values():
        assert [field.name for field in relation.fields if field.type < FIRST and field.type not in known] in (
            [],
            ["stxdexpr"],  # an array of rows
        )
    procedures = {row[name] for row in known.values() for name in ("typinput", "typoutput", "typreceive", "typsend")}
    assert procedures - {0} <= facts().procedures.keys()


def test_a_function_that_is_ours_is_one_of_postgres(other_functions: set[str]) -> None:
    assert functions.FUNCTIONS.keys() - {"nullif", "trim"} - other_functions == set()  # those are words of SQL
