"""What every Postgres 16 knows of itself before a table is made: `python -m` this to write it again."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

import psycopg
from psycopg.rows import scalar_row
from server.pg_catalog.real import started

from discreet.server.pg_catalog.types import FILE, PROCEDURES

SETTINGS = [
    "application_name",
    "block_size",
    "bytea_output",
    "client_encoding",
    "client_min_messages",
    "DateStyle",
    "default_transaction_deferrable",
    "default_transaction_isolation",
    "default_transaction_read_only",
    "extra_float_digits",
    "idle_in_transaction_session_timeout",
    "integer_datetimes",
    "IntervalStyle",
    "is_superuser",
    "jit",
    "lc_collate",
    "lc_ctype",
    "lock_timeout",
    "max_connections",
    "max_identifier_length",
    "max_index_keys",
    "row_security",
    "search_path",
    "server_encoding",
    "server_version",
    "server_version_num",
    "session_authorization",
    "standard_conforming_strings",
    "statement_timeout",
    "TimeZone",
    "transaction_deferrable",
    "transaction_isolation",
    "transaction_read_only",
]

# Rows that are the same in every Postgres of this version, and the columns of them that differ from their defaults.
WHOLE = {
    "pg_namespace": "oid, nspname, nspowner",
    "pg_am": "oid, amname, amhandler::oid, amtype",
    "pg_language": "oid, lanname, lanowner, lanispl, lanpltrusted, lanplcallfoid, laninline, lanvalidator",
    "pg_range": "rngtypid, rngsubtype, rngmultitypid, rngcollation, rngsubopc, rngcanonical::oid, rngsubdiff::oid",
    "pg_tablespace": "oid, spcname, spcowner",
    "pg_get_keywords": "word, catcode, barelabel, catdesc, baredesc",
}
FEW = {  # the same, of some rows
    "pg_collation": (
        """oid, collname, collnamespace, collowner, collprovider, collisdeterministic, collencoding, collcollate,
        collctype, colliculocale""",
        "collname IN ('default', 'C', 'POSIX', 'ucs_basic', 'unicode')",
    ),
    "pg_authid": (
        """oid, rolname, rolsuper, rolinherit, rolcreaterole, rolcreatedb, rolcanlogin, rolreplication, rolbypassrls,
        rolconnlimit""",
        "rolname ~ '^pg_'",
    ),
    "pg_settings": ("name, setting, unit, context, vartype, source, boot_val, reset_val", "name = ANY(%s)"),
}


def extracted(link: psycopg.Connection[tuple[object, ...]]) -> dict[str, object]:
    """The facts, from a database without a table of its own."""
    cursor = link.cursor(row_factory=scalar_row)

    def rows(sql: str, *parameters: object) -> list[list[object]]:
        found = cursor.execute(f"SELECT json_build_array({sql}".encode(), parameters or None).fetchall()
        return found if parameters else [[numbered(cell) for cell in row] for row in found]

    types = [str(row[0]) for row in rows(
        "attname) FROM pg_attribute WHERE attrelid = 'pg_type'::regclass AND attnum > 0 AND attname <> 'typacl'"
        " ORDER BY attnum"
    )]  # fmt: skip
    listed = ", ".join(f"t.{name}::oid" if name in PROCEDURES else f"t.{name}" for name in types)
    found: dict[str, object] = {
        "relations": rows(
            "n.nspname, c.relname, c.oid, c.relkind, c.reltype, t.typarray, c.relam, c.relhasindex,"
            " (SELECT json_agg(json_build_array(a.attname, a.atttypid, a.attnotnull::int, a.attcollation)"
            " ORDER BY a.attnum) FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0))"
            " FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_type t ON t.oid = c.reltype"
            " WHERE c.relkind IN ('r', 'v') AND n.nspname IN ('pg_catalog', 'information_schema') ORDER BY c.oid"
        ),
        "types": {
            "columns": [*types, "formatted"],
            "rows": rows(
                f"{listed}, format_type(t.oid, NULL)) FROM pg_type t"
                " LEFT JOIN pg_type e ON e.oid = t.typelem AND t.typlen = -1"
                " WHERE t.typrelid = 0 AND coalesce(e.typtype, 'b') <> 'c' ORDER BY t.oid"
            ),
        },
        "procedures": rows(
            "p.oid, p.proname, p.prorettype, p.proargtypes::text) FROM pg_proc p WHERE p.oid IN (SELECT unnest(ARRAY["
            + ", ".join(f"t.{name}" for name in PROCEDURES)
            + "]::oid[]) FROM pg_type t UNION SELECT amhandler FROM pg_am UNION SELECT lanvalidator FROM pg_language)"
            " ORDER BY p.oid"
        ),
    }
    for table, columns in WHOLE.items():
        source = f"{table}()" if table == "pg_get_keywords" else table  # it has no arguments, and gives rows
        found[table] = {"columns": named(columns), "rows": rows(f"{columns}) FROM {source} ORDER BY {columns}")}
    for table, (columns, which) in FEW.items():
        parameters = (SETTINGS,) if "%s" in which else ()
        found[table] = {
            "columns": named(columns),
            "rows": rows(f"{columns}) FROM {table} WHERE {which} ORDER BY {columns}", *parameters),
        }
    return found


def numbered(value: object) -> object:
    """Numbers for the texts that JSON makes of object identifiers."""
    if isinstance(value, list):
        return [numbered(item) for item in value]
    return int(value) if isinstance(value, str) and value.isdigit() else value


def named(columns: str) -> list[str]:
    """The columns without what they are cast to."""
    return [column.split("::")[0].strip() for column in columns.split(",")]


def written(found: dict[str, object]) -> str:
    """The facts as the text of their file: a row a line, so that a change shows."""
    lines = []
    for name, value in found.items():
        columns = value["columns"] if isinstance(value, dict) else None
        rows = value["rows"] if isinstance(value, dict) else value
        assert isinstance(rows, list)
        body = ",\n".join(json.dumps(row, separators=(",", ":")) for row in rows)
        head = f'"columns":{json.dumps(columns)},"rows":' if columns else ""
        lines.append(f"{json.dumps(name)}:{'{' if columns else ''}{head}[\n{body}\n]{'}' if columns else ''}")
    return "{" + ",\n".join(lines) + "}\n"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        server = started(Path(folder))
        with psycopg.connect(server.get_uri(), autocommit=True) as link:
            text = written(extracted(link))
        server.cleanup()
    FILE.write_text(text, encoding="utf-8")
    sys.stdout.write(f"{FILE}: {len(text)} characters\n")
