"""A home that is here: its curator, and what it publishes."""

from __future__ import annotations

from pathlib import Path

from discreet.curator import Curator
from discreet.desk import PaidRelease, ReleaseOrder
from discreet.desk.notary import Notary
from discreet.desk.publisher import Publisher
from discreet.desk.release_quote import Offered, offered
from discreet.ledger import Grant
from discreet.release import Release, Wish
from discreet.release.certificate import Certificate


class Home(Curator):
    """The curator of a home, who also publishes from it."""

    def __init__(self, home: Path) -> None:
        super().__init__(home)
        self._publisher = Publisher(home, Notary(home))

    def offer(self, source: str, *, name: str = "", **wish: object) -> Offered:
        """What a release of a table, or of a SELECT of rows, would cost and how exact it would be. Free."""
        found = self._publisher.offered(self, ReleaseOrder.of(source, Wish.read(wish), name))
        return offered(found, self.budget(found.run.outline.population.name).left)

    def publish(self, source: str, *, name: str = "", **wish: object) -> PaidRelease:
        """Make a release at its price, unless it was made before. `release` and `certified` take its entry."""
        entry = self._publisher.published(self, ReleaseOrder.of(source, Wish.read(wish), name))
        return self._publisher.one(self._reader(), entry)

    def releases(self) -> list[PaidRelease]:
        """The releases of this home, the latest first."""
        return self._publisher.listed(self._reader())

    def release(self, entry: int) -> Release:
        """One of them, free: everything that follows from it is too."""
        return self._publisher.release(self._publisher.one(self._reader(), entry))

    def certified(self, entry: int, folder: str | Path) -> Certificate:
        """Write one of them into a new folder, with what anybody needs to check it."""
        return self._publisher.folder(self._publisher.one(self._reader(), entry), Path(folder))

    def _reader(self) -> Grant | None:
        return self._books().grant(self._principal)
