"""Whole numbers of 64 bits are computed with in whole numbers: a double would lose their last digits."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import duckdb
import pytest

from discreet.declared.group_key import Type
from discreet.sql.expression import Call, Field, Literal
from discreet.sql.render import expression

LOWEST, HIGHEST = -(1 << 63), (1 << 63) - 1
NUMBERS = (LOWEST, LOWEST + 1, -(1 << 53) - 1, -7, -1, 0, 1, 3, (1 << 53) + 1, 1_500_000_000_000_000_001, HIGHEST)


def _quotient(a: int, b: int) -> int | None:
    return None if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _remainder(a: int, b: int) -> int | None:
    whole = _quotient(a, b)
    return None if whole is None else a - b * whole


PAIRS: dict[str, Callable[[int, int], int | None]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": _quotient,
    "%": _remainder,
}
SINGLE: dict[str, Callable[[int], int]] = {
    "negative": lambda a: -a,
    "abs": abs,
    "floor": lambda a: a,
    "ceil": lambda a: a,
    "round": lambda a: a,
}


@pytest.fixture(scope="module")
def pairs() -> duckdb.DuckDBPyConnection:
    engine = duckdb.connect()
    listed = ", ".join(f"({a}, {b})" for a, b in itertools.product(NUMBERS, NUMBERS))
    engine.execute(f"CREATE TABLE pairs AS SELECT a::BIGINT AS a, b::BIGINT AS b FROM (VALUES {listed}) AS t(a, b)")
    return engine


def fitting(value: int | None) -> int | None:
    """What does not fit into 64 bits has no answer."""
    return value if value is not None and LOWEST <= value <= HIGHEST else None


@pytest.mark.parametrize("function", [*PAIRS, *SINGLE])
def test_arithmetic_is_exact_and_total(pairs: duckdb.DuckDBPyConnection, function: str) -> None:
    fields = Field("a", Type.BIGINT), Field("b", Type.BIGINT)
    call = Call(function, fields if function in PAIRS else fields[:1], Type.BIGINT)
    found = pairs.execute(f"SELECT a, b, {expression(call)} FROM pairs").fetchall()
    for a, b, ours in found:
        truth = PAIRS[function](a, b) if function in PAIRS else SINGLE[function](a)
        assert ours == fitting(truth), (function, a, b)


@pytest.mark.parametrize(("digits", "truth"), [(2, 1_500_000_000_000_000_001), (0, 1_500_000_000_000_000_001)])
def test_a_whole_number_has_no_digits_to_round(pairs: duckdb.DuckDBPyConnection, digits: int, truth: int) -> None:
    call = Call("round", (Field("a", Type.BIGINT), Literal(digits, Type.BIGINT)), Type.BIGINT)
    found = pairs.execute(f"SELECT DISTINCT {expression(call)} FROM pairs WHERE a = {truth}").fetchall()
    assert found == [(truth,)]
