"""A release that somebody has in mind: which columns can be counted, and what they filled in so far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from discreet.declared.column import Column
from discreet.declared.key import Type
from discreet.declared.table import Table
from discreet.desk import ReleaseOrder
from discreet.errors import Refusal
from discreet.exact import count
from discreet.ledger.entry import BudgetLoss
from discreet.release import Wish, kinds
from discreet.release.kind import Option, named

_LONGEST = 4000  # letters that somebody may write into a field
_MOST = 12  # columns of one release


@dataclass(frozen=True)
class Choice:
    """A column, what is declared of it, and why it cannot be published if it cannot."""

    name: str
    number: bool = False  # it is cut into bins
    refused: str = ""


def choices(table: Table) -> tuple[Choice, ...]:
    """All columns of a table, in their order."""
    return tuple(_choice(column, table) for column in table.columns)


def _choice(column: Column, table: Table) -> Choice:
    if column.keys or column.type is Type.BOOLEAN:
        return Choice(column.name)
    if column.type.numeric and column.bounds is not None:
        return Choice(column.name, number=True)
    if column.name == table.unit:
        return Choice(column.name, refused="It says whose a row is.")
    lacks = "Neither bounds nor keys are declared." if column.type.numeric else "Its keys are not declared."
    return Choice(column.name, refused=lacks)


@dataclass(frozen=True)
class Blueprint:
    """What somebody filled in, word by word; nothing is as is usual.

    `parts` are those that only some kinds have, `by_column` what is said of single columns.
    """

    table: str = ""
    columns: tuple[str, ...] = ()
    kind: str = kinds()[0].name
    by_column: Mapping[str, str] = field(default_factory=dict, hash=False)
    name: str = ""
    max_rows: str = ""
    parts: Mapping[str, str] = field(default_factory=dict, hash=False)

    @property
    def options(self) -> dict[str, Option]:
        """The parts that a form asks for, of this kind."""
        return {name: option for name, option in named(self.kind).wish.options().items() if option.label}

    def with_column(self, name: str, *, wanted: bool, among: Sequence[str]) -> Blueprint:
        """The same with a column or without it; columns keep the order of their table."""
        now = {*self.columns, name} if wanted else {*self.columns} - {name}
        return replace(self, columns=tuple(each for each in among if each in now))

    def order(self, price: Fraction, budget: BudgetLoss) -> ReleaseOrder:
        """What is ordered at a price, in the measure of a budget. Raises why it cannot be."""
        kind = named(self.kind)
        if not self.columns:
            raise Refusal("choose what is to be counted", hint="one column or two, or more for tables")
        if len(self.columns) < kind.wish.fewest:
            fewest = f"{kind.title.lower()} have {kind.wish.fewest} columns or more"
            raise Refusal(fewest, hint=f"choose another column, or publish a {kinds()[0].name}")
        if len(self.columns) > _MOST:
            raise Refusal(f"a release is made of at most {_MOST} columns here", hint="choose fewer, or use the program")
        if max(map(len, (self.name, *self.by_column.values(), *self.parts.values()))) > _LONGEST:
            raise Refusal(f"nothing longer than {_LONGEST} letters fits here")
        own: dict[str, Any] = {}
        for name, option in self.options.items():
            if option.many:
                own[name] = {column: self.by_column[column] for column in self.columns if self.by_column.get(column)}
            elif text := self.parts.get(name):
                own[name] = _whole(text, name) if option.read is int else option.read(text)
        if self.max_rows:
            own["max_rows"] = _whole(self.max_rows, "max_rows")
        wish = Wish.read({"kind": self.kind, "columns": self.columns, budget.word: price, **own})
        return ReleaseOrder.of(self.table, wish, self.name)


def beside(refusal: Refusal, plan: Blueprint) -> str:
    """Next to which field a refusal belongs: a column, the rows, or one for experts; nothing if it is about all."""
    said = f"{refusal.message} {refusal.hint}"
    for name in plan.columns:
        if repr(name) in refusal.message and plan.by_column.get(name):
            return name
    if "max_rows" in said:
        return "max_rows"
    return next((name for name, text in plan.parts.items() if text and name in said), "")


def _whole(text: str, name: str) -> int:
    return count(int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 0, name)
