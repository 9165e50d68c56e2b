"""Multiplicative weights for tables: they agree, none is negative, they learn, and the promise holds."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import clinic
import numpy as np
import pytest
from covering import Coverage
from doubles import Seeded
from numpy.typing import NDArray

import discreet as dp
from discreet.audit import audit, audit_one_run
from discreet.errors import Refusal
from discreet.noise import Entropy
from discreet.privacy import Pure, Replace
from discreet.release import MarginalsRelease, WeightedMarginals
from discreet.release.marginals import FourierMarginals, Marginals
from discreet.release.marginals.multiplicative_weights import fit, table_of

ONE, HALF = Fraction(1), Fraction(1, 2)
COLUMNS, SIZES = ("a", "b", "c", "d"), (2, 3, 2, 4)
PAIRS = tuple(itertools.combinations(COLUMNS, 2))
MUCH = Fraction(10**5)


def people(seed: int, records: int = 3000) -> NDArray[np.int64]:
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.full(int(np.prod(SIZES)), 0.3))
    return rng.multinomial(records, shares).reshape(SIZES)


def counter(full: NDArray[np.int64]) -> Callable[[Sequence[str]], NDArray[np.int64]]:
    def counts(names: Sequence[str]) -> NDArray[np.int64]:
        return np.asarray(full.sum(tuple(axis for axis, name in enumerate(COLUMNS) if name not in names)))

    return counts


def off(told: Marginals, full: NDArray[np.int64]) -> float:
    """Mean distance of a pair's table, as a share of all records."""
    true = counter(full)
    return float(np.mean([np.abs(told.table(pair) - true(pair)).sum() / 2 / full.sum() for pair in PAIRS]))


def test_tables_agree_to_the_last_digit_and_no_cell_is_negative() -> None:
    told = WeightedMarginals(COLUMNS, SIZES, PAIRS, ONE)(counter(people(1)), rng=Seeded(1))
    for pair in PAIRS:
        table = told.table(pair)
        assert (table >= 0).all()
        for axis, name in enumerate(pair):
            assert np.array_equal(table.sum(1 - axis), told.table((name,)))
    assert told.std(("a", "b")) is None
    assert not told.query(("a", "b"), np.ones((2, 3))).barred
    assert Marginals.from_json(told.to_json()) == told


def test_at_a_great_price_every_table_is_met() -> None:
    full = people(2)
    told = WeightedMarginals(COLUMNS, SIZES, PAIRS, MUCH)(counter(full), rng=Seeded(2))
    assert off(told, full) < 1e-3


def test_one_round_asks_for_the_table_that_is_worst() -> None:
    """At a great price: the pair that is farthest from even is met, and others are not."""
    full = people(3)
    told = WeightedMarginals(COLUMNS, SIZES, PAIRS, MUCH, 1)(counter(full), rng=Seeded(3))
    true = counter(full)
    far = {pair: np.abs(true(pair) - full.sum() / true(pair).size).sum() for pair in PAIRS}
    worst = max(PAIRS, key=lambda pair: far[pair])
    assert np.abs(told.table(worst) - true(worst)).max() < 1
    assert off(told, full) > 0.01


def test_a_table_whose_noise_would_be_larger_than_what_it_tells_is_not_asked_for() -> None:
    """Of a lopsided pair of cells and forty that are nearly even, at ε = 0.1 the pair is asked for, every time."""
    mechanism = WeightedMarginals(("x", "y"), (2, 40), (("x",), ("y",)), Fraction(1, 10), 1, HALF)
    tables: Any = {("x",): [900, 100], ("y",): [30, 20] * 20}
    for seed in range(30):
        assert mechanism(tables, rng=Seeded(seed)).table(("x",))[0] > 600


def test_it_is_nearer_than_noise_on_every_table_where_tables_are_many() -> None:
    """All 120 triples of ten columns that hang on one hidden one, at ε = 0.1: by a half at least, in each of five."""
    rng = np.random.default_rng(1)
    hidden = rng.random(3000) < 0.3
    rows = (rng.random((3000, 10)) < np.where(hidden[:, None], 0.8, 0.2)).astype(np.int64)
    names = tuple(f"c{i}" for i in range(10))
    triples = tuple(itertools.combinations(names, 3))
    codes = rows @ (1 << np.arange(10)[::-1])
    full = np.bincount(codes, minlength=1 << 10).reshape((2,) * 10)

    def counts(columns: Sequence[str]) -> NDArray[np.int64]:
        return np.asarray(full.sum(tuple(i for i in range(10) if names[i] not in columns)))

    def far(told: Marginals) -> float:
        return float(np.mean([np.abs(told.table(each) - counts(each)).sum() / 2 / 3000 for each in triples]))

    ours = WeightedMarginals(names, (2,) * 10, triples, Fraction(1, 10))
    theirs = FourierMarginals(names, (2,) * 10, triples, Fraction(1, 10), "fourier")
    for seed in range(5):
        assert far(ours(counts, rng=Seeded(seed))) < far(theirs(counts, rng=Seeded(seed))) / 2


