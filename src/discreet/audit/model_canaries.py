"""A model that is trained once, on canaries of which a coin says who is in: whose label it knows too well."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from discreet.audit.one_run import OneRun, audit_one_run
from discreet.errors import Refusal
from discreet.exact import Number
from discreet.noise import SECURE, Entropy
from discreet.privacy.loss import Loss


def audit_model(  # noqa: PLR0913  # what an audit with canaries is made of
    estimator: Any,  # noqa: ANN401  # of discreet.learn, or anything that fits and predicts as scikit-learn's do
    features: ArrayLike,
    labels: ArrayLike,
    claim: Loss | None = None,
    *,
    score: Callable[[Any, int], float] | None = None,
    delta: Number | None = None,
    guesses: int | None = None,
    alpha: Number = Fraction(1, 20),
    rng: Entropy = SECURE,
) -> OneRun:
    """Fit a copy of the estimator once, on a random half of these rows, and guess which of them were in.

    Each row is a canary, all that one unit contributes: rows as far from each other as people may be are seen best. The
    guess is by how well the model knows a row's label, or by `score`, which is given the model and a row's number.
    """
    from sklearn.base import clone  # noqa: PLC0415  # half a second that other audits need not pay

    rows, said = np.asarray(features, dtype=np.float64), np.asarray(labels)
    if rows.ndim != 2 or said.shape != rows.shape[:1]:
        raise Refusal(f"expected a row of features and a label for each canary, got {rows.shape} and {said.shape}")

    def train(inside: Sequence[int]) -> Any:  # noqa: ANN401
        return clone(estimator).fit(rows[list(inside)], said[list(inside)])

    def known(model: Any, canary: int) -> float:  # noqa: ANN401
        return _known(model, rows[canary : canary + 1], said[canary])

    return audit_one_run(
        train, range(len(rows)), score or known, claim, delta=delta, guesses=guesses, alpha=alpha, rng=rng
    )


def one_hot(many: int) -> tuple[np.ndarray[Any, np.dtype[np.float64]], np.ndarray[Any, np.dtype[np.int64]]]:
    """So many rows, each with a one in a column of its own; labels are 0 and 1 in turn."""
    return np.eye(many), np.arange(many) % 2


def _known(model: Any, row: ArrayLike, label: object) -> float:  # noqa: ANN401
    """How well the model knows this label: the chance that it gives it, or how near it comes."""
    if hasattr(model, "predict_proba"):
        (place,) = np.flatnonzero(np.asarray(model.classes_) == label)
        return float(model.predict_proba(row)[0, place])
    if hasattr(model, "decision_function"):
        margin = float(np.ravel(model.decision_function(row))[0])
        return margin if label == model.classes_[1] else -margin
    return -abs(float(np.ravel(model.predict(row))[0]) - float(label))  # type: ignore[arg-type]
