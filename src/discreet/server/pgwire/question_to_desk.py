"""Questions on their way from the wire to the desk, with parameters and settings; and what is to be sent back.

Everything here may block, so the wire calls it in a thread.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, Context, Decimal
from functools import lru_cache
from itertools import pairwise, zip_longest
from typing import Protocol, TypeVar

from sqlglot import exp

from discreet.curator import Answer
from discreet.curator.explain import said
from discreet.desk import Desk, Visitor
from discreet.errors import Refusal
from discreet.lru_cache import LruCache
from discreet.server.errors import WireError, wire_error
from discreet.server.journal import CATALOGUE, QUESTION
from discreet.server.pgwire import types
from discreet.server.pgwire.binding import Bound, bound, count
from discreet.server.pgwire.frames import WireField
from discreet.server.pgwire.lexer import SHORT, Word, words
from discreet.server.pgwire.parameter_types import examples, inferred
from discreet.server.pgwire.session_state import Notice, Outcome, Rows
from discreet.server.pgwire.settings import Settings
from discreet.server.pgwire.statement_kinds import Query
from discreet.server.pgwire.types import Value, field, oid_of
from discreet.sql.parse import label, outermost, read

T = TypeVar("T")
_AT_ONCE = 1_000  # cells of an answer that is put together while everybody else waits
Labels = tuple[str | None, ...]  # what Postgres calls each column without a name; None for one that has a name
_LABELS: LruCache[str, Labels] = LruCache(512)  # of the columns of texts that were asked lately


class CatalogueSource(Protocol):
    """Answers what clients ask about tables and types, from public facts. Free."""

    def remembered(self, sql: str) -> bool | None:
        """Whether a question is about the catalogue only, if that is known at once; None else."""
        ...

    def handles(self, visitor: Visitor, sql: str) -> bool:
        """Whether a question is about the catalogue only."""
        ...

    def described(self, visitor: Visitor, sql: str) -> tuple[Sequence[int], Sequence[tuple[str, int]]]:
        """The types of a question's parameters, and its columns with theirs."""
        ...

    def answer(
        self, visitor: Visitor, sql: str, values: Sequence[object] = ()
    ) -> tuple[Sequence[tuple[str, int]], Rows]:
        """Columns with the numbers of their types, and rows."""
        ...


