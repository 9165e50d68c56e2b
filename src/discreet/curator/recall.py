"""Answers that were free, as they were spoken: asked again, nothing of them is computed again."""

from __future__ import annotations

from collections.abc import Hashable

from discreet.curator.answer import Answer
from discreet.curator.catalogue import Catalogue

MOST = 256
LARGEST = 10_000  # cells of one answer; larger ones are put together anew each time


class Recall:
    """What was spoken under the newest declarations. Keys hold everything else that an answer follows from."""

    def __init__(self) -> None:
        self._state: tuple[Catalogue | None, dict[Hashable, Answer]] = None, {}  # one value: threads need no lock

    def found(self, key: Hashable, known: Catalogue) -> Answer | None:
        """What was answered; None if nothing was, or under other declarations."""
        declared, answers = self._state
        return answers.get(key) if declared is known else None

    def keep(self, key: Hashable, known: Catalogue, answer: Answer, cells: int) -> None:
        """Remember an answer, and so the cells of the noisy tables that it was made of."""
        declared, answers = self._state
        if declared is not known:
            answers = {}
            self._state = known, answers
        if cells + len(answer.rows) * len(answer.columns) > LARGEST:
            return
        while len(answers) >= MOST:
            answers.pop(next(iter(answers)), None)
        answers[key] = answer
