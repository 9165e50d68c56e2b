"""From text to a qualified, typed tree of allowed nodes. Whatever else SQL can say is refused here, by name."""

from __future__ import annotations

import logging
import re
from functools import lru_cache

from sqlglot import exp
from sqlglot.dialects.postgres import Postgres
from sqlglot.errors import OptimizeError, ParseError, TokenError
from sqlglot.optimizer.annotate_types import TypeAnnotator, annotate_types
from sqlglot.optimizer.qualify import qualify
from sqlglot.schema import MappingSchema

from discreet import exact
from discreet.declared.table import RESERVED, Schema, fold
from discreet.errors import Ground, Refusal, Unsupported
from discreet.sql import arithmetic
from discreet.sql.declared_names import spelled
from discreet.sql.pair_aggregates import CALLED, PAIRED, written_out
from discreet.sql.postgres_input_forms import plain
from discreet.sql.synonyms import spelled_out
from discreet.sql.wording import Misasked, alike, called, keyword, marked, shown, statements

logging.getLogger("sqlglot").setLevel(logging.CRITICAL)  # it would print what people ask

LONGEST = 20_000  # characters of a question
DEEPEST = 60  # levels of nesting
MOST_NAMED = 50  # queries of WITH
TIMES = frozenset(
    {"year", "quarter", "month", "week", "day", "hour", "minute", "second", "dow", "isodow", "doy", "epoch"}
)

# Every node class that a question may hold, above or below the noise. Below it, `translate` is stricter.
ALLOWED: frozenset[type[exp.Expr]] = frozenset({
    exp.Select, exp.From, exp.Where, exp.Group, exp.Having, exp.Order, exp.Ordered, exp.Limit, exp.Offset, exp.Distinct,
    exp.With, exp.CTE, exp.Subquery, exp.Table, exp.TableAlias, exp.Alias, exp.Column, exp.Identifier, exp.Star,
    exp.Join, exp.Union, exp.Literal, exp.Boolean, exp.Null, exp.Paren, exp.Neg, exp.Not, exp.And, exp.Or,
    exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Is, exp.In,
    exp.Between, exp.Like, exp.Case, exp.If, exp.Cast, exp.DataType, exp.Var,
    exp.Count, exp.Sum, exp.Avg, exp.Min, exp.Max,
    exp.Variance, exp.VariancePop, exp.Stddev, exp.StddevPop, exp.StddevSamp,
    exp.Median, exp.PercentileCont, exp.PercentileDisc, exp.WithinGroup,
    exp.Abs, exp.Floor, exp.Ceil, exp.Round, exp.Sqrt, exp.Exp, exp.Ln,
    exp.Least, exp.Greatest, exp.Coalesce, exp.Nullif,
    exp.Lower, exp.Upper, exp.Length, exp.Substring, exp.Extract, exp.TimestampTrunc, exp.DateTrunc,
    exp.Window, exp.WindowSpec, exp.RowNumber, exp.Rank, exp.DenseRank, exp.Lag, exp.Lead,
    exp.FirstValue, exp.LastValue, exp.Exists, exp.Filter, exp.Rollup, exp.Cube, exp.GroupingSets, exp.Grouping,
    exp.Tuple, exp.WidthBucket, exp.LogicalOr, exp.LogicalAnd, exp.Interval, exp.Trim, exp.Pow, exp.DPipe, exp.ILike,
    exp.NullSafeEQ, exp.NullSafeNEQ, exp.StrPosition, exp.Left, exp.Fetch, exp.LimitOptions,
    exp.StrToTime, exp.StrToDate, exp.UnixToTime, exp.SplitPart, exp.TimeToStr, exp.RegexpLike, exp.RegexpILike,
    exp.Right, exp.Cos, exp.Sin, exp.Atan, exp.Sign, exp.Trunc, exp.Ntile, exp.PercentRank, exp.CumeDist,
})  # fmt: skip


