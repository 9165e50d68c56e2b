"""Database of the catalogue alone: it holds what is public about the tables of a visitor, and never a row of them.

It reaches nothing outside, cannot be told to, and has a small memory and one thread.
"""

from __future__ import annotations

import datetime as dt
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import duckdb
import pyarrow as pa

from discreet.declared.table import Table
from discreet.errors import Exceeded, Refusal
from discreet.server.pg_catalog import functions, types
from discreet.server.pg_catalog.catalogue_rows import names, rows
from discreet.server.pg_catalog.query import SCHEMAS
from discreet.server.pg_catalog.types import CATALOGUE, INFORMATION, OWNER, facts
from discreet.sql.render import quoted

# relations that are made from others. A column that a view does not name is NULL --------------------------------------


@dataclass(frozen=True)
class CatalogueView:
    """View of other relations: where its rows come from, and what its columns are of them."""

    schema: str
    name: str
    columns: Mapping[str, str]
    source: str


_CLASSES = "pg.pg_class c JOIN pg.pg_namespace n ON n.oid = c.relnamespace"
_ZEROS = (
    "seq_scan seq_tup_read idx_scan idx_tup_fetch n_tup_ins n_tup_upd n_tup_del n_tup_hot_upd n_tup_newpage_upd "
    "n_live_tup n_dead_tup n_mod_since_analyze n_ins_since_vacuum vacuum_count autovacuum_count analyze_count "
    "autoanalyze_count"
)
_RIGHTS = "oid, rolname, rolsuper, rolinherit, rolcreaterole, rolcreatedb, rolcanlogin, rolreplication, rolbypassrls"
_ROLE = {name: name for name in (*_RIGHTS.split(", "), "rolconnlimit", "rolvaliduntil")} | {"rolpassword": "'********'"}

_DOMAIN = "t.typtype = 'd'"
_BASE = f"CASE WHEN {_DOMAIN} THEN t.typbasetype ELSE a.atttypid END"


def _statistics(which: str, condition: str) -> CatalogueView:
    """How often tables were read and written: never, as far as anybody is told."""
    named = {"relid": "c.oid", "schemaname": "n.nspname", "relname": "c.relname"}
    columns = {**named, **dict.fromkeys(_ZEROS.split(), "0")}
    return CatalogueView(
        CATALOGUE, f"pg_stat_{which}_tables", columns, f"{_CLASSES} WHERE c.relkind = 'r' AND {condition}"
    )


