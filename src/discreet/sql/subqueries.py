"""Questions inside a condition: each is answered first, and gives one number."""

from __future__ import annotations

from fractions import Fraction

from sqlglot import exp

from discreet.sql.aggregates import is_aggregate
from discreet.sql.conditions import within
from discreet.sql.question import Part


def aggregates(select: exp.Select) -> bool:
    """Whether a SELECT aggregates its rows."""
    clauses = [*select.expressions, *([select.args["having"]] if select.args.get("having") else [])]
    return any(within(clause, is_aggregate) for clause in clauses)


def is_one_row(tree: exp.Query, parts: list[Part]) -> bool:
    """Whether an answer has one row whatever the data: it reads one noisy table without groups, or aggregates one."""
    from_ = tree.args.get("from_")
    if not isinstance(tree, exp.Select) or from_ is None or tree.args.get("joins") or tree.args.get("group"):
        return False
    if any(tree.args.get(name) for name in ("where", "having", "limit", "offset", "distinct")):
        return False
    single = {part.name for part in parts if not part.measurement.keys}
    return aggregates(tree) or (isinstance(from_.this, exp.Table) and _reads_one(from_.this.name, tree, single))


def _reads_one(name: str, tree: exp.Query, single: set[str]) -> bool:
    """Whether a name is a noisy table of one row, or a query of WITH that reads nothing else."""
    if name in single:
        return True
    named = {cte.alias_or_name: cte.this for cte in tree.find_all(exp.CTE)}
    inner = named.get(name)
    if not isinstance(inner, exp.Select) or any(inner.args.get(c) for c in ("joins", "group", "where", "limit")):
        return False
    from_ = inner.args.get("from_")
    return from_ is not None and isinstance(from_.this, exp.Table) and from_.this.name in single


def number(value: object, kind: exp.DataType, stage: int) -> exp.Expr:
    """The answer to what was asked first, as a question would write it, marked with its place."""
    written = _written(value, whole=kind.is_type(*exp.DataType.INTEGER_TYPES))
    literal = exp.Literal(this=written or "0", is_string=False)
    literal.meta["stage"] = stage
    literal.meta["missing"] = written is None
    return literal


def _written(value: object, *, whole: bool) -> str | None:
    """A number in digits; None of what is no number: NULL, NaN, an infinity."""
    try:
        exactly = Fraction(str(value))
        return str(int(exactly)) if whole else repr(float(exactly))
    except (ValueError, OverflowError):
        return None
