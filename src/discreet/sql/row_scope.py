"""Scope of rows: what the names in a question mean there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from sqlglot import exp

from discreet.declared.group_key import Type
from discreet.errors import Refusal
from discreet.sql.expression import Expression, Field
from discreet.sql.from_sqlglot import translate
from discreet.sql.owned_rows import Filter, Project, Rows
from discreet.sql.relation_facts import Facts, Shape, facts, shape
from discreet.sql.wording import shown

Name = tuple[str, str]  # of a source and of a column, as the question writes them


@dataclass(frozen=True)
class RowScope:
    """Rows, and which of their columns a name means."""

    rows: Rows
    names: Mapping[Name, str]
    outer: Rows | None = None  # public rows that are kept even if no private row fits: their values are the groups

    @staticmethod
    def of(alias: str, rows: Rows) -> RowScope:
        """The rows of one source."""
        return RowScope(rows, {(alias, name): name for name in shape(rows).columns})

    @cached_property
    def shape(self) -> Shape:
        """What is public about the rows."""
        return shape(self.rows)

    @property
    def public(self) -> bool:
        """Whether the rows are nobody's."""
        return self.shape.population is None

    @property
    def aliases(self) -> frozenset[str]:
        """The names of the sources."""
        return frozenset(alias for alias, _ in self.names)

    def column(self, node: exp.Column) -> Expression:
        """The column that a name means."""
        name = self.names.get((node.table, node.name))
        if name is None:
            raise Refusal(
                f"column {shown(node)} belongs to none of the rows inside this query",
                hint="name a column of a table in its FROM",
            )
        return Field(name, self.shape.columns[name].type)

    def facts(self, node: exp.Expr) -> Facts | None:
        """What is public about a bare column; None of anything else."""
        if not isinstance(node, exp.Column) or (node.table, node.name) not in self.names:
            return None
        return facts(self.column(node), self.shape)

    def is_unit(self, node: exp.Expr) -> bool:
        """Whether an expression is the unit's own column, in every row; or the first of several that is not NULL."""
        if isinstance(node, exp.Coalesce):
            return facts(translate(node, self.column), self.shape).unit
        known = self.facts(node)
        return known is not None and known.unit and not known.optional

    def has_owner(self, node: exp.Expr) -> bool:
        """Whether equal values of an expression belong to one owner: the unit, or a declared link to it."""
        known = self.facts(node)
        return self.is_unit(node) or (known is not None and known.link is not None and not known.optional)

    def on(self, rows: Rows) -> RowScope:
        """The same names on other rows that have these columns."""
        return replace(self, rows=rows)

    def where(self, condition: exp.Expr) -> RowScope:
        """The rows for which a condition holds."""
        predicate = translate(condition, self.column)
        if predicate.type is not Type.BOOLEAN:
            raise Refusal(f"{shown(condition)} is not a condition", hint="compare it with something")
        return self.on(Filter(self.rows, predicate))

    def chosen(self, condition: exp.Expr) -> RowScope:
        """The rows that a WHERE keeps; of public rows that are kept without a partner it chooses too, and so groups."""
        if self.outer is None:
            return self.where(condition)
        kept = {name: column for name, column in self.names.items() if column in shape(self.outer).columns}
        if not all((column.table, column.name) in kept for column in condition.find_all(exp.Column)):
            raise Refusal(
                f"{shown(condition)} in WHERE removes the public rows that the join keeps",
                hint="put it into the join's ON",
            )
        return replace(self.where(condition), outer=RowScope(self.outer, kept).where(condition).rows)

    def prefixed(self, mark: str = "") -> RowScope:
        """The same rows, their columns named after their sources, so that they can stand beside others."""
        new = {name: f"#{mark}{name[0]}.{name[1]}" for name in self.names}
        columns = tuple((new[name], Field(old, self.shape.columns[old].type)) for name, old in self.names.items())
        return RowScope(Project(self.rows, columns), new, self.outer)

    def beside(self, other: RowScope, rows: Rows) -> RowScope:
        """Both readings' names, over rows that have both's columns."""
        return RowScope(rows, {**self.names, **other.names}, self.outer)