def test_the_total_is_within_its_error_as_often_as_is_told() -> None:
    mechanism, full, runs = WeightedMarginals(COLUMNS, SIZES, (("a", "b"),), ONE, 1), people(5, 500), 400
    rng = Seeded(5)
    offs = [abs(round(mechanism(counter(full), rng=rng).total) - 500) for _ in range(runs)]
    assert not Coverage(sum(each <= mechanism.error(HALF) for each in offs), runs).refuted(HALF)
    assert Coverage(sum(each <= mechanism.error(HALF) // 3 for each in offs), runs).refuted(HALF)


def test_the_total_is_within_its_error_also_of_no_records_and_where_its_noise_is_none() -> None:
    """No records are told as one, and three equal cells of ten are no whole steps: at this price 0 was stated."""
    mechanism = WeightedMarginals(("a",), (3,), (("a",),), Fraction(2000))
    for counts in ([0, 0, 0], [10, 0, 0], [3, 4, 3]):
        for seed in range(5):
            told = mechanism({("a",): counts}, rng=Seeded(seed))
            assert abs(told.total - sum(counts)) <= mechanism.error()


def test_the_noise_of_a_table_is_that_of_half_a_round_and_no_other() -> None:
    """Two cells of a thousand each, an exact total: their difference is that of two noises of the scale."""
    mechanism = WeightedMarginals(("x",), (2,), (("x",),), Fraction(20), 1, Fraction(19, 20))
    scale, rng, runs = 2.0, Seeded(8), 1500  # a record, over half of a twentieth of 20
    tables = [mechanism({("x",): [1000, 1000]}, rng=rng).table(("x",)) for _ in range(runs)]
    away = sorted(abs(float(table[0] - table[1])) for table in tables)

    def below(c: float, times: float) -> float:
        """Pr[|Lap − Lap'| ≤ c] of two continuous noises of this scale: 1 − (1 + c/2s) e^(−c/s)."""
        return 1 - (1 + c / (2 * times * scale)) * math.exp(-c / (times * scale))

    near = Coverage(sum(each <= 4.5 for each in away), runs)  # whole noises: between 4 and 5
    assert not near.refuted(below(4.5, 1) - 0.03)
    assert not near.exceeded(below(4.5, 1) + 0.03)
    assert near.exceeded(below(4.5, 1.3) + 0.03)
    assert near.refuted(below(4.5, 0.7) - 0.03)


def test_a_fit_meets_tables_that_can_be_met_and_keeps_the_total() -> None:
    full = people(6).astype(np.float64)
    known = [((0, 1), table_of(full, (0, 1))), ((1, 3), table_of(full, (1, 3))), ((2,), table_of(full, (2,)))]
    fitted = fit(np.full(SIZES, full.sum() / full.size), full.sum(), known, 1e-9)
    for axes, table in known:
        assert table_of(fitted, axes) == pytest.approx(table, abs=1e-6 * full.sum())
    assert fitted.sum() == pytest.approx(full.sum())
    assert np.isfinite(fit(np.ones((2, 2)), 4.0, [((0,), np.array([-1e18, 1e18]))], 1e12)).all()


# privacy --------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_it_passes_its_audit_and_a_smaller_claim_does_not() -> None:
    """The numbers of its table are looked at: what else a release says follows from them."""
    mechanism = WeightedMarginals(("x", "y"), (2, 2), (("x", "y"),), ONE, 1, HALF, most=2)

    def told(counts: Any, *, rng: Entropy) -> tuple[float, ...]:  # noqa: ANN401
        return tuple(mechanism(counts, rng=rng).table(("x", "y")).ravel().tolist())

    assert not audit(told, mechanism.pairs(), Pure(1), samples=600, alpha="1e-9", rng=Seeded(3)).refuted
    assert audit(told, mechanism.pairs(), Pure("0.01"), samples=4000, alpha="1e-6", rng=Seeded(3)).refuted


def run(actual: Fraction, claim: Fraction) -> bool:
    """One canary in each of 64 cells of a table; half of the price buys it."""
    mechanism = WeightedMarginals(("x", "y"), (8, 8), (("x", "y"),), actual, 1)

    def train(inside: Sequence[int]) -> NDArray[np.float64]:
        counts = np.bincount(np.array(inside, dtype=np.int64), minlength=64).reshape(8, 8)
        return mechanism({("x", "y"): counts}, rng=Seeded(4)).table(("x", "y")).ravel()

    return audit_one_run(train, range(64), lambda table, cell: table[cell], Pure(claim), rng=Seeded(6)).refuted


def test_one_run_with_canaries_refutes_only_a_false_claim() -> None:
    assert not run(ONE, ONE)
    assert run(Fraction(40), ONE)


# refusals, and a door -------------------------------------------------------------------------------------------------


def test_what_does_not_fit_is_refused() -> None:
    many = tuple(f"c{i}" for i in range(21))
    with pytest.raises(Refusal, match="2,097,152 combinations of keys, more than 1,048,576"):
        WeightedMarginals(many, (2,) * 21, (many[:2],), ONE)
    with pytest.raises(Refusal, match="AddRemove"):
        WeightedMarginals(COLUMNS, SIZES, PAIRS, ONE, neighbours=Replace())
    with pytest.raises(Refusal, match="between 1e-9 and 1e6"):
        WeightedMarginals(COLUMNS, SIZES, PAIRS, Fraction(1, 10**12))


def test_it_is_published_by_its_name(tmp_path: Path) -> None:
    db = dp.open(clinic.home(tmp_path / "home", epsilon=10**9))
    wish: dict[str, Any] = {"kind": "marginals", "columns": ["region", "urgent"], "method": "mwem"}
    made = db.publish("visits", **wish, epsilon=10**6)
    release = db.release(made.entry)
    assert isinstance(release, MarginalsRelease)
    visits = clinic.visits().to_pylist()
    for region in clinic.REGIONS:
        true = sum(row["region"] == region for row in visits)
        assert abs(release.range(region=region).value - true) < 2
    assert not release.range(region="north").barred
    with pytest.raises(Refusal, match="without one"):
        db.offer("visits", **wish, epsilon=1, delta="1e-9")
