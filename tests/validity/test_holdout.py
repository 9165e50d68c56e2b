"""Rows kept aside that judge models: what they report, what they prove, and that nobody can overfit them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from doubles import Seeded
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from discreet.errors import OverBudget, Refusal
from discreet.mechanisms.encrypted_file import CLOSED
from discreet.privacy import Approximate, Guarantee, Replace
from discreet.validity import ReusableHoldout

Rows = tuple[NDArray[Any], NDArray[Any]]


def coins(seed: int, rows: int, columns: int = 8) -> Rows:
    """Features and labels that have nothing to do with each other."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((rows, columns)), rng.integers(0, 2, rows)


class Remembers:
    """h(x) = the label of x, if x is in S; else 0."""

    def __init__(self, seen: Rows) -> None:
        self.seen = {row.tobytes(): int(label) for row, label in zip(*seen, strict=True)}

    def predict(self, X: Any) -> NDArray[np.int64]:  # noqa: ANN401, N803
        return np.array([self.seen.get(row.tobytes(), 0) for row in X])


def test_who_remembers_the_training_rows_is_found_out() -> None:
    """h(x) = label if x in S: perfect on S and on a plain holdout that is S, and worth what a coin is on fresh rows."""
    train, holdout = coins(1, 2000), coins(2, 2000)
    model = Remembers(train)
    assert np.mean(model.predict(train[0]) == train[1]) == 1
    judge = ReusableHoldout(holdout, train, rng=Seeded(1))
    fresh = np.mean(model.predict(holdout[0]) == holdout[1])
    assert judge.score(model) == pytest.approx(float(fresh), abs=0.1)
    assert judge.claims[-1].hard


def hill_climbed(score: Callable[[NDArray[np.int64]], float], holdout: Rows, seed: int) -> NDArray[np.int64]:
    """Labels for the rows of a holdout, made by asking how good random labels are and letting the better ones vote.

    Where the scores are of the holdout itself, the vote learns its labels: h(x) = 1 if x is in the set of rows that
    answers say are 1 (Dwork et al. 2015; Blum & Hardt 2015, the boosting attack).
    """
    rng, votes = np.random.default_rng(seed), np.zeros(len(holdout[1]))
    for _ in range(300):
        labels = rng.integers(0, 2, len(holdout[1]))
        votes += np.where(score(labels) > 0.5, 1, -1) * (2 * labels - 1)
    return (votes > 0).astype(np.int64)


class Says:
    """Labels for the rows of the holdout, by their order; coins elsewhere."""

    def __init__(self, labels: NDArray[np.int64], where: NDArray[Any]) -> None:
        self.labels, self.where = labels, where

    def predict(self, X: Any) -> NDArray[np.int64]:  # noqa: ANN401, N803
        return self.labels if X is self.where else np.arange(len(X)) % 2


def test_a_function_of_being_in_the_holdout_overfits_the_plain_one_and_not_ours() -> None:
    train, holdout = coins(3, 2000), coins(4, 2000)
    plain = hill_climbed(lambda labels: float(np.mean(labels == holdout[1])), holdout, 5)
    assert np.mean(plain == holdout[1]) > 0.6
    judge = ReusableHoldout(holdout, train, hard=50, rng=Seeded(2))
    ours = hill_climbed(lambda labels: judge.score(Says(labels, holdout[0])), holdout, 5)
    assert abs(np.mean(ours == holdout[1]) - 0.5) < 0.07  # six deviations of what coins are right about
    assert judge.used[0].used < judge.used[0].most


def test_a_classifier_of_scikit_learn_is_scored() -> None:
    rng = np.random.default_rng(6)
    rows = rng.standard_normal((3000, 3))
    labels = (rows[:, 0] + rng.standard_normal(3000) > 0).astype(int)
    train, holdout = (rows[:1500], labels[:1500]), (rows[1500:], labels[1500:])
    judge = ReusableHoldout(holdout, train, rng=Seeded(3))
    score = judge.score(LogisticRegression().fit(*train))
    assert score == pytest.approx(0.75, abs=0.1)
    (claim,) = judge.claims
    assert claim.low < 0.75 < claim.high


def test_means_are_of_numbers_from_0_to_1_and_what_is_none_counts_0() -> None:
    train, holdout = coins(7, 400), coins(8, 400)
    judge = ReusableHoldout(holdout, train, epsilon=10**6, threshold="0.000001", rng=Seeded(4))
    assert judge.mean(lambda rows, _: np.full(len(rows), 7.0)) == 1
    assert judge.mean(lambda rows, _: np.where(np.arange(len(rows)) % 2, np.nan, 0.5)) == 0.25
    with pytest.raises(Refusal, match="each row a number"):
        judge.mean(lambda _rows, _labels: [0.5])


def test_it_is_paid_whole_for_replacing_a_row_and_used_up() -> None:
    train, holdout = coins(9, 400), coins(10, 400)
    paid: list[object] = []
    judge = ReusableHoldout(holdout, train, hard=2, questions=9, pay=paid.append, rng=Seeded(5))
    assert paid == [Guarantee(Approximate("0.8"), Replace())]  # 8·hard/√n
    for _ in range(2):
        judge.mean(lambda rows, _: np.full(len(rows), float(rows is holdout[0])))
    with pytest.raises(OverBudget, match="2 hard answers of 2"):
        judge.mean(lambda rows, _: np.zeros(len(rows)))


def test_one_with_a_file_goes_on_where_it_was_left_and_for_no_other_rows(tmp_path: Path) -> None:
    train, holdout = coins(11, 400), coins(12, 400)
    first = ReusableHoldout(holdout, train, path=tmp_path / "state", rng=Seeded(6))
    first.mean(lambda rows, _: np.zeros(len(rows)))
    again = ReusableHoldout(holdout, train, path=tmp_path / "state", pay=lambda _: pytest.fail("paid twice"))
    assert again.claims == first.claims
    assert again.used[1].used == 1
    with pytest.raises(Refusal, match=CLOSED):
        ReusableHoldout(coins(13, 400), train, path=tmp_path / "state")


def test_what_is_said_again_is_of_the_training_rows_alone() -> None:
    """What is said again is a function of the training rows only."""
    train = coins(14, 400)
    told = {
        ReusableHoldout(coins(seed, 400), train, rng=Seeded(7)).mean(lambda rows, labels: (rows[:, 0] > 0) == labels)
        for seed in range(20, 25)
    }
    assert len(told) == 1


@pytest.mark.parametrize(
    ("holdout", "says"),
    [
        ((np.zeros((3, 2)), np.zeros(2)), "as many rows"),
        ((np.zeros((0, 2)), np.zeros(0)), "as many rows"),
        ((np.zeros((1, 2)), np.array(["a"], dtype=object)), "objects"),
    ],
)
def test_what_are_no_rows_is_refused(holdout: Rows, says: str) -> None:
    with pytest.raises(Refusal, match=says):
        ReusableHoldout(holdout, coins(1, 10))
