"""Which mechanisms run on rows, what one person's rows cost, and that this much is what they lose."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from statistics import NormalDist
from typing import Any, ClassVar

import clinic
import numpy as np
import pytest
from audit.examples import EXAMPLES
from doubles import Seeded
from local.examples import EXAMPLES as CLIENTS
from release.examples import EXAMPLES as RELEASES
from release.examples import OTHERS
from scipy import stats
from stream.examples import EXAMPLES as COUNTERS
from validity.examples import EXAMPLES as TESTS

from discreet.audit import audit
from discreet.curator import Curator, catalogue
from discreet.curator.run import Run, Wanted, planned
from discreet.engines import DuckStore
from discreet.errors import Refusal
from discreet.interval_arithmetic import log
from discreet.mechanisms import REGISTRY, Caps, Grid, Mean, Quantile, SampleAggregate, SmoothMedian, Takes
from discreet.noise import SECURE, Entropy, permutation
from discreet.privacy import AddRemove, Approximate, Concentrated, Neighbours, Pure, Replace
from discreet.sql.cell_numbers import BoundedRows
from discreet.sql.split_at_noise import rows_of

ONES = {**EXAMPLES, **CLIENTS, **RELEASES, **OTHERS, **COUNTERS, **TESTS}
EVERY = {name: some for name, some in ONES.items() if REGISTRY[name].takes is not Takes.RELATION}
# Those of this package that take something else than a relation: a test may have registered others in this process.
REGISTERED = {
    name: kind
    for name, kind in REGISTRY.items()
    if kind.__module__.startswith("discreet.") and kind.takes is not Takes.RELATION
}
OF_ROWS = {
    "mean", "variance", "quantile", "quantile-end", "quantiles", "smooth-median", "pure-median", "proposed-median",
    "posted-price", "rationed-price", "smooth-rank", "pure-rank", "block-mean",
}  # fmt: skip
COSTS = "SELECT cost FROM visits"
OWN = 9  # rows of the person who comes or goes: more than any cap here
RELATIONS = ("add-remove", "replace")


def allowed(_: set[str]) -> None:
    """Everybody may ask about all tables."""


def plan(home: Path, mechanism: Any, sql: str = COSTS, max_rows: int | None = None) -> Run[Any]:  # noqa: ANN401
    known = catalogue.read(home)
    return planned(known, Wanted(sql, lambda _: mechanism, max_rows), rows_of(sql, known.schema), allowed)


# what it takes --------------------------------------------------------------------------------------------------------


def test_every_registered_mechanism_says_what_it_takes() -> None:
    assert set(EVERY) == set(REGISTERED)
    rows = {name for name, kind in REGISTERED.items() if kind.takes in (Takes.ROWS, Takes.OWNED_ROWS)}
    assert rows == OF_ROWS
    owned = {name for name in rows if REGISTERED[name].takes is Takes.OWNED_ROWS}
    assert owned == {name for name in rows if "max_rows" in REGISTERED[name].__dataclass_fields__}


def test_what_takes_no_rows_is_refused_before_anything_is_paid(home: Path) -> None:
    curator = Curator(home)
    entries = len(list(curator.history()))
    for name in sorted(set(REGISTERED) - OF_ROWS):
        for mechanism in EVERY[name]:
            with pytest.raises(Refusal, match=f"^{type(mechanism).__name__} takes .*, and these are rows; ask in SQL"):
                curator.run(mechanism, COSTS, max_rows=1)
    assert curator.budget("patient").spent == Approximate(0)
    assert len(list(curator.history())) == entries


@pytest.mark.parametrize("relation", RELATIONS)
def test_a_promise_over_a_table_is_for_the_neighbours_of_the_budget_or_it_is_refused(
    tmp_path: Path, relation: str
) -> None:
    home = clinic.home(tmp_path / "home", relation=relation)
    for neighbours in (AddRemove("patient"), Replace("patient")):
        histogram = OverTable(neighbours)
        if isinstance(neighbours, AddRemove) == (relation == "add-remove"):
            assert plan(home, histogram).loss == Approximate(1)
        else:
            with pytest.raises(Refusal, match="the budget is for"):
                plan(home, histogram)


@dataclass(frozen=True)
class OverTable:
    """Promises something for the rows of one person in a table."""

    neighbours: Neighbours
    takes: ClassVar[Takes] = Takes.RELATION
    caps: ClassVar[Caps] = Caps(3)
    privacy: ClassVar[Approximate] = Approximate(1)


@dataclass(frozen=True)
class Total:
    """A sum of rows, as somebody might write one; what it takes is what its class says."""

    privacy: ClassVar[Pure] = Pure(1)
    neighbours: ClassVar[Neighbours] = AddRemove()

    def __call__(self, rows: Sequence[Any], /, *, rng: Entropy = SECURE) -> int:
        return len(rows) + rng.bits(1)


class OfRows(Total):
    takes = Takes.ROWS


class OfOwnedRows(Total):
    takes = Takes.OWNED_ROWS


WRONG: list[tuple[Any, str]] = [
    (Total(), "Total does not say what it takes"),
    (allowed, "function does not say what it takes"),
    (type("Loud", (Total,), {"takes": "rows"})(), "Loud does not say"),
    (type("Late", (Total,), {"takes": property(lambda _: Takes.ROWS)})(), "Late does not say"),
    (OfOwnedRows(), "max_rows"),
    (type("Odd", (OfRows,), {"neighbours": None})(), "adding or removing"),
]


def test_what_does_not_say_it_properly_is_refused(home: Path) -> None:
    curator = Curator(home)
    for mechanism, said in WRONG:
        with pytest.raises(Refusal, match=said):
            curator.run(mechanism, COSTS, max_rows=1)
    assert curator.budget("patient").spent == Approximate(0)
    assert curator.run(OfRows(), COSTS, max_rows=1) > 10


# what it costs --------------------------------------------------------------------------------------------------------

GRID = (Fraction(0), Fraction(8), Fraction(1))


class Concentrating(OfRows):
    privacy: ClassVar[Any] = Concentrated(Fraction(1, 200))


def test_a_loss_in_rho_is_charged_to_a_budget_of_epsilon_at_a_delta_that_is_named(home: Path) -> None:
    """For c rows c²ρ, before it is converted: at most the ε of Bun & Steinke 2016, at least that of the Gaussian."""
    curator, delta, cap = Curator(home), 1e-6, 3
    with pytest.raises(Refusal, match=r"an epsilon for every delta; .* delta="):
        curator.run(Concentrating(), COSTS, max_rows=cap)
    assert curator.budget("patient").spent == Approximate(0)
    assert curator.run(Concentrating(), COSTS, max_rows=cap, delta="1e-6") > 10
    (spent,) = (receipt.loss for receipt in curator.history())
    rho, mu = cap**2 / 200, cap / 10
    assert isinstance(spent, Approximate)
    assert spent.delta == Fraction(1, 10**6)
    assert float(spent.epsilon) <= rho + 2 * math.sqrt(rho * math.log(1 / delta))
    epsilon, normal = float(spent.epsilon), NormalDist().cdf
    assert normal(mu / 2 - epsilon / mu) - math.exp(epsilon) * normal(-mu / 2 - epsilon / mu) <= delta


@pytest.mark.parametrize("relation", RELATIONS)
def test_the_price_is_that_of_all_rows_of_a_unit(tmp_path: Path, relation: str) -> None:
    """By hand: c rows come or go, or c go and c come, in lots of as many as the promise is for."""
    home, both = clinic.home(tmp_path / "home", relation=relation), 1 if relation == "add-remove" else 2
    tenth, rare = Fraction(1, 10), Fraction(1, 10**9)
    for cap in (1, 2, 5):
        single = plan(home, Quantile(tenth, *GRID), max_rows=cap).loss
        assert single == Approximate(both * cap * tenth)
        assert plan(home, Mean(tenth, *GRID, max_rows=cap), max_rows=cap).loss == Approximate(both * tenth)
        lots = {1: 1, 2: 1, 5: 3}[cap] * both
        assert plan(home, Mean(tenth, *GRID, max_rows=2), max_rows=cap).loss == Approximate(lots * tenth)
        smooth = plan(home, SmoothMedian(tenth, rare, *GRID), max_rows=cap).loss
        grown = sum(float(rare) * 2.718281828459045 ** (i / 10) for i in range(both * cap))
        assert isinstance(smooth, Approximate)
        assert smooth.epsilon == both * cap * tenth
        assert float(smooth.delta) == pytest.approx(grown, rel=1e-6)
        assert float(smooth.delta) >= grown * (1 - 1e-12)
    for replaced in (
        *(EXAMPLES[name][0] for name in ("smooth-rank", "pure-rank", "block-mean")),
        EXAMPLES["quantile"][1],
    ):
        with pytest.raises(Refusal, match="adding or removing"):  # in either budget
            plan(home, replaced, max_rows=1)


@dataclass(frozen=True)
class Leaning:
    """Says yes three times in four of the one row 1, once in four of the one row 2, and else by a fair coin."""

    takes: ClassVar[Takes] = Takes.OWNED_ROWS
    privacy: ClassVar[Pure] = Pure(log(2).up)
    neighbours: ClassVar[Neighbours] = AddRemove()
    max_rows: ClassVar[int] = 2

    def law(self, rows: Sequence[float]) -> tuple[Fraction, Fraction]:
        leaning = {1.0: Fraction(3, 4), 2.0: Fraction(1, 4)}
        yes = leaning[rows[0]] if len(rows) == 1 else Fraction(1, 2)
        return yes, 1 - yes

    def __call__(self, rows: Sequence[float], /, *, rng: Entropy = SECURE) -> bool:
        return rng.bits(2) < 4 * self.law(rows)[0]


def test_a_row_that_goes_and_one_that_comes_are_no_lot_of_two(tmp_path: Path) -> None:
    """By the exact laws on all lists of up to three rows: replacing loses more than two further rows do."""

    def factor(left: Sequence[float], right: Sequence[float]) -> Fraction:
        ratios = [a / b for a, b in zip(Leaning().law(left), Leaning().law(right), strict=True)]
        return max(*ratios, *(1 / ratio for ratio in ratios))

    lists = [rows for size in range(4) for rows in itertools.product((1.0, 2.0), repeat=size)]
    more = [(a, b) for a in lists for b in lists if len(a) < len(b) <= len(a) + 2 and not Counter(a) - Counter(b)]
    assert max(factor(a, b) for a, b in more) == 2  # as `privacy` says
    home = clinic.home(tmp_path / "home", relation="replace")
    charged = plan(home, Leaning(), max_rows=1).loss
    assert isinstance(charged, Approximate)
    assert charged.epsilon >= log(factor((1.0,), (2.0,))).up == log(3).up


# what it loses --------------------------------------------------------------------------------------------------------

RUNNABLE = [
    (name, mechanism)
    for name in sorted(OF_ROWS)
    for mechanism in EXAMPLES[name]
    if isinstance(mechanism.neighbours, AddRemove)
]


def table(name: str, place: int, pair: Any) -> list[tuple[object, ...]]:  # noqa: ANN401
    """Everybody of a mechanism's worst pair with a row each, and one with `OWN` rows of the kind that comes or goes."""
    few, many = sorted((list(pair.left), list(pair.right)), key=len)
    rest = Counter(map(float, many)) - Counter(map(float, few))
    (added, _), *_ = rest.most_common(1)
    own: list[tuple[object, ...]] = [(0, "north", f"{name}{place}", added, clinic.START, True)] * OWN
    others: list[tuple[object, ...]] = [
        (i, "north", f"{name}{place}", float(v), clinic.START, True) for i, v in enumerate(few, start=1)
    ]
    return own + others


