"""Synonyms: what people write in more than one way, put in the words that the planner knows.

They are other spellings, and no new meanings: a question and its rewriting have the same answer, row by row, but for
the last digit of LOG, a quotient of two logarithms. Nothing is written twice that the question wrote once, but for
short constants, so that what is nested does not grow.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Callable

from sqlglot import exp

from discreet.errors import Ground, Refusal, Unsupported
from discreet.sql import clause_synonyms
from discreet.sql.pair_aggregates import CALLED
from discreet.sql.text_pattern import LONGEST, check_pattern
from discreet.sql.tree_rewriting import constant, unwrapped
from discreet.sql.wording import shown

_FORMATS = re.compile(r"""%-?[YmdHIMSjbBaApy]|"[^"%]*"|[^A-Za-z%"]+""")
_NAMES = {"Mon": "%b", "%uy": "%a"}
_SHORT = re.compile(r""""[^"]*"|Mon(?!th)|%uy""")
_HOW = "a format has YYYY, MM or Mon, DD or Dy, HH24, MI and SS, and other letters in double quotes"
_PARTS = {
    exp.Year: "YEAR", exp.Quarter: "QUARTER", exp.Month: "MONTH", exp.Week: "WEEK", exp.Day: "DAY",
    exp.DayOfMonth: "DAY", exp.DayOfWeek: "DOW", exp.DayOfYear: "DOY", exp.Hour: "HOUR", exp.Minute: "MINUTE",
}  # fmt: skip


def spelled_out(tree: exp.Query) -> exp.Query:
    """The question in these words; the tree that is given changes."""
    for node in reversed(list(tree.walk())):  # from the leaves on
        made = _rewritten(node)
        if made is not None:
            name = node.name.lower() if isinstance(node, exp.Anonymous) else _name(node)
            if name:
                made.meta.setdefault(CALLED, name)
            if node is tree:
                assert isinstance(made, exp.Query)  # noqa: S101  # only a SELECT becomes another
                tree = made
            else:
                node.replace(made)
    return tree


def _rewritten(node: exp.Expr) -> exp.Expr | None:
    """What is put in the place of a node; None where it stays, perhaps changed."""
    if isinstance(node, exp.Anonymous):
        called = _FUNCTIONS.get(node.name.lower())
        return None if called is None else called(node)
    if (
        any(node.args.get(name) for name in ("all", "qualify"))
        or isinstance(node, exp.Values)
        or _stands_for_rows(node)
    ):
        return clause_synonyms.rewritten(node)
    rule = _NODES.get(type(node))
    return None if rule is None else rule(node)


def _stands_for_rows(node: exp.Expr) -> bool:
    """Whether it is a call, or a join in parentheses, where a table is expected."""
    inside = node.this if isinstance(node, (exp.Table, exp.From)) else None
    return isinstance(inside, exp.Func) or (isinstance(inside, exp.Subquery) and isinstance(inside.this, exp.Table))


def _name(node: exp.Expr) -> str:
    """What Postgres calls a column that is this; a cast keeps the name of what it casts."""
    return (
        node.sql_name().lower() if isinstance(node, exp.Func) and not isinstance(node, (exp.Cast, exp.Binary)) else ""
    )


def _text(node: exp.Expr | None) -> str | None:
    """A constant text, also as drivers write it: 'north'::VARCHAR."""
    while isinstance(node, (exp.Paren, exp.Cast)) and (isinstance(node, exp.Paren) or node.is_type("text", "varchar")):
        node = node.this
    return node.name if isinstance(node, exp.Literal) and node.is_string else None


def _arguments(node: exp.Anonymous, wanted: int) -> list[exp.Expr]:
    given = [each.copy() for each in node.expressions]
    if len(given) != wanted:
        raise Refusal(f"{shown(node)}: {node.name} takes {wanted} arguments here, got {len(given)}")
    return given


def _paren(node: exp.Expr) -> exp.Expr:
    return exp.Paren(this=node.copy())


def _double(number: float) -> exp.Expr:
    """With an exponent, so that an engine takes it for no decimal number."""
    return exp.Literal.number(f"{number!r}e0")


