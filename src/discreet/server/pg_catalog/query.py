"""Queries about the catalogue: where their rows come from, what their columns are called and of which type they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from sqlglot import exp

from discreet.errors import Refusal
from discreet.server.pg_catalog import functions, types
from discreet.server.pg_catalog.parser import folded, relation
from discreet.server.pg_catalog.translation import Columns, FromItem, NameScope, Translation, call, label, plain
from discreet.server.pg_catalog.types import CATALOGUE, INFORMATION, facts
from discreet.sql.wording import called

SCHEMAS = {CATALOGUE: "pg", INFORMATION: "information"}  # what we call them: a database has its own of these names

_SELECT = {
    "expressions", "from_", "joins", "laterals", "where", "group", "having", "order", "limit", "offset", "distinct",
    "with_", "windows", "locks", "kind",
}  # fmt: skip
_SET = {"this", "expression", "distinct", "order", "limit", "offset", "with_", "by_name"}
_NATURAL = {
    facts().relations[key].oid: columns
    for key, columns in {
        (CATALOGUE, "pg_attribute"): ("attrelid", "attnum"),
        **dict.fromkeys([(CATALOGUE, name) for name in ("pg_class", "pg_type", "pg_namespace", "pg_proc")], ("oid",)),
        (INFORMATION, "schemata"): ("schema_name",),
        (INFORMATION, "tables"): ("table_schema", "table_name"),
        (INFORMATION, "columns"): ("table_schema", "table_name", "ordinal_position"),
    }.items()
}
_TABLE = {"this", "db", "catalog", "alias", "joins", "only"}


def translated(words: Translation, node: exp.Expr, outer: NameScope) -> tuple[exp.Query, Columns]:
    """A query in our database's words, and its columns."""
    if isinstance(node, exp.Subquery) and not node.args.get("alias"):
        inner, columns = translated(words, node.this, outer)
        wrapped = exp.Subquery(this=inner)
        _ends(words, node, wrapped, NameScope(outer), columns)
        return wrapped, columns
    tables, with_ = _with(words, node, outer)
    here = NameScope(outer, tables)
    if isinstance(node, exp.Select):
        query, columns = _select(words, node, here)
    elif isinstance(node, exp.SetOperation):
        query, columns = _set_operation(words, node, here)
    elif isinstance(node, exp.Values):
        query, columns = _values(words, node, here)
    else:
        raise Refusal(f"the catalogue answers SELECT only, got {called(node)}")
    if with_ is not None:
        query.set("with_", with_)
    return query, columns


def _only(node: exp.Expr, allowed: set[str]) -> None:
    extra = [name.strip("_") for name, value in node.args.items() if value and name not in allowed]
    if extra:
        raise Refusal(f"the catalogue does not answer {extra[0].upper()} in a query")


def _with(words: Translation, node: exp.Expr, outer: NameScope) -> tuple[Mapping[str, Columns], exp.With | None]:
    given = node.args.get("with_")
    tables: dict[str, Columns] = dict(outer.tables)
    if given is None:
        return tables, None
    made = []
    for part in given.expressions:
        name, renamed = folded(part.args["alias"].this), [folded(c) for c in part.args["alias"].columns]
        body = part.this
        if given.args.get("recursive") and isinstance(body, exp.SetOperation):
            _, first = translated(words, body.this, NameScope(outer, tables))
            tables[name] = _renamed(first, renamed)
        query, columns = translated(words, body, NameScope(outer, tables))
        tables[name] = _renamed(columns, renamed)
        alias = exp.TableAlias(this=_name(name), columns=[_name(column) for column, _ in tables[name]])
        made.append(exp.CTE(this=query, alias=alias))
    return tables, exp.With(expressions=made, recursive=given.args.get("recursive"))


def _renamed(columns: Columns, names: Sequence[str]) -> Columns:
    return [
        (names[i] if i < len(names) else column, types.TEXT if kind == types.UNKNOWN else kind)
        for i, (column, kind) in enumerate(columns)
    ]


def _name(text: str) -> exp.Identifier:
    return exp.to_identifier(text, quoted=True)


