"""Reads a statement word by word."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from discreet.server.errors import SYNTAX, UNSUPPORTED, WireError
from discreet.server.pgwire.commands import Question
from discreet.server.pgwire.lexer import Word


@dataclass
class Reader:
    """Reads a statement word by word."""

    text: str
    words: Sequence[Word]
    at: int = 0

    def peek(self, ahead: int = 0) -> str:
        """The next word in capitals; nothing at the end."""
        index = self.at + ahead
        return self.words[index].upper if index < len(self.words) else ""

    def accept(self, *expected: str) -> bool:
        """Take these words if they come next."""
        if all(self.peek(i) == word for i, word in enumerate(expected)):
            self.at += len(expected)
            return True
        return False

    def expect(self, *expected: str) -> None:
        """Take these words, which must come next."""
        if not self.accept(*expected):
            raise self.error()

    def take(self) -> Word:
        """The next word, whatever it is."""
        if self.at >= len(self.words):
            raise self.error()
        self.at += 1
        return self.words[self.at - 1]

    def name(self) -> str:
        """A name."""
        word = self.take()
        if word.kind not in ("word", "quoted"):
            self.at -= 1
            raise self.error()
        return word.name

    def end(self) -> None:
        """Nothing comes any more."""
        if self.at < len(self.words):
            raise self.error()

    @property
    def over(self) -> bool:
        """Whether nothing is left."""
        return self.at >= len(self.words)

    def question(self, until: int | None = None) -> Question:
        """What is left, up to the word of an index, as a question."""
        listed = self.words[self.at : until]
        if not listed:
            raise self.error()
        if listed[0].upper not in ASKING:
            raise refused(listed[0])
        start, end = listed[0].start, listed[-1].end
        self.at = len(self.words) if until is None else until
        return Question(self.text[start:end], start)

    def error(self) -> WireError:
        """The word that does not fit."""
        if self.over:
            return WireError(SYNTAX, "the statement ends too early", position=self.words[-1].end)
        word = self.words[self.at]
        return WireError(SYNTAX, f"{word.text[:40]!r} does not fit here", position=word.start)


ASKING = ("SELECT", "WITH", "VALUES", "TABLE", "(")
_COMMANDS = frozenset({
    "ALTER", "ANALYZE", "ANALYSE", "CALL", "CHECKPOINT", "CLUSTER", "COMMENT", "CREATE", "DELETE", "DO", "DROP",
    "GRANT", "IMPORT", "INSERT", "LISTEN", "LOAD", "LOCK", "MERGE", "MOVE", "NOTIFY", "REASSIGN", "REFRESH",
    "REINDEX", "REVOKE", "SECURITY", "TRUNCATE", "UPDATE", "VACUUM",
})  # fmt: skip


def refused(word: Word) -> WireError:
    """Why a statement that begins so is none of ours."""
    if word.upper in _COMMANDS:
        return WireError(
            UNSUPPORTED,
            f"only SELECT is answered here, got {word.upper}",
            hint="ask with SELECT … FROM …",
            position=word.start,
        )
    return WireError(SYNTAX, f"{word.text[:40]!r} begins no statement", position=word.start)