def _times(factor: float) -> Callable[[exp.Expr], exp.Expr]:
    return lambda node: exp.Paren(this=exp.Mul(this=_paren(node.this), expression=_double(factor)))


def _logarithm(node: exp.Expr) -> exp.Expr:
    """LOG(x), to the base of ten as Postgres has it; LOG(b, x) of a constant base."""
    base, value = (node.this, node.expression) if node.expression is not None else (exp.Literal.number(10), node.this)
    bottom = unwrapped(base)
    if not isinstance(bottom, exp.Literal) or bottom.is_string or not 0 < float(bottom.name) != 1:
        raise Unsupported(f"{shown(node)} is not supported", hint="the base is a constant above 0, and not 1")
    return exp.Paren(this=exp.Div(this=exp.Ln(this=value.copy()), expression=exp.Ln(this=bottom.copy())))


def _joined(node: exp.Expr) -> exp.Expr:
    """CONCAT, in which what is NULL is nothing."""
    texts: list[exp.Expr] = [
        exp.Coalesce(this=exp.cast(each.copy(), "text"), expressions=[exp.Literal.string("")])
        for each in node.expressions
    ]
    made = texts[0]
    for each in texts[1:]:
        made = exp.DPipe(this=made, expression=each)
    return exp.Paren(this=made)


def _part_of(part: str) -> Callable[[exp.Expr], exp.Expr]:
    return lambda node: exp.Extract(this=exp.Var(this=part), expression=node.this.copy())


def _formatted(node: exp.Expr, form: str | None = None) -> exp.Expr:
    """to_char(day, 'YYYY-MM'): of dates and moments alone."""
    form = form or _text(node.args.get("format"))
    if form is None or len(form) > LONGEST:
        raise Unsupported(f"{shown(node)}: the format is not a constant", hint="write it as in 'YYYY-MM'")
    if "".join(_FORMATS.findall(form)) != form or "%S%S" in form:  # SSSS are the seconds of a day
        raise Unsupported(f"the format {form!r} is not supported", hint=_HOW)
    return exp.TimeToStr(this=node.this.copy(), format=exp.Literal.string(form.replace('"', "")))


def _shown_as(node: exp.Expr) -> exp.Expr:
    """to_char, of whose Mon and Dy the parser makes other things."""
    form = _text(node.args.get("format"))
    return _formatted(node, form and _SHORT.sub(lambda found: _NAMES.get(found[0], found[0]), form))


def _named(form: str) -> Callable[[exp.Expr], exp.Expr]:
    return lambda node: _formatted(node, form)


def _matched(node: exp.Expr) -> None:
    """text ~ 'pattern'."""
    check_pattern(_text(node.expression), shown(node))


def _similar(node: exp.Expr) -> exp.Expr:
    """text SIMILAR TO 'pattern': all of the text."""
    wanted = _text(node.expression)
    if wanted is None or any(sign in wanted for sign in ".^$\\") or ("[" in wanted and any(s in wanted for s in "%_")):
        raise Unsupported(f"{shown(node)} is not supported", hint="text ~ 'pattern' is, with a constant pattern")
    pattern = f"^(?:{wanted.replace('%', '.*').replace('_', '.')})$"
    check_pattern(pattern, shown(node))
    return exp.RegexpLike(this=node.this.copy(), expression=exp.Literal.string(pattern))


def _listed(node: exp.Expr) -> list[exp.Expr] | None:
    """The constants of ARRAY[…], in any number of parentheses."""
    array = unwrapped(node)
    return [each.copy() for each in array.expressions] if isinstance(array, exp.Array) and array.expressions else None


def _any(node: exp.Expr) -> exp.Expr | None:
    """x = ANY (ARRAY[…]), x <> ALL (ARRAY[…])."""
    right = node.expression
    if isinstance(node, exp.EQ) and isinstance(right, exp.Any):
        listed = _listed(right.this)
        return None if listed is None else exp.In(this=node.this.copy(), expressions=listed)
    if isinstance(right, exp.Anonymous) and right.name.lower() == "all" and len(right.expressions) == 1:
        listed = _listed(right.expressions[0])
    elif isinstance(right, exp.All):
        listed = _listed(right.this)
    else:
        return None
    if listed is None or not isinstance(node, exp.NEQ):
        return None
    return exp.Not(this=exp.In(this=node.this.copy(), expressions=listed))


