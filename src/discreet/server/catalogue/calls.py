"""Arrays, calls and queries within an expression, in our database's words."""

from __future__ import annotations

import re

from sqlglot import exp

from discreet.errors import Refusal
from discreet.server.catalogue import casting, functions, kinds
from discreet.server.catalogue.casting import Typed, call
from discreet.server.catalogue.scope import Scope, folded
from discreet.server.catalogue.words import Rule, Words


def _array(words: Words, node: exp.Expr, scope: Scope) -> Typed:
    values, kind = words.several(node.expressions, scope)
    kind = kinds.TEXT if kind == kinds.UNKNOWN else kind
    array = kinds.array_of(kind)
    return casting.plain(call("list_value", *values), kinds.stored(array)), array


def _bracket(words: Words, node: exp.Expr, scope: Scope) -> Typed:
    array, kind = words.typed(node.this, scope)
    first = 1 if kind in kinds.VECTORS else 0  # such arrays count from 0
    place = node.expressions[0]
    if len(node.expressions) != 1 or (isinstance(place, exp.Slice) and None in (place.this, place.expression)):
        raise Refusal("the catalogue answers array[place] and array[first:last] only")
    if isinstance(place, exp.Slice):
        ends = [words.fit(words.typed(end, scope), kinds.INT4) for end in (place.this, place.expression)]
        return call("list_slice", array, *ends), kind
    index = words.fit(words.typed(place, scope), kinds.INT4)
    shifted = exp.Add(this=index, expression=exp.Literal.number(first)) if first else index
    return call("list_extract", array, shifted), kinds.element(kind) or kinds.TEXT


def _dot(words: Words, node: exp.Expr, scope: Scope) -> Typed:
    value, kind = words.typed(node.this, scope)
    name = folded(node.expression)
    if kind != kinds.PAIR or name not in ("x", "n"):
        raise Refusal(f"the catalogue has no field {name!r} here")
    return call("struct_extract", value, exp.Literal.string(name)), kinds.INT2 if name == "x" else kinds.INT4


def _subquery(words: Words, node: exp.Expr, scope: Scope) -> Typed:
    query, columns = words.query(node.this, scope)
    return query.subquery(copy=False), columns[0][1]


def _exists(words: Words, node: exp.Expr, scope: Scope) -> Typed:
    query, _ = words.query(node.this.this if isinstance(node.this, exp.Subquery) else node.this, scope)
    return exp.Exists(this=query), kinds.BOOL


def _call(words: Words, node: exp.Expr, scope: Scope) -> Typed:
    name = str(node.this).lower()
    special = SPECIAL.get(name)
    if special is not None:
        if not node.expressions and special is not _NOW:
            raise Refusal(f"{name} needs an argument")
        return special(words, node, scope)
    function = functions.FUNCTIONS.get(name)
    if function is None:
        raise Refusal(f"the catalogue has no function {name!r}")
    values = [_argument(words, argument, scope) for argument in node.expressions]
    first = values[0][1] if values else kinds.TEXT
    first = kinds.TEXT if first == kinds.UNKNOWN else first
    result = {
        functions.SAME: first, functions.ELEMENT: kinds.element(first), functions.ARRAY: kinds.array_of(first),
    }.get(function.result, function.result)  # fmt: skip
    expected = [*function.expected, *[kinds.UNKNOWN] * len(values)]
    fitted = [words.fit(value, kind) for value, kind in zip(values, expected, strict=False)]
    return call(function.name, *fitted), result


def _argument(words: Words, node: exp.Expr, scope: Scope) -> Typed:
    if isinstance(node, exp.Star):
        return exp.Star(), kinds.INT8
    if isinstance(node, exp.Order):
        value, kind = _argument(words, node.this, scope)
        return exp.Order(this=value, expressions=words.ordered(node.expressions, scope)), kind
    if isinstance(node, exp.Distinct):
        value, kind = _argument(words, node.expressions[0], scope)
        return exp.Distinct(expressions=[value]), kind
    return words.typed(node, scope)


def _coalesce(words: Words, node: exp.Expr, scope: Scope) -> Typed:
    values, kind = words.several(node.expressions, scope)
    return call(str(node.this).lower(), *values), kind


def _query_array(words: Words, node: exp.Expr, scope: Scope) -> Typed:
    query, columns = words.query(node.expressions[0], scope)
    return call("array", query), kinds.array_of(columns[0][1])


def _subscripts(words: Words, node: exp.Expr, scope: Scope) -> Typed:
    array, kind = words.typed(node.expressions[0], scope)
    for dimension in node.expressions[1:]:  # ours have one
        words.fit(words.typed(dimension, scope), kinds.INT4)
    first = 0 if kind in kinds.VECTORS else 1
    size = exp.Add(this=call("len", array), expression=exp.Literal.number(first))
    return call("unnest", call("range", exp.Literal.number(first), size)), kinds.INT4


def _series(words: Words, node: exp.Expr, scope: Scope) -> Typed:
    values, kind = words.several(node.expressions, scope)
    return call("unnest", call("generate_series", *values)), kind


def _pairs(words: Words, node: exp.Expr, scope: Scope) -> Typed:
    """information_schema._pg_expandarray: the values of an array, each with its place."""
    array, _ = words.typed(node.expressions[0], scope)
    return call("unnest", call("pg.pairs", array)), kinds.PAIR


