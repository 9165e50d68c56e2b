"""A question's conditions and queries: what they demand, and what is inside them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sqlglot import exp


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


def pruned(tree: exp.Query) -> None:
    """Take out queries of WITH that nothing reads any more."""
    for with_ in list(tree.find_all(exp.With)):
        for cte in reversed(list(with_.expressions)):
            if not any(table.name == cte.alias_or_name for table in tree.find_all(exp.Table)):
                cte.pop()
        if not with_.expressions:
            with_.pop()


def swapped(clause: exp.Expr, swap: Callable[[exp.Expr], exp.Expr]) -> None:
    """Apply `swap` from the outside in; what it replaced is not looked into again."""
    for child in list(clause.iter_expressions()):
        new = swap(child)
        if new is child:
            if not isinstance(child, exp.Query):  # what a query inside says is its own affair
                swapped(child, swap)
        else:
            child.replace(new)
