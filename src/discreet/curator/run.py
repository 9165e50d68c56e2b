"""Run of a mechanism on private rows: paid whole before a row is read."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Generic, Protocol, TypeAlias, TypeVar, cast

from discreet.curator.catalogue import Catalogue, Population
from discreet.curator.stage_file import Heard, StageFile, alone, interrupted
from discreet.engines import DuckRelation, DuckStore
from discreet.errors import Refusal
from discreet.exact import Number
from discreet.ledger import Spend, SqliteLedger, StoredAnswer, payment
from discreet.ledger.entry_kinds import BudgetLoss, Plain
from discreet.ledger.payment import resumed
from discreet.mechanisms import Caps, Column, TableMechanism, Takes
from discreet.mechanisms.mechanism import RowPromise, loss_of_units
from discreet.mechanisms.registry import digest
from discreet.noise import SECURE, Entropy
from discreet.privacy import Approximate, Loss, Neighbours, Pure, convert
from discreet.sql.cell_numbers import BoundedRows
from discreet.sql.expression_facts import NOTHING, Origins, owners
from discreet.sql.owned_rows import Rows, described, scanned
from discreet.sql.plan import VERSION
from discreet.sql.relation_facts import Facts, Shape, column, one_row, shape

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
_OF_ROWS = (Takes.ROWS, Takes.OWNED_ROWS, Takes.RELATION)
_Charge = tuple[Neighbours, type[BudgetLoss], Number | None]  # whose budget, in which measure, at which δ


@dataclass(frozen=True)
class RowOutline:
    """An outline of rows, as `mechanisms.Outline` has it, and whose budget pays for them."""

    schema: Mapping[str, Column]
    caps: Caps
    population: Population
    people: frozenset[str] = frozenset()  # columns that say who people are, under whatever name
    facts: Mapping[str, Facts] = field(default_factory=dict)  # what else is known of them

    @property
    def neighbours(self) -> Neighbours:
        """Which tables the population's promise compares."""
        return self.population.neighbours


def row_outline(
    public: Shape, population: Population, max_rows: int | None = None, owners: Origins = NOTHING
) -> RowOutline:
    """The outline of rows of this shape, of which a unit keeps at most `max_rows`, by default as declared.

    `owners` are the tables' columns that name the units.
    """
    caps = Caps(public.max_rows if max_rows is None else max_rows)
    schema = {name: column(name, facts) for name, facts in public.columns.items()}
    people = frozenset(name for name, facts in public.columns.items() if facts.carries & owners)
    kept = Caps(caps.rows)  # refused where nothing is said of rows
    return RowOutline(schema, kept, population, people, public.columns)


class RowMechanism(RowPromise, Protocol[T_co]):
    """A mechanism whose data are rows: one cell each if one column was selected, else tuples.

    They come in an order that is drawn for this run, so its promise need not hold for any order that a unit chooses.
    """

    def __call__(self, rows: Any, /, *, rng: Entropy = SECURE) -> T_co:  # noqa: ANN401  # each has its own kind of rows
        """Its answer."""
        ...


Runnable: TypeAlias = RowMechanism[T] | TableMechanism[T]


@dataclass(frozen=True)
class Run(Generic[T]):
    """A mechanism, the rows it is to see, what is public about them, and what it costs."""

    mechanism: Runnable[T]
    sql: str
    rows: Rows
    outline: RowOutline
    loss: BudgetLoss
    told: Plain  # what the ledger says that it was

    @cached_property
    def question(self) -> str:
        """The key under which its answer is stored: mechanism, plan, caps and data versions.

        A release says itself what is declared of the columns that it counts; of any other mechanism all it sees counts.
        """
        form = "run" if isinstance(self.told, str) else "release"  # what is kept of an answer, a word or a file
        if isinstance(self.told, dict) and "run" in self.told:
            form = "named run"  # an answer as JSON
        seen = "" if form == "release" else f"\n{_seen(self.outline.schema)}"
        caps = f"Caps(max_rows={self.outline.caps.rows}, max_groups=1)"
        said = f"{form} {VERSION}\n{digest(self.mechanism)}\n{caps}\n{described(self.rows)}{seen}"
        return hashlib.sha256(said.encode()).hexdigest()

    @property
    def tables(self) -> set[str]:
        """What it looks at."""
        return set(shape(self.rows).tables)


