"""How SQL rounds: to how many digits, and which way."""

from __future__ import annotations

from sqlglot import exp

from discreet.curator.formula import Formula, Rounded, Untraced

_MOST_DIGITS = 30


def rounding(node: exp.Round | exp.Floor | exp.Ceil, inner: Formula) -> Formula:
    """A number rounded by a function."""
    digits = node.args.get("decimals")
    if node.args.get("to") is not None or (digits is not None and not _whole(digits)):
        raise Untraced
    way = {exp.Floor: "down", exp.Ceil: "up"}.get(type(node), "near")
    return Rounded(inner, 0 if digits is None else _number(digits), way)


def cast(kind: exp.DataType, inner: Formula) -> Formula:
    """A number as one of another type."""
    if kind.is_type(exp.DataType.Type.DOUBLE):
        return inner
    if kind.is_type(*exp.DataType.INTEGER_TYPES):
        return Rounded(inner, 0)
    if kind.is_type(exp.DataType.Type.DECIMAL):
        sizes = [int(size.name) for size in kind.expressions]
        return Rounded(inner, 3 if not sizes else [*sizes, 0][1])  # DuckDB's DECIMAL is DECIMAL(18, 3)
    raise Untraced


def _whole(node: exp.Expr) -> bool:
    literal = node.this if isinstance(node, exp.Neg) else node
    return isinstance(literal, exp.Literal) and literal.is_int and abs(int(literal.this)) <= _MOST_DIGITS


def _number(node: exp.Expr) -> int:
    return -int(node.this.this) if isinstance(node, exp.Neg) else int(node.this)