VIEWS = (
    CatalogueView(
        CATALOGUE, "pg_authid",
        {name: name for name in (*_RIGHTS.split(", "), "rolconnlimit")},
        f"""(SELECT {_RIGHTS}, rolconnlimit FROM pg."#authid"
            UNION ALL SELECT 10, '{OWNER}', true, true, true, true, true, true, true, -1
            UNION ALL SELECT 16383, getvariable('visitor'), false, true, false, false, true, false, false, -1)""",
    ),
    CatalogueView(CATALOGUE, "pg_roles", _ROLE, "pg.pg_authid"),
    CatalogueView(
        CATALOGUE, "pg_user",
        {"usename": "rolname", "usesysid": "oid", "usecreatedb": "rolcreatedb", "usesuper": "rolsuper",
         "userepl": "rolreplication", "usebypassrls": "rolbypassrls", "passwd": "'********'"},
        "pg.pg_authid WHERE rolcanlogin",
    ),
    CatalogueView(
        CATALOGUE, "pg_group", {"groname": "rolname", "grosysid": "oid", "grolist": "[]"},
        "pg.pg_authid WHERE NOT rolcanlogin",
    ),
    CatalogueView(
        CATALOGUE, "pg_tables",
        {"schemaname": "n.nspname", "tablename": "c.relname", "tableowner": "pg.pg_get_userbyid(c.relowner)",
         "hasindexes": "c.relhasindex", "hasrules": "c.relhasrules", "hastriggers": "c.relhastriggers",
         "rowsecurity": "c.relrowsecurity"},
        f"{_CLASSES} WHERE c.relkind = 'r'",
    ),
    CatalogueView(
        CATALOGUE, "pg_views",
        {"schemaname": "n.nspname", "viewname": "c.relname", "viewowner": "pg.pg_get_userbyid(c.relowner)"},
        f"{_CLASSES} WHERE c.relkind = 'v'",
    ),
    _statistics("all", "true"),
    _statistics("user", "n.nspname = 'public'"),
    _statistics("sys", "n.nspname <> 'public'"),
    CatalogueView(INFORMATION, "information_schema_catalog_name", {"catalog_name": f"'{OWNER}'"}, "(SELECT 1)"),
    CatalogueView(
        INFORMATION, "schemata",
        {"catalog_name": f"'{OWNER}'", "schema_name": "nspname", "schema_owner": "pg.pg_get_userbyid(nspowner)"},
        "pg.pg_namespace",
    ),
    CatalogueView(
        INFORMATION, "tables",
        {"table_catalog": f"'{OWNER}'", "table_schema": "n.nspname", "table_name": "c.relname",
         "table_type": "CASE c.relkind WHEN 'r' THEN 'BASE TABLE' ELSE 'VIEW' END",
         "is_insertable_into": "'NO'", "is_typed": "'NO'"},
        _CLASSES,
    ),
    CatalogueView(
        INFORMATION, "views",
        {"table_catalog": f"'{OWNER}'", "table_schema": "n.nspname", "table_name": "c.relname",
         "check_option": "'NONE'",
         "is_updatable": "'NO'", "is_insertable_into": "'NO'", "is_trigger_updatable": "'NO'",
         "is_trigger_deletable": "'NO'", "is_trigger_insertable_into": "'NO'"},
        f"{_CLASSES} WHERE c.relkind = 'v'",
    ),
    CatalogueView(
        INFORMATION, "columns",
        {"table_catalog": f"'{OWNER}'", "table_schema": "n.nspname", "table_name": "c.relname",
         "column_name": "a.attname", "ordinal_position": "a.attnum",
         "is_nullable": "CASE WHEN a.attnotnull THEN 'NO' ELSE 'YES' END",
         "data_type": """CASE WHEN b.typelem <> 0 AND b.typlen = -1 THEN 'ARRAY'
            WHEN b.typnamespace = 11 THEN pg.format_type(b.oid, NULL) ELSE 'USER-DEFINED' END""",
         "character_maximum_length":
            f"CASE WHEN {_DOMAIN} AND b.oid = 1043 AND t.typtypmod > 0 THEN t.typtypmod - 4 END",
         "character_octet_length": f"""CASE WHEN b.oid IN (25, 1042, 1043) THEN
            CASE WHEN {_DOMAIN} AND t.typtypmod > 0 THEN (t.typtypmod - 4) * 4 ELSE 1073741824 END END""",
         "numeric_precision": """CASE b.oid WHEN 21 THEN 16 WHEN 23 THEN 32 WHEN 20 THEN 64 WHEN 700 THEN 24
            WHEN 701 THEN 53 END""",
         "numeric_precision_radix":
            "CASE WHEN b.oid IN (20, 21, 23, 700, 701) THEN 2 WHEN b.oid = 1700 THEN 10 END",
         "numeric_scale": "CASE WHEN b.oid IN (20, 21, 23) THEN 0 END",
         "datetime_precision": """CASE WHEN b.oid = 1082 THEN 0 WHEN b.oid IN (1083, 1114, 1184, 1186, 1266) THEN
            CASE WHEN t.typtypmod > 0 THEN t.typtypmod ELSE 6 END END""",
         "collation_catalog": f"CASE WHEN k.oid IS NOT NULL THEN '{OWNER}' END",
         "collation_schema": "CASE WHEN k.oid IS NOT NULL THEN 'pg_catalog' END", "collation_name": "k.collname",
         "domain_catalog": f"CASE WHEN {_DOMAIN} THEN '{OWNER}' END",
         "domain_schema": f"CASE WHEN {_DOMAIN} THEN 'information_schema' END",
         "domain_name": f"CASE WHEN {_DOMAIN} THEN t.typname END",
         "udt_catalog": f"'{OWNER}'", "udt_schema": "m.nspname", "udt_name": "b.typname",
         "dtd_identifier": "CAST(a.attnum AS VARCHAR)", "is_self_referencing": "'NO'", "is_identity": "'NO'",
         "is_generated": "'NEVER'", "identity_cycle": "'NO'", "is_updatable": "'NO'"},
        f"""{_CLASSES} JOIN pg.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
            JOIN pg.pg_type t ON t.oid = a.atttypid
            JOIN pg.pg_type b ON b.oid = {_BASE} JOIN pg.pg_namespace m ON m.oid = b.typnamespace
            LEFT JOIN pg.pg_collation k ON k.oid = a.attcollation AND k.collname <> 'default'""",
    ),
    CatalogueView(
        INFORMATION, "enabled_roles", {"role_name": "rolname"}, "pg.pg_authid WHERE oid IN (6181, 16383)",
    ),
    CatalogueView(
        INFORMATION, "applicable_roles",
        {"grantee": "getvariable('visitor')", "role_name": "'pg_read_all_data'", "is_grantable": "'NO'"}, "(SELECT 1)",
    ),
    CatalogueView(
        INFORMATION, "character_sets",
        {"character_set_name": "'UTF8'", "character_repertoire": "'UCS'", "form_of_use": "'UTF8'",
         "default_collate_catalog": f"'{OWNER}'", "default_collate_schema": "'pg_catalog'",
         "default_collate_name": "'ucs_basic'"},
        "(SELECT 1)",
    ),
    *(
        CatalogueView(
            INFORMATION, name,
            {"grantor": f"'{OWNER}'", "grantee": "getvariable('visitor')", "table_catalog": f"'{OWNER}'",
             "table_schema": "n.nspname", "table_name": "c.relname", "privilege_type": "'SELECT'",
             "is_grantable": "'NO'", "with_hierarchy": "'YES'"},
            f"{_CLASSES} WHERE n.nspname = 'public'",
        )
        for name in ("table_privileges", "role_table_grants")
    ),
    *(
        CatalogueView(
            INFORMATION, name,
            {"grantor": f"'{OWNER}'", "grantee": "getvariable('visitor')", "table_catalog": f"'{OWNER}'",
             "table_schema": "n.nspname", "table_name": "c.relname", "column_name": "a.attname",
             "privilege_type": "'SELECT'", "is_grantable": "'NO'"},
            f"{_CLASSES} JOIN pg.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 WHERE n.nspname = 'public'",
        )
        for name in ("column_privileges", "role_column_grants")
    ),
)  # fmt: skip


