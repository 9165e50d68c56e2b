"""Types of parameters, from the words around them and the declared types of columns: like Postgres, else text."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.annotate_types import annotate_types
from sqlglot.optimizer.qualify import qualify
from sqlglot.schema import MappingSchema

from discreet.declared.table import Table
from discreet.server.pgwire import types
from discreet.server.pgwire.lexer import Word, words
from discreet.server.pgwire.statement_kinds import Query
from discreet.sql import wording

_MARK = "discreet_parameter"  # a function of no type, which can stand wherever a value can
_LONGEST = 20_000

_Type = exp.DataType.Type
_OIDS = {
    _Type.BOOLEAN: types.BOOL,
    _Type.SMALLINT: types.INT2,
    _Type.INT: types.INT4,
    _Type.BIGINT: types.INT8,
    _Type.FLOAT: types.FLOAT4,
    _Type.DOUBLE: types.FLOAT8,
    _Type.DECIMAL: types.NUMERIC,
    _Type.TEXT: types.TEXT,
    _Type.VARCHAR: types.VARCHAR,
    _Type.NAME: types.NAME,
    _Type.DATE: types.DATE,
    _Type.TIMESTAMP: types.TIMESTAMP,
    _Type.TIMESTAMPTZ: types.TIMESTAMPTZ,
}
_NAMES = {
    **dict.fromkeys(("bool", "boolean"), types.BOOL),
    **dict.fromkeys(("int2", "smallint"), types.INT2),
    **dict.fromkeys(("int4", "int", "integer"), types.INT4),
    **dict.fromkeys(("int8", "bigint"), types.INT8),
    **dict.fromkeys(("float4", "real"), types.FLOAT4),
    **dict.fromkeys(("float8", "double precision", "float"), types.FLOAT8),
    **dict.fromkeys(("numeric", "decimal"), types.NUMERIC),
    **dict.fromkeys(("varchar", "character varying"), types.VARCHAR),
    "text": types.TEXT,
    "name": types.NAME,
    "oid": types.OID,
    "date": types.DATE,
    **dict.fromkeys(("timestamp", "timestamp without time zone"), types.TIMESTAMP),
    **dict.fromkeys(("timestamptz", "timestamp with time zone"), types.TIMESTAMPTZ),
}
_LONGEST_NAME = 4  # words
_WIDER = {  # what a comparison takes as well
    types.INT2: types.INT8,
    types.INT4: types.INT8,
    types.NUMERIC: types.FLOAT8,
    types.FLOAT4: types.FLOAT8,
    types.VARCHAR: types.TEXT,
}
_COUNTS = (exp.Limit, exp.Offset, exp.Fetch)
_SHARES = (exp.PercentileCont, exp.PercentileDisc)
_OF_ONE_TYPE = (exp.Binary, exp.Between, exp.In, exp.Case, exp.If, exp.Coalesce, exp.Nullif, exp.Least, exp.Greatest)
_OF_NUMBERS = (exp.Round, exp.WidthBucket, exp.Pow, exp.Sqrt, exp.Ln, exp.Exp, exp.Floor, exp.Ceil, exp.Abs)
_WHOLE_ARGUMENTS: dict[type[exp.Expr], tuple[str, ...]] = {
    exp.Substring: ("start", "length"),
    exp.Left: ("expression",),
    exp.Lag: ("offset",),
    exp.Lead: ("offset",),
    exp.Round: ("decimals",),
    exp.WidthBucket: ("num_buckets",),
}


def inferred(question: Query, given: Sequence[int], count: int, tables: Sequence[Table]) -> tuple[int, ...]:
    """The types of a question's parameters: as given, else as the question uses them."""
    known = {i + 1: oid for i, oid in enumerate(given) if oid}
    if len(known) < count:
        known = {**_cast(words(question.text)), **known}
    if any(i + 1 not in known for i in range(count)):
        known = {**_used(_marked(question), tables), **known}
    return tuple(known.get(i + 1, types.TEXT) for i in range(max(count, len(given))))


def examples(question: Query) -> dict[int, str]:
    """Texts that parameters may be where not every text will do: a part of a date, the format of a moment."""
    if "$" not in question.text or not _CHOOSY.search(question.text):
        return {}
    texts: dict[int, str] = {}
    for node in _marks(_marked(question)):
        inner: exp.Expr = node
        place = node.parent
        while isinstance(place, (exp.Cast, exp.Paren)):
            inner, place = place, place.parent
        if isinstance(place, exp.Extract) and inner.arg_key == "this":
            texts[int(node.expressions[0].name)] = "year"
        elif isinstance(place, (exp.TimestampTrunc, exp.DateTrunc)) and inner.arg_key == "unit":
            texts[int(node.expressions[0].name)] = "month"
        elif isinstance(place, (exp.StrToTime, exp.StrToDate)):
            texts[int(node.expressions[0].name)] = _moment(place.args.get("format"), inner.arg_key or "")
    return texts


