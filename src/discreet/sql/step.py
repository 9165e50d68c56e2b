"""Step of an expression: a number of which its every value is a multiple, given the steps of its columns."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

from discreet.declared.key import Type
from discreet.sql.expression import Call, Case, Expression, Field, Literal

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
            return _of_call(expression, columns)


def _of_call(call: Call, columns: Mapping[str, Step]) -> Step:
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
