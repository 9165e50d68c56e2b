"""A question's words: which of them is meant, what they demand, and which queries are inside them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from sqlglot import exp
from sqlglot.dialects.postgres import Postgres

MOST_SHOWN = 80
_WORD = re.compile(r"[^\W\d]\w*")
_KEYWORDS = frozenset(word for word in Postgres.Tokenizer.KEYWORDS if word.isalpha())


def shown(node: exp.Expr) -> str:
    """The part of the question that is meant, on one line, as the asker wrote its names."""
    node = node.copy()
    for part in list(node.walk()):
        if isinstance(part, exp.Column) and part.args.get("table") and "start" not in part.args["table"].meta:
            part.set("table", None)  # nobody wrote it
        if isinstance(part, exp.Identifier):
            part.set("quoted", not _WORD.fullmatch(part.name) or part.name.upper() in _KEYWORDS)
    text = re.sub(r" AS _col_\d+|_col_\d+", "", node.sql(dialect="postgres"))
    if "#" in text:  # it was taken apart already: these are not the asker's words any more
        return "an expression above the aggregates"
    return text if len(text) <= MOST_SHOWN else text[: MOST_SHOWN - 3] + "…"


def unwrapped(node: exp.Expr) -> exp.Expr:
    """Without the parentheses around it."""
    while isinstance(node, exp.Paren):
        node = node.this
    return node


def conjuncts(node: exp.Expr | None) -> Iterator[exp.Expr]:
    """The conditions that must all hold; what every branch of an OR demands is one of them too."""
    if node is None:
        return
    node = unwrapped(node)
    if isinstance(node, exp.And):
        yield from conjuncts(node.left)
        yield from conjuncts(node.right)
        return
    if isinstance(node, exp.Or):
        branches = [{part.sql(): part for part in conjuncts(branch)} for branch in _branches(node)]
        yield from (part for text, part in branches[0].items() if all(text in other for other in branches[1:]))
    yield node


def _branches(node: exp.Expr) -> Iterator[exp.Expr]:
    node = unwrapped(node)
    if isinstance(node, exp.Or):
        yield from _branches(node.left)
        yield from _branches(node.right)
    else:
        yield node


def tables_of(node: exp.Expr) -> set[str]:
    """The names before the dot of every column in it."""
    return {column.table for column in node.find_all(exp.Column)}


def within(node: exp.Expr, test: Callable[[exp.Expr], bool]) -> bool:
    """Whether a part of a node passes, without looking into queries."""
    if isinstance(node, (exp.Subquery, exp.Select)):
        return False
    return test(node) or any(within(child, test) for child in node.iter_expressions())


def inner_queries(node: exp.Expr) -> list[exp.Query]:
    """The outermost queries inside an expression."""
    if isinstance(node, exp.Query):
        inner = node.unnest() if isinstance(node, exp.Subquery) else node
        return [inner] if isinstance(inner, exp.Query) else []
    return [query for child in node.iter_expressions() for query in inner_queries(child)]


def speaking_of(query: exp.Query, aliases: frozenset[str]) -> list[exp.Expr]:
    """The conditions of a query that speak of sources outside it."""
    where = query.args.get("where")
    return [part for part in conjuncts(where.this if where else None) if tables_of(part) & aliases]


def pruned(tree: exp.Query) -> None:
    """Take out queries of WITH that nothing reads any more."""
    for with_ in list(tree.find_all(exp.With)):
        for cte in reversed(list(with_.expressions)):
            if not any(table.name == cte.alias_or_name for table in tree.find_all(exp.Table)):
                cte.pop()
        if not with_.expressions:
            with_.pop()
