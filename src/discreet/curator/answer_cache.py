"""Answers that were free, as they were spoken: asked again, nothing of them is computed again."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace

from discreet.curator.above_noise import Upper
from discreet.curator.answer import Answer
from discreet.curator.catalogue import Catalogue
from discreet.curator.declarations import Declarations
from discreet.curator.plan_cache import Plans, key_of, weight
from discreet.curator.quote import Terms
from discreet.ledger import Grant, SqliteLedger
from discreet.sql.aggregation import Caps
from discreet.sql.question import Question

MOST = 256
LARGEST = 10_000  # cells of one answer; larger ones are put together anew each time
_LETTERS = 50  # of text that count as a cell
_BYTES = 10  # of a plan that do: it is remembered with its answer


def answer_key(sql: str, asked: Terms, found: Question, answers: Callable[[str], tuple[int, ...] | None]) -> Hashable:
    """What a free answer follows from, beside the declarations: the entries that hold all its parts ever said too."""
    return sql, repr(asked), tuple(answers(part.measurement.question) for part in found.parts)


class Recall:
    """What was spoken under the newest declarations. Keys hold everything else that an answer follows from."""

    def __init__(self) -> None:
        self._state: tuple[Catalogue | None, dict[Hashable, Answer]] = None, {}  # one value: threads need no lock

    def found(self, key: Hashable, known: Catalogue) -> Answer | None:
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
        plans = [self.plans.found(key_of(sql, caps, each), known) for each in schemas]
        plan = next((each for each in plans if each is not None), None)  # who sees more plans the same, if at all
        if plan is None or not isinstance(plan[0], Question):
            return None
        again = self.recall.found(answer_key(sql, asked, plan[0], self.ledger.answers_at_hand), known)
        if again is None or (granted is not None and not plan[1] <= granted):
            return None
        names = {part.measurement.shape.population or "" for part in plan[0].parts}
        left = [books.account(name).budget.left for name in names]
        return replace(again, left=left[0] if left else None)
