"""A home that is here: its curator, and what it publishes."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar, overload

from discreet.curator import Curator
from discreet.curator.named_run import NamedRun, RunAnswer, RunQuote, quoted_run
from discreet.curator.run import Runnable
from discreet.desk import Listed, Order
from discreet.desk.notary import Notary
from discreet.desk.publisher import Publisher
from discreet.desk.release_quote import Offered, offered
from discreet.errors import Refusal
from discreet.exact import Number
from discreet.ledger import Grant
from discreet.release import Release, Wish
from discreet.release.certificate import Certificate

T = TypeVar("T")


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

    @overload
    def run(
        self, mechanism: Runnable[T], sql: str, /, *, max_rows: int | None = None, delta: Number | None = None
    ) -> T: ...

    @overload
    def run(
        self,
        mechanism: str,
        sql: str,
        /,
        *,
        max_rows: int | None = None,
        delta: Number | None = None,
        **parameters: object,
    ) -> RunAnswer: ...

    def run(
        self,
        mechanism: Runnable[T] | str,
        sql: str,
        /,
        *,
        max_rows: int | None = None,
        delta: Number | None = None,
        **parameters: object,
    ) -> T | RunAnswer:
        """Run a mechanism on the rows of a table or a SELECT: one of your own, or a registered one by its name.

        By its name it takes its parameters here, and what is declared from the declarations; the same again is free.
        """
        if isinstance(mechanism, str):
            return self.run_named(NamedRun.of(mechanism, sql, parameters, max_rows, delta))
        if parameters:
            raise Refusal(f"a mechanism that is a value has its parameters: run takes no {', '.join(parameters)}")
        return super().run(mechanism, sql, max_rows=max_rows, delta=delta)

    def offer_run(
        self,
        mechanism: str,
        sql: str,
        /,
        *,
        max_rows: int | None = None,
        delta: Number | None = None,
        **parameters: object,
    ) -> RunQuote:
        """What running a mechanism by its name would cost, and how far off it may be. Free."""
        offer = self.offered(NamedRun.of(mechanism, sql, parameters, max_rows, delta).wanted)
        return quoted_run(offer, self.budget(offer.run.outline.population.name).left)

    def releases(self) -> list[Listed]:
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
