"""Custody of a home: make it, declare tables and budgets, let people in, close a population for good."""

from __future__ import annotations

import base64
import fcntl
import hashlib
import hmac
import os
import secrets
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from discreet import durable
from discreet.curator import catalogue
from discreet.curator.catalogue import Catalogue, Population, type_of
from discreet.curator.declarations import Declared as Declared  # noqa: PLC0414  # custodians say it here
from discreet.curator.declarations import (
    declared,
    in_words,
    recorded,
    recorded_file,
    refuse_contradictions,
    refuse_followed,
    spelled,
)
from discreet.curator.paid_streams import paid_streams, refuse_other_units, stream_columns
from discreet.curator.source_schema import guessed, source_types, untyped
from discreet.declared.group_key import Type
from discreet.declared.table import Table, chosen, refuse_hidden_owners
from discreet.engines.duckdb import DuckStore
from discreet.engines.ingest import Progress, Unread, hear
from discreet.errors import Refusal
from discreet.exact import Number
from discreet.ledger import Event, Grant, Hold, Opened, Retired, Revoked, found_ledger, open_ledger
from discreet.ledger.balances import OWNER
from discreet.ledger.entry_kinds import REMOVED, Plain

T = TypeVar("T")

ROLES = ("analyst", "custodian")


def found_home(folder: Path, *, practice: bool = False) -> None:
    """An empty home that only its owner can open; one to practise in if its rows are made up."""
    try:
        durable.make_folder(folder)
    except OSError as broken:
        raise Refusal(f"no home can be made in {str(folder)!r}: {broken.strerror}") from None
    if (folder / catalogue.FILE).exists():
        raise Refusal(f"{str(folder)!r} is a home already", hint="open it, or name another folder")
    folder.chmod(0o700)
    found_ledger(folder, practice=practice)
    catalogue.write(folder, catalogue.text_of(Catalogue()))


