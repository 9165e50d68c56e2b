"""Prepared statements and portals of one session: what was parsed, what was bound, how far it was read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from discreet.server.errors import WireError
from discreet.server.limits import WireLimits
from discreet.server.pgwire.commands import Statement
from discreet.server.pgwire.frames import Field
from discreet.server.pgwire.result import Outcome
from discreet.server.pgwire.settings import Settings
from discreet.server.pgwire.types import Value

_LITTLE = 10_000  # bytes that are not counted one by one: there are only so many of them
_HOLDING = "read or close what you asked for before; what was paid is kept, and free"


@dataclass(frozen=True)
class Seen:
    """The columns that a statement without parameters had when it was last described, and under which settings."""

    settings: Settings
    fields: tuple[Field, ...] | None


@dataclass
class Prepared:
    """A statement, the types of its parameters, and its columns once they were described."""

    statement: Statement | None  # None: the text was empty
    oids: tuple[int, ...]
    size: int
    fields: tuple[Field, ...] | None = None
    seen: Seen | None = None


@dataclass
class Portal:
    """A statement with its parameters, and how many of its rows were sent."""

    prepared: Prepared
    values: tuple[Value, ...] = ()
    formats: tuple[int, ...] = ()
    outcome: Outcome | None = None
    sent: int = 0
    described: tuple[Field, ...] | None = None

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
class Shelf:
    """What a session keeps under names. Bounded, so that nobody fills the memory."""

    limits: WireLimits
    others: Callable[[], int] = lambda: 0  # bytes that its owner holds in all connections
    prepared: dict[str, Prepared] = field(default_factory=dict)
    portals: dict[str, Portal] = field(default_factory=dict)

    def prepare(self, name: str, prepared: Prepared) -> None:
        """Keep a statement; an unnamed one replaces the one before."""
        if name and name in self.prepared:
            raise WireError("42P05", "a prepared statement of this name is there already")
        size = prepared.size + sum(other.size for key, other in self.prepared.items() if key != name)
        if len(self.prepared) >= self.limits.prepared or size > self.limits.prepared_characters:
            raise WireError("53000", "too many statements are prepared", hint="DEALLOCATE ALL")
        self.refuse_much(prepared.size)
        self.prepared[name] = prepared

    @property
    def held(self) -> int:
        """Bytes of the statements and rows that are kept here."""
        rows = sum(portal.outcome.size for portal in self.portals.values() if portal.outcome is not None)
        return rows + sum(prepared.size for prepared in self.prepared.values())

    def refuse_much(self, size: int) -> None:
        """Refuse to keep so many bytes more, if its owner holds too many."""
        if size > _LITTLE and self.others() + size > self.limits.held:
            raise WireError("53200", "you hold too many rows and statements at once", hint=_HOLDING)

    def open(self, name: str, portal: Portal) -> None:
        """Keep a portal; an unnamed one replaces the one before."""
        if name and name in self.portals:
            raise WireError("42P03", "a portal of this name is open already")
        if len(self.portals) >= self.limits.portals:
            raise WireError("53000", "too many portals are open", hint="close some")
        self.portals[name] = portal

    def clear(self) -> None:
        """Keep nothing."""
        self.prepared.clear()
        self.portals.clear()

    def statement(self, name: str) -> Prepared:
        """The statement of this name."""
        if name not in self.prepared:
            raise WireError("26000", "there is no prepared statement of this name")
        return self.prepared[name]

    def portal(self, name: str) -> Portal:
        """The portal of this name."""
        if name not in self.portals:
            raise WireError("34000", "there is no portal of this name")
        return self.portals[name]
