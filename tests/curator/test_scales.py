"""How much noise each number gets, computed here from what was declared and from nothing that the curator computes.

One person has at most so many rows in at most so many groups, and a row adds at most so much to a number. Under ε that
times 1/ε is the Laplace scale, under ρ its square over 2ρ the variance, and each number gets the share of the price
that docs/curator.md promises. A person who is replaced is one who goes and one who comes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from clinic import REGIONS

from discreet.curator.noisy_statistics import Group, measure
from discreet.curator.price import Priced, priced
from discreet.declared.column import Column
from discreet.declared.group_key import Type
from discreet.declared.table import Schema, Table
from discreet.engines import Counted
from discreet.ledger.entry_kinds import BudgetLoss
from discreet.mechanisms import GaussianKeys, GaussianVector, LaplaceKeys, LaplaceVector, Quantile
from discreet.privacy import AddRemove, Approximate, Concentrated, Neighbours, Pure, Replace
from discreet.sql.plan import Part, Rank, Statistic
from discreet.sql.split_at_noise import question

PLACES = 20_000
RELATIONS = [AddRemove("patient"), Replace("patient")]
CAPS = [(1, 1), (7, 3), (4, 9)]
BOUNDS = [(0, 1000, Fraction(1, 100)), (-3, 4, Fraction(1)), (-10, 2, Fraction(1)), (5, 8, Fraction(1, 2))]


def schema(bounds: tuple[int, int, Fraction], caps: tuple[int, int], places: int) -> Schema:
    low, high, step = bounds
    columns = (
        Column("patient", Type.BIGINT),
        Column("region", Type.VARCHAR, keys=REGIONS),
        Column("place", Type.BIGINT, keys=tuple(range(places))),
        Column("diagnosis", Type.VARCHAR),
        Column("cost", Type.DOUBLE, (Fraction(low), Fraction(high)), step),
        Column("urgent", Type.BOOLEAN),
    )
    return Schema({"visits": Table("visits", columns, "patient", "patient", *caps)})


@dataclass(frozen=True)
class SharedValue:
    """What was declared."""

    low: int
    high: int
    step: Fraction
    rows: int
    groups: int
    places: int = 2

    @property
    def largest(self) -> Fraction:
        return Fraction(max(abs(self.low), abs(self.high)))

    @property
    def half(self) -> Fraction:
        """From the step in the middle to the farther end: of an odd number of steps the longer half."""
        return math.ceil((self.high - self.low) / self.step / 2) * self.step


# What a question is made of: the number, by how much one person changes it, and its weight in the price.
Number = tuple[str, Callable[[SharedValue], Fraction | int], Fraction | int]
COUNTS: dict[str, list[Number]] = {
    "count(*)": [("rows", lambda f: f.rows, 1)],
    "count(cost)": [("present", lambda f: f.rows, 1)],
    "count(DISTINCT patient)": [("units", lambda f: f.groups, 1)],
    "count(DISTINCT cost)": [("distinct", lambda f: f.rows, 1)],
    "sum(CASE WHEN urgent THEN 1 ELSE 0 END)": [("total", lambda f: f.rows, 1)],
    "sum(CASE WHEN urgent THEN -3 ELSE 2 END)": [("total", lambda f: 3 * f.rows, 1)],
}
AMOUNTS: dict[str, list[Number]] = {
    "sum(cost)": [("total", lambda f: f.rows * f.largest, 1)],
    "sum(cost) FILTER (WHERE urgent)": [("total", lambda f: f.rows * f.largest, 1)],
    "sum(-cost)": [("total", lambda f: f.rows * f.largest, 1)],
    "sum(cost + 1)": [("total", lambda f: f.rows * max(abs(f.low + 1), abs(f.high + 1)), 1)],
    "sum(abs(cost))": [("total", lambda f: f.rows * f.largest, 1)],
    "avg(cost)": [("present", lambda f: f.rows, 1), ("centred", lambda f: f.rows * f.half, Fraction(8, 5))],
    "var_pop(cost)": [
        ("present", lambda f: f.rows, 1),
        ("centred", lambda f: f.rows * f.half, Fraction(8, 5)),
        ("squares", lambda f: f.rows * f.half**2, Fraction(8, 5)),
    ],
}
NUMBERS = {**COUNTS, **AMOUNTS}


@cache
def planned(sql: str, facts: SharedValue) -> tuple[Part, ...]:
    declared = schema((facts.low, facts.high, facts.step), (facts.rows, facts.groups), facts.places)
    return question(sql, declared).parts


def bought(sql: str, facts: SharedValue, loss: BudgetLoss, neighbours: Neighbours) -> Priced:
    (found,) = priced(planned(sql, facts), loss, neighbours)
    assert found.loss == loss  # the whole price and no more
    return found


def unit(what: Statistic) -> Fraction:
    """What one whole number of the noise stands for."""
    if what.grid is None:
        return Fraction(1)
    return what.grid.step**2 if what.kind == "squares" else what.grid.step


@pytest.mark.parametrize("grouped", ["", " GROUP BY region"])
@pytest.mark.parametrize("neighbours", RELATIONS, ids=str)
@pytest.mark.parametrize("caps", CAPS, ids=str)
@pytest.mark.parametrize("bounds", BOUNDS, ids=str)
def test_every_number_gets_the_noise_of_what_one_person_can_change(
    bounds: tuple[int, int, Fraction], caps: tuple[int, int], neighbours: Neighbours, grouped: str
) -> None:
    declared = SharedValue(*bounds, *caps)
    # Nobody is in more groups than there are, and without GROUP BY there is one.
    facts = replace(declared, groups=min(declared.groups, len(REGIONS)) if grouped else 1)
    changes = 1 if isinstance(neighbours, AddRemove) else 2  # one goes; or one goes and one comes
    for asked, numbers in NUMBERS.items():
        whole = sum((Fraction(weight) for _, _, weight in numbers), start=Fraction(0))
        for loss in (Pure(Fraction(3, 4)), Concentrated(Fraction(1, 8))):
            found = bought(f"SELECT {asked} FROM visits{grouped}", declared, loss, neighbours)
            assert len(found.charges) == len(numbers), asked
            for charge, (kind, reach, weight) in zip(found.charges, numbers, strict=True):
                what, share = charge.what, Fraction(weight) / whole
                assert isinstance(what, Statistic)
                assert what.kind == kind
                if isinstance(loss, Pure):
                    assert isinstance(charge.mechanism, LaplaceVector)
                    scale = charge.mechanism.scale * unit(what)
                    assert scale == changes * reach(facts) / (loss.epsilon * share), asked
                else:
                    assert isinstance(charge.mechanism, GaussianVector)
                    # A person counts once in each of their groups, and squares add up: the root of the groups.
                    squared = facts.groups if kind == "units" else reach(facts) ** 2
                    expected = changes**2 * squared / (2 * loss.rho * share)
                    variance = charge.mechanism.variance * unit(what) ** 2
                    assert expected <= variance <= expected * (1 + Fraction(1, 10**6)), asked


@pytest.mark.parametrize("neighbours", RELATIONS, ids=str)
@pytest.mark.parametrize("caps", CAPS, ids=str)
def test_a_quantile_pays_half_for_itself_and_a_quarter_for_each_end(
    caps: tuple[int, int], neighbours: Neighbours
) -> None:
    facts = SharedValue(-3, 4, Fraction(1), *caps)
    changes = 1 if isinstance(neighbours, AddRemove) else 2
    for asked, bracketed in (("median(cost)", True), ("min(cost)", False), ("max(cost)", False)):
        for loss in (Pure(Fraction(3, 4)), Concentrated(Fraction(1, 8))):
            (charge,) = bought(f"SELECT {asked} FROM visits", facts, loss, neighbours).charges
            assert isinstance(charge.what, Rank)
            assert isinstance(charge.mechanism, Quantile)
            assert charge.mechanism.max_rows == facts.rows
            assert (charge.mechanism.lower, charge.mechanism.upper) == (Fraction(-3), Fraction(4))
            whole = (charge.mechanism.epsilon, *(end.epsilon for end in charge.ends(Fraction(0))))
            assert len(whole) == (3 if bracketed else 1)
            if isinstance(loss, Pure):
                assert sum(whole) * changes == loss.epsilon
                assert whole[0] == loss.epsilon / changes / (2 if bracketed else 1)
            else:  # a choice by exponential weights that is ε-DP is ε²/8-zCDP
                spent = sum((changes * epsilon) ** 2 / 8 for epsilon in whole)
                assert loss.rho * (1 - Fraction(1, 10**6)) <= spent <= loss.rho


@pytest.mark.parametrize("groups", [1, 3, 9])
def test_naming_groups_gets_its_share_and_all_of_the_delta(groups: int) -> None:
    facts = SharedValue(0, 10, Fraction(1), 7, groups)
    sql = "SELECT diagnosis, count(*), sum(cost) FROM visits GROUP BY diagnosis"
    naming, *numbers = bought(sql, facts, Approximate(1, "1e-6"), AddRemove("patient")).charges
    assert naming.what is None
    assert isinstance(naming.mechanism, LaplaceKeys)
    assert naming.mechanism.privacy == Approximate(Fraction(1, 3), "1e-6")
    assert naming.mechanism.max_groups == groups
    assert [each.mechanism.scale for each in numbers] == [3 * 7, 3 * 70]  # type: ignore[union-attr]
    naming, *numbers = bought(sql, facts, Concentrated("0.5", "1e-6"), AddRemove("patient")).charges
    assert isinstance(naming.mechanism, GaussianKeys)
    assert naming.mechanism.privacy == Concentrated(Fraction(1, 6), "1e-6")
    assert naming.mechanism.max_groups == groups


class Empty:
    """An engine that finds no rows: a test double for what is read, not for the noise."""

    def counted(self, _: object, /) -> Counted:
        return Counted({}, {})

    def distinct(self, _: object, __: object, /) -> dict[Group, int]:
        return {}

    def ranked(self, _: object, __: object, /) -> dict[Group, dict[int, int]]:
        return {}


@pytest.mark.parametrize("loss", [Pure(1), Concentrated(Fraction(1, 2))])
def test_what_is_drawn_follows_the_scale(loss: Pure | Concentrated) -> None:
    """A count, a sum and an average, by their distribution functions: a true one fails once in 10^10 runs."""
    facts = SharedValue(0, 100, Fraction(1), 5, 2, PLACES)
    sql = "SELECT place, count(*), sum(cost), avg(cost) FROM visits GROUP BY place"
    price = bought(sql, facts, loss, AddRemove("patient"))
    order = [charge.what.kind for charge in price.charges if isinstance(charge.what, Statistic)]
    assert order == ["rows", "total", "present", "centred"]
    seen = np.array(measure(price, Empty()).values, dtype=np.float64)
    assert seen.shape == (PLACES, 4)
    weights, reaches = (1.0, 1.0, 1.0, 1.6), (5, 500, 5, 250)
    for column, weight, reach in zip(seen.T, weights, reaches, strict=True):
        values, times = np.unique(column, return_counts=True)
        if isinstance(loss, Pure):
            q = math.exp(-weight / (reach * sum(weights)))
            law = np.where(values >= 0, 1 - q ** (np.abs(values) + 1) / (1 + q), q ** np.abs(values) / (1 + q))
        else:
            deviation = math.sqrt(reach**2 * sum(weights) / weight)
            law = np.array([math.erfc(-(n + 0.5) / deviation / math.sqrt(2)) / 2 for n in values])
        assert np.abs(np.cumsum(times) / PLACES - law).max() < math.sqrt(math.log(2 / 1e-10) / (2 * PLACES))
