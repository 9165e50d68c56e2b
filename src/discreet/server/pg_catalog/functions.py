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

from sqlglot import exp

from discreet.errors import Refusal
from discreet.server.pg_catalog import types
from discreet.server.pg_catalog.parser import folded
from discreet.server.pg_catalog.translation import NameScope, Rule, Translation, Typed, call, cast, plain
from discreet.sql.wording import shown

FILE = Path(__file__).with_name("functions.txt")
AGGREGATES = frozenset(
    ("count", "min", "max", "sum", "avg", "bool_or", "bool_and", "every", "array_agg", "string_agg", "any_value")
)
SAME, ELEMENT, ARRAY = -10, -11, -12  # the result is of the first argument's type, of what it holds, an array of it

_BUILT_IN = {  # what our database calls it, and the result
    "lower": ("lower", types.TEXT), "upper": ("upper", types.TEXT), "length": ("length", types.INT4),
    "char_length": ("length", types.INT4), "octet_length": ("strlen", types.INT4), "concat": ("concat", types.TEXT),
    "concat_ws": ("concat_ws", types.TEXT), "replace": ("replace", types.TEXT), "translate": ("translate", types.TEXT),
    "left": ("left", types.TEXT), "right": ("right", types.TEXT), "substr": ("substr", types.TEXT),
    "split_part": ("split_part", types.TEXT), "strpos": ("strpos", types.INT4), "ltrim": ("ltrim", types.TEXT),
    "rtrim": ("rtrim", types.TEXT), "trim": ("trim", types.TEXT), "starts_with": ("starts_with", types.BOOL),
    "reverse": ("reverse", types.TEXT), "initcap": ("initcap", types.TEXT), "md5": ("md5", types.TEXT),
    "ascii": ("ascii", types.INT4), "abs": ("abs", SAME), "mod": ("mod", SAME), "sign": ("sign", types.FLOAT8),
    "ceil": ("ceil", types.FLOAT8), "floor": ("floor", types.FLOAT8), "round": ("round", types.NUMERIC),
    "nullif": ("nullif", SAME), "count": ("count", types.INT8), "min": ("min", SAME), "max": ("max", SAME),
    "sum": ("sum", types.INT8), "avg": ("avg", types.NUMERIC), "bool_or": ("bool_or", types.BOOL),
    "bool_and": ("bool_and", types.BOOL), "every": ("bool_and", types.BOOL), "array_agg": ("array_agg", ARRAY),
    "string_agg": ("string_agg", types.TEXT), "row_number": ("row_number", types.INT8), "rank": ("rank", types.INT8),
    "dense_rank": ("dense_rank", types.INT8), "first_value": ("first_value", SAME), "last_value": ("last_value", SAME),
    "lag": ("lag", SAME), "lead": ("lead", SAME), "unnest": ("unnest", ELEMENT), "array_append": ("list_append", SAME),
    "array_cat": ("list_concat", SAME), "string_to_array": ("string_split", 1009), "any_value": ("any_value", SAME),
    "regexp_replace": ("regexp_replace", types.TEXT), "regexp_split_to_array": ("string_split_regex", 1009),
    "date_part": ("date_part", types.FLOAT8),
}  # fmt: skip

# Results of those that a translation calls and a client cannot.
_INNER = {"shown": "VARCHAR", "number": "BIGINT", "pairs": "STRUCT(x BIGINT, n INTEGER)[]"}

TABLES: dict[str, tuple[tuple[str, int], ...]] = {  # functions that give rows: here they give none
    "aclexplode": (
        ("grantor", types.OID), ("grantee", types.OID), ("privilege_type", types.TEXT), ("is_grantable", types.BOOL),
    ),
    "pg_options_to_table": (("option_name", types.TEXT), ("option_value", types.TEXT)),
    "pg_partition_ancestors": (("relid", types.REGCLASS),),
    "pg_partition_tree": (
        ("relid", types.REGCLASS), ("parentrelid", types.REGCLASS), ("isleaf", types.BOOL), ("level", types.INT4),
    ),
    "pg_get_publication_tables": (("relid", types.OID),),
    "pg_listening_channels": (("pg_listening_channels", types.TEXT),),
}  # fmt: skip
KEYWORDS = (
    ("word", types.TEXT), ("catcode", types.CHAR), ("barelabel", types.BOOL), ("catdesc", types.TEXT),
    ("baredesc", types.TEXT),
)  # fmt: skip  # of pg_get_keywords, the one function of rows that gives some


