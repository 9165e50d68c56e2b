"""From text to a qualified, typed tree of allowed nodes. Whatever else SQL can say is refused here, by name."""

from __future__ import annotations

import logging
from functools import lru_cache

from sqlglot import exp, parse
from sqlglot.dialects.postgres import Postgres
from sqlglot.errors import OptimizeError, ParseError, TokenError
from sqlglot.optimizer.annotate_types import annotate_types
from sqlglot.optimizer.qualify import qualify
from sqlglot.schema import MappingSchema

from discreet.errors import Ground, Refusal, Unsupported
from discreet.sql.repair import Edit, Misasked
from discreet.sql.schema import RESERVED, Schema
from discreet.sql.spelling import spelled

logging.getLogger("sqlglot").setLevel(logging.CRITICAL)  # it would print what people ask

LONGEST = 20_000  # characters of a question
DEEPEST = 60  # levels of nesting
MOST_NAMED = 50  # queries of WITH
TIMES = frozenset({"year", "quarter", "month", "week", "day", "hour", "minute", "second", "dow", "isodow", "doy"})

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
})  # fmt: skip


@lru_cache(maxsize=512)
def read(text: str) -> exp.Expr:
    """The one question in a text, as it stands there. The tree is shared: copy before a change."""
    if not text.isprintable() and not text.isascii() and any("\ud800" <= c <= "\udfff" for c in text):
        raise Refusal(
            "a question is text, and this one holds half a character", hint="write it in UTF-8", ground=Ground.SYNTAX
        )
    if len(text) > LONGEST:
        raise Refusal(f"a question has at most {LONGEST} characters, got {len(text)}")
    try:
        found = [tree for tree in parse(text, dialect="postgres") if tree is not None]
    except (ParseError, TokenError) as broken:
        raise Refusal(
            f"this is not SQL: {_where(broken)}", hint="write it as Postgres would read it", ground=Ground.SYNTAX
        ) from None
    except RecursionError:
        raise Refusal("this question is nested too deeply", hint="split it") from None
    if len(found) != 1:
        raise Refusal(f"expected one question, got {len(found)}", hint="ask them one by one", ground=Ground.SYNTAX)
    return found[0]


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
        raise Unsupported(f"only SELECT is answered here, got {tree.key.upper()}", hint="ask with SELECT … FROM …")
    _check(tree)
    for table in tree.find_all(exp.Table):
        if table.db or table.catalog:
            raise Refusal(
                f"there is no table {table.sql()!r}", hint="name tables without a schema", ground=Ground.TABLE
            )
    if sum(1 for _ in tree.find_all(exp.CTE)) > MOST_NAMED:
        raise Refusal(f"this question names more than {MOST_NAMED} queries with WITH", hint="split it")
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
        said = str(unknown).split(" Line:", maxsplit=1)[0].rstrip(".")
        raise Refusal(said, hint="see discreet tables", ground=_ground(said)) from None
    except (AssertionError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        # what a parser lets through and its other half did not foresee; nobody's rows were read for it
        raise Refusal("this question cannot be taken apart", hint="name its columns, and group by names") from None
    _check(tree)
    return tree


def _ground(said: str) -> Ground:
    """What sqlglot did not find: it has one kind of error, and words for each."""
    if said.startswith("Unknown table"):
        return Ground.TABLE
    return Ground.COLUMN if said.startswith(("Column '", "Unknown column")) else Ground.PRIVACY


# In Postgres a sum of whole numbers is no whole number's type, so dividing by it does not cut digits off.
_METADATA = {**Postgres.EXPRESSION_METADATA, exp.Sum: {"returns": exp.DataType.Type.DOUBLE}}


def _check(tree: exp.Expr) -> None:
    for node in tree.walk():
        if type(node) not in ALLOWED:
            raise Misasked(
                f"{_named(node)} is not supported",
                hint="see what may be asked in the docs",
                node=node,
                edits=_as_count(node),
                ground=Ground.SUPPORT,
            )
        if isinstance(node, exp.With) and node.args.get("recursive"):
            raise Unsupported("WITH RECURSIVE is not supported", hint="use WITH")
        if isinstance(node, exp.Distinct) and node.args.get("on"):
            raise Unsupported("DISTINCT ON chooses among rows and is not supported", hint="use GROUP BY")
        if isinstance(node, exp.Identifier) and not node.name:
            raise Refusal("a name is empty", hint="give it a letter")
        if isinstance(node, (exp.Limit, exp.Offset)) and not isinstance(node.expression, exp.Literal):
            raise Refusal(f"{node.key.upper()} needs a number", hint="write it as digits")
        if isinstance(node, exp.Identifier) and node.name.startswith(RESERVED):
            raise Refusal(f"a name cannot begin with {RESERVED}, as {node.name!r} does", hint="use another name")
        if isinstance(node, exp.Var) and not _is_part_of_time(node):
            raise Unsupported(f"{node.name!r} is not supported here", hint="see what may be asked in the docs")
        if node.depth > DEEPEST:
            raise Refusal("this question is nested too deeply", hint="split it")


def _is_part_of_time(node: exp.Var) -> bool:
    """A bare word is printed as it stands, so it must be one of ours."""
    return node.name.lower() in TIMES


def _as_count(node: exp.Expr) -> list[Edit]:
    """An aggregate that would return values of rows could count them."""
    if not isinstance(node, exp.AggFunc) or not isinstance(node.this, exp.Expr):
        return []
    return [Edit(node, f"COUNT({node.this.sql(dialect='postgres')})")]


def _named(node: exp.Expr) -> str:
    if isinstance(node, exp.Anonymous):
        return f"the function {node.name}()"
    return node.key.upper().replace("_", " ")
