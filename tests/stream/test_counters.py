"""Continual counters: what they say without noise, how far neighbours move what is measured, the law of the noise."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import partial
from math import comb
from typing import Any

import numpy as np
import pytest
from doubles import Seeded
from scipy.special import ndtr

from discreet.errors import Refusal
from discreet.mechanisms.registry import described, rebuilt
from discreet.privacy import Concentrated, Pure, Replace
from discreet.stream import BufferedCounter, SquareRootCounter, TreeCounter
from discreet.stream.buffered_factorisation import buffers_for
from discreet.stream.exact_convolution import products
from discreet.stream.gaussian_counters import _weights  # whole numbers, compared with sums

ONE, HALF = Fraction(1), Fraction(1, 2)
STILL = Fraction(1, 10**12)  # a variance at which noise is none, to a chance that is never seen
NO_NOISE: list[Any] = [
    lambda steps: TreeCounter(Fraction(1, 100), steps, 3),
    lambda steps: TreeCounter(Fraction(1, 100), steps, 7),
    lambda steps: SquareRootCounter(STILL, steps),
    lambda steps: BufferedCounter(STILL, steps),
]
KINDS: list[Any] = [
    TreeCounter.of(1, 30),
    TreeCounter(Fraction(7, 2), 200, 5, 3, Replace()),
    SquareRootCounter.of(HALF, 30, 2),
    BufferedCounter.of(HALF, 30, 2, Replace()),
]


def pushed(counter: Any, steps: list[int], seed: int) -> list[int]:  # noqa: ANN401
    """The counts of a counter that is stopped and read back after every step."""
    rng, counts = Seeded(seed), []
    state = counter.start(rng)
    for events in steps:
        state, counted = counter.push(state, events, rng)
        text = json.dumps(counter.encode(state))
        assert len(text) <= counter.room
        assert counter.decode(json.loads(text)) == state
        counts.append(counted)
    return counts


@pytest.mark.parametrize("kind", NO_NOISE, ids=["tree of 3", "tree of 7", "square root", "buffered"])
@pytest.mark.parametrize("steps", [1, 2, 3, 40, 400])
def test_without_noise_a_running_count_is_the_sum(kind: Any, steps: int) -> None:  # noqa: ANN401
    for most in (3, 10**9):
        events = np.random.default_rng(steps).integers(-most // 4, most, steps)
        true = np.cumsum(events).tolist()
        assert kind(steps)(events, rng=Seeded(1)).tolist() == true
        assert pushed(kind(steps), events.tolist(), 2) == true


def test_products_by_transforms_are_exact() -> None:
    random = np.random.default_rng(5)
    for most in (1, 1 << 10, 1 << 40):
        events = random.integers(-most, most, 300)
        for weights, bits in ((_weights(300), 30), (buffers_for(300).rounded(300), 60), (_weights(300) >> 25, 30)):
            low, high = products(weights, events, bits)
            exactly = [sum(int(w) * int(x) for w, x in zip(weights, events[t::-1], strict=False)) for t in range(300)]
            assert [int(h) * 2**bits + int(part) for h, part in zip(high, low, strict=True)] == exactly
            assert 0 <= low.min() <= low.max() < 2**bits


@pytest.mark.parametrize("steps", [1, 2, 300, 3_000])
def test_a_rounded_column_is_never_above_the_true_one(steps: int) -> None:
    """So that all steps at once move what is measured no further than is paid."""
    buffers = buffers_for(steps)
    powers, exactly = [Fraction(1)] * len(buffers.fades), [Fraction(1)]
    for _ in range(min(steps, 300) - 1):
        exactly.append(
            sum((Fraction(w, 1 << 40) * each for w, each in zip(buffers.weights, powers, strict=True)), Fraction(0))
        )
        powers = [Fraction(left, 1 << 40) * each for left, each in zip(buffers.kept, powers, strict=True)]
    rounded = buffers.rounded(steps).tolist()
    assert len(rounded) == steps
    off = [each - Fraction(found, 1 << 60) for each, found in zip(exactly, rounded, strict=False)]
    assert min(off) >= 0
    assert max(off) <= Fraction(1000, 1 << 60)
    made_of = zip(buffers.fades, buffers.weights, strict=True)
    far = math.fsum(w / 2**40 * (1 - f / 2**40) ** (steps - 2) for f, w in made_of)
    assert steps == 1 or rounded[-1] / 2**60 == pytest.approx(far, rel=1e-9)


@pytest.mark.parametrize(("arity", "horizon"), [(3, 13), (3, 40), (5, 12), (5, 60), (19, 400)])
def test_each_step_lies_in_one_block_of_each_level_and_blocks_add_up(arity: int, horizon: int) -> None:
    """From the definition: numbers in digits around zero, and the blocks between their prefixes."""
    counter = TreeCounter(ONE, horizon, arity)
    half, levels = arity // 2, counter.levels
    assert (arity**levels - 1) // 2 >= horizon > ((arity ** (levels - 1) - 1) // 2 if levels > 1 else 0)
    every = itertools.product(range(-half, half + 1), repeat=levels)
    written = {sum(d * arity**place for place, d in enumerate(digits)): digits for digits in every}
    for step in range(1, horizon + 1):
        digits = written[step]
        assert sum(map(abs, digits)) == counter.blocks(step)
        covered, place = [0] * (arity**levels + 1), 0
        for level in reversed(range(levels)):
            for _ in range(abs(digits[level])):
                sign = 1 if digits[level] > 0 else -1
                start = place if sign > 0 else place - arity**level
                assert start % arity**level == 0
                for inside in range(start, start + arity**level):
                    covered[inside] += sign
                place += sign * arity**level
        assert covered == [1] * step + [0] * (len(covered) - step)
    assert counter.privacy == Pure(Fraction(levels))  # one block of each level, of scale 1, for one event
    worst = max(counter.blocks(step) for step in range(1, horizon + 1))
    noise = 2 * math.exp(-1) / (1 - math.exp(-1)) ** 2
    assert counter.deviation() == pytest.approx(math.sqrt(worst * noise))


def test_a_tree_loses_what_it_says_exactly() -> None:
    """All outputs of a small tree by its noises: a, then −b + c, then c, then c + d, added to the counts."""
    counter = TreeCounter(Fraction(2), 4, 3)
    reach, weight = 40, [math.exp(-abs(n) / 2) for n in range(-40, 41)]
    total = sum(weight)
    law = {n: mass / total for n, mass in zip(range(-reach, reach + 1), weight, strict=True)}

    def chance(counts: tuple[int, ...], events: tuple[int, ...]) -> float:
        one, two, three, four = (said - true for said, true in zip(counts, itertools.accumulate(events), strict=True))
        return law.get(one, 0) * law.get(three - two, 0) * law.get(three, 0) * law.get(four - three, 0)

    nothing, epsilon = (0, 0, 0, 0), float(counter.privacy.epsilon)
    assert epsilon == 1
    for place in range(4):
        event = tuple(int(step == place) for step in range(4))
        for counts in itertools.product(range(-3, 4), repeat=4):
            there, here = chance(counts, event), chance(counts, nothing)
            assert abs(math.log(there / here)) <= epsilon + 1e-9
    worst = math.log(chance((0, 0, 0, 0), nothing) / chance((0, 0, 0, 0), (1, 0, 0, 0)))
    assert worst == pytest.approx(epsilon)  # it is not more private than it says either


def many(counter: Any, events: list[int], runs: int, *, stepwise: bool) -> np.ndarray[Any, Any]:  # noqa: ANN401
    true = np.cumsum(events)
    if stepwise:
        return np.array([np.array(pushed(counter, events, seed)) - true for seed in range(runs)])
    rng = Seeded(7)
    return np.array([counter(events, rng=rng) - true for _ in range(runs)])


def draws_are(samples: np.ndarray[Any, Any], law: Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]]) -> bool:
    """Whether a column of samples each has this law and no two hang together: false alarm 1e-9.

    Dvoretzky, Kiefer & Wolfowitz for all columns as one sample, Hoeffding for the signs of each two.
    """
    runs, columns = samples.shape
    edges = np.unique(samples)
    below = np.searchsorted(np.sort(samples, axis=None), edges, side="right") / samples.size
    near = float(np.abs(below - law(edges)).max()) <= math.sqrt(math.log(4 / 1e-9) / (2 * samples.size)) + 0.005
    signs, pairs = np.sign(samples), list(itertools.combinations(range(columns), 2))
    together = max(abs(float((signs[:, i] * signs[:, j]).mean())) for i, j in pairs)
    return near and together <= math.sqrt(2 * math.log(4 * len(pairs) / 1e-9) / runs)


@pytest.mark.parametrize(("stepwise", "runs"), [(True, 1500), pytest.param(False, 4000, marks=pytest.mark.slow)])
def test_the_noise_of_a_tree_follows_its_law_and_no_other(stepwise: bool, runs: int) -> None:  # noqa: FBT001
    """Differences of its four counts are single draws."""
    found = many(TreeCounter(Fraction(2), 4, 3), [5, 0, 2, 1], runs, stepwise=stepwise)
    single = np.array([found[:, 0], found[:, 2] - found[:, 1], found[:, 2], found[:, 3] - found[:, 2]]).T

    def law(scale: float, edges: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        q = math.exp(-1 / scale)
        return np.where(edges >= 0, 1 - q ** (edges + 1.0) / (1 + q), q ** -np.minimum(edges, 0.0) / (1 + q))

    assert draws_are(single, partial(law, 2.0))
    assert stepwise or not draws_are(single, partial(law, 2.6))
    assert not draws_are(single, partial(law, 1.4))


@pytest.mark.parametrize("kind", [pytest.param(SquareRootCounter, marks=pytest.mark.slow), BufferedCounter])
def test_gaussian_counts_follow_their_law_and_no_other(kind: Any) -> None:  # noqa: ANN401
    """What the matrices make of counts are single normal draws, but for rounding to whole events, of so wide noise."""
    counter, events = kind(Fraction(10_000), 6), [3, 0, 0, 9, 1, 1]
    undone = np.tril(np.ones((6, 6))) @ np.linalg.inv(matrix(counter, 6))
    for stepwise, runs in ((True, 600), (False, 2000)):
        single = many(counter, events, runs, stepwise=stepwise) @ np.linalg.inv(undone).T
        assert draws_are(single, lambda edges: ndtr(edges / 100))
        assert stepwise or not draws_are(single, lambda edges: ndtr(edges / 130))
        assert not draws_are(single, lambda edges: ndtr(edges / 70))


def matrix(counter: Any, size: int) -> np.ndarray[Any, Any]:  # noqa: ANN401
    """What is measured of the events of each step: binomials, or fading sums, as they are defined."""
    if isinstance(counter, SquareRootCounter):
        column = [comb(2 * j, j) / 4**j for j in range(size)]
    else:
        buffers = buffers_for(counter.horizon)
        parts = [(w / 2**40, 1 - f / 2**40) for f, w in zip(buffers.fades, buffers.weights, strict=True)]
        column = [1.0, *(sum(w * left ** (j - 1) for w, left in parts) for j in range(1, size))]
    return np.array([[column[i - j] if i >= j else 0.0 for j in range(size)] for i in range(size)])


@pytest.mark.parametrize("kind", [SquareRootCounter, BufferedCounter])
@pytest.mark.parametrize("steps", [1, 2, 50, pytest.param(700, marks=pytest.mark.slow)])
def test_prices_and_deviations_are_those_of_the_matrices(kind: Any, steps: int) -> None:  # noqa: ANN401
    counter = kind(ONE, steps, 3)
    rows = matrix(counter, steps)
    assert float(counter.privacy.rho) == pytest.approx(9 * float(np.square(rows[:, 0]).sum()) / 2, rel=1e-5)
    assert float(replace(counter, neighbours=Replace()).privacy.rho) == pytest.approx(
        2 * float(counter.privacy.rho), rel=1e-5
    )
    undone = np.tril(np.ones((steps, steps))) @ np.linalg.inv(rows)
    assert counter.deviation() == pytest.approx(float(np.linalg.norm(undone[-1])), rel=1e-6)
    assert kind.of("0.3", steps, 3).privacy == Concentrated(Fraction(3, 10))


def streams(steps: int) -> Iterator[tuple[list[int], list[int]]]:
    """A stream, and where a unit adds to it: at once, at the end, spread, and at random."""
    random = np.random.default_rng(3)
    events = random.integers(0, 50, steps).tolist()
    for places in ([0, 0, 0], [steps - 1] * 3, [0, steps // 2, steps - 1], *random.integers(0, steps, (8, 3)).tolist()):
        yield events, places


def test_what_is_measured_moves_no_further_than_is_paid() -> None:
    counter = BufferedCounter.of(HALF, 120, 3)
    paid = counter.privacy.rho * 2 * counter.variance * 4**30
    moves = []
    for events, places in streams(120):
        theirs = [each + places.count(step) for step, each in enumerate(events)]
        seen = []
        for stream in (events, theirs):
            sums: tuple[int, ...] = (0,) * 4
            measured = []
            for each in stream:
                sums, value = counter.measured(sums, each)
                measured.append(value)
            seen.append(measured)
        moves.append(sum((a - b) ** 2 for a, b in zip(*seen, strict=True)))
    assert max(moves) <= paid
    assert moves[0] >= paid * Fraction(999, 1000)  # and the promise is no wider than it needs to be


def test_a_million_steps_are_as_sharp_as_is_known() -> None:
    """In units of the noise that one number would have at the same price; the last for ε = 1."""
    million = 10**6
    assert SquareRootCounter.of(HALF, million).deviation() <= 5.6
    assert BufferedCounter.of(HALF, million).deviation() <= 5.6
    assert TreeCounter.of(1, million).deviation() <= 47
    assert TreeCounter.of(1, million).privacy == Pure(ONE)


@pytest.mark.parametrize("between", [(0, 1), (0, 6), (2, 5), (5, 6), (1, 6)])
def test_errors_of_windows_are_those_of_their_noise(between: tuple[int, int]) -> None:
    """From the matrices; of a tree by what every window's difference is with a noise of one block at a time."""
    start, stop = between
    for kind in (SquareRootCounter, BufferedCounter):
        counter = kind(Fraction(10**8), 6)
        rows = np.tril(np.ones((6, 6))) @ np.linalg.inv(matrix(counter, 6))
        moved = rows[stop - 1] - (rows[start - 1] if start else 0)
        spread = 10**4 * float(np.linalg.norm(moved))
        for keys in (1, 4):  # at most a thousandth wider than it must be, and some events that were rounded
            needed, told = 1.959964 * spread * math.sqrt(keys), counter.window_error(start, stop, "0.95", keys)
            assert needed <= told <= needed * 1.001 + 5 * keys
        assert counter.window_errors(stop - start, range(1, 7))[stop - 1] == counter.window_error(start, stop)
    tree = TreeCounter(Fraction(100), 6, 3)
    off = many(tree, [0] * 6, 2_000, stepwise=False)
    window = off[:, stop - 1] - (off[:, start - 1] if start else 0)
    assert 0.93 <= float((np.abs(window) <= tree.window_error(start, stop, "0.95")).mean()) <= 0.985
    assert tree.window_errors(stop - start, range(1, 7))[stop - 1] == tree.window_error(start, stop)
    with pytest.raises(Refusal, match="start < stop"):
        tree.window_error(3, 3)