def _if(node: exp.Expr) -> exp.Expr | None:
    """IF(condition, one, other), where it is not a branch of CASE."""
    if isinstance(node.parent, exp.Case) or node.args.get("false") is None:
        return None
    return _chosen(node.this, node.args["true"], node.args["false"])


def _chosen(condition: exp.Expr, one: exp.Expr, other: exp.Expr) -> exp.Expr:
    return exp.Case(ifs=[exp.If(this=condition.copy(), true=one.copy())], default=other.copy())


def _counted(node: exp.Expr) -> exp.Expr:
    """COUNT_IF(condition)."""
    rows = exp.Count(this=exp.Star(), big_int=True)
    return exp.Filter(this=rows, expression=exp.Where(this=node.this.copy()))


def _percentile(kind: type[exp.Expr], value: exp.Expr, share: exp.Expr) -> exp.Expr:
    ordered = exp.Order(expressions=[exp.Ordered(this=value.copy(), nulls_first=False)])
    return exp.WithinGroup(this=kind(this=share.copy()), expression=ordered)


def _quantile(kind: type[exp.Expr]) -> Callable[[exp.Expr], exp.Expr]:
    return lambda node: _percentile(kind, node.this, node.args["quantile"])


def _later(sign: type[exp.Expr]) -> Callable[[exp.Expr], exp.Expr | None]:
    """DATE_ADD(day, INTERVAL …) and DATE_SUB."""

    def moved(node: exp.Expr) -> exp.Expr | None:
        if not isinstance(node.expression, exp.Interval):
            return None
        return exp.Paren(this=sign(this=_paren(node.this), expression=node.expression.copy()))

    return moved


def _last_day(node: exp.Expr) -> exp.Expr:
    """LAST_DAY(day): that of its month."""
    first = exp.TimestampTrunc(this=node.this.copy(), unit=exp.Var(this="MONTH"))
    month = exp.Interval(this=exp.Literal.string("1"), unit=exp.Var(this="MONTH"))
    next_one = exp.cast(exp.Paren(this=exp.Add(this=first, expression=month)), "date")
    return exp.Paren(this=exp.Sub(this=next_one, expression=exp.Literal.number(1)))


def _days_between(node: exp.Expr) -> exp.Expr:
    """DATEDIFF('day', one, other), whose parser has its arguments in places of their own."""
    unit, first, last = node.this, node.expression, node.args.get("unit")
    if _text(unit) not in ("day", "days") or last is None:
        raise Unsupported(f"{shown(node)} is not supported", hint="days are counted by later - earlier")
    last = exp.column(last.name) if isinstance(last, exp.Var) else last
    return exp.Paren(this=exp.Sub(this=exp.cast(last.copy(), "date"), expression=exp.cast(first.copy(), "date")))


def _date(node: exp.Expr) -> exp.Expr:
    return exp.cast(node.this.copy(), "date")


def _made_date(node: exp.Anonymous) -> exp.Expr:
    """make_date of constants."""
    numbers = [constant(each) for each in _arguments(node, 3)]
    if any(number is None for number in numbers):
        raise Unsupported(f"{shown(node)} is not supported", hint="write a date as DATE '2026-01-31'")
    try:
        day = dt.date(*(number or 0 for number in numbers))
    except ValueError:
        raise Refusal(f"{shown(node)} is no date", hint="write it as DATE '2026-01-31'", ground=Ground.VALUE) from None
    return exp.cast(exp.Literal.string(day.isoformat()), "date")