class Custody:
    """The custodian's side of one home. Changes are made one at a time, whoever makes them.

    Everything that can be refused is refused before the ledger is written, and the ledger is written before
    discreet.toml: a crash in between leaves a home that says so, never one with a fresh budget.
    """

    def __init__(self, home: Path) -> None:
        self._home = home
        catalogue.read(home)
        self._ledger = open_ledger(home)
        self._store = DuckStore(home / "tables", names=lambda table: recorded_file(self._ledger.books(), table))

    @contextmanager
    def _alone(self, leaving: str | None = None) -> Iterator[Catalogue]:
        lock = os.open(self._home / ".lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self._ledger.settle()
            known, books = catalogue.read(self._home), self._ledger.books()
            refuse_contradictions(known, books, leaving=None if leaving is None else chosen(leaving, known.tables))
            declared = {(table.name, table.version) for table in known.tables.values()}
            noted = {(each.table, each.version) for each in books.datasets.values() if each.declaration != REMOVED}
            self._store.keep(declared | noted)
            yield known
        finally:
            os.close(lock)

    def add(
        self, name: str, source: object, said: Declared, *, progress: Progress | None = None, unread: Unread = None
    ) -> Table:
        """Take a table in: declare it, open its population's budget if it is new, copy its rows.

        `progress` hears the share of the copying that is done, `unread` of columns that cannot all be read.
        """
        with self._alone() as known:
            table, population, opening = self._prepared(name, source, said, known)
            after = known if population is None else known.with_population(population)
            text = catalogue.text_of(after.with_table(table))
            hear(unread, table, source)
            self._take(opening, table, source, (progress, known))
            catalogue.write(self._home, text)
            return table

    @contextmanager
    def declaring_stream(
        self, name: str, said: Declared, types: Mapping[str, str]
    ) -> Iterator[tuple[Table, Population, Callable[[], None]]]:
        """The rows of a stream as those of a table, their population, and what opens its budget if it is new.

        Nobody else declares anything meanwhile.
        """
        with self._alone() as known:
            books = self._ledger.books()
            _refuse_name(name)
            streams = paid_streams(self._ledger)
            taken = [*known.tables, *books.datasets, *streams]
            if name.casefold() in {each.casefold() for each in taken}:
                raise Refusal(f"there is, or was, a table or stream {name!r} already", hint="take another name")
            if (said.population or (name if said.unit == "row" else said.unit)) in known.populations:
                said = replace(said, epsilon=None, rho=None, delta=None)  # they are the stream's price, not the budget
            table, population = declared(name, stream_columns(said, types, known, streams), said, known)
            if population is None:  # no stream is public
                raise Refusal("a stream's rows have owners", hint="say --unit COLUMN, or --unit row")
            refuse_other_units(table, population.name, streams)
            opening = self._opening(population)
            text = catalogue.text_of(known.with_population(population))

            def settle() -> None:
                if opening:
                    self._ledger.append_all(opening)
                if population.name not in known.populations:
                    catalogue.write(self._home, text)

            yield table, population, settle

    def rehearse(self, name: str, source: object, said: Declared) -> Table:
        """What `add` would declare, or what it would refuse before it reads a row. Nothing is written."""
        with self._alone() as known:
            table, population, opening = self._prepared(name, source, said, known)
            catalogue.text_of((known if population is None else known.with_population(population)).with_table(table))
            self._ledger.rehearse(_events(opening, table, ""))
            return table

    def _prepared(
        self, name: str, source: object, said: Declared, known: Catalogue
    ) -> tuple[Table, Population | None, list[Event]]:
        """A new table, its population, and the entry that opens a budget for it."""
        _refuse_name(name)
        streams = paid_streams(self._ledger)
        if name.casefold() in {each.casefold() for each in streams}:
            raise Refusal(f"there is a stream {name!r} already", hint="take another name")
        if name in known.tables:
            raise Refusal(f"there is a table {name!r} already", hint="bring new rows with discreet update")
        for other in known.tables:
            if other.casefold() == name.casefold():
                raise Refusal(f"there is a table {other!r} already, the same but for upper and lower case")
        own_types = dict(source_types(source))
        said = spelled(said, list(own_types))
        table, population = declared(name, self._columns(source, own_types, said), said, known)
        refuse_hidden_owners(table)
        if population is not None:
            refuse_other_units(table, population.name, streams)
        table = replace(table, version=self._next(table, known))
        return table, population, [] if population is None else self._opening(population)

    def update(self, name: str, source: object, *, progress: Progress | None = None, unread: Unread = None) -> Table:
        """New rows for a table, read by the declared types. Its budget stays as it is. `unread` is as for `add`."""
        with self._alone() as known:
            old = known.schema.table(name)
            brought = old.unit if old.link is not None else None  # the link brings it
            there = {*dict(source_types(source)), brought}
            missing = [column.name for column in old.columns if column.name not in there]
            if missing:
                raise Refusal(f"the new rows have no column {missing}", hint="an update keeps what was declared")
            table = replace(old, version=self._next(old, known))
            text = catalogue.text_of(known.with_table(table))
            hear(unread, table, source)
            self._take([], table, source, (progress, known))
            catalogue.write(self._home, text)
            self._forget(old)
            return table

    def remove(self, name: str) -> None:
        """Forget a table's rows. What was spent on them stays spent."""
        with self._alone(name) as known:
            table = known.schema.table(name)
            refuse_followed(table, known)
            text = catalogue.text_of(known.without_table(name))
            last, version = self._ledger.books().datasets[table.name], self._next(table, known)
            self._ledger.append(replace(last, version=version, declaration=REMOVED, file="", link=""))
            catalogue.write(self._home, text)
            self._forget(table)

    def _forget(self, table: Table) -> None:
        """Rows of people go at once; those of nobody when the next change is made, for who is just reading them."""
        if not table.public:
            self._store.remove(table)

    def _next(self, table: Table, known: Catalogue) -> int:
        """A version that neither the ledger nor the declarations have seen of a table."""
        noted, declared = self._ledger.books().datasets.get(table.name), known.tables.get(table.name)
        return 1 + max(noted.version if noted else 0, declared.version if declared else 0)

    def _opening(self, population: Population) -> list[Event]:
        """The entry that opens a budget, if there is none; else it must be the same."""
        books = self._ledger.books()
        if population.name not in books.accounts:
            return [Opened(population.name, population.total, population.neighbours)]
        budget = books.account(population.name).budget
        if (budget.total, budget.neighbours) != (population.total, population.neighbours):
            raise Refusal(
                f"population {population.name!r} has another budget in the ledger: "
                f"{in_words(budget.total, budget.neighbours)}",
                hint="a budget and its neighbours are set once: repeat the same values",
            )
        return []

    def _take(self, opening: list[Event], table: Table, source: object, how: tuple[Progress | None, Catalogue]) -> None:
        """Copy the rows, then put what is to be said of them into the ledger: all of it, or nothing."""
        self._ledger.rehearse(_events(opening, table, ""))
        progress, known = how
        owners = None if table.link is None else known.schema.table(table.link[1])
        file = self._store.ingest(table, source, progress, owners)
        try:
            self._ledger.append_all(_events(opening, table, file))
        except Refusal:
            self._store.remove(table)
            raise

    def retire(self, population: str) -> None:
        """Close a population's budget for good."""
        self._ledger.append(Retired(population))

    def lift(self, population: str) -> None:
        """Open a population again after its rows made an answer fail and a custodian looked into it."""
        with self._alone():
            account = self._ledger.books().account(population)
            if account.retired:
                raise Refusal(f"population {population!r} is retired", hint="its budget is closed for good")
            if not account.held:
                raise Refusal(f"population {population!r} is not on hold", hint="see discreet budget")
            self._ledger.append(Hold(population, held=False))

    def requiring_price(self) -> frozenset[str]:
        """The populations about which every question must name a price."""
        return frozenset(name for name, each in catalogue.read(self._home).populations.items() if each.require_price)

    def require_price(self, population: str, *, required: bool) -> None:
        """Say whether every question about a population must name a price."""
        with self._alone() as known:
            catalogue.write(self._home, catalogue.text_of(known.requiring_price(population, required=required)))

    def let_in(
        self,
        name: str,
        role: str,
        *,
        allowance: Number | None = None,
        tables: Sequence[str] | None = None,
        require_price: bool = False,
    ) -> str:
        """Give a person a token. Only its digest is kept."""
        if role not in ROLES:
            raise Refusal(f"a role is one of {list(ROLES)}, got {role!r}")
        if not name or not all(c.isalnum() or c in "_-.@" for c in name):
            raise Refusal(f"a user is named with letters, digits and _ - . @, got {name!r}")
        if name == OWNER:
            raise Refusal(f"{OWNER!r} is whoever works in the home itself", hint="use another name")
        with self._alone() as known:
            streams = paid_streams(self._ledger) if tables else {}
            granted = None
            if tables is not None:
                granted = [table if table in streams else known.schema.table(table).name for table in tables]
            if name in self._ledger.books().grants:
                raise Refusal(f"there is a user {name!r} already", hint="revoke it first")
            token, verifier = minted()
            loss = None if allowance is None else known.allowance(allowance)
            self._ledger.append(Grant(name, role, granted, loss, verifier, require_price))
            return token

    def shut_out(self, name: str) -> None:
        """Take a person's access away."""
        self._ledger.append(Revoked(name))

    def _columns(self, source: object, own_types: dict[str, str], said: Declared) -> dict[str, Type]:
        """The declared type of every column: the source's own, or what the custodian said."""
        unknown = {*said.types, *said.bounds, *said.keys, *said.describe, *said.steps} - set(own_types)
        if unknown:
            raise Refusal(f"the source has no column {min(unknown)!r}", hint=f"it has {list(own_types)}")
        if untyped(source) and set(said.types) != set(own_types):
            proposed = " ".join(f"--types {shlex.quote(f'{name}={kind}')}" for name, kind in guessed(source).items())
            raise Refusal(
                "a CSV file does not say its types, and they must not be guessed from private rows",
                hint=f"its first line is taken for names; check and pass: {proposed}",
            )
        return {name: type_of(said.types.get(name, kind), name) for name, kind in own_types.items()}


def _refuse_name(name: str) -> None:
    if not name.replace("_", "").isalnum() or not name.isascii() or name[0].isdigit():
        raise Refusal(f"a table is named with letters, digits and _, got {name!r}")


def _events(opening: list[Event], table: Table, file: str) -> list[Event]:
    """What the ledger hears of rows that came."""
    return [*opening, recorded(table, file)]


ROUNDS = 4096  # what Postgres clients expect; a token is random already and needs no slow hash


@dataclass(frozen=True)
class Scram:
    """What a server must know to check a password by SCRAM-SHA-256 (RFC 5802, RFC 7677) without knowing it."""

    salt: bytes
    rounds: int
    stored_key: bytes
    server_key: bytes


def minted() -> tuple[str, dict[str, Plain]]:
    """A new token, and what is kept of it."""
    token, salt = secrets.token_urlsafe(32), secrets.token_bytes(16)
    salted = hashlib.pbkdf2_hmac("sha256", token.encode(), salt, ROUNDS)
    stored = hashlib.sha256(hmac.digest(salted, b"Client Key", "sha256")).digest()
    scram: dict[str, Plain] = {
        "salt": _text(salt),
        "rounds": ROUNDS,
        "stored_key": _text(stored),
        "server_key": _text(hmac.digest(salted, b"Server Key", "sha256")),
    }
    return token, {"sha256": hashlib.sha256(token.encode()).hexdigest(), "scram": scram}


def matches(token: str, verifier: dict[str, Plain] | None) -> bool:
    """Whether a token is the one that was minted. Takes the same time for every wrong one."""
    kept = str((verifier or {}).get("sha256", ""))
    given = hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()
    return hmac.compare_digest(given, kept)


def scram_of(verifier: dict[str, Plain] | None) -> Scram | None:
    """The SCRAM half of a verifier."""
    kept = (verifier or {}).get("scram")
    if not isinstance(kept, dict):
        return None
    salt, stored, server = (base64.b64decode(str(kept[name])) for name in ("salt", "stored_key", "server_key"))
    return Scram(salt, int(str(kept["rounds"])), stored, server)


def _text(raw: bytes) -> str:
    return base64.b64encode(raw).decode()
