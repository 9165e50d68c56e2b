from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np
import pytest
from covering import Coverage
from doubles import Seeded
from hypothesis import given
from hypothesis import strategies as st

from discreet.declared.grid import Grid
from discreet.errors import Refusal
from discreet.mechanisms.mean_and_variance import Average, Mean, Spread, Variance, total
from discreet.mechanisms.registry import described, rebuilt
from discreet.privacy import Pure, Replace

QUIET = 10**20  # an ε at which the noise is 0 but for a probability below e^-1000, on the grids of these tests


def moments(values: Sequence[Fraction]) -> tuple[Fraction, Fraction]:
    mean = sum(values, Fraction(0)) / len(values)
    return mean, sum(((x - mean) ** 2 for x in values), Fraction(0)) / len(values)


@given(st.lists(st.integers(-20, 30), min_size=1, max_size=30), st.sampled_from(["0.1", "1/3", "7"]))
def test_without_noise_they_are_the_moments_of_the_clamped_numbers(data: list[int], step: str) -> None:
    grid = Grid(-21, 28, step)
    held = [grid.value(int(n)) for n in grid.steps(data)]
    mean, variance = moments(held)
    one, two = Mean.of(grid, QUIET)(data, rng=Seeded(0)), Variance.of(grid, QUIET)(data, rng=Seeded(0))
    assert one == Average(Fraction(len(data)), mean)
    assert two == Spread(Fraction(len(data)), mean, variance)


def sums(mechanism: Mean | Variance, data: Sequence[int]) -> tuple[Fraction, ...]:
    """The sums that get noise, found from an answer without noise: a map of the answer that can be undone."""
    s, low, n = mechanism.grid.span, mechanism.grid.low, len(data)
    if n == 0:
        return (Fraction(0),) * (2 if isinstance(mechanism, Mean) else 3)
    quiet = type(mechanism).of(mechanism.grid, QUIET)(data, rng=Seeded(1))
    first = (quiet.mean - low) * quiet.rows
    if not isinstance(quiet, Spread):
        return quiet.rows * s - first, first
    second = (quiet.variance + (quiet.mean - low) ** 2) * quiet.rows
    return quiet.rows * s * s - 2 * first * s + second, 2 * (first * s - second), second


@pytest.mark.parametrize("kind", [Mean, Variance])
@pytest.mark.parametrize("rows", [1, 2])
def test_the_noise_is_that_of_the_exact_sensitivity(kind: type[Mean | Variance], rows: int) -> None:
    mechanism = kind.of(Grid(-2, 3, 1), "0.7", rows)
    farthest = Fraction(0)
    for data in [(), (-2,), (0, 3), (3, 3, 1)]:
        for added in combinations_with_replacement(range(-2, 4), rows):
            before, after = sums(mechanism, data), sums(mechanism, (*data, *added))
            assert all(x <= y and y.denominator == 1 for x, y in zip(before, after, strict=True))
            farthest = max(farthest, sum((y - x for x, y in zip(before, after, strict=True)), Fraction(0)))
    assert farthest == rows * 5 ** (1 if kind is Mean else 2)
    assert mechanism.scale == farthest / Fraction("0.7")
    assert mechanism.privacy == Pure("0.7")


def answers(
    mechanism: Mean | Variance, data: Sequence[float], runs: int, seed: int
) -> Iterator[tuple[Fraction, Fraction]]:
    """Numbers of rows, and means or variances: of a mean the one, of a variance the other."""
    rng, exact = Seeded(seed), np.asarray(data)
    for _ in range(runs):
        answer = mechanism(exact, rng=rng)
        yield answer.rows, answer.variance if isinstance(answer, Spread) else answer.mean


DATA = {
    "low": [0.0] * 90 + [1.0] * 10,
    "middle": [40.0, 50.0, 60.0] * 40,
    "ends": [0.0, 100.0] * 60,
    "few": [20.0],
}


