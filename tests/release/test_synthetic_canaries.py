"""Each synthesiser is audited in one run: who sees the rows and the model guesses which canaries were in.

A canary has a key of its own in every column. Risk of a false alarm: 1e-6 for each audit.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from doubles import Seeded

from discreet.audit import OneRun, audit_one_run
from discreet.declared.group_key import Type
from discreet.mechanisms import Column, Frame
from discreet.privacy import Concentrated
from discreet.release import (
    CliqueTreeSynthesis,
    DirectSynthesis,
    IndependentSynthesis,
    SpanningTreeSynthesis,
    Wish,
    publication,
)

MANY = 80
CLAIM = Concentrated("0.001")
THREE, TWO = ("x", "y", "z"), ("x", "y")
SYNTHESISERS = [IndependentSynthesis, SpanningTreeSynthesis, CliqueTreeSynthesis]


def audited(maker: Any, columns: tuple[str, ...], rho: Fraction) -> OneRun:  # noqa: ANN401
    mechanism = maker(columns, (MANY,) * len(columns), rho, rows=200)

    def train(inside: Sequence[int]) -> Any:  # noqa: ANN401
        places = np.array(inside, dtype=np.int64)

        def counts(names: tuple[str, ...]) -> np.ndarray:
            table = np.zeros((MANY,) * len(names), dtype=np.int64)
            np.add.at(table, (places,) * len(names), 1)
            return table

        return mechanism(counts, rng=Seeded(1))

    def score(told: Any, canary: int) -> float:  # noqa: ANN401
        alone = sum(float(told.table((name,))[canary]) for name in columns)
        return alone + float((told.rows == canary).all(axis=1).sum())

    return audit_one_run(train, range(MANY), score, CLAIM, delta="1e-7", alpha="1e-6", rng=Seeded(2))


@pytest.mark.parametrize("maker", SYNTHESISERS, ids=lambda maker: maker.__name__)
def test_a_synthesiser_keeps_its_promise_and_one_that_is_paid_less_is_found_out(maker: Any) -> None:  # noqa: ANN401
    assert not audited(maker, THREE, Fraction(1, 1000)).refuted
    assert audited(maker, THREE, Fraction(10**4)).refuted


def audited_days(rho: Fraction) -> OneRun:
    """Each canary has a day of its own."""
    days = [date(2026, 1, 1) + timedelta(days=place) for place in range(MANY)]
    column = Column("day", Type.DATE, bounds=(20_454, 20_454 + MANY - 1))
    wish = Wish.of("synthetic", ("day",), rho=rho, method="independent", bins={"day": "day"}, rows=200)

    def train(inside: Sequence[int]) -> Any:  # noqa: ANN401
        frame = Frame.of({"day": np.array([days[place] for place in inside], dtype="datetime64[D]")}, column)
        return publication(frame, wish)(frame, rng=Seeded(1))

    def score(told: Any, canary: int) -> float:  # noqa: ANN401
        return float(told.counts(("day",))[canary]) + float(told.rows()["day"].to_pylist().count(days[canary]))

    return audit_one_run(train, range(MANY), score, CLAIM, delta="1e-7", alpha="1e-6", rng=Seeded(2))


def test_days_keep_the_promise_too() -> None:
    assert not audited_days(Fraction(1, 1000)).refuted
    assert audited_days(Fraction(10**4)).refuted


def test_the_direct_one_too() -> None:
    assert not audited(DirectSynthesis, TWO, Fraction(1, 1000)).refuted
    assert audited(DirectSynthesis, TWO, Fraction(10**4)).refuted
