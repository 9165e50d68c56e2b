from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement

import numpy as np
import pytest
from covering import Coverage
from doubles import Scripted, Seeded
from hypothesis import given
from hypothesis import strategies as st

from discreet.declared.grid import Grid
from discreet.errors import Refusal
from discreet.interval_arithmetic import Interval, exp
from discreet.mechanisms.quantile import Quantile, Rows, _level, gaps, segment
from discreet.mechanisms.registry import described, rebuilt
from discreet.privacy import AddRemove, Neighbours, Pure, Replace

HALF, NINTH = Fraction(1, 2), Fraction(9, 10)
LEVELS = (HALF, Fraction(1, 4), NINTH)

Data = tuple[int, ...]


def gap(data: Sequence[int], y: int, level: Fraction) -> Fraction:
    """By its definition: how far the target is from the ranks that y has."""
    target = level * len(data)
    return max(Fraction(0), sum(x < y for x in data) - target, target - sum(x <= y for x in data))


@cache
def weight(x: Fraction) -> Interval:
    return exp(-x)


def law(mechanism: Quantile, data: Data) -> list[Interval]:
    """The probability of each candidate, by brute force."""
    low, high = mechanism.grid.low, mechanism.grid.high
    weights = [weight(mechanism.rate * gap(data, y, mechanism.level)) for y in range(low, high + 1)]
    total = sum(weights, Interval.of(0))
    return [each / total for each in weights]


def datasets(values: int, most: int) -> Iterator[Data]:
    for size in range(most + 1):
        yield from combinations_with_replacement(range(values), size)


def neighbours_of(data: Data, values: int, relation: Neighbours, rows: int) -> Iterator[Data]:
    if isinstance(relation, AddRemove):
        for more in datasets(values, rows):
            yield (*data, *more)
    else:
        for i in range(len(data)):
            for x in range(values):
                yield (*data[:i], x, *data[i + 1 :])


@given(
    st.lists(st.integers(-3, 4), max_size=12),
    st.fractions(min_value=Fraction(1, 50), max_value=Fraction(49, 50), max_denominator=50),
)
def test_every_candidate_has_the_gap_of_its_definition(data: list[int], level: Fraction) -> None:
    rows = Rows.of(np.array(data, dtype=np.int64), -5, 6)
    starts, lengths, ahead, equal = rows.runs()
    found = {
        y: Fraction(int(g), level.denominator)
        for start, length, g in zip(starts, lengths, gaps(ahead, equal, rows.size, level), strict=True)
        for y in range(int(start), int(start) + int(length))
    }
    assert int(lengths.sum()) == len(found) == 12
    assert found == {y: gap(data, y, level) for y in range(-5, 7)}


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(("relation", "rows"), [(AddRemove(), 1), (AddRemove(), 2), (Replace(), 1)])
def test_no_neighbours_are_told_apart_better_than_promised(level: Fraction, relation: Neighbours, rows: int) -> None:
    epsilon, values = Fraction(3, 2), 4
    mechanism = Quantile(epsilon, Fraction(0), Fraction(values - 1), Fraction(1), level, rows, relation)
    assert mechanism.privacy == Pure(epsilon)
    most, known = exp(epsilon), {data: law(mechanism, data) for data in datasets(values, 4 + rows)}
    for data in datasets(values, 4):
        for other in neighbours_of(data, values, relation, rows):
            for p, q in zip(known[data], known[tuple(sorted(other))], strict=True):
                assert p.low <= (most * q).high
                assert q.low <= (most * p).high


@pytest.mark.parametrize("level", [HALF, Fraction(1, 4), NINTH, Fraction(7, 10)])
@pytest.mark.parametrize(("relation", "rows"), [(AddRemove(), 1), (AddRemove(), 3), (Replace(), 1)])
def test_its_own_pair_reaches_the_promise_on_a_long_grid(level: Fraction, relation: Neighbours, rows: int) -> None:
    epsilon = Fraction(1)
    mechanism = Quantile(epsilon, Fraction(0), Fraction(10**9), Fraction(1), level, rows, relation)
    (pair,) = mechanism.pairs()
    if isinstance(relation, AddRemove):
        assert sum((Counter(pair.right) - Counter(pair.left)).values()) == rows
        assert not Counter(pair.left) - Counter(pair.right)
    else:
        assert len(pair.left) == len(pair.right)
        assert sum((Counter(pair.right) - Counter(pair.left)).values()) == 1
    chances = []
    beside = 10**9 - 1 if level >= HALF else 1
    for side in (pair.left, pair.right):
        values = [int(x) for x in side]
        starts, lengths, ahead, equal = Rows.of(np.array(values), 0, 10**9).runs()
        heights = gaps(ahead, equal, len(values), level)
        total = sum(
            (int(n) * exp(-mechanism.rate * int(g) / level.denominator) for n, g in zip(lengths, heights, strict=True)),
            Interval.of(0),
        )
        assert int(starts.min()) == 0
        chances.append(exp(-mechanism.rate * gap(values, beside, level)) / total)
    loss = abs((chances[1] / chances[0]).log().down)
    assert epsilon * Fraction(999, 1000) < loss <= epsilon