@pytest.mark.parametrize("data", DATA.values(), ids=DATA.keys())
@pytest.mark.parametrize("kind", [Mean, Variance])
def test_the_error_divided_by_the_rows_of_the_answer_covers(kind: type[Mean | Variance], data: list[float]) -> None:
    mechanism, runs = kind.of(Grid(0, 100, "0.5"), 1), 2_000
    truth = moments([Fraction(x) for x in data])[0 if kind is Mean else 1]
    alpha, bound = mechanism.error("0.9"), mechanism.error_for(len(data), "0.9")
    seen = list(answers(mechanism, data, runs, 3))
    held = [rows <= 0 or abs(value - truth) <= alpha / rows for rows, value in seen]
    within = [abs(value - truth) <= bound for _, value in seen]
    assert not Coverage(sum(held), runs).refuted(0.9)
    assert not Coverage(sum(within), runs).refuted(0.9)


def test_the_error_is_not_far_above_the_truth() -> None:
    mechanism, runs = Mean.of(Grid(0, 100, "0.5"), 1), 2_000
    seen = list(answers(mechanism, DATA["low"], runs, 4))  # near a bound one draw of noise decides: the worst place
    alpha = mechanism.error("0.9")
    held = Coverage(sum(rows <= 0 or abs(value - Fraction(1, 10)) <= alpha / rows for rows, value in seen), runs)
    assert not held.refuted(0.9), held
    assert not held.exceeded(0.98), held  # twice the error would hold in 99.9 % of runs


def within(far: float, one: float, other: float) -> float:
    """The chance that two Laplace variables of these scales together are no further off."""
    if one == other:
        return 1 - (1 + far / (2 * one)) * math.exp(-far / one)
    return 1 - (one**2 * math.exp(-far / one) - other**2 * math.exp(-far / other)) / (one**2 - other**2)


@pytest.mark.parametrize(("value", "share"), [(50.0, 0.5), (80.0, 0.8)])
def test_the_mean_has_half_the_variance_of_a_noisy_sum_over_a_noisy_count(value: float, share: float) -> None:
    """Both sums at ε/2 each, as is usual, have the noise of twice the scale on (x − middle) and on 1.

    How often the mean is no further off than its standard deviation: by exact tails at 1e-9. The noise is 10,000 steps
    wide and the rows are 2,000, so whole steps and the noisy number of rows change that chance by less than 0.005.
    """
    mechanism, n, runs = Mean.of(Grid(0, 100, "0.01"), 1), 2_000, 3_000
    ours = 2 * (100 / n) ** 2 * ((1 - share) ** 2 + share**2)
    usual = 2 * (2 * 50 / n) ** 2 + (value - 50) ** 2 * 2 * (2 / n) ** 2
    assert math.isclose(2 * ours, usual)
    scales, far = (100 / n * (1 - share), 100 / n * share), math.sqrt(ours)
    near = sum(abs(x - Fraction(value)) <= far for _, x in answers(mechanism, [value] * n, runs, 5))
    held, chance = Coverage(near, runs), within(far, *scales)
    assert not held.refuted(chance - 0.005)
    assert not held.exceeded(chance + 0.005)
    assert held.refuted(within(far, *(0.7 * scale for scale in scales)) - 0.005)
    assert held.exceeded(within(far, *(1.3 * scale for scale in scales)) + 0.005)


def test_large_numbers_and_many_rows_stay_exact() -> None:
    values = np.full(5_000, (1 << 54) - 3)
    assert total(values, 1 << 54) == 5_000 * ((1 << 54) - 3)
    assert total(values[:0], 1 << 54) == 0
    assert total(np.arange(10), 9) == 45
    grid = Grid(-(1 << 52), (1 << 52), 1)
    assert Mean.of(grid, QUIET)(np.full(3_000, 1 << 52), rng=Seeded(0)).mean == 1 << 52
    wide = Grid(0, 1 << 30, 1)
    far = Variance.of(wide, 10**30)(np.repeat([0, 1 << 30], 1_000), rng=Seeded(0))
    assert far == Spread(Fraction(2_000), Fraction(1 << 29), Fraction(1 << 58))


