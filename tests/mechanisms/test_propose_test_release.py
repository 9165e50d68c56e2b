"""Propose, test, release: exact privacy on every kind of neighbours, and on every small data set for the median."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from covering import Coverage
from doubles import Seeded
from numpy.typing import NDArray

from discreet.errors import Refusal
from discreet.mechanisms.propose_test_release import ProposedMedian, ProposeTestRelease, Stability, median_stability
from discreet.mechanisms.registry import described, rebuilt
from discreet.mechanisms.smooth_sensitivity import Order
from discreet.privacy import AddRemove, Approximate, Replace

HALF, ONE, HUNDREDTH = Fraction(1, 2), Fraction(1), Fraction(1, 100)
REACH = 400
MECHANISM = ProposeTestRelease(HALF, ONE, HUNDREDTH, 2)
SMALL = (Fraction(0), Fraction(3), ONE)

Data = tuple[int, ...]


def noise(scale: float, n: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.exp(-np.abs(n) / scale) * math.tanh(1 / (2 * scale))


def law(mechanism: ProposeTestRelease, data: Stability) -> NDArray[np.float64]:
    """The chance of None, then of each number from −REACH to REACH."""
    scale = 1 / float(mechanism.epsilon_test)
    passed = noise(scale, np.arange(mechanism.margin + 1 - data.distance, 2000)).sum()
    numbers = noise(mechanism.bound / float(mechanism.epsilon_release), np.arange(-REACH, REACH + 1) - data.value)
    return np.concatenate([[1 - passed], passed * numbers])


def exceeds(left: NDArray[np.float64], right: NDArray[np.float64], epsilon: float) -> float:
    return float(np.maximum(left - math.exp(epsilon) * right, 0).sum())


@pytest.mark.parametrize(
    "mechanism",
    [
        MECHANISM,
        ProposeTestRelease(ONE, HALF, Fraction(1, 10**6), 1),
        ProposeTestRelease(Fraction(3), ONE, HUNDREDTH, 3),
    ],
    ids=repr,
)
def test_neighbours_of_every_kind_keep_the_promise(mechanism: ProposeTestRelease) -> None:
    epsilon, delta = float(mechanism.privacy.epsilon), float(mechanism.privacy.delta)
    stable = [
        (Stability(0, distance), Stability(shift, distance + step))
        for distance in range(1, mechanism.margin + 12)
        for step in (-1, 0, 1)
        for shift in range(mechanism.bound + 1)
    ]
    unstable = [(Stability(0, 0), Stability(shift, 0)) for shift in (1, 5, 60)]
    for left, right in stable + unstable:
        one, other = law(mechanism, left), law(mechanism, right)
        assert exceeds(one, other, epsilon) <= delta * (1 + 1e-9)
        assert exceeds(other, one, epsilon) <= delta * (1 + 1e-9)


def test_the_margin_is_the_smallest_that_keeps_delta() -> None:
    scale = 1 / float(MECHANISM.epsilon_test)
    slips = [float(noise(scale, np.arange(m + 1, 2000)).sum()) for m in (MECHANISM.margin, MECHANISM.margin - 1)]
    assert slips[0] <= float(HUNDREDTH) < slips[1]


def test_the_loss_of_stable_neighbours_is_the_sum_of_both_parts() -> None:
    pair = MECHANISM.pairs()[2]
    left, right = law(MECHANISM, pair.left), law(MECHANISM, pair.right)
    with np.errstate(divide="ignore"):
        lost = np.abs(np.log(left[1:] / right[1:])).max()
    assert lost == pytest.approx(float(MECHANISM.privacy.epsilon), abs=0.1)


def test_the_implementation_follows_that_law() -> None:
    """False alarms: 1e-9 (Hoeffding, a union over None and 41 numbers), if the bits were fresh."""
    data, runs, rng = Stability(3, MECHANISM.margin), 6000, Seeded(2)
    answers = [MECHANISM(data, rng=rng) for _ in range(runs)]
    truth = law(MECHANISM, data)
    allowed = math.sqrt(math.log(2 * 42 / 1e-9) / (2 * runs))
    assert abs(answers.count(None) / runs - truth[0]) <= allowed
    for n in range(-20, 21):
        assert abs(answers.count(n) / runs - truth[1 + REACH + n]) <= allowed


def test_the_error_covers_where_there_is_an_answer() -> None:
    alpha, rng = MECHANISM.error(Fraction(9, 10)), Seeded(3)
    runs = [MECHANISM(Stability(7, MECHANISM.needed(Fraction(1, 2))), rng=rng) for _ in range(4000)]
    answers = [answer for answer in runs if answer is not None]
    assert len(answers) >= 2000
    covered = Coverage(sum(abs(answer - 7) <= alpha for answer in answers), len(answers))
    assert not covered.refuted(0.9), covered


def test_data_that_is_far_from_breaking_passes() -> None:
    rng = Seeded(4)
    for confidence in (Fraction(3, 5), Fraction(9, 10), Fraction(99, 100)):
        far = Stability(0, MECHANISM.needed(confidence))
        passed = Coverage(sum(MECHANISM(far, rng=rng) is not None for _ in range(2000)), 2000)
        assert not passed.refuted(confidence), passed


def test_a_machine_s_integer_does_not_wrap_around() -> None:
    """127 plus noise of scale 100 leaves eight bits about every second time."""
    wide, rng = ProposeTestRelease(ONE, HUNDREDTH, HUNDREDTH, 1), Seeded(9)
    data = Stability(np.int8(127), np.int8(127))  # type: ignore[arg-type]
    assert (type(data.value), type(data.distance)) == (int, int)
    answers = [wide(data, rng=rng) for _ in range(200)]
    assert {type(answer) for answer in answers} == {int}
    assert max(answer for answer in answers if answer is not None) > 200


@pytest.mark.parametrize("other", [0.125, Fraction(1, 8), None, "0.125", math.nan, np.float64(0.125)], ids=repr)
def test_a_stability_of_other_than_whole_numbers_is_refused_by_its_type(other: object) -> None:
    """Noise on whole numbers hides no fraction; the number itself is private and not said."""
    for place in (0, 1):
        with pytest.raises(Refusal) as refused:
            Stability(*((other, 5), (5, other))[place])
        assert f"got a {type(other).__name__};" in str(refused.value)
        assert "125" not in str(refused.value)


def added_or_removed(data: Data) -> Iterable[Data]:
    yield from (tuple(sorted((*data, value))) for value in range(4))
    yield from (data[:i] + data[i + 1 :] for i in range(len(data)))


@pytest.mark.parametrize("bound", [1, 2])
def test_the_distance_of_the_median_is_what_a_stability_must_be(bound: int) -> None:
    """It moves by at most 1, is 0 where a neighbour's median is further than the bound, and is the true distance."""
    for size in range(6):
        for data in itertools.combinations_with_replacement(range(4), size):
            here = median_stability(Order(data, 0, 3), bound)
            near = [median_stability(Order(other, 0, 3), bound) for other in added_or_removed(data)]
            assert all(abs(here.distance - there.distance) <= 1 for there in near)
            breaks = any(abs(here.value - there.value) > bound for there in near)
            assert (here.distance == 0) == breaks
            if here.distance:
                assert min(there.distance for there in near) == here.distance - 1


