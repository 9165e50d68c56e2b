"""What the rules for parts of a question need of the whole translation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from sqlglot import exp

from discreet.server.catalogue.casting import Names, Typed
from discreet.server.catalogue.scope import Columns, Scope


class Words(Protocol):
    """One question on its way from Postgres's words into our database's."""

    @property
    def names(self) -> Names:
        """The numbers of what can be named."""

    @property
    def values(self) -> Sequence[object] | None:
        """What the parameters are; None while a question is only described."""

    def typed(self, node: exp.Expr | None, scope: Scope) -> Typed:
        """An expression and its type."""

    def fit(self, value: Typed, kind: int) -> exp.Expr:
        """A value where this type is wanted."""

    def several(self, nodes: Sequence[exp.Expr], scope: Scope) -> tuple[list[exp.Expr], int]:
        """Expressions of one type, and that type."""

    def ordered(self, nodes: Sequence[exp.Expr], scope: Scope) -> list[exp.Expr]:
        """The terms of ORDER BY."""

    def query(self, node: exp.Expr, outer: Scope) -> tuple[exp.Query, Columns]:
        """A query and its columns."""


Rule = Callable[[Words, Any, Scope], Typed]  # the second is a node of the class that the rule is for
