"""Transactions. Nothing is written here, so they only remember settings, and whether something failed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from discreet.server.errors import WireError
from discreet.server.pgwire.commands import Transact
from discreet.server.pgwire.settings import Settings

IDLE, OPEN, FAILED = b"I", b"T", b"E"
MOST_SAVEPOINTS = 200


@dataclass(frozen=True)
class Transaction:
    """Where a session stands: outside a transaction, in one, or in one that failed."""

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