@lru_cache(maxsize=512)
def read(text: str) -> exp.Expr:
    """The one question in a text, as it stands there. The tree is shared: copy before a change."""
    if not text.isprintable() and not text.isascii() and any("\ud800" <= c <= "\udfff" for c in text):
        raise Refusal(
            f"a question is text, and this one of {len(text)} letters holds half a character",
            hint="write it in UTF-8",
            ground=Ground.SYNTAX,
        )
    if len(text) > LONGEST:
        raise Refusal(f"a question has at most {LONGEST} characters, got {len(text)}")
    try:
        trees = [tree for tree in statements(text) if tree is not None]
    except (ParseError, TokenError) as broken:
        raise Refusal(
            f"this is not SQL: {_where(broken)}", hint="write it as Postgres would read it", ground=Ground.SYNTAX
        ) from None
    except RecursionError:
        raise Refusal("this question is nested too deeply", hint="split it") from None
    if len(trees) != 1:
        raise Refusal(f"expected one question, got {len(trees)}", hint="ask them one by one", ground=Ground.SYNTAX)
    return marked(trees[0], text)


def _where(broken: ParseError | TokenError) -> str:
    errors = getattr(broken, "errors", [])
    if not errors:
        return "it could not be read"
    first = errors[0]
    return f"it cannot be read at line {first['line']}, near {first['highlight']!r}"


