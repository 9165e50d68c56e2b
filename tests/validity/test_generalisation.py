"""What is said about fresh data, against enumeration of all samples and against simulation."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import mpmath
import numpy as np
import pytest
from covering import Coverage
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from discreet.errors import Refusal
from discreet.privacy import AddRemove, Approximate, Guarantee, Pure, Replace
from discreet.privacy.tradeoff import Gaussian
from discreet.validity import (
    Accuracy,
    Slack,
    after_selection,
    asked_beforehand,
    hoeffding,
    in_expectation,
    largest_p_value,
    max_information,
    on_the_sample,
    splitting,
    transferred,
)

SLACK = Slack(Fraction("0.05"), Fraction("1e-6"), Fraction("0.0002"))


def of(epsilon: float | str, delta: float | str = 0) -> Guarantee[Approximate]:
    return Guarantee(Approximate(epsilon, delta), Replace())


def pure(epsilon: float | str) -> Guarantee[Pure]:
    return Guarantee(Pure(epsilon), Replace())


@pytest.mark.parametrize("epsilon", [0.1, 1, 3])
def test_choosing_a_subset_attains_the_bound_on_average(epsilon: float) -> None:
    values = 10_000  # of one row, uniform; a set of k of them is said, which holds the row's more probably than others
    gaps = [
        k * math.exp(epsilon) / (k * math.exp(epsilon) + values - k) - k / values
        for k in range(1, values, values // 500)
    ]
    bound = float(in_expectation(pure(epsilon)))
    assert max(gaps) <= bound
    assert max(gaps) == pytest.approx(bound, rel=1e-3)


def test_a_delta_that_tells_the_row_attains_the_bound_on_average() -> None:
    delta = (
        0.125  # the row is told with this probability, else nothing: the sample agrees with it, the population never
    )
    assert float(in_expectation(of(0, delta))) == delta


@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 0.05), (1, 0.2)])
def test_choosing_a_subset_and_now_and_then_telling_the_row_comes_near_the_bound(epsilon: float, delta: float) -> None:
    values, odds = 1000, math.exp(epsilon)  # one row, uniform: a set of k is said, or with probability δ the row itself
    k = round(values / (1 + math.exp(epsilon / 2)))
    gap = (1 - delta) * (k * odds / (k * odds + values - k) - k / values) + delta * (1 - 1 / values)
    bound = float(in_expectation(of(epsilon, delta)))
    assert gap <= bound
    assert gap > bound - delta * math.tanh(epsilon / 4) - 0.002


def test_added_and_removed_rows_count_double_and_other_measures_are_read() -> None:
    assert in_expectation(Guarantee(Pure("0.5"), AddRemove())) == in_expectation(pure(1))
    total_variation = 2 * stats.norm.cdf(0.5) - 1
    assert float(in_expectation(Guarantee(Gaussian(1), Replace()))) == pytest.approx(total_variation, rel=1e-6)


@given(st.lists(st.floats(0, 1), min_size=32, max_size=32), st.floats(0.05, 4))
def test_no_answer_moves_a_row_further_than_the_theorem_says(scores: list[float], epsilon: float) -> None:
    """Every sample of two rows of four values, a random ε-private choice among two answers: enumerated."""
    samples = list(product(range(4), repeat=2))
    weights = np.exp(epsilon / 2 * np.array(scores).reshape(16, 2))
    channel = weights / weights.sum(axis=1, keepdims=True)  # the exponential mechanism: scores move by 1 at most
    for answer in range(2):
        posterior = channel[:, answer] / channel[:, answer].sum()
        rows = np.zeros(4)
        for chance, sample in zip(posterior, samples, strict=True):
            for value in sample:
                rows[value] += chance / 2
        apart = float(np.maximum(rows - 0.25, 0).sum())  # for the worst statistic with values from 0 to 1
        assert apart <= float(in_expectation(pure(epsilon))) + 1e-12


def chosen(epsilon: float, rows: int, columns: int, runs: int, seed: int) -> np.ndarray:
    """Counts of fair coins in the column that the exponential mechanism prefers, in so many runs."""
    rng = np.random.default_rng(seed)
    counts = rng.binomial(rows, 0.5, size=(runs, columns))
    gumbel = rng.gumbel(size=counts.shape)
    best = np.argmax(epsilon / 2 * counts + gumbel, axis=1)
    return np.asarray(np.take_along_axis(counts, best[:, np.newaxis], axis=1)[:, 0])


def test_means_of_chosen_columns_stay_within_what_is_said() -> None:
    runs, rows, epsilon = 2000, 400, 0.6
    means = chosen(epsilon, rows, 300, runs, 1) / rows
    assert means.mean() - 0.5 <= float(in_expectation(pure(epsilon))) + 4 / math.sqrt(rows * runs)
    for confidence in (0.5, 0.95):
        bound = float(on_the_sample(pure(epsilon), rows, confidence))
        inside = Coverage(int(np.sum(abs(means - 0.5) <= bound)), runs)
        assert not inside.refuted(confidence)
    beforehand = float(hoeffding(rows, 1, 0.5))  # the choice matters here: what is said without it would be refuted
    assert Coverage(int(np.sum(abs(means - 0.5) <= beforehand)), runs).refuted(0.5)


def test_p_values_of_chosen_tests_hold_their_level_once_corrected_and_not_before() -> None:
    runs, rows, epsilon = 2000, 400, 0.2
    counts = chosen(epsilon, rows, 300, runs, 2)
    p_values = stats.binom.sf(counts - 1, rows, 0.5)
    corrected = {p: float(after_selection(max(p, 1e-300), pure(epsilon), rows)) for p in set(p_values.tolist())}
    for level in (0.05, 0.3):
        assert Coverage(int(np.sum(p_values <= level)), runs).exceeded(level)
        rejected = [corrected[p] <= level for p in p_values.tolist()]
        assert not Coverage(sum(rejected), runs).exceeded(level)
        highest = float(largest_p_value(level, pure(epsilon), rows))
        assert rejected == [p <= highest for p in p_values.tolist()]


@pytest.mark.parametrize(("p", "epsilon", "n"), [("0.001", "0.01", 10_000), ("1e-9", "0.1", 500), ("0.2", "0.5", 100)])
def test_p_values_are_corrected_by_the_formula(p: str, epsilon: str, n: int) -> None:
    surprise, g = -mpmath.log(mpmath.mpf(p)), mpmath.mpf(epsilon) * mpmath.sqrt(mpmath.mpf(n) / 2)
    expected = min(1, mpmath.exp(-surprise + g * mpmath.sqrt(surprise)))
    assert float(after_selection(p, pure(epsilon), n)) == pytest.approx(float(expected), rel=1e-12)


def test_certain_and_impossible_p_values_stay() -> None:
    assert after_selection(1, pure(1), 5) == 1
    assert after_selection(0, pure(1), 5) == 0
    assert after_selection("0.99", pure(1), 5) == 1
    assert after_selection("0.01", pure(0), 5) == pytest.approx(0.01)


def test_max_information_bounds_what_randomized_response_tells_of_all_rows() -> None:
    """n coins, each told by randomized response: ln p(y|S)/p(y) is a sum of independent terms, enumerated by count."""
    n, epsilon, beta = 200, 0.2, 0.01
    right = math.exp(epsilon) / (1 + math.exp(epsilon))
    told_truly = np.arange(n + 1)
    nats = told_truly * math.log(2 * right) + (n - told_truly) * math.log(2 * (1 - right))
    bound = float(max_information(pure(epsilon), n, beta)) * math.log(2)
    beyond = stats.binom.pmf(told_truly, n, right)[nats > bound].sum()
    assert 0 < beyond <= beta
    quarter = n * epsilon**2 / 4
    assert bound == pytest.approx(quarter + math.sqrt(quarter**2 + 2 * quarter * math.log(1 / beta)))
    assert float(max_information(pure(epsilon), 1, "1e-9")) == pytest.approx(epsilon / math.log(2))


def test_transfer_adds_what_the_theorem_says() -> None:
    told = transferred(Accuracy(Fraction("0.1"), Fraction("0.001")), of("0.2", "1e-6"), SLACK)
    assert float(told.error) == pytest.approx(0.1 + math.tanh(0.05) + 0.05 + 0.0004, abs=1e-15)
    assert told.failure == Fraction("0.02") + Fraction("0.005")
    alone = transferred(Accuracy(Fraction(0), Fraction(0)), of("0.2"), Slack(Fraction(1, 10**9)))
    assert float(alone.error) == pytest.approx(math.tanh(0.05), abs=1e-8)


def test_splitting_gives_each_question_rows_of_its_own() -> None:
    assert float(splitting(1000, 10)) == pytest.approx(math.sqrt(math.log(2 * 10 / 0.05) / 200))
    assert splitting(5, 10) == 1
    assert float(asked_beforehand(1000, 10)) == pytest.approx(math.sqrt(math.log(400) / 2000))


def test_answers_from_fresh_rows_are_covered_whoever_chooses_the_questions() -> None:
    """Of each part of the rows another column is asked about, chosen by the sign of the last answer's error."""
    rng, runs, rows, questions = np.random.default_rng(4), 2000, 200, 4
    for confidence in (0.5, 0.9):
        bound, chance = float(splitting(rows, questions, confidence)), np.full(runs, 0.5)
        held, nearer = np.ones((2, runs), dtype=bool)
        for _ in range(questions):
            told = rng.binomial(rows // questions, chance) / (rows // questions)
            held &= abs(told - chance) <= bound
            nearer &= abs(told - chance) <= bound / 2
            chance = np.where(told > chance, 0.4, 0.5)
        assert not Coverage(int(held.sum()), runs).refuted(confidence)
        assert Coverage(int(nearer.sum()), runs).refuted(confidence)


def test_means_that_were_chosen_beforehand_are_covered() -> None:
    means = np.random.default_rng(5).binomial(100, 0.5, size=(2000, 10)) / 100
    held = int(np.sum(np.all(abs(means - 0.5) <= float(asked_beforehand(100, 10, 0.9)), axis=1)))
    assert not Coverage(held, 2000).refuted(0.9)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: splitting(0, 1), "n >= 1"),
        (lambda: on_the_sample(pure(1), 10, 2), "confidence < 1"),
        (lambda: Slack(Fraction(0)), "sample > 0"),
        (lambda: Slack(Fraction(1, 10), Fraction(1, 10**6)), "posterior > 0"),
        (lambda: after_selection(-1, pure(1), 3), "p_value >= 0"),
        (lambda: max_information(pure(1), 10, 1), "beta < 1"),
    ],
)
def test_what_makes_no_sense_is_refused(call: object, says: str) -> None:
    with pytest.raises(Refusal, match=says):
        call()  # type: ignore[operator]