def _seen(schema: Mapping[str, Column]) -> str:
    """What is declared of columns, in the words that keys of stored answers are made of."""
    told = (
        f"{name!r}: Column(name={name!r}, keys={c.keys!r}, grid={c.grid!r}{_line(c)})" for name, c in schema.items()
    )
    return f"{{{', '.join(told)}}}"


def _line(column: Column) -> str:
    return "" if column.line == column.grid else f", type={column.type.value!r}, line={column.line!r}"


@dataclass(frozen=True)
class Wanted(Generic[T]):
    """A mechanism, chosen when all that is public of its rows is known, and what the ledger is to say that it was."""

    sql: str
    chosen: Callable[[RowOutline], Runnable[T]]
    max_rows: int | None = None
    told: Plain = None
    delta: Number | None = None  # at which a loss that has an ε for every δ is charged


@dataclass(frozen=True)
class Offer(Generic[T]):
    """A run before it is paid, and what it said when it was paid before."""

    run: Run[T]
    said: list[tuple[Spend, StoredAnswer, int]]

    @property
    def entry(self) -> int | None:
        """The entry that holds the answer, if there is one."""
        return self.said[-1][2] if self.said else None


def planned(known: Catalogue, wanted: Wanted[T], rows: Rows, allow: Callable[[set[str]], None]) -> Run[T]:
    """What a run would be. Nothing of a row is read, so it may be refused in any words that the asker may hear."""
    public = shape(rows)
    allow(set(public.tables))  # before anything is said of what is declared
    most = None if one_row(rows) else wanted.max_rows  # where it is one row anyway, a larger cap would only cost more
    named = owners(scanned(rows))
    outline = row_outline(public, known.population(public.population or ""), most, named)
    mechanism = wanted.chosen(outline)
    charge = outline.neighbours, type(outline.population.total), wanted.delta
    if _takes(mechanism) is Takes.RELATION:
        over = cast("TableMechanism[T]", mechanism)
        outline = row_outline(public, outline.population, over.caps.rows, named)
        loss = _charged_table(over, charge)
        if hasattr(over, "refuse_unfit"):  # what it would refuse when it is paid
            over.refuse_unfit(outline)
    else:
        of_rows = cast("RowMechanism[T]", mechanism)
        loss = _charged(of_rows, outline.caps.rows, charge)
    told = repr(mechanism) if wanted.told is None else wanted.told
    return Run(mechanism, wanted.sql, rows, outline, loss, told)


def _takes(mechanism: object) -> Takes:
    """What a mechanism takes, as its class declares; refused unless that is rows or a relation.

    Nothing else is asked of it: a list of rows passes for a vector, for scores or for a stream, whose noise hides one
    number and not one person.
    """
    kind, takes = type(mechanism).__name__, getattr(type(mechanism), "takes", None)
    if not isinstance(takes, Takes):
        raise Refusal(
            f"{kind} does not say what it takes, and only what takes rows can run on rows",
            hint="if its promise is for one row more or less, say in its class: takes = Takes.ROWS",
        )
    if takes not in _OF_ROWS:
        raise Refusal(
            f"{kind} takes {takes.value}, and these are rows", hint="ask in SQL, or take a mechanism that takes rows"
        )
    return takes


def _word(answer: object, _: Spend) -> str:
    return repr(answer)


@dataclass(frozen=True)
class Telling(Generic[T]):
    """What the ledger is to hold of an answer, and who hears how much of the work is done."""

    kept: Callable[[T, Spend], Plain]
    heard: Heard | None = None


WORD: Telling[Any] = Telling(_word)


