"""Rows of the catalogue: those of every Postgres, and those of the tables that a visitor may ask about."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from discreet.declared.column import Column, ends
from discreet.declared.table import Table
from discreet.server.pg_catalog import types
from discreet.server.pg_catalog.types import (
    CATALOGUE,
    INFORMATION,
    OWNER,
    PUBLIC,
    CatalogueColumn,
    CatalogueRelation,
    Row,
    facts,
)

FIRST = 16384  # Postgres numbers what people make from here on
STRIDE = 3  # a table, the type of its rows, the type of arrays of those
DATABASE, VISITOR, READERS = 5, 16383, 6181  # numbers: of the database, of who is asking, of pg_read_all_data
SUPERUSER = 10
SYSTEM = (  # columns that every table has, with their places
    (-6, "tableoid", 26), (-5, "cmax", 29), (-4, "xmax", 28), (-3, "cmin", 29), (-2, "xmin", 28), (-1, "ctid", 27),
)  # fmt: skip
SETTINGS = {  # that are not what a Postgres on somebody's machine has
    "server_version": "16.0", "server_version_num": "160000", "default_transaction_read_only": "on", "jit": "off",
    "TimeZone": "UTC",
}  # fmt: skip

_NAMESPACES = {CATALOGUE: 11, PUBLIC: 2200}
_COMPOSITE = {  # what the type of a table's rows has besides its name and numbers
    "typowner": SUPERUSER, "typlen": -1, "typbyval": False, "typtype": "c", "typcategory": "C", "typispreferred": False,
    "typisdefined": True, "typdelim": ",", "typsubscript": 0, "typelem": 0, "typinput": 2290, "typoutput": 2291,
    "typreceive": 2402, "typsend": 2403, "typmodin": 0, "typmodout": 0, "typanalyze": 0, "typalign": "d",
    "typstorage": "x", "typnotnull": False, "typbasetype": 0, "typtypmod": -1, "typndims": 0, "typcollation": 0,
}  # fmt: skip
_ARRAY = {
    **_COMPOSITE, "typtype": "b", "typcategory": "A", "typsubscript": 6179, "typinput": 750, "typoutput": 751,
    "typreceive": 2400, "typsend": 2401, "typanalyze": 3816, "typarray": 0, "typrelid": 0,
}  # fmt: skip


@dataclass(frozen=True)
class NamedNumber:
    """Name of a number, and how it may be spelled."""

    kind: int
    oid: int
    shown: str
    spellings: tuple[str, ...]


def relations(tables: Sequence[Table]) -> list[CatalogueRelation]:
    """Everything that has columns: the catalogue's own, then the visitor's, in the order of their names."""
    own = [
        CatalogueRelation(
            PUBLIC, table.name, FIRST + STRIDE * i, "r", FIRST + STRIDE * i + 1, FIRST + STRIDE * i + 2,
            tuple(_field(column) for column in table.columns),
        )
        for i, table in enumerate(sorted(tables, key=lambda table: table.name))
    ]  # fmt: skip
    return [*facts().relations.values(), *own]


def rows(tables: Sequence[Table]) -> dict[str, list[Row]]:
    """What each relation of pg_catalog holds; one that is not named holds nothing."""
    every = relations(tables)
    held = {name: list(given) for name, given in facts().rows.items()}
    namespaces = {str(row["nspname"]): int(str(row["oid"])) for row in held["pg_namespace"]}
    held["pg_settings"] = [
        {**row, **dict.fromkeys(("setting", "boot_val", "reset_val"), SETTINGS.get(str(row["name"]), row["setting"]))}
        | {"category": "", "short_desc": "", "pending_restart": False}
        for row in held["pg_settings"]
    ]
    held["pg_class"] = [_class(relation, namespaces) for relation in every]
    held["pg_attribute"] = [row for relation in every for row in _attributes(relation)]
    held["pg_type"] = [*facts().types.values(), *(row for relation in every for row in _types(relation, namespaces))]
    held["pg_proc"] = [_procedure(oid) for oid in facts().procedures]
    held["pg_description"] = list(_descriptions(tables, every))
    held["pg_database"] = [_database()]
    held["pg_auth_members"] = [{"oid": 1, "roleid": READERS, "member": VISITOR, "grantor": SUPERUSER,
                                "admin_option": False, "inherit_option": True, "set_option": True}]  # fmt: skip
    return held


def names(tables: Sequence[Table]) -> Iterator[NamedNumber]:
    """Every number that is shown as a name."""
    every = relations(tables)
    for row in facts().rows["pg_namespace"]:
        shown = str(row["nspname"])
        yield NamedNumber(types.REGNAMESPACE, int(str(row["oid"])), shown, (shown,))
    for oid, (name, _, _) in facts().procedures.items():
        yield NamedNumber(types.REGPROC, oid, name, (name, f"{CATALOGUE}.{name}"))
    for oid, row in facts().types.items():
        shown, name = str(row["formatted"]), _quoted(str(row["typname"]))
        schema = CATALOGUE if row["typnamespace"] == _NAMESPACES[CATALOGUE] else INFORMATION
        bare = (name,) if schema == CATALOGUE else ()
        yield NamedNumber(types.REGTYPE, oid, shown, (*bare, f"{schema}.{name}", shown))
    for relation in every:
        name = _quoted(relation.name)
        full = f"{relation.schema}.{name}"
        shown = full if relation.schema == INFORMATION else name
        spellings = (full,) if relation.schema == INFORMATION else (name, full)
        yield NamedNumber(types.REGCLASS, relation.oid, shown, spellings)
        yield NamedNumber(types.REGTYPE, relation.rowtype, shown, spellings)
        yield NamedNumber(types.REGTYPE, relation.arraytype, f"{shown}[]", tuple(f"{name}[]" for name in spellings))


def _quoted(name: str) -> str:
    plain = name[:1].isalpha() or name[:1] == "_"
    plain = plain and name.isascii() and name == name.lower() and name.replace("_", "").replace("$", "").isalnum()
    return name if plain else '"' + name.replace('"', '""') + '"'


def _field(column: Column) -> CatalogueColumn:
    kind = types.DECLARED[column.type]
    return CatalogueColumn(column.name, kind, collation=int(str(facts().types[kind]["typcollation"])))


def _class(relation: CatalogueRelation, namespaces: dict[str, int]) -> Row:
    """Without a number that rows would give: pages and tuples are what an empty table has."""
    own = relation.oid >= FIRST
    return {
        "oid": relation.oid, "relname": relation.name, "relnamespace": namespaces[relation.schema],
        "reltype": relation.rowtype, "reloftype": 0, "relowner": SUPERUSER,
        "relam": relation.method, "relfilenode": relation.oid if own else 0, "reltablespace": 0, "relpages": 0,
        "reltuples": -1.0, "relallvisible": 0, "reltoastrelid": 0, "relhasindex": relation.indexed,
        "relisshared": False,
        "relpersistence": "p", "relkind": relation.kind, "relnatts": len(relation.fields), "relchecks": 0,
        "relhasrules": relation.kind == "v", "relhastriggers": False, "relhassubclass": False, "relrowsecurity": False,
        "relforcerowsecurity": False, "relispopulated": True, "relreplident": "d" if own else "n",
        "relispartition": False, "relrewrite": 0, "relfrozenxid": 0, "relminmxid": 0,
    }  # fmt: skip


def _attributes(relation: CatalogueRelation) -> Iterator[Row]:
    placed = [*enumerate(relation.fields, start=1)]
    if relation.kind == "r":
        placed += [(place, CatalogueColumn(name, kind, required=True)) for place, name, kind in SYSTEM]
    for number, field in placed:
        kind = facts().types.get(field.type) or facts().types[1009]
        yield {
            "attrelid": relation.oid, "attname": field.name, "atttypid": field.type, "attlen": kind["typlen"],
            "attnum": number, "attcacheoff": -1, "atttypmod": kind["typtypmod"],
            "attndims": 1 if types.element(field.type) else 0,
            "attbyval": kind["typbyval"], "attalign": kind["typalign"], "attstorage": kind["typstorage"],
            "attcompression": "", "attnotnull": field.required, "atthasdef": False, "atthasmissing": False,
            "attidentity": "", "attgenerated": "", "attisdropped": False, "attislocal": True, "attinhcount": 0,
            "attstattarget": -1, "attcollation": field.collation,
        }  # fmt: skip


def _types(relation: CatalogueRelation, namespaces: dict[str, int]) -> Iterator[Row]:
    """The type of a relation's rows, and that of arrays of them."""
    where = {"typnamespace": namespaces[relation.schema]}
    yield {**_COMPOSITE, **where, "oid": relation.rowtype, "typname": relation.name, "typrelid": relation.oid,
           "typarray": relation.arraytype}  # fmt: skip
    if relation.arraytype:
        yield {
            **_ARRAY,
            **where,
            "oid": relation.arraytype,
            "typname": f"_{relation.name}",
            "typelem": relation.rowtype,
        }


