"""Private tests and intervals: levels and coverage by simulation, power, and what is refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from covering import Coverage
from doubles import Seeded
from numpy.typing import NDArray
from scipy import stats

from discreet.errors import Refusal
from discreet.mechanisms import Column, Frame
from discreet.privacy import AddRemove, Approximate, Pure, Replace
from discreet.validity import (
    BinomialTest,
    ChiSquareTest,
    PermutationTest,
    PopulationMean,
    PopulationShare,
    TTest,
)
from discreet.validity.chi_square import multinomials

YES = Column("smokes", keys=("yes", "no"))
COST = Column("cost", bounds=(0, 10), step="0.01")
GROUP = Column("group", keys=("a", "b"))
EPSILON = Fraction(1)


def of(data: dict[str, Any], *columns: Column, neighbours: AddRemove | Replace = AddRemove()) -> Frame:
    return Frame.of(data, *columns, neighbours=neighbours)


def smokers(share: float, people: int, rng: np.random.Generator) -> Frame:
    return of({"smokes": np.where(rng.random(people) < share, "yes", "no")}, YES)


def costs(mean: float, people: int, rng: np.random.Generator, shift: float = 0.0) -> Frame:
    groups = rng.integers(0, 2, people)
    values = np.clip(rng.normal(mean, 1, people) + shift * groups, 0, 10)
    return of({"cost": values, "group": np.array(["a", "b"])[groups]}, COST, GROUP)


def p_values(test: Any, draw: Callable[[np.random.Generator], Frame], runs: int, seed: int) -> NDArray[np.float64]:  # noqa: ANN401
    rng, noise = np.random.default_rng(seed), Seeded(seed)
    return np.array([test(draw(rng), rng=noise).p_value for _ in range(runs)])


def holds_its_level(found: Sequence[float] | NDArray[np.float64], levels: Sequence[float] = (0.05, 0.2)) -> bool:
    return not any(Coverage(int(np.sum(np.array(found) <= at)), len(found)).exceeded(at) for at in levels)


@pytest.mark.slow
def test_a_share_is_tested_at_its_level_and_exactly_so() -> None:
    test = BinomialTest("smokes", "yes", Fraction(3, 10), 60, EPSILON)
    null = p_values(test, lambda rng: smokers(0.3, 60, rng), 500, 1)
    assert holds_its_level(null)
    assert not Coverage(int(np.sum(null <= 0.2)), 500).refuted(0.2)  # no level is wasted: the noise is continuous
    assert np.mean(p_values(test, lambda rng: smokers(0.6, 60, rng), 40, 2) <= 0.05) > 0.9


@pytest.mark.parametrize("alternative", ["less", pytest.param("two-sided", marks=pytest.mark.slow)])
def test_the_other_sides(alternative: str) -> None:
    test = BinomialTest("smokes", "yes", Fraction(3, 10), 40, EPSILON, alternative=alternative)
    assert holds_its_level(p_values(test, lambda rng: smokers(0.3, 40, rng), 100, 3))
    assert np.mean(p_values(test, lambda rng: smokers(0.0, 40, rng), 40, 4) <= 0.1) > 0.8


def test_a_delta_is_paid_for() -> None:
    test = BinomialTest("smokes", "YES", Fraction(3, 10), 40, EPSILON, Fraction(1, 1000), neighbours=Replace())
    assert test.privacy == Approximate(1, "0.001")
    assert BinomialTest("smokes", "yes", Fraction(3, 10), 40, EPSILON).privacy == Pure(1)
    assert 0 < test(smokers(0.3, 40, np.random.default_rng(1)), rng=Seeded(1)).p_value <= 1


def table(chances: NDArray[np.float64], people: int, rng: np.random.Generator) -> NDArray[np.float64]:
    return rng.multinomial(people, chances.ravel()).reshape(chances.shape).astype(float)


@pytest.mark.parametrize(
    ("people", "epsilon"),
    [(100, "0.5"), pytest.param(2000, "0.1", marks=pytest.mark.slow), pytest.param(2000, "1", marks=pytest.mark.slow)],
)
def test_independence_is_tested_at_its_level_with_noise_that_matters(people: int, epsilon: str) -> None:
    test = ChiSquareTest(("smokes", "group"), Fraction(epsilon), draws=99)
    rng, noise = np.random.default_rng(people), Seeded(7)
    chances, runs = np.outer([0.7, 0.3], [0.2, 0.5, 0.3]), 200 if people == 100 else 400

    def p_of(chances: NDArray[np.float64]) -> float:
        lap = rng.laplace(0, float(test.scale), chances.shape).round()
        return test.judged(table(chances, people, rng) + lap, noise).p_value

    assert holds_its_level([p_of(chances) for _ in range(runs)])
    naive = [  # the usual test, on the noisy table: what goes wrong without the noise in the null
        stats.chi2.sf(_pearson(table(chances, people, rng) + rng.laplace(0, float(test.scale), (2, 3)).round()), 2)
        for _ in range(runs)
    ]
    if epsilon != "1":
        assert not holds_its_level(naive)
    if people / 200 > 1 / float(test.scale):
        dependent = np.array([[0.35, 0.2, 0.05], [0.05, 0.1, 0.25]])
        assert np.mean([p_of(dependent) <= 0.05 for _ in range(20)]) > 0.9


def _pearson(table: NDArray[np.float64]) -> float:
    expected = np.maximum(np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum(), 1e-9)
    return float(((table - expected) ** 2 / expected).sum())


def test_shares_are_tested_at_their_level() -> None:
    test = ChiSquareTest(("smokes",), Fraction(1, 5), (Fraction(1, 4), Fraction(3, 4)), 199)
    assert holds_its_level(p_values(test, lambda rng: smokers(0.25, 300, rng), 150, 5))
    assert np.mean(p_values(test, lambda rng: smokers(0.5, 300, rng), 20, 6) <= 0.05) > 0.9


def test_tables_of_the_null_have_the_multinomial_law() -> None:
    drawn = multinomials(50, np.array([0.2, 0.5, 0.3]), 4000, Seeded(8))
    assert (drawn.sum(axis=1) == 50).all()
    for column, chance in enumerate((0.2, 0.5, 0.3)):
        for edge in (10, 15, 25):
            law, seen = stats.binom.cdf(edge, 50, chance), Coverage(int(np.sum(drawn[:, column] <= edge)), 4000)
            assert not seen.refuted(law)
            assert not seen.exceeded(law)


@pytest.mark.parametrize(
    "test",
    [
        pytest.param(TTest("cost", EPSILON, mean=Fraction(5), blocks=20), marks=pytest.mark.slow),
        TTest("cost", EPSILON, by="group", blocks=20),
        PermutationTest("cost", "group", EPSILON, 20),
    ],
    ids=["mean", "two groups", "permutation"],
)
def test_means_are_tested_at_their_level(test: TTest | PermutationTest) -> None:
    assert holds_its_level(p_values(test, lambda rng: costs(5, 100, rng), 60, 9))
    shift = 0.0 if isinstance(test, TTest) and test.by is None else 2.0
    middle = 6.0 if shift == 0 else 5.0
    assert np.mean(p_values(test, lambda rng: costs(middle, 400, rng, shift), 10, 10) <= 0.05) > 0.8


@pytest.mark.slow
def test_permutations_hold_their_level_for_a_law_without_a_shape() -> None:
    def skewed(rng: np.random.Generator) -> Frame:
        values = np.where(rng.random(160) < 0.1, 10.0, 0.0)
        return of({"cost": values, "group": rng.choice(["a", "b"], 160, p=[0.2, 0.8])}, COST, GROUP)

    test = PermutationTest("cost", "group", Fraction(3), 8)
    assert holds_its_level(p_values(test, skewed, 150, 11))


def test_blocks_without_spread_or_with_one_group_say_nothing() -> None:
    rows = of({"cost": [3.0] * 20, "group": ["a"] * 20}, COST, GROUP)
    quiet = Fraction(900)
    for sure in (TTest("cost", quiet, blocks=2), PermutationTest("cost", "group", quiet, 2)):
        assert sure(rows, rng=Seeded(1)).p_value > 0.5
        assert sure(rows, rng=Seeded(1)).statistic == pytest.approx(0, abs=0.5)


@pytest.mark.parametrize("neighbours", [AddRemove(), Replace()])
@pytest.mark.parametrize("share", [0.02, 0.4])
def test_intervals_for_shares_cover(share: float, neighbours: AddRemove | Replace) -> None:
    asked = PopulationShare("smokes", "yes", EPSILON, Fraction(8, 10), neighbours=neighbours)
    rng, noise, runs = np.random.default_rng(12), Seeded(12), 150
    told = [asked(smokers(share, 80, rng), rng=noise) for _ in range(runs)]
    assert not Coverage(sum(each.low <= share <= each.high for each in told), runs).refuted(0.8)
    assert all(each.low <= each.estimate <= each.high for each in told)
    assert np.mean([each.high - each.low for each in told]) < 0.6


def test_intervals_for_shares_cover_where_noise_is_larger_than_the_counts() -> None:
    asked = PopulationShare("smokes", "yes", Fraction(1, 10))
    rng, noise, runs = np.random.default_rng(14), Seeded(14), 150
    told = [asked(smokers(0.5, 20, rng), rng=noise) for _ in range(runs)]
    assert not Coverage(sum(each.low <= 0.5 <= each.high for each in told), runs).refuted(0.95)


def test_a_person_who_is_replaced_moves_two_cells() -> None:
    shares = (Fraction(1, 2), Fraction(1, 2))
    scales = [ChiSquareTest(("smokes",), EPSILON, shares, neighbours=kind).scale for kind in (AddRemove(), Replace())]
    assert scales == [1, 2]


def test_the_smallest_p_value_of_a_simulation_is_that_of_its_own_table() -> None:
    test = ChiSquareTest(("smokes",), EPSILON, (Fraction(1, 4), Fraction(3, 4)), 99)
    assert test.judged(np.array([10_000.0, 0.0]), Seeded(1)).p_value == 0.01


@pytest.mark.parametrize("law", ["coins", "uniform"])
def test_intervals_for_means_cover(law: str) -> None:
    asked = PopulationMean("cost", EPSILON, Fraction(8, 10))
    rng, noise, runs = np.random.default_rng(13), Seeded(13), 150

    def drawn() -> Frame:
        values = 10.0 * (rng.random(80) < 0.2) if law == "coins" else 10 * rng.random(80)
        return of({"cost": values}, COST)

    told = [asked(drawn(), rng=noise) for _ in range(runs)]
    truth = 2.0 if law == "coins" else 5.0
    assert not Coverage(sum(each.low <= truth <= each.high for each in told), runs).refuted(0.8)
    assert np.mean([each.high - each.low for each in told]) < 5


def test_many_people_and_little_noise_give_the_interval_of_textbooks() -> None:
    rows = of({"smokes": ["yes"] * 300 + ["no"] * 700, "cost": [10.0] * 300 + [0.0] * 700}, YES, COST)
    quiet, half = Fraction(10**7), 0.0125  # of the failure: a half for noise, and one of two sides
    told = PopulationShare("smokes", "yes", quiet)(rows, rng=Seeded(1))
    expected = stats.beta.ppf(half, 300, 701), stats.beta.ppf(1 - half, 301, 700)
    assert (told.low, told.high) == pytest.approx(expected, abs=1e-6)
    means = PopulationMean("cost", quiet)(rows, rng=Seeded(1))
    for end in (means.low / 10, means.high / 10):  # Chernoff's bound in its sharpest form: n·KL = ln(1/failure)
        surprise = 300 * np.log(0.3 / end) + 700 * np.log(0.7 / (1 - end))
        assert surprise == pytest.approx(np.log(1 / half), abs=1e-3)
    assert means.low < 3 < means.high


def test_without_rows_anything_may_be_true() -> None:
    none = of({"smokes": np.array([], dtype=str), "cost": np.array([])}, YES, COST)
    quiet = Fraction(10**7)
    assert (PopulationShare("smokes", "yes", quiet)(none, rng=Seeded(1)).low) == 0
    told = PopulationMean("cost", quiet)(none, rng=Seeded(1))
    assert (told.low, told.high) == (0, 10)


KNOWN = of({"smokes": ["yes"], "cost": [1.0], "group": ["a"]}, YES, COST, GROUP)


@pytest.mark.parametrize(
    ("made", "says"),
    [
        (lambda: BinomialTest("smokes", "yes", Fraction(1, 2), 9, EPSILON, max_rows=2), "may have 2"),
        (lambda: BinomialTest("smokes", "yes", Fraction(1, 2), 9, EPSILON, alternative="up"), "'up'"),
        (lambda: BinomialTest("smokes", "yes", Fraction(1, 2), 10**7, EPSILON), "10000000"),
        (lambda: BinomialTest("smokes", "maybe", Fraction(1, 2), 9, EPSILON).refuse_unfit(KNOWN), "'maybe'"),
        (lambda: ChiSquareTest(("smokes",), EPSILON), "one column with shares"),
        (lambda: ChiSquareTest(("smokes",), EPSILON, (Fraction(1, 2),)), "add up to 1"),
        (lambda: ChiSquareTest(("smokes",), EPSILON, (Fraction(1, 3),) * 3).refuse_unfit(KNOWN), "2 keys, and 3"),
        (lambda: TTest("cost", Fraction(1001)), "epsilon=1001"),
        (lambda: BinomialTest("smokes", "yes", Fraction(1, 2), 9, Fraction(1001)), "epsilon=1001"),
        (lambda: TTest("cost", EPSILON, by="cost"), "'cost' for both"),
        (lambda: TTest("cost", EPSILON, blocks=1), "blocks >= 2"),
        (lambda: TTest("cost", EPSILON, blocks=10**6), "1000000"),
        (lambda: TTest("smokes", EPSILON).refuse_unfit(KNOWN), "smokes"),
        (lambda: PopulationMean("smokes", EPSILON).refuse_unfit(KNOWN), "smokes"),
        (lambda: PopulationShare("smokes", "x", EPSILON).refuse_unfit(KNOWN), "'x'"),
        (lambda: PopulationMean("cost", EPSILON, Fraction(2)), "confidence < 1"),
    ],
)
def test_what_makes_no_sense_is_refused(made: Callable[[], object], says: str) -> None:
    with pytest.raises(Refusal, match=says):
        made()