def run(
    ledger: SqliteLedger,
    store: DuckStore,
    principal: str,
    what: Run[T],
    telling: Telling[T] = WORD,
) -> tuple[T, int]:
    """Spend, read, randomise, record, speak: the answer, and the entry that holds what was `kept` of it.

    A mechanism of stages seals each of them, and one that was interrupted goes on where it was.

    Guarantee: what is charged, for all rows of one unit in the table.
    Proof: a unit owns at most `cap` of the rows that the mechanism sees, so neighbours differ in at most `cap` rows,
        all added or all removed (or, where units are replaced, so many of each). They come in a uniform order: with a
        row more it is the order without that row, and the row put in at a uniform place, so a promise for one row put
        in anywhere is kept for each such place and by that for their mixture. For a mechanism of rows group privacy
        does the rest: rows that go one after another and then come, or `max_rows` at a time where it promises for so
        many together. One over a relation promises this for such units itself. docs/proofs/run.md.
    """
    population, question = what.outline.population.name, what.question
    told: Plain = {"mechanism": what.told, "sql": what.sql, "max_rows": what.outline.caps.rows}
    versions: dict[str, Plain] = {table.name: table.version for table in scanned(what.rows)}
    spend = Spend(population, what.loss, principal, question, sorted(what.tables), told, versions)
    with store.opened([what.rows]):  # before anything is paid
        if getattr(type(what.mechanism), "staged", False):
            return _staged(ledger, store, what, spend, telling)
        with payment(ledger, [spend]) as paid:
            answer = _run(store, what)
            said = paid.record(paid.entries[0], telling.kept(answer, spend))
    return answer, said


def _staged(
    ledger: SqliteLedger,
    store: DuckStore,
    what: Run[T],
    spend: Spend,
    telling: Telling[T],
) -> tuple[T, int]:
    """The same for a mechanism that seals its stages. What fails is not gone on with; what is killed may be."""
    home, mechanism = store.folder.parent, cast("Any", what.mechanism)
    with alone(home, spend.question):
        known = interrupted(ledger, home, spend, telling.heard)
        with payment(ledger, [spend]) if known is None else resumed(ledger, known[0]) as paid:
            entry = paid.entries[0]
            stages = StageFile.new(home, entry, telling.heard) if known is None else known[1]
            try:
                answer: T = mechanism(_relation(store, what), stages=stages)
                said = paid.record(entry, telling.kept(answer, spend))
            except Exception:
                stages.discard()
                raise
            stages.discard()
    return answer, said


def _run(store: DuckStore, what: Run[T]) -> T:
    mechanism, outline = what.mechanism, what.outline
    if _takes(mechanism) is Takes.RELATION:
        return mechanism(_relation(store, what))
    cells = store.rows(BoundedRows(what.rows, outline.caps.rows))
    data: Any = [row[0] for row in cells] if len(shape(what.rows).columns) == 1 else cells
    return mechanism(data)


def _relation(store: DuckStore, what: Run[Any]) -> DuckRelation:
    outline = what.outline
    return DuckRelation(store, what.rows, outline.schema, outline.caps, outline.neighbours)


def _charged(mechanism: RowMechanism[object], cap: int, charge: _Charge) -> BudgetLoss:
    """The price of a mechanism of rows in a budget's measure, for all rows of a unit (SOUNDNESS 2)."""
    budget, measure, delta = charge
    return _measured(loss_of_units(mechanism, cap, budget), measure, delta)


def _charged_table(mechanism: TableMechanism[object], charge: _Charge) -> BudgetLoss:
    """The price of a mechanism over a table, which is its own: for the neighbours of the budget or not at all."""
    budget, measure, delta = charge
    if mechanism.neighbours != budget:
        raise Refusal(f"the budget is for {budget}, and this mechanism promises something for {mechanism.neighbours}")
    return _measured(mechanism.privacy, measure, getattr(mechanism, "delta", None) if delta is None else delta)


def _measured(loss: Loss, measure: type[BudgetLoss], delta: Number | None) -> BudgetLoss:
    """A loss in the measure of a budget; δ is used where the loss has an ε for every δ."""
    if isinstance(loss, measure):
        return loss
    if measure is Pure:
        raise Refusal(
            "the budget is kept in epsilon alone, and this promises with a delta besides",
            hint="take what needs none, as histograms do; a population has a delta if its first table says so",
        )
    if measure is not Approximate or isinstance(loss, (Pure, Approximate)):
        return convert(loss, measure)
    if delta is None:
        raise Refusal(
            f"the budget is kept in epsilon and delta, and {loss} has an epsilon for every delta",
            hint="name the price with both; a mechanism that is run is charged at delta=",
        )
    return convert(loss, measure, delta=delta)