def test_the_median_keeps_its_promise_on_every_small_data_set() -> None:
    mechanism = ProposedMedian(HALF, HALF, HUNDREDTH, ONE, *SMALL)
    laws: dict[Data, NDArray[np.float64]] = {}
    for size in range(6):
        for data in itertools.combinations_with_replacement(range(4), size):
            for other in (data, *added_or_removed(data)):
                if other not in laws:
                    laws[other] = law(mechanism._release, median_stability(Order(other, 0, 3), 1))
                assert exceeds(laws[data], laws[other], 1.0) <= 0.01 * (1 + 1e-9)
                assert exceeds(laws[other], laws[data], 1.0) <= 0.01 * (1 + 1e-9)


INCOMES = np.random.default_rng(1).lognormal(10, 0.7, 2001)
WIDE = ProposedMedian(HALF, HALF, Fraction(1, 10**6), Fraction(2000), Fraction(0), Fraction(500_000), ONE)


def test_a_good_proposal_is_answered_and_a_bad_one_is_not() -> None:
    rng = Seeded(5)
    alpha = WIDE.error(Fraction(9, 10))
    good = [WIDE(INCOMES, rng=rng) for _ in range(300)]
    assert law(WIDE._release, median_stability(Order.of(INCOMES, WIDE.grid), 2000))[0] < 1e-12
    assert None not in good
    near = [abs(answer - Fraction(float(np.median(INCOMES)))) <= alpha + 1 for answer in good if answer is not None]
    assert not Coverage(sum(near), len(near)).refuted(0.9)
    hopeful = replace(WIDE, bound=ONE)
    assert [hopeful(INCOMES, rng=rng) for _ in range(100)].count(None) == 100


