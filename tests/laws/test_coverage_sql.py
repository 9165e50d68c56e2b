"""Every number that SQL states with an error is covered by it, and no error is much wider than it has to be.

One question with 2,000 declared groups that hold the same rows is 2,000 independent runs of the noise. What is true
comes from plain DuckDB; the best width from the noises' laws, drawn and weighed here by other code.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TypeVar

import clinic
import duckdb
import numpy as np
import pyarrow as pa
import pytest
from covering import RUNS, Coverage, coverage
from doubles import Seeded

from discreet.curator import Curator, postprocessing
from discreet.curator.error_bars import Spans
from discreet.curator.noisy_statistics import Engine, Group, measure
from discreet.curator.price import Priced
from discreet.curator.purchase import BoughtTable
from discreet.curator.quote import Terms
from discreet.engines import Counted
from discreet.mechanisms import GaussianVector, LaplaceVector
from discreet.sql.plan import Measurement, Rank, Statistic

pytestmark = pytest.mark.slow

GROUPS = tuple(f"g{i}" for i in range(RUNS))
V = TypeVar("V")
LAWS = ("epsilon", "rho")
CONFIDENCE = Fraction(95, 100)
SHORT = 20  # groups of which noise chooses some


class Repeated:
    """An engine that finds in every group what is in the first one."""

    def __init__(self, inner: Engine, groups: Sequence[str]) -> None:
        self._inner, self._groups = inner, groups

    def counted(self, measurement: Measurement, /) -> Counted:
        found = self._inner.counted(measurement)
        return Counted(self._all(found.units), self._all(found.values))

    def distinct(self, measurement: Measurement, statistic: Statistic, /) -> Mapping[Group, int]:
        return self._all(self._inner.distinct(measurement, statistic))

    def ranked(self, measurement: Measurement, rank: Rank, /) -> Mapping[Group, Mapping[int, int]]:
        return self._all(self._inner.ranked(measurement, rank))

    def _all(self, found: Mapping[Group, V]) -> dict[Group, V]:
        return dict.fromkeys(((name,) for name in self._groups), found[("g0",)])


def people(rows: int) -> pa.Table:
    """One row a person, all in the first group; costs on the grid, some of them NULL, a third of the rest urgent."""
    rng = random.Random(rows)
    made = []
    for person in range(rows):
        cost = None if rng.random() < 0.1 else round(rng.gammavariate(2.0, 120.0), 2)
        urgent = None if rng.random() < 0.05 else rng.random() < 0.3
        made.append((person, "g0", "d", None if cost is None else min(cost, 1000.0), clinic.START, urgent))
    return clinic.table(made)


def terms_of(law: str, price: str, confidence: Fraction = CONFIDENCE) -> Terms:
    """The terms of a question at this price."""
    if law == "rho":
        return Terms(rho=price, confidence=confidence, fresh=True)  # what was bought before is no new run
    return Terms(epsilon=price, confidence=confidence, fresh=True)


@dataclass(frozen=True)
class World:
    """A home, the engine over it, and its rows."""

    curator: Curator
    rows: pa.Table
    law: str

    def priced(self, sql: str, price: str) -> tuple[Priced, ...]:
        asked = terms_of(self.law, price)
        return self.curator._priced(self.curator._question(sql, asked).every_part, asked)

    def truth(self, expression: str) -> float:
        with duckdb.connect() as plain:
            plain.register("visits", self.rows)
            found = plain.execute(f"SELECT {expression} FROM visits").fetchone()
        assert found is not None
        return float(found[0])


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., World]:
    made: dict[tuple[str, int, int], World] = {}

    def world(law: str, size: int, groups: int = RUNS) -> World:
        if (law, size, groups) not in made:
            rows = people(size)
            terms = {"max_rows": 1, "max_groups": 1, "keys": {"region": GROUPS[:groups]}, "delta": "0"}
            if law == "rho":
                terms |= {"epsilon": None, "rho": 10**6}
            else:
                terms |= {"epsilon": 10**6}
            folder: Path = tmp_path_factory.mktemp("home") / "home"
            made[law, size, groups] = World(Curator(clinic.home(folder, rows, **terms)), rows, law)
        return made[law, size, groups]

    return world


def asked(world: World, expression: str, price: str, confidence: Fraction = CONFIDENCE) -> Coverage:
    """How often the error bars of an expression cover what plain DuckDB says it is."""
    curator, sql = world.curator, f"SELECT region, {expression} AS x FROM visits GROUP BY region"
    engine = Repeated(curator._store, GROUPS)
    seed = len(expression) + 1000 * len(price)
    answer = curator._answer(sql, terms_of(world.law, price, confidence), engine, Seeded(seed))
    spans = [row[1] for row in answer.spans]
    assert len(spans) == RUNS
    for row, span in zip(answer.rows, spans, strict=True):
        assert span is not None
        assert span[0] <= float(row[1]) <= span[1]  # type: ignore[arg-type]
    true = world.truth(expression)
    slack = 1e-9 * max(1.0, abs(true))  # plain DuckDB sums doubles
    return coverage([true] * RUNS, [(low - slack, high + slack) for low, high in filter(None, spans)])


@dataclass(frozen=True)
class Case:
    """An expression, and the same as a function of its statistics in the order in which they are measured."""

    expression: str
    of: Callable[..., float]


STEP = 0.01  # of the grid on which costs lie
MIDDLE = 50_000

CASES = {
    "count": Case("count(*)", lambda n: n),
    "sum": Case("sum(cost)", lambda t: t * STEP),
    "avg": Case("avg(cost)", lambda n, c: (c / n + MIDDLE) * STEP),
    "variance": Case("var_pop(cost)", lambda n, c, q: (q / n - (c / n) ** 2) * STEP**2),
    "sample": Case("variance(cost)", lambda n, c, q: (q - c * c / n) / (n - 1) * STEP**2),
    "stddev": Case("stddev(cost)", lambda n, c, q: math.sqrt((q - c * c / n) / (n - 1)) * STEP),
    "share": Case("100.0 * count(*) FILTER (WHERE urgent) / count(*)", lambda a, n: 100 * a / n),
    "guarded": Case("100.0 * count(*) FILTER (WHERE urgent) / nullif(count(*), 0)", lambda a, n: 100 * a / n),
    "mean": Case("sum(cost) / count(*)", lambda t, n: t * STEP / n),
    "parts": Case("count(urgent) - 2 * count(cost) + 3.5", lambda u, c: u - 2 * c + 3.5),
    "twice": Case("(count(*) - count(urgent)) * 1.0 / count(*)", lambda n, u: (n - u) / n),
    "difference": Case(
        "avg(cost) FILTER (WHERE urgent) - avg(cost) FILTER (WHERE NOT urgent)",
        lambda n, c, m, d: (c / n - d / m) * STEP,
    ),
    "product": Case("count(*) * avg(cost)", lambda n, m, c: n * (c / m + MIDDLE) * STEP),
}


def drawn(mechanism: LaplaceVector | GaussianVector, rng: np.random.Generator, many: int) -> np.ndarray:
    """Noise by other means: the difference of two geometric numbers, or a normal one, rounded."""
    if isinstance(mechanism, LaplaceVector):
        success = -math.expm1(-1 / float(mechanism.scale))
        return (rng.geometric(success, many) - rng.geometric(success, many)).astype(float)
    return np.rint(rng.normal(0, math.sqrt(mechanism.variance), many))


def best(world: World, case: Case, price: str) -> float:
    """The width that the linear part of the error needs at the truth: no method can do better for small noise."""
    (paid,) = world.priced(f"SELECT region, {case.expression} FROM visits GROUP BY region", price)
    statistics = paid.part.measurement.statistics
    exact = [float(x) for x in world.curator._store.counted(paid.part.measurement).values[("g0",)]]
    assert case.of(*exact) == pytest.approx(world.truth(case.expression), rel=1e-9)
    rng, total = np.random.default_rng(1), np.zeros(400_000)
    for i, statistic in enumerate(statistics):
        mechanism = paid.charge(statistic).mechanism
        assert isinstance(mechanism, (LaplaceVector, GaussianVector))
        step = 1e-4 * max(1.0, abs(exact[i]))
        up, down = (case.of(*[x + sign * step * (j == i) for j, x in enumerate(exact)]) for sign in (1, -1))
        total += (up - down) / (2 * step) * drawn(mechanism, rng, total.size)
    return 2 * float(np.quantile(np.abs(total), float(CONFIDENCE)))


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("name", CASES)
def test_a_number_is_covered_and_its_bar_nearly_as_short_as_can_be(
    worlds: Callable[..., World], name: str, law: str
) -> None:
    world, case, price = worlds(law, 6000), CASES[name], "1" if law == "epsilon" else "0.3"
    found = asked(world, case.expression, price)
    assert not found.refuted(CONFIDENCE), found
    assert found.width <= 1.3 * best(world, case, price), found


@pytest.mark.parametrize(
    ("name", "price"), [("avg", "4"), ("avg", "8"), ("share", "2"), ("share", "8"), ("twice", "4")]
)
def test_ratios_of_narrow_noise_are_covered_and_as_short_as_can_be(
    worlds: Callable[..., World], name: str, price: str
) -> None:
    """A step is about as long as the noise: a bar that is rounded outward would be 1.3 to 1.8 times as wide."""
    world, case = worlds("epsilon", 6000), CASES[name]
    found = asked(world, case.expression, price)
    assert not found.refuted(CONFIDENCE), found
    assert found.width <= 1.15 * best(world, case, price), found


@pytest.mark.parametrize(
    ("name", "law"),
    [(name, "epsilon") for name in ("avg", "stddev", "share", "twice", "difference")]
    + [("avg", "rho"), ("share", "rho")],
)
def test_few_rows_are_covered_too(worlds: Callable[..., World], name: str, law: str) -> None:
    world = worlds(law, 60)
    found = asked(world, CASES[name].expression, "1" if law == "epsilon" else "0.1")
    assert not found.refuted(CONFIDENCE), found


@pytest.mark.parametrize(
    ("name", "confidence"),
    [("count", "0.5"), ("parts", "0.9"), ("avg", "0.99"), ("share", "0.8"), ("difference", "0.9")],
)
def test_other_confidences_hold_as_well(worlds: Callable[..., World], name: str, confidence: str) -> None:
    found = asked(worlds("epsilon", 6000), CASES[name].expression, "0.7", Fraction(confidence))
    assert not found.refuted(Fraction(confidence)), found


@pytest.mark.parametrize("name", ["count", "sum", "avg", "share", "mean", "parts"])
def test_bars_that_promise_less_are_told_apart(worlds: Callable[..., World], name: str) -> None:
    """What is nearly as short as can be at 85 % does not pass for 95 %: the suite would notice."""
    found = asked(worlds("epsilon", 6000), CASES[name].expression, "0.2", Fraction(85, 100))  # noise of many steps
    assert found.refuted(CONFIDENCE), found


@pytest.mark.parametrize(
    ("expression", "law"),
    [
        ("round(avg(cost), 1)", "epsilon"),
        ("cast(avg(cost) AS bigint)", "rho"),
        ("round(100.0 * count(urgent) / count(*))", "epsilon"),
        ("floor(sum(cost))", "rho"),
    ],
)
def test_what_is_rounded_is_covered(worlds: Callable[..., World], expression: str, law: str) -> None:
    found = asked(worlds(law, 6000), expression, "2" if law == "epsilon" else "0.5")
    assert not found.refuted(CONFIDENCE), found


QUANTILES = (
    "median(cost)",
    "percentile_cont(0.9) WITHIN GROUP (ORDER BY cost)",
    "percentile_disc(0.25) WITHIN GROUP (ORDER BY cost)",
    "round(median(cost))",
)


@pytest.mark.parametrize(("expression", "law"), [*((each, "epsilon") for each in QUANTILES), (QUANTILES[0], "rho")])
def test_quantiles_are_covered(worlds: Callable[..., World], expression: str, law: str) -> None:
    found = asked(worlds(law, 1000), expression, "2" if law == "epsilon" else "0.5")
    assert not found.refuted(CONFIDENCE), found
    assert found.width <= 260, found  # of a range of 1000; at level 0.5 about 60


def test_quantiles_of_few_rows_are_covered(worlds: Callable[..., World]) -> None:
    found = asked(worlds("epsilon", 60), "median(cost)", "2")
    assert not found.refuted(CONFIDENCE), found


# rows that noise chose ------------------------------------------------------------------------------------------------

CHOSEN: dict[str, tuple[str, Callable[[Sequence[int]], int]]] = {
    "largest": ("ORDER BY count(*) DESC LIMIT 1", lambda counts: int(np.argmax(counts))),
    "smallest": ("ORDER BY count(*) LIMIT 1", lambda counts: int(np.argmin(counts))),
    "above": ("HAVING count(*) > 65", lambda counts: int(np.argmax(np.array(counts) > 65))),  # the first of them
}


@pytest.mark.parametrize(("name", "law"), [("largest", "epsilon"), ("smallest", "rho"), ("above", "epsilon")])
def test_rows_that_noise_chose_are_covered(worlds: Callable[..., World], name: str, law: str) -> None:
    """The largest of twenty equal counts is the luckiest: its own bar is missed far more often than 5 % of the time."""
    world, price = worlds(law, 60, SHORT), "0.5" if law == "epsilon" else "0.05"
    clause, choose = CHOSEN[name]
    sql = f"SELECT region, count(*) AS n FROM visits GROUP BY region {clause}"
    (paid,) = world.priced(sql, price)
    sides = postprocessing.upper(world.curator._question(sql, terms_of(law, price))).sides
    assert [side.chosen for side in sides] == [True]
    engine, rng = Repeated(world.curator._store, GROUPS[:SHORT]), Seeded(7)
    error = float(paid.charge(paid.part.measurement.statistics[0]).mechanism.error(CONFIDENCE))
    naive, fair = [], []
    for _ in range(RUNS):
        noisy = measure(paid, engine, rng=rng)
        place = choose([row[0] for row in noisy.values])
        value = noisy.values[place][0]
        bars = Spans(sides, {paid.part.name: BoughtTable(paid, noisy, 0)}, 1 - CONFIDENCE)
        ((_, span),) = bars.of([("", value)], [(place,)])
        assert span is not None
        fair.append(span)
        naive.append((value - error, value + error))
    assert not coverage([60.0] * RUNS, fair).refuted(CONFIDENCE)
    assert coverage([60.0] * RUNS, naive).refuted(CONFIDENCE)