# SELECT ---------------------------------------------------------------------------------------------------------------


def _select(words: Translation, node: exp.Select, here: NameScope) -> tuple[exp.Query, Columns]:
    _only(node, _SELECT)
    query = exp.Select()
    _from(words, node, here, query)
    columns: Columns = []
    for projection in node.expressions:
        for value, name, kind in _projected(words, projection, here):
            query.append("expressions", exp.alias_(value, name, quoted=True, copy=False))
            columns.append((name, kind))
    if not columns:
        raise Refusal("a question about the catalogue asks for at least one column")
    if where := node.args.get("where"):
        query.set("where", exp.Where(this=words.fit(words.typed(where.this, here), types.BOOL)))
    if group := node.args.get("group"):
        _only(group, {"expressions"})
        query.set(
            "group",
            exp.Group(expressions=[_term(words, term, here, columns, output=False) for term in group.expressions]),
        )
    if having := node.args.get("having"):
        query.set("having", exp.Having(this=words.typed(having.this, here)[0]))
    for window in node.args.get("windows") or []:
        made, _ = words.typed(
            exp.Window(this=exp.Null(), **{k: v for k, v in window.args.items() if k != "this"}), here
        )
        made.set("this", window.this.copy())
        made.set("over", None)
        query.append("windows", made)
    if distinct := node.args.get("distinct"):
        on = distinct.args.get("on")
        keys = [_term(words, term, here, columns, output=True) for term in on.expressions] if on else []
        query.set("distinct", exp.Distinct(on=exp.Tuple(expressions=keys) if keys else None))
    _ends(words, node, query, here, columns)
    if node.parent is None and not node.args.get("order"):
        query.set("order", _natural(node, here))
    return query, columns


def _natural(node: exp.Select, here: NameScope) -> exp.Order | None:
    """The order in which Postgres happens to give rows when none is asked for; clients have come to rely on it."""
    calls = (str(part.this).lower() for column in node.expressions for part in column.find_all(exp.Anonymous))
    if node.args.get("group") or node.args.get("distinct") or any(name in functions.AGGREGATES for name in calls):
        return None
    terms = [
        exp.Ordered(this=exp.column(name, table=source.alias, quoted=True))
        for source in here.sources
        for name in _NATURAL.get(source.relation, ())
        if source.kind(name) is not None
    ]
    return exp.Order(expressions=terms) if terms else None


def _projected(words: Translation, node: exp.Expr, here: NameScope) -> Iterator[tuple[exp.Expr, str, int]]:
    star = node.this if isinstance(node, exp.Column) else node
    if isinstance(star, exp.Star):
        for source, name, kind in here.everything(folded(node.args.get("table")) if node is not star else ""):
            yield exp.column(name, table=source.alias, quoted=True), name, kind
        return
    value, kind = words.typed(node.this if isinstance(node, exp.Alias) else node, here)
    yield words.fit((value, kind), kind), label(node), kind


def _term(words: Translation, node: exp.Expr, here: NameScope, columns: Columns, *, output: bool) -> exp.Expr:
    """A term of GROUP BY or ORDER BY: a place, a column of the answer by name, or an expression."""
    if isinstance(node, exp.Literal) and not node.args.get("is_string"):
        return node.copy()
    if isinstance(node, exp.Column) and not node.args.get("table"):
        name = folded(node.this)
        if name in [column for column, _ in columns] and (output or here.find(name, "") is None):
            return exp.column(name, quoted=True)
    return words.typed(node, here)[0]


def _ends(words: Translation, node: exp.Expr, query: exp.Expr, here: NameScope, columns: Columns) -> None:
    """ORDER BY, LIMIT and OFFSET."""
    if order := node.args.get("order"):
        terms = []
        for term in order.expressions:
            value = _term(words, term.this, here, columns, output=True)
            terms.append(exp.Ordered(this=value, desc=term.args.get("desc"), nulls_first=term.args.get("nulls_first")))
        query.set("order", exp.Order(expressions=terms))
    limit = node.args.get("limit")
    count = limit.args.get("count") if isinstance(limit, exp.Fetch) else limit.expression if limit else None
    if count is not None and not isinstance(count, (exp.Var, exp.Null)):
        query.set("limit", exp.Limit(expression=words.fit(words.typed(count, here), types.INT8)))
    if offset := node.args.get("offset"):
        query.set("offset", exp.Offset(expression=words.fit(words.typed(offset.expression, here), types.INT8)))