def test_every_list_is_answered() -> None:
    mechanism = ProposedMedian(HALF, HALF, HUNDREDTH, ONE, *SMALL)
    for values in ([], [float("nan")] * 40, [float("inf"), 10**400, -3], np.array([], dtype=np.int64)):
        assert mechanism(values, rng=Seeded(1)) in {None, 0, 1, 2, 3}
    assert mechanism([2] * 100, rng=Seeded(1)) in {0, 1, 2, 3}


def test_answers_lie_between_the_bounds() -> None:
    mechanism, rng = ProposedMedian(HALF, Fraction(1, 10), HUNDREDTH, ONE, *SMALL), Seeded(6)
    assert {mechanism([0] * 100, rng=rng) for _ in range(200)} == {0, 1, 2, 3}


@pytest.mark.parametrize("mechanism", [MECHANISM, WIDE], ids=["generic", "median"])
def test_it_goes_through_a_door(mechanism: object) -> None:
    assert rebuilt(**described(mechanism)) == mechanism


def test_the_worst_pairs_are_neighbours() -> None:
    for pair in WIDE.pairs():
        assert len(pair.right) == len(pair.left) + 1
        assert pair.right[: len(pair.left)] == pair.left
    for stable in MECHANISM.pairs():
        assert abs(stable.left.distance - stable.right.distance) <= 1


def test_the_promise_is_what_was_asked_for() -> None:
    assert MECHANISM.privacy == Approximate(Fraction(3, 2), HUNDREDTH)
    assert WIDE.privacy == Approximate(1, Fraction(1, 10**6))


REFUSED: list[tuple[Callable[[], object], str]] = [
    (lambda: replace(MECHANISM, epsilon_test=Fraction(0)), "epsilon_test > 0, got epsilon_test=0"),
    (lambda: replace(MECHANISM, epsilon_release=Fraction(-1)), "epsilon_release > 0"),
    (lambda: replace(MECHANISM, delta=Fraction(0)), "delta=0"),
    (lambda: replace(MECHANISM, delta=Fraction(1, 2)), "delta < 1/2, got delta=0.5"),
    (lambda: replace(MECHANISM, bound=0), "bound >= 1, got bound=0"),
    (lambda: replace(WIDE, bound=Fraction(500_000)), "less than the span, got bound=500000"),
    (lambda: replace(WIDE, bound=Fraction(1, 2)), "from one step"),
    (lambda: replace(WIDE, bound=Fraction(-1)), "bound > 0, got bound=-1"),
    (lambda: replace(WIDE, neighbours=Replace()), "proved for AddRemove, got Replace"),
    (lambda: replace(WIDE, neighbours=AddRemove("person"), upper=Fraction(-1)), "lower < upper"),
]


@pytest.mark.parametrize(("build", "words"), REFUSED, ids=[words for _, words in REFUSED])
def test_nonsense_is_refused_by_name(build: Callable[[], object], words: str) -> None:
    with pytest.raises(Refusal) as refused:
        build()
    assert words in str(refused.value)
