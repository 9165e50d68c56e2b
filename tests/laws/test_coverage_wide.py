"""Bars of sums beyond what machine integers hold, and of sums over rows that a cap chose, cover what they are about."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from statistics import NormalDist

import pyarrow as pa
import pytest
from covering import RUNS, Coverage, coverage
from doubles import Seeded

from discreet.curator import catalogue, postprocessing
from discreet.curator.answer import estimates
from discreet.curator.custody import Custody, Declared, found_home
from discreet.curator.error_bars import Spans
from discreet.curator.noisy_statistics import measure
from discreet.curator.price import priced
from discreet.curator.purchase import BoughtTable
from discreet.declared.group_key import Key
from discreet.engines import Counted, DuckStore
from discreet.privacy import AddRemove, Approximate, Concentrated
from discreet.sql.plan import Measurement, Rank, Statistic
from discreet.sql.split_at_noise import question

pytestmark = pytest.mark.slow

SURE = Fraction(95, 100)
PEOPLE, ROWS, CAP = 400, 7, 5
LOSSES = [Approximate(1), Concentrated(Fraction(1, 2))]


class Once:
    """What an engine counts, read once: only the noise is drawn anew."""

    def __init__(self, counted: Counted) -> None:
        self._counted = counted

    def counted(self, _: Measurement, /) -> Counted:
        return self._counted

    def distinct(self, _: Measurement, __: Statistic, /) -> dict[tuple[Key, ...], int]:
        return {}

    def ranked(self, _: Measurement, __: Rank, /) -> dict[tuple[Key, ...], dict[int, int]]:
        return {}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wide") / "home"
    found_home(folder)
    who = [i // ROWS for i in range(PEOPLE * ROWS)]
    moments = [1_600_000_000_000_000_000 + 12_345_678_901_234 * i for i in range(PEOPLE * ROWS)]
    said = Declared(unit="who", epsilon=1, max_rows=CAP, bounds={"moment": (0, 2 * 10**18)})
    Custody(folder).add("t", pa.table({"who": who, "moment": moments}), said)
    return folder


@pytest.mark.parametrize("loss", LOSSES, ids=["laplace", "gaussian"])
def test_a_sum_of_nanoseconds_under_a_cap(home: Path, loss: Approximate | Concentrated) -> None:
    """About the rows that are kept. The best bar has the exact quantile of its noise."""
    asked = question("SELECT sum(moment) FROM t", catalogue.read(home).schema)
    (price,), upper = priced(asked.parts, loss, AddRemove("who")), postprocessing.upper(asked)
    store = DuckStore(home / "tables")
    exact = store.counted(price.part.measurement)
    truth = exact.values[()][0]
    assert truth > 1 << 70
    rng, spans = Seeded(11), []
    for _ in range(RUNS):
        noisy = measure(price, Once(exact), rng=rng)
        table = postprocessing.noisy_table(price.part, noisy.groups, estimates(price.part, noisy.values))
        result = postprocessing.run(upper, {price.part.name: table}, {})
        bars = Spans(upper.sides, {price.part.name: BoughtTable(price, noisy, 1)}, 1 - SURE)
        ((span,),) = bars.of(result.rows, result.hidden)
        assert span is not None
        spans.append(span)
    found = coverage([float(truth)] * RUNS, spans)
    reach = CAP * 2 * 10**18
    sigma = reach / math.sqrt(2 * 0.5)
    best = 2 * (reach * math.log(20) if isinstance(loss, Approximate) else sigma * NormalDist().inv_cdf(0.975))
    assert not found.refuted(SURE), found
    assert found.width <= 1.3 * best, found
    assert Coverage(round(0.9 * RUNS), RUNS).refuted(SURE)  # and so it would be if one in ten were missed