LONGEST = 5.0  # seconds
MOST_ROWS, MOST_LETTERS = 50_000, 10_000_000  # of one answer

_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "memory_limit": "128MB",
    "threads": 1,
    "python_enable_replacements": False,
}
_REPLACED = {"pg_authid": "#authid"}  # the rows below a view

Cell = object


class CatalogueDatabase:
    """The catalogue of some tables. Any thread may ask.

    `shown` says what a number is called and `spelled` what number a name has, for every kind of thing that has both.
    """

    def __init__(self, tables: Sequence[Table]) -> None:
        self._connection = duckdb.connect(config=_CONFIG)
        self._names = list(names(tables))
        self.shown = {(named.kind, named.oid): named.shown for named in self._names}
        self.spelled = {(named.kind, spelling): named.oid for named in self._names for spelling in named.spellings}
        self._fill(rows(tables))
        self._connection.execute("SET temp_directory = ''")
        self._connection.execute("SET enable_external_access = false")
        self._connection.execute("SET lock_configuration = true")

    def ask(self, sql: str, visitor: str) -> list[tuple[Cell, ...]]:
        """The rows of a question that was translated. Whatever the database says of a broken one stays here."""
        cursor = self._connection.cursor()
        deadline = threading.Timer(LONGEST, cursor.interrupt)
        deadline.daemon = True
        deadline.start()
        try:
            cursor.execute("SET VARIABLE visitor = ?", [visitor])
            cursor.execute("SET VARIABLE now = ?", [dt.datetime.now(dt.UTC).replace(tzinfo=None)])
            (statement,) = cursor.extract_statements(sql)
            if statement.type != duckdb.StatementType.SELECT:
                raise _refused()
            return _fetched(cursor.execute(statement))
        except (duckdb.OutOfMemoryException, duckdb.InterruptException):
            raise Exceeded from None
        except (duckdb.Error, ValueError):
            raise _refused() from None
        finally:
            deadline.cancel()
            cursor.close()

    def _fill(self, held: Mapping[str, Sequence[Mapping[str, object]]]) -> None:
        """Every relation of Postgres, empty unless rows are known; our functions; what is made from others."""
        for schema in SCHEMAS.values():
            self._connection.execute(f"CREATE SCHEMA {schema}")
        made = {(view.schema, view.name) for view in VIEWS}
        for key, relation in facts().relations.items():
            name = _REPLACED.get(relation.name, relation.name)
            if key in made and name == relation.name:
                continue
            columns = {field.name: types.stored(field.type) for field in relation.fields}
            given = held.get(relation.name, []) if relation.schema == CATALOGUE else []
            self._table(f"{SCHEMAS[relation.schema]}.{quoted(name)}", columns, given)
        shown = [{"kind": named.kind, "oid": named.oid, "shown": named.shown} for named in self._names]
        self._table('pg."#names"', {"kind": "BIGINT", "oid": "BIGINT", "shown": "VARCHAR"}, shown)
        spelled = [{"kind": kind, "spelling": spelling, "oid": oid} for (kind, spelling), oid in self.spelled.items()]
        self._table('pg."#spelled"', {"kind": "BIGINT", "spelling": "VARCHAR", "oid": "BIGINT"}, spelled)
        self._table('pg."#procedures"', {"oid": "BIGINT", "arguments": "VARCHAR"}, list(_arguments(self.shown)))
        keywords = {name: types.stored(kind) for name, kind in functions.KEYWORDS}
        self._table('pg."#keywords"', keywords, facts().rows["pg_get_keywords"])
        below = [
            view for view in VIEWS if view.name in _REPLACED
        ]  # functions look into these, the others call functions
        above = [view for view in VIEWS if view.name not in _REPLACED]
        for statement in (*map(_view, below), *functions.macros(), *map(_view, above)):
            self._connection.execute(statement)

    def _table(self, name: str, columns: Mapping[str, str], given: Sequence[Mapping[str, object]]) -> None:
        declared = ", ".join(f"{quoted(column)} {kind}" for column, kind in columns.items())
        self._connection.execute(f"CREATE TABLE {name} ({declared})")
        if given:
            known = [column for column in columns if column in given[0]]
            arrays = [pa.array([row.get(column) for row in given]) for column in known]
            self._connection.register("filling", pa.table(arrays, names=[f"c{i}" for i in range(len(known))]))
            casts = ", ".join(f"CAST(c{i} AS {columns[column]})" for i, column in enumerate(known))
            listed = ", ".join(quoted(column) for column in known)
            self._connection.execute(f"INSERT INTO {name} ({listed}) SELECT {casts} FROM filling")
            self._connection.unregister("filling")


