"""Operators, names and values of a question about the catalogue, in our database's words."""

from __future__ import annotations

from sqlglot import exp

from discreet.errors import Ground, Refusal
from discreet.server.pg_catalog import types
from discreet.server.pg_catalog.parser import folded
from discreet.server.pg_catalog.translation import NameScope, Rule, Translation, Typed, call, called, cast, given
from discreet.sql.wording import shown

MOST_PARAMETERS = 1000
SYSTEM = {"tableoid": types.OID, "xmin": types.XID}


def _as(words: Translation, node: exp.Expr, scope: NameScope, kind: int) -> exp.Expr:
    """An expression where this type is wanted."""
    return words.fit(words.typed(node, scope), kind)


def _column(words: Translation, node: exp.Expr, scope: NameScope) -> Typed:
    name, table = folded(node.this), folded(node.args.get("table"))
    column = scope.find(name, table)
    if column is not None:
        return exp.column(name, table=column[0].alias, quoted=True), column[1]
    source = scope.source(table) if table else scope.sources[0] if scope.sources else None
    if name in SYSTEM and source is not None and source.relation:  # columns that every table of Postgres has
        return exp.Literal.number(source.relation if name == "tableoid" else 1), SYSTEM[name]
    whole = scope.source(name)
    if whole is not None and len(whole.columns) == 1 and not table:
        return exp.column(whole.columns[0][0], table=name, quoted=True), whole.columns[0][1]
    if name in ("user", "current_role") and not table:
        return _visitor(words, node, scope)
    raise Refusal(f"the catalogue has no column {f'{table}.{name}' if table else name!r} here", ground=Ground.COLUMN)


def _visitor(_: Translation, __: exp.Expr, ___: NameScope) -> Typed:
    return call("getvariable", exp.Literal.string("visitor")), types.NAME


def _literal(_: Translation, node: exp.Expr, __: NameScope) -> Typed:
    if node.args.get("is_string"):
        return exp.Literal.string(node.name), types.UNKNOWN
    if not node.name.isdigit():
        return exp.Literal.number(node.name), types.NUMERIC
    return exp.Literal.number(node.name), types.INT4 if int(node.name) < 2**31 else types.INT8


def _escaped(_: Translation, node: exp.Expr, __: NameScope) -> Typed:
    return exp.Literal.string(node.name), types.UNKNOWN


def _null(_: Translation, __: exp.Expr, ___: NameScope) -> Typed:
    return exp.Null(), types.UNKNOWN


def _boolean(_: Translation, node: exp.Expr, __: NameScope) -> Typed:
    return exp.Boolean(this=node.this), types.BOOL


def _parameter(words: Translation, node: exp.Expr, _: NameScope) -> Typed:
    number = int(node.name) if node.name.isdigit() else 0
    if not 1 <= number <= MOST_PARAMETERS:
        raise Refusal(f"a parameter is $1 to ${MOST_PARAMETERS}, got {node.name!r}")
    if words.values is None:
        return exp.Parameter(this=exp.Literal.number(number)), types.UNKNOWN
    if number > len(words.values):
        raise Refusal(f"parameter {number} has no value; {len(words.values)} were given")
    return given(words.values[number - 1])


def _paren(words: Translation, node: exp.Expr, scope: NameScope) -> Typed:
    inner, kind = words.typed(node.this, scope)
    return exp.paren(inner, copy=False), kind


def _logic(words: Translation, node: exp.Expr, scope: NameScope) -> Typed:
    sides = {key: _as(words, side, scope, types.BOOL) for key, side in node.args.items() if isinstance(side, exp.Expr)}
    return type(node)(**sides), types.BOOL


def _comparison(words: Translation, node: exp.Expr, scope: NameScope) -> Typed:
    right = node.expression
    if isinstance(right, exp.Any) or (isinstance(right, exp.Anonymous) and right.name.lower() == "all"):
        return _quantified(words, node, scope)
    (left, other), _ = words.several([node.this, right], scope)
    return type(node)(this=left, expression=other), types.BOOL


def _quantified(words: Translation, node: exp.Expr, scope: NameScope) -> Typed:
    """x = ANY(…) and x <> ALL(…), over an array or a query."""
    every = isinstance(node.expression, exp.Anonymous)
    if type(node) is not (exp.NEQ if every else exp.EQ):
        raise Refusal(f"the catalogue answers = ANY(…) and <> ALL(…) only, got {shown(node)}")
    over = node.expression.expressions[0] if every else node.expression.this
    while isinstance(over, exp.Paren):
        over = over.this
    value = words.typed(node.this, scope)
    contained: exp.Expr
    if isinstance(over, exp.Query):
        query, _ = words.query(over.this if isinstance(over, exp.Subquery) else over, scope)
        contained = exp.In(this=value[0], query=query.subquery(copy=False))
    else:
        array, kind = words.typed(over, scope)
        held = types.element(kind) or value[1]
        array = words.fit((array, kind), types.array_of(held)) if kind == types.UNKNOWN else array
        contained = call("list_contains", array, words.fit(value, held))
    return exp.not_(contained, copy=False) if every else contained, types.BOOL


def _is(words: Translation, node: exp.Expr, scope: NameScope) -> Typed:
    left, _ = words.typed(node.this, scope)
    if not isinstance(node.expression, (exp.Null, exp.Boolean)):
        raise Refusal(f"the catalogue answers IS NULL, IS TRUE and IS FALSE only, got {shown(node)}")
    test = exp.Is(this=left, expression=node.expression.copy())
    return exp.not_(exp.paren(test, copy=False), copy=False) if node.args.get("negate") else test, types.BOOL


