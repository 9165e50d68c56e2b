"""Refusals that teach: which words of a question broke what, and a question near it that would be answered."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlglot import exp

from discreet.errors import Ground, Refusal


@dataclass(frozen=True)
class Edit:
    """Words of a question, and what to write in their place; `{}` stands for the words themselves."""

    node: exp.Expr | None  # None: the whole question
    template: str


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


def span(node: exp.Expr, text: str) -> tuple[int, int] | None:
    """Where the words of a node stand: from the first to the last that is marked, and the parentheses they open."""
    marks = [part.meta for part in node.walk() if "start" in part.meta and "end" in part.meta]
    if not marks:
        return None
    first, last = min(mark["start"] for mark in marks), max(mark["end"] for mark in marks) + 1
    while text[first:last].count("(") > text[first:last].count(")") and last < len(text):
        last += 1
    return first, last


def _edited(text: str, edits: Sequence[Edit]) -> str | None:
    text = text.strip().rstrip(";").rstrip()
    places: dict[tuple[int, int], str] = {}
    for edit in edits:
        place = (0, len(text)) if edit.node is None else span(edit.node, text)
        if place is None:
            return None
        places[place] = edit.template
    for (first, last), template in sorted(places.items(), reverse=True):
        text = text[:first] + template.replace("{}", text[first:last]) + text[last:]
    return text


COUNTED = Edit(None, "SELECT COUNT(*) FROM ({}) AS t")
