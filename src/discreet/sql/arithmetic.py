"""Arithmetic above the noise: quotients as in Postgres, days and moments; whatever number noise made, none fails.

By then the answer is paid for. So a quotient by 0, a whole number that does not fit into 64 bits, a day outside the
years 1 to 9999, and a span longer than those, is NULL.
"""

from __future__ import annotations

from sqlglot import exp

from discreet.declared.group_key import Type

_WHOLE = "whole"
_GROWING = (exp.Add, exp.Sub, exp.Mul)


def mark(tree: exp.Expr) -> None:
    """Mark the arithmetic of moments and of whole numbers as long as the types are known: it is replaced later."""
    _mark_moments(tree)
    _mark_numbers(tree)


def written_out(tree: exp.Expr) -> None:
    """Write arithmetic so that an engine that knows other quotients does it, and none fails."""
    _write_numbers(tree)
    _write_moments(tree)


def _mark_numbers(tree: exp.Expr) -> None:
    for node in tree.find_all(exp.Div, *_GROWING):
        whole = all(side.is_type(*exp.DataType.INTEGER_TYPES) for side in (node.left, node.right))
        whole = whole and not is_moment(node)  # so many hours are taken for a whole number
        if whole and (isinstance(node, exp.Div) or node.find(exp.Column, exp.AggFunc) is not None):
            node.meta[_WHOLE] = True


def is_whole(node: exp.Expr) -> bool:
    """Whether a node combines whole numbers."""
    return bool(node.meta.get(_WHOLE))


def _write_numbers(tree: exp.Expr) -> None:
    for node in list(tree.find_all(exp.Div, exp.Mod, *_GROWING)):
        if isinstance(node, exp.Div) and is_whole(node):
            below = _unless_zero(_cast(node.right, "bigint"))
            node.replace(exp.Paren(this=exp.IntDiv(this=_cast(node.left, "bigint"), expression=below)))
        elif isinstance(node, (exp.Div, exp.Mod)):
            node.set("expression", _unless_zero(node.right))
        elif is_whole(node):
            node.replace(_cast(type(node)(this=_cast(node.left, "hugeint"), expression=_cast(node.right, "hugeint"))))


def _unless_zero(node: exp.Expr) -> exp.Expr:
    inner = _bare(node)
    if isinstance(inner, exp.Nullif) or (isinstance(inner, exp.Literal) and float(inner.this)):
        return node
    return exp.Nullif(this=inner, expression=exp.Literal.number(0))


def _cast(node: exp.Expr, kind: str = "bigint") -> exp.Expr:
    return exp.TryCast(this=_bare(node), to=exp.DataType.build(kind))


def _bare(node: exp.Expr) -> exp.Expr:
    """A node without parentheses around it; those of a query are its own."""
    return _bare(node.this) if isinstance(node, exp.Paren) else node


_MOMENT = "moment"
_DATE, _TIMESTAMP, _INTERVAL = "date", "timestamp", "interval"
_Kind = exp.DataType.Type
_KINDS = {
    _DATE: (_Kind.DATE,),
    _TIMESTAMP: (_Kind.TIMESTAMP, _Kind.TIMESTAMPTZ, _Kind.TIMESTAMPLTZ, _Kind.DATETIME),
    _INTERVAL: (_Kind.INTERVAL,),
}
_ENDS = {
    _DATE: ("0001-01-01", "9999-12-31"),
    _TIMESTAMP: ("0001-01-01 00:00:00", "9999-12-31 23:59:59.999999"),
    _INTERVAL: ("-9999 years", "9999 years"),
}
_SIGNS: dict[type[exp.Expr], str] = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/"}
_READ = (exp.TryCast, exp.StrToDate, exp.StrToTime, exp.UnixToTime)


def _mark_moments(tree: exp.Expr) -> None:
    for node in reversed(list(tree.find_all(*_SIGNS))):  # from the leaves on
        kind = _combined(node, _kind(node.this), _kind(node.expression))
        if kind is not None:
            node.meta[_MOMENT] = kind


def is_moment(node: exp.Expr) -> bool:
    """Whether a node that combines two makes a day, a moment or a span of time."""
    return _MOMENT in node.meta


def _write_moments(tree: exp.Expr) -> None:
    """Write what makes days and moments so that none fails, and none lies outside the years 1 to 9999."""
    given = [node for node in tree.find_all(*_SIGNS, *_READ) if node.find(exp.Column) is not None]
    for node in reversed(given):  # from the leaves on; of constants nothing was made by noise
        kind = _made(node)
        if kind is not None:
            node.replace(exp.Var(this=_within(node, kind)))


def _within(node: exp.Expr, kind: str) -> str:
    """A list of one that is tried and then sieved: an engine tries no aggregate, and this writes each value once."""
    if isinstance(node, exp.UnixToTime):
        seconds = f"TRY_CAST({_text(node.this)} AS DOUBLE)"
        given, made = f"TRY_CAST(round({seconds} * 1000000) AS BIGINT)", 'make_timestamp("#one")'
    elif type(node) in _SIGNS:
        given, made = f"row({_text(node.this)}, {_text(node.expression)})", f'"#one"[1] {_SIGNS[type(node)]} "#one"[2]'
    else:
        given, made = _text(node), '"#one"'
    low, high = (f"{kind.upper()} '{end}'" for end in _ENDS[kind])
    tried = f'list_transform([{given}], lambda "#one": TRY({made}))'
    return f'list_filter({tried}, lambda "#one": "#one" BETWEEN {low} AND {high})[1]'


def _text(node: exp.Expr) -> str:
    return node.sql(dialect="duckdb")


def _made(node: exp.Expr) -> str | None:
    """What a node makes; None if it is no day, moment or span."""
    match node:
        case exp.UnixToTime() | exp.StrToTime():
            return _TIMESTAMP
        case exp.StrToDate():
            return _DATE
        case exp.TryCast():
            return next((name for name in (_DATE, _TIMESTAMP) if node.args["to"].this in _KINDS[name]), None)
        case _:
            return node.meta.get(_MOMENT)


def _kind(node: exp.Expr) -> str | None:
    while isinstance(node, (exp.Paren, exp.Neg)):
        node = node.this
    if isinstance(node, exp.Interval):
        return _INTERVAL
    if type(node) in _SIGNS:
        return node.meta.get(_MOMENT)
    return next((name for name, kinds in _KINDS.items() if node.is_type(*kinds)), None)


def _combined(node: exp.Expr, left: str | None, right: str | None) -> str | None:
    """What two sides make. A day less a day is a number, and not marked."""
    kinds = {left, right}
    if isinstance(node, (exp.Mul, exp.Div)):
        return _INTERVAL if _INTERVAL in kinds else None
    if isinstance(node, exp.Sub) and left != _INTERVAL and right in (_DATE, _TIMESTAMP):
        return _INTERVAL if _TIMESTAMP in kinds else None
    if _TIMESTAMP in kinds or kinds == {_DATE, _INTERVAL}:
        return _TIMESTAMP
    return _DATE if _DATE in kinds else _INTERVAL if _INTERVAL in kinds else None


def moment(column: exp.Expr, kind: Type) -> exp.Expr:
    """The day or the moment that a noisy number is, as SQL above the noise."""
    if kind is Type.TIMESTAMP:  # an engine multiplies a span by no more than 2^31: in seconds, until 2038
        return exp.UnixToTime(this=exp.cast(column, "bigint"))
    beginning = exp.cast(exp.Literal.string("1970-01-01"), kind.value)
    return exp.Paren(this=exp.Add(this=beginning, expression=exp.cast(column, "int")))