@dataclass(frozen=True)
class CatalogueFunction:
    """Function that a question may call: what the call becomes, the type of its value, the types of arguments."""

    name: str
    result: int
    expected: tuple[int, ...] = ()


_ARGUMENT = re.compile(r"(\w+)(?: (\w+))?")


@cache
def _lines() -> tuple[tuple[str, tuple[tuple[str, str], ...], str, str], ...]:
    """Name, arguments with their types, result and body of each macro."""
    lines = re.findall(r"(?m)^(\w+)\((.*?)\) (\w+) = (.*)$", FILE.read_text(encoding="utf-8"))
    return tuple((name, tuple(_ARGUMENT.findall(listed)), result, body) for name, listed, result, body in lines)


def _functions() -> dict[str, CatalogueFunction]:
    functions = {name: CatalogueFunction(called, result) for name, (called, result) in _BUILT_IN.items()}
    for name, arguments, result, _ in _lines():
        if result not in _INNER:
            expected = tuple(types.numbered(kind) if kind else types.UNKNOWN for _, kind in arguments)
            known = functions[name].expected if name in functions else ()
            functions[name] = CatalogueFunction(f"pg.{name}", types.numbered(result), max(known, expected, key=len))
    return functions


FUNCTIONS = _functions()


def macros() -> Iterator[str]:
    """The statements that make our own functions."""
    bodies: dict[str, list[str]] = {}
    for name, arguments, result, body in _lines():
        kind = _INNER.get(result) or types.stored(types.numbered(result))
        listed = ", ".join(argument for argument, _ in arguments)
        bodies.setdefault(name, []).append(f"({listed}) AS CAST({body} AS {kind})")
    for name, overloads in bodies.items():
        yield f"CREATE MACRO pg.{name}{', '.join(overloads)}"


# arrays, calls and queries within an expression -----------------------------------------------------------------------


def _array_written(words: Translation, node: exp.Expr, scope: NameScope) -> Typed:
    values, kind = words.several(node.expressions, scope)
    kind = types.TEXT if kind == types.UNKNOWN else kind
    array = types.array_of(kind)
    return plain(call("list_value", *values), types.stored(array)), array


def _bracket(words: Translation, node: exp.Expr, scope: NameScope) -> Typed:
    array, kind = words.typed(node.this, scope)
    first = 1 if kind in types.VECTORS else 0  # such arrays count from 0
    place = node.expressions[0]
    if len(node.expressions) != 1 or (isinstance(place, exp.Slice) and None in (place.this, place.expression)):
        raise Refusal(f"the catalogue answers array[place] and array[first:last] only, got {shown(node)}")
    if isinstance(place, exp.Slice):
        ends = [words.fit(words.typed(end, scope), types.INT4) for end in (place.this, place.expression)]
        return call("list_slice", array, *ends), kind
    index = words.fit(words.typed(place, scope), types.INT4)
    shifted = exp.Add(this=index, expression=exp.Literal.number(first)) if first else index
    return call("list_extract", array, shifted), types.element(kind) or types.TEXT


def _dot(words: Translation, node: exp.Expr, scope: NameScope) -> Typed:
    value, kind = words.typed(node.this, scope)
    name = folded(node.expression)
    if kind != types.PAIR or name not in ("x", "n"):
        raise Refusal(f"the catalogue has no field {name!r} here")
    return call("struct_extract", value, exp.Literal.string(name)), types.INT2 if name == "x" else types.INT4


def _subquery(words: Translation, node: exp.Expr, scope: NameScope) -> Typed:
    query, columns = words.query(node.this, scope)
    return query.subquery(copy=False), columns[0][1]


def _exists(words: Translation, node: exp.Expr, scope: NameScope) -> Typed:
    query, _ = words.query(node.this.this if isinstance(node.this, exp.Subquery) else node.this, scope)
    return exp.Exists(this=query), types.BOOL


