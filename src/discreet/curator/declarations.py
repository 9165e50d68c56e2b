"""Declarations of tables: made of what a custodian says, and checked against the ledger, which has the last word."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import TypeVar

from discreet.curator.catalogue import (
    FILE,
    Catalogue,
    Population,
    budget_loss,
    declaration,
    end_of,
    link_of,
    population_of,
    read,
)
from discreet.curator.explain import said
from discreet.declared.column import Column
from discreet.declared.group_key import Type
from discreet.declared.table import Table, chosen, linked_to
from discreet.errors import Refusal
from discreet.exact import Number, exact
from discreet.ledger import Books, Dataset, SqliteLedger
from discreet.ledger.balances import OWNER
from discreet.ledger.entry_kinds import REMOVED, BudgetLoss, write_neighbours
from discreet.privacy import Neighbours, Pure

T = TypeVar("T")

# what a public table has not
_PRIVATE = ("unit", "link", "population", "epsilon", "rho", "delta", "max_rows", "max_groups")

CLOSED = "nothing can be asked while declarations are mended; try again later"
_NO_LINK = "-"  # how the ledger writes that a table has none: where it wrote nothing, it does not know


@dataclass(frozen=True)
class Declared:
    """What a custodian says about a table when it is added."""

    unit: str | None = None
    link: Mapping[str, str] = field(default_factory=dict)  # instead of a unit: own column to TABLE.COLUMN
    population: str | None = None
    epsilon: Number | None = None
    rho: Number | None = None
    delta: Number | None = None
    max_rows: int | None = None
    max_groups: int | None = None
    bounds: Mapping[str, tuple[Number, Number]] = field(default_factory=dict)
    keys: Mapping[str, Sequence[str]] = field(default_factory=dict)
    types: Mapping[str, str] = field(default_factory=dict)
    steps: Mapping[str, Number] = field(default_factory=dict)
    describe: Mapping[str, str] = field(default_factory=dict)
    public: bool = False
    require_price: bool = False  # every question about the population must name a price
    relation: str = "add-remove"  # or replace: the number of units is public, and questions cost twice as much


def spelled(said: Declared, columns: Sequence[str]) -> Declared:
    """What was said of columns, under the names that the source has for them."""

    def named(given: Mapping[str, T]) -> dict[str, T]:
        known = {chosen(name, columns) or name: value for name, value in given.items()}
        if len(known) < len(given):
            raise Refusal(f"one column is declared twice, as {list(given)} differ in upper and lower case only")
        return known

    return replace(
        said,
        unit=said.unit if said.unit in (None, "row") else chosen(said.unit, columns) or said.unit,
        link=named(said.link),
        bounds=named(said.bounds),
        keys=named(said.keys),
        types=named(said.types),
        steps=named(said.steps),
        describe=named(said.describe),
    )


def declared(
    name: str, columns: Mapping[str, Type], said: Declared, known: Catalogue
) -> tuple[Table, Population | None]:
    """The table, and the population that its rows are of; None of public rows."""
    made = tuple(_column(column, kind, said) for column, kind in columns.items())
    if said.public:
        private = [word for word in _PRIVATE if getattr(said, word) not in (None, {})]
        if private:
            option = f"--{private[0].replace('_', '-')}"
            raise Refusal(
                f"public rows are nobody's, so --public does not go with {option}", hint="leave out one of them"
            )
        return Table(name, made), None
    if said.link:
        return _linked(name, columns, said, known)
    if said.unit is None:
        raise Refusal(
            f"table {name!r} needs to know whose rows they are",
            hint="say --unit COLUMN, --unit row, --link COLUMN=TABLE.COLUMN, or --public",
        )
    if said.unit != "row" and said.unit not in columns:
        raise Refusal(f"the source has no column {said.unit!r} to be the unit", hint=f"it has {list(columns)}")
    people = said.population or (name if said.unit == "row" else said.unit)
    if said.unit == "row" and people in known.populations:
        raise Refusal(
            f"rows that are their own unit never share a budget, and {people!r} has one", hint="use another name"
        )
    if said.unit != "row" and any(t.population == people and t.unit is None for t in known.tables.values()):
        raise Refusal(f"in population {people!r} each row is its own unit", hint="use another --population")
    population = _population(people, said, known)
    unit = None if said.unit == "row" else said.unit
    if unit is not None:
        _same_unit_type(people, columns[unit], known)
    table = Table(name, made, people, unit, said.max_rows, 1 if said.max_groups is None else said.max_groups)
    return table, population


def _same_unit_type(people: str, kind: Type, known: Catalogue) -> None:
    """One person has one name in all tables: compared in two types, a name could fail or be two people's."""
    for table in known.tables.values():
        if table.population == people and table.unit is not None and table.column(table.unit).type is not kind:
            raise Refusal(
                f"in table {table.name!r} the units of {people!r} are {table.column(table.unit).type.value}, "
                f"here {kind.value}",
                hint=f"say --types so that both are alike, or name another --population than {people!r}",
            )