def _refused() -> Refusal:
    return Refusal("the catalogue cannot answer this", hint="ask something simpler of pg_catalog or information_schema")


def _fetched(cursor: duckdb.DuckDBPyConnection) -> list[tuple[Cell, ...]]:
    """The rows, unless they are more than anybody reads."""
    rows: list[tuple[Cell, ...]] = []
    size = 0
    while part := cursor.fetchmany(1000):
        rows += part
        size += sum(len(cell) for row in part for cell in row if isinstance(cell, (str, list)))
        if len(rows) > MOST_ROWS or size > MOST_LETTERS:
            hint = "add LIMIT or a condition"
            raise Refusal(
                f"an answer of the catalogue has at most {MOST_ROWS} rows and {MOST_LETTERS} letters", hint=hint
            )
    return rows


def _view(view: CatalogueView) -> str:
    """Its columns are those of the relation, in that order; what the view does not name is NULL."""
    relation = facts().relations[view.schema, view.name]
    columns = ", ".join(
        f"CAST({view.columns.get(field.name, 'NULL')} AS {types.stored(field.type)}) AS {quoted(field.name)}"
        for field in relation.fields
    )
    return f"CREATE VIEW {SCHEMAS[view.schema]}.{quoted(view.name)} AS SELECT {columns} FROM {view.source}"


def _arguments(shown: Mapping[tuple[int, int], str]) -> Iterator[dict[str, object]]:
    for oid, (_, _, arguments) in facts().procedures.items():
        named = [shown[types.REGTYPE, int(number)] for number in arguments.split()]
        yield {"oid": oid, "arguments": ", ".join(named)}