@dataclass(frozen=True)
class Questions:
    """Takes one visitor's questions to the desk, or to the catalogue."""

    desk: Desk
    catalogue: CatalogueSource
    visitor: Visitor

    def parameters(self, question: Query, given: Sequence[int]) -> tuple[int, ...]:
        """The types of a question's parameters."""
        many = count(question)
        if not many or (many <= len(given) and all(given)):
            return tuple(given)
        if self.catalogue.handles(self.visitor, question.text):
            known, _ = self.catalogue.described(self.visitor, question.text)
            wanted = [*given, *[0] * (many - len(given))]
            return tuple(own or told for own, told in zip_longest(wanted, known[: len(wanted)], fillvalue=types.TEXT))
        tables = tuple(self.desk.tables(self.visitor))
        return self._bounded(inferred, question, tuple(given), many, tables)

    def _bounded(self, function: Callable[..., T], *given: object) -> T:
        """The value of a call on what the visitor wrote, where its memory and time are bounded."""
        return self.desk.sandbox.call(self.visitor.name, function, *given)

    def columns(self, question: Query, settings: Settings, oids: Sequence[int] = ()) -> tuple[WireField, ...]:
        """The columns of an answer, whatever its parameters are. Free."""
        known = examples(question)
        samples = [known.get(i + 1) or _sample(oid, i + 1) for i, oid in enumerate(oids)]
        return self.described(question, settings, samples, oids)

    def described(
        self, question: Query, settings: Settings, values: Sequence[Value], oids: Sequence[int]
    ) -> tuple[WireField, ...]:
        """The columns of an answer. Free."""
        if self.catalogue.handles(self.visitor, question.text):
            return tuple(field(name, oid) for name, oid in self.catalogue.described(self.visitor, question.text)[1])
        asked = self._bound(question, values, oids)
        try:
            return self._fields(asked.text, settings)
        except Refusal as refused:
            raise placed(refused, question, asked) from None

    def _fields(self, text: str, settings: Settings) -> tuple[WireField, ...]:
        columns = self.desk.described(self.visitor, text, settings.terms)
        names = self._renamed(text, [name for name, _ in columns])
        fields = [field(name, oid_of(kind)) for name, (_, kind) in zip(names, columns, strict=True)]
        if not settings.on("discreet.intervals"):
            return tuple(fields)
        noisy = self._noisy(text, settings, [name for name, _ in columns])
        return tuple(one for i, own in enumerate(fields) for one in (own, *(_ends(own) if i in noisy else ())))

    def _renamed(self, text: str, names: Sequence[str]) -> list[str]:
        """The names of columns as Postgres gives them."""
        known = _LABELS.get(text)
        if known is None:
            known = self._bounded(labels, text)
        if len(text) <= SHORT:
            _LABELS.put(text, known)
        return renamed(known, names)

    def _noisy(self, text: str, settings: Settings, names: Sequence[str]) -> set[int]:
        """Which columns have error bars, from the plan: so it is known before anything is paid."""
        barred = {name for name, _ in self.desk.explained(self.visitor, text, settings.terms).error}
        return {i for i, name in enumerate(names) if name in barred}

    def kind(self, question: Query) -> str:
        """What a question is about, for the journal."""
        return CATALOGUE if self.catalogue.handles(self.visitor, question.text) else QUESTION

    def at_hand(self, question: Query, settings: Settings) -> Outcome | None:
        """The answer to a question without parameters, if it is free and remembered; None if it has to be asked.

        Nothing blocks here, and nothing is made of the text but the words that are looked for in it.
        """
        text = question.text
        ours = len(text) <= SHORT and "$" not in text and self.catalogue.remembered(text) is False
        if not ours or settings.on("discreet.intervals") or empty(text):
            return None
        text = unqualified(text)
        known = _LABELS.get(text)
        try:
            answer = None if known is None else self.desk.at_hand(self.visitor, text, settings.terms)
        except Refusal:  # it is told where it belongs in the text
            return None
        if known is None or answer is None or len(answer.rows) * len(answer.columns) > _AT_ONCE:
            return None
        return _outcome(answer, renamed(known, answer.columns), settings, set())

    def answered(
        self, question: Query, settings: Settings, values: Sequence[Value] = (), oids: Sequence[int] = ()
    ) -> Outcome:
        """The answer to a question, at its price."""
        if self.catalogue.handles(self.visitor, question.text):
            return self._looked_up(question, values)
        asked = self._bound(question, values, oids)
        try:
            if empty(asked.text):
                return Outcome("SELECT", self._fields(asked.text, settings))
            noisy = set[int]()
            if settings.on("discreet.intervals"):  # before it is paid: a refusal comes here
                plain = [name for name, _ in self.desk.described(self.visitor, asked.text, settings.terms)]
                noisy = self._noisy(asked.text, settings, plain)
            answer = self.desk.asked(self.visitor, asked.text, settings.terms)
        except Refusal as refused:
            raise placed(refused, question, asked) from None
        return _outcome(answer, self._renamed(asked.text, answer.columns), settings, noisy)

    def explained(self, question: Query, settings: Settings, values: Sequence[Value], oids: Sequence[int]) -> Outcome:
        """Price and error of a question, line by line. Free."""
        asked = self._bound(question, values, oids)
        try:
            explanation = self.desk.explained(self.visitor, asked.text, settings.terms)
        except Refusal as refused:
            raise placed(refused, question, asked) from None
        return Outcome(
            "EXPLAIN", (field("QUERY PLAN", types.TEXT),), [(line,) for line in str(explanation).splitlines()]
        )

    def _bound(self, question: Query, values: Sequence[Value], oids: Sequence[int]) -> Bound:
        _check(question, values)
        made = bound(question, values, oids) if "$" in question.text else Bound(question.text)
        return replace(made, text=unqualified(made.text))

    def _looked_up(self, question: Query, values: Sequence[Value]) -> Outcome:
        _check(question, values)
        columns, rows = self.catalogue.answer(self.visitor, question.text, values)
        return Outcome("SELECT", tuple(field(name, oid) for name, oid in columns), rows)


