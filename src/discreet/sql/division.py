"""Arithmetic above the noise: whole numbers divide as in Postgres, and no number that noise made fails or is infinite.

By then the answer is paid for. So a quotient by 0, and a whole number that does not fit into 64 bits, is NULL.
"""

from __future__ import annotations

from sqlglot import exp

from discreet.sql.date_arithmetic import is_moment

_WHOLE = "whole"
_GROWING = (exp.Add, exp.Sub, exp.Mul)


def marked_whole(tree: exp.Expr) -> None:
    """Mark the arithmetic of whole numbers as long as the types are known: what it combines is replaced later."""
    for node in tree.find_all(exp.Div, *_GROWING):
        whole = all(side.is_type(*exp.DataType.INTEGER_TYPES) for side in (node.left, node.right))
        whole = whole and not is_moment(node)  # so many hours are taken for a whole number
        if whole and (isinstance(node, exp.Div) or node.find(exp.Column, exp.AggFunc) is not None):
            node.meta[_WHOLE] = True


def is_whole(node: exp.Expr) -> bool:
    """Whether a node combines whole numbers."""
    return bool(node.meta.get(_WHOLE))


def written_out(tree: exp.Expr) -> None:
    """Write arithmetic so that an engine that knows other quotients does it, and none fails."""
    for node in list(tree.find_all(exp.Div, exp.Mod, *_GROWING)):
        if isinstance(node, exp.Div) and is_whole(node):
            below = _unless_zero(_cast(node.right, "bigint"))
            node.replace(exp.Paren(this=exp.IntDiv(this=_cast(node.left, "bigint"), expression=below)))
        elif isinstance(node, (exp.Div, exp.Mod)):
            node.set("expression", _unless_zero(node.right))
        elif is_whole(node):
            node.replace(_cast(type(node)(this=_cast(node.left, "hugeint"), expression=_cast(node.right, "hugeint"))))


def _unless_zero(node: exp.Expr) -> exp.Expr:
    inner = _bare(node)
    if isinstance(inner, exp.Nullif) or (isinstance(inner, exp.Literal) and float(inner.this)):
        return node
    return exp.Nullif(this=inner, expression=exp.Literal.number(0))


def _cast(node: exp.Expr, kind: str = "bigint") -> exp.Expr:
    return exp.TryCast(this=_bare(node), to=exp.DataType.build(kind))


def _bare(node: exp.Expr) -> exp.Expr:
    """A node without parentheses around it; those of a query are its own."""
    return _bare(node.this) if isinstance(node, exp.Paren) else node