def _set_operation(words: Translation, node: exp.SetOperation, here: NameScope) -> tuple[exp.Query, Columns]:
    _only(node, _SET)
    left, columns = translated(words, node.this, here)
    right, others = translated(words, node.expression, here)
    if len(columns) != len(others):
        raise Refusal(f"the parts of a UNION have {len(columns)} and {len(others)} columns")
    shared = [(name, types.common((kind, other))) for (name, kind), (_, other) in zip(columns, others, strict=True)]
    union = type(node)(this=left, expression=right, distinct=node.args.get("distinct"))
    _ends(words, node, union, NameScope(), shared)
    return union, shared


def _values(words: Translation, node: exp.Values, here: NameScope) -> tuple[exp.Query, Columns]:
    rows = [row.expressions if isinstance(row, exp.Tuple) else [row] for row in node.expressions]
    if len({len(row) for row in rows}) != 1:
        raise Refusal(f"the rows of VALUES have different lengths: {sorted({len(row) for row in rows})}")
    columns: Columns = []
    held = []
    for place, column in enumerate(zip(*rows, strict=True), start=1):
        values, kind = words.several(column, here)
        columns.append((f"column{place}", kind))
        held.append(values)
    tuples = [exp.Tuple(expressions=list(row)) for row in zip(*held, strict=True)]
    alias = exp.TableAlias(this=_name("values"), columns=[_name(name) for name, _ in columns])
    source = exp.Values(expressions=tuples, alias=alias)
    return exp.Select(expressions=[exp.Star()], from_=exp.From(this=source)), columns


# FROM -----------------------------------------------------------------------------------------------------------------


def _from(words: Translation, node: exp.Expr, here: NameScope, query: exp.Select) -> None:
    first = node.args.get("from_")
    if first is None:
        return
    query.set("from_", exp.From(this=_source(words, first.this, here)))
    for join in node.args.get("joins") or []:
        query.append("joins", _join(words, join, here))


def _join(words: Translation, join: exp.Join, here: NameScope) -> exp.Join:
    _only(join, {"this", "side", "kind", "method", "on", "using"})
    before = {name for source in here.sources for name, _ in source.columns}
    size = len(here.sources)
    made = exp.Join(this=_source(words, join.this, here), **{k: join.args.get(k) for k in ("side", "kind", "method")})
    shared = {folded(name) for name in join.args.get("using") or []}
    if join.args.get("method"):
        shared = before & {name for source in here.sources[size:] for name, _ in source.columns}
    if shared:
        for place in range(size, len(here.sources)):
            source = here.sources[place]
            here.sources[place] = FromItem(source.alias, source.columns, source.relation, frozenset(shared))
    if join.args.get("using"):
        made.set("using", [_name(folded(name)) for name in join.args["using"]])
    if on := join.args.get("on"):
        made.set("on", words.fit(words.typed(on, here), types.BOOL))
    elif not join.args.get("kind") and not join.args.get("side") and not shared:
        made.set("kind", "CROSS")
    return made


def _source(words: Translation, node: exp.Expr, here: NameScope) -> exp.Expr:
    """Something in FROM, and what is joined to it in the same parentheses; it becomes visible to what comes after."""
    made = _single(words, node, here)
    if joins := node.args.get("joins"):
        made.set("joins", [_join(words, join, here) for join in joins])
    return made


