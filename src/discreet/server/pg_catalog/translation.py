"""Translation of a question about the catalogue: which names its parts see, which types values have and get."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from sqlglot import exp

from discreet.errors import Ground, Refusal
from discreet.server.pg_catalog import types
from discreet.server.pg_catalog.parser import MARK, folded
from discreet.sql import wording

UNNAMED = "?column?"
Columns = list[tuple[str, int]]  # names and types


@dataclass(frozen=True)
class FromItem:
    """Something in FROM: its alias and columns."""

    alias: str
    columns: Columns
    relation: int = 0  # its number, if it is one of the catalogue's
    merged: frozenset[str] = frozenset()  # columns that USING or NATURAL has given to an earlier source

    def kind(self, name: str) -> int | None:
        """The type of a column; None if there is no such column."""
        return next((kind for column, kind in self.columns if column == name), None)


@dataclass
class NameScope:
    """The sources of one SELECT, those of the question around it, and the tables of WITH."""

    outer: NameScope | None = None
    tables: Mapping[str, Columns] = field(default_factory=dict)
    sources: list[FromItem] = field(default_factory=list)

    def find(self, name: str, table: str) -> tuple[FromItem, int] | None:
        """The source of a column and its type, from here outwards."""
        for source in self.sources:
            if table in ("", source.alias) and (kind := source.kind(name)) is not None:
                return source, kind
        return self.outer.find(name, table) if self.outer else None

    def source(self, alias: str) -> FromItem | None:
        """The source that goes by this name, from here outwards."""
        for source in self.sources:
            if source.alias == alias:
                return source
        return self.outer.source(alias) if self.outer else None

    def everything(self, alias: str = "") -> Iterator[tuple[FromItem, str, int]]:
        """What a star stands for, in order."""
        sources = [source for source in self.sources if alias in ("", source.alias)]
        if not sources:
            named = f"{alias}.*" if alias else "*"
            raise Refusal(f"{named} stands for the columns of something in FROM", hint="name the columns")
        for source in sources:
            for name, kind in source.columns:
                if alias or name not in source.merged:
                    yield source, name, kind


def called(cast: exp.Cast) -> str:
    """The one-word name of the type that a value is cast to."""
    target = cast.to
    name = target.args["kind"].name if target.args.get("kind") else target.sql(dialect="postgres").lower()
    return str(name).removeprefix(MARK)


def label(node: exp.Expr) -> str:
    """What Postgres calls a column that was given no name."""
    return _label(node)[0]


def _label(node: exp.Expr) -> tuple[str, bool]:  # noqa: PLR0911  # one for each kind of node
    """The name, and whether it is better than the one of a type or CASE around it."""
    match node:
        case exp.Alias():
            return folded(node.args["alias"]), True
        case exp.Column():
            return folded(node.this), True
        case exp.Dot():
            return folded(node.expression), True
        case exp.Anonymous():
            return str(node.this).lower(), True
        case exp.Paren() | exp.Bracket() | exp.Window() | exp.Filter():
            return _label(node.this)
        case exp.Cast():
            inner, strong = _label(node.this)
            return (inner, True) if strong else (types.plain(called(node)), False)
        case exp.Case():
            inner, strong = _label(node.args["default"]) if node.args.get("default") else ("", False)
            return (inner, True) if strong else ("case", False)
        case exp.Subquery():
            first = node.this.selects[0] if isinstance(node.this, exp.Query) and node.this.selects else None
            return _label(first) if first is not None else (UNNAMED, False)
    return _FIXED.get(type(node), UNNAMED), type(node) in _FIXED


_FIXED: dict[type[exp.Expr], str] = {
    exp.Array: "array",
    exp.Exists: "exists",
    exp.Extract: "extract",
    exp.Substring: "substring",
    exp.StrPosition: "position",
    exp.Trim: "btrim",
    exp.CurrentUser: "current_user",
    exp.SessionUser: "session_user",
    exp.CurrentCatalog: "current_catalog",
    exp.CurrentSchema: "current_schema",
    exp.CurrentDate: "current_date",
    exp.CurrentTimestamp: "current_timestamp",
}


_NEEDLESS = re.compile(r'"([a-z_][a-z0-9_$]*)"')
_LISTED = {types.REGCLASS: "table", types.REGTYPE: "type", types.REGNAMESPACE: "schema"}

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
            return exp.Null(), types.UNKNOWN
        case bool():
            return exp.Boolean(this=value), types.BOOL
        case int():
            number = exp.Literal.number(abs(value))
            return exp.Neg(this=number) if value < 0 else number, types.INT4 if abs(value) < 2**31 else types.INT8
        case float() | Decimal():
            return plain(exp.Literal.string(str(value)), "DOUBLE"), types.FLOAT8
        case dt.datetime():
            return plain(exp.Literal.string(value.isoformat(" ")), "TIMESTAMP"), types.TIMESTAMP
        case dt.date():
            return plain(exp.Literal.string(value.isoformat()), "DATE"), types.DATE
        case list() | tuple():
            items = [given(item) for item in value]
            kind = types.common(own for _, own in items)
            kind = types.TEXT if kind == types.UNKNOWN else kind
            array = types.array_of(kind)
            return plain(call("list_value", *(node for node, _ in items)), types.stored(array)), array
        case str() if "\0" not in value:
            return exp.Literal.string(value), types.UNKNOWN
    raise Refusal(f"a parameter of the catalogue cannot be {type(value).__name__}")


def fitted(value: Typed, kind: int, names: Names) -> exp.Expr:
    """A value that has no type yet, as one of this type. A value that has a type stays as it is."""
    node, own = value
    if own != types.UNKNOWN or kind == types.UNKNOWN or not isinstance(node, exp.Literal):
        return node
    text = node.name
    if types.element(kind):
        return _array_fitted(text, kind, names)
    if kind in types.NAMED:
        return _number(text, kind, names)
    stored = types.stored(kind)
    return node if stored == "VARCHAR" else plain(node, stored)


def _number(text: str, kind: int, names: Names) -> exp.Expr:
    """The number of what a text names. We do not know all functions, so an unknown one is none and no mistake."""
    if text.isdigit() or text == "-":
        return exp.Literal.number(0 if text == "-" else int(text))
    if kind == types.REGROLE:  # who asks is one of them
        return call("pg.to_regrole", exp.Literal.string(text))
    number = next((names[kind, each] for each in spellings(text) if (kind, each) in names), None)
    if number is None and kind in _LISTED:
        raise Refusal(f"there is no {_LISTED[kind]} {text!r}")
    return exp.Null() if number is None else exp.Literal.number(number)


def spellings(text: str) -> tuple[str, str]:
    """How a name may be kept: as it is quoted, or without quotes that it does not need ("visits" is visits)."""
    bare = _NEEDLESS.sub(r"\1", text.strip())
    return tuple(each if '"' in each else each.lower() for each in (text.strip(), bare))  # type: ignore[return-value]


def _array_fitted(text: str, kind: int, names: Names) -> exp.Expr:
    """An array written as {a,b}, or for a vector as a b."""
    inner = types.element(kind)
    if kind in types.VECTORS:
        items: list[str | None] = [*text.split()]
    elif text.startswith("{") and text.endswith("}") and "{" not in text[1:]:
        items = split(text[1:-1])
    else:
        raise Refusal(f"an array is written {{a,b}}, got {text!r}")
    values = [
        exp.Null() if item is None else fitted((exp.Literal.string(item), types.UNKNOWN), inner, names)
        for item in items
    ]
    return plain(call("list_value", *values), types.stored(kind))


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
    if own == types.UNKNOWN and isinstance(node, exp.Literal):
        node = fitted(value, kind, names)
    strings = kind in types.STRINGS or kind == types.CHAR
    if strings and own in types.NAMED:
        node = call("pg.shown", exp.Literal.number(own), node)
    elif strings and own == types.TIMESTAMPTZ:
        node = exp.DPipe(this=plain(node, "VARCHAR"), expression=exp.Literal.string("+00"))
    elif strings and own in types.VECTORS:
        node = call("pg.vector_out", node)
    elif strings and types.element(own):
        node = call("pg.array_out", node)
    elif kind in types.NAMED and own in (*types.STRINGS, types.CHAR):
        return call("pg.spelled", exp.Literal.number(kind), node)
    elif kind == types.CHAR and not isinstance(node, exp.Null):
        node = call("left", node, exp.Literal.number(1))
    return node if isinstance(node, exp.Parameter) else plain(node, types.stored(kind))


Rule = Callable[["Translation", Any, NameScope], Typed]  # the second is a node of the class that the rule is for
Queries = Callable[["Translation", exp.Expr, NameScope], tuple[exp.Query, Columns]]


class Translation:
    """One question on its way from Postgres's words into our database's, by rules for its parts and for queries."""

    def __init__(
        self, names: Names, values: Sequence[object] | None, rules: Mapping[type[exp.Expr], Rule], queries: Queries
    ) -> None:
        """Values are those of parameters; None while a question is only described."""
        self.names, self.values = names, values
        self.parameters: dict[int, int] = {}  # the types that they turn out to have
        self._rules, self._queries = rules, queries

    def typed(self, node: exp.Expr | None, scope: NameScope) -> Typed:
        """An expression and its type."""
        if node is None:  # the parser lets some things be left out
            raise Refusal("this is not SQL as Postgres would read it", ground=Ground.SYNTAX)
        rule = self._rules.get(type(node))
        if rule is None:
            raise Refusal(f"the catalogue does not answer {wording.called(node)}")
        return rule(self, node, scope)

    def fit(self, value: Typed, kind: int) -> exp.Expr:
        """A value where this type is wanted."""
        node, own = value
        if isinstance(node, exp.Parameter) and own == types.UNKNOWN:
            number, known = int(node.name), types.TEXT if kind == types.UNKNOWN else kind
            if self.parameters.get(number, types.TEXT) == types.TEXT:
                self.parameters[number] = known
        return fitted(value, kind, self.names)

    def several(self, nodes: Sequence[exp.Expr], scope: NameScope) -> tuple[list[exp.Expr], int]:
        """Expressions of one type, and that type."""
        values = [self.typed(node, scope) for node in nodes]
        kind = types.common(own for _, own in values)
        return [self.fit(value, kind) for value in values], kind

    def ordered(self, nodes: Sequence[exp.Expr], scope: NameScope) -> list[exp.Expr]:
        """The terms of ORDER BY."""
        return [
            exp.Ordered(
                this=self.typed(node.this, scope)[0],
                desc=node.args.get("desc"),
                nulls_first=node.args.get("nulls_first"),
            )
            for node in nodes
        ]

    def query(self, node: exp.Expr, outer: NameScope) -> tuple[exp.Query, Columns]:
        """A query and its columns."""
        return self._queries(self, node, outer)
