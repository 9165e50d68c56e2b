"""A client's question in our database's words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from discreet.errors import Ground, Refusal
from discreet.server.catalogue import calls, casting, kinds, operators, query
from discreet.server.catalogue.casting import Names, Typed
from discreet.server.catalogue.reading import read
from discreet.server.catalogue.scope import Columns, Scope
from discreet.sql.source_words import called

_RULES = {**operators.RULES, **calls.RULES}  # whatever is not in it is refused


@dataclass(frozen=True)
class Translated:
    """A question for our database, its columns as Postgres would tell them, and the types of its parameters."""

    sql: str
    columns: Columns
    parameters: list[int]
    timed: bool  # whether it asks what time it is


class _Translation:
    """One question under way."""

    def __init__(self, names: Names, values: Sequence[object] | None) -> None:
        self.names, self.values = names, values
        self.parameters: dict[int, int] = {}

    def typed(self, node: exp.Expr | None, scope: Scope) -> Typed:
        if node is None:  # the parser lets some things be left out
            raise Refusal("this is not SQL as Postgres would read it", ground=Ground.SYNTAX)
        rule = _RULES.get(type(node))
        if rule is None:
            raise Refusal(f"the catalogue does not answer {called(node)}")
        return rule(self, node, scope)

    def fit(self, value: Typed, kind: int) -> exp.Expr:
        node, own = value
        if isinstance(node, exp.Parameter) and own == kinds.UNKNOWN:
            number, known = int(node.name), kinds.TEXT if kind == kinds.UNKNOWN else kind
            if self.parameters.get(number, kinds.TEXT) == kinds.TEXT:
                self.parameters[number] = known
        return casting.fitted(value, kind, self.names)

    def several(self, nodes: Sequence[exp.Expr], scope: Scope) -> tuple[list[exp.Expr], int]:
        values = [self.typed(node, scope) for node in nodes]
        kind = kinds.common(own for _, own in values)
        return [self.fit(value, kind) for value in values], kind

    def ordered(self, nodes: Sequence[exp.Expr], scope: Scope) -> list[exp.Expr]:
        return [
            exp.Ordered(
                this=self.typed(node.this, scope)[0],
                desc=node.args.get("desc"),
                nulls_first=node.args.get("nulls_first"),
            )
            for node in nodes
        ]

    def query(self, node: exp.Expr, outer: Scope) -> tuple[exp.Query, Columns]:
        return query.translated(self, node, outer)


def translated(text: str, names: Names, values: Sequence[object] | None = None) -> Translated:
    """A question in our database's words; without values for its parameters it can be described and not be asked."""
    translation = _Translation(names, values)
    try:
        tree, columns = translation.query(read(text).copy(), Scope())
    except RecursionError:
        raise Refusal("this question is nested too deeply", hint="split it") from None
    told = [(name, kinds.TEXT if kind == kinds.UNKNOWN else kind) for name, kind in columns]
    if any(kind == kinds.PAIR for _, kind in told):
        raise Refusal("the catalogue answers a field of _pg_expandarray, not the whole of it")
    found = [translation.parameters.get(i, kinds.TEXT) for i in range(1, max(translation.parameters, default=0) + 1)]
    sql = tree.sql(dialect="duckdb")
    return Translated(sql, told, found, timed="GETVARIABLE('now')" in sql)