def _call(words: Translation, node: exp.Expr, scope: NameScope) -> Typed:
    name = str(node.this).lower()
    special = SPECIAL.get(name)
    if special is not None:
        if not node.expressions and special is not _NOW:
            raise Refusal(f"{name} needs an argument")
        return special(words, node, scope)
    function = FUNCTIONS.get(name)
    if function is None:
        raise Refusal(f"the catalogue has no function {name!r}")
    values = [_argument(words, argument, scope) for argument in node.expressions]
    first = values[0][1] if values else types.TEXT
    first = types.TEXT if first == types.UNKNOWN else first
    result = {
        SAME: first, ELEMENT: types.element(first), ARRAY: types.array_of(first),
    }.get(function.result, function.result)  # fmt: skip
    expected = [*function.expected, *[types.UNKNOWN] * len(values)]
    fitted = [words.fit(value, kind) for value, kind in zip(values, expected, strict=False)]
    return call(function.name, *fitted), result


def _argument(words: Translation, node: exp.Expr, scope: NameScope) -> Typed:
    if isinstance(node, exp.Star):
        return exp.Star(), types.INT8
    if isinstance(node, exp.Order):
        value, kind = _argument(words, node.this, scope)
        return exp.Order(this=value, expressions=words.ordered(node.expressions, scope)), kind
    if isinstance(node, exp.Distinct):
        value, kind = _argument(words, node.expressions[0], scope)
        return exp.Distinct(expressions=[value]), kind
    return words.typed(node, scope)


def _coalesce(words: Translation, node: exp.Expr, scope: NameScope) -> Typed:
    values, kind = words.several(node.expressions, scope)
    return call(str(node.this).lower(), *values), kind


def _query_array(words: Translation, node: exp.Expr, scope: NameScope) -> Typed:
    query, columns = words.query(node.expressions[0], scope)
    return call("array", query), types.array_of(columns[0][1])


def _subscripts(words: Translation, node: exp.Expr, scope: NameScope) -> Typed:
    array, kind = words.typed(node.expressions[0], scope)
    for dimension in node.expressions[1:]:  # ours have one
        words.fit(words.typed(dimension, scope), types.INT4)
    first = 0 if kind in types.VECTORS else 1
    size = exp.Add(this=call("len", array), expression=exp.Literal.number(first))
    return call("unnest", call("range", exp.Literal.number(first), size)), types.INT4


def _series(words: Translation, node: exp.Expr, scope: NameScope) -> Typed:
    values, kind = words.several(node.expressions, scope)
    return call("unnest", call("generate_series", *values)), kind


def _pairs(words: Translation, node: exp.Expr, scope: NameScope) -> Typed:
    """information_schema._pg_expandarray: the values of an array, each with its place."""
    array, _ = words.typed(node.expressions[0], scope)
    return call("unnest", call("pg.pairs", array)), types.PAIR


def _object(words: Translation, node: exp.Expr, scope: NameScope) -> Typed:
    return call("json_object", *(words.typed(value, scope)[0] for value in node.expressions)), types.JSON


def _format(words: Translation, node: exp.Anonymous, scope: NameScope) -> Typed:
    """format('%I.%I', …): %s as it is, %I as a name, %L as a literal."""
    pattern, *rest = node.expressions
    pieces = re.split(r"(%[sIL%])", pattern.name) if isinstance(pattern, exp.Literal) else ["%"]
    if any("%" in piece for piece in pieces[::2]) or sum(piece != "%%" for piece in pieces[1::2]) != len(rest):
        raise Refusal(
            f"the catalogue answers format() with %s, %I and %L only, one for each argument, got {shown(pattern)}"
        )
    given = iter(rest)
    made: list[exp.Expr] = []
    for piece in pieces:
        if piece in _FORMS:
            value, kind = words.typed(next(given), scope)
            text = cast((value, kind), types.TEXT, words.names)
            made.append(call(_FORMS[piece], text))
        elif piece:
            made.append(exp.Literal.string(piece.replace("%%", "%")))
    return call("concat", *made), types.TEXT


_FORMS = {"%s": "concat", "%I": "pg.quote_ident", "%L": "pg.quote_nullable"}


def _variable(name: str, kind: int) -> Rule:
    return lambda _, __, ___: (call("getvariable", exp.Literal.string(name)), kind)


def _constant(name: str) -> Rule:
    """What is written without parentheses and is a function nevertheless."""
    return lambda words, _, scope: words.typed(call(name), scope)


