"""The words of a question as its asker wrote them: read, shown, and put in other words where they break a rule."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.dialects.postgres import Postgres
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from discreet.errors import Ground, Refusal

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
        (tree,) = statements(words)
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


_BEGINNINGS = (TokenType.SELECT, TokenType.WITH, TokenType.VALUES, TokenType.L_PAREN)
_NAMES = (TokenType.VAR, TokenType.IDENTIFIER, TokenType.STRING)
_CASTS = ("cast", "try_cast", "safe_cast")
_OF_WITH = (["materialized", "("], ["not", "materialized"])  # WITH x AS NOT MATERIALIZED (…)


def statements(text: str) -> list[exp.Expr | None]:
    """The statements of a text, in which names may be keywords."""
    dialect = Postgres()
    return list(dialect.parser().parse(labelled(dialect.tokenize(text)), text))


def labelled(tokens: Sequence[Token]) -> list[Token]:
    """The tokens of a question; keywords where only a name can stand are names."""
    made = list(tokens)
    if made and made[0].token_type in _BEGINNINGS:
        for i in _labels(made):
            old = made[i]
            made[i] = Token(TokenType.VAR, old.text, old.line, old.col, old.start, old.end, old.comments)
    return made


def _labels(tokens: Sequence[Token]) -> Iterator[int]:
    """Where a keyword is a name."""
    name = -1  # where the last was found
    casts: list[bool] = []  # for each open parenthesis, whether CAST opened it: there a type follows AS
    for i, token in enumerate(tokens[:-1]):
        kind = token.token_type
        if kind == TokenType.L_PAREN:
            casts.append(i > 0 and tokens[i - 1].text.lower() in _CASTS)
        elif kind == TokenType.R_PAREN and casts:
            casts.pop()
        behind = tokens[i + 1]
        if i == name or behind.token_type in _NAMES or not _WORD.fullmatch(behind.text):
            continue
        following = [other.text.lower() for other in tokens[i + 1 : i + 3]]
        labels = kind == TokenType.ALIAS and not (casts and casts[-1]) and following not in _OF_WITH
        column = kind == TokenType.DOT and i > 0 and tokens[i - 1].token_type in _NAMES and following[1:] != ["("]
        if labels or column:
            name = i + 1
            yield name


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
_ALIKE: dict[type[exp.Expr], str] = {  # other words for the same number; what is between them is told as it was written
    exp.ApproxDistinct: "COUNT(DISTINCT {0})",
}


def alike(node: exp.Expr) -> list[Edit]:
    """Other words for what a function computes, if there are such; never for something else."""
    template = _ALIKE.get(type(node))
    if template is None:
        return []
    words = [shown(part).replace("{", "").replace("}", "") for part in node.iter_expressions()]
    return [Edit(node, template.format(*words))] if template.count("{1}") == 0 or len(words) == 2 else []


COUNTED = Edit(None, "SELECT COUNT(*) FROM ({}) AS t")