def _procedure(oid: int) -> Row:
    name, result, arguments = facts().procedures[oid]
    numbers = [int(number) for number in arguments.split()]
    return {
        "oid": oid, "proname": name, "pronamespace": _NAMESPACES[CATALOGUE], "proowner": SUPERUSER, "prolang": 12,
        "procost": 1.0, "prorows": 0.0, "provariadic": 0, "prosupport": 0, "prokind": "f", "prosecdef": False,
        "proleakproof": False, "proisstrict": True, "proretset": False, "provolatile": "i", "proparallel": "s",
        "pronargs": len(numbers), "pronargdefaults": 0, "prorettype": result, "proargtypes": numbers, "prosrc": name,
    }  # fmt: skip


def _descriptions(tables: Iterable[Table], every: Sequence[CatalogueRelation]) -> Iterator[Row]:
    numbers = {relation.name: relation.oid for relation in every if relation.schema == PUBLIC}
    for table in tables:
        about = [comment_on_table(table), *(comment_on_column(table, column) for column in table.columns)]
        for place, text in enumerate(about):
            if text:
                yield {"objoid": numbers[table.name], "classoid": 1259, "objsubid": place, "description": text}


def _database() -> Row:
    return {
        "oid": DATABASE, "datname": OWNER, "datdba": SUPERUSER, "encoding": 6, "datlocprovider": "c",
        "datistemplate": False, "datallowconn": True, "datconnlimit": -1, "datfrozenxid": 0, "datminmxid": 0,
        "dattablespace": 1663, "datcollate": "C", "datctype": "C",
    }  # fmt: skip


