"""Facts about an expression that follow from those of its columns: its range, its step, and what it is made of.

Of which columns' values a value is made says whether who people are is known again under another name. `patient + 0`, a
cast of it, a CASE that gives it and the least of one person's are the patient still. A truth value is not, nor a
length, nor a number that has few values by the way it is made: many people share each of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction

from discreet.declared.group_key import Type, number, written
from discreet.declared.table import Table
from discreet.sql.expression import A_DAY, Call, Case, Expression, Field, Literal, parts
from discreet.sql.functions import FUNCTIONS
from discreet.sql.value_range import Range, greatest, least, union

_LENGTHS = {"year": 366, "quarter": 92, "month": 31, "week": 7}  # days that truncation takes away at most; else one
_PARTS = {
    "year": (1, 9999), "quarter": (1, 4), "month": (1, 12), "week": (1, 53), "day": (1, 31), "hour": (0, 23),
    "minute": (0, 59), "dow": (0, 6), "isodow": (1, 7), "doy": (1, 366),
}  # fmt: skip


def ranged(expression: Expression, columns: Mapping[str, Range]) -> Range:
    """The range of an expression; of what is not a number, no ends."""
    match expression:
        case Field():
            return columns[expression.name]
        case Literal():
            return _of_constant(expression)
        case Case():
            values = [value for _, value in expression.branches] + [expression.otherwise]
            known = [value for value in values if not (isinstance(value, Literal) and value.value is None)]
            return union([ranged(value, columns) for value in known]) if known else Range()
        case Call():
            return _range_of_call(expression, columns)


def _of_constant(literal: Literal) -> Range:
    if literal.type.dated and literal.value is not None and literal.stage is None:
        moment = number(literal.value, literal.type, "a constant")
        return Range(moment, moment)
    if isinstance(literal.value, bool) or not isinstance(literal.value, (int, float)) or literal.stage is not None:
        return Range()
    value = Fraction(str(literal.value))
    return Range(value, value)


def _range_of_call(call: Call, columns: Mapping[str, Range]) -> Range:
    ranges = [ranged(argument, columns) for argument in call.arguments]
    if call.function in ("least", "greatest") and call.type.ordered:
        sure = [isinstance(a, Literal) and a.value is not None for a in call.arguments]
        return (least if call.function == "least" else greatest)(ranges, sure)
    if call.function.startswith("extract "):
        return _of_part(call.function.removeprefix("extract "), call.arguments[0].type, ranges[0])
    if call.type.dated and call.function not in ("coalesce", "nullif"):
        return _range_of_moment(call, ranges)
    if call.function == "cast":
        return _of_cast(call.arguments[0].type, call.type, ranges[0])
    if call.function not in FUNCTIONS or not call.type.ordered:
        return Range()
    between = FUNCTIONS[call.function].ranging(ranges)
    return between.whole() if call.type is Type.BIGINT else between  # a quotient of whole numbers is cut to one


def _of_part(part: str, kind: Type, own: Range) -> Range:
    if part == "year":
        return years(own, kind)
    low, high = _PARTS[part]
    return Range(Fraction(low), Fraction(high))


def _of_cast(old: Type, new: Type, own: Range) -> Range:
    if old is Type.BOOLEAN:
        own = Range(Fraction(0), Fraction(1))
    if old.dated or not new.numeric:
        return Range()
    return own.whole() if new is Type.BIGINT else own


def _range_of_moment(call: Call, ranges: list[Range]) -> Range:
    """Between which days or moments a function of some lies."""
    first = call.arguments[0].type if call.arguments else call.type
    own = ranges[0]
    if call.type is Type.TIMESTAMP and first is Type.DATE:
        own = own * _exactly(A_DAY)
    match call.function.split(" "):
        case ["cast"] if first.dated:
            return own if call.type is Type.TIMESTAMP or first is Type.DATE else (own / _exactly(A_DAY)).whole()
        case ["days", "after"] | ["later", "second"]:
            return own + ranges[1]
        case ["days", "before"]:
            return own - ranges[1]
        case ["later", "month"]:
            return own + ranges[1] * Range(Fraction(28 * A_DAY), Fraction(31 * A_DAY))
        case ["date_trunc", unit]:
            return own + Range(Fraction(-_LENGTHS.get(unit, 1) * A_DAY), Fraction(0))
        case _:
            return own if call.function == "moment of seconds" else Range()


def years(own: Range, kind: Type) -> Range:
    """The years of some days or moments, if it is known between which they lie; there are those from 1 to 9999."""
    first, last = (number(f"{end:04}-01-01", kind, "a year") for end in (1, 9999))
    low = first if own.low is None else min(max(own.low, first), last)
    high = last if own.high is None else min(max(own.high, first), last)
    return Range(*(Fraction(int(written(end, kind)[:4])) for end in (low, high)))


def _exactly(value: int) -> Range:
    return Range(Fraction(value), Fraction(value))


Step = Fraction | None  # None: not known; 0: of what is always zero or NULL, a multiple of anything


def step_of(expression: Expression, columns: Mapping[str, Step]) -> Step:
    """The step in which an expression moves, if it follows from the steps of its columns."""
    match expression:
        case Field(name, kind):
            return columns[name] or _of_type(kind)
        case Literal(value, kind):
            if value is None:
                return Fraction(0)
            if isinstance(value, bool) or not isinstance(value, (int, float)) or expression.stage is not None:
                return _of_type(kind)  # what was answered first is noisy: nothing of ours hangs on its digits
            return abs(Fraction(str(value)))
        case Case(branches, otherwise, _):
            return common([step_of(value, columns) for value in (*(value for _, value in branches), otherwise)])
        case Call():
            return _step_of_call(expression, columns)


def _step_of_call(call: Call, columns: Mapping[str, Step]) -> Step:
    steps = [step_of(argument, columns) for argument in call.arguments]
    match call.function:
        case "+" | "-" | "coalesce" | "least" | "greatest":
            return common(steps)
        case "*":
            return None if steps[0] is None or steps[1] is None else steps[0] * steps[1]
        case "/" if call.type is Type.DOUBLE and isinstance(call.arguments[1], Literal):
            return None if steps[0] is None or not steps[1] else steps[0] / steps[1]
        case "negative" | "abs" | "nullif":
            return steps[0]
        case "cast" if call.type is Type.DOUBLE:
            return Fraction(1) if call.arguments[0].type is Type.BOOLEAN else steps[0]
        case _:
            whole = call.function in ("floor", "ceil") or (call.function == "round" and len(steps) == 1)
            return Fraction(1) if whole else _of_type(call.type)


def _of_type(kind: Type) -> Step:
    return Fraction(1) if kind is Type.BIGINT else None


def common(steps: Sequence[Step]) -> Step:
    """The largest step of which all of these are multiples."""
    known = [step for step in steps if step is not None]
    if len(known) < len(steps):
        return None
    bottom = math.lcm(*(step.denominator for step in known))
    return Fraction(math.gcd(*(int(step * bottom) for step in known)), bottom)


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
    carriers = dict(columns)
    for one, two in _equalities(predicate):
        for here, there in ((one, two), (two, one)):
            brought = carried(there, columns)
            for part in parts(here) if brought else ():
                if isinstance(part, Field):
                    carriers[part.name] = carriers.get(part.name, NOTHING) | brought
    return carriers


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