def follows(
    sample: Sequence[int], lengths: Sequence[int], heights: Sequence[int], rate: float, false_alarm: float = 1e-9
) -> bool:
    """Dvoretzky-Kiefer-Wolfowitz (Massart 1990): a correct sampler fails with probability at most `false_alarm`."""
    weights = [
        length * math.exp(-rate * (height - min(heights))) for length, height in zip(lengths, heights, strict=True)
    ]
    band = math.sqrt(math.log(2 / false_alarm) / (2 * len(sample)))
    seen = [sum(x <= i for x in sample) / len(sample) for i in range(len(lengths))]
    return all(abs(f - sum(weights[: i + 1]) / sum(weights)) <= band for i, f in enumerate(seen))


@pytest.mark.parametrize(
    ("lengths", "heights", "top"),
    [
        ((1, 1 << 40, 5, 1 << 20, 3), (4, 59, 6, 30, 1004), 64),
        ((1, 7, 5, 40, 3), (4, 7, 6, 11, 13), 2),  # with few levels, most draws come from the rest
        ((1, 7, 5, 40, 3), (4, 7, 6, 11, 13), 1),
    ],
)
def test_a_segment_is_drawn_by_its_length_and_its_gap(lengths: Data, heights: Data, top: int) -> None:
    rng, whole = Seeded(top), (np.array(heights, dtype=np.int64), np.array(lengths, dtype=np.int64))
    sample = [segment(*whole, Fraction(1, 2), rng=rng, top=top) for _ in range(4_000)]
    assert follows(sample, lengths, heights, 0.5)
    assert not follows(sample, lengths, heights, 0.35)
    assert not follows(sample, lengths, heights, 0.65)


def test_digits_at_a_threshold_are_read_on_until_they_settle_it() -> None:
    within = [3, 7, 7, 1 << 50, 1 << 50]
    weights = [n * exp(-k, 200) for k, n in enumerate(within[:-1])]
    weights.append(within[-1] * exp(-4, 200) / (1 - exp(-1, 200)))
    total = sum(weights, Interval.of(0, 200))
    threshold = (weights[0] + weights[1] + weights[2]) / total  # U below it means a level below 3
    first = math.floor(threshold.down * (1 << 128))
    assert first == math.floor(threshold.up * (1 << 128))
    for digits, level in ((first - 1, 2), (first + 1, 3)):  # the first 64 of the 128 are the threshold's own
        script = [(digits >> 64).to_bytes(8, "little"), (digits % (1 << 64)).to_bytes(8, "little")]
        assert digits >> 64 == first >> 64
        assert _level(within, Scripted(script)) == level


def test_the_whole_call_follows_the_law() -> None:
    mechanism, data = Quantile.of(NINTH, Grid(0, 9, 1), 2), (1, 1, 4, 6, 6, 6, 7)
    rng, runs = Seeded(7), 4_000
    seen = Counter(int(mechanism(data, rng=rng)) for _ in range(runs))
    band = math.sqrt(math.log(2 / 1e-9) / (2 * runs))
    chances = [float(p.up) for p in law(mechanism, data)]
    assert all(abs(sum(seen[x] for x in range(y + 1)) / runs - sum(chances[: y + 1])) <= band for y in range(10))


def test_steps_and_bounds_only_rename_the_candidates() -> None:
    fine = Quantile.of(HALF, Grid("-1.5", "2.25", "0.25"), 1)
    assert {fine([0.3, 0.3, 0.1], rng=Seeded(i)) % Fraction(1, 4) for i in range(50)} == {Fraction(0)}
    sure = Quantile.of(HALF, Grid("-1.5", "2.25", "0.25"), 10**6)
    assert sure([-9.0, 0.3, 0.3, 0.1, 99.0], rng=Seeded(0)) == Fraction(1, 4)
    assert sure([float("inf")] * 3, rng=Seeded(0)) == Fraction(9, 4)
    assert (
        sure([float("nan")] * 3, rng=Seeded(0)) == sure([-math.inf, -math.inf, 0.0], rng=Seeded(0)) == Fraction(-3, 2)
    )


