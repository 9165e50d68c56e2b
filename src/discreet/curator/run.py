"""Any mechanism on private rows: paid whole before a row is read."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from discreet.curator.catalogue import Catalogue
from discreet.engines import DuckStore
from discreet.errors import Fault, Refusal
from discreet.ledger import Answer as Said
from discreet.ledger import Spend, SqliteLedger
from discreet.ledger.entry import BudgetLoss, Plain
from discreet.noise import SECURE, Entropy
from discreet.privacy import AddRemove, Loss, Neighbours, Replace, convert
from discreet.sql.rows import Rows, scanned
from discreet.sql.shape import shape
from discreet.sql.split import rows_of

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class RowMechanism(Protocol[T_co]):
    """A mechanism whose data are rows: one cell each if one column was selected, else tuples."""

    @property
    def privacy(self) -> Loss:
        """What it loses when one row changes."""
        ...

    @property
    def neighbours(self) -> Neighbours:
        """How one row changes."""
        ...

    def __call__(self, rows: Any, /, *, rng: Entropy = SECURE) -> T_co:  # noqa: ANN401  # each has its own kind of rows
        """Its answer."""
        ...


@dataclass(frozen=True)
class Run(Generic[T]):
    """A mechanism, the rows it is to see, and how many of one unit."""

    mechanism: RowMechanism[T]
    sql: str
    max_rows: int | None = None


def run(ledger: SqliteLedger, store: DuckStore, known: Catalogue, principal: str, what: Run[T]) -> T:
    """Price, spend, read, randomise, record, speak.

    Guarantee: what is charged, for all rows of one unit in the table.
    Proof: a unit owns at most `cap` of the rows that the mechanism sees, so neighbours differ in at most `cap` rows,
        each added or removed (or, where units are replaced, in twice as many); group privacy does the rest.
    """
    rows = rows_of(what.sql, known.schema)
    public = shape(rows)
    cap = what.max_rows or public.max_rows
    if cap is None:
        raise Refusal(
            "a mechanism needs to know how many rows one unit may have", hint="declare --max-rows, or pass max_rows="
        )
    population = known.population(public.population or "")
    loss = _charged(what.mechanism, cap, population.neighbours, type(population.total))
    digest = hashlib.sha256(f"run\n{what!r}\n{rows!r}".encode()).hexdigest()
    told: Plain = {"mechanism": repr(what.mechanism), "sql": what.sql, "max_rows": cap}
    versions: dict[str, Plain] = {table.name: table.version for table in scanned(rows)}
    with store.opened([rows]):  # before anything is paid
        paid = ledger.append(Spend(population.name, loss, principal, digest, sorted(public.tables), told, versions))
        try:
            found = _run(store, what, rows, cap)
            ledger.append(Said(paid.number, digest, repr(found)))
        except Exception:  # noqa: BLE001  # whatever it says, it says it about data
            ledger.hold(population.name)  # until a custodian has looked: a failure could tell of a row
            raise Fault from None
    return found


def _run(store: DuckStore, what: Run[T], rows: Rows, cap: int) -> T:
    cells = store.rows(rows, cap)
    data = [row[0] for row in cells] if cells and len(cells[0]) == 1 else cells
    return what.mechanism(data)


def _charged(mechanism: RowMechanism[object], cap: int, budget: Neighbours, measure: type[BudgetLoss]) -> BudgetLoss:
    """The price of a mechanism in a budget's measure, for all rows of a unit (SOUNDNESS 2)."""
    if isinstance(mechanism.neighbours, Replace):
        raise Refusal(
            "a promise for replacing one row says nothing about adding or removing one",
            hint="use a mechanism for added and removed rows",
        )
    size = cap if isinstance(budget, AddRemove) else 2 * cap
    loss = mechanism.privacy if size == 1 else mechanism.privacy.group(size)
    return loss if isinstance(loss, measure) else convert(loss, measure)
