"""Synthesisers: what they pay, that nothing else of the data is told, and what their error bars cover.

False-alarm rate of audits and of what is drawn: 1e-9 for each.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import pytest
from doubles import Seeded
from release.examples import OTHERS

from discreet.audit import audit
from discreet.errors import Refusal
from discreet.noise import SECURE
from discreet.privacy import Concentrated
from discreet.release import (
    CliqueTreeSynthesis,
    DirectSynthesis,
    IndependentSynthesis,
    SpanningTreeSynthesis,
    Synthesis,
)
from discreet.release.estimate import error_bar
from discreet.release.interval_tree import Whole
from discreet.release.marginals.domain import Axes, Domain
from discreet.release.synthetic import Records
from discreet.release.synthetic.noisy_measurements import Measuring
from discreet.release.synthetic.structure import by_chance, clique_tree

KINDS = (CliqueTreeSynthesis, DirectSynthesis, IndependentSynthesis, SpanningTreeSynthesis)
EXAMPLES = [one for name, some in OTHERS.items() if name.endswith("-synthesis") for one in some]
COLUMNS, SIZES = ("a", "b", "c", "d"), (3, 4, 2, 3)
ALPHA = Fraction(1, 10**9)
kinds = pytest.mark.parametrize("kind", KINDS)
examples = pytest.mark.parametrize("example", EXAMPLES, ids=lambda one: type(one).__name__)


def people(many: int = 3000, seed: int = 1) -> Callable[[tuple[str, ...]], Whole]:
    """Records in which b follows a, and d follows c."""
    random = np.random.default_rng(seed)
    a, c = random.integers(0, 3, many), random.integers(0, 2, many)
    b = np.where(random.random(many) < 0.8, a, random.integers(0, 4, many))
    d = np.where(random.random(many) < 0.8, c, random.integers(0, 3, many))
    cells = {"a": a, "b": b, "c": c, "d": d}

    def counts(names: tuple[str, ...]) -> Whole:
        table = np.zeros([SIZES[COLUMNS.index(name)] for name in names], dtype=np.int64)
        np.add.at(table, tuple(cells[name] for name in names), 1 if names else many)
        return table

    return counts


class Recorded(Measuring):
    """Measures once, and then tells the same of whatever it is given; keeps what each cost. It has coins of its own."""

    told: ClassVar[list[Any]] = []
    prices: ClassVar[list[Fraction]] = []
    again: ClassVar[bool] = False

    def _same(self, own: Callable[[], Any], rho: Fraction) -> Any:  # noqa: ANN401
        if Recorded.again:
            self._paid(rho)
            return Recorded.told.pop(0)
        self.rng = Seeded(len(Recorded.told))
        Recorded.told.append(own())
        Recorded.prices.append(rho)
        return Recorded.told[-1]

    def table(self, axes: Any, rho: Fraction) -> Any:  # noqa: ANN401
        return self._same(lambda: Measuring.table(self, axes, rho), rho)

    def distances(self, expected: Any, rho: Fraction) -> Any:  # noqa: ANN401
        return self._same(lambda: Measuring.distances(self, expected, rho), rho)

    def scores(self, expected: Any) -> Any:  # noqa: ANN401
        return None if Recorded.again else Measuring.scores(self, expected)

    def farthest(self, scores: Any, among: Any, rho: Fraction) -> Any:  # noqa: ANN401
        return self._same(lambda: Measuring.farthest(self, scores, among, rho), rho)


@kinds
def test_what_is_told_follows_from_what_was_measured_and_costs_rho_in_all(
    kind: Any,  # noqa: ANN401
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The second run is given nothing to read, and tells the same."""
    monkeypatch.setattr(Recorded, "told", [])
    monkeypatch.setattr(Recorded, "prices", [])
    monkeypatch.setattr("discreet.release.synthetic.mechanisms.Measuring", Recorded)
    never = (((0, (0,)), (1, (1, 2))), ((2, (1,)), (3, (0,))))
    mechanism = kind(COLUMNS, SIZES, Fraction(1, 7), 2, never=never)
    once = mechanism(people(), rng=Seeded(5))
    assert sum(Recorded.prices) == mechanism.rho
    monkeypatch.setattr(Recorded, "again", True)

    def nothing(names: tuple[str, ...]) -> Whole:
        raise AssertionError(names)

    assert mechanism(nothing, rng=Seeded(5)) == once
    assert Recorded.told == []