def _check(question: Query, values: Sequence[Value]) -> None:
    if "$" in question.text and (many := count(question)) > len(values):
        raise WireError("42P02", f"there is no parameter ${many}", position=question.start)


def placed(refused: Refusal, question: Query, asked: Bound) -> WireError:
    """A refusal, about the place in the text that the client sent."""
    told = wire_error(refused)
    return told.at(None if told.position is None else question.start + asked.origin(told.position))


def _outcome(answer: Answer, names: Sequence[str], settings: Settings, noisy: set[int]) -> Outcome:
    fields = [field(name, oid_of(kind)) for name, kind in zip(names, answer.types, strict=True)]
    rows: Rows = answer.rows
    if noisy:
        spans = answer.intervals(settings.value("discreet.confidence"))
        fields = [one for i, own in enumerate(fields) for one in (own, *(_ends(own) if i in noisy else ()))]
        rows = [
            [cell for i, own in enumerate(row) for cell in (own, *((span[i] or (None, None)) if i in noisy else ()))]
            for row, span in zip(answer.rows, spans, strict=True)
        ]
    ended = "free" if answer.cost is None else "answered"
    notices = _told(answer, settings.terms, list(names))
    return Outcome("SELECT", tuple(fields), rows, notices, ended=ended, entry=answer.entry)


def _ends(own: WireField) -> tuple[WireField, WireField]:
    return field(f"{own.name}_low", types.FLOAT8), field(f"{own.name}_high", types.FLOAT8)


_words = lru_cache(maxsize=256)(said)  # what is left stays the same while nobody pays


def _told(answer: Answer, terms: Mapping[str, object], names: list[str]) -> tuple[Notice, ...]:
    """What in it is hardly meant, what it cost and what is left; in detail how far off its numbers may be, and why."""
    doubts = tuple(Notice(sentence) for sentence in answer.notices)
    if answer.left is None:
        return doubts
    detail = "\n".join([*bars_told(answer, names), answer.bounding])
    if answer.cost is None:
        return *doubts, Notice(f"free: this was answered before; left {_words(answer.left)}", detail)
    named = any(word in terms for word in ("epsilon", "rho", "error"))
    price = (
        f"price {said(answer.cost)}" if named else f"no price was named, so the default was paid: {said(answer.cost)}"
    )
    return *doubts, Notice(f"{price}; left {said(answer.left)}", detail)


def _sample(oid: int, number: int) -> Value:
    """A value of a type, to see what columns a question has; each parameter has another, so that ranges are ranges."""
    if oid in types.ARRAYS:
        return [_sample(types.ARRAYS[oid], number)]
    if oid in types.WHOLE:
        return number
    if oid in types.FLOATING:
        return number / 1024  # between 0 and 1, as a share must be
    return _SAMPLES.get(oid, "a")


_SAMPLES: dict[int, Value] = {
    types.BOOL: True,
    types.NUMERIC: Decimal("0.5"),
    types.DATE: dt.date(2000, 1, 1),
    types.TIMESTAMP: dt.datetime(2000, 1, 1),  # noqa: DTZ001
    types.TIMESTAMPTZ: dt.datetime(2000, 1, 1),  # noqa: DTZ001
}


_NEVER = (["1", "=", "0"], ["0", "=", "1"], ["1", "=", "2"], ["FALSE"])
_HINTS = re.compile(r"\b0\b|\b2\b|\bfalse\b", re.IGNORECASE)
_CLAUSES = ("FROM", "JOIN", ",")


def empty(text: str) -> bool:
    """Whether a question asks for columns and no row: it ends in LIMIT 0, or in a condition that nothing fulfils."""
    if not _HINTS.search(text):  # most questions ask for rows, and words take time
        return False
    outer = list(_outer(words(text)))
    said = [word.upper or word.text for word in outer]
    if said[-2:] == ["LIMIT", "0"]:
        return True
    never = any(said[-len(condition) - 1 :] == ["WHERE", *condition] for condition in _NEVER)
    if not never or said[0] != "SELECT" or "FROM" not in said or {"UNION", "EXCEPT", "INTERSECT"} & set(said):
        return False
    # An aggregate over no rows is a row, so only names and stars may be selected.
    return all(
        word.kind in ("word", "quoted") or word.text in ("*", ".", ",") for word in outer[1 : said.index("FROM")]
    )