def _window(words: Translation, node: exp.Window, scope: NameScope) -> Typed:
    value, kind = words.typed(node.this, scope)
    parts = [words.typed(part, scope)[0] for part in node.args.get("partition_by") or []]
    order = node.args.get("order")
    window = exp.Window(
        this=value,
        partition_by=parts,
        order=exp.Order(expressions=words.ordered(order.expressions, scope)) if order else None,
        spec=node.args["spec"].copy() if node.args.get("spec") else None,
        alias=node.args["alias"].copy() if node.args.get("alias") else None,
        over="OVER",
    )
    return window, kind


def _filter(words: Translation, node: exp.Filter, scope: NameScope) -> Typed:
    value, kind = words.typed(node.this, scope)
    return exp.Filter(this=value, expression=exp.Where(this=words.typed(node.expression.this, scope)[0])), kind


def _substring(words: Translation, node: exp.Substring, scope: NameScope) -> Typed:
    parts = [node.this, node.args.get("start"), node.args.get("length")]
    return call("substring", *(words.typed(part, scope)[0] for part in parts if part is not None)), types.TEXT


def _position(words: Translation, node: exp.StrPosition, scope: NameScope) -> Typed:
    return call("strpos", *(words.typed(part, scope)[0] for part in (node.this, node.args["substr"]))), types.INT4


def _trim(words: Translation, node: exp.Trim, scope: NameScope) -> Typed:
    name = {"LEADING": "ltrim", "TRAILING": "rtrim"}.get(str(node.args.get("position") or "").upper(), "trim")
    parts = [part for part in (node.this, node.args.get("expression")) if part is not None]
    return call(name, *(words.typed(part, scope)[0] for part in parts)), types.TEXT


def _extract(words: Translation, node: exp.Extract, scope: NameScope) -> Typed:
    """A part of a moment: seconds have digits after the point, everything else is whole."""
    part = node.this.name.lower()
    if part not in (*_PARTS, "epoch", "second"):
        raise Refusal(f"the catalogue does not answer EXTRACT({part[:40]} …)")
    value = words.fit(words.typed(node.expression, scope), types.TIMESTAMP)
    if part == "second":  # our database cuts the digits after the point off
        micros = call("date_part", exp.Literal.string("microsecond"), value)
        number: exp.Expr = exp.Div(this=micros, expression=exp.Literal.number(10**6))
    else:
        number = call("date_part", exp.Literal.string(part), value)
    return plain(number, "BIGINT" if part in _PARTS else "DECIMAL(38, 6)"), types.NUMERIC


_PARTS = ("century", "decade", "year", "quarter", "month", "week", "day", "hour", "minute", "dow", "isodow", "doy")


def _truncated(words: Translation, node: exp.Expr, scope: NameScope) -> Typed:
    """date_trunc('day', …)."""
    if len(node.expressions) != 2:
        raise Refusal(
            f"the catalogue answers date_trunc with a unit and a moment, got {len(node.expressions)} arguments"
        )
    unit = words.fit(words.typed(node.expressions[0], scope), types.TEXT)
    value = words.typed(node.expressions[1], scope)
    kind = types.TIMESTAMP if value[1] == types.TIMESTAMP else types.TIMESTAMPTZ
    return plain(call("date_trunc", unit, words.fit(value, kind)), types.stored(kind)), kind


def _tuple(words: Translation, node: exp.Tuple, scope: NameScope) -> Typed:
    return exp.Tuple(expressions=[words.typed(part, scope)[0] for part in node.expressions]), types.RECORD


_NOW = _variable("now", types.TIMESTAMPTZ)

SPECIAL: dict[str, Rule] = {
    "coalesce": _coalesce,
    "greatest": _coalesce,
    "least": _coalesce,
    "array": _query_array,
    "generate_subscripts": _subscripts,
    "generate_series": _series,
    "_pg_expandarray": _pairs,
    "format": _format,
    "json_build_object": _object,
    "date_trunc": _truncated,
    "now": _NOW,
}

RULES: dict[type[exp.Expr], Rule] = {
    exp.Anonymous: _call,
    exp.Array: _array_written,
    exp.Bracket: _bracket,
    exp.Dot: _dot,
    exp.Subquery: _subquery,
    exp.Exists: _exists,
    exp.Window: _window,
    exp.Filter: _filter,
    exp.Substring: _substring,
    exp.StrPosition: _position,
    exp.Trim: _trim,
    exp.Extract: _extract,
    exp.Tuple: _tuple,
    exp.CurrentSchema: _constant("current_schema"),
    exp.CurrentCatalog: _constant("current_database"),
    exp.CurrentTimestamp: _NOW,
}