@pytest.mark.parametrize("kind", [Mean, Variance])
@pytest.mark.parametrize("span", [1, 2, 3, 4, 5])
def test_columns_of_few_steps_have_their_moments(kind: type[Mean | Variance], span: int) -> None:
    """Zeros and ones above all."""
    mechanism = kind.of(Grid(0, span, 1), QUIET)
    for data in ([], [span], [0, span, span, 1, 0]):
        answer = mechanism(data, rng=Seeded(0))
        assert answer.rows == len(data)
        if data:
            mean, variance = moments([Fraction(x) for x in data])
            assert answer.mean == mean
            assert not isinstance(answer, Spread) or answer.variance == variance


@given(st.lists(st.integers(0, 9), max_size=20), st.sampled_from([9, 1 << 30, 1 << 60, (1 << 60) // 3]))
def test_a_sum_in_pieces_is_the_sum(values: list[int], largest: int) -> None:
    assert total(np.array(values, dtype=np.int64), largest) == sum(values)
    high = largest - np.array(values, dtype=np.int64)
    assert total(high, largest) == len(values) * largest - sum(values)


@pytest.mark.parametrize("kind", [Mean, Variance])
def test_a_text_among_the_numbers_of_a_deque_is_one_row_at_the_bound(kind: type[Mean | Variance]) -> None:
    mechanism = kind.of(Grid(0, 10, 1), QUIET)
    mixed: deque[object] = deque([7.0] * 9 + ["x"])
    assert mechanism(mixed, rng=Seeded(0)) == mechanism([7] * 9 + [0], rng=Seeded(0))  # type: ignore[arg-type]
    assert mechanism((7.0 for _ in range(9)), rng=Seeded(0)).rows == 9  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", [Mean, Variance])
def test_every_input_has_an_answer_within_the_bounds(kind: type[Mean | Variance]) -> None:
    mechanism = kind.of(Grid(-1, 3, "0.5"), "0.1")
    rng, seen = Seeded(8), Counter[bool]()
    for data in ([], [math.nan, math.inf, -math.inf], [1e300], np.zeros((2, 2))):
        for _ in range(30):
            answer = mechanism(data, rng=rng)
            seen[answer.rows > 0] += 1
            assert -1 <= answer.mean <= 3
            assert not isinstance(answer, Spread) or 0 <= answer.variance <= 4
    assert len(seen) == 2  # with and without rows left


@pytest.mark.parametrize("kind", [Mean, Variance])
def test_the_declared_pairs_are_neighbours(kind: type[Mean | Variance]) -> None:
    for pair in kind.of(Grid(0, 9, 1), 1, 3).pairs():
        assert sum((Counter(pair.right) - Counter(pair.left)).values()) == 3
        assert not Counter(pair.left) - Counter(pair.right)


@pytest.mark.parametrize("kind", [Mean, Variance])
@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"epsilon": 0}, "epsilon=0"),
        ({"max_rows": -2}, "max_rows=-2"),
        ({"lower": 9, "upper": 8}, "lower=9 upper=8"),
        ({"upper": "0.5"}, "only one multiple of step=1"),
        ({"step": float("inf")}, "step must be finite, got inf"),
        ({"neighbours": Replace()}, "Replace"),
    ],
)
def test_nonsense_is_refused_by_name(kind: type[Mean | Variance], parameters: dict[str, object], says: str) -> None:
    usual: dict[str, object] = {"epsilon": 1, "lower": 0, "upper": 9, "step": 1}
    with pytest.raises(Refusal, match=says):
        kind(**{**usual, **parameters})  # type: ignore[arg-type]


def test_a_variance_squares_more_steps_than_64_bits_hold() -> None:
    """At a price at which the noise is next to nothing, of ten values at either end."""
    high = (1 << 52) - 1
    spread = Variance.of(Grid(-high, high, 1), 10**40)(np.array([-high] * 10 + [high] * 10))
    assert spread.rows == 20
    assert abs(spread.mean) < 1
    assert abs(spread.variance - high**2) < 1


@pytest.mark.parametrize("kind", [Mean, Variance])
def test_it_goes_through_a_door_and_comes_back(kind: type[Mean | Variance]) -> None:
    mechanism = kind.of(Grid("-0.5", 10, "0.01"), "0.7", 2)
    told = described(mechanism)
    assert rebuilt(str(told["name"]), told["parameters"]) == mechanism
