"""The medians: their exact laws on every neighbouring pair of a small domain, their errors, their refusals."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable
from fractions import Fraction

import numpy as np
import pytest
from covering import Coverage
from doubles import Seeded
from mechanisms.chances import fits
from numpy.typing import NDArray

from discreet.errors import Refusal
from discreet.mechanisms.median import PureMedian, PureRank, SmoothMedian, SmoothRank
from discreet.mechanisms.registry import described, rebuilt
from discreet.privacy import AddRemove, Approximate, Pure, Replace
from discreet.privacy.calibrate import laplace_error

Median = SmoothMedian | PureMedian | SmoothRank | PureRank
Data = tuple[int, ...]
Law = NDArray[np.float64]

ONE, TENTH, MILLIONTH, ZERO = Fraction(1), Fraction(1, 10), Fraction(1, 10**6), Fraction(0)
DOMAIN = range(4)
SMALL = (ZERO, Fraction(3), ONE)


def added_or_removed(data: Data) -> Iterable[Data]:
    yield from (tuple(sorted((*data, value))) for value in DOMAIN)
    yield from (data[:i] + data[i + 1 :] for i in range(len(data)))


def replaced(data: Data) -> Iterable[Data]:
    rests = (data[:i] + data[i + 1 :] for i in range(len(data)))
    yield from (tuple(sorted((*rest, value))) for rest in rests for value in DOMAIN)


def law(mechanism: Median, data: Data) -> Law:
    """Of the answer before it is clamped, on a window beyond which less than 1e-12 of a Laplace law lies."""
    order = mechanism.order(data)
    scale, center, reach = float(mechanism._scale(order)), mechanism.truth(order), 4000
    n = np.arange(-reach, reach + 1)
    if isinstance(mechanism, (SmoothMedian, SmoothRank)):
        assert scale < reach / 30
        return np.exp(-np.abs(n - center) / scale) * math.tanh(1 / (2 * scale))
    weight: Law = (1 + ((n - center) / scale) ** 2) ** -2.0
    return weight / float(((1 + (n / scale) ** 2) ** -2.0).sum())


def clamped(values: Law) -> dict[int, float]:
    """The law of the answer."""
    reach = values.size // 2
    inside = {n: float(values[reach + n]) for n in DOMAIN}
    inside[0] += float(values[:reach].sum())
    inside[3] += float(values[reach + 4 :].sum())
    return inside


MEDIANS = [
    *(SmoothMedian(epsilon, delta, *SMALL) for epsilon in (TENTH, ONE, Fraction(6)) for delta in (MILLIONTH, TENTH)),
    *(PureMedian(epsilon, *SMALL) for epsilon in (TENTH, ONE, Fraction(6))),
]
RANKS = [
    *(SmoothRank(epsilon, TENTH, *SMALL, rank, 4) for epsilon in (TENTH, ONE) for rank in (1, 2, 4)),
    *(PureRank(epsilon, *SMALL, rank, 4) for epsilon in (TENTH, ONE) for rank in (1, 2, 4)),
]


@pytest.mark.parametrize("mechanism", [*MEDIANS, *RANKS], ids=repr)
def test_no_two_neighbours_are_told_apart_better_than_promised(mechanism: Median) -> None:
    """All data sets of up to five values (four, replaced) from {0, 1, 2, 3}, and all their neighbours."""
    by_adding = isinstance(mechanism, (SmoothMedian, PureMedian))
    near = added_or_removed if by_adding else replaced
    sizes = range(6) if by_adding else [4]
    data_sets = [data for size in sizes for data in itertools.combinations_with_replacement(DOMAIN, size)]
    laws: dict[Data, Law] = {}
    epsilon, delta = mechanism.privacy.epsilon, getattr(mechanism.privacy, "delta", ZERO)
    for data in data_sets:
        for other in near(data):
            for known in (data, other):
                if known not in laws:
                    laws[known] = law(mechanism, known)
            excess = laws[data] - math.exp(epsilon) * laws[other]
            assert float(np.maximum(excess, 0).sum()) <= float(delta), (data, other)


@pytest.mark.parametrize("mechanism", [SmoothMedian(ONE, TENTH, *SMALL), PureMedian(ONE, *SMALL)], ids=repr)
@pytest.mark.parametrize("data", [(0, 1, 1, 2, 3), (2, 2, 2, 2, 2, 2, 2), ()], ids=str)
def test_the_answers_follow_that_law(mechanism: Median, data: Data) -> None:
    """False alarms: 1e-9 (exact binomial, a union over four answers), if the bits were fresh."""
    rng = Seeded(4)
    expected = {Fraction(n): float(p) for n, p in clamped(law(mechanism, data)).items()}
    assert expected.keys() == set(map(Fraction, DOMAIN))
    assert fits([mechanism(data, rng=rng) for _ in range(2000)], expected)


WIDE = (ZERO, Fraction(500_000), ONE)
INCOMES = np.random.default_rng(1).lognormal(10, 0.7, 1001)
CHOICES: list[Median] = [
    SmoothMedian(ONE, MILLIONTH, *WIDE),
    PureMedian(ONE, *WIDE),
    SmoothRank(ONE, MILLIONTH, *WIDE, 501, 1001),
    PureRank(ONE, *WIDE, 501, 1001),
]


@pytest.mark.parametrize("mechanism", CHOICES, ids=lambda mechanism: type(mechanism).__name__)
def test_answers_are_within_the_error_for_this_data(mechanism: Median) -> None:
    """2,000 runs at confidence 0.9: so few would be within it once in 1e9 times (exact binomial)."""
    alpha, rng = mechanism.error_on(INCOMES, Fraction(9, 10)), Seeded(11)
    truth = np.sort(np.floor(INCOMES + 0.5))[500]
    order = mechanism.order(INCOMES)
    assert mechanism.truth(order) == truth
    scale = mechanism._scale(order)
    within = Coverage(sum(abs(mechanism.tails.draw(scale, rng)) <= alpha for _ in range(2000)), 2000)
    assert not within.refuted(0.9), within
    assert alpha <= mechanism.error(Fraction(9, 10))


@pytest.mark.parametrize("mechanism", [SmoothMedian(ONE, TENTH, *SMALL), PureMedian(ONE, *SMALL)], ids=repr)
def test_answers_are_within_the_error_on_the_worst_data(mechanism: Median) -> None:
    confidence, rng = Fraction(1, 4), Seeded(12)
    alpha = mechanism.error(confidence)
    assert alpha <= 3
    near = Coverage(sum(abs(mechanism((0, 3), rng=rng)) <= alpha for _ in range(2000)), 2000)
    assert not near.refuted(confidence), near


@pytest.mark.parametrize("mechanism", CHOICES, ids=lambda mechanism: type(mechanism).__name__)
def test_it_beats_noise_for_the_whole_range_a_hundredfold(mechanism: Median) -> None:
    """At equal privacy, on a thousand usual incomes between 0 and 500,000."""
    assert 100 * mechanism.error_on(INCOMES) < laplace_error(500_000, Fraction(95, 100))


@pytest.mark.parametrize("mechanism", MEDIANS[:1] + MEDIANS[-1:], ids=repr)
def test_every_list_has_a_median(mechanism: Median) -> None:
    lists: list[object] = [
        [], [float("nan")] * 3, [float("inf"), float("-inf")], [10**400, -(10**400)], np.array([], dtype=np.int64),
        [Fraction(1, 3), 2.5, 7], np.array([200, 3], dtype=np.uint8), [None, 1],
    ]  # fmt: skip
    for values in lists:
        assert mechanism(values, rng=Seeded(1)) in {Fraction(n) for n in DOMAIN}  # type: ignore[arg-type]


@pytest.mark.parametrize("mechanism", [*MEDIANS, *RANKS], ids=repr)
def test_the_worst_pairs_are_neighbours(mechanism: Median) -> None:
    near = added_or_removed if isinstance(mechanism, (SmoothMedian, PureMedian)) else replaced
    for pair in mechanism.pairs():
        left, right = (tuple(sorted(map(int, side))) for side in (pair.left, pair.right))
        assert right in set(near(left))


@pytest.mark.parametrize("mechanism", [MEDIANS[0], MEDIANS[-1], RANKS[0], RANKS[-1]], ids=repr)
def test_it_goes_through_a_door(mechanism: Median) -> None:
    assert rebuilt(**described(mechanism)) == mechanism


def test_a_finer_grid_changes_nothing_but_the_unit() -> None:
    fine = SmoothMedian(ONE, MILLIONTH, ZERO, Fraction(5), Fraction(1, 100_000))
    coarse = SmoothMedian(ONE, MILLIONTH, *WIDE)
    values = [v / 100_000 for v in (3, 40_000, 41_000, 41_500, 480_000)]
    assert fine(values, rng=Seeded(5)) * 100_000 == coarse([100_000 * v for v in values], rng=Seeded(5))
    assert fine.error_on(values) * 100_000 == coarse.error_on([100_000 * v for v in values])


def test_the_promise_is_what_was_asked_for() -> None:
    assert SmoothMedian(ONE, MILLIONTH, *SMALL).privacy == Approximate(1, MILLIONTH)
    assert PureRank(TENTH, *SMALL, 1, 1).privacy == Pure(TENTH)
    assert isinstance(PureMedian(ONE, *SMALL).neighbours, AddRemove)
    assert isinstance(PureRank(ONE, *SMALL, 1, 1).neighbours, Replace)


REFUSED: list[tuple[Callable[[], object], str]] = [
    (lambda: SmoothMedian(ZERO, MILLIONTH, *SMALL), "epsilon > 0, got epsilon=0"),
    (lambda: SmoothMedian(ONE, ZERO, *SMALL), "0 < delta < 1, got delta=0"),
    (lambda: SmoothMedian(ONE, ONE, *SMALL), "0 < delta < 1, got delta=1"),
    (lambda: PureMedian(ONE, Fraction(3), ZERO, ONE), "lower < upper, got lower=3 upper=0"),
    (lambda: PureMedian(ONE, ZERO, Fraction(1, 2), ONE), "only one step lies between lower=0 and upper=1/2"),
    (lambda: PureMedian(ONE, ZERO, ONE, ZERO), "step > 0"),
    (lambda: PureMedian(Fraction(1, 10**13), *SMALL), "too small for a smooth bound"),
    (lambda: SmoothMedian(ONE, MILLIONTH, *SMALL, Replace()), "proved for AddRemove, got Replace"),
    (lambda: PureRank(ONE, *SMALL, 1, 1, AddRemove()), "proved for Replace, got AddRemove"),
    (lambda: PureRank(ONE, *SMALL, 0, 4), "rank >= 1, got rank=0"),
    (lambda: SmoothRank(ONE, MILLIONTH, *SMALL, 5, 4), "1 <= rank <= size, got rank=5 size=4"),
    (lambda: PureRank(ONE, *SMALL, 1, 4)([1, 2, 3]), "expected 4 values, got 3"),
    (
        lambda: rebuilt("pure-median", {"epsilon": 1, "lower": 0, "upper": "inf", "step": 1}),
        "a finite number, got 'inf'",
    ),
]


@pytest.mark.parametrize(("build", "words"), REFUSED, ids=[words for _, words in REFUSED])
def test_nonsense_is_refused_by_name(build: Callable[[], object], words: str) -> None:
    with pytest.raises(Refusal) as refused:
        build()
    assert words in str(refused.value)