def _in(words: Translation, node: exp.Expr, scope: NameScope) -> Typed:
    if node.args.get("query"):
        value, _ = words.typed(node.this, scope)
        query, _ = words.query(node.args["query"].this, scope)
        return exp.In(this=value, query=query.subquery(copy=False)), types.BOOL
    if not node.expressions:
        raise Refusal(f"the catalogue answers IN over a list or a query only, got {shown(node)}")
    (value, *others), _ = words.several([node.this, *node.expressions], scope)
    return exp.In(this=value, expressions=others), types.BOOL


def _between(words: Translation, node: exp.Expr, scope: NameScope) -> Typed:
    (value, low, high), _ = words.several([node.this, node.args["low"], node.args["high"]], scope)
    return exp.Between(this=value, low=low, high=high), types.BOOL


def _like(words: Translation, node: exp.Expr, scope: NameScope) -> Typed:
    value, pattern = (_as(words, side, scope, types.TEXT) for side in (node.this, node.expression))
    escape = exp.Literal.string("\\")  # Postgres's own, where none is named
    matched = exp.Escape(this=type(node)(this=value, expression=pattern), expression=escape)
    return exp.not_(exp.paren(matched, copy=False), copy=False) if node.args.get("negate") else matched, types.BOOL


def _escape(words: Translation, node: exp.Expr, scope: NameScope) -> Typed:
    like, kind = words.typed(node.this, scope)
    inner = like.find(exp.Escape)
    if inner is None:
        raise Refusal(f"ESCAPE belongs to LIKE, got {shown(node)}")
    inner.set("expression", _as(words, node.expression, scope, types.TEXT))
    return like, kind


def _matches(words: Translation, node: exp.Expr, scope: NameScope) -> Typed:
    sides = [_as(words, side, scope, types.TEXT) for side in (node.this, node.expression)]
    options = [exp.Literal.string("i")] if isinstance(node, exp.RegexpILike) else []
    return call("regexp_matches", *sides, *options), types.BOOL


def _arithmetic(words: Translation, node: exp.Expr, scope: NameScope) -> Typed:
    (left, right), kind = words.several([node.this, node.expression], scope)
    return type(node)(this=left, expression=right), types.INT8 if kind == types.OID else kind


def _division(words: Translation, node: exp.Expr, scope: NameScope) -> Typed:
    (left, right), kind = words.several([node.this, node.expression], scope)
    whole = kind in (types.INT2, types.INT4, types.INT8)
    return (exp.IntDiv if whole else exp.Div)(this=left, expression=right), kind


def _negative(words: Translation, node: exp.Expr, scope: NameScope) -> Typed:
    value, kind = words.typed(node.this, scope)
    return exp.Neg(this=value), kind


def _joined(words: Translation, node: exp.Expr, scope: NameScope) -> Typed:
    """|| of texts, or of arrays."""
    left, right = words.typed(node.this, scope), words.typed(node.expression, scope)
    array = next((kind for _, kind in (left, right) if types.element(kind)), 0)
    if array:
        sides = [
            words.fit(side, array)
            if side[1] == types.UNKNOWN or types.element(side[1])
            else call("list_value", side[0])
            for side in (left, right)
        ]
        return call("list_concat", *sides), array
    sides = [words.fit(side, types.TEXT) for side in (left, right)]
    return exp.DPipe(this=sides[0], expression=sides[1]), types.TEXT


def _case(words: Translation, node: exp.Expr, scope: NameScope) -> Typed:
    branches = node.args["ifs"]
    default = node.args.get("default")
    results, kind = words.several([*(b.args["true"] for b in branches), *([default] if default else [])], scope)
    if node.this:
        (subject, *tests), _ = words.several([node.this, *(branch.this for branch in branches)], scope)
    else:
        subject, tests = None, [_as(words, branch.this, scope, types.BOOL) for branch in branches]
    ifs = [exp.If(this=test, true=result) for test, result in zip(tests, results, strict=False)]
    return exp.Case(this=subject, ifs=ifs, default=results[len(branches)] if default else None), kind


def _cast(words: Translation, node: exp.Expr, scope: NameScope) -> Typed:
    kind = types.numbered(called(node))  # type: ignore[arg-type]
    value = words.typed(node.this, scope)
    return cast((words.fit(value, kind), value[1]), kind, words.names), kind


RULES: dict[type[exp.Expr], Rule] = {
    exp.Column: _column,
    exp.CurrentUser: _visitor,
    exp.SessionUser: _visitor,
    exp.Literal: _literal,
    exp.ByteString: _escaped,
    exp.Null: _null,
    exp.Boolean: _boolean,
    exp.Parameter: _parameter,
    exp.Paren: _paren,
    **dict.fromkeys((exp.And, exp.Or, exp.Not), _logic),
    **dict.fromkeys((exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ), _comparison),
    exp.Is: _is,
    exp.In: _in,
    exp.Between: _between,
    **dict.fromkeys((exp.Like, exp.ILike), _like),
    exp.Escape: _escape,
    **dict.fromkeys((exp.RegexpLike, exp.RegexpILike), _matches),
    **dict.fromkeys((exp.Add, exp.Sub, exp.Mul, exp.Mod, exp.BitwiseAnd, exp.BitwiseOr), _arithmetic),
    exp.Div: _division,
    exp.Neg: _negative,
    exp.DPipe: _joined,
    exp.Case: _case,
    exp.Cast: _cast,
}
