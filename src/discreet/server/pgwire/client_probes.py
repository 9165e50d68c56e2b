"""How tools ask: for columns only, or for tables by the name of their schema. Seen in the words, before any plan."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from discreet.server.pgwire.lexer import Word, words

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
