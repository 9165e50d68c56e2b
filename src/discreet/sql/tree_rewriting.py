"""Rewriting of SQL trees: parts found, swapped, pruned; FILTER as CASE, grouping sets as a UNION ALL of groupings."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import combinations, product

from sqlglot import exp

from discreet.errors import Refusal, Unsupported
from discreet.sql.wording import shown


def unwrapped(node: exp.Expr) -> exp.Expr:
    """Without the parentheses around it."""
    while isinstance(node, exp.Paren):
        node = node.this
    return node


def constant(node: exp.Expr | None) -> int | None:
    """A constant whole number."""
    node = unwrapped(node) if node is not None else None
    if isinstance(node, exp.Neg):
        inner = constant(node.this)
        return None if inner is None else -inner
    return int(node.name) if isinstance(node, exp.Literal) and not node.is_string and node.name.isdecimal() else None


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


def guards(node: exp.Nullif) -> bool:
    """Whether it is a divisor that is not to be 0: there is no quotient then, with it or without."""
    child: exp.Expr = node
    parent = node.parent
    while isinstance(parent, (exp.Paren, exp.Cast)):
        child, parent = parent, parent.parent
    zero = node.expression
    if not isinstance(zero, exp.Literal) or zero.is_string or float(zero.name):
        return False
    return isinstance(parent, (exp.Div, exp.IntDiv)) and parent.right is child


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


MOST_SETS = 64

Set = tuple[exp.Expr, ...]


def plain(tree: exp.Query) -> exp.Query:
    """The same question without FILTER, ROLLUP, CUBE and GROUPING SETS."""
    for fetch in list(tree.find_all(exp.Fetch)):
        _limited(fetch)
    for node in list(tree.find_all(exp.Filter)):
        node.replace(_cased(node))
    for select in list(tree.find_all(exp.Select)):
        group = select.args.get("group")
        if group is None or not any(
            isinstance(item, (exp.Rollup, exp.Cube, exp.GroupingSets)) for item in group.expressions
        ):
            continue
        united = _united(select, _sets(group))
        if select is tree:
            tree = united
        else:
            select.replace(united)
    return tree


def _limited(fetch: exp.Fetch) -> None:
    options = fetch.args.get("limit_options")
    if options is not None and (options.args.get("percent") or options.args.get("with_ties")):
        raise Unsupported(f"{shown(fetch)} is not supported", hint="use LIMIT")
    fetch.replace(exp.Limit(expression=fetch.args.get("count") or exp.Literal.number(1)))


def _cased(node: exp.Filter) -> exp.Expr:
    """An aggregate of what passes a condition: of NULL where it does not."""
    aggregate: exp.Expr = node.this.copy()
    condition: exp.Expr = node.expression.this.copy()
    if isinstance(aggregate, exp.Count) and isinstance(aggregate.this, exp.Star):
        aggregate.set("this", _when(condition, exp.Literal.number(1)))
    elif isinstance(aggregate.this, exp.Distinct):
        inner = [_when(condition.copy(), part.copy()) for part in aggregate.this.expressions]
        aggregate.this.set("expressions", inner)
    elif isinstance(aggregate, exp.WithinGroup):
        for ordered in aggregate.expression.expressions:
            ordered.set("this", _when(condition.copy(), ordered.this.copy()))
    elif isinstance(aggregate, exp.AggFunc) and aggregate.this is not None:
        aggregate.set("this", _when(condition, aggregate.this.copy()))
    else:
        raise Unsupported(f"{shown(node)} is not supported", hint="use CASE inside the aggregate")
    return aggregate


def _when(condition: exp.Expr, value: exp.Expr) -> exp.Case:
    return exp.Case(ifs=[exp.If(this=condition, true=value)])


def _sets(group: exp.Group) -> list[Set]:
    """Every grouping that is asked for: items of GROUP BY multiply."""
    number = math.prod(_number_of(item) for item in group.expressions)
    if number > MOST_SETS:
        raise Refusal(f"this question has {number} groupings, more than {MOST_SETS}", hint="ask for fewer of them")
    choices = [_choices(item) for item in group.expressions]
    return [tuple(key for chosen in picked for key in chosen) for picked in product(*choices)]


def _number_of(item: exp.Expr) -> int:
    match item:
        case exp.Rollup():
            return 1 + len(item.expressions)
        case exp.Cube():
            return 1 << min(len(item.expressions), 30)
        case exp.GroupingSets():
            return sum(_number_of(part) for part in item.expressions)
        case _:
            return 1


def _choices(item: exp.Expr) -> list[Set]:
    match item:
        case exp.Rollup():
            levels = [_members(part) for part in item.expressions]
            return [tuple(k for level in levels[:i] for k in level) for i in range(len(levels), -1, -1)]
        case exp.Cube():
            levels = [_members(part) for part in item.expressions]
            picked = [c for n in range(len(levels), -1, -1) for c in combinations(levels, n)]
            return [tuple(k for level in each for k in level) for each in picked]
        case exp.GroupingSets():
            return [one for part in item.expressions for one in _choices(part)]
        case _:
            return [_members(item)]


def _members(item: exp.Expr) -> Set:
    match item:
        case exp.Tuple():
            return tuple(item.expressions)
        case exp.Paren():
            return (item.this,)
        case _:
            return (item,)


def _united(select: exp.Select, sets: list[Set]) -> exp.Query:
    """One SELECT for each grouping. Keys that a grouping does without are NULL in it."""
    order, limit, offset, with_ = (select.args.get(name) for name in ("order", "limit", "offset", "with_"))
    every = {key.sql(): key for chosen in sets for key in chosen}
    names = {item.unalias().sql(): item.alias_or_name for item in select.expressions}
    outputs = {item.alias_or_name for item in select.expressions}  # an expression may stand there twice, by two names
    parts = [_grouped(select, chosen, every) for chosen in sets]
    united: exp.Query = parts[0]
    for part in parts[1:]:
        united = exp.Union(this=united, expression=part, distinct=False)
    if order is not None:
        for ordered in order.expressions:
            if isinstance(ordered.this, exp.Literal) and ordered.this.is_int:
                continue  # by its place, which it has in every part
            text = ordered.this.sql()
            if text not in names and ordered.this.name not in outputs:
                raise Refusal(f"ORDER BY {shown(ordered.this)} is not a column of this answer", hint="select it too")
            name = names.get(text, ordered.this.name)
            ordered.set("this", exp.column(name, quoted=True))
        united.set("order", order)
    united.set("limit", limit)
    united.set("offset", offset)
    united.set("with_", with_)
    return united


def _grouped(select: exp.Select, chosen: Set, every: dict[str, exp.Expr]) -> exp.Select:
    made = select.copy()
    for clause in ("order", "limit", "offset", "with_"):
        made.set(clause, None)
    present = {key.sql() for key in chosen}
    keys = [key.copy() for key in chosen]
    for place in [*made.expressions, *([made.args["having"]] if made.args.get("having") else [])]:
        _blanked(place, present, every)
    made.set("group", exp.Group(expressions=keys) if keys else None)
    if not keys and not any(item.find(exp.AggFunc) for item in made.expressions):
        raise Refusal("a grouping without keys needs an aggregate", hint="add COUNT(*)")
    return made


def _blanked(node: exp.Expr, present: set[str], every: dict[str, exp.Expr]) -> None:
    """Replace the keys that are not present by NULL, and GROUPING(…) by its number; aggregates stay as they are."""
    for child in list(node.iter_expressions()):
        text = child.sql()
        if isinstance(child, exp.Grouping):
            bits = [0 if key.sql() in present else 1 for key in child.expressions]
            child.replace(exp.Literal.number(sum(bit << i for i, bit in enumerate(reversed(bits)))))
        elif text in every and text not in present:
            kind = child.type if child.type is not None else exp.DataType.build("varchar")
            child.replace(exp.cast(exp.Null(), kind.copy()))
        elif text not in every and not isinstance(child, exp.AggFunc):
            _blanked(child, present, every)


def answering(query: exp.Expr) -> list[exp.Select]:
    """The SELECTs whose rows are the answer's; none where rows that are alike become one."""
    if isinstance(query, exp.Select):
        return [query]
    if isinstance(query, exp.Union) and not query.args.get("distinct"):
        sides = [answering(query.left), answering(query.right)]
        return [*sides[0], *sides[1]] if all(sides) else []
    return []