@pytest.mark.parametrize("counter", KINDS, ids=repr)
def test_a_counter_goes_through_a_door_and_refuses_what_it_cannot_do(counter: Any) -> None:  # noqa: ANN401
    told = json.loads(json.dumps(described(counter)))
    assert rebuilt(told["name"], told["parameters"]) == counter
    for change in ({"horizon": 0}, {"contribution": 0}, {"horizon": 2.5}):
        with pytest.raises(Refusal):
            replace(counter, **change)
    with pytest.raises(Refusal, match="a counter of"):
        counter([0] * (counter.horizon + 1))
    with pytest.raises(Refusal):
        counter([0.5])
    assert counter([], rng=Seeded(1)).size == 0
    huge = counter([10**40, -(10**40)], rng=Seeded(1))
    assert abs(int(huge[1])) <= 10 * counter.deviation() + 2**62 // 10**8


def test_odd_parameters_are_refused() -> None:
    with pytest.raises(Refusal, match="odd arity"):
        TreeCounter(ONE, 10, 4)
    with pytest.raises(Refusal, match="horizon <="):
        SquareRootCounter(ONE, 1 << 23)
    with pytest.raises(Refusal, match="variance <="):
        BufferedCounter(Fraction(1 << 51), 10)


@pytest.mark.parametrize("counter", KINDS, ids=repr)
def test_errors_cover_and_are_not_much_too_wide(counter: Any) -> None:  # noqa: ANN401
    """Beside the normal law of the largest deviation; that they hold follows from the laws above."""
    alone = counter.deviation()
    for confidence, far in (("0.9", 1.645), ("0.95", 1.96), ("0.999", 3.2905)):
        assert far * alone * 0.9 - 1 <= counter.error(confidence) <= far * alone * 1.3 + 2
