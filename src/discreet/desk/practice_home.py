"""Practice home with made-up rows: questions are tried out on it, free, in the same form as real ones."""

from __future__ import annotations

import math
import os
import shutil
import tempfile
import threading
import weakref
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import TypeVar

import pyarrow as pa

from discreet.curator import Answer, Curator, catalogue
from discreet.curator.catalogue import Catalogue, declaration
from discreet.curator.custody import found_home
from discreet.curator.quote import given
from discreet.declared.column import Column
from discreet.declared.group_key import Type, value_of, written
from discreet.declared.table import Table
from discreet.engines import DuckStore
from discreet.errors import OverBudget
from discreet.ledger import Dataset, Opened, SqliteLedger
from discreet.sandbox import DIRECT, Sandbox

ROWS = 2_000
UNITS = 400  # each has five rows in a table, and the same name in all of them
_FIRST = date(2025, 1, 1)
_DAYS, _WORDS, _WHOLE = 365, 8, 100  # for columns of which nothing is declared
_FARTHEST = Fraction(1 << 62)  # declared bounds may reach further than any number that is stored
_KINDS = {
    Type.BOOLEAN: pa.bool_(),
    Type.BIGINT: pa.int64(),
    Type.DOUBLE: pa.float64(),
    Type.VARCHAR: pa.string(),
    Type.DATE: pa.date32(),
    Type.TIMESTAMP: pa.timestamp("us"),
}


def made_up(table: Table) -> pa.Table:
    """Rows that fit what is declared about a table. The same declarations give the same rows."""
    columns = {column.name: _cells(table, place, column) for place, column in enumerate(table.columns)}
    return pa.table({name: pa.array(cells, _KINDS[table.column(name).type]) for name, cells in columns.items()})


def _cells(table: Table, place: int, column: Column) -> list[object]:
    if column.name == table.unit:
        return [_unit(row % UNITS, column.type) for row in range(ROWS)]
    # multiples of an irrational number, modulo 1, are spread evenly; each column has its own, so that none go together
    slope = math.sqrt(_prime(place))
    return [_cell(column, (row + 1) * slope % 1) for row in range(ROWS)]


def _prime(place: int) -> int:
    """The prime in this place."""
    primes: list[int] = []
    number = 2
    while len(primes) <= place:
        if all(number % each for each in primes):
            primes.append(number)
        number += 1
    return primes[-1]


def _unit(number: int, kind: Type) -> object:
    return number if kind is Type.BIGINT else f"somebody {number}"


def _cell(column: Column, share: float) -> object:  # noqa: PLR0911  # one case a kind
    """The value that lies at a share of what is declared, from 0 up to 1."""
    if column.keys:
        return value_of(column.keys[int(share * len(column.keys))], column.type)
    low, high = (min(max(end, -_FARTHEST), _FARTHEST) for end in column.bounds or (Fraction(0), Fraction(_WHOLE)))
    match column.type:
        case Type.BOOLEAN:
            return share >= 1 / 2
        case Type.BIGINT:
            return math.floor(low + Fraction(share) * (high - low + 1))
        case Type.DOUBLE:
            return round(float(low) + share * float(high - low), 2)
        case Type.VARCHAR:
            return f"{column.name} {1 + int(share * _WORDS)}"
        case Type.DATE if column.bounds is not None:
            return date.fromisoformat(written(low + math.floor(Fraction(share) * (high - low + 1)), column.type))
        case Type.TIMESTAMP if column.bounds is not None:
            return datetime.fromisoformat(written(low + math.floor(Fraction(share) * (high - low)), column.type))
        case Type.DATE:
            return _FIRST + timedelta(days=int(share * _DAYS))
        case Type.TIMESTAMP:
            return datetime.combine(_FIRST, datetime.min.time()) + timedelta(seconds=int(share * _DAYS * 86_400))


def found_practice(folder: Path, known: Catalogue, public: Mapping[str, tuple[Path, str]]) -> None:
    """A home with these declarations: full budgets, made-up rows, and the public rows as they are, from their files."""
    found_home(folder, practice=True)
    ledger, store = SqliteLedger(folder / "ledger.db", new=False), DuckStore(folder / "tables")
    for people in known.populations.values():
        ledger.append(Opened(people.name, people.total, people.neighbours))
    for table in known.tables.values():
        if table.public:
            file, name = public[table.name]
            shutil.copyfile(file, store.path(table))
        else:
            name = store.ingest(replace(table, link=None), made_up(table))  # its owner's name is made up like the rest
        ledger.append(Dataset(table.name, table.population, table.unit, table.version, declaration(table), name))
    store.close()
    catalogue.write(folder, catalogue.text_of(known))


T = TypeVar("T")


@dataclass(frozen=True)
class _Home:
    """A practice home, and what it was made for."""

    known: Catalogue
    folder: Path
    curator: Curator

    @property
    def touched(self) -> bool:
        """Whether anything was asked in it."""
        return bool(self.curator.history(everybody=True))


class Practice:
    """A practice home for the newest declarations; another one when they change, or when its budgets are spent."""

    def __init__(self, sandbox: Sandbox = DIRECT) -> None:
        self._sandbox = sandbox
        self._lock = threading.Lock()
        self._home: _Home | None = None

    def asked(
        self, real: Curator, sql: str, terms: Mapping[str, object], granted: Collection[str] | None = None
    ) -> Answer:
        """The answer to a question on made-up rows. What is left, and where it stands, means nothing here."""
        terms = {**{name: value for name, value in terms.items() if name != "free"}, "fresh": True}
        return replace(
            self.done(real, lambda curator: curator.within(granted).query(sql, **given(terms))), left=None, entry=""
        )

    def done(self, real: Curator, what: Callable[[Curator], T]) -> T:
        """Whatever a curator can do, on made-up rows."""
        home = self._current(real)
        try:
            return what(home.curator)
        except OverBudget:
            if not home.touched:
                raise
            return what(self._current(real, instead_of=home).curator)

    def _current(self, real: Curator, *, instead_of: _Home | None = None) -> _Home:
        with self._lock:
            known, home = real.declared(), self._home
            if home is None or home is instead_of or home.known is not known or not home.folder.exists():
                self._home = home = _made(real, known, self._sandbox)
            return home


def _made(real: Curator, known: Catalogue, sandbox: Sandbox) -> _Home:
    folder = Path(tempfile.mkdtemp(prefix="discreet-practice-"))
    try:
        found_practice(folder / "home", known, real.public_files())
        curator = Curator(folder / "home", sandbox=sandbox)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    weakref.finalize(curator, _removed, folder, os.getpid())
    return _Home(known, folder, curator)


def _removed(folder: Path, maker: int) -> None:
    if os.getpid() == maker:  # a child that was forked does not clear away what its parent still uses
        shutil.rmtree(folder, ignore_errors=True)