def test_no_rows_at_all_make_every_candidate_equally_likely() -> None:
    mechanism, runs = Quantile.of(HALF, Grid(0, 3, 1), 5), 4_000
    rng = Seeded(11)
    seen = Counter(int(mechanism([], rng=rng)) for _ in range(runs))
    band = math.sqrt(math.log(2 * 4 / 1e-9) / (2 * runs))  # Hoeffding, four candidates
    assert all(abs(seen[y] / runs - 1 / 4) <= band for y in range(4))


@pytest.mark.parametrize("level", [HALF, NINTH])
def test_the_error_holds_on_its_worst_data_and_is_nearly_reached(level: Fraction) -> None:
    mechanism, confidence, runs = Quantile.of(level, Grid(0, 1000, 1), 1), Fraction(9, 10), 2_000
    alpha = mechanism.error(confidence)
    rows = math.floor(alpha / level) + 1  # all in the last point: every other candidate misses by level · rows > α
    rng, data = Seeded(5), np.full(rows, 1000)
    covered = Coverage(
        sum(gap(data.tolist(), int(mechanism(data, rng=rng)), level) <= alpha for _ in range(runs)), runs
    )
    assert not covered.refuted(confidence), covered
    assert not covered.exceeded(0.95), covered


def test_the_error_holds_on_ordinary_data() -> None:
    mechanism, runs = Quantile.of(Fraction(1, 4), Grid(0, 10_000, 1), "0.5"), 2_000
    alpha, rng = mechanism.error("0.8"), Seeded(6)
    data = np.random.default_rng(1).integers(0, 10_000, 300)
    data.sort()

    def miss(y: int) -> int:
        return max(0, int(np.searchsorted(data, y)) - 75, 75 - int(np.searchsorted(data, y, side="right")))

    assert not Coverage(sum(miss(int(mechanism(data, rng=rng))) <= alpha for _ in range(runs)), runs).refuted(0.8)


def test_more_candidates_and_less_budget_cost_more_rows() -> None:
    small, large = (Quantile.of(HALF, Grid(0, n, 1), 1).error() for n in (100, 1 << 40))
    assert small < large < 2 * math.log(1 << 40)
    assert Quantile.of(HALF, Grid(0, 100, 1), "0.1").error() > 9 * small
    assert Quantile(Fraction(1), Fraction(0), Fraction(1, 2), Fraction(1)).error() == 0  # one candidate


def test_a_grid_of_2_to_the_53_points_is_no_obstacle() -> None:
    mechanism = Quantile.of(HALF, Grid(-(1 << 52), 1 << 52, 1), 1)
    data = np.random.default_rng(2).normal(1e9, 1e6, 20_000)
    answer = float(mechanism(data, rng=Seeded(9)))
    assert abs(np.searchsorted(np.sort(data), answer) - 10_000) <= mechanism.error(Fraction(10**9 - 1, 10**9))


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"epsilon": 0}, "epsilon=0"),
        ({"epsilon": float("nan")}, "epsilon must be finite, got nan"),
        ({"level": 0}, "level=0"),
        ({"level": 1}, "level=1"),
        ({"level": Fraction(1, (1 << 20) + 1)}, "1/1048577"),
        ({"upper": 0}, "lower=0 upper=0"),
        ({"step": -1}, "step=-1"),
        ({"max_rows": 0}, "max_rows=0"),
        ({"max_rows": 2, "neighbours": Replace()}, "max_rows=2"),
        ({"neighbours": "rows"}, "'rows'"),
    ],
)
def test_nonsense_is_refused_by_name(parameters: dict[str, object], says: str) -> None:
    usual: dict[str, object] = {"epsilon": 1, "lower": 0, "upper": 9, "step": 1}
    with pytest.raises(Refusal, match=says):
        Quantile(**{**usual, **parameters})  # type: ignore[arg-type]


def test_it_goes_through_a_door_and_comes_back() -> None:
    mechanism = Quantile.of("0.3", Grid("-0.5", 10, "0.01"), "0.7", Replace("person"))
    told = described(mechanism)
    assert rebuilt(str(told["name"]), told["parameters"]) == mechanism
