"""LogisticRegression, LinearSVC and KernelSVC, by scikit-learn's conventions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if

from discreet.declared.column import Column
from discreet.errors import Refusal
from discreet.exact import Number, exact, shown
from discreet.learn.constructor_arguments import RiskArguments
from discreet.learn.convex_risk import HingeRisk, LogisticRisk
from discreet.learn.estimator import ArgumentRefusal, PrivateEstimator
from discreet.learn.functional import FunctionalLogistic
from discreet.learn.kernel_risk import KernelRisk
from discreet.learn.linear_classifier_model import chosen_of
from discreet.mechanisms.rows_in_memory import places_of


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
    _tells_chances = True

    def predict(self, X: ArrayLike) -> NDArray[Any]:  # noqa: N803  # as scikit-learn has it
        """The class of each row."""
        return chosen_of(self._scores(X), self.classes_)

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:  # noqa: N803
        """The scores of each row: one for two classes, else one for each."""
        scores = self._scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    @available_if(lambda self: self._tells_chances)  # type: ignore[untyped-decorator]  # scikit-learn ships no types
    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:  # noqa: N803
        """The chance of each class, a column each."""
        rows = self._checked(X)
        told: NDArray[np.float64] = self.model_.probabilities(rows)
        return told

    @available_if(lambda self: self._tells_chances)  # type: ignore[untyped-decorator]  # scikit-learn ships no types
    def predict_log_proba(self, X: ArrayLike) -> NDArray[np.float64]:  # noqa: N803
        """Its logarithm."""
        told: NDArray[np.float64] = np.log(self.predict_proba(X))
        return told

    def _scores(self, X: ArrayLike) -> NDArray[np.float64]:  # noqa: N803
        rows = self._checked(X)
        scores: NDArray[np.float64] = self.model_.scores(rows)
        return scores

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401  # scikit-learn ships no types
        """Whether it tells more than two classes apart."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self._most > 2
        return tags

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


@dataclass(eq=False, repr=False, kw_only=True)
class LogisticRegression(RiskArguments, PrivateClassifier):
    """Logistic regression by objective or output perturbation; of more than two classes by softmax.

    `classes` are the labels that there can be, `bounds` or `data_norm` say how far features reach: all public facts.
    `alpha` is a ridge on the weights of the scaled features, the intercept's too; more of it is taken where the price
    needs it, and None is as much as the noise calls for, which costs a 64th of ε. `l1` is the weight of the sum of
    their sizes, the intercept's not: it makes many of them zero. `method` is "objective", "gaussian", "output" or
    "automatic", or for two classes "functional": noisy sums, as linear regression has them, and no solver. `neighbours`
    are "add-remove", or "replace" where the number of rows is public.

    Guarantee: that of `LogisticRisk`; `privacy_` says it.
    """

    classes: Any = None  # labels of any type

    def mechanism(self, features: Sequence[str], label: str) -> LogisticRisk | FunctionalLogistic:
        """The mechanism that a fit is, over columns of these names."""
        common = self._risk(features, label)
        if self.method == "functional":
            if common["l1"]:
                raise Refusal(
                    f"method='functional' has no corners, got l1={shown(self.l1)}",
                    hint="l1=0, or method='objective', which has them",
                )
            own = {name: part for name, part in common.items() if name not in {"method", "l1"}}
            return FunctionalLogistic(**own | {"alpha": common["alpha"] or Fraction(0)})
        return LogisticRisk(**common)

    def _learnt(self, model: Any) -> None:  # noqa: ANN401
        super()._learnt(model)
        self.coef_, self.intercept_ = np.array(model.coefficients), np.array(model.intercepts)


@dataclass(eq=False, repr=False, kw_only=True)
class LinearSVC(RiskArguments, PrivateClassifier):
    """Linear support vector classifier of two classes, by objective or output perturbation, with a smooth hinge.

    The hinge is rounded over ±`width`; the other arguments are those of `LogisticRegression`.

    Guarantee: that of `HingeRisk`; `privacy_` says it.
    """

    classes: Any = None  # labels of any type
    width: Number = "0.5"

    _most = 2
    _tells_chances = False

    def mechanism(self, features: Sequence[str], label: str) -> HingeRisk:
        """The mechanism that a fit is, over columns of these names."""
        return HingeRisk(**self._risk(features, label), width=exact(self.width, "width"))

    def _learnt(self, model: Any) -> None:  # noqa: ANN401
        super()._learnt(model)
        self.coef_, self.intercept_ = np.array(model.coefficients), np.array(model.intercepts)


@dataclass(eq=False, repr=False, kw_only=True)
class KernelSVC(RiskArguments, PrivateClassifier):
    """Support vector classifier of two classes with a Gaussian kernel, by random features drawn before it looks.

    The kernel is exp(−γ‖u − u'‖²) of features that are divided by their bounds; γ is public, or charged for where data
    chose it. The other arguments are those of `LinearSVC`.

    Guarantee: that of `KernelRisk`; `privacy_` says it.
    """

    classes: Any = None  # labels of any type
    width: Number = "0.5"
    gamma: Number = 1
    components: int = 100

    _most = 2
    _tells_chances = False

    def mechanism(self, features: Sequence[str], label: str) -> KernelRisk:
        """The mechanism that a fit is, over columns of these names."""
        width, gamma = exact(self.width, "width"), exact(self.gamma, "gamma")
        return KernelRisk(**self._risk(features, label), width=width, components=self.components, gamma=gamma)
