"""What a question groups by, and whether the values of that are public."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from sqlglot import exp

from discreet.declared.group_key import Key, Type, canonical
from discreet.errors import Refusal
from discreet.sql.expression import Call, Case, Expression, Field, Literal
from discreet.sql.expression_facts import links, owners
from discreet.sql.from_sqlglot import translate
from discreet.sql.functions import DECLARED, DECLARED_OR_NULL
from discreet.sql.owned_rows import Inline, Rows, scanned
from discreet.sql.plan import GroupKey, Measurement
from discreet.sql.relation_facts import Shape, facts, shape
from discreet.sql.row_scope import RowScope
from discreet.sql.wording import COUNTED, Edit, Misasked, shown


class Public(Protocol):
    """Public tables, read while a question is planned."""

    def values(self, rows: Rows, column: str, /) -> tuple[object, ...]:
        """The values of a column, in their own order."""
        ...

    def answered(self, query: exp.Query, /) -> Inline:
        """The answer to a question about public tables alone, as rows."""
        ...

    def alike(self, rows: Rows, values: tuple[Expression, ...], /) -> int:
        """The largest number of rows that have the same values; of no values, all rows."""
        ...


class NoPublic:
    """Where no public table is at hand."""

    def values(self, _: Rows, column: str, /) -> tuple[object, ...]:
        """Refused."""
        raise Refusal(f"the values of {column!r} are not at hand", hint="ask a curator")

    def answered(self, query: exp.Query, /) -> Inline:
        """Refused."""
        raise Refusal(f"{shown(query)} cannot be answered here", hint="ask a curator")

    def alike(self, _: Rows, __: tuple[Expression, ...], /) -> int:
        """Taken for one: nothing is read here, so nothing is multiplied."""
        return 1


def group_key(node: exp.Expr, name: str, reading: RowScope, public: Public) -> GroupKey:
    """One key, with its values where they are public."""
    expression = translate(node, reading.column)
    known = facts(expression, reading.shape)
    names = sorted(column for _, column in known.carries & owners(scanned(reading.rows)))
    if known.unit or names:
        disguised = "" if known.unit else f": it is made of {names[0]}, which says who they are"
        raise Misasked(
            f"GROUP BY {shown(node)} gives one group per person{disguised}",
            hint="group by something that people share",
            node=node,
            edits=[COUNTED],
        )
    if expression.type is Type.DOUBLE and _is_whole(expression):
        expression = Call("cast", (expression,), Type.BIGINT)
    values = (
        domain(expression, reading.shape)
        if reading.outer is None
        else _kept_values(node, expression, reading.outer, public)
    )
    if expression.type is Type.DOUBLE and values is None:
        raise Misasked(
            f"GROUP BY {shown(node)} groups by a number with digits after the point",
            hint=f"group by whole numbers: CAST(FLOOR({shown(node)}) AS BIGINT)",
            node=node,
            edits=[Edit(same, "CAST(FLOOR({}) AS BIGINT)") for same in _everywhere(node)],
        )
    return GroupKey(name, expression, values)


def refuse_links(measurement: Measurement, targets: frozenset[tuple[str, str]]) -> None:
    """Refuse groups by the key of a link: a value of it has one owner, so no group would ever be shown."""
    leading = targets | links(scanned(measurement.rows))
    for key in measurement.keys:
        names = sorted(column for _, column in facts(key.expression, measurement.shape).carries & leading)
        if key.values is None and names:
            made = "" if isinstance(key.expression, Field) else "what is made of "
            raise Misasked(
                f"GROUP BY {made}{names[0]} gives groups of one person each: its values lead to one owner each",
                hint="group by something that people share, or count them",
                edits=[COUNTED],
            )


def _everywhere(node: exp.Expr) -> list[exp.Expr]:
    """The same words wherever the SELECT says them outside an aggregate."""
    select = node.find_ancestor(exp.Select)
    items = select.expressions if select is not None else []
    return [node, *(item.unalias() for item in items if item.unalias().sql() == node.sql())]


def _is_whole(expression: Expression) -> bool:
    """Whether a double is a whole number by the way it is made."""
    match expression:
        case Call("floor" | "ceil", _, _) | Call("round", (_,), _):
            return True
        case Call("round", (_, Literal(int(digits), _)), _):
            return digits <= 0
        case Call("+" | "-" | "*" | "negative", arguments, _):
            return all(_is_whole(argument) for argument in arguments)
        case Literal(value, _):
            return isinstance(value, int)
        case _:
            return expression.type is Type.BIGINT


def _kept_values(node: exp.Expr, expression: Expression, outer: Rows, public: Public) -> tuple[Key, ...]:
    if not isinstance(expression, Field) or expression.name not in shape(outer).columns:
        raise Refusal(
            f"GROUP BY {shown(node)}: where public rows are kept, their own columns are the groups",
            hint="group by a column of the public table",
        )
    return _keys(public.values(outer, expression.name), expression.type)


def _keys(values: Iterable[object], kind: Type) -> tuple[Key, ...]:
    """Values of a type as keys, each once."""
    return tuple(dict.fromkeys(canonical(value, kind) for value in values))


_WIDER = ((Type.DATE, Type.TIMESTAMP), (Type.BIGINT, Type.DOUBLE))


def domain(expression: Expression, below: Shape) -> tuple[Key, ...] | None:
    """The values that an expression can have, if they follow from what is declared; rows with others are left out."""
    values = _values(expression, below)
    return None if values is None else _keys(values, expression.type)


def _values(expression: Expression, below: Shape) -> Iterable[object] | None:  # noqa: PLR0911  # one case a kind
    match expression:
        case Field():
            keys = below.columns[expression.name].keys
            return (False, True) if keys is None and expression.type is Type.BOOLEAN else keys
        case Literal(value, _):
            return (value,)
        case Case(branches, otherwise, _):
            parts = [_values(value, below) for value in (*(value for _, value in branches), otherwise)]
            known = [part for part in parts if part is not None]
            return [key for part in known for key in part] if len(known) == len(parts) else None
        case Call("lower" | "upper", (argument,), _):
            texts = domain(argument, below)
            changed = str.lower if expression.function == "lower" else str.upper
            plain = texts is not None and all(isinstance(key, str) and key.isascii() for key in texts)
            return [changed(str(key)) for key in texts or ()] if plain else None
        case Call("cast", (argument,), kind) if (argument.type, kind) in _WIDER:
            return _values(argument, below)
        case Call(_, _, Type.BOOLEAN):
            return False, True
        case _:
            return None


def among(expression: Expression, values: tuple[Key, ...]) -> Call:
    """Whether an expression has one of these values, which may be NULL."""
    listed = tuple(Literal(value, expression.type) for value in values if value is not None)
    return Call(DECLARED_OR_NULL if None in values else DECLARED, (expression, *listed), Type.BOOLEAN)


def answered(predicate: Expression) -> GroupKey | None:
    """The key that a predicate holds to its values; None of a predicate that the question wrote."""
    match predicate:
        case Call(function, (expression, *listed), _) if function in (DECLARED, DECLARED_OR_NULL):
            values = tuple(
                each.value for each in listed if isinstance(each, Literal) and not isinstance(each.value, float)
            )
            return GroupKey("", expression, (*values, None) if function == DECLARED_OR_NULL else values)
        case _:
            return None