def worst() -> dict[str, Any]:
    return {
        f"{type(one).__name__}{place}": (one, pair)
        for one in (mechanism for _, mechanism in RUNNABLE)
        for place, pair in enumerate(one.pairs())
    }


@pytest.fixture(scope="module", params=RELATIONS)
def crowd(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    rows = [row for name, (_, pair) in worst().items() for row in table(name, 0, pair)]
    folder = tmp_path_factory.mktemp("crowd") / "home"
    return clinic.home(folder, clinic.table(rows), relation=request.param, max_rows=OWN, bounds={}, delta="0.5")


def neighbours(home: Path, name: str, mechanism: Any, cap: int) -> tuple[list[Any], list[Any], Any]:  # noqa: ANN401
    """The rows that a run would see with the person and without, or with another in its place; and the price."""
    sql = f"SELECT cost FROM visits WHERE diagnosis = '{name}0'"
    run = plan(home, mechanism, sql, cap)
    store = DuckStore(home / "tables")
    every = [row[0] for row in store.rows(BoundedRows(run.rows, cap))]
    others = [
        row[0] for row in store.rows(BoundedRows(plan(home, mechanism, f"{sql} AND patient <> 0", cap).rows, cap))
    ]
    store.close()
    assert len(every) == len(others) + cap
    if isinstance(run.outline.neighbours, AddRemove):
        return others, every, run.loss
    gone = (Counter(every) - Counter(others)).most_common(1)[0][0]
    return others + [0.0 if gone else 8.0] * cap, every, run.loss


def claimed(loss: Approximate) -> Approximate | Pure:
    return loss if loss.delta else Pure(loss.epsilon)


def test_what_is_paid_is_not_exceeded_and_less_would_be(crowd: Path) -> None:
    """False alarms below 1e-9 each. The same audit refutes the price of one row for three rows of a person."""
    mean = Mean(Fraction(1), *GRID)
    one, two, loss = neighbours(crowd, "Mean1", mean, 3)
    assert not audit(mean, [(one, two)], claimed(loss), samples=1500, alpha="1e-9", rng=Seeded(1)).refuted
    assert audit(mean, [(one, two)], mean.privacy, samples=1500, alpha="1e-9", rng=Seeded(1)).refuted


@pytest.mark.slow
@pytest.mark.parametrize("cap", [1, 3])
@pytest.mark.parametrize("name", list(worst()))
def test_no_mechanism_loses_more_than_is_paid(crowd: Path, name: str, cap: int) -> None:
    """On every pair that a mechanism names as its worst, the person having as many rows as may be seen."""
    mechanism, _ = worst()[name]
    one, two, loss = neighbours(crowd, name, mechanism, cap)
    found = audit(mechanism, [(one, two)], claimed(loss), samples=3000, alpha="1e-9", rng=Seeded(cap))
    assert not found.refuted, str(found)


def test_its_loss_is_asked_for_once(home: Path) -> None:
    asked: list[str] = []

    class Counting(Total):
        @property
        def privacy(self) -> Pure:  # type: ignore[override]
            asked.append(type(self).takes.value)  # type: ignore[attr-defined]
            return Pure(1)

        caps = Caps(3)
        neighbours = AddRemove("patient")

        def __call__(self, _: Any, /, *, rng: Entropy = SECURE) -> int:  # noqa: ANN401
            return rng.bits(1)

    class OverRows(Counting):
        takes = Takes.ROWS

    class OverRelation(Counting):
        takes = Takes.RELATION

    Curator(home).run(OverRows(), COSTS, max_rows=1)
    Curator(home).run(OverRelation(), COSTS)
    assert asked == ["rows", "a relation"]


# order ----------------------------------------------------------------------------------------------------------------


def test_rows_come_in_an_order_that_is_drawn(home: Path) -> None:
    """The engine's own order, whatever it is, permuted by the source: so it is uniform, as the permutation is."""
    run, store = plan(home, OfRows(), "SELECT patient, cost FROM visits"), DuckStore(home / "tables")
    rows = BoundedRows(run.rows, 50)
    one, two = (store.rows(rows, rng=Seeded(seed)) for seed in (1, 2))
    own = dict(zip(permutation(len(one), rng=Seeded(1)).tolist(), one, strict=True))
    assert two == [own[place] for place in permutation(len(two), rng=Seeded(2)).tolist()]
    assert one != two
    assert store.rows(BoundedRows(run.rows, 50)) != store.rows(
        BoundedRows(run.rows, 50)
    )  # the source of production: 300 rows, never twice alike
    store.close()


def first_forty(block: Sequence[Any]) -> object:
    return sum(bool(row) << place for place, row in enumerate(block[:40]))


def known_width(block: Sequence[Any]) -> object:
    return getattr(block, "dtype", np.dtype(bool)).itemsize + len(repr(type(block[0])))


def test_blocks_do_not_see_the_order_in_which_rows_came() -> None:
    """Neighbours whose common rows stand in opposite orders: as they came, a block begins with 0s, or with 1s."""
    summary = SampleAggregate.mean(first_forty, Grid(0, 1, Fraction(1, 8)), 4, 1)
    up, down = [0] * 300 + [1] * 300, [1] * 300 + [0] * 301
    for rows in (up, down):
        ones = sum(int(result).bit_count() for result in summary.results(rows, rng=Seeded(5)))
        law = stats.hypergeom(len(rows), 300, 160)  # 160 rows without one twice; as they came there are 0 ones, or 160
        assert min(law.cdf(ones), law.sf(ones - 1)) > 2.5e-10


def test_blocks_do_not_see_how_long_other_rows_are() -> None:
    """Of 60 rows none of three blocks is empty, but for once in 10^10 suites."""
    summary = SampleAggregate.mean(known_width, Grid(0, 100, 1), 3, 1)
    short, long = np.array(["a"] * 60), np.array(["a"] * 59 + ["b" * 90])
    pairs = np.array([("a", 1)] * 60, dtype="U1,i4"), np.array([("a", 1)] * 59 + [("b" * 90, 1)], dtype="U90,i4")
    assert set(summary.results(short)) == set(summary.results(long))
    assert set(summary.results(pairs[0])) == set(summary.results(pairs[1]))
