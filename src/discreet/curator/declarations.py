"""Do the declarations and the ledger speak of the same home? The ledger has the last word."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from discreet.curator.catalogue import FILE, Catalogue, declaration, link_of, read
from discreet.curator.explain import said
from discreet.errors import Refusal
from discreet.ledger import Books, Dataset, SqliteLedger
from discreet.ledger.books import OWNER
from discreet.ledger.entry import REMOVED, BudgetLoss, write_neighbours
from discreet.privacy import Neighbours
from discreet.sql.schema import Table, linked_to

CLOSED = "nothing can be asked while declarations are mended; try again later"
_NO_LINK = "-"  # how the ledger writes that a table has none: where it wrote nothing, it does not know


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
        found = path.stat()
    except OSError:
        return ()
    return found.st_ino, found.st_mtime_ns, found.st_size