def _outer(listed: Sequence[Word]) -> Iterator[Word]:
    """The words that stand in no parentheses, and those parentheses."""
    depth = 0
    for word in listed:
        depth -= word.text == ")"
        if depth == 0:
            yield word
        depth += word.text == "("


def unqualified(text: str) -> str:
    """The question with blanks in the place of `public.`, so that every other word stays where it is."""
    if "public" not in text.lower():
        return text
    listed = words(text)
    for index, (schema, dot) in enumerate(pairwise(listed)):
        alone = index == 0 or listed[index - 1].text != "."
        if alone and dot.text == "." and schema.name == "public" and _names_a_table(listed, index):
            text = text[: schema.start] + " " * (dot.end - schema.start) + text[dot.end :]
    return text


def _names_a_table(listed: Sequence[Word], index: int) -> bool:
    """Whether a table follows the dot: in FROM it does, elsewhere if yet another dot comes behind its name."""
    if listed[index].kind not in ("word", "quoted") or index + 2 >= len(listed):
        return False
    before = listed[index - 1].upper if index else ""
    behind = listed[index + 3].text if index + 3 < len(listed) else ""
    return behind == "." or before in _CLAUSES or (before == "(" and _in_from(listed, index))


def _in_from(listed: Sequence[Word], index: int) -> bool:
    return index > 1 and listed[index - 2].upper in _CLAUSES


_MOST = 12  # columns of which something is said
_UP = Context(prec=3, rounding=ROUND_CEILING)


def bars_told(answer: Answer, names: list[str]) -> tuple[str, ...]:
    """A line for each column that has noise in it: how far off it may be, or that nobody can say."""
    lines = []
    for i, name in enumerate(names):
        spans = [row[i] for row in answer.spans]
        cells = [row[i] for row in answer.rows]
        if any(span is not None for span in spans):
            errors = [_reach(cell, span) for cell, span in zip(cells, spans, strict=True) if span is not None]
            some = "" if None not in spans else "; some rows have no error bar"
            lines.append(f"{name} ± {_short(max(errors))}{' or less' if len(set(errors)) > 1 else ''}{some}")
        elif answer.noisy and answer.noisy[i] and cells:
            lines.append(f"{name}: no error bar")
    if not lines:
        return ()
    more = [f"and {len(lines) - _MOST} columns more"] if len(lines) > _MOST else []
    return (f"error bars at {100 * float(answer.confidence):g} % confidence:", *lines[:_MOST], *more)


def _reach(cell: object, span: tuple[float, float]) -> float:
    """How far an interval reaches from the number that is shown."""
    value = float(str(cell))
    return max(value - span[0], span[1] - value)


def _short(error: float) -> str:
    """Three digits, rounded up; a whole number stays what it is."""
    if error == math.floor(error) and error < 10**15:
        return f"{error:.0f}"
    return f"{_UP.create_decimal(Decimal(error)):f}"


# the names of columns as Postgres gives them: those without a name are called alike if they are alike ----------------


def labels(text: str) -> Labels:
    """What Postgres calls each column without a name; None for one that has a name."""
    try:
        tree = outermost(read(text))
    except Refusal:
        return ()
    columns = tree.expressions if isinstance(tree, exp.Select) else []
    if any(column.is_star for column in columns):
        return ()
    return tuple(
        None if isinstance(column, (exp.Alias, exp.Column)) else label(column) or "?column?" for column in columns
    )


def renamed(by_text: Labels, names: Sequence[str]) -> list[str]:
    """The names of an answer's columns, with those of Postgres for columns that the text does not name."""
    if len(by_text) != len(names):
        return list(names)
    return [own if theirs is None else theirs for own, theirs in zip(names, by_text, strict=True)]