def _linked(
    name: str, columns: Mapping[str, Type], said: Declared, known: Catalogue
) -> tuple[Table, Population | None]:
    """A table whose rows find their owner in another one."""
    (own, target), *more = said.link.items()
    other, _, key = target.partition(".")
    if said.unit is not None or more:
        got = [f"unit {said.unit!r}"] * (said.unit is not None) + [f"link {a}={b}" for a, b in said.link.items()]
        raise Refusal(
            f"a table has one owner: either a unit or one link, got {' and '.join(got)}", hint="leave out one of them"
        )
    if own not in columns:
        raise Refusal(f"the link starts at {own!r}, and the source has no such column", hint=f"it has {list(columns)}")
    other = chosen(other, known.tables) or other
    key = chosen(key, [column.name for column in known.tables[other].columns]) or "" if other in known.tables else ""
    if not key:
        raise Refusal(f"the link leads to {target!r}, which is not there", hint="add that table first: TABLE.COLUMN")
    owners = known.tables[other]
    if owners.unit is None or owners.population is None:
        raise Refusal(f"the link leads to table {other!r}, whose rows have no unit", hint="link to a table with a unit")
    if owners.column(key).type is not columns[own]:
        raise Refusal(f"the link compares {own} with {target}, which has another type", hint="say --types")
    if (twin := chosen(owners.unit, columns)) is not None:
        raise Refusal(
            f"the link would bring {owners.unit!r} beside the column {twin!r}", hint="use that one with --unit"
        )
    if said.population not in (None, owners.population):
        raise Refusal(f"the link leads into population {owners.population!r}", hint="leave --population out")
    unit = owners.column(owners.unit)
    made = (*(_column(column, kind, said) for column, kind in columns.items()), replace(unit, keys=None, bounds=None))
    groups = 1 if said.max_groups is None else said.max_groups
    table = Table(name, made, owners.population, unit.name, said.max_rows, groups, link=(own, other, key))
    return table, _population(owners.population, said, known)


def _population(name: str, said: Declared, known: Catalogue) -> Population:
    if name in known.populations and said.epsilon is None and said.rho is None:
        same = known.populations[name]
        return replace(same, require_price=same.require_price or said.require_price)
    total = budget_loss(said.epsilon, said.rho, said.delta, f"population {name!r}")
    said_so = {"relation": said.relation, "require_price": said.require_price}
    delta = None if isinstance(total, Pure) else total.delta
    return population_of(name, {total.word: total.amount, "delta": delta, **said_so})


def _column(name: str, kind: Type, said: Declared) -> Column:
    bounds = None
    if name in said.bounds:
        low, high = said.bounds[name]
        bounds = (end_of(low, kind, f"{name} bounds"), end_of(high, kind, f"{name} bounds"))
    usual = (
        Fraction(1) if kind is Type.BIGINT else None
    )  # of doubles it follows from the bounds, whenever they are asked
    step = exact(said.steps[name], f"{name} step") if name in said.steps else usual
    keys = tuple(said.keys[name]) if name in said.keys else None
    if keys is not None and any(key is None for key in keys):
        raise Refusal(
            f"column {name!r} declares NULL as a key", hint="leave it out: rows without a value are in no group"
        )
    return Column(name, kind, bounds, step, keys, said.describe.get(name, ""))


def refuse_contradictions(known: Catalogue, books: Books, *, leaving: str | None = None) -> None:
    """Refuse declarations that give people another budget, another owner, or a past that the ledger does not have.

    Of the table that is `leaving` only its past matters: whose its rows are is what may have to be mended.
    """
    for population in known.populations.values():
        if population.name not in books.accounts:
            raise Refusal(
                f"{FILE} has a population {population.name!r} that the ledger has never heard of",
                hint="an older or an empty ledger lies in its place: put the newest one back",
            )
        account = books.account(population.name)
        if (account.budget.total, account.neighbours) != (population.total, population.neighbours):
            raise Refusal(
                f"{FILE} gives {population.name!r} {in_words(population.total, population.neighbours)}, "
                f"the ledger {in_words(account.budget.total, account.neighbours)}",
                hint="a budget and its neighbours are set once: write what the ledger says",
            )
    for table in known.tables.values():
        _refuse_another_past(table, books)
        if table.name != leaving:
            _refuse_other_owners(table, books.datasets[table.name])
            if table.link is not None:
                refuse_strange_link(table, known)


def in_words(total: BudgetLoss, neighbours: Neighbours) -> str:
    """A budget, and what it is kept for."""
    return f"{said(total)} for {neighbours.unit!r} ({write_neighbours(neighbours)['relation']})"