def _object(words: Words, node: exp.Expr, scope: Scope) -> Typed:
    return call("json_object", *(words.typed(value, scope)[0] for value in node.expressions)), kinds.JSON


def _format(words: Words, node: exp.Anonymous, scope: Scope) -> Typed:
    """format('%I.%I', …): %s as it is, %I as a name, %L as a literal."""
    pattern, *rest = node.expressions
    pieces = re.split(r"(%[sIL%])", pattern.name) if isinstance(pattern, exp.Literal) else ["%"]
    if any("%" in piece for piece in pieces[::2]) or sum(piece != "%%" for piece in pieces[1::2]) != len(rest):
        raise Refusal("the catalogue answers format() with %s, %I and %L only, one for each argument")
    given = iter(rest)
    made: list[exp.Expr] = []
    for piece in pieces:
        if piece in _FORMS:
            value, kind = words.typed(next(given), scope)
            text = casting.cast((value, kind), kinds.TEXT, words.names)
            made.append(call(_FORMS[piece], text))
        elif piece:
            made.append(exp.Literal.string(piece.replace("%%", "%")))
    return call("concat", *made), kinds.TEXT


_FORMS = {"%s": "concat", "%I": "pg.quote_ident", "%L": "pg.quote_nullable"}


def _variable(name: str, kind: int) -> Rule:
    return lambda _, __, ___: (call("getvariable", exp.Literal.string(name)), kind)


def _constant(name: str) -> Rule:
    """What is written without parentheses and is a function nevertheless."""
    return lambda words, _, scope: words.typed(call(name), scope)


def _window(words: Words, node: exp.Window, scope: Scope) -> Typed:
    value, kind = words.typed(node.this, scope)
    parts = [words.typed(part, scope)[0] for part in node.args.get("partition_by") or []]
    order = node.args.get("order")
    found = exp.Window(
        this=value,
        partition_by=parts,
        order=exp.Order(expressions=words.ordered(order.expressions, scope)) if order else None,
        spec=node.args["spec"].copy() if node.args.get("spec") else None,
        alias=node.args["alias"].copy() if node.args.get("alias") else None,
        over="OVER",
    )
    return found, kind


def _filter(words: Words, node: exp.Filter, scope: Scope) -> Typed:
    value, kind = words.typed(node.this, scope)
    return exp.Filter(this=value, expression=exp.Where(this=words.typed(node.expression.this, scope)[0])), kind


def _substring(words: Words, node: exp.Substring, scope: Scope) -> Typed:
    parts = [node.this, node.args.get("start"), node.args.get("length")]
    return call("substring", *(words.typed(part, scope)[0] for part in parts if part is not None)), kinds.TEXT


def _position(words: Words, node: exp.StrPosition, scope: Scope) -> Typed:
    return call("strpos", *(words.typed(part, scope)[0] for part in (node.this, node.args["substr"]))), kinds.INT4


def _trim(words: Words, node: exp.Trim, scope: Scope) -> Typed:
    name = {"LEADING": "ltrim", "TRAILING": "rtrim"}.get(str(node.args.get("position") or "").upper(), "trim")
    parts = [part for part in (node.this, node.args.get("expression")) if part is not None]
    return call(name, *(words.typed(part, scope)[0] for part in parts)), kinds.TEXT


def _extract(words: Words, node: exp.Extract, scope: Scope) -> Typed:
    """A part of a moment: seconds have digits after the point, everything else is whole."""
    part = node.this.name.lower()
    if part not in (*_PARTS, "epoch", "second"):
        raise Refusal(f"the catalogue does not answer EXTRACT({part[:40]} …)")
    value = words.fit(words.typed(node.expression, scope), kinds.TIMESTAMP)
    if part == "second":  # our database cuts the digits after the point off
        micros = call("date_part", exp.Literal.string("microsecond"), value)
        found: exp.Expr = exp.Div(this=micros, expression=exp.Literal.number(10**6))
    else:
        found = call("date_part", exp.Literal.string(part), value)
    return casting.plain(found, "BIGINT" if part in _PARTS else "DECIMAL(38, 6)"), kinds.NUMERIC


_PARTS = ("century", "decade", "year", "quarter", "month", "week", "day", "hour", "minute", "dow", "isodow", "doy")


def _truncated(words: Words, node: exp.Expr, scope: Scope) -> Typed:
    """date_trunc('day', …)."""
    if len(node.expressions) != 2:
        raise Refusal("the catalogue answers date_trunc with a unit and a moment")
    unit = words.fit(words.typed(node.expressions[0], scope), kinds.TEXT)
    value = words.typed(node.expressions[1], scope)
    kind = kinds.TIMESTAMP if value[1] == kinds.TIMESTAMP else kinds.TIMESTAMPTZ
    return casting.plain(call("date_trunc", unit, words.fit(value, kind)), kinds.stored(kind)), kind


def _tuple(words: Words, node: exp.Tuple, scope: Scope) -> Typed:
    return exp.Tuple(expressions=[words.typed(part, scope)[0] for part in node.expressions]), kinds.RECORD


_NOW = _variable("now", kinds.TIMESTAMPTZ)

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
    exp.Array: _array,
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
