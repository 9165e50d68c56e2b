"""A model is audited in one run: what memorises is found out, what is private is not, at the command line as well."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from doubles import Seeded
from sklearn.linear_model import LogisticRegression as Exact
from sklearn.neighbors import KNeighborsRegressor

from discreet.audit import audit_model, one_hot
from discreet.errors import Refusal
from discreet.learn import LinearSVC, LogisticRegression
from discreet.privacy import Approximate, Pure

MANY = 60
ROWS, LABELS = one_hot(MANY)


def test_canaries_are_as_far_apart_as_can_be() -> None:
    assert ROWS.shape == (MANY, MANY)
    assert (ROWS.sum(axis=0) == 1).all()
    assert set(LABELS) == {0, 1}


def test_a_model_without_noise_is_found_out() -> None:
    run = audit_model(Exact(C=1e6), ROWS, LABELS, Pure(1), guesses=40, alpha="1e-4", rng=Seeded(1))
    assert run.refuted, str(run)


def test_a_private_one_is_not() -> None:
    model = LogisticRegression(epsilon=1, bounds=(0, 1), classes=(0, 1))
    assert not audit_model(model, ROWS, LABELS, Pure(1), alpha="1e-6", rng=Seeded(2)).refuted


def test_models_that_tell_margins_are_read_by_them() -> None:
    model = LinearSVC(epsilon=1, delta="1e-6", bounds=(0, 1), classes=(0, 1))
    claim = Approximate(1, "1e-6")
    assert not audit_model(model, ROWS, LABELS, claim, alpha="1e-6", rng=Seeded(3)).refuted


def test_a_score_of_ones_own_is_used() -> None:
    asked: list[int] = []

    def score(model: Any, canary: int) -> float:  # noqa: ANN401
        asked.append(canary)
        return float(model.predict(ROWS[canary : canary + 1])[0])

    run = audit_model(KNeighborsRegressor(1), ROWS, np.ones(MANY), Pure(1), score=score, guesses=10, rng=Seeded(4))
    assert asked == list(range(MANY))
    assert run.guesses == 10


def test_rows_without_labels_are_refused() -> None:
    with pytest.raises(Refusal, match="a label for each canary"):
        audit_model(Exact(), ROWS, LABELS[1:], Pure(1))
