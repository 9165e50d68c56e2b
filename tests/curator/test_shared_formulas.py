"""What a question names once and uses twice is one part of two others: tracing and error bars go to each part once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction

import clinic
import pytest

from discreet.curator import answer_formulas, formula, postprocessing
from discreet.curator.formula import (
    Constant,
    Formula,
    Leaf,
    Noisy,
    Product,
    Sum,
    every,
    folded,
    handy,
    ratio,
)
from discreet.curator.intervals import Barred, bare, declared, enclosed, jet
from discreet.mechanisms import LaplaceVector
from discreet.sql.split_at_noise import question

STEPS = 40  # each of which uses the last one twice: 2⁴⁰ parts if it were a tree
A = Leaf("#0", None, 0)


def chained(step: str, steps: int = STEPS, first: str = "SELECT count(*) AS a FROM visits", table: str = "c{}") -> str:
    """A question in which each query uses the number of the last one."""
    queries = [f"c{i} AS (SELECT {step} AS a FROM {table.format(i - 1)})" for i in range(1, steps + 1)]
    return f"WITH {', '.join([f'c0 AS ({first})', *queries])} SELECT a FROM c{steps}"


def traced(sql: str) -> answer_formulas.Side:
    (side,) = postprocessing.upper(question(sql, clinic.schema(max_rows=1, max_groups=1))).sides
    return side


def times(monkeypatch: pytest.MonkeyPatch, sql: str, *names: str) -> list[int]:
    """How often tracing a question calls each of these."""
    found = Counter[str]()

    def counted(name: str) -> Callable[..., object]:
        plain = getattr(answer_formulas._Scope, name)

        def called(*args: object) -> object:
            found[name] += 1
            return plain(*args)

        return called

    for name in names:
        monkeypatch.setattr(answer_formulas._Scope, name, counted(name))
    traced(sql)
    return [found[name] for name in names]


@pytest.mark.parametrize("step", ["a + a", "a * a - a", "sqrt(a * a) / (a + 1)", "round(a + a)"])
def test_a_formula_has_a_part_for_each_that_is_written_and_not_for_each_way_to_it(step: str) -> None:
    few, many = (traced(chained(step, steps)).formulas[0] for steps in (STEPS // 2, STEPS))
    assert few is not None
    assert many is not None
    assert len(every(many)) <= 2 * len(every(few)) <= 2 * 10 * STEPS


@pytest.mark.parametrize(
    "sql",
    [
        chained("a + a"),
        chained("a || a", first="SELECT region AS a, count(*) AS n FROM visits GROUP BY region"),  # nowhere noisy
        chained("x.a + y.a", 20, table="c{0} AS x CROSS JOIN c{0} AS y"),
    ],
)
def test_each_expression_is_read_once_in_each_query(monkeypatch: pytest.MonkeyPatch, sql: str) -> None:
    reads, noises = times(monkeypatch, sql, "_read", "_noisy_in")
    assert reads <= 4 * STEPS
    assert 0 < noises <= 4 * STEPS


def test_rows_that_are_joined_with_themselves_double_only_until_the_limit() -> None:
    first = "SELECT region, count(*) AS a FROM visits GROUP BY region"
    for steps, has in ((7, True), (10, False)):
        side = traced(chained("x.a + y.a", steps, first, "c{0} AS x CROSS JOIN c{0} AS y"))
        assert (side.formulas[0] is not None) is has


def test_whatever_is_worked_out_of_a_formula_goes_to_each_part_once() -> None:
    doubled, seen = Sum(Noisy(A), Constant(Fraction(1))), Counter[Formula]()
    for _ in range(STEPS):
        doubled = Sum(doubled, doubled)

    def parts(part: Formula, inner: Sequence[int]) -> int:
        seen[part] += 1
        return len(inner)

    assert folded(doubled, parts) == 2
    assert set(seen.values()) == {1}
    assert len(seen) == len(every(doubled)) == STEPS + 3
    box = {A: (Fraction(1), Fraction(2))}
    line = ratio(doubled)
    assert line is not None
    assert line.above == formula.Linear(Fraction(2**STEPS), {A: Fraction(2**STEPS)})
    assert enclosed(doubled, box) == (2 * 2**STEPS, 3 * 2**STEPS)
    assert jet(doubled, box).slope == {A: (2.0**STEPS, 2.0**STEPS)}
    assert bare(doubled) is doubled  # nothing in it changes, so that it is the same graph
    assert declared(doubled) is None


def test_numbers_that_grow_beyond_all_use_have_no_error_bar() -> None:
    """Of squares of squares each is twice as long as the last: after 40 steps, of 10¹² digits."""
    thousand: Formula = Constant(Fraction(1000))
    for _ in range(STEPS):
        thousand = Product(thousand, thousand)
    assert ratio(thousand) is None
    assert declared(thousand) is None
    barred = Barred(Sum(Noisy(A), thousand), lambda _: LaplaceVector(Fraction(4)), Fraction(1, 20))
    assert barred.at([({A: 5}, {}), ({A: 6}, {})]) == [None, None]
    assert handy(Fraction(10) ** 300)
    assert not handy(Fraction(1, 10**4000))


@pytest.mark.parametrize("number", ["1e400000000", "1e-400000000", "0e400000000"])
def test_a_literal_that_would_fill_the_memory_is_not_written_out(number: str) -> None:
    """A few letters of a question are a fraction of 400 million digits: explaining it, which is free, took for ever."""
    assert traced(f"SELECT count(*) * {number} FROM visits").formulas == (None,)
    assert traced("SELECT count(*) * 1e300 FROM visits").formulas != (None,)
