"""Binding of parameters: they become literals of their question's text, each one a word of its own, whatever it holds.

Text is quoted by Postgres' rule, and afterwards the parser that reads questions must see exactly this literal in this
place; else the question is refused. So no value can end a literal early and go on as SQL.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from sqlglot.dialects.postgres import Postgres
from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType

from discreet.server.errors import BAD_INPUT, SYNTAX, UNSUPPORTED, WireError
from discreet.server.pgwire.frames import MOST_PARAMETERS
from discreet.server.pgwire.lexer import Word, words
from discreet.server.pgwire.statement_kinds import Query
from discreet.server.pgwire.types import ARRAYS, DATE, KINDS, TEXTS, TIMESTAMP, Value

LONGEST = 200_000  # characters of a question with its parameters


@dataclass(frozen=True)
class Replacement:
    """From which to before which character of a text something else stands now."""

    start: int
    end: int
    text: str
    texts: tuple[str, ...] = ()  # the values in it that are text, and must be read back


@dataclass(frozen=True)
class Bound:
    """A question with its parameters in it, and how it came about."""

    text: str
    edits: tuple[Replacement, ...] = ()

    def origin(self, place: int) -> int:
        """Where in the question's own words a place of this text is."""
        shift = 0
        for edit in self.edits:
            start = edit.start + shift
            if place < start:
                break
            if place < start + len(edit.text):
                return edit.start
            shift += len(edit.text) - (edit.end - edit.start)
        return place - shift


def count(question: Query) -> int:
    """How many parameters a question has: the highest number that it names."""
    if "$" not in question.text:
        return 0
    numbers = [_number(word, question) for word in words(question.text) if word.kind == "param"]
    return max(numbers, default=0)


def _number(word: Word, question: Query) -> int:
    number = int(word.text[1:]) if len(word.text) < 8 else 0
    if not 1 <= number <= MOST_PARAMETERS:
        position = question.start + word.start
        raise WireError("42P02", f"parameters are numbered from $1 to ${MOST_PARAMETERS}", position=position)
    return number


def bound(question: Query, values: Sequence[Value], oids: Sequence[int]) -> Bound:
    """The question with its parameters as literals."""
    if "$" not in question.text:
        return Bound(question.text)
    listed = words(question.text)
    edits = []
    for index, word in enumerate(listed):
        if word.kind == "param":
            number = _number(word, question)
            edits.append(_edit(listed, index, values[number - 1], oids[number - 1]))
    if not edits:
        return Bound(question.text)
    pieces, at = [], 0
    for edit in edits:
        pieces += [question.text[at : edit.start], edit.text]
        at = edit.end
    made = Bound("".join([*pieces, question.text[at:]]), tuple(edits))
    if len(made.text) > LONGEST:
        raise WireError("54000", f"a question with its parameters has at most {LONGEST} characters")
    _verify(made)
    return made


def _edit(listed: Sequence[Word], index: int, value: Value, oid: int) -> Replacement:
    word = listed[index]
    if isinstance(value, list):
        return _choices(listed, index, value, oid)
    return Replacement(word.start, word.end, literal(value, oid), _texts([value]))


def _choices(listed: Sequence[Word], index: int, values: list[Value], oid: int) -> Replacement:
    """x = ANY ($1) as x IN (…)."""
    before, after = listed[max(0, index - 3) : index], listed[index + 1 :]
    closing = next((word for word in after if word.text == ")"), None)
    cast = [word.text for word in after[: after.index(closing)]] if closing else []
    if [word.upper for word in before] not in (["=", "ANY", "("], ["=", "SOME", "("]) or (cast and cast[0] != "::"):
        raise WireError(
            UNSUPPORTED,
            f"{listed[index].text} is a list of values, which is used as = ANY ($1) only",
            hint="or name each value: IN ($1, $2)",
        )
    items = ", ".join(literal(item, ARRAYS[oid]) for item in values) or "NULL"
    return Replacement(before[0].start, closing.end if closing else listed[index].end, f"IN ({items})", _texts(values))


def _texts(values: Sequence[Value]) -> tuple[str, ...]:
    return tuple(value for value in values if isinstance(value, str))


def literal(value: Value, oid: int = 0) -> str:  # noqa: PLR0911  # one for each type
    """A value as SQL writes it."""
    match value:
        case None:
            kind = KINDS.get(oid)
            return "NULL" if kind is None or oid in TEXTS else f"CAST(NULL AS {kind.name})"
        case bool():
            return "TRUE" if value else "FALSE"
        case int():
            return f"({value})" if value < 0 else str(value)
        case float() | Decimal():
            return _real(value)
        case dt.datetime():
            return f"CAST('{value.isoformat(sep=' ')}' AS {KINDS[TIMESTAMP].name})"
        case dt.date():
            return f"CAST('{value.isoformat()}' AS {KINDS[DATE].name})"
        case _:
            return quoted(str(value))


def _real(value: float | Decimal) -> str:
    if not math.isfinite(value):
        return f"CAST('{value}' AS double precision)"
    text = repr(value) if isinstance(value, float) else f"{value:f}"
    if len(text) > 800:
        raise WireError(BAD_INPUT, f"a parameter is a number of {len(text)} letters; 800 are the most")
    return f"({text})" if text.startswith("-") else text


def quoted(text: str) -> str:
    """Text as a literal: quotes are doubled, and a backslash is a backslash."""
    return "'" + text.replace("'", "''") + "'"


def _verify(made: Bound) -> None:
    """Refuse unless the parser of questions reads every literal as it was meant, in its place."""
    tokens = _tokens(made.text)
    starts = {token.start: index for index, token in enumerate(tokens)}
    shift = 0
    for edit in made.edits:
        start = edit.start + shift
        shift += len(edit.text) - (edit.end - edit.start)
        alone = _tokens(edit.text)
        first = starts.get(start, len(tokens))
        here = tokens[first : first + len(alone)]
        texts = [token.text for token in alone if token.token_type == TokenType.STRING]
        same = [(t.token_type, t.text, t.start + start, t.end + start) for t in alone] == [
            (t.token_type, t.text, t.start, t.end) for t in here
        ]
        if not same or not set(edit.texts) <= set(texts) or len(edit.texts) > len(texts):
            raise WireError(UNSUPPORTED, "a parameter cannot stand here", hint="write the value into the question")


def _tokens(text: str) -> list[Token]:
    try:
        return list(Postgres().tokenize(text))
    except TokenError:
        raise WireError(SYNTAX, "this is not SQL: it could not be read") from None
