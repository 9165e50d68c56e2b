"""LogisticRegression, LinearSVC and KernelSVC, by scikit-learn's conventions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin

from discreet.declared.column import Column
from discreet.errors import Refusal
from discreet.exact import Number, exact
from discreet.learn.classifier_model import chosen_of
from discreet.learn.convex_risk import HingeRisk, LogisticRisk
from discreet.learn.estimator import ArgumentRefusal, PrivateEstimator, optional
from discreet.learn.functional import FunctionalLogistic
from discreet.learn.kernel_risk import KernelRisk
from discreet.mechanisms.rows_in_memory import places_of
from discreet.privacy import AddRemove, Neighbours, Replace


class PrivateClassifier(ClassifierMixin, PrivateEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """A classifier whose `classes` are public: which there are never comes from data. Rows of others are left out."""

    def _read_label(self, y: NDArray[Any]) -> NDArray[Any]:
        """Places among the classes, −1 for what is none."""
        if self.classes is None:
            raise Refusal(
                f"{type(self).__name__} needs classes=, the labels that there can be, as a public fact",
                hint="classes=(0, 1), for one; those that occur in the data are somebody's",
            )
        classes = np.unique(np.asarray(self.classes))
        if classes.size < 2:
            raise ArgumentRefusal(f"expected two classes or more, got one class: classes={self.classes!r}")
        if classes.size > self._most:
            raise ArgumentRefusal("Only binary classification is supported. The type of the target is multiclass.")
        self.classes_ = classes
        places = {name: place for place, name in enumerate(classes.tolist())}
        return places_of(y, partial(_place, places))

    _most = 1000  # classes

    def predict(self, X: ArrayLike) -> NDArray[Any]:  # noqa: N803  # as scikit-learn has it
        """The class of each row."""
        return chosen_of(self._scores(X), self.classes_)

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:  # noqa: N803
        """The scores of each row: one for two classes, else one for each."""
        scores = self._scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def _scores(self, X: ArrayLike) -> NDArray[np.float64]:  # noqa: N803
        rows = self._checked(X)
        scores: NDArray[np.float64] = self.model_.scores(rows)
        return scores

    def _label_column(self, name: str) -> Column:
        return Column(name, keys=tuple(range(self.classes_.size)))

    def _learnt(self, model: Any) -> None:  # noqa: ANN401  # each has its own kind of model
        named = tuple(self.classes_.tolist())
        if all(isinstance(name, (str, int)) for name in named):
            self.model_ = replace(model, classes=named)


def _place(places: Mapping[object, int], cell: object) -> int:
    """The place of a cell, by itself: no other cell says how it is read, and none is refused."""
    try:
        return places.get(cell, -1)
    except (TypeError, ValueError):  # not hashable, so no class
        return -1


class _Convex(PrivateClassifier):
    """By objective or output perturbation."""

    def _common(self, features: Sequence[str], label: str) -> dict[str, Any]:
        return {
            "features": tuple(features),
            "label": label,
            "epsilon": exact(self.epsilon, "epsilon"),
            "delta": exact(self.delta, "delta"),
            "alpha": optional(self.alpha, "alpha"),
            "l1": exact(self.l1, "l1"),
            "method": self.method,
            "fit_intercept": self.fit_intercept,
            "data_norm": optional(self.data_norm, "data_norm"),
            "max_rows": self.max_rows,
            "neighbours": neighbours_of(self.neighbours),
        }


def neighbours_of(given: Neighbours | str) -> Neighbours:
    """What is compared, as it is or by its name."""
    named: dict[object, Neighbours] = {"add-remove": AddRemove(), "replace": Replace()}
    if isinstance(given, str) and given in named:
        return named[given]
    if isinstance(given, (AddRemove, Replace)):
        return given
    raise Refusal(f"expected neighbours as 'add-remove' or 'replace', got {given!r}")


class LogisticRegression(_Convex):
    """Logistic regression by objective or output perturbation; of more than two classes by softmax.

    `classes` are the labels that there can be, `bounds` or `data_norm` say how far features reach: all public facts.
    `alpha` is a ridge on the weights of the scaled features, the intercept's too; more of it is taken where the price
    needs it, and None is as much as the noise calls for, which costs a 64th of ε. `l1` is the weight of the sum of
    their sizes, the intercept's not: it makes many of them zero. `method` is "objective", "gaussian", "output" or
    "automatic", or for two classes "functional": noisy sums, as linear regression has them, and no solver. `neighbours`
    are "add-remove", or "replace" where the number of rows is public.

    Guarantee: that of `LogisticRisk`; `privacy_` says it.
    """

    def __init__(  # noqa: PLR0913  # all that there is to choose
        self,
        epsilon: Number = 1,
        *,
        delta: Number = "1e-9",
        classes: Any = None,  # noqa: ANN401  # labels of any type
        bounds: Any = None,  # noqa: ANN401  # a pair of numbers, or of lists of them
        data_norm: Number | None = None,
        alpha: Number | None = None,
        l1: Number = 0,
        method: str = "automatic",
        fit_intercept: bool = True,
        max_rows: int = 1,
        neighbours: Neighbours | str = "add-remove",
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.classes = classes
        self.bounds = bounds
        self.data_norm = data_norm
        self.alpha = alpha
        self.l1 = l1
        self.method = method
        self.fit_intercept = fit_intercept
        self.max_rows = max_rows
        self.neighbours = neighbours

    def mechanism(self, features: Sequence[str], label: str) -> LogisticRisk | FunctionalLogistic:
        """The mechanism that a fit is, over columns of these names."""
        common = self._common(features, label)
        if self.method == "functional":
            own = {name: part for name, part in common.items() if name not in {"method", "l1"}}
            return FunctionalLogistic(**own | {"alpha": common["alpha"] or Fraction(0)})
        return LogisticRisk(**common)

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:  # noqa: N803
        """The chance of each class, a column each."""
        rows = self._checked(X)
        told: NDArray[np.float64] = self.model_.probabilities(rows)
        return told

    def _learnt(self, model: Any) -> None:  # noqa: ANN401
        super()._learnt(model)
        self.coef_, self.intercept_ = np.array(model.coefficients), np.array(model.intercepts)


class LinearSVC(_Convex):
    """Linear support vector classifier of two classes, by objective or output perturbation, with a smooth hinge.

    The hinge is rounded over ±`width`; the other arguments are those of `LogisticRegression`.

    Guarantee: that of `HingeRisk`; `privacy_` says it.
    """

    def __init__(  # noqa: PLR0913  # all that there is to choose
        self,
        epsilon: Number = 1,
        *,
        delta: Number = "1e-9",
        classes: Any = None,  # noqa: ANN401  # labels of any type
        bounds: Any = None,  # noqa: ANN401  # a pair of numbers, or of lists of them
        data_norm: Number | None = None,
        alpha: Number | None = None,
        l1: Number = 0,
        width: Number = "0.5",
        method: str = "automatic",
        fit_intercept: bool = True,
        max_rows: int = 1,
        neighbours: Neighbours | str = "add-remove",
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.classes = classes
        self.bounds = bounds
        self.data_norm = data_norm
        self.alpha = alpha
        self.l1 = l1
        self.width = width
        self.method = method
        self.fit_intercept = fit_intercept
        self.max_rows = max_rows
        self.neighbours = neighbours

    _most = 2

    def mechanism(self, features: Sequence[str], label: str) -> HingeRisk:
        """The mechanism that a fit is, over columns of these names."""
        return HingeRisk(**self._common(features, label), width=exact(self.width, "width"))

    def _learnt(self, model: Any) -> None:  # noqa: ANN401
        super()._learnt(model)
        self.coef_, self.intercept_ = np.array(model.coefficients), np.array(model.intercepts)

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401  # scikit-learn ships no types
        """It tells two classes apart."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


