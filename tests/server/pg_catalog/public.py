"""What is public in these tests: the clinic's tables, one with awkward names, one linked to another."""

from __future__ import annotations

from fractions import Fraction

from clinic import schema

from discreet.declared.column import Column
from discreet.declared.group_key import Type
from discreet.declared.table import Table
from discreet.desk import Visitor
from discreet.sandbox import DIRECT
from discreet.server.pg_catalog import PostgresCatalogue

ODD = Table(
    "Odd Name",
    (
        Column("Key", Type.VARCHAR, keys=("a", 'say "b"', None)),
        Column("at", Type.TIMESTAMP, description="it's when"),
        Column("select", Type.BIGINT, bounds=(Fraction(1, 3), Fraction(10))),
        Column("a{b}", Type.BOOLEAN),
    ),
    "odd",
    None,
    5,
    2,
)
BILLS = Table(
    "bills",
    (
        Column("visit", Type.BIGINT),
        Column("paid", Type.DOUBLE, (Fraction(0), Fraction(99)), Fraction(1, 100), description="euro"),
    ),
    "patient",
    None,
    None,
    1,
    link=("visit", "visits", "patient"),
)
TABLES = [*schema().tables.values(), ODD, BILLS]


class Board:
    """Says what is public, like a desk, and nothing else."""

    sandbox = DIRECT

    def __init__(self, tables: list[Table]) -> None:
        self.shown = tables

    def tables(self, _: Visitor) -> list[Table]:
        """The same to everybody."""
        return list(self.shown)


def catalogue(tables: list[Table] = TABLES) -> PostgresCatalogue:
    """A catalogue of some tables."""
    return PostgresCatalogue(Board(tables))  # type: ignore[arg-type]
