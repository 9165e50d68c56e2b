"""What clients ask is answered as a real Postgres with the same tables answers it.

Where the two differ, `but` says so beside the question: `size`, since ours is always 0; `described`, since Postgres
describes its own parts and lists rights to them, and we describe tables; `fewer`, since we list no database, index or
function that nobody can use here; `version`, since ours is our own.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from server.pg_catalog.compare import Columns, Rows, Side

SENT = json.loads(Path(__file__).with_name("sent.json").read_text(encoding="utf-8"))
IGNORED = {
    "size": {"Size"},
    "described": {"Description", "Access privileges", "Call handler", "Validator", "Inline handler"},
}

INFORMATION = {
    "schemata": "catalog_name, schema_name, schema_owner, default_character_set_name, sql_path",
    "tables": "table_catalog, table_schema, table_name, table_type, self_referencing_column_name, is_typed",
    "columns": """table_catalog, table_schema, table_name, column_name, ordinal_position, column_default, is_nullable,
        data_type, character_maximum_length, character_octet_length, numeric_precision, numeric_precision_radix,
        numeric_scale, datetime_precision, collation_catalog, collation_schema, collation_name, domain_catalog,
        domain_schema, domain_name, udt_catalog, udt_schema, udt_name, dtd_identifier, is_self_referencing, is_identity,
        is_generated""",
    "key_column_usage": "*",
    "constraint_column_usage": "*",
    "table_constraints": "*",
    "referential_constraints": "*",
    "sequences": "*",
    "triggers": "*",
    "information_schema_catalog_name": "*",
    "enabled_roles": "*",
    "applicable_roles": "*",
    "character_sets": "*",
}

ASKED = Path(__file__).with_name("asked.sql").read_text(encoding="utf-8").split(";\n")[:-1]


def told(but: str, columns: Columns, rows: Rows) -> tuple[list[object], Counter[str]]:
    """An answer without what may differ; rows are counted, since most questions leave their order open."""
    ignored = {name for word in but.split() for name in IGNORED.get(word, set())}
    kept = [place for place, (name, _) in enumerate(columns) if name not in ignored]
    return list(columns), Counter(repr(tuple(row[place] for place in kept)) for row in rows)


def same(own: Side, other: Side, sql: str, values: list[object], but: str = "") -> None:
    """That both give the same answer."""
    ours, theirs = own.answer(sql, values), other.answer(sql, values)
    mine, real = told(but, *ours), told(but, *theirs)
    assert mine[0] == real[0]
    if "version" in but:
        assert len(ours[1]) == len(theirs[1])
    elif "fewer" in but:
        assert mine[1] <= real[1]
    else:
        assert mine[1] == real[1]
        if " ORDER BY 1" in sql:
            assert [row[0] for row in ours[1]] == [row[0] for row in theirs[1]]


@pytest.mark.parametrize("sent", SENT, ids=lambda sent: f"{sent['client']}: {sent['sql'][:40]}")
def test_what_clients_send(own: Side, other: Side, sent: dict[str, str]) -> None:
    same(own, other, sent["sql"], list(sent.get("values", [])), sent.get("but", ""))


@pytest.mark.parametrize(
    "sent", [sent for sent in SENT if sent.get("values")], ids=lambda sent: f"{sent['client']}: {sent['sql'][:40]}"
)
def test_parameters_have_the_types_that_postgres_gives_them(own: Side, other: Side, sent: dict[str, str]) -> None:
    assert own.parameters(sent["sql"]) == other.parameters(sent["sql"])


@pytest.mark.parametrize("sql", ASKED)
def test_what_people_ask(own: Side, other: Side, sql: str) -> None:
    same(own, other, sql, [])


@pytest.mark.parametrize("view", INFORMATION)
def test_the_information_schema(own: Side, other: Side, view: str) -> None:
    but = "fewer" if view == "key_column_usage" else ""  # of Postgres's own indexes
    same(own, other, f"SELECT {INFORMATION[view]} FROM information_schema.{view}", [], but)