def parsed(text: str, schema: Schema) -> exp.Query:
    """The question as a tree in which every column names its table and every node is allowed and has a type."""
    tree = read(text).copy()
    if not isinstance(tree, (exp.Select, exp.Union)):
        if isinstance(tree, exp.SetOperation):
            raise Unsupported(f"{called(tree)} is not supported", hint="ask both questions, and compare their answers")
        word = text.split(maxsplit=1)[0].upper()
        raise Unsupported(f"only SELECT is answered here, got {word}", hint="ask with SELECT … FROM …")
    _readable(tree)
    tree = spelled_out(tree)
    plain(tree)
    if tree.find(*PAIRED) is not None:
        written_out(tree)
    _check(tree)
    for table in tree.find_all(exp.Table):
        if table.db or table.catalog:
            raise Refusal(
                f"there is no table {table.sql()!r}", hint="name tables without a schema", ground=Ground.TABLE
            )
    if sum(1 for _ in tree.find_all(exp.CTE)) > MOST_NAMED:
        raise Refusal(f"this question names more than {MOST_NAMED} queries with WITH", hint="split it")
    unnamed(tree)
    spelled(tree, schema)
    known = MappingSchema(
        {name: {column.name: column.type.value for column in table.columns} for name, table in schema.tables.items()},
        dialect="postgres",
        normalize=False,  # names are spelled as they were declared
    )
    try:
        tree = qualify(tree, schema=known, dialect="postgres", quote_identifiers=True, validate_qualify_columns=True)
        tree = annotate_types(tree, schema=known, dialect="postgres", expression_metadata=_METADATA)
    except OptimizeError as unknown:
        raise _unresolved(str(unknown).split(" Line:", maxsplit=1)[0].rstrip(".")) from None
    except (AssertionError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        # what a parser lets through and its other half did not foresee; nobody's rows were read for it
        raise Refusal("this question cannot be taken apart", hint="name its columns, and group by names") from None
    _check(tree)
    arithmetic.mark(tree)
    return tree


_SAID = (  # what sqlglot says, what we say, what to do; names that are not there were refused before
    (r"Column '(.*?)' could not be resolved", "{} is a column of more than one table", "write its table before it"),
    (r"Cannot automatically join: (.*)", "USING ({}) needs this column on both sides", "write the join with ON"),
    (r"Unknown output column: (.*)", "this SELECT has no column {}", "count its columns from 1"),
    (r"Alias already used: (.*)", "two tables are called {} in one FROM", "give one of them another name"),
)


def _unresolved(said: str) -> Refusal:
    for pattern, message, hint in _SAID:
        if (told := re.match(pattern, said)) is not None:
            return Refusal(message.format(told[1]), hint=hint, ground=Ground.COLUMN)
    return Refusal("this question cannot be taken apart", hint="name its columns, and group by names")


def _median(annotator: TypeAnnotator, node: exp.Median) -> exp.Median:
    """A median is a double, as a percentile is; of days and moments, one of those."""
    numeric = node.this.is_type(*exp.DataType.NUMERIC_TYPES)
    annotator._set_type(node, exp.DataType.Type.DOUBLE if numeric else node.this.type)  # noqa: SLF001  # as its own do
    return node


# In Postgres a sum of whole numbers is no whole number's type, so dividing by it does not cut digits off. It has no
# MEDIAN, whose type would stay unknown.
_METADATA = {
    **Postgres.EXPRESSION_METADATA,
    exp.Sum: {"returns": exp.DataType.Type.DOUBLE},
    exp.Median: {"annotator": _median},
}


def _readable(tree: exp.Expr) -> None:
    """Refuse numbers of nearly as many digits as Python reads."""
    for node in tree.find_all(exp.Literal):
        if len(node.name) > exact.LONGEST and (not node.is_string or isinstance(node.parent, exp.Interval)):
            raise Refusal(f"a number has more than {exact.LONGEST} characters", hint="write it with an exponent")


def _check(tree: exp.Expr) -> None:
    for node in tree.walk():
        if type(node) not in ALLOWED:
            raise _unsupported(node)
        if isinstance(node, exp.With) and node.args.get("recursive"):
            names = ", ".join(each.alias for each in node.expressions)
            raise Unsupported(f"WITH RECURSIVE is not supported, as {names} has it", hint="use WITH")
        if isinstance(node, exp.Distinct) and node.args.get("on"):
            on = node.args["on"].sql(dialect="postgres")
            raise Unsupported(f"DISTINCT ON {on} chooses among rows and is not supported", hint="use GROUP BY")
        if isinstance(node, exp.Identifier) and not node.name:
            raise Refusal("a name is empty", hint="give it a letter")
        if isinstance(node, (exp.Limit, exp.Offset)) and not isinstance(node.expression, exp.Literal):
            raise Refusal(f"{keyword(node.key)} needs a number", hint="write it as digits")
        if isinstance(node, exp.Identifier) and node.name.startswith(RESERVED):
            raise Refusal(f"a name cannot begin with {RESERVED}, as {node.name!r} does", hint="use another name")
        if isinstance(node, exp.Var) and not _is_part_of_time(node):
            raise Unsupported(
                f"{node.name.lower()!r} is not supported here", hint=f"the parts of a date are {sorted(TIMES)}"
            )
        if node.depth > DEEPEST:
            raise Refusal(f"this question is nested too deeply: {DEEPEST} levels are the most", hint="split it")


def _unsupported(node: exp.Expr) -> Refusal:
    if isinstance(node, exp.DataTypeParam):
        return Unsupported(
            f"{shown(node.find_ancestor(exp.Cast) or node)} is not supported: a type has no lengths here",
            hint="leave out the parentheses after the type; ROUND(x, 1) rounds, LEFT(x, 10) cuts",
        )
    return Misasked(
        f"{called(node)} is not supported",
        hint=_instead(node),
        node=node,
        edits=alike(node),
        ground=Ground.SUPPORT,
    )


def _is_part_of_time(node: exp.Var) -> bool:
    """A bare word is printed as it stands, so it must be one of ours: of an interval also in the plural."""
    word = node.name.lower()
    return (word.removesuffix("s") if isinstance(node.parent, exp.Interval) else word) in TIMES


_INSTEAD: dict[type[exp.Expr], str] = {
    exp.Mode: "the most frequent value: SELECT x, COUNT(*) … GROUP BY x ORDER BY 2 DESC LIMIT 1",
    exp.CurrentDate: "write the day that you mean: DATE '2026-01-31'",
    exp.CurrentTimestamp: "write the moment that you mean: TIMESTAMP '2026-01-31 12:00:00'",
}


def _instead(node: exp.Expr) -> str:
    """What would be answered in the place of something that is not."""
    return _INSTEAD.get(type(node), "see what may be asked in the docs")


_HINT = "write the window after OVER"


def unnamed(tree: exp.Query) -> None:
    """Write the windows of every WINDOW clause out, in place, and drop the clauses."""
    for select in tree.find_all(exp.Select):
        named: dict[str, exp.Window] = {}
        for window in select.args.get("windows") or []:
            _complete(window, named)
            if _spelled(window.this) in named:
                raise Refusal(f"two windows are called {window.this.name!r}", hint=_HINT)
            named[_spelled(window.this)] = window
        select.set("windows", None)
        for window in select.find_all(exp.Window):
            if window.find_ancestor(exp.Select) is select:
                _complete(window, named)


def _complete(window: exp.Window, named: dict[str, exp.Window]) -> None:
    """Give a window what the one has that it names."""
    name = window.args.get("alias")
    if name is None:
        return
    base = named.get(_spelled(name))
    if base is None:
        raise Refusal(f"there is no window {name.name!r} in this SELECT", hint=_HINT)
    own = [clause for clause in ("partition_by", "order", "spec") if window.args.get(clause)]
    twice = "order" in own and base.args.get("order")
    if "partition_by" in own or twice or (own and base.args.get("spec")):  # as Postgres has it
        raise Refusal(f"{shown(window)} changes what the window {name.name!r} says", hint=_HINT)
    window.set("alias", None)
    for clause in ("partition_by", "order", "spec"):
        given = base.args.get(clause)
        if given:
            window.set(clause, [each.copy() for each in given] if isinstance(given, list) else given.copy())


def _spelled(name: exp.Identifier) -> str:
    return name.name if name.args.get("quoted") else fold(name.name)


_COUNTED = "_col_"  # with its place behind it: how the planner marks a column without a name
_OWN: dict[type[exp.Expr], str] = {exp.TimestampTrunc: "date_trunc", exp.Case: "case", exp.Boolean: "bool"}


def output_names(tree: exp.Query) -> tuple[str, ...]:
    """What the columns of a question are called in its answer, no two alike."""
    names = list(tree.named_selects)
    nameless = [name == f"{_COUNTED}{place}" for place, name in enumerate(names)]
    taken = {name.casefold() for name, without in zip(names, nameless, strict=True) if not without}
    for place, (item, without) in enumerate(zip(outermost(tree).expressions, nameless, strict=True)):
        if without:
            name = label(item.unalias()) or f"column_{place + 1}"
            while name.casefold() in taken:
                name += f"_{place + 1}"
            names[place] = name
            taken.add(name.casefold())
    return tuple(names)


def outermost(tree: exp.Expr) -> exp.Expr:
    """The SELECT that names the columns of a question."""
    while isinstance(tree, (exp.SetOperation, exp.Subquery)):
        tree = tree.this
    return tree


def label(node: exp.Expr) -> str:
    """What Postgres calls a column that is this; nothing if it has no word for it."""
    if isinstance(node, (exp.Window, exp.WithinGroup, exp.Filter, exp.Cast)):
        return label(node.this) or (node.to.sql(dialect="postgres").lower() if isinstance(node, exp.Cast) else "")
    if isinstance(node, exp.Column):
        return node.name
    if CALLED in node.meta or type(node) in _OWN:
        return str(node.meta.get(CALLED) or _OWN[type(node)])
    if isinstance(node, exp.Anonymous):
        return node.name.lower()
    if isinstance(node, exp.Func) and not isinstance(node, exp.Binary):
        return node.sql_name().lower()
    return ""