def refuse_strange_link(table: Table, known: Catalogue) -> None:
    """Refuse a link that does not lead to an owner in the same population, by a key of the same type."""
    own, other, key = table.link or ("", "", "")
    owners = known.tables.get(other)
    if owners is None or owners.unit is None or owners.name == table.name or owners.population != table.population:
        raise Refusal(
            f"the link of table {table.name!r} leads to {other!r}, where its population has no owners",
            hint="a link is not edited: remove the table and add it anew",
        )
    if owners.unit != table.unit or owners.column(key).type is not table.column(own).type:
        raise Refusal(
            f"the link of table {table.name!r} compares {own} with {other}.{key}, which does not name its owners",
            hint="a link is not edited: remove the table and add it anew",
        )


def recorded(table: Table, file: str) -> Dataset:
    """What the ledger keeps of a table whose rows lie in a file of this name."""
    owner = (table.population, table.unit)
    return Dataset(table.name, *owner, table.version, declaration(table), file, link_of(table) or _NO_LINK)


def recorded_file(books: Books, table: Table) -> str:
    """The random name that the ledger has for a version's file; for a version it does not know, none that fits."""
    last = books.datasets.get(table.name)
    return last.file if last is not None and last.version == table.version else "unknown"


def refuse_followed(table: Table, known: Catalogue) -> None:
    """Refuse to let a table go in which others find their owners."""
    linked = linked_to(table.name, known.tables.values())
    if linked:
        listed = ", ".join(linked)
        raise Refusal(f"the rows of {listed} find their owners in table {table.name!r}", hint=f"remove {listed} first")


def stale(name: str, tables: Iterable[Table]) -> str:
    """What to do after new rows came for a table in which others found their owners; nothing if none did."""
    linked = linked_to(name, tables)
    listed = ", ".join(linked)
    return f"Update {listed} next: their rows still have the owners that {name} gave them before." if linked else ""


def _refuse_another_past(table: Table, books: Books) -> None:
    last = books.datasets.get(table.name)
    if last is None or table.version > last.version:
        raise Refusal(
            f"{FILE} has version {table.version} of table {table.name!r}, which the ledger has never heard of",
            hint="an older ledger lies in its place: put the newest one back; a version is not edited",
        )


def _refuse_other_owners(table: Table, last: Dataset) -> None:
    if (last.population, last.unit) != (table.population, table.unit):
        raise Refusal(
            f"{FILE} and the ledger disagree about whose rows table {table.name!r} holds",
            hint="population, unit and public are not edited: remove the table and add it anew",
        )
    if last.link and last.link != (link_of(table) or _NO_LINK):
        by = "no link" if last.link == _NO_LINK else last.link
        raise Refusal(
            f"{FILE} and the ledger disagree about the link of table {table.name!r}: "
            f"its rows found their owners by {by}",
            hint="a link is not edited: write what the ledger says, or remove the table and add it anew",
        )


class Declarations:
    """The declarations of a home as they are now, in agreement with its ledger; read again when their file was changed.

    The ledger notes every edit of bounds, caps and keys.
    """

    def __init__(self, home: Path, ledger: SqliteLedger) -> None:
        self._home, self._ledger = home, ledger
        self._state: tuple[tuple[int, ...], Catalogue] | None = None  # one value, so that threads need no lock

    def now(self, asker: str = OWNER) -> Catalogue:
        """The catalogue that the file declares. What is wrong with it tells of all populations: custodians hear it."""
        seen, state = _glimpse(self._home / FILE), self._state
        if state is not None and state[0] == seen:
            return state[1]
        try:
            known = read(self._home)
            self._agree(known)
        except Refusal:
            grant = self._ledger.books().grant(asker)
            if grant is None or grant.role == "custodian":
                raise
            raise Refusal(CLOSED) from None
        self._state = seen, known
        return known

    def still(self) -> Catalogue | None:
        """The catalogue that was read last, if its file was not changed since; None else. Waits for nothing."""
        state = self._state
        return state[1] if state is not None and state[0] == _glimpse(self._home / FILE) else None

    def _agree(self, known: Catalogue) -> None:
        books = self._ledger.books()
        refuse_contradictions(known, books)
        for table in known.tables.values():
            old, new = books.datasets[table.name], declaration(table)
            if old.version == table.version and old.declaration not in (new, REMOVED):
                self._ledger.append(replace(old, declaration=new))


def _glimpse(path: Path) -> tuple[int, ...]:
    """What changes when a file is written. Taken before it is read, so that a change in between is seen next time."""
    try:
        state = path.stat()
    except OSError:
        return ()
    return state.st_ino, state.st_mtime_ns, state.st_size
