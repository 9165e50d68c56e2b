"""Members are told from others by exact means, and not by noisy ones."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from doubles import Seeded
from numpy.typing import NDArray
from scipy import stats

from discreet.attack import (
    Membership,
    ceiling,
    ceiling_of_many,
    homer,
    inner_product,
    told_apart,
)
from discreet.errors import Refusal
from discreet.mechanisms import LaplaceVector
from discreet.privacy import Approximate, Pure

PEOPLE, COLUMNS = 100, 10_000
Floats = NDArray[np.float64]


@pytest.fixture(scope="module")
def study() -> tuple[Floats, ...]:
    """Members, outsiders, people to practise on, and the means of a reference; columns of known frequencies."""
    rng = np.random.default_rng(8)
    frequencies = rng.uniform(0.05, 0.95, COLUMNS)
    members, outsiders, practice, reference = (
        (rng.random((PEOPLE, COLUMNS)) < frequencies).astype(np.float64) for _ in range(4)
    )
    return members, outsiders, practice, reference.mean(axis=0)


@pytest.mark.parametrize("score", [homer, inner_product])
def test_exact_means_tell_members_from_others(study: tuple[Floats, ...], score) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
    members, outsiders, practice, reference = study
    told = told_apart(*(score(rows, reference, members.mean(axis=0)) for rows in (members, outsiders, practice)))
    assert told.area >= 0.99
    assert told.gap >= 0.8


@pytest.mark.parametrize("score", [homer, inner_product])
def test_noisy_means_at_epsilon_1_do_not(study: tuple[Floats, ...], score) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
    members, outsiders, practice, reference = study
    counts = members.sum(axis=0).astype(np.int64)  # a row in the place of another moves each by one at most
    noisy = LaplaceVector(Fraction(COLUMNS), COLUMNS)(counts, rng=Seeded(4)) / PEOPLE
    told = told_apart(*(score(rows, reference, noisy) for rows in (members, outsiders, practice)))
    assert told.area < float(ceiling(Pure(1)))
    assert told.gap < 2 * float(ceiling(Pure(1))) - 1
    error = ((2 * PEOPLE + 1) / (12 * PEOPLE**2)) ** 0.5  # of the area, where scores say nothing (Mann & Whitney 1947)
    assert abs(told.area - float(ceiling_of_many(Pure(Fraction(1, COLUMNS)), COLUMNS))) < 6 * error


def test_the_scores_are_their_formulas() -> None:
    rows, reference, published = [[1, 0], [0, 1]], [0.5, 0.25], [0.75, 0.5]
    assert homer(rows, reference, published).tolist() == [0.5 - 0.25 + 0.25 - 0.5, 0.5 - 0.75 + 0.75 - 0.5]
    assert inner_product(rows, reference, published).tolist() == [0.5 / 4 - 0.25 / 4, -0.5 / 4 + 0.75 / 4]


def test_the_area_counts_pairs() -> None:
    inside, outside = [3.0, 1.0, 2.0, 2.0], [2.0, 0.0, 5.0]
    pairs = [1 if a > b else 0.5 if a == b else 0 for a, b in product(inside, outside)]
    assert told_apart(inside, outside, [0.0]).area == sum(pairs) / len(pairs)
    assert told_apart(inside, outside, [0.0]).area == stats.mannwhitneyu(inside, outside).statistic / 12


def test_the_threshold_sees_practice_alone() -> None:
    told = told_apart([5, 20, 30], [1, 96], range(101), alarms=0.05)
    assert (told.caught, told.alarmed, told.gap) == (0, 0.5, -0.5)


@pytest.mark.parametrize("size", [1, 2, 5])
@pytest.mark.parametrize(("epsilon", "delta"), [("0.3", "0"), ("1", "0"), ("2", "0.01"), ("1", "0.3")])
def test_no_scores_of_a_mechanism_get_beyond_the_ceiling(epsilon: str, delta: str, size: int) -> None:
    """Rows are uniform on `size` values; the mechanism names the member's own with a leak, else another's alike."""
    e, d, rows = float(np.exp(float(epsilon))), float(delta), range(size)
    area = gap = 0.0
    for member, outsider in product(rows, rows):
        for leaks, said in product((True, False), rows):
            hit = float(said == member) if leaks else (e if said == member else 1) / (e + size - 1)
            chance = hit * (d if leaks else 1 - d) / size**2
            one, other = (2 if leaks else 1) * (said == member), (2 if leaks else 1) * (said == outsider)
            area += chance * (1 if one > other else 0.5 if one == other else 0)
            gap += chance * ((one > 0) - (other > 0))
    most = float(ceiling(Approximate(epsilon, delta)))
    assert area <= most + 1e-12
    assert gap <= 2 * most - 1 + 1e-12
    assert size == 1 or area > 0.5


def test_it_says_what_it_is_beside() -> None:
    told = Membership(0.5, 0.04, 0.05, Fraction("0.731"))
    assert str(told) == (
        "area under the curve 0.500 (at most 0.731 on average); named: 4.0 % of members, 5.0 % of others; "
        "they differ by at most 46.2 on average"
    )
    assert str(Membership(1, 1, 0)) == "area under the curve 1.000; named: 100.0 % of members, 0.0 % of others"


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: homer([[1, 0]], [0.5], [0.5, 0.5]),
        lambda: inner_product([1, 0], [0.5, 0.5], [0.5, 0.5]),
        lambda: told_apart([], [1], [1]),
        lambda: told_apart([1], [1], [1], alarms=1),
    ],
)
def test_nonsense_is_refused(wrong) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
    with pytest.raises(Refusal, match="expected"):
        wrong()
