"""Types of Postgres by their numbers, and the relations that every Postgres 16 has before a table is made.

`tests/server/pg_catalog/extract.py` takes the file of them from a real one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from discreet.declared.group_key import Type
from discreet.errors import Refusal

FILE = Path(__file__).with_name("postgres.json")
PROCEDURES = (  # columns of pg_type that name a function
    "typsubscript", "typinput", "typoutput", "typreceive", "typsend", "typmodin", "typmodout", "typanalyze",
)  # fmt: skip
CATALOGUE, INFORMATION, PUBLIC = "pg_catalog", "information_schema", "public"
OWNER = "discreet"  # of everything; also the name of the database

Row = dict[str, object]


@dataclass(frozen=True)
class CatalogueColumn:
    """A column of a relation, its type and collation by number."""

    name: str
    type: int
    required: bool = False
    collation: int = 0


@dataclass(frozen=True)
class CatalogueRelation:
    """A table or a view, and the numbers it goes by."""

    schema: str
    name: str
    oid: int
    kind: str  # r: a table, v: a view
    rowtype: int
    arraytype: int
    fields: tuple[CatalogueColumn, ...]
    method: int = 2  # of access: heap
    indexed: bool = False


@dataclass(frozen=True)
class PostgresFacts:
    """The facts, as they were read."""

    relations: Mapping[tuple[str, str], CatalogueRelation]
    types: Mapping[int, Row]
    procedures: Mapping[int, tuple[str, int, str]]  # name, result, arguments
    rows: Mapping[str, list[Row]]  # of relations, where they are the same everywhere


@cache
def facts() -> PostgresFacts:
    """Read once."""
    stored = json.loads(FILE.read_text(encoding="utf-8"))
    relations = {}
    for schema, name, oid, kind, rowtype, arraytype, method, indexed, fields in stored.pop("relations"):
        columns = tuple(CatalogueColumn(field, kind, bool(required), order) for field, kind, required, order in fields)
        relations[schema, name] = CatalogueRelation(
            schema, name, oid, kind, rowtype, arraytype, columns, method, indexed
        )
    procedures = {oid: (name, result, str(arguments)) for oid, name, result, arguments in stored.pop("procedures")}
    rows = {
        table: [dict(zip(held["columns"], row, strict=True)) for row in held["rows"]] for table, held in stored.items()
    }
    own = {row["oid"]: row for row in rows.pop("types")}
    return PostgresFacts(relations, own, procedures, rows)


BOOL, BYTEA, CHAR, NAME, INT8, INT2, VECTOR, INT4, TEXT, OID = 16, 17, 18, 19, 20, 21, 22, 23, 25, 26
REGPROC, XID, OIDS, JSON, TREE, FLOAT4, FLOAT8, UNKNOWN = 24, 28, 30, 114, 194, 700, 701, 705
BPCHAR, VARCHAR, DATE, TIME, TIMESTAMP, TIMESTAMPTZ, INTERVAL, NUMERIC = 1042, 1043, 1082, 1083, 1114, 1184, 1186, 1700
REGCLASS, REGTYPE, REGNAMESPACE, REGROLE, VOID, RECORD = 2205, 2206, 4089, 4096, 2278, 2249
PAIR = -1  # a value of an array with its place in it; never the type of an answer's column

NAMED = {
    REGPROC,
    2202,
    2203,
    2204,
    REGCLASS,
    REGTYPE,
    REGNAMESPACE,
    REGROLE,
    3734,
    3769,
    4191,
}  # shown as names
NUMBERS = (INT2, INT4, INT8, NUMERIC, FLOAT4, FLOAT8)  # the later wins
STRINGS = (NAME, BPCHAR, VARCHAR, TEXT)
VECTORS = {VECTOR: INT2, OIDS: OID}  # arrays that count from 0 and are shown without braces

DECLARED = {  # what a declared type is in Postgres
    Type.BOOLEAN: BOOL,
    Type.BIGINT: INT8,
    Type.DOUBLE: FLOAT8,
    Type.VARCHAR: TEXT,
    Type.DATE: DATE,
    Type.TIMESTAMP: TIMESTAMP,
}

_STORED = {
    BOOL: "BOOLEAN", BYTEA: "BLOB", INT2: "SMALLINT", INT4: "INTEGER", INT8: "BIGINT", OID: "BIGINT", XID: "BIGINT",
    FLOAT4: "FLOAT", FLOAT8: "DOUBLE", NUMERIC: "DOUBLE", DATE: "DATE", TIME: "TIME", TIMESTAMP: "TIMESTAMP",
    TIMESTAMPTZ: "TIMESTAMP", INTERVAL: "INTERVAL",
}  # fmt: skip
_ALIASES = {
    "bigint": "int8", "boolean": "bool", "char": "bpchar", "character": "bpchar", "decimal": "numeric",
    "dec": "numeric",
    "double": "float8", "float": "float8", "int": "int4", "integer": "int4", "real": "float4", "smallint": "int2",
    "'char'": "char", "string": "text",
}  # fmt: skip


@cache
def _numbers() -> dict[str, int]:
    return {str(row["typname"]): oid for oid, row in facts().types.items()}


def plain(name: str) -> str:
    """The name by which Postgres keeps a type, without [] if it is an array."""
    name = name.removesuffix("[]")
    return _ALIASES.get(name, name.strip("'"))


def numbered(name: str) -> int:
    """The number of a type, by its one-word name, with [] for an array of it."""
    number = _numbers().get(plain(name))
    if number is None:
        raise Refusal(f"the catalogue has no type {name!r}")
    return array_of(base(number)) if name.endswith("[]") else base(number)


def base(kind: int) -> int:
    """What a domain is a domain of; any other type itself."""
    row = facts().types.get(kind)
    return int(str(row["typbasetype"])) if row and row["typtype"] == "d" else kind


def element(kind: int) -> int:
    """What an array holds; 0 if it is none."""
    row = facts().types.get(kind)
    return int(str(row["typelem"])) if row and (row["typcategory"] == "A" or kind in VECTORS) else 0


def array_of(kind: int) -> int:
    """The array type of a type."""
    row = facts().types.get(TEXT if kind == UNKNOWN else kind)
    return int(str(row["typarray"])) if row and row["typarray"] else 1009


def stored(kind: int) -> str:
    """The type that holds it in our database."""
    kind = base(kind)
    if kind in NAMED:
        return "BIGINT"
    inner = element(kind)
    return f"{stored(inner)}[]" if inner else _STORED.get(kind, "VARCHAR")


def common(kinds: Iterable[int]) -> int:
    """The type that CASE, COALESCE, UNION and the like give to several."""
    known = [kind for kind in kinds if kind != UNKNOWN]
    if not known:
        return UNKNOWN
    if all(kind in NUMBERS for kind in known):
        return max(known, key=NUMBERS.index)
    if any(kind in STRINGS for kind in known) and len(set(known)) > 1:
        return TEXT if TEXT in known else next(kind for kind in known if kind in STRINGS)
    return known[0]
