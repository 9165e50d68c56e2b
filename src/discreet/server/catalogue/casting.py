"""Values of one type where another is wanted: untyped texts, names of things that have numbers, arrays written out."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping
from decimal import Decimal

from sqlglot import exp

from discreet.errors import Refusal
from discreet.server.catalogue import kinds

_NEEDLESS = re.compile(r'"([a-z_][a-z0-9_$]*)"')
_LISTED = {kinds.REGCLASS: "table", kinds.REGTYPE: "type", kinds.REGNAMESPACE: "schema"}

Typed = tuple[exp.Expr, int]
Names = Mapping[tuple[int, str], int]  # the number of what is spelled so, for each kind


def call(name: str, *arguments: exp.Expr) -> exp.Anonymous:
    """A function of our database."""
    return exp.Anonymous(this=name, expressions=list(arguments))


def plain(node: exp.Expr, kind: str) -> exp.Expr:
    """A cast in our database."""
    return exp.Cast(this=node, to=exp.DataType.build(kind, dialect="duckdb"))


def given(value: object) -> Typed:  # noqa: PLR0911  # one for each type
    """The value of a parameter: a text has no type yet, anything else has its own."""
    match value:
        case None:
            return exp.Null(), kinds.UNKNOWN
        case bool():
            return exp.Boolean(this=value), kinds.BOOL
        case int():
            number = exp.Literal.number(abs(value))
            return exp.Neg(this=number) if value < 0 else number, kinds.INT4 if abs(value) < 2**31 else kinds.INT8
        case float() | Decimal():
            return plain(exp.Literal.string(str(value)), "DOUBLE"), kinds.FLOAT8
        case dt.datetime():
            return plain(exp.Literal.string(value.isoformat(" ")), "TIMESTAMP"), kinds.TIMESTAMP
        case dt.date():
            return plain(exp.Literal.string(value.isoformat()), "DATE"), kinds.DATE
        case list() | tuple():
            items = [given(item) for item in value]
            kind = kinds.common(own for _, own in items)
            kind = kinds.TEXT if kind == kinds.UNKNOWN else kind
            array = kinds.array_of(kind)
            return plain(call("list_value", *(node for node, _ in items)), kinds.stored(array)), array
        case str() if "\0" not in value:
            return exp.Literal.string(value), kinds.UNKNOWN
    raise Refusal(f"a parameter of the catalogue cannot be {type(value).__name__}")


def fitted(value: Typed, kind: int, names: Names) -> exp.Expr:
    """A value that has no type yet, as one of this type. A value that has a type stays as it is."""
    node, own = value
    if own != kinds.UNKNOWN or kind == kinds.UNKNOWN or not isinstance(node, exp.Literal):
        return node
    text = node.name
    if kinds.element(kind):
        return _array(text, kind, names)
    if kind in kinds.NAMED:
        return _number(text, kind, names)
    stored = kinds.stored(kind)
    return node if stored == "VARCHAR" else plain(node, stored)


def _number(text: str, kind: int, names: Names) -> exp.Expr:
    """The number of what a text names. We do not know all functions, so an unknown one is none and no mistake."""
    if text.isdigit() or text == "-":
        return exp.Literal.number(0 if text == "-" else int(text))
    if kind == kinds.REGROLE:  # who asks is one of them
        return call("pg.to_regrole", exp.Literal.string(text))
    found = next((names[kind, each] for each in spellings(text) if (kind, each) in names), None)
    if found is None and kind in _LISTED:
        raise Refusal(f"there is no {_LISTED[kind]} {text!r}")
    return exp.Null() if found is None else exp.Literal.number(found)


def spellings(text: str) -> tuple[str, str]:
    """How a name may be kept: as it is quoted, or without quotes that it does not need ("visits" is visits)."""
    bare = _NEEDLESS.sub(r"\1", text.strip())
    return tuple(each if '"' in each else each.lower() for each in (text.strip(), bare))  # type: ignore[return-value]


def _array(text: str, kind: int, names: Names) -> exp.Expr:
    """An array written as {a,b}, or for a vector as a b."""
    inner = kinds.element(kind)
    if kind in kinds.VECTORS:
        items: list[str | None] = [*text.split()]
    elif text.startswith("{") and text.endswith("}") and "{" not in text[1:]:
        items = split(text[1:-1])
    else:
        raise Refusal(f"an array is written {{a,b}}, got {text!r}")
    values = [
        exp.Null() if item is None else fitted((exp.Literal.string(item), kinds.UNKNOWN), inner, names)
        for item in items
    ]
    return plain(call("list_value", *values), kinds.stored(kind))


def split(text: str) -> list[str | None]:
    """The items of an array between its braces; quoted ones may hold commas, NULL is none."""
    items: list[str | None] = []
    item, quoted, inside, escaped = "", False, False, False
    for letter in f"{text}," if text.strip() else "":
        if escaped:
            item, escaped = item + letter, False
        elif letter == "\\":
            escaped = True
        elif letter == '"':
            inside, quoted = not inside, True
        elif letter == "," and not inside:
            items.append(item if quoted or item.strip().upper() != "NULL" else None)
            item, quoted = "", False
        else:
            item += letter
    return [item if item is None else item.strip() for item in items]


def cast(value: Typed, kind: int, names: Names) -> exp.Expr:
    """A value as one of another type."""
    node, own = value
    if own == kinds.UNKNOWN and isinstance(node, exp.Literal):
        node = fitted(value, kind, names)
    strings = kind in kinds.STRINGS or kind == kinds.CHAR
    if strings and own in kinds.NAMED:
        node = call("pg.shown", exp.Literal.number(own), node)
    elif strings and own == kinds.TIMESTAMPTZ:
        node = exp.DPipe(this=plain(node, "VARCHAR"), expression=exp.Literal.string("+00"))
    elif strings and own in kinds.VECTORS:
        node = call("pg.vector_out", node)
    elif strings and kinds.element(own):
        node = call("pg.array_out", node)
    elif kind in kinds.NAMED and own in (*kinds.STRINGS, kinds.CHAR):
        return call("pg.spelled", exp.Literal.number(kind), node)
    elif kind == kinds.CHAR and not isinstance(node, exp.Null):
        node = call("left", node, exp.Literal.number(1))
    return node if isinstance(node, exp.Parameter) else plain(node, kinds.stored(kind))
