"""Which columns' values a value is made of: so that who people are is known again under another name.

`patient + 0`, a cast of it, a CASE that gives it and the least of one person's are the patient still. A truth value is
not, nor a length, nor a number that has few values by the way it is made: many people share each of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from discreet.declared.key import Type
from discreet.declared.table import Table
from discreet.sql.expression import Call, Case, Expression, Field, Literal, parts
from discreet.sql.range import Range
from discreet.sql.ranging import ranged

Origin = tuple[str, str]  # a table and its column
Origins = frozenset[Origin]

NOTHING: Origins = frozenset()
_SHARED = 1000  # so few values of a number are not one each for people
_MEASURES = ("length", "position")  # numbers that say nothing of which text it was


def carried(expression: Expression, columns: Mapping[str, Origins]) -> Origins:
    """The columns whose values reach an expression."""
    match expression:
        case Field(name, _):
            return columns.get(name, NOTHING)
        case Case(branches, otherwise, _):
            values = [value for _, value in branches] + [otherwise]
        case Call(function, arguments, kind) if kind is not Type.BOOLEAN and function not in _MEASURES:
            values = list(arguments)
        case _:
            return NOTHING
    reaching = NOTHING.union(*(carried(value, columns) for value in values))
    return NOTHING if reaching and _few(expression) else reaching


def _few(expression: Expression) -> bool:
    """Whether a number has few values whatever the columns hold."""
    if expression.type is not Type.BIGINT:
        return False
    unknown = {part.name: Range() for part in parts(expression) if isinstance(part, Field)}
    ends = ranged(expression, unknown).bounded
    return ends is not None and ends[1] - ends[0] < _SHARED


def shared(predicate: Expression | None, columns: Mapping[str, Origins]) -> Mapping[str, Origins]:
    """What columns carry where a condition holds: two that are equal carry what either does."""
    found = dict(columns)
    for one, two in _equalities(predicate):
        for here, there in ((one, two), (two, one)):
            brought = carried(there, columns)
            for part in parts(here) if brought else ():
                if isinstance(part, Field):
                    found[part.name] = found.get(part.name, NOTHING) | brought
    return found


def _equalities(predicate: Expression | None) -> Iterator[tuple[Expression, Expression]]:
    """The pairs that a condition makes equal."""
    match predicate:
        case Call("and", both, _):
            for part in both:
                yield from _equalities(part)
        case Call("=" | "is" | "in", (value, *others), _):
            yield from ((value, other) for other in others if not isinstance(other, Literal))
        case Call("between", (value, low, high), _) if low == high:
            yield value, low
        case _:
            return


def owners(tables: Iterable[Table]) -> Origins:
    """The columns that name the owners of rows."""
    return frozenset((table.name, table.unit) for table in tables if table.unit is not None)


def links(tables: Iterable[Table]) -> Origins:
    """The columns through which rows find their owners: a value of theirs has one."""
    return frozenset((table.name, table.link[0]) for table in tables if table.link is not None)
