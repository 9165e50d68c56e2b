"""Whole numbers divided by whole numbers: as in Postgres, the digits after the point are cut off."""

from __future__ import annotations

from sqlglot import exp

_WHOLE = "whole"


def marked_whole(tree: exp.Expr) -> None:
    """Mark every division of whole numbers, as long as the types are known: what it divides is replaced later."""
    for node in tree.find_all(exp.Div):
        if all(side.is_type(*exp.DataType.INTEGER_TYPES) for side in (node.left, node.right)):
            node.meta[_WHOLE] = True


def is_whole(node: exp.Div) -> bool:
    """Whether a division is one of whole numbers."""
    return bool(node.meta.get(_WHOLE))


def written_out(tree: exp.Expr) -> None:
    """Write divisions of whole numbers so that an engine that knows other ones does them, and none fails."""
    for node in list(tree.find_all(exp.Div)):
        if is_whole(node):
            below = exp.Nullif(this=_cast(node.right), expression=exp.Literal.number(0))
            node.replace(exp.Paren(this=exp.IntDiv(this=_cast(node.left), expression=below)))


def _cast(node: exp.Expr) -> exp.Expr:
    return exp.TryCast(this=node.unnest(), to=exp.DataType.build("bigint"))