# comments: what is declared about a table and a column ----------------------------------------------------------------

SHOWN = 20  # keys in a comment; a list may be long


def comment_on_table(table: Table) -> str:
    """Whose rows these are, and how much of them one unit can be."""
    if table.public:
        return "public"
    parts = [f"private, population {table.population}", f"unit {table.unit or 'row'}"]
    if table.max_rows is not None:
        parts.append(f"at most {table.max_rows} rows a unit")
    parts.append(f"at most {table.max_groups} groups a unit")
    if table.link:
        own, other, column = table.link
        parts.append(f"{own} leads to {other}.{column}")
    return "; ".join(parts)


def comment_on_column(table: Table, column: Column) -> str:
    """What it means, and what was declared so that it can be summed or grouped by; empty if nothing was."""
    return "; ".join(_comment_parts(table, column))


def _comment_parts(table: Table, column: Column) -> Iterator[str]:
    if column.description:
        yield column.description
    if column.name == table.unit:
        yield "the unit"
    if column.bounds is not None:
        low, high = map(_decimal, column.bounds) if column.type.numeric else ends(column) or ("", "")
        yield f"bounds {low} to {high}"
        if column.step is not None:
            yield f"step {_decimal(column.step)}"
    if column.keys is not None:
        shown = ", ".join("NULL" if key is None else str(key) for key in column.keys[:SHOWN])
        more = f", … {len(column.keys)} in all" if len(column.keys) > SHOWN else ""
        yield f"keys {shown}{more}"


def _decimal(value: Fraction) -> str:
    """A number as it was declared, if a short decimal says it exactly."""
    short = f"{float(value):.12g}" if abs(value) < 10**15 else ""
    return short if short and Fraction(short) == value else str(value)
