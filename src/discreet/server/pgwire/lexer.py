"""Lexer of SQL: words as Postgres cuts them, with their places, to split a text and to find statements and parameters.

The tree of a question comes from elsewhere. sqlglot's tokenizer tells no place of a quotation that is not closed, takes
what follows PREPARE or FETCH for one text, and braces for its templates: it cannot split what clients send.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from discreet.server.errors import SYNTAX, WireError

LONGEST = 100_000  # characters; a question has fewer, a client's look into the catalogue may have more
SHORT = 2_000  # what is remembered of texts is remembered of short ones only, so that it stays little
_WORD = r"[A-Za-z_\u0080-\U0010ffff][A-Za-z0-9_$\u0080-\U0010ffff]*"
_SHOWN = 40  # letters of a text that is not closed, or not expected
_TOKEN = re.compile(
    rf"""
      (?P<space>   \s+ | --[^\n\r]* )
    | (?P<comment> /\* )
    | (?P<escaped> [eE]'(?:[^'\\]|\\.|'')*' )
    | (?P<string>  (?:[uU]&|[bBxXnN])?'(?:[^']|'')*' )
    | (?P<quoted>  (?:[uU]&)?"(?:[^"]|"")*" )
    | (?P<dollar>  \$(?P<tag>(?:{_WORD.replace("$", "")})?)\$ )
    | (?P<param>   \$[0-9]+ )
    | (?P<word>    {_WORD} )
    | (?P<number>  (?:[0-9][0-9_]*(?:\.[0-9_]*)?|\.[0-9][0-9_]*)(?:[eE][+-]?[0-9]+)? )
    | (?P<symbol>  ::|<=|>=|<>|!=|\|\||. )
    """,
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True)
class Word:
    """A piece of SQL: its kind, its text, and from which to before which character it stands."""

    kind: str  # word, quoted, string, number, param, symbol
    text: str
    start: int
    end: int

    @property
    def upper(self) -> str:
        """For keywords: its text in capitals; a quoted name is no keyword."""
        return self.text.upper() if self.kind in ("word", "symbol") else ""

    @property
    def name(self) -> str:
        """For names and settings: what is meant by it."""
        if self.kind == "quoted":
            return self.text.strip('"').replace('""', '"')
        if self.kind == "string":
            return self.text[self.text.index("'") + 1 : -1].replace("''", "'")
        return self.text.lower() if self.kind == "word" else self.text


def words(text: str) -> tuple[Word, ...]:
    """The words of a text, without spaces and comments."""
    return _recent(text) if len(text) <= SHORT else _cut(text)


def _cut(text: str) -> tuple[Word, ...]:
    if len(text) > LONGEST:
        raise WireError("54000", f"a text of SQL has at most {LONGEST} characters")
    pieces: list[Word] = []
    at = 0
    while at < len(text):
        piece = _TOKEN.match(text, at)
        kind = "" if piece is None else piece.lastgroup or ""
        if piece is None or (text[at] in "'\"" and kind == "symbol"):
            raise WireError(SYNTAX, f"a quotation is not closed: {_from(text, at)}", position=at)
        end = piece.end()
        if kind == "comment":
            end = _after_comment(text, at)
        elif piece["dollar"] is not None:
            close = text.find(piece["dollar"], end)
            if close < 0:
                raise WireError(SYNTAX, f"a quotation is not closed: {_from(text, at)}", position=at)
            end = close + len(piece["dollar"])
            kind = "dollar"
        if kind not in ("space", "comment"):
            pieces.append(Word(kind, text[at:end], at, end))
        at = end
    return tuple(pieces)


_recent = lru_cache(maxsize=512)(_cut)


def _from(text: str, start: int) -> str:
    """The beginning of what is not closed."""
    return " ".join(text[start : start + _SHOWN].split())


def _after_comment(text: str, start: int) -> int:
    """The end of a comment; comments nest."""
    depth, at = 0, start
    for mark in re.compile(r"/\*|\*/").finditer(text, start):
        depth += 1 if mark[0] == "/*" else -1
        at = mark.end()
        if depth == 0:
            return at
    raise WireError(SYNTAX, f"a comment is not closed: {_from(text, start)}", position=start)


def split(text: str) -> list[list[Word]]:
    """The words of each statement. Empty ones are left out."""
    statements: list[list[Word]] = [[]]
    for word in words(text):
        if word.text == ";":
            statements.append([])
        else:
            statements[-1].append(word)
    return [listed for listed in statements if listed]


def matching(listed: Sequence[Word], opening: int) -> int:
    """The index of the parenthesis that closes the one at an index."""
    depth = 0
    for index in range(opening, len(listed)):
        depth += {"(": 1, ")": -1}.get(listed[index].text, 0)
        if depth == 0:
            return index
    rest = " ".join(word.text for word in listed[opening:])[:_SHOWN]
    raise WireError(SYNTAX, f"a parenthesis is not closed: {rest}", position=listed[opening].start)


@dataclass
class WordReader:
    """Words of one statement, taken from the front one by one."""

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

    def rest(self) -> str:
        """The beginning of what is left, to be shown."""
        return " ".join(word.text for word in self.words[self.at :])[:_SHOWN] or "nothing"

    def end(self) -> None:
        """Nothing comes any more."""
        if self.at < len(self.words):
            raise self.error()

    @property
    def over(self) -> bool:
        """Whether nothing is left."""
        return self.at >= len(self.words)

    def error(self) -> WireError:
        """The word that does not fit."""
        if self.over:
            return WireError(SYNTAX, "the statement ends too early", position=self.words[-1].end)
        word = self.words[self.at]
        return WireError(SYNTAX, f"{word.text[:40]!r} does not fit here", position=word.start)
