"""A release that somebody has in mind: which columns can be counted, and what they filled in so far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from discreet.declared.column import Column
from discreet.declared.key import Type
from discreet.declared.table import Table
from discreet.desk import Order
from discreet.errors import Refusal
from discreet.exact import count, share
from discreet.ledger.entry import BudgetLoss
from discreet.privacy import Concentrated
from discreet.release import Wish
from discreet.release.bins import read_cut
from discreet.release.method import HISTOGRAM, MARGINALS, RANGES

KINDS = {
    HISTOGRAM: ("Histogram", "How many there are in each bin, or of each key. One column or two."),
    RANGES: ("Ranges", "Many fine bins, made to be added up: any range, share or quantile. One column or two."),
    MARGINALS: ("Tables", "Counts by every pair of columns, which agree with each other. Two columns or more."),
}
_LONGEST = 4000  # letters that somebody may write into a field
_TABLES = 12  # columns of which tables are made


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
    """What somebody filled in, word by word; nothing is as is usual."""

    table: str = ""
    columns: tuple[str, ...] = ()
    kind: str = HISTOGRAM
    bins: Mapping[str, str] = field(default_factory=dict, hash=False)
    name: str = ""
    method: str = ""
    ways: str = ""
    max_rows: str = ""
    delta: str = ""
    outside: str = ""

    def with_column(self, name: str, *, wanted: bool, among: Sequence[str]) -> Blueprint:
        """The same with a column or without it; columns keep the order of their table."""
        now = {*self.columns, name} if wanted else {*self.columns} - {name}
        return replace(self, columns=tuple(each for each in among if each in now))

    def order(self, price: Fraction, budget: BudgetLoss) -> Order:
        """What is ordered at a price, in the measure of a budget. Raises why it cannot be."""
        if not self.columns:
            raise Refusal("choose what is to be counted", hint="one column or two, or more for tables")
        if self.kind == MARGINALS and len(self.columns) < 2:
            raise Refusal("tables have two columns or more", hint="choose another column, or publish a histogram")
        if self.kind == MARGINALS and len(self.columns) > _TABLES:
            raise Refusal(f"tables are made of at most {_TABLES} columns here", hint="choose fewer, or use the program")
        if max(map(len, (self.name, *self.bins.values()))) > _LONGEST:
            raise Refusal(f"nothing longer than {_LONGEST} letters fits here")
        rho, tables = isinstance(budget, Concentrated), self.kind == MARGINALS
        wish = Wish(
            self.kind,
            self.columns,
            epsilon=None if rho else price,
            rho=price if rho else None,
            delta=share(self.delta, "delta") if self.delta and tables else None,
            method=self.method or None,
            bins={name: read_cut(self.bins[name], name).plain for name in self.columns if self.bins.get(name)},
            ways=_whole(self.ways, "ways") if self.ways and tables else None,
            max_rows=_whole(self.max_rows, "max_rows") if self.max_rows else None,
            outside=self.outside if self.outside and tables else None,
        )
        return Order.of(self.table, wish, self.name)


def beside(refusal: Refusal, plan: Blueprint) -> str:
    """Next to which field a refusal belongs: a column, the rows, or one for experts; nothing if it is about all."""
    said = f"{refusal.message} {refusal.hint}"
    for name in plan.columns:
        if repr(name) in refusal.message and plan.bins.get(name):
            return name
    if "max_rows" in said:
        return "max_rows"
    filled = (("delta", "delta", plan.delta), ("method", "method", plan.method), ("ways", "tables of", plan.ways))
    return next((name for name, word, text in filled if text and (word in said or name in said)), "")


def _whole(text: str, name: str) -> int:
    return count(int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 0, name)
