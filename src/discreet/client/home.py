"""A home that is here: its curator, and what it publishes."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

from discreet.curator import Curator
from discreet.curator.sessions import OpenSession, SessionStatus
from discreet.desk import Listed, Order
from discreet.desk.notary import Notary
from discreet.desk.publisher import Publisher
from discreet.desk.release_quote import Offered, offered
from discreet.ledger import Grant
from discreet.mechanisms import Openable
from discreet.release import Release, Wish
from discreet.release.certificate import Certificate

A = TypeVar("A")


class Home(Curator):
    """The curator of a home, who also publishes from it."""

    def __init__(self, home: Path) -> None:
        super().__init__(home)
        self._publisher = Publisher(home, Notary(home))

    def offer(self, source: str, *, name: str = "", **wish: object) -> Offered:
        """What a release of a table, or of a SELECT of rows, would cost and how exact it would be. Free."""
        found = self._publisher.offered(self, Order.of(source, Wish.read(wish), name))
        return offered(found, self.budget(found.run.outline.population.name).left)

    def publish(self, source: str, *, name: str = "", **wish: object) -> Listed:
        """Make a release at its price, unless it was made before. `release` and `certified` take its entry."""
        entry = self._publisher.published(self, Order.of(source, Wish.read(wish), name))
        return self._publisher.one(self._reader(), entry)

    def releases(self) -> list[Listed]:
        """The releases of this home, the latest first."""
        return self._publisher.listed(self._reader())

    def release(self, entry: int) -> Release:
        """One of them, free: everything that follows from it is too."""
        return self._publisher.release(self._publisher.one(self._reader(), entry))

    def certified(self, entry: int, folder: str | Path) -> Certificate:
        """Write one of them into a new folder, with what anybody needs to check it."""
        return self._publisher.folder(self._publisher.one(self._reader(), entry), Path(folder))

    def open_session(self, mechanism: Openable[Any, int, A, Any], *tables: str) -> OpenSession[A]:
        """Pay for a session of an interactive mechanism about these tables; then it is asked question by question."""
        return self.paid_sessions().open(mechanism, *tables)

    def session(self, entry: int) -> OpenSession[Any]:
        """A session by the number of its payment."""
        return self.paid_sessions().one(entry)

    def sessions(self) -> list[SessionStatus]:
        """All of them, the latest first: what is used of each, and why it is closed."""
        return self.paid_sessions().all()

    def _reader(self) -> Grant | None:
        return self._books().grant(self._principal)