def _single(words: Translation, node: exp.Expr, here: NameScope) -> exp.Expr:
    if isinstance(node, exp.Lateral):
        _only(node, {"this", "alias"})
        inner = node.this
        inner.set("alias", node.args.get("alias"))
        return _source(words, inner, here)
    alias = node.args.get("alias")
    name = folded(alias.this) if alias else ""
    renamed = [folded(column) for column in alias.columns] if alias else []
    if isinstance(node, exp.Subquery) and isinstance(node.this, (exp.Table, exp.Subquery)) and not name:
        return exp.Subquery(this=_source(words, node.this, here))  # joins in parentheses
    if isinstance(node, exp.Table) and isinstance(node.this, exp.Anonymous):
        _only(node, _TABLE)
        node = node.this
    if isinstance(node, (exp.Anonymous, exp.Unnest)):
        query, columns = _rows(words, node, here, name, renamed)
        return _derived(query, columns, name or columns[0][0], here)
    if isinstance(node, exp.Table):
        return _table(node, name, renamed, here)
    if isinstance(node, (exp.Subquery, exp.Values)):
        query, columns = translated(
            words, node.this if isinstance(node, exp.Subquery) else node, NameScope(here, here.tables)
        )
        return _derived(query, _renamed(columns, renamed), name or f"#{len(here.sources)}", here)
    raise Refusal(f"the catalogue does not answer {called(node)} in FROM")


def _table(node: exp.Table, name: str, renamed: Sequence[str], here: NameScope) -> exp.Expr:
    _only(node, _TABLE)
    own = folded(node.this)
    columns: Columns
    if not node.args.get("db") and own in here.tables:
        columns, made, number = here.tables[own], exp.Table(this=_name(own)), 0
    else:
        known = relation(node)
        if known is None:
            raise Refusal(
                f"{own!r} is not in the catalogue", hint="ask about the catalogue and about your tables one by one"
            )
        columns = [(field.name, types.base(field.type)) for field in known.fields]
        made, number = exp.Table(this=_name(own), db=_name(SCHEMAS[known.schema])), known.oid
    columns = _renamed(columns, renamed)
    made.set(
        "alias", exp.TableAlias(this=_name(name or own), columns=[_name(c) for c, _ in columns] if renamed else None)
    )
    here.sources.append(FromItem(name or own, columns, number))
    return made


def _derived(query: exp.Query, columns: Columns, name: str, here: NameScope) -> exp.Expr:
    here.sources.append(FromItem(name, columns))
    alias = exp.TableAlias(this=_name(name), columns=[_name(column) for column, _ in columns])
    return exp.Subquery(this=query, alias=alias)


def _rows(
    words: Translation, node: exp.Expr, here: NameScope, name: str, renamed: Sequence[str]
) -> tuple[exp.Query, Columns]:
    """A function in FROM."""
    numbered = ""
    if isinstance(node, exp.Unnest):
        if len(node.expressions) != 1:
            raise Refusal(f"the catalogue unnests one array at a time, got {len(node.expressions)}")
        offset = node.args.get("offset")
        numbered = (folded(offset) if isinstance(offset, exp.Identifier) else "ordinality") if offset else ""
        node = call("unnest", node.expressions[0])
    function = str(node.this).lower()
    if function in functions.TABLES:
        columns = _renamed(list(functions.TABLES[function]), renamed)
        nothing = [exp.alias_(plain(exp.Null(), types.stored(kind)), column, quoted=True) for column, kind in columns]
        return exp.Select(expressions=nothing).where("false", copy=False), columns
    if function == "pg_get_keywords":
        listed = [exp.column(column, quoted=True) for column, _ in functions.KEYWORDS]
        kept = exp.Table(this=_name("#keywords"), db=_name(SCHEMAS[CATALOGUE]))
        return exp.Select(expressions=listed).from_(kept, copy=False), _renamed(list(functions.KEYWORDS), renamed)
    value, kind = words.typed(node, NameScope(here, here.tables))
    column = renamed[0] if renamed else name or function
    query = exp.Select(expressions=[exp.alias_(value, column, quoted=True, copy=False)])
    if not numbered:
        return query, [(column, kind)]
    array, _ = words.typed(node.expressions[0], NameScope(here, here.tables))
    places = call("generate_subscripts", array, exp.Literal.number(1))
    query.append("expressions", exp.alias_(places, numbered, quoted=True, copy=False))
    return query, [(column, kind), (numbered, types.INT8)]