class KernelSVC(_Convex):
    """Support vector classifier of two classes with a Gaussian kernel, by random features drawn before it looks.

    The kernel is exp(−γ‖u − u'‖²) of features that are divided by their bounds; γ is public, or charged for where data
    chose it. The other arguments are those of `LinearSVC`.

    Guarantee: that of `KernelRisk`; `privacy_` says it.
    """

    def __init__(  # noqa: PLR0913  # all that there is to choose
        self,
        epsilon: Number = 1,
        *,
        delta: Number = "1e-9",
        classes: Any = None,  # noqa: ANN401  # labels of any type
        bounds: Any = None,  # noqa: ANN401  # a pair of numbers, or of lists of them
        data_norm: Number | None = None,
        alpha: Number | None = None,
        l1: Number = 0,
        width: Number = "0.5",
        gamma: Number = 1,
        components: int = 100,
        method: str = "automatic",
        fit_intercept: bool = True,
        max_rows: int = 1,
        neighbours: Neighbours | str = "add-remove",
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.classes = classes
        self.bounds = bounds
        self.data_norm = data_norm
        self.alpha = alpha
        self.l1 = l1
        self.width = width
        self.gamma = gamma
        self.components = components
        self.method = method
        self.fit_intercept = fit_intercept
        self.max_rows = max_rows
        self.neighbours = neighbours

    _most = 2

    def mechanism(self, features: Sequence[str], label: str) -> KernelRisk:
        """The mechanism that a fit is, over columns of these names."""
        width, gamma = exact(self.width, "width"), exact(self.gamma, "gamma")
        return KernelRisk(**self._common(features, label), width=width, components=self.components, gamma=gamma)

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401  # scikit-learn ships no types
        """It tells two classes apart."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags
