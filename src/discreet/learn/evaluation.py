"""Evaluate: how good a fitted estimator is about rows of people, under a promise for these."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from discreet.exact import Number, exact
from discreet.learn.estimator import optional
from discreet.learn.model_score import ModelScore
from discreet.learn.score_report import ClassifierScore, NumberScore
from discreet.mechanisms.registry import REGISTRY


def evaluate(  # noqa: PLR0913  # what is bought
    estimator: Any,  # noqa: ANN401  # scikit-learn ships no types
    X: ArrayLike,  # noqa: N803  # as scikit-learn has it
    y: ArrayLike,
    *,
    epsilon: Number | None = 1,
    delta: Number = 0,
    rho: Number | None = None,
    bins: int = 20,
    units: ArrayLike | None = None,
) -> ClassifierScore | NumberScore:
    """How good a fitted classifier or regressor of ours is about these rows, all from one purchase.

    Accuracy with its error, area under the curve and calibration of a classifier; R² and mean errors of a number. The
    same rows that it was fitted to cost again, and rows of other people cost these. `score` tells the exact one, which
    is for rows that are nobody's secret.

    Guarantee: that of `ModelScore`, when one unit is added or removed.
    """
    one = getattr(estimator, "best_estimator_", estimator)
    check_is_fitted(one)
    frame, _, label = clone(one).frame(X, y, units)
    model = one.model_
    if hasattr(one, "classes_") and hasattr(model, "classes"):
        model = replace(model, classes=tuple(range(one.classes_.size)))  # as the column of labels has them
    kind = next(name for name, known in REGISTRY.items() if getattr(known, "model", None) is type(model))
    told = ModelScore(
        json.dumps({"estimator": kind, "model": model.body()}),
        label,
        optional(epsilon, "epsilon"),
        exact(delta, "delta"),
        optional(rho, "rho"),
        bins,
        one.max_rows,
    )(frame)
    if not isinstance(told, ClassifierScore):
        return told
    names = tuple(each if isinstance(each, (str, int)) else str(each) for each in one.classes_.tolist())
    return replace(told, classes=names)
