from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement

import numpy as np
import pytest
from covering import Coverage
from doubles import Seeded
from hypothesis import given
from hypothesis import strategies as st

from discreet.declared.grid import Grid
from discreet.errors import Refusal
from discreet.interval_arithmetic import Interval, exp
from discreet.mechanisms.quantile import Quantile, Rows
from discreet.mechanisms.quantiles import Cut, Quantiles, _split, pieces
from discreet.mechanisms.registry import described, rebuilt
from discreet.privacy import Pure, Replace

Data = tuple[int, ...]
Law = dict[Data, Interval]

QUARTERS = (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4))


def datasets(values: int, most: int) -> Iterator[Data]:
    for size in range(most + 1):
        yield from combinations_with_replacement(range(values), size)


@cache
def weight(x: Fraction) -> Interval:
    return exp(-x)


def parts_of(data: Data, z: int, parts: int) -> Counter[int]:
    """For each number of rows equal to z that count as below, in how many parts of z they do: part by part."""
    own = data.count(z)
    if parts <= 1000:
        return Counter(own * s // parts for s in range(parts))
    return Counter({k: -(-(k + 1) * parts // own) + -k * parts // own for k in range(own)} if own else {0: parts})


def law(cuts: Sequence[Cut], data: Data, low: int, high: int, parts: int) -> Law:
    """The law of the answers to `cuts`, from the definition: the first cut, then those below it and those above."""
    if not cuts:
        return {(): Interval.of(1)}
    cut, n, answers = cuts[0], len(data), defaultdict[Data, Interval](lambda: Interval.of(0))
    r, total = cut.relative, Interval.of(0)
    under = [each for each in cuts[1:] if each.level < cut.level]
    over = [each for each in cuts[1:] if each.level > cut.level]
    for z in range(low, high + 1):
        first, own = sum(x < z for x in data), data.count(z)
        if cut.last:
            chance = weight(cut.rate * max(Fraction(0), first - r * n, r * n - first - own))
            answers[(z,)] += chance
            total += chance
            continue
        for k, size in parts_of(data, z, parts).items():
            chance = size * weight(cut.rate * abs(first + k - r * n))
            total += chance
            lower, upper = (*data[:first], *(z,) * k), (*(z,) * (own - k), *data[first + own :])
            for left, p in law(under, lower, low, z, parts).items():
                for right, q in law(over, upper, z, high, parts).items():
                    answers[(*left, z, *right)] += chance * p * q
    return {answer: mass / total for answer, mass in answers.items()}


def told_apart(mechanism: Quantiles, rows: int, parts: int) -> Iterator[tuple[Law, Law]]:
    cuts, values, more = list(mechanism._cuts()), mechanism.grid.high + 1, mechanism.max_rows
    known = {data: law(cuts, data, 0, values - 1, parts) for data in datasets(values, rows + more)}
    for data in datasets(values, rows):
        for added in datasets(values, more):
            yield known[data], known[tuple(sorted(data + added))]


@pytest.mark.parametrize(
    ("levels", "values", "rows", "max_rows"),
    [
        ((Fraction(1, 2),), 4, 3, 1),
        ((Fraction(1, 3), Fraction(9, 10)), 3, 3, 1),
        (QUARTERS, 3, 3, 1),
        (QUARTERS, 2, 2, 2),
    ],
)
def test_no_neighbours_are_told_apart_better_than_promised(
    levels: tuple[Fraction, ...], values: int, rows: int, max_rows: int
) -> None:
    epsilon = Fraction(2)
    mechanism = Quantiles(epsilon, Fraction(0), Fraction(values - 1), Fraction(1), levels, max_rows)
    assert mechanism.privacy == Pure(epsilon)
    most, worst = exp(epsilon), Fraction(0)
    for before, after in told_apart(mechanism, rows, parts=4):
        assert before.keys() == after.keys()
        for answer, p in before.items():
            q = after[answer]
            assert p.low <= (most * q).high
            assert q.low <= (most * p).high
            worst = max(worst, (p / q).up, (q / p).up)
    assert worst > exp(epsilon / 4).up  # the test sees something


def test_the_prices_on_every_path_add_up_to_what_is_charged() -> None:
    for many in range(1, 40):
        levels = tuple(Fraction(i, many + 1) for i in range(1, many + 1))
        cuts = list(Quantiles(Fraction(1), Fraction(0), Fraction(9), Fraction(1), levels)._cuts())
        assert sorted(cut.level for cut in cuts) == list(levels)
        paid = {(Fraction(0), Fraction(1)): Fraction(0)}
        for cut in cuts:
            before = paid.pop((cut.left, cut.right)) + cut.epsilon
            assert before <= 1
            assert cut.last == (not any(cut.left < other.level < cut.right for other in cuts if other is not cut))
            assert before == 1 or not cut.last
            paid[cut.left, cut.level] = paid[cut.level, cut.right] = before
        assert min(cut.epsilon for cut in cuts) >= Fraction(1, math.floor(math.log2(many)) + 1)


@given(st.lists(st.integers(0, 4), max_size=9), st.sampled_from([1, 2, 3, 4, 8, 11, 64]))
def test_pieces_are_what_a_count_of_all_parts_finds(data: list[int], parts: int) -> None:
    rows = Rows.of(np.array(data, dtype=np.int64), 0, 5)
    found: dict[tuple[int, int, int], int] = defaultdict(int)
    for start, length, ahead, own in zip(*(column.tolist() for column in pieces(rows, parts)), strict=True):
        places = [start] if own >= 0 else range(start, start + length // parts)
        for place in places:
            found[place, ahead, max(0, own)] += length if own >= 0 else parts
    wanted: dict[tuple[int, int, int], int] = defaultdict(int)
    for z in range(6):
        for s in range(parts):
            own = data.count(z) * s // parts
            wanted[z, sum(x < z for x in data) + own, own] += 1
    assert found == wanted


@given(st.lists(st.integers(0, 3), max_size=8), st.integers(0, 3), st.integers(0, 3), st.integers(0, 7))
def test_a_row_more_is_a_row_more_on_one_side_of_every_cut(data: list[int], x: int, z: int, s: int) -> None:
    sides = []
    for rows in (data, [*data, x]):
        split = _split(Rows.of(np.array(rows, dtype=np.int64), 0, 3), z, rows.count(z) * s // 8)
        sides.append([Counter(dict(zip(side.points.tolist(), side.counts.tolist(), strict=True))) for side in split])
        assert sides[-1][0] + sides[-1][1] == Counter(rows)
        assert [(side.low, side.high) for side in split] == [(0, z), (z, 3)]
        assert all(value <= z for value in sides[-1][0])
        assert all(value >= z for value in sides[-1][1])
    more = [after - before for before, after in zip(*sides, strict=True)]
    assert sorted(more, key=len) == [Counter(), Counter([x])]
    assert all(not before - after for before, after in zip(*sides, strict=True))


def near(seen: Mapping[Data, int], chances: Law, runs: int) -> bool:
    """Hoeffding for every outcome and a union bound: a correct sampler fails with probability below 1e-9."""
    band = math.sqrt(math.log(2 * len(chances) / 1e-9) / (2 * runs))
    return all(abs(seen.get(answer, 0) / runs - float(p.up)) <= band for answer, p in chances.items())


def test_the_whole_call_follows_the_law() -> None:
    mechanism, data, runs = Quantiles.of(QUARTERS, Grid(0, 2, 1), 6), (0, 0, 1, 1, 1, 2), 3_000
    rng = Seeded(4)
    seen = Counter(tuple(int(x) for x in mechanism(data, rng=rng)) for _ in range(runs))
    assert near(seen, law(list(mechanism._cuts()), data, 0, 2, mechanism.parts), runs)
    for epsilon in (3, 12):
        other = Quantiles.of(QUARTERS, Grid(0, 2, 1), epsilon)
        assert not near(seen, law(list(other._cuts()), data, 0, 2, other.parts), runs)


def miss(data: np.ndarray[tuple[int], np.dtype[np.int64]], answer: Fraction, level: Fraction) -> Fraction:
    """By how many rows the answer's rank misses the target, for sorted data."""
    target = level * data.size
    first, last = (int(np.searchsorted(data, float(answer), side=side)) for side in ("left", "right"))
    return max(Fraction(0), first - target, target - last)


_SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    "kind", ["few rows", *(pytest.param(kind, marks=_SLOW) for kind in ("spread", "one point", "two points"))]
)
def test_the_error_holds_for_all_levels_together(kind: str) -> None:
    levels = tuple(Fraction(i, 6) for i in range(1, 6))
    mechanism, confidence = Quantiles.of(levels, Grid(0, 1000, 1), 2), Fraction(4, 5)
    runs = 1_000
    data = {
        "spread": np.arange(0, 1000, 3),
        "one point": np.full(300, 700),
        "two points": np.repeat([300, 301], 200),
        "few rows": np.array([5, 900]),
    }[kind]
    alpha, rng = mechanism.error_for(data.size, confidence), Seeded(12)
    assert alpha < mechanism.error(confidence)
    answers = [mechanism(data, rng=rng) for _ in range(runs)]
    held = [max(miss(data, a, q) for a, q in zip(answer, levels, strict=True)) <= alpha for answer in answers]
    assert not Coverage(sum(held), runs).refuted(confidence)
    assert all(sorted(answer) == list(answer) for answer in answers)


def test_many_at_once_beat_one_by_one_also_where_values_repeat() -> None:
    levels = tuple(Fraction(i, 20) for i in range(1, 20))
    grid, rng = Grid(0, 120, 1), Seeded(3)
    ages = np.sort(np.random.default_rng(5).normal(40, 12, 4_000).round().clip(0, 120).astype(np.int64))
    together, alone = Quantiles.of(levels, grid, 1), [Quantile.of(q, grid, Fraction(1, 19)) for q in levels]
    missed = [
        [sum(miss(ages, a, q) for a, q in zip(answer, levels, strict=True)) for answer in answers]
        for answers in (
            [together(ages, rng=rng) for _ in range(20)],
            [[one(ages, rng=rng) for one in alone] for _ in range(20)],
        )
    ]
    assert 3 * sum(missed[0]) < sum(missed[1])


def test_the_declared_pairs_are_neighbours() -> None:
    for pair in Quantiles(Fraction(1), Fraction(0), Fraction(99), Fraction(1), QUARTERS, 3).pairs():
        assert sum((Counter(pair.right) - Counter(pair.left)).values()) == 3
        assert not Counter(pair.left) - Counter(pair.right)
    assert Quantiles.of(QUARTERS, Grid(0, 1, 1), 1).pairs()


def test_every_input_has_an_answer() -> None:
    mechanism = Quantiles.of(QUARTERS, Grid("-0.5", "0.5", "0.25"), 1)
    for data in ([], [math.nan] * 5, [math.inf, -math.inf], np.zeros(0), [1e300, -1e-300]):
        answer = mechanism(data, rng=Seeded(1))
        assert len(answer) == 3
        assert all(abs(x) <= Fraction(1, 2) for x in answer)
    assert set(Quantiles.of(QUARTERS, Grid(0, 9, 1), 10**5)([4] * 7 + [8], rng=Seeded(0))) == {Fraction(4)}


def test_parts_leave_room_for_the_candidates() -> None:
    assert Quantiles.of(QUARTERS, Grid(0, 100, 1), 1).parts == 1 << 30
    wide = Quantiles.of(QUARTERS, Grid(-(1 << 52), 1 << 52, 1), 1)
    assert wide.parts * (wide.grid.span + 1) < 1 << 62
    assert wide.error_for(wide.parts) < wide.error_for(10**6)
    data = np.random.default_rng(0).normal(0, 1e12, 3_000)
    answers = wide(data, rng=Seeded(2))
    assert all(miss(np.sort(data), a, q) <= wide.error_for(3_000) for a, q in zip(answers, QUARTERS, strict=True))


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"epsilon": -1}, "epsilon=-1"),
        ({"levels": ()}, "got 0"),
        ({"levels": (Fraction(1, 2), Fraction(1, 2))}, "1/2 before 1/2"),
        ({"levels": (Fraction(1, 2), Fraction(3, 2))}, "level=3/2"),
        ({"levels": (Fraction(1, 1009), Fraction(1, 1000), Fraction(1, 997))}, "common denominator"),
        ({"levels": tuple(Fraction(i, 5000) for i in range(1, 5000))}, "got 4999"),
        ({"max_rows": 0}, "max_rows=0"),
        ({"step": 100, "lower": 1}, "step=100"),
        ({"neighbours": Replace()}, "Replace"),
    ],
)
def test_nonsense_is_refused_by_name(parameters: dict[str, object], says: str) -> None:
    usual: dict[str, object] = {"epsilon": 1, "lower": 0, "upper": 9, "step": 1, "levels": QUARTERS}
    with pytest.raises(Refusal, match=says):
        Quantiles(**{**usual, **parameters})  # type: ignore[arg-type]


def test_it_goes_through_a_door_and_comes_back() -> None:
    mechanism = Quantiles.of(("0.3", "0.6"), Grid("-0.5", 10, "0.01"), "0.7")
    told = described(mechanism)
    assert rebuilt(str(told["name"]), told["parameters"]) == mechanism
