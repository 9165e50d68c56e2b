"""Relations of the catalogue that are made from others. A column that a view does not name is NULL."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from discreet.server.catalogue.facts import CATALOGUE, INFORMATION, OWNER


@dataclass(frozen=True)
class View:
    """Where the rows of a relation come from, and what its columns are of them."""

    schema: str
    name: str
    columns: Mapping[str, str]
    source: str


_CLASSES = "pg.pg_class c JOIN pg.pg_namespace n ON n.oid = c.relnamespace"
_ZEROS = [
    "seq_scan",
    "seq_tup_read",
    "idx_scan",
    "idx_tup_fetch",
    "n_tup_ins",
    "n_tup_upd",
    "n_tup_del",
    "n_tup_hot_upd",
    "n_tup_newpage_upd",
    "n_live_tup",
    "n_dead_tup",
    "n_mod_since_analyze",
    "n_ins_since_vacuum",
    "vacuum_count",
    "autovacuum_count",
    "analyze_count",
    "autoanalyze_count",
]
_ROLE = {
    name: name
    for name in [
        "rolname",
        "rolsuper",
        "rolinherit",
        "rolcreaterole",
        "rolcreatedb",
        "rolcanlogin",
        "rolreplication",
        "rolconnlimit",
        "rolvaliduntil",
        "rolbypassrls",
        "oid",
    ]
} | {"rolpassword": "'********'"}
_RIGHTS = "oid, rolname, rolsuper, rolinherit, rolcreaterole, rolcreatedb, rolcanlogin, rolreplication, rolbypassrls"

_DOMAIN = "t.typtype = 'd'"
_BASE = f"CASE WHEN {_DOMAIN} THEN t.typbasetype ELSE a.atttypid END"


def _statistics(which: str, condition: str) -> View:
    """How often tables were read and written: never, as far as anybody is told."""
    columns = {"relid": "c.oid", "schemaname": "n.nspname", "relname": "c.relname", **dict.fromkeys(_ZEROS, "0")}
    return View(CATALOGUE, f"pg_stat_{which}_tables", columns, f"{_CLASSES} WHERE c.relkind = 'r' AND {condition}")


VIEWS = (
    View(
        CATALOGUE, "pg_authid",
        {name: name for name in (*_RIGHTS.split(", "), "rolconnlimit")},
        f"""(SELECT {_RIGHTS}, rolconnlimit FROM pg."#authid"
            UNION ALL SELECT 10, '{OWNER}', true, true, true, true, true, true, true, -1
            UNION ALL SELECT 16383, getvariable('visitor'), false, true, false, false, true, false, false, -1)""",
    ),
    View(CATALOGUE, "pg_roles", _ROLE, "pg.pg_authid"),
    View(
        CATALOGUE, "pg_user",
        {"usename": "rolname", "usesysid": "oid", "usecreatedb": "rolcreatedb", "usesuper": "rolsuper",
         "userepl": "rolreplication", "usebypassrls": "rolbypassrls", "passwd": "'********'"},
        "pg.pg_authid WHERE rolcanlogin",
    ),
    View(
        CATALOGUE, "pg_group", {"groname": "rolname", "grosysid": "oid", "grolist": "[]"},
        "pg.pg_authid WHERE NOT rolcanlogin",
    ),
    View(
        CATALOGUE, "pg_tables",
        {"schemaname": "n.nspname", "tablename": "c.relname", "tableowner": "pg.pg_get_userbyid(c.relowner)",
         "hasindexes": "c.relhasindex", "hasrules": "c.relhasrules", "hastriggers": "c.relhastriggers",
         "rowsecurity": "c.relrowsecurity"},
        f"{_CLASSES} WHERE c.relkind = 'r'",
    ),
    View(
        CATALOGUE, "pg_views",
        {"schemaname": "n.nspname", "viewname": "c.relname", "viewowner": "pg.pg_get_userbyid(c.relowner)"},
        f"{_CLASSES} WHERE c.relkind = 'v'",
    ),
    _statistics("all", "true"),
    _statistics("user", "n.nspname = 'public'"),
    _statistics("sys", "n.nspname <> 'public'"),
    View(INFORMATION, "information_schema_catalog_name", {"catalog_name": f"'{OWNER}'"}, "(SELECT 1)"),
    View(
        INFORMATION, "schemata",
        {"catalog_name": f"'{OWNER}'", "schema_name": "nspname", "schema_owner": "pg.pg_get_userbyid(nspowner)"},
        "pg.pg_namespace",
    ),
    View(
        INFORMATION, "tables",
        {"table_catalog": f"'{OWNER}'", "table_schema": "n.nspname", "table_name": "c.relname",
         "table_type": "CASE c.relkind WHEN 'r' THEN 'BASE TABLE' ELSE 'VIEW' END",
         "is_insertable_into": "'NO'", "is_typed": "'NO'"},
        _CLASSES,
    ),
    View(
        INFORMATION, "views",
        {"table_catalog": f"'{OWNER}'", "table_schema": "n.nspname", "table_name": "c.relname",
         "check_option": "'NONE'",
         "is_updatable": "'NO'", "is_insertable_into": "'NO'", "is_trigger_updatable": "'NO'",
         "is_trigger_deletable": "'NO'", "is_trigger_insertable_into": "'NO'"},
        f"{_CLASSES} WHERE c.relkind = 'v'",
    ),
    View(
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
    View(
        INFORMATION, "enabled_roles", {"role_name": "rolname"}, "pg.pg_authid WHERE oid IN (6181, 16383)",
    ),
    View(
        INFORMATION, "applicable_roles",
        {"grantee": "getvariable('visitor')", "role_name": "'pg_read_all_data'", "is_grantable": "'NO'"}, "(SELECT 1)",
    ),
    View(
        INFORMATION, "character_sets",
        {"character_set_name": "'UTF8'", "character_repertoire": "'UCS'", "form_of_use": "'UTF8'",
         "default_collate_catalog": f"'{OWNER}'", "default_collate_schema": "'pg_catalog'",
         "default_collate_name": "'ucs_basic'"},
        "(SELECT 1)",
    ),
    *(
        View(
            INFORMATION, name,
            {"grantor": f"'{OWNER}'", "grantee": "getvariable('visitor')", "table_catalog": f"'{OWNER}'",
             "table_schema": "n.nspname", "table_name": "c.relname", "privilege_type": "'SELECT'",
             "is_grantable": "'NO'", "with_hierarchy": "'YES'"},
            f"{_CLASSES} WHERE n.nspname = 'public'",
        )
        for name in ("table_privileges", "role_table_grants")
    ),
    *(
        View(
            INFORMATION, name,
            {"grantor": f"'{OWNER}'", "grantee": "getvariable('visitor')", "table_catalog": f"'{OWNER}'",
             "table_schema": "n.nspname", "table_name": "c.relname", "column_name": "a.attname",
             "privilege_type": "'SELECT'", "is_grantable": "'NO'"},
            f"{_CLASSES} JOIN pg.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 WHERE n.nspname = 'public'",
        )
        for name in ("column_privileges", "role_column_grants")
    ),
)  # fmt: skip
