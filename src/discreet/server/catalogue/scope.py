"""Which names a part of a question can see, and what a column of an answer is called."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from discreet.errors import Refusal
from discreet.server.catalogue import kinds
from discreet.server.catalogue.reading import MARK

UNNAMED = "?column?"
Columns = list[tuple[str, int]]  # names and types


@dataclass(frozen=True)
class Source:
    """Something in FROM: its alias and columns."""

    alias: str
    columns: Columns
    relation: int = 0  # its number, if it is one of the catalogue's
    merged: frozenset[str] = frozenset()  # columns that USING or NATURAL has given to an earlier source

    def kind(self, name: str) -> int | None:
        """The type of a column; None if there is no such column."""
        return next((kind for column, kind in self.columns if column == name), None)


@dataclass
class Scope:
    """The sources of one SELECT, those of the question around it, and the tables of WITH."""

    outer: Scope | None = None
    tables: Mapping[str, Columns] = field(default_factory=dict)
    sources: list[Source] = field(default_factory=list)

    def find(self, name: str, table: str) -> tuple[Source, int] | None:
        """The source of a column and its type, from here outwards."""
        for source in self.sources:
            if table in ("", source.alias) and (kind := source.kind(name)) is not None:
                return source, kind
        return self.outer.find(name, table) if self.outer else None

    def source(self, alias: str) -> Source | None:
        """The source that goes by this name, from here outwards."""
        for source in self.sources:
            if source.alias == alias:
                return source
        return self.outer.source(alias) if self.outer else None

    def everything(self, alias: str = "") -> Iterator[tuple[Source, str, int]]:
        """What a star stands for, in order."""
        found = [source for source in self.sources if alias in ("", source.alias)]
        if not found:
            raise Refusal("a star stands for the columns of something in FROM", hint="name the columns")
        for source in found:
            for name, kind in source.columns:
                if alias or name not in source.merged:
                    yield source, name, kind


def folded(identifier: exp.Expr | None) -> str:
    """A name as Postgres keeps it: in lower case unless it is quoted."""
    if not isinstance(identifier, exp.Identifier):
        return ""
    return identifier.name if identifier.args.get("quoted") else identifier.name.lower()


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
            return (inner, True) if strong else (kinds.plain(called(node)), False)
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