def _rounded(node: exp.Expr) -> exp.Expr | None:
    """x::numeric(10, 2), which rounds."""
    kind = node.args["to"]
    digits = [constant(part.this) for part in kind.expressions if isinstance(part, exp.DataTypeParam)]
    if kind.this != exp.DataType.Type.DECIMAL or not digits or None in digits:
        return None
    whole = exp.Cast(this=node.this.copy(), to=exp.DataType(this=exp.DataType.Type.DECIMAL))
    made = exp.Round(this=whole, decimals=exp.Literal.number(digits[1] if len(digits) > 1 and digits[1] else 0))
    if isinstance(node.this, exp.Column):
        made.meta[CALLED] = node.this.name
    return made


def _read_by(node: exp.Anonymous) -> exp.Expr:
    """strptime(text, '%Y-%m-%d')."""
    text, form = _arguments(node, 2)
    return exp.StrToTime(this=text, format=form)


def _started(node: exp.Expr) -> exp.Expr:
    """starts_with(text, 'start')."""
    start = _text(node.expression)
    if start is None or len(start) > LONGEST:
        raise Unsupported(f"{shown(node)} is not supported", hint=f"the start is a text of at most {LONGEST} letters")
    left = exp.Left(this=node.this.copy(), expression=exp.Literal.number(len(start)))
    return exp.Paren(this=exp.EQ(this=left, expression=exp.Literal.string(start)))


def _contained(node: exp.Expr) -> exp.Expr:
    """contains(text, 'part')."""
    found = exp.StrPosition(this=node.this.copy(), substr=node.expression.copy())
    return exp.Paren(this=exp.GT(this=found, expression=exp.Literal.number(0)))


def _formatted_by(node: exp.Anonymous) -> exp.Expr:
    """strftime(day, '%Y-%m')."""
    day, form = _arguments(node, 2)
    return _formatted(exp.TimeToStr(this=day, format=form))


def _pattern_in(node: exp.Anonymous) -> exp.Expr:
    text, pattern = _arguments(node, 2)
    made = exp.RegexpLike(this=text, expression=pattern)
    _matched(made)
    return made


def _quantile_by(kind: type[exp.Expr]) -> Callable[[exp.Anonymous], exp.Expr]:
    return lambda node: _percentile(kind, *_arguments(node, 2))


_NODES: dict[type[exp.Expr], Callable[..., exp.Expr | None]] = {
    **{kind: _part_of(part) for kind, part in _PARTS.items()},
    exp.Log: _logarithm,
    exp.Pi: lambda _: _double(math.pi),
    exp.Radians: _times(math.pi / 180),
    exp.Degrees: _times(180 / math.pi),
    exp.Concat: _joined,
    exp.TimeToStr: _shown_as,
    exp.Dayname: _named("%A"),
    exp.Monthname: _named("%B"),
    exp.RegexpLike: _matched,
    exp.RegexpILike: _matched,
    exp.SimilarTo: _similar,
    exp.StartsWith: _started,
    exp.Contains: _contained,
    exp.EQ: _any,
    exp.NEQ: _any,
    exp.If: _if,
    exp.CountIf: _counted,
    exp.ApproxDistinct: lambda node: exp.Count(this=exp.Distinct(expressions=[node.this.copy()]), big_int=True),
    exp.ApproxQuantile: _quantile(exp.PercentileCont),
    exp.Quantile: _quantile(exp.PercentileCont),
    exp.DateAdd: _later(exp.Add),
    exp.DateSub: _later(exp.Sub),
    exp.DateDiff: _days_between,
    exp.LastDay: _last_day,
    exp.Date: _date,
    exp.Cast: _rounded,
}
_FUNCTIONS: dict[str, Callable[[exp.Anonymous], exp.Expr | None]] = {
    "var": lambda node: exp.Variance(this=_arguments(node, 1)[0]),
    "every": lambda node: exp.LogicalAnd(this=_arguments(node, 1)[0]),
    "iff": lambda node: _chosen(*_arguments(node, 3)),
    "make_date": _made_date,
    "quantile_cont": _quantile_by(exp.PercentileCont),
    "quantile_disc": _quantile_by(exp.PercentileDisc),
    "regexp_matches": _pattern_in,
    "strftime": _formatted_by,
    "strptime": _read_by,
}
