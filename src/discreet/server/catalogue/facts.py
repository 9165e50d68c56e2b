"""What every Postgres 16 knows of itself before a table is made: relations and their columns, types, a few rows.

`tests/server/catalogue/extract.py` takes the file from a real one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

FILE = Path(__file__).with_name("postgres.json")
PROCEDURES = (  # columns of pg_type that name a function
    "typsubscript", "typinput", "typoutput", "typreceive", "typsend", "typmodin", "typmodout", "typanalyze",
)  # fmt: skip
CATALOGUE, INFORMATION, PUBLIC = "pg_catalog", "information_schema", "public"
OWNER = "discreet"  # of everything; also the name of the database

Row = dict[str, object]


@dataclass(frozen=True)
class Field:
    """A column of a relation, its type and collation by number."""

    name: str
    type: int
    required: bool = False
    collation: int = 0


@dataclass(frozen=True)
class Relation:
    """A table or a view, and the numbers it goes by."""

    schema: str
    name: str
    oid: int
    kind: str  # r: a table, v: a view
    rowtype: int
    arraytype: int
    fields: tuple[Field, ...]
    method: int = 2  # of access: heap
    indexed: bool = False


@dataclass(frozen=True)
class Facts:
    """The facts, as they were read."""

    relations: Mapping[tuple[str, str], Relation]
    types: Mapping[int, Row]
    procedures: Mapping[int, tuple[str, int, str]]  # name, result, arguments
    rows: Mapping[str, list[Row]]  # of relations, where they are the same everywhere


@cache
def facts() -> Facts:
    """Read once."""
    found = json.loads(FILE.read_text(encoding="utf-8"))
    relations = {}
    for schema, name, oid, kind, rowtype, arraytype, method, indexed, fields in found.pop("relations"):
        columns = tuple(Field(field, kind, bool(required), order) for field, kind, required, order in fields)
        relations[schema, name] = Relation(schema, name, oid, kind, rowtype, arraytype, columns, method, indexed)
    procedures = {oid: (name, result, str(arguments)) for oid, name, result, arguments in found.pop("procedures")}
    rows = {
        table: [dict(zip(held["columns"], row, strict=True)) for row in held["rows"]] for table, held in found.items()
    }
    types = {row["oid"]: row for row in rows.pop("types")}
    return Facts(relations, types, procedures, rows)
