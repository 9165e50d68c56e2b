"""Database that answers under differential privacy: what `discreet.open`, `create` and `connect` give."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar, cast

from discreet.client.sessions import PaidSession
from discreet.client.streams import PaidStream
from discreet.curator import Answer, Explanation
from discreet.curator.named_run import NamedRun, RunAnswer, RunQuote
from discreet.curator.paid_mechanism import SessionStatus
from discreet.curator.purchase import PastPayment
from discreet.curator.quote import Terms
from discreet.curator.streams import StreamOrder, StreamStatus
from discreet.declared.table import Table
from discreet.desk import PaidRelease
from discreet.desk.release_store import Offered
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

_TYPE = r"--types (?:'([^'=]+)=(\w+)'|([^\s'=]+)=(\w+))"
_WORDS = (  # of the command line, as Python has them
    (r"--([a-z]+) (\d\S*)", r"\1=\2"),
    (r"--([a-z]+)-([a-z]+)", r"\1_\2"),
    (r"--([a-z]+)", r"\1"),
    (r"say SET discreet\.(\w+)|SET discreet\.(\w+)", r"pass \1\2="),
    (r"discreet (update|tables)", r"\1()"),
)


@contextmanager
def in_python() -> Iterator[None]:
    """What is refused inside is mended in Python: `--types age=bigint` is types={'age': 'bigint'}."""
    try:
        yield
    except Refusal as refusal:
        refusal.hint = re.sub(f"{_TYPE}(?: {_TYPE})*", _as_dict, refusal.hint)
        for option, words in _WORDS:
            refusal.hint = re.sub(option, words, refusal.hint)
        raise


def _as_dict(options: re.Match[str]) -> str:
    pairs = ((quoted or plain, kind or own) for quoted, kind, plain, own in re.findall(_TYPE, options[0]))
    return f"types={{{', '.join(f'{name!r}: {kind!r}' for name, kind in pairs)}}}"


class Database(ABC):
    """Database whose answers are noisy and whose budgets end, whether its home is here or behind an HTTP door.

    A number may be given as an int, a Fraction, a Decimal, a text such as "1/3", or a float, which is read through its
    decimal text: 0.1 is one tenth. A refusal charges nothing.
    """

    # asking ----------------------------------------------------------------------------------------------------------

    def query(  # noqa: PLR0913  # the terms of a question
        self,
        sql: str,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        error: Number | None = None,
        delta: Number | None = None,
        confidence: Number = 0.95,
        fresh: bool = False,
        within: bool = False,
        max_rows: int | None = None,
        max_groups: int | None = None,
    ) -> Answer:
        """The answer to a question in SQL. Spends its price, unless the same was answered before.

        The price is `epsilon`, or `rho` where the budget is kept in it, or the least at which every number is within
        `error` of the truth; without one it is the population's default. `delta` is for the names of groups that were
        not declared. Error bars are at `confidence`. `fresh` buys a new draw of what was answered before; `within`
        answers with what is left where the price does not fit. At most `max_rows` rows of one person count, in at most
        `max_groups` groups, by default as declared.
        """
        price = Terms(epsilon, rho, error, delta, confidence, fresh, within=within)
        with in_python():
            return self._answer(sql, replace(price, max_rows=max_rows, max_groups=max_groups))

    def explain(  # noqa: PLR0913  # the terms of a question
        self,
        sql: str,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        error: Number | None = None,
        delta: Number | None = None,
        confidence: Number = 0.95,
        max_rows: int | None = None,
        max_groups: int | None = None,
    ) -> Explanation:
        """What a question would cost and how exact its answer would be, on the terms of `query`. Free."""
        price = Terms(epsilon, rho, error, delta, confidence)
        with in_python():
            return self._explanation(sql, replace(price, max_rows=max_rows, max_groups=max_groups))

    def describe(
        self, sql: str, *, max_rows: int | None = None, max_groups: int | None = None
    ) -> tuple[tuple[str, str], ...]:
        """The columns that an answer would have, and their types. Free."""
        with in_python():
            return self._columns(sql, Terms(max_rows=max_rows, max_groups=max_groups))

    def run(
        self,
        mechanism: str,
        source: str,
        /,
        *,
        max_rows: int | None = None,
        delta: Number | None = None,
        **parameters: object,
    ) -> RunAnswer:
        """What a mechanism says, run by its name on a table or a SELECT of rows. The same again is free.

        Its parameters are given here, its price among them; bounds, step and caps are those that are declared. At most
        `max_rows` rows of one person count, by default as declared. `delta` is the mechanism's own where it has one,
        and else where its loss is charged.
        """
        return self._run_answer(NamedRun.of(mechanism, source, parameters, max_rows, delta))

    def offer_run(
        self,
        mechanism: str,
        source: str,
        /,
        *,
        max_rows: int | None = None,
        delta: Number | None = None,
        **parameters: object,
    ) -> RunQuote:
        """What `run` would cost and how far off it may be. Free."""
        return self._run_quote(NamedRun.of(mechanism, source, parameters, max_rows, delta))

    @abstractmethod
    def tables(self) -> list[Table]:
        """The tables that may be asked about, as they were declared."""

    def populations(self) -> list[str]:
        """The names of the populations that have a budget."""
        return sorted(self._budgets())

    def budget(self, population: str) -> Budget[BudgetLoss]:
        """What a population may lose in all and has lost: `.total`, `.spent` and `.left`."""
        budgets = self._budgets()
        if population not in budgets:
            raise Refusal(f"there is no population {population!r}", hint=f"there are {sorted(budgets)}")
        return budgets[population]

    @abstractmethod
    def history(self, *, everybody: bool = False) -> list[PastPayment]:
        """What was asked and paid, the latest first; of everybody for a custodian."""

    @abstractmethod
    def head(self) -> Head:
        """A signed head of the ledger, to be kept."""

    @abstractmethod
    def proof(self, entry: int) -> Receipt:
        """An entry and that it is in the ledger. Check it against a head that you kept: `.faults(pin(head))`."""

    # publishing ------------------------------------------------------------------------------------------------------

    def offer(  # noqa: PLR0913  # the parts of a publication
        self,
        source: str,
        *,
        kind: str,
        columns: Sequence[str] = (),
        epsilon: Number | None = None,
        rho: Number | None = None,
        delta: Number | None = None,
        method: str | None = None,
        bins: Mapping[str, object] | None = None,
        ways: int | None = None,
        tables: Sequence[Sequence[str]] = (),
        max_rows: int | None = None,
        outside: str | None = None,
        name: str = "",
        parts: Mapping[str, object] | None = None,
    ) -> Offered:
        """What `publish` would cost and how exact the release would be. Free."""
        return self._offer(source, _wish(locals()), name)

    def publish(  # noqa: PLR0913  # the parts of a publication
        self,
        source: str,
        *,
        kind: str,
        columns: Sequence[str] = (),
        epsilon: Number | None = None,
        rho: Number | None = None,
        delta: Number | None = None,
        method: str | None = None,
        bins: Mapping[str, object] | None = None,
        ways: int | None = None,
        tables: Sequence[Sequence[str]] = (),
        max_rows: int | None = None,
        outside: str | None = None,
        name: str = "",
        parts: Mapping[str, object] | None = None,
    ) -> PaidRelease:
        """Make a release of a table, or of a SELECT of rows, at its price, unless it was made before.

        `kind` is histogram, ranges, marginals or one that another package brings, whose own parts go into `parts`;
        `discreet.release.Wish` says what each means. `release` and `certified` take the entry of what was made.
        """
        return self._publish(source, _wish(locals()), name)

    @abstractmethod
    def releases(self) -> list[PaidRelease]:
        """The releases that one may read, the latest first."""

    @abstractmethod
    def release(self, entry: int) -> Release:
        """One of them, free: everything that follows from it is too."""

    @abstractmethod
    def certified(self, entry: int, folder: str | Path) -> Certificate:
        """Write one of them into a new folder, with what anybody needs to check it, and check it."""

    # sessions --------------------------------------------------------------------------------------------------------

    @abstractmethod
    def open_session(self, mechanism: Openable[Any, Any, A, Any], *tables: str) -> PaidSession[A]:
        """Pay for a session of an interactive mechanism about these tables; then it is asked question by question.

        The whole price is charged before its secret is drawn; `.ask(sql)` costs nothing more.
        """

    @abstractmethod
    def session(self, entry: int) -> PaidSession[Any]:
        """A session by the number of its payment."""

    @abstractmethod
    def sessions(self) -> list[SessionStatus]:
        """One's own, the latest first: what is used of each, and why it is closed. A custodian sees everybody's."""

    # streams ---------------------------------------------------------------------------------------------------------

    def open_stream(  # noqa: PLR0913  # all that may be declared of a stream
        self,
        name: str,
        *,
        unit: str,
        horizon: int,
        events: int = 1,
        by: Mapping[str, Sequence[str | int | bool]] | None = None,
        bins: Mapping[str, Sequence[Number]] | None = None,
        sums: Mapping[str, tuple[Number, Number]] | None = None,
        steps: Mapping[str, Number] | None = None,
        types: Mapping[str, str] | None = None,
        population: str | None = None,
        epsilon: Number | None = None,
        rho: Number | None = None,
        delta: Number | None = None,
        relation: str = "add-remove",
    ) -> PaidStream:
        """Pay for running counts after each of `horizon` steps; then they are pushed step by step.

        `unit` is the column that says whose row it is, or "row" if each row is protected by itself: a weaker promise.
        Of one unit `events` rows count, over all steps and keys. `by` is a column and the keys that it is counted by,
        `bins` instead a column of numbers and the edges of a histogram, `sums` a column that is summed, and its bounds,
        to `steps`. The price is `epsilon` with or without `delta`, or `rho`; a `population` that is not there yet gets
        it as its whole budget, with this `relation`.
        """
        given = {"by": by, "bins": bins, "sums": sums, "steps": steps, "types": types}
        said: dict[str, Any] = {word: value for word, value in given.items() if value is not None}
        price: dict[str, Any] = {"epsilon": epsilon, "rho": rho, "delta": delta, "relation": relation}
        with in_python():
            return self._opened_stream(name, StreamOrder(unit, horizon, events, population, **said, **price))

    @abstractmethod
    def _opened_stream(self, name: str, order: StreamOrder) -> PaidStream: ...

    @abstractmethod
    def stream(self, name: str) -> PaidStream:
        """A stream by its name."""

    @abstractmethod
    def streams(self) -> list[StreamStatus]:
        """Those that one may look at, the latest first."""

    # how -------------------------------------------------------------------------------------------------------------

    @abstractmethod
    def _answer(self, sql: str, terms: Terms) -> Answer: ...

    @abstractmethod
    def _explanation(self, sql: str, terms: Terms) -> Explanation: ...

    @abstractmethod
    def _columns(self, sql: str, terms: Terms) -> tuple[tuple[str, str], ...]: ...

    @abstractmethod
    def _run_answer(self, order: NamedRun) -> RunAnswer: ...

    @abstractmethod
    def _run_quote(self, order: NamedRun) -> RunQuote: ...

    @abstractmethod
    def _budgets(self) -> dict[str, Budget[BudgetLoss]]: ...

    @abstractmethod
    def _offer(self, source: str, wish: Wish, name: str) -> Offered: ...

    @abstractmethod
    def _publish(self, source: str, wish: Wish, name: str) -> PaidRelease: ...


def _wish(given: Mapping[str, object]) -> Wish:
    """The publication that the arguments of a call ask for."""
    said = {word: value for word, value in given.items() if word not in ("self", "source", "name", "parts")}
    return Wish.read({**said, **cast("Mapping[str, object]", given["parts"] or {})})
