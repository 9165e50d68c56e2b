"""Plans of questions and what is computed above the noise, made where memory and time are bounded.

What runs in a sandbox knows the declarations and the public tables of a home, and nothing else: no row of a person, no
ledger, no randomness.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from sqlglot import exp

from discreet.curator import postprocessing
from discreet.curator.answer import Answer, Spans, estimates
from discreet.curator.answer_formulas import Side
from discreet.curator.cache import Allow
from discreet.curator.catalogue import Catalogue, Population
from discreet.curator.error_bars import Spans as Bars
from discreet.curator.explain import Explanation, bounding, explained, notices
from discreet.curator.postprocessing import Upper
from discreet.curator.price import Priced
from discreet.curator.purchase import BoughtTable, Purchase
from discreet.curator.quote import Terms, quote
from discreet.declared.group_key import Type, canonical
from discreet.declared.table import Caps, Schema
from discreet.engines import DuckStore
from discreet.errors import Exceeded, Fault, Refusal
from discreet.ledger.entry_kinds import BudgetLoss
from discreet.sandbox import Sandbox, SharedValue
from discreet.sql.expression import Expression, Value
from discreet.sql.owned_rows import Inline, Rows
from discreet.sql.plan import Part, Question
from discreet.sql.split_at_noise import question, rows_of

MOST_ROWS = 10_000  # of a public result that is used beside private rows

_TYPES = {kind.value: kind for kind in Type} | {"integer": Type.BIGINT, "hugeint": Type.BIGINT, "decimal": Type.DOUBLE}
_READ: dict[Type, Callable[[object], Value]] = {
    Type.BOOLEAN: bool,
    Type.BIGINT: lambda cell: int(str(cell)),
    Type.DOUBLE: lambda cell: float(str(cell)),
    Type.VARCHAR: str,
    Type.DATE: lambda cell: canonical(cell, Type.DATE),
    Type.TIMESTAMP: lambda cell: canonical(cell, Type.TIMESTAMP),
}

_STORE = "store"
_REMEMBERED = 64  # sets of tables that askers see, of which it is known what follows from them
_MEMORY = "128MB"  # of the engine that reads public tables there


@dataclass(frozen=True)
class PublicTables:
    """The public tables of a home."""

    store: DuckStore
    schema: Schema
    allow: Callable[[set[str]], None]  # refuses tables that the asker may not read

    def values(self, rows: Rows, column: str) -> tuple[object, ...]:
        """The values of a column, in their own order."""
        return self.store.values(rows, column)

    def alike(self, rows: Rows, values: tuple[Expression, ...]) -> int:
        """The largest number of rows that have the same values; of no values, all rows."""
        if isinstance(rows, Inline) and not values:
            return len(rows.cells)
        return self.store.alike(rows, values)

    def answered(self, query: exp.Query) -> Inline:
        """The answer to a question about public tables alone, as rows."""
        names = tuple(query.named_selects)
        named = {cte.alias_or_name for cte in query.find_all(exp.CTE)}
        read = {table.name for table in query.find_all(exp.Table)} - named
        tables = tuple(self.schema.table(name) for name in sorted(read))
        for table in tables:
            if not table.public:
                raise Refusal(f"table {table.name!r} is not public", hint="aggregate its rows first")
            self.allow({table.name})
        asked = Question((), query, frozenset(table.name for table in tables), names, tuple(None for _ in names))
        result = postprocessing.run(
            postprocessing.upper(asked), {}, {table.name: str(self.store.checked(table)) for table in tables}
        )
        if len(result.rows) > MOST_ROWS:
            raise Refusal(
                f"a public query has more than {MOST_ROWS} rows", hint="add its result as a public table of its own"
            )
        kinds = [(name, _TYPES.get(kind.split("(")[0])) for name, kind in result.columns]
        columns = tuple((name, kind) for name, kind in kinds if kind is not None)
        if len(columns) < len(kinds):
            other = next(name for name, kind in kinds if kind is None)
            raise Refusal(f"the column {other!r} of a public query has a type that is not known here", hint="cast it")
        cells = tuple(
            tuple(None if cell is None else _READ[kind](cell) for cell, (_, kind) in zip(row, columns, strict=True))
            for row in result.rows
        )
        return Inline(columns, cells, tables)


def computed(
    upper: postprocessing.Upper, bought: Mapping[str, BoughtTable], files: Mapping[str, str], confidence: Fraction
) -> tuple[postprocessing.Result, Spans]:
    """Rows and their error bars: nothing here reads more than what was bought and the public tables in these files."""
    tables = {
        name: postprocessing.noisy_table(
            each.price.part, each.noisy.groups, estimates(each.price.part, each.noisy.values)
        )
        for name, each in bought.items()
    }
    result = postprocessing.run(upper, tables, files)
    return result, barred(upper, bought, result, confidence)


def barred(
    upper: postprocessing.Upper, bought: Mapping[str, BoughtTable], result: postprocessing.Result, confidence: Fraction
) -> Spans:
    """The error bars of rows."""
    return Bars(upper.sides, bought, 1 - confidence).of(result.rows, result.hidden)


def spoken(
    upper: postprocessing.Upper,
    paid: Purchase,
    told: tuple[postprocessing.Result, Spans],
    again: tuple[Fraction, Callable[[Fraction], Spans]],
    left: BudgetLoss | None,
) -> Answer:
    """What is told of rows and their error bars at one confidence; `again` says at which, and finds those at others."""
    result, spans = told
    confidence, at = again
    prices = [bought.price for bought in paid.tables.values()]
    return Answer(
        tuple(name for name, _ in result.columns),
        tuple(kind for _, kind in result.columns),
        result.rows,
        paid.cost,
        left,
        ",".join(str(bought.entry) for bought in paid.tables.values()),
        bounding(prices, partial=upper.question.partial),
        confidence,
        spans,
        at,
        notices(prices),
        upper.noisy,
    )


@dataclass(frozen=True)
class PlanFacts:
    """What a plan follows from: a schema, and where its public tables are kept, under which names."""

    schema: Schema
    folder: Path
    files: Mapping[str, str]


class Planner:
    """Plans, rehearses and computes for whoever asks."""

    def __init__(self, sandbox: Sandbox, store: DuckStore) -> None:
        self._sandbox, self._store = sandbox, store
        self._facts: dict[frozenset[str], tuple[Catalogue, SharedValue[PlanFacts]]] = {}  # by what tables an asker sees

    def _declared(self, known: Catalogue) -> SharedValue[PlanFacts]:
        public = {table.name: self._store.name(table) for table in known.tables.values() if table.public}
        names = frozenset(known.tables)
        last = self._facts.get(names)
        if last is not None and (last[0] is known or last[0] == known) and last[1].value.files == public:
            return last[1]
        facts = SharedValue(PlanFacts(known.schema, self._store.folder, public))
        facts.made(_STORE, lambda _: self._store)  # of this process: any other opens its own
        # Another value each time, so that threads need no lock.
        self._facts = {**dict(list(self._facts.items())[-_REMEMBERED:]), names: (known, facts)}
        return facts

    def question(
        self,
        who: str,
        known: Catalogue,
        asked: tuple[str, Caps, Sequence[object]],
        note: Allow,
    ) -> Question:
        """The plan of a text under caps, after what came before it said. Its tables are noted.

        `known` is what the asker sees: what is not granted is not in it, and nothing tells of it.
        """
        sql, caps, scalars = asked
        facts = self._declared(known)
        plan, read = self._sandbox.call(who, _planned, sql, caps, tuple(scalars), facts=facts)
        note(set(read))
        return plan

    def rows(self, who: str, known: Catalogue, sql: str) -> Rows:
        """The private rows that a text selects."""
        return self._sandbox.call(who, _selected, sql, facts=self._declared(known))

    def rehearsed(self, who: str, asked: Question, files: Mapping[str, str]) -> Upper:
        """The upper half of a question, tried on made-up tables."""
        text, sides, hidden, columns = self._sandbox.call(who, _rehearsed, asked, dict(files))
        return Upper(asked, text, sides, hidden, columns)

    def upper(self, who: str, asked: Question) -> Upper:
        """The upper half of a question that was paid already, not tried."""
        try:
            return self._sandbox.call(who, postprocessing.upper, asked)
        except Exceeded:
            raise Fault from None

    def explained(
        self, who: str, asked: Question, prices: Sequence[Priced], confidence: Fraction, *, named: bool
    ) -> Explanation:
        """What a question would cost and how exact it would be."""
        return self._sandbox.call(who, explained, asked, tuple(prices), confidence, named)

    def quoted(
        self, who: str, parts: tuple[Part, ...], population: Population, asked: Terms, whole: Question | None
    ) -> tuple[Priced, ...]:
        """The prices of a question's parts. For the sake of an error the whole question is looked at, many times."""
        if asked.error is None:
            return quote(parts, population, asked, whole)
        return self._sandbox.call(who, quote, parts, population, asked, whole)

    def spoken(
        self, who: str, upper: Upper, paid: Purchase, files: Mapping[str, str], at: tuple[Fraction, BudgetLoss | None]
    ) -> Answer:
        """The answer to a question whose tables are paid, at a confidence, with what is left.

        What goes wrong from here on is one sentence, unless nothing was paid.
        """
        confidence, left = at
        rows = sum(len(bought.noisy.groups) for bought in paid.tables.values())

        def again(other: Fraction) -> Spans:
            given = upper, paid.tables, told[0], other
            return self._sandbox.call(who, barred, *given, rows=rows)

        try:
            told = self._sandbox.call(who, computed, upper, paid.tables, dict(files), confidence, rows=rows)
        except Exceeded:
            if paid.tables:
                raise Fault from None
            raise
        return spoken(upper, paid, told, (confidence, again), left)


def _planned(
    facts: SharedValue[PlanFacts], sql: str, caps: Caps, scalars: Sequence[object]
) -> tuple[Question, frozenset[str]]:
    """A plan, and the tables that it reads."""
    read: set[str] = set()
    plan = question(sql, facts.value.schema, caps, _public(facts, read), scalars)
    return plan, frozenset(read | plan.tables)


def _rehearsed(
    asked: Question, files: Mapping[str, str]
) -> tuple[str, tuple[Side, ...], int, tuple[tuple[str, str], ...]]:
    """All of an upper half but the question, which whoever asks for it has."""
    above = postprocessing.rehearse(asked, files)
    return above.text, above.sides, above.hidden, above.columns


def _selected(facts: SharedValue[PlanFacts], sql: str) -> Rows:
    return rows_of(sql, facts.value.schema, _public(facts, set()))


def _public(facts: SharedValue[PlanFacts], read: set[str]) -> PublicTables:
    """The public tables that the asker sees; those that are looked into are noted."""
    return PublicTables(facts.made(_STORE, _opened), facts.value.schema, read.update)


def _opened(declared: PlanFacts) -> DuckStore:
    return DuckStore(declared.folder, names=lambda table: declared.files[table.name], memory=_MEMORY, threads=1)
