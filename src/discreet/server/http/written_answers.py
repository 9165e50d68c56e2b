"""Answers as they were written: one that is remembered is written once, and only what is left is put in anew."""

from __future__ import annotations

from discreet.curator import Answer
from discreet.server.http import json_values

MOST = 256
LARGEST = 1 << 16  # bytes of one text; longer ones are written anew each time, where they keep nobody waiting


class Texts:
    """The newest texts of free answers. Not for several threads: an event loop owns it."""

    def __init__(self) -> None:
        self._kept: dict[
            int, tuple[_Written, json_values.Text]
        ] = {}  # by the place of their rows, which stay while kept

    def found(self, answer: Answer) -> bytes | None:
        """The text of an answer, if one with the same rows was written; None if not."""
        kept = self._kept.get(id(answer.rows))
        return kept[1].told(answer) if kept is not None and kept[0] == _written(answer) else None

    def keep(self, answer: Answer, text: json_values.Text) -> None:
        """Remember the text of an answer that was free."""
        if answer.cost is not None or len(text.before) + len(text.after) > LARGEST:
            return
        while len(self._kept) >= MOST:
            del self._kept[next(iter(self._kept))]
        self._kept[id(answer.rows)] = _written(answer), text


_Written = tuple[object, ...]


def _written(answer: Answer) -> _Written:
    """What a text follows from, beside what is left. Not the answer itself: it holds all that it was made of."""
    cells = answer.rows, answer.spans, answer.columns, answer.types, answer.noisy
    return *cells, answer.cost, answer.entry, answer.bounding, answer.notices, answer.confidence
