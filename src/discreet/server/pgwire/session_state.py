"""State of one session: its transaction, its prepared statements, its portals, and what came of statements."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from discreet.exact import shown
from discreet.server.errors import WireError
from discreet.server.limits import WireLimits
from discreet.server.pgwire.frames import WireField
from discreet.server.pgwire.settings import Settings
from discreet.server.pgwire.statement_kinds import Copy, Statement, Transact
from discreet.server.pgwire.types import Value

IDLE, OPEN, FAILED = b"I", b"T", b"E"
MOST_SAVEPOINTS = 200


@dataclass(frozen=True)
class Transaction:
    """Transaction of a session: none, a running one, or one that failed; and the settings that it may undo."""

    settings: Settings = field(default_factory=Settings)
    status: bytes = IDLE
    before: Settings | None = None  # what ROLLBACK goes back to
    savepoints: tuple[tuple[str, Settings], ...] = ()

    def step(self, asked: Transact) -> tuple[Transaction, str]:
        """The state after a step, and what the client is told."""
        return _STEPS[asked.step](self, asked)

    def failed(self) -> Transaction:
        """After an error: a transaction waits for its end, anything else goes on."""
        return self if self.status == IDLE else replace(self, status=FAILED)

    def check(self) -> None:
        """Refuse whatever does not end a failed transaction."""
        if self.status == FAILED:
            raise WireError("25P02", "the transaction failed: nothing is answered until it ends", hint="say ROLLBACK")

    def under(self, settings: Settings) -> Transaction:
        """With other settings."""
        return replace(self, settings=settings)


def _begin(now: Transaction, asked: Transact) -> tuple[Transaction, str]:
    now.check()
    if now.status == OPEN:
        return now, asked.tag
    return Transaction(now.settings, OPEN, now.settings), asked.tag


def _commit(now: Transaction, asked: Transact) -> tuple[Transaction, str]:
    if now.status == FAILED:
        return _rollback(now, Transact("ROLLBACK", "ROLLBACK"))
    return Transaction(now.settings.committed()), asked.tag


def _rollback(now: Transaction, asked: Transact) -> tuple[Transaction, str]:
    return Transaction(now.before if now.before is not None else now.settings), asked.tag


def _save(now: Transaction, asked: Transact) -> tuple[Transaction, str]:
    now.check()
    _inside(now)
    if len(now.savepoints) >= MOST_SAVEPOINTS:
        raise WireError("54000", f"a transaction has at most {MOST_SAVEPOINTS} savepoints")
    return replace(now, savepoints=(*now.savepoints, (asked.name, now.settings))), asked.tag


def _release(now: Transaction, asked: Transact) -> tuple[Transaction, str]:
    now.check()
    _inside(now)
    return replace(now, savepoints=now.savepoints[: _place(now, asked.name)]), asked.tag


def _back(now: Transaction, asked: Transact) -> tuple[Transaction, str]:
    _inside(now)
    place = _place(now, asked.name)
    kept = now.savepoints[: place + 1]
    return replace(now, status=OPEN, settings=kept[-1][1], savepoints=kept), asked.tag


def _inside(now: Transaction) -> None:
    if now.status == IDLE:
        raise WireError("25P01", "savepoints are for transactions", hint="say BEGIN first")


def _place(now: Transaction, name: str) -> int:
    for place in reversed(range(len(now.savepoints))):
        if now.savepoints[place][0] == name:
            return place
    raise WireError("3B001", f"there is no savepoint {name[:80]!r}")


_STEPS: dict[str, Callable[[Transaction, Transact], tuple[Transaction, str]]] = {
    "BEGIN": _begin,
    "COMMIT": _commit,
    "ROLLBACK": _rollback,
    "SAVEPOINT": _save,
    "RELEASE": _release,
    "ROLLBACK TO": _back,
}


Rows = Sequence[Sequence[object]]
_CELL = 50  # bytes of a cell beside its letters


@dataclass(frozen=True)
class Notice:
    """Something to know, which is no error."""

    text: str
    detail: str = ""


@dataclass(frozen=True)
class Outcome:
    """Result of one statement: tag, fields, rows, notices. Without fields it has no rows."""

    tag: str  # its first word counts rows if it is SELECT, FETCH or COPY
    fields: tuple[WireField, ...] | None = None
    rows: Rows = ()
    notices: tuple[Notice, ...] = ()
    copy: Copy | None = None
    ended: str = "answered"  # for the journal: answered, or free
    entry: str | None = None  # of the ledger

    @cached_property
    def size(self) -> int:
        """Bytes that its rows take, roughly."""
        cells = len(self.rows) * (len(self.fields or ()) + 1)
        return _CELL * cells + sum(len(cell) for row in self.rows for cell in row if isinstance(cell, (str, list)))


def counted(tag: str, rows: int) -> str:
    """What the client is told: some statements count."""
    return f"{tag} {rows}" if tag in ("SELECT", "FETCH", "COPY") else tag


_LITTLE = 10_000  # bytes that are not counted one by one: there are only so many of them
_HOLDING = "read or close what you asked for before; what was paid is kept, and free"


@dataclass(frozen=True)
class DescribedColumns:
    """The columns that a statement without parameters had when it was last described, and under which settings."""

    settings: Settings
    fields: tuple[WireField, ...] | None


@dataclass
class Prepared:
    """A statement, the types of its parameters, and its columns once they were described."""

    statement: Statement | None  # None: the text was empty
    oids: tuple[int, ...]
    size: int
    fields: tuple[WireField, ...] | None = None
    seen: DescribedColumns | None = None


@dataclass
class Portal:
    """A statement with its parameters, and how many of its rows were sent."""

    prepared: Prepared
    values: tuple[Value, ...] = ()
    formats: tuple[int, ...] = ()
    outcome: Outcome | None = None
    sent: int = 0
    described: tuple[WireField, ...] | None = None

    def rows(self, most: int) -> Iterator[tuple[object, ...]]:
        """So many of the rows that were not sent yet."""
        rows = self.outcome.rows if self.outcome is not None else ()
        first, self.sent = self.sent, min(len(rows), self.sent + most)
        return (tuple(row) for row in rows[first : self.sent])

    @property
    def over(self) -> bool:
        """Whether every row was sent."""
        return self.outcome is None or self.sent >= len(self.outcome.rows)


@dataclass
class Portals:
    """Statements and portals that a session keeps under names. Bounded, so that nobody fills the memory."""

    limits: WireLimits
    others: Callable[[], int] = lambda: 0  # bytes that its owner holds in all connections
    prepared: dict[str, Prepared] = field(default_factory=dict)
    opened: dict[str, Portal] = field(default_factory=dict)

    def prepare(self, name: str, prepared: Prepared) -> None:
        """Keep a statement; an unnamed one replaces the one before."""
        if name and name in self.prepared:
            raise WireError("42P05", f"there is a prepared statement {shown(name)} already")
        size = prepared.size + sum(other.size for key, other in self.prepared.items() if key != name)
        if len(self.prepared) >= self.limits.prepared or size > self.limits.prepared_characters:
            raise WireError("53000", f"too many statements are prepared: {len(self.prepared)}", hint="DEALLOCATE ALL")
        self.refuse_much(prepared.size)
        self.prepared[name] = prepared

    @property
    def held(self) -> int:
        """Bytes of the statements and rows that are kept here."""
        rows = sum(portal.outcome.size for portal in self.opened.values() if portal.outcome is not None)
        return rows + sum(prepared.size for prepared in self.prepared.values())

    def refuse_much(self, size: int) -> None:
        """Refuse to keep so many bytes more, if its owner holds too many."""
        if size > _LITTLE and self.others() + size > self.limits.held:
            raise WireError(
                "53200", f"you hold too many rows and statements at once: {self.others() + size:,} bytes", hint=_HOLDING
            )

    def open(self, name: str, portal: Portal) -> None:
        """Keep a portal; an unnamed one replaces the one before."""
        if name and name in self.opened:
            raise WireError("42P03", f"a portal {shown(name)} is open already")
        if len(self.opened) >= self.limits.portals:
            raise WireError("53000", f"too many portals are open: {len(self.opened)}", hint="close some")
        self.opened[name] = portal

    def clear(self) -> None:
        """Keep nothing."""
        self.prepared.clear()
        self.opened.clear()

    def statement(self, name: str) -> Prepared:
        """The statement of this name."""
        if name not in self.prepared:
            raise WireError("26000", f"there is no prepared statement {shown(name)}")
        return self.prepared[name]

    def portal(self, name: str) -> Portal:
        """The portal of this name."""
        if name not in self.opened:
            raise WireError("34000", f"there is no portal {shown(name)}")
        return self.opened[name]