def test_nothing_is_measured_beyond_what_was_paid() -> None:
    measuring = Measuring(Domain(COLUMNS, SIZES), people(), 1, Fraction(1), SECURE)
    measuring.table((0,), Fraction(3, 4))
    for more in (Fraction(1, 2), Fraction(0), Fraction(-1)):
        with pytest.raises(AssertionError, match="more than it pays for"):
            measuring.table((0,), more)
    assert measuring.left == Fraction(1, 4)


def test_noise_has_the_scale_that_is_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, Any]] = []

    def gaussians(variance: Fraction, size: int, *, rng: Any) -> Whole:  # noqa: ANN401, ARG001
        asked.append(("gaussian", (variance, size)))  # as many as there are numbers
        return np.zeros(size, dtype=np.int64)

    def exponential(scores: Any, rate: Fraction, *, rng: Any) -> int:  # noqa: ANN401, ARG001
        asked.append(("exponential", rate))
        return int(np.argmax(scores))

    monkeypatch.setattr("discreet.release.synthetic.noisy_measurements.gaussians", gaussians)
    monkeypatch.setattr("discreet.release.synthetic.noisy_measurements.exponential", exponential)
    measuring = Measuring(Domain(COLUMNS, SIZES), people(), 3, Fraction(1), SECURE)
    rho = Fraction(1, 8)
    known = ((("a", "b"), 250), (("c", "d"), 500))
    told = measuring.table((0, 1), rho)
    assert np.array_equal(told.counts, people()(("a", "b")))
    even = [((0, 1), np.full((3, 4), 250.0)), ((2, 3), np.full((2, 3), 500.0))]
    distances = measuring.distances(even, rho)
    assert distances.tolist() == [int(np.abs(people()(names) - n).sum()) for names, n in known]
    assert measuring.farthest(measuring.scores(dict(even)), [(0, 1), (2, 3)], rho) == even[int(np.argmax(distances))][0]
    assert measuring.farthest(measuring.scores(dict(even)), [(2, 3)], rho) == (2, 3)
    assert asked[:2] == [("gaussian", (Fraction(9) / (2 * rho), 12)), ("gaussian", (Fraction(18) / (2 * rho), 2))]
    epsilon = asked[2][1] * 2 * 3
    assert Fraction(999, 1000) * rho < epsilon**2 / 8 <= rho


@examples
def test_no_counts_make_it_raise(example: Any) -> None:  # noqa: ANN401
    for fill in (0, 1, -5, (1 << 63) - 1, -(1 << 63)):

        def counts(names: tuple[str, ...], fill: int = fill) -> Whole:
            sizes = dict(zip(example.columns, example.sizes, strict=True))
            return np.full([sizes[name] for name in names], fill, dtype=np.int64)

        if fill < 1 << 62:  # else there are more rows than anybody could want
            assert np.isfinite(example(counts, rng=Seeded(1)).total)


def seen(example: Any) -> Any:  # noqa: ANN401
    """What an auditor looks at: the noisy tables, and which they are."""

    def run(data: Any, *, rng: Any) -> Any:  # noqa: ANN401
        told = example(data, rng=rng)
        return tuple((*one.axes, *one.counts.ravel().tolist()) for one in told.tables)

    return run


@pytest.mark.slow
@examples
def test_its_promise_withstands_an_audit(example: Any) -> None:  # noqa: ANN401
    pairs = [(pair.left, pair.right) for pair in example.pairs()]
    verdict = audit(seen(example), pairs, claim=example.privacy, samples=1500, alpha=ALPHA, rng=Seeded(7))
    assert not verdict.refuted, str(verdict)


@pytest.mark.slow
@kinds
def test_the_same_audit_would_see_a_unit_of_eight_times_the_records(kind: Any) -> None:  # noqa: ANN401
    honest, wrong = kind(("x", "y"), (2, 2), 1), kind(("x", "y"), (2, 2), 1, 8)
    pairs = [(pair.left, pair.right) for pair in wrong.pairs()]
    assert audit(seen(honest), pairs, claim=Concentrated(1), samples=1500, alpha=ALPHA, rng=Seeded(7)).refuted


