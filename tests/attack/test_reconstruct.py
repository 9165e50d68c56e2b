"""Secrets from counts: with exact and with bounded noise nearly all, from a curator hardly more than by guessing."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from doubles import Seeded
from numpy.typing import NDArray
from scipy import stats

from discreet.attack import (
    ceiling_of_many,
    exhaustive,
    least_squares,
    linear_program,
    matrix,
    predicted,
    scored,
    subsets,
)
from discreet.errors import Refusal
from discreet.mechanisms import LaplaceVector
from discreet.privacy import Pure

Floats = NDArray[np.float64]


def secrets(people: int, seed: int = 1) -> NDArray[np.int64]:
    rng = random.Random(seed)
    return np.array([rng.getrandbits(1) for _ in range(people)])


def bounded(size: int, most: float, seed: int = 2) -> Floats:
    rng = random.Random(seed)
    return np.round([rng.uniform(-most, most) for _ in range(size)])


def test_nearly_all_of_1024_secrets_from_four_counts_a_person_each_a_quarter_root_off() -> None:
    people, questions = 1024, 4096
    truth, members = secrets(people), matrix(subsets(questions), people)
    told = members @ truth + bounded(questions, 0.25 * people**0.5)
    assert scored(least_squares(members, told), truth).share >= 0.99


def test_from_noise_of_a_whole_budget_of_1_no_more_than_guessing_gives() -> None:
    people, questions = 1024, 4096
    truth, members = secrets(people), matrix(subsets(questions), people)
    each = Pure(Fraction(1, questions))
    noisy = LaplaceVector(1 / each.epsilon, questions)((members @ truth).astype(np.int64), rng=Seeded(3))
    outcome = scored(least_squares(members, noisy), truth, ceiling_of_many(each, questions))
    assert outcome.ceiling is not None
    assert abs(outcome.share - float(outcome.ceiling)) <= 2 * outcome.chance
    # answers that say nothing give a binomial count; a tenth of the noise would be told from that
    least, most = stats.binom.ppf(5e-10, people, 0.5), stats.binom.isf(5e-10, people, float(outcome.ceiling))
    assert least <= outcome.right <= most
    weak = LaplaceVector(Fraction(questions, 1000), questions)((members @ truth).astype(np.int64), rng=Seeded(3))
    assert scored(least_squares(members, weak), truth).right > most


@pytest.mark.parametrize("share", [0.5, 1, 2])
def test_the_forecast_is_near_what_least_squares_gets(share: float) -> None:
    people, questions = 512, 2048
    truth, members = secrets(people), matrix(subsets(questions), people)
    told = members @ truth + bounded(questions, share * people**0.5)
    aimed = predicted(people, questions, share * (people / 3) ** 0.5)
    assert abs(scored(least_squares(members, told), truth).share - aimed) < 6 * (aimed * (1 - aimed) / people) ** 0.5


@pytest.mark.parametrize("people", [3, 6, 8])
def test_trying_all_secrets_is_off_by_four_errors_at_most(people: int) -> None:
    members = np.array(list(product((0, 1), repeat=people)))
    for seed in range(20):
        truth = secrets(people, seed)
        assert (exhaustive(members, members @ truth) == truth).all()
        told = members @ truth + bounded(len(members), 1, seed)
        assert np.count_nonzero(exhaustive(members, told) != truth) <= 4


def test_trying_all_secrets_finds_what_misses_least() -> None:
    members = matrix(subsets(12), 10)
    told = members @ secrets(10) + bounded(12, 2)
    found = np.abs(members @ exhaustive(members, told) - told).max()
    assert found == min(np.abs(members @ np.array(bits) - told).max() for bits in product((0, 1), repeat=10))


def test_a_linear_program_knows_the_error() -> None:
    people, questions = 64, 256
    truth, members = secrets(people), matrix(subsets(questions), people)
    told = members @ truth + bounded(questions, 2)
    assert scored(linear_program(members, told, 2), truth).share >= 0.95
    with pytest.raises(Refusal, match=r"within 0\.1 of all answers"):
        linear_program(members, told, 0.1)


def test_a_linear_program_survives_answers_that_are_wholly_wrong() -> None:
    people, questions = 40, 200
    truth, members = secrets(people), matrix(subsets(questions), people)
    told = members @ truth
    told[::10] += 1000
    assert (linear_program(members, told) == truth).all()
    assert not (least_squares(members, told) == truth).all()


def test_subsets_are_what_their_sql_says_and_about_half_of_all() -> None:
    chosen = subsets(50)
    members = matrix(chosen, 1000)
    for subset, row in zip(chosen, members, strict=True):
        said = subset.condition("seat").replace("= 0", "== 0")
        assert [eval(said, {"seat": seat}) for seat in range(1000)] == row.astype(bool).tolist()  # noqa: S307
        assert 400 < row.sum() < 600
    assert len(set(chosen)) == 50


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: exhaustive(np.ones((1, 25)), [1]),
        lambda: least_squares(np.ones((2, 3)), [1]),
        lambda: least_squares(np.ones((1, 3)), [float("nan")]),
        lambda: predicted(10, 10, 1),
        lambda: matrix(subsets(1), 200_000),
    ],
)
def test_nonsense_is_refused(wrong) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
    with pytest.raises(Refusal):
        wrong()
