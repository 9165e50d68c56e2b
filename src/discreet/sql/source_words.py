"""The words of a question as its asker wrote them: where a part of it stands, and what to call it in a sentence."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sqlglot import exp
from sqlglot.dialects.postgres import Postgres
from sqlglot.errors import SqlglotError

from discreet.sql import aliases

MOST_SHOWN = 80
_LONGEST = 400  # characters of a part that is looked for in the text
_BEFORE, _AFTER = 5, 4  # words around those that are marked: CAST(, EXISTS (SELECT, CASE WHEN; AS INT), END
_WORD = re.compile(r"[^\W\d]\w*")
_KEYWORDS = frozenset(word for word in Postgres.Tokenizer.KEYWORDS if word.isalpha())
_CLAUSES = {"order": "ORDER BY", "group": "GROUP BY", "with_": "WITH"}
_WRITTEN: dict[type[exp.Expr], str] = {
    exp.Except: "EXCEPT", exp.Intersect: "INTERSECT", exp.Lock: "FOR UPDATE", exp.Pivot: "PIVOT",
}  # fmt: skip


def marked(tree: exp.Expr, text: str) -> exp.Expr:
    """The tree, each word of which knows the text it stands in."""
    for node in tree.walk():
        if "start" in node.meta and "end" in node.meta:
            node.meta["text"] = text
    return tree


def span(node: exp.Expr, text: str) -> tuple[int, int] | None:
    """Where the words of a node stand: from the first to the last that is marked, and the parentheses they open."""
    marks = [part.meta for part in node.walk() if "start" in part.meta and "end" in part.meta]
    if not marks:
        return None
    first, last = min(mark["start"] for mark in marks), max(mark["end"] for mark in marks) + 1
    while text[first:last].count("(") > text[first:last].count(")") and last < len(text):
        last += 1
    return first, last


def shown(node: exp.Expr) -> str:
    """The part of the question that is meant, on one line: as it was written, where it still stands there."""
    words = " ".join((_typed(node) or _spelled(node)).split())
    if "#" in words:  # it was taken apart already: these are not the asker's words any more
        return "an expression above the aggregates"
    return words if len(words) <= MOST_SHOWN else words[: MOST_SHOWN - 3] + "…"


def called(node: exp.Expr) -> str:
    """What the asker calls something that is not answered here: a function by the name that they wrote."""
    if isinstance(node, exp.Anonymous):
        return f"the function {node.name}()"
    if type(node) in _WRITTEN:
        return _WRITTEN[type(node)]
    if isinstance(node, exp.Func) and (word := _function(node)) is not None:
        return word
    leading = None if isinstance(node, exp.Binary) else re.match(r"[A-Z][A-Z ]+\b", _spelled(node))
    return leading[0].strip() if leading else shown(node)


def keyword(name: str) -> str:
    """A clause as SQL writes it."""
    return _CLAUSES.get(name, name.upper())


def _function(node: exp.Expr) -> str | None:
    """The word before the parenthesis of a call; None of what is written with an operator."""
    texts = [part.meta["text"] for part in node.walk() if "text" in part.meta]
    place = span(node, texts[0]) if texts else None
    if place is None:
        word = None if isinstance(node, exp.Binary) else _WORD.match(_spelled(node))
        return word[0] if word else None
    text, (first, last) = texts[0], place
    own = re.match(r"(\w+)\s*\(", text[first:])
    if own and (last - first <= len(own[1]) or _closes(text[first:last])):  # the function itself is marked
        return own[1]
    if isinstance(node, exp.Binary):
        return None
    names = [name.lower() for name in node.sql_names()] if isinstance(node, exp.Func) else []
    before = [opened[1] for opened in re.finditer(r"(\w+)\s*[(\[]", text[:first])]
    known = [word for word in before if word.lower() in names]
    return next(iter((known or before)[-1:]), None)


def _closes(words: str) -> bool:
    """Whether the first parenthesis is closed by the last character, and not before."""
    depth = 0
    for place, letter in enumerate(words):
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if letter == ")" and depth == 0:
            return place == len(words) - 1
    return False


def _typed(node: exp.Expr) -> str | None:
    """The words of a node in the text, if reading them gives the node again."""
    texts = [part.meta["text"] for part in node.walk() if "text" in part.meta]
    place = span(node, texts[0]) if texts else None
    if place is None or place[1] - place[0] > _LONGEST:
        return None
    meant = _bare(node)
    return next((words for words in _around(texts[0], *place) if _bare_text(words) == meant), None)


def _around(text: str, first: int, last: int) -> Iterator[str]:
    """The words between two places, then with more and more of those around them."""
    tokens = Postgres().tokenize(text)
    inside = [i for i, token in enumerate(tokens) if first <= token.start < last]
    for more in range(_BEFORE + _AFTER + 1):
        for before in range(max(0, more - _AFTER), min(more, _BEFORE) + 1):
            start, end = inside[0] - before, inside[-1] + more - before
            if start < 0 or end >= len(tokens) or (end + 1 < len(tokens) and tokens[end + 1].text == "("):
                continue
            words = text[tokens[start].start : tokens[end].end + 1]
            if words.count("(") == words.count(")"):  # else it would be read as if it were closed
                yield words


def _bare_text(words: str) -> str | None:
    try:
        (tree,) = aliases.parsed(words)
        return None if tree is None else _bare(marked(tree, words))
    except (SqlglotError, RecursionError, ValueError):  # none, or several
        return None


def _bare(node: exp.Expr) -> str:
    """A node without what nobody wrote, in small letters: what it has in common with its words."""
    return _spelled(node).replace('"', "").lower()


def _spelled(node: exp.Expr) -> str:
    """A node as Postgres writes it, without the names that the planner gave: only who wrote one is to read it."""
    node = node.copy()
    for part in list(node.walk()):
        if isinstance(part, exp.Column) and part.args.get("table") and "start" not in part.args["table"].meta:
            part.set("table", None)
        elif isinstance(part, exp.Alias) and not _given(part.args["alias"]):
            part.replace(part.this) if part is not node else None
            node = part.this if part is node else node
        elif isinstance(part, (exp.Table, exp.Subquery)) and part.args.get("alias"):
            part.set("alias", part.args["alias"] if _given(part.args["alias"].this) else None)
        if isinstance(part, exp.Identifier):
            part.set("quoted", not _WORD.fullmatch(part.name) or part.name.upper() in _KEYWORDS)
    return node.sql(dialect="postgres")


def _given(name: exp.Expr | None) -> bool:
    return name is not None and ("start" in name.meta or "given" in name.meta)
