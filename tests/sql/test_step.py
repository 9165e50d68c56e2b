"""What an expression's step says is true of its values, and no answer loses digits that its columns have."""

from __future__ import annotations

from fractions import Fraction

import clinic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.declared.grid import MOST_STEPS, fine_step, finest_step, usual_step
from discreet.declared.group_key import Type
from discreet.sql.expression import Call, Case, Expression, Field, Literal
from discreet.sql.expression_facts import step_of
from discreet.sql.relation_facts import Facts, Shape, facts
from discreet.sql.split_at_noise import question
from discreet.sql.value_range import Range

_STEPS = {"cost": Fraction(1, 100), "fare": Fraction(1, 8), "age": None}
_KINDS = {"cost": Type.DOUBLE, "fare": Type.DOUBLE, "age": Type.BIGINT}
_FIELDS = [Field(name, kind) for name, kind in _KINDS.items()]
_CONSTANTS = [Literal(value, Type.DOUBLE) for value in (0, 2, 0.25, -3.5, None)]

_EXPRESSIONS: st.SearchStrategy[Expression] = st.recursive(
    st.sampled_from([*_FIELDS, *_CONSTANTS]),
    lambda inner: st.one_of(
        st.builds(
            lambda f, a, b: Call(f, (a, b), Type.DOUBLE), st.sampled_from(["+", "-", "*", "least"]), inner, inner
        ),
        st.builds(lambda f, a: Call(f, (a,), Type.DOUBLE), st.sampled_from(["negative", "abs"]), inner),
        st.builds(lambda a, b: Case(((Literal(value=True, type=Type.BOOLEAN), a),), b, Type.DOUBLE), inner, inner),
    ),
    max_leaves=6,
)


def _values(expression: Expression, row: dict[str, Fraction]) -> list[Fraction]:
    """Every value that an expression may have in a row, whichever branch is taken; none for NULL."""
    match expression:
        case Field(name, _):
            return [row[name]]
        case Literal(value, _):
            return [] if value is None else [Fraction(str(value))]
        case Case(branches, otherwise, _):
            return [value for each in (branches[0][1], otherwise) for value in _values(each, row)]
        case Call(function, arguments, _):
            parts = [_values(argument, row) for argument in arguments]
            if len(parts) == 1:
                return [-value if function == "negative" else abs(value) for value in parts[0]]
            if function == "least":
                return [*parts[0], *parts[1]]
            both = [(a, b) for a in parts[0] for b in parts[1]]
            return [{"+": a + b, "-": a - b, "*": a * b}[function] for a, b in both]


@given(_EXPRESSIONS, st.tuples(*[st.integers(-999, 999)] * 3))
def test_every_value_is_a_multiple_of_the_step(expression: Expression, numbers: tuple[int, int, int]) -> None:
    step = step_of(expression, _STEPS)
    row = {name: Fraction(n) * (_STEPS[name] or 1) for n, name in zip(numbers, _STEPS, strict=True)}
    assert step is not None
    for value in _values(expression, row):
        assert value == 0 if step == 0 else (value / step).denominator == 1


def test_a_quotient_by_a_constant_has_a_step() -> None:
    quarter = Call("/", (_FIELDS[0], Literal(4.0, Type.DOUBLE)), Type.DOUBLE)
    assert step_of(quarter, _STEPS) == Fraction(1, 400)
    assert step_of(Call("/", (_FIELDS[0], Literal(0, Type.DOUBLE)), Type.DOUBLE), _STEPS) is None


@pytest.mark.parametrize("function", ["/", "sqrt", "exp", "ln", "power", "%"])
def test_where_no_step_follows_none_is_said(function: str) -> None:
    assert step_of(Call(function, tuple(_FIELDS[:2]), Type.DOUBLE), _STEPS) is None


def test_a_filtered_column_keeps_its_step_and_one_too_fine_for_a_double_is_none() -> None:
    below = Shape(
        {"cost": Facts(Type.DOUBLE, Range(Fraction(0), Fraction(10**9)), Fraction(1, 100))}, "p", frozenset(), 1, 1
    )
    cost, nothing = Field("cost", Type.DOUBLE), Literal(None, Type.DOUBLE)
    only = Case(((Literal(value=True, type=Type.BOOLEAN), cost),), nothing, Type.DOUBLE)
    assert facts(only, below).step == Fraction(1, 100)
    assert facts(Call("*", (cost, cost), Type.DOUBLE), below).step is None


@pytest.mark.parametrize("span", ["1e-9", "0.001", "1", "100", "5000", "1e6", "1e9"])
def test_without_a_declared_step_bounds_are_cut_finely_and_money_keeps_its_cents(span: str) -> None:
    step = usual_step(Fraction(0), Fraction(span))
    assert (Fraction(1, 100) / step).denominator == 1
    assert Fraction(span) / step >= 1 << 26


@given(st.fractions(), st.fractions(min_value=0))
def test_a_fine_step_cuts_the_range_finely_and_a_double_counts_its_steps(low: Fraction, span: Fraction) -> None:
    step, farthest = fine_step(low, low + span), max(abs(low), abs(low + span))
    assert farthest / step < MOST_STEPS
    assert step <= max(span / (1 << 28), 10 * farthest / MOST_STEPS, Fraction(1, 10**299))


@given(st.fractions(), st.fractions(min_value=0))
def test_the_finest_step_is_the_least_whose_multiples_a_double_counts(low: Fraction, span: Fraction) -> None:
    step, farthest = finest_step(low, low + span), max(abs(low), abs(low + span))
    assert farthest / step < MOST_STEPS
    assert step == Fraction(1, 10**300) or farthest / (step / 10) >= MOST_STEPS


def test_what_is_added_up_is_cut_finer_than_what_is_ranked() -> None:
    (part,) = question("SELECT sum(sqrt(cost)), median(sqrt(cost)) FROM visits", clinic.schema()).parts
    added, ranked = (statistic.grid for statistic in part.measurement.statistics)
    assert added is not None
    assert ranked is not None
    assert MOST_STEPS / 10 <= added.reach < MOST_STEPS
    assert 1 << 28 <= ranked.reach < 10 << 28