# what it is like ------------------------------------------------------------------------------------------------------


@kinds
def test_rows_are_like_the_records(kind: Any) -> None:  # noqa: ANN401
    told = kind(COLUMNS, SIZES, 2)(people(), rng=Seeded(3))
    assert abs(told.rows.shape[0] - 3000) < 40
    pairs = [("a", "b"), ("c", "d")] if kind is not IndependentSynthesis else [("a",), ("d",)]
    for names in pairs:
        places = [COLUMNS.index(name) for name in names]
        counted = np.zeros([SIZES[i] for i in places])
        np.add.at(counted, tuple(told.rows[:, i] for i in places), 1)
        true = people()(names)
        assert np.abs(counted - true).sum() / 2 < 0.05 * 3000
        assert np.abs(told.table(names) - true).sum() / 2 < 0.05 * 3000
    assert told.table(("b", "a")).shape == (4, 3)


@kinds
def test_a_column_by_itself_will_do(kind: Any) -> None:  # noqa: ANN401
    told = kind(("a",), (3,), Fraction(1, 7))(lambda names: np.array([5, 50, 500]) if names else np.array(555))
    assert told.rows.shape[1] == 1


def test_so_many_rows_as_were_asked_for() -> None:
    told = IndependentSynthesis(COLUMNS, SIZES, Fraction(2), rows=17)(people(), rng=Seeded(3))
    assert told.rows.shape == (17, 4)
    assert told.drawn(5, Seeded(1)).shape == (5, 4)


def test_where_no_pair_is_seen_the_rest_measures_columns_again() -> None:
    def counts(names: tuple[str, ...]) -> Whole:
        """Every combination as often as any other."""
        return np.full([3] * len(names), 10 * 3 ** (4 - len(names)), dtype=np.int64)

    told = CliqueTreeSynthesis(tuple("wxyz"), (3,) * 4, Fraction(1))(counts, rng=Seeded(1))
    assert [len(one.axes) for one in told.tables] == [1] * 8


def test_a_tree_stays_within_its_cells_and_takes_what_gains_most() -> None:
    domain = Domain(tuple("abcd"), (10, 10, 10, 10))
    gains: dict[Axes, float] = {(0, 1): 900.0, (1, 2): 800.0, (0, 2): 700.0, (2, 3): 600.0, (0, 3): -5.0}
    assert set(clique_tree(domain, gains, 1100).cliques) == {(0, 1, 2), (2, 3)}
    assert set(clique_tree(domain, gains, 350).cliques) == {(0, 1), (1, 2), (2, 3)}
    assert set(clique_tree(domain, gains, 10).cliques) == {(0,), (1,), (2,), (3,)}


def test_what_chance_does_to_a_table_is_bounded_closely() -> None:
    random = np.random.default_rng(1)
    for mean in (0.01, 0.3, 1.0, 4.0, 100.0):
        draws = np.abs(random.poisson(mean, 20_000) - mean).mean()
        assert draws < by_chance(np.array([mean])) * 1.05
        assert draws > by_chance(np.array([mean])) * 0.8


# merged cells ---------------------------------------------------------------------------------------------------------


# error bars -----------------------------------------------------------------------------------------------------------


def test_a_sum_that_was_measured_has_an_error_bar_and_no_other() -> None:
    told = CliqueTreeSynthesis(COLUMNS, SIZES, Fraction(1))(people(), rng=Seeded(2))
    measured = {one.axes for one in told.tables}
    assert (0, 1) in measured
    assert (0, 3) not in measured
    pair, far = np.zeros((3, 4)), np.zeros((3, 3))
    pair[0, 0] = far[0, 0] = 1
    one = told.query(("a", "b"), pair)
    assert one.span is not None
    assert one.span[0] < one.value < one.span[1]
    assert told.query(("b", "a"), pair.T) == one
    assert told.query(("a", "d"), far).barred is False
    assert told.query((), np.ones(())).barred


