"""Functions that a question about the catalogue may call; whatever is not listed is refused.

`functions.txt` holds those that are our own. In them, pg."#names" says what a number is called and pg."#spelled" what a
name may look like, for every kind of thing that has both.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from discreet.server.catalogue import kinds

FILE = Path(__file__).with_name("functions.txt")
AGGREGATES = frozenset(
    ("count", "min", "max", "sum", "avg", "bool_or", "bool_and", "every", "array_agg", "string_agg", "any_value")
)
SAME, ELEMENT, ARRAY = -10, -11, -12  # the result is of the first argument's type, of what it holds, an array of it

_BUILT_IN = {  # what our database calls it, and the result
    "lower": ("lower", kinds.TEXT), "upper": ("upper", kinds.TEXT), "length": ("length", kinds.INT4),
    "char_length": ("length", kinds.INT4), "octet_length": ("strlen", kinds.INT4), "concat": ("concat", kinds.TEXT),
    "concat_ws": ("concat_ws", kinds.TEXT), "replace": ("replace", kinds.TEXT), "translate": ("translate", kinds.TEXT),
    "left": ("left", kinds.TEXT), "right": ("right", kinds.TEXT), "substr": ("substr", kinds.TEXT),
    "split_part": ("split_part", kinds.TEXT), "strpos": ("strpos", kinds.INT4), "ltrim": ("ltrim", kinds.TEXT),
    "rtrim": ("rtrim", kinds.TEXT), "trim": ("trim", kinds.TEXT), "starts_with": ("starts_with", kinds.BOOL),
    "reverse": ("reverse", kinds.TEXT), "initcap": ("initcap", kinds.TEXT), "md5": ("md5", kinds.TEXT),
    "ascii": ("ascii", kinds.INT4), "abs": ("abs", SAME), "mod": ("mod", SAME), "sign": ("sign", kinds.FLOAT8),
    "ceil": ("ceil", kinds.FLOAT8), "floor": ("floor", kinds.FLOAT8), "round": ("round", kinds.NUMERIC),
    "nullif": ("nullif", SAME), "count": ("count", kinds.INT8), "min": ("min", SAME), "max": ("max", SAME),
    "sum": ("sum", kinds.INT8), "avg": ("avg", kinds.NUMERIC), "bool_or": ("bool_or", kinds.BOOL),
    "bool_and": ("bool_and", kinds.BOOL), "every": ("bool_and", kinds.BOOL), "array_agg": ("array_agg", ARRAY),
    "string_agg": ("string_agg", kinds.TEXT), "row_number": ("row_number", kinds.INT8), "rank": ("rank", kinds.INT8),
    "dense_rank": ("dense_rank", kinds.INT8), "first_value": ("first_value", SAME), "last_value": ("last_value", SAME),
    "lag": ("lag", SAME), "lead": ("lead", SAME), "unnest": ("unnest", ELEMENT), "array_append": ("list_append", SAME),
    "array_cat": ("list_concat", SAME), "string_to_array": ("string_split", 1009), "any_value": ("any_value", SAME),
    "regexp_replace": ("regexp_replace", kinds.TEXT), "regexp_split_to_array": ("string_split_regex", 1009),
    "date_part": ("date_part", kinds.FLOAT8),
}  # fmt: skip

# Results of those that a translation calls and a client cannot.
_INNER = {"shown": "VARCHAR", "number": "BIGINT", "pairs": "STRUCT(x BIGINT, n INTEGER)[]"}

TABLES: dict[str, tuple[tuple[str, int], ...]] = {  # functions that give rows: here they give none
    "aclexplode": (
        ("grantor", kinds.OID), ("grantee", kinds.OID), ("privilege_type", kinds.TEXT), ("is_grantable", kinds.BOOL),
    ),
    "pg_options_to_table": (("option_name", kinds.TEXT), ("option_value", kinds.TEXT)),
    "pg_partition_ancestors": (("relid", kinds.REGCLASS),),
    "pg_partition_tree": (
        ("relid", kinds.REGCLASS), ("parentrelid", kinds.REGCLASS), ("isleaf", kinds.BOOL), ("level", kinds.INT4),
    ),
    "pg_get_publication_tables": (("relid", kinds.OID),),
    "pg_listening_channels": (("pg_listening_channels", kinds.TEXT),),
}  # fmt: skip
KEYWORDS = (
    ("word", kinds.TEXT), ("catcode", kinds.CHAR), ("barelabel", kinds.BOOL), ("catdesc", kinds.TEXT),
    ("baredesc", kinds.TEXT),
)  # fmt: skip  # of pg_get_keywords, the one function of rows that gives some


@dataclass(frozen=True)
class Function:
    """What a call becomes, the type of its value, and the types that arguments are expected to have."""

    name: str
    result: int
    expected: tuple[int, ...] = ()


_ARGUMENT = re.compile(r"(\w+)(?: (\w+))?")


@cache
def _lines() -> tuple[tuple[str, tuple[tuple[str, str], ...], str, str], ...]:
    """Name, arguments with their types, result and body of each macro."""
    found = re.findall(r"(?m)^(\w+)\((.*?)\) (\w+) = (.*)$", FILE.read_text(encoding="utf-8"))
    return tuple((name, tuple(_ARGUMENT.findall(listed)), result, body) for name, listed, result, body in found)


def _functions() -> dict[str, Function]:
    found = {name: Function(called, result) for name, (called, result) in _BUILT_IN.items()}
    for name, arguments, result, _ in _lines():
        if result not in _INNER:
            expected = tuple(kinds.numbered(kind) if kind else kinds.UNKNOWN for _, kind in arguments)
            known = found[name].expected if name in found else ()
            found[name] = Function(f"pg.{name}", kinds.numbered(result), max(known, expected, key=len))
    return found


FUNCTIONS = _functions()


def macros() -> Iterator[str]:
    """The statements that make our own functions."""
    bodies: dict[str, list[str]] = {}
    for name, arguments, result, body in _lines():
        kind = _INNER.get(result) or kinds.stored(kinds.numbered(result))
        listed = ", ".join(argument for argument, _ in arguments)
        bodies.setdefault(name, []).append(f"({listed}) AS CAST({body} AS {kind})")
    for name, overloads in bodies.items():
        yield f"CREATE MACRO pg.{name}{', '.join(overloads)}"