def _moment(form: exp.Expr | None, part: str) -> str:
    """A text or a format of to_timestamp; the parser has written a constant format as `strptime` has it."""
    if part == "format":
        return "YYYY-MM-DD"
    return dt.date(2000, 1, 1).strftime(form.name if isinstance(form, exp.Literal) else "%Y-%m-%d")


_CHOOSY = re.compile(r"date_trunc|date_part|to_timestamp|to_date", re.IGNORECASE)


def _marks(text: str) -> list[exp.Anonymous]:
    """The places of parameters in the tree of a text."""
    try:
        (tree,) = wording.statements(text)
    except (SqlglotError, RecursionError, ValueError):
        return []
    marks = [] if tree is None else tree.find_all(exp.Anonymous)
    return [node for node in marks if node.name.lower() == _MARK and node.expressions]


def _cast(listed: Sequence[Word]) -> dict[int, int]:
    """The types that parameters are cast to: $1::date, $2::text[], CAST($3 AS bigint)."""
    oids: dict[int, int] = {}
    for index, word in enumerate(listed):
        after = [other.text.lower() for other in listed[index + 1 : index + 10]]
        if word.kind != "param" or not after or after[0] not in ("::", "as"):
            continue
        if after[0] == "as" and [other.text.lower() for other in listed[max(0, index - 2) : index]] != ["cast", "("]:
            continue
        oid = named(after[3:] if after[1:3] == ["pg_catalog", "."] else after[1:])
        if oid is not None:
            oids.setdefault(int(word.text[1:]), oid)
    return oids


def named(listed: Sequence[str]) -> int | None:
    """The number of the type that some words begin with: double precision, text[]."""
    for size in range(_LONGEST_NAME, 0, -1):
        oid = _NAMES.get(" ".join(listed[:size])) if len(listed) >= size else None
        if oid is not None:
            return types.ARRAY_OF[oid] if list(listed[size : size + 2]) == ["[", "]"] else oid
    return None


def _marked(question: Query) -> str:
    pieces, at = [], 0
    for word in words(question.text):
        if word.kind == "param":
            pieces += [question.text[at : word.start], f"{_MARK}({word.text[1:]})"]
            at = word.end
    return "".join([*pieces, question.text[at:]])


def _used(text: str, tables: Sequence[Table]) -> dict[int, int]:
    if len(text) > _LONGEST:
        return {}
    try:
        (tree,) = wording.statements(text)
    except (SqlglotError, RecursionError, ValueError):
        return {}  # whoever answers it says what is wrong with it
    if tree is None:
        return {}
    typed = _typed(tree, tables)
    oids: dict[int, int] = {}
    for node in typed.find_all(exp.Anonymous):
        if node.name.lower() == _MARK and node.expressions:
            oid = _around(node)
            if oid is not None:
                oids.setdefault(int(node.expressions[0].name), oid)
    return oids


def _typed(tree: exp.Expr, tables: Sequence[Table]) -> exp.Expr:
    known = MappingSchema(
        {table.name: {column.name: column.type.value for column in table.columns} for table in tables},
        dialect="postgres",
    )
    try:
        qualified = qualify(tree.copy(), schema=known, dialect="postgres", validate_qualify_columns=False)
        return annotate_types(qualified, schema=known, dialect="postgres")
    except (SqlglotError, RecursionError):
        return tree


def _around(node: exp.Expr) -> int | None:  # noqa: PLR0911  # one for each kind of place
    """The type that the place of a parameter has."""
    parent = node.parent
    while isinstance(parent, (exp.Paren, exp.Neg, exp.Tuple)):
        node, parent = parent, parent.parent
    if isinstance(parent, _COUNTS):
        return types.INT8
    if isinstance(parent, _SHARES):
        return types.FLOAT8
    if parent is None:
        return None
    if node.arg_key in _WHOLE_ARGUMENTS.get(type(parent), ()):
        return types.INT8
    if isinstance(parent, (exp.Any, exp.Array)):
        inside = _around(parent)
        return types.ARRAY_OF.get(inside) if inside is not None and isinstance(parent, exp.Any) else inside
    if isinstance(parent, (exp.Like, exp.ILike, exp.DPipe)):
        return types.TEXT
    if isinstance(parent, _OF_ONE_TYPE):
        return _beside(node, parent)
    return types.FLOAT8 if isinstance(parent, _OF_NUMBERS) else None


def _beside(node: exp.Expr, parent: exp.Expr) -> int | None:
    """The type of what a parameter is compared or combined with."""
    case = parent.parent if isinstance(parent, exp.If) and isinstance(parent.parent, exp.Case) else parent
    others = [child for child in case.iter_expressions() if child is not node and child is not parent]
    if isinstance(case, exp.Case):
        others = [branch.args["true"] for branch in case.args["ifs"] if branch is not parent] + [
            other for other in (case.args.get("default"),) if other is not None and other is not node
        ]
    for other in others:
        if isinstance(other, exp.Column) and other.name.lower().endswith(("oid", "relid", "namespace")):
            return types.OID  # of a catalogue, whose columns are not declared
        oid = None if other.type is None else _OIDS.get(other.type.this)
        if oid is not None:
            return _WIDER.get(oid, oid)
    return None
