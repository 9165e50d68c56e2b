"""Refusals that teach: which words of a question broke what, and a question near it that would be answered."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.dialects.postgres import Postgres
from sqlglot.tokenizer_core import TokenType

from discreet.errors import Ground, Refusal
from discreet.sql.source_words import shown, span


@dataclass(frozen=True)
class Edit:
    """Words of a question, and what to write in their place; `{}` stands for the words themselves."""

    node: exp.Expr | None  # None: the whole question
    template: str


GROUPED = "GROUP BY {}"  # a template: the words are added to the groups of the question


class Misasked(Refusal):
    """A refusal that knows which words it is about, and how they could be put instead."""

    def __init__(
        self,
        message: str,
        *,
        hint: str,
        node: exp.Expr | None = None,
        edits: Sequence[Edit] = (),
        ground: Ground | None = None,
    ) -> None:
        super().__init__(message, hint=hint, ground=ground)
        self.node = node
        self.edits = tuple(edits)


def taught(refusal: Misasked, text: str, answerable: Callable[[str], bool]) -> Refusal:
    """The refusal, with the place of its words, and the repaired question if that would be answered."""
    place = None if refusal.node is None else span(refusal.node, text)
    repair = _edited(text, refusal.edits) if refusal.edits else None
    if repair is not None and (repair.split() == text.split() or not answerable(repair)):
        repair = None
    return Refusal(refusal.message, hint=refusal.hint, place=place, repair=repair, ground=refusal.ground)


def _edited(text: str, edits: Sequence[Edit]) -> str | None:
    text = text.strip().rstrip(";").rstrip()
    places: dict[tuple[int, int], str] = {}
    for edit in edits:
        if edit.template == GROUPED:
            return None if edit.node is None else _grouped(text, shown(edit.node))
        place = (0, len(text)) if edit.node is None else span(edit.node, text)
        if place is None:
            return None
        places[place] = edit.template
    for (first, last), template in sorted(places.items(), reverse=True):
        text = text[:first] + template.replace("{}", text[first:last]) + text[last:]
    return text


def _grouped(text: str, words: str) -> str | None:
    """The question with one more group: before what comes after GROUP BY, outside all parentheses."""
    depth, place, grouped = 0, len(text), False
    for token in Postgres().tokenize(text):
        depth += {"(": 1, ")": -1}.get(token.text, 0)
        if depth == 0 and token.token_type in _TOGETHER:
            return None  # which of several it is cannot be told
        grouped = grouped or (depth == 0 and token.token_type is TokenType.GROUP_BY)
        if depth == 0 and token.token_type in _LATER:
            place = token.start
            break
    head, tail = text[:place].rstrip(), text[place:]
    return f"{head}{', ' if grouped else ' GROUP BY '}{words} {tail}".rstrip()


_TOGETHER = (TokenType.UNION, TokenType.EXCEPT, TokenType.INTERSECT)
_LATER = (TokenType.HAVING, TokenType.ORDER_BY, TokenType.LIMIT, TokenType.OFFSET, TokenType.FETCH, TokenType.WINDOW)
_ONE, _TWO = "({0}) FILTER (WHERE ({1}) IS NOT NULL)", "({1}) FILTER (WHERE ({0}) IS NOT NULL)"  # of whole pairs
_COVARIANCE = f"AVG(({{0}}) * ({{1}})) - AVG{_ONE} * AVG{_TWO}"
_ALIKE: dict[type[exp.Expr], str] = {  # other words for the same number; what is between them is told as it was written
    exp.ApproxDistinct: "COUNT(DISTINCT {0})",
    exp.Corr: f"({_COVARIANCE}) / NULLIF(STDDEV_POP{_ONE} * STDDEV_POP{_TWO}, 0)",
    exp.CovarPop: _COVARIANCE,
}


def alike(node: exp.Expr) -> list[Edit]:
    """Other words for what a function computes, if there are such; never for something else."""
    template = _ALIKE.get(type(node))
    if template is None:
        return []
    words = [shown(part).replace("{", "").replace("}", "") for part in node.iter_expressions()]
    return [Edit(node, template.format(*words))] if template.count("{1}") == 0 or len(words) == 2 else []


COUNTED = Edit(None, "SELECT COUNT(*) FROM ({}) AS t")
