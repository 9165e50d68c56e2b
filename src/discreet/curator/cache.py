"""Bounded caches of what is public or was spoken: plans by their text, and answers that were free."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar, cast

from discreet.curator.answer import Answer
from discreet.curator.catalogue import Catalogue
from discreet.curator.declarations import Declarations
from discreet.curator.postprocessing import Upper
from discreet.curator.quote import Terms
from discreet.declared.table import Caps
from discreet.ledger import Grant, SqliteLedger
from discreet.sql.plan import Question

T = TypeVar("T")
Allow = Callable[[set[str]], None]  # refuses tables that the asker may not read

MOST = 256
BYTES = 16 << 20  # of all of them as they are sent; here they take several times as many
HEAVIEST = 1 << 20  # of one: it is made anew each time rather than in the place of many

LARGEST = 10_000  # cells of one answer; larger ones are put together anew each time
_LETTERS = 50  # of text that count as a cell
_BYTES = 10  # of a plan that do: it is remembered with its answer


def key_of(sql: str, caps: Caps, granted: frozenset[str] | None, scalars: Sequence[object] = ()) -> Hashable:
    """What the plan of a question follows from, beside the declarations; scalars are what came before it said.

    Tables that are not granted are not there for the asker, so what may be asked about belongs to it as well.
    """
    return sql, caps, granted, tuple(map(repr, scalars))


def weight(made: object) -> int:
    """Bytes of something that was planned, as it is sent: a short text may ask for a plan of any size."""
    return len(pickle.dumps(made, pickle.HIGHEST_PROTOCOL))


@dataclass(frozen=True)
class _Kept:
    """What was made, which tables it reads, and how much it weighs."""

    made: object
    tables: frozenset[str]
    weight: int


class Plans:
    """What was planned under the newest declarations. Whether the asker may read its tables is asked every time."""

    def __init__(self) -> None:
        self._state: tuple[Catalogue | None, dict[Hashable, _Kept]] = None, {}

    def get(self, key: Hashable, known: Catalogue) -> tuple[object, frozenset[str]] | None:
        """What was made of this key, and which tables it reads; None if nothing was, or under other declarations."""
        declared, plans = self._state
        kept = plans.get(key) if declared is known else None
        return None if kept is None else (kept.made, kept.tables)

    def recalled(self, key: Hashable, known: Catalogue, plan: Callable[[Allow], T], allow: Allow) -> T:
        """What `plan` made of this key, now or earlier. It says which tables it reads; a refusal is not kept."""
        declared, plans = self._state
        if declared is not known:  # public tables are read while a plan is made, and their versions are declared
            plans = {}
            self._state = known, plans
        kept = plans.get(key)
        if kept is not None:
            allow(set(kept.tables))
            return cast("T", kept.made)
        read: set[str] = set()

        def noted(tables: set[str]) -> None:
            allow(tables)
            read.update(tables)

        made = plan(noted)
        new = _Kept(made, frozenset(read), weight((key, made)))
        if new.weight > HEAVIEST:
            return made
        while plans and (len(plans) >= MOST or new.weight + sum(each.weight for each in list(plans.values())) > BYTES):
            plans.pop(next(iter(plans)), None)
        plans[key] = new
        return made


def answer_key(
    sql: str, asked: Terms, question: Question, answers: Callable[[str], tuple[int, ...] | None]
) -> Hashable:
    """What a free answer follows from, beside the declarations: the entries that hold all its parts ever said too."""
    return sql, repr(asked), tuple(answers(part.measurement.question) for part in question.parts)


class Recall:
    """What was spoken under the newest declarations. Keys hold everything else that an answer follows from."""

    def __init__(self) -> None:
        self._state: tuple[Catalogue | None, dict[Hashable, Answer]] = None, {}  # one value: threads need no lock

    def get(self, key: Hashable, known: Catalogue) -> Answer | None:
        """What was answered; None if nothing was, or under other declarations."""
        declared, answers = self._state
        return answers.get(key) if declared is known else None

    def keep(self, key: Hashable, known: Catalogue, answer: Answer, made_of: tuple[int, Upper]) -> None:
        """Remember an answer, and so what it was made of: the cells of noisy tables, and what was computed on them."""
        cells, upper = made_of
        declared, answers = self._state
        if declared is not known:
            answers = {}
            self._state = known, answers
        letters = sum(len(cell) for row in answer.rows for cell in row if isinstance(cell, str))
        cells += len(answer.rows) * len(answer.columns) + letters // _LETTERS
        if cells > LARGEST or cells + weight(upper) // _BYTES > LARGEST:
            return
        while len(answers) >= MOST:
            answers.pop(next(iter(answers)), None)
        answers[key] = answer


@dataclass(frozen=True)
class AtHand:
    """What a curator can say at once. Nothing is planned or read here, and no other thread or process waited for."""

    declarations: Declarations
    ledger: SqliteLedger
    plans: Plans
    recall: Recall

    def grant(self, principal: str) -> Grant | None:
        """What a person may do now; None if they may nothing, or if it has to be looked up."""
        books = self.ledger.still()
        return None if books is None else books.grants.get(principal)

    def answer(self, principal: str, sql: str, asked: Terms) -> Answer | None:
        """What a person would be answered, for nothing; None if it has to be asked."""
        known, books = self.declarations.still(), self.ledger.still()
        grant = None if books is None else books.grants.get(principal)
        if known is None or books is None or grant is None:
            return None
        granted = None if grant.tables is None else frozenset(grant.tables)
        caps, schemas = Caps(asked.max_rows, asked.max_groups), dict.fromkeys([granted, None])
        plans = [self.plans.get(key_of(sql, caps, each), known) for each in schemas]
        plan = next((each for each in plans if each is not None), None)  # who sees more plans the same, if at all
        if plan is None or not isinstance(plan[0], Question):
            return None
        again = self.recall.get(answer_key(sql, asked, plan[0], self.ledger.answers_at_hand), known)
        if again is None or (granted is not None and not plan[1] <= granted):
            return None
        names = {part.measurement.shape.population or "" for part in plan[0].parts}
        left = [books.account(name).budget.left for name in names]
        return replace(again, left=left[0] if left else None)
