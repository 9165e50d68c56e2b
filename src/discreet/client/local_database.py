"""Database whose home is in this process, with what only its custodian does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar, overload

import pyarrow as pa

from discreet.client.database import Database, in_python
from discreet.client.sessions import PaidSession
from discreet.client.streams import LocalStream, PaidStream
from discreet.curator import Answer, Curator, Explanation
from discreet.curator.bounds_advice import BoundsAdvice, CapsAdvice
from discreet.curator.custody import Custody, Declared
from discreet.curator.named_run import NamedRun, RunAnswer, RunQuote
from discreet.curator.paid_mechanism import SessionStatus
from discreet.curator.purchase import PastPayment
from discreet.curator.quote import Terms
from discreet.curator.run import Runnable
from discreet.curator.streams import StreamOrder, StreamStatus
from discreet.declared.table import Table
from discreet.desk import HOME, Desk, PaidRelease, ReleaseOrder
from discreet.desk.desk import Person
from discreet.desk.release_store import Offered, offered
from discreet.errors import Refusal
from discreet.exact import Number
from discreet.ledger import Head
from discreet.ledger.entry_kinds import BudgetLoss
from discreet.ledger.verify import Receipt
from discreet.mechanisms import Openable
from discreet.privacy import Budget
from discreet.release import Release, Wish
from discreet.release.certificate import Certificate

A = TypeVar("A")
T = TypeVar("T")


class Home(Database):
    """Database in a folder of this machine, asked and kept by its custodian.

    Rows that are added are a path to a Parquet, CSV or DuckDB file (FILE::TABLE), an Arrow table, a frame of pandas or
    polars, or a dict of columns.
    """

    def __init__(self, home: Path) -> None:
        self._home = home
        self._curator = Curator(home)
        self._desk = Desk(home, curator=self._curator)

    def __repr__(self) -> str:
        return f"Home({str(self._home)!r})"

    # asking ----------------------------------------------------------------------------------------------------------

    def _answer(self, sql: str, terms: Terms) -> Answer:
        return self._desk.asked(HOME, sql, vars(terms))

    def _explanation(self, sql: str, terms: Terms) -> Explanation:
        return self._desk.explained(HOME, sql, vars(terms))

    def _columns(self, sql: str, terms: Terms) -> tuple[tuple[str, str], ...]:
        return self._desk.described(HOME, sql, vars(terms))

    def _budgets(self) -> dict[str, Budget[BudgetLoss]]:
        return self._desk.budgets(HOME)

    def tables(self) -> list[Table]:
        return self._desk.tables(HOME)

    def history(self, *, everybody: bool = False) -> list[PastPayment]:
        return self._desk.history(HOME, own=not everybody)

    def head(self) -> Head:
        return self._desk.head(HOME)

    def proof(self, entry: int) -> Receipt:
        receipt = self._desk.proof(HOME, entry)
        if receipt is None:
            raise Refusal(f"entry {entry} is not yours to read")
        return receipt

    @overload
    def run(
        self,
        mechanism: str,
        source: str,
        /,
        *,
        max_rows: int | None = None,
        delta: Number | None = None,
        **parameters: object,
    ) -> RunAnswer: ...

    @overload
    def run(
        self, mechanism: Runnable[T], source: str, /, *, max_rows: int | None = None, delta: Number | None = None
    ) -> T: ...

    def run(
        self,
        mechanism: Runnable[T] | str,
        source: str,
        /,
        *,
        max_rows: int | None = None,
        delta: Number | None = None,
        **parameters: object,
    ) -> T | RunAnswer:
        """Run a mechanism on a table or a SELECT of rows: by its name, or one that is a value, and then anew each time.

        Each unit keeps at most `max_rows` rows, by default as declared, and the price is the mechanism's for that many.
        `delta` is where a loss that has an ε for every δ is charged, if the budget is kept in both.
        """
        if isinstance(mechanism, str):
            return super().run(mechanism, source, max_rows=max_rows, delta=delta, **parameters)
        if parameters:
            raise Refusal(f"a mechanism that is a value has its parameters: run takes no {', '.join(parameters)}")
        return self._curator.run(mechanism, source, max_rows=max_rows, delta=delta)

    def _run_answer(self, order: NamedRun) -> RunAnswer:
        return self._desk.run(HOME, order)

    def _run_quote(self, order: NamedRun) -> RunQuote:
        return self._desk.run_quoted(HOME, order)

    def bounds(
        self, table: str, column: str, *, epsilon: Number | None = None, rho: Number | None = None, fresh: bool = False
    ) -> BoundsAdvice:
        """Buy advice on the bounds of a column: what the declared ones cut off, and which would hold nearly all."""
        return self._curator.bounds(table, column, epsilon=epsilon, rho=rho, fresh=fresh)

    def caps(
        self, table: str, *, epsilon: Number | None = None, rho: Number | None = None, fresh: bool = False
    ) -> CapsAdvice:
        """Buy advice on how many rows of one person an answer should count."""
        return self._curator.caps(table, epsilon=epsilon, rho=rho, fresh=fresh)

    # publishing ------------------------------------------------------------------------------------------------------

    def _offer(self, source: str, wish: Wish, name: str) -> Offered:
        offer = self._desk.offered(HOME, ReleaseOrder.of(source, wish, name))
        return offered(offer, self.budget(offer.run.outline.population.name).left)

    def _publish(self, source: str, wish: Wish, name: str) -> PaidRelease:
        return self._desk.published(HOME, ReleaseOrder.of(source, wish, name))

    def releases(self) -> list[PaidRelease]:
        return self._desk.releases(HOME)

    def release(self, entry: int) -> Release:
        return self._desk.release(HOME, entry)

    def certified(self, entry: int, folder: str | Path) -> Certificate:
        return self._desk.certified(HOME, entry, Path(folder))

    # sessions --------------------------------------------------------------------------------------------------------

    def open_session(self, mechanism: Openable[Any, Any, A, Any], *tables: str) -> PaidSession[A]:
        return self._desk.sessions(HOME).open(mechanism, *tables)

    def session(self, entry: int) -> PaidSession[Any]:
        return self._desk.sessions(HOME).one(entry)

    def sessions(self) -> list[SessionStatus]:
        return self._desk.sessions(HOME).all()

    # streams ---------------------------------------------------------------------------------------------------------

    def _opened_stream(self, name: str, order: StreamOrder) -> PaidStream:
        return LocalStream(self._desk.streams(HOME).open(name, order))

    def stream(self, name: str) -> PaidStream:
        return LocalStream(self._desk.streams(HOME).one(name))

    def streams(self) -> list[StreamStatus]:
        return [each.standing for each in self._desk.streams(HOME).all()]

    # what only the custodian does ------------------------------------------------------------------------------------

    def add(  # noqa: PLR0913  # all that may be declared of a table
        self,
        name: str,
        rows: object,
        *,
        unit: str | None = None,
        epsilon: Number | None = None,
        rho: Number | None = None,
        delta: Number | None = None,
        population: str | None = None,
        max_rows: int | None = None,
        max_groups: int | None = None,
        bounds: Mapping[str, tuple[Number, Number]] | None = None,
        keys: Mapping[str, Sequence[str]] | None = None,
        types: Mapping[str, str] | None = None,
        steps: Mapping[str, Number] | None = None,
        describe: Mapping[str, str] | None = None,
        link: Mapping[str, str] | None = None,
        public: bool = False,
        require_price: bool = False,
        relation: str = "add-remove",
    ) -> Table:
        """Take in a table, and open its population's budget if that is new.

        `unit` is the column that says whose row it is, or "row" if each row is a different person; with `link`, as in
        {"visit": "visits.id"}, another table says it. `epsilon` and perhaps `delta`, or `rho`, are what the
        `population`, by default called as the unit, may lose in all. At most `max_rows` rows of one person count, in at
        most `max_groups` groups. By column: `bounds` of numbers, the `keys` to group by, `types` (needed for CSV),
        `steps` to which numbers are rounded, and what to `describe`. A `public` table is nobody's and costs nothing.
        With `require_price` every question must name a price. The `relation` "replace" makes the number of people
        public, and questions cost twice as much.
        """
        by_column = {"bounds": bounds, "keys": keys, "types": types, "steps": steps, "describe": describe, "link": link}
        of_columns = {word: given for word, given in by_column.items() if given is not None}
        said = Declared(
            unit=unit,
            epsilon=epsilon,
            rho=rho,
            delta=delta,
            population=population,
            max_rows=max_rows,
            max_groups=max_groups,
            public=public,
            require_price=require_price,
            relation=relation,
            **of_columns,  # type: ignore[arg-type]  # each is of the type that the signature says
        )
        with in_python():
            return self._custody().add(name, _rows(rows), said)

    def update(self, name: str, rows: object) -> Table:
        """Put new rows in the place of a table's rows. Its budget stays as it is."""
        return self._custody().update(name, _rows(rows))

    def remove(self, name: str) -> None:
        """Forget a table's rows. What was spent on them stays spent."""
        self._custody().remove(name)

    def retire(self, population: str) -> None:
        """Close a population's budget for good."""
        self._custody().retire(population)

    def lift(self, population: str) -> None:
        """Open a population again after its rows made an answer fail, and you looked into it."""
        self._custody().lift(population)

    def require_price(self, population: str, *, required: bool = True) -> None:
        """Say whether every question about a population must name a price."""
        self._custody().require_price(population, required=required)

    def add_user(
        self,
        name: str,
        *,
        role: str = "analyst",
        allowance: Number | None = None,
        tables: Sequence[str] | None = None,
        require_price: bool = False,
    ) -> str:
        """Let somebody in through the doors: their token, which is kept nowhere.

        A `role` is analyst or custodian. Without `allowance` they share what is left, without `tables` they may ask
        about all, and with `require_price` each of their questions must name a price.
        """
        return self._custody().let_in(name, role, allowance=allowance, tables=tables, require_price=require_price)

    def revoke_user(self, name: str) -> None:
        """Take somebody's access away."""
        self._custody().shut_out(name)

    def users(self) -> list[Person]:
        """Who is let in or paid for something, and what of each budget each has used."""
        return self._desk.people(HOME)

    def _custody(self) -> Custody:
        return self._desk.custody(HOME)


def _rows(given: object) -> object:
    """Rows as they are taken in: columns of a dict as an Arrow table."""
    return pa.table(dict(given)) if isinstance(given, Mapping) else given