@pytest.mark.slow
def test_bars_cover_what_was_measured_as_often_as_they_say() -> None:
    counts, misses, runs = people(400), 0, 200
    weights = np.zeros((3, 4))
    weights[0, :2] = 1
    true = float((counts(("a", "b")) * weights).sum())
    for seed in range(runs):
        bar = SpanningTreeSynthesis(COLUMNS, SIZES, Fraction(1))(counts, rng=Seeded(seed)).query(("a", "b"), weights)
        if bar.span is not None:
            misses += not bar.span[0] <= true <= bar.span[1]
    assert misses <= 0.05 * runs + math.sqrt(runs * math.log(1e9) / 2)


def test_what_its_own_noise_told_apart_has_no_bar() -> None:
    told = IndependentSynthesis(COLUMNS, SIZES, Fraction(1))(people(), rng=Seeded(2))
    assert told.query(("a",), np.array([1.0, 0.0, 0.0])).barred is False
    assert told.query(("a",), np.ones(3)).barred


def test_the_total_is_read_off_a_first_table_however_exact_later_ones_are() -> None:
    """Which cells are merged follows from the noise of first tables, and with it how exact later ones are."""
    told = SpanningTreeSynthesis(COLUMNS, SIZES, Fraction(1))(people(), rng=Seeded(2))
    first = [one for one in told.tables if one.decided]
    exact = [replace(one, variances=one.variances if one.decided else one.variances / 10**6) for one in told.tables]
    assert 0 < len(first) < len(exact)
    own = min(first, key=lambda one: float(one.variances.sum()))
    wide = 2 * (error_bar(float(own.variances.sum()) ** 0.5) + abs(told.total - float(own.counts.sum())))
    for columns in ((), ("a",), ("a", "b"), ("a", "d")):
        bar = replace(told, tables=tuple(exact)).query(
            columns, np.ones([SIZES[COLUMNS.index(name)] for name in columns])
        )
        assert bar.span is not None
        assert bar.span[1] - bar.span[0] == pytest.approx(wide)


# as text --------------------------------------------------------------------------------------------------------------


@kinds
def test_it_goes_to_text_and_back(kind: Any) -> None:  # noqa: ANN401
    told = kind(COLUMNS, SIZES, 1)(people(500), rng=Seeded(1))
    back = Synthesis.read(json.loads(json.dumps(told.plain)))
    assert back == told
    assert np.array_equal(back.table(("a", "d")), told.table(("a", "d")))


@pytest.mark.parametrize(
    "change",
    [
        {"total": "nan"},
        {"parents": [5] * 4},
        {"cliques": [[1, 0], [2], [3]]},
        {"sizes": [3, 4, 2, 4]},
        {"model": []},
        {"rows": []},
        {"merged": [{"size": 3, "type": "<i1", "bytes": "!"}] * 4},
    ],
    ids=str,
)
def test_a_text_that_contradicts_itself_is_refused(change: dict[str, Any]) -> None:
    told = IndependentSynthesis(COLUMNS, SIZES, Fraction(1))(people(500), rng=Seeded(1)).plain
    with pytest.raises((ValueError, TypeError, KeyError, IndexError, Refusal)):
        Synthesis.read({**told, **change})


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"rho": 0}, "rho"),
        ({"rho": Fraction(1, 10**40)}, "rho"),
        ({"rho": 10**40}, "rho"),
        ({"sizes": (3, 4)}, "sizes"),
        ({"rows": 1 << 21}, "rows"),
        ({"along": (4, 0, 0, 0)}, "along"),
        ({"columns": tuple(f"c{i}" for i in range(200)), "sizes": (2,) * 200}, "128 columns"),
    ],
)
def test_nonsense_is_refused(change: dict[str, Any], says: str) -> None:
    with pytest.raises(Refusal, match=says):
        IndependentSynthesis(**{"columns": COLUMNS, "sizes": SIZES, "rho": Fraction(1), **change})


def test_a_table_of_everything_that_nobody_could_hold_is_refused() -> None:
    with pytest.raises(Refusal, match="all columns together have"):
        DirectSynthesis(tuple("abcdefgh"), (10,) * 8, Fraction(1))


def test_records_count_themselves() -> None:
    records = Records(("x", "y"), (2, 2), ((0, 1), (0, 1), (1, 1)))
    assert records(("y", "x")).tolist() == [[0, 0], [2, 1]]
