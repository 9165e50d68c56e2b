"""PrivateSearchCV, by scikit-learn's conventions: the best of a grid of parameters of an estimator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.model_selection import ParameterGrid
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from discreet.errors import Refusal
from discreet.exact import Number, exact
from discreet.learn.estimator import PrivateEstimator, optional
from discreet.learn.private_search import PrivateSearch
from discreet.learn.searched_model import Setting
from discreet.mechanisms import described
from discreet.privacy import Guarantee

_TERMS = ("features", "label", "epsilon", "delta", "rho", "max_rows", "neighbours")


def _best_has(name: str) -> Any:  # noqa: ANN401  # scikit-learn ships no types
    return available_if(lambda search: hasattr(getattr(search, "best_estimator_", search.estimator), name))


class PrivateSearchCV(MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """Search of a grid of parameters that costs the price of three tries, however many there are.

    `estimator` is one of ours, `param_grid` as GridSearchCV has it; its own `epsilon` and `delta` are not used.
    `holdout` of the units are kept aside to tell which try is best: one division, since each would cost. A setting is
    drawn at random, fitted and scored, and a coin says whether to go on: `tries` times on average, three times as often
    as there are settings if nobody says. The best is told, as `best_estimator_`, `best_params_` and `best_score_`,
    which is the best of several and so a little too high.

    Guarantee: that of `PrivateSearch`; `privacy_` says it.
    """

    def __init__(  # noqa: PLR0913  # all that there is to choose
        self,
        estimator: PrivateEstimator,
        param_grid: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Sequence[Any]]],
        *,
        epsilon: Number = 1,
        delta: Number = 0,
        tries: Number | None = None,
        holdout: Number = "0.25",
    ) -> None:
        self.estimator = estimator
        self.param_grid = param_grid
        self.epsilon = epsilon
        self.delta = delta
        self.tries = tries
        self.holdout = holdout

    def mechanism(self, features: Sequence[str], label: str) -> PrivateSearch:
        """The mechanism that a search is, over columns of these names."""
        fits = [self._set(each).mechanism(features, label) for each in ParameterGrid(self.param_grid)]
        told = [described(each) for each in fits]
        names = {str(each["name"]) for each in told}
        if len(names) != 1:
            raise Refusal(f"the settings of a search are of one kind of fit, got {sorted(names)}", hint="search each")
        return PrivateSearch(
            tuple(features), label, names.pop(), tuple(_setting(each["parameters"]) for each in told),
            exact(self.epsilon, "epsilon"), exact(self.delta, "delta"), optional(self.tries, "tries"),
            exact(self.holdout, "holdout"), fits[0].max_rows, fits[0].neighbours,
        )  # fmt: skip

    def _set(self, params: Mapping[str, Any]) -> Any:  # noqa: ANN401  # scikit-learn ships no types
        """The estimator with these parameters, at the price of the whole search: each try has its share of that."""
        one = clone(self.estimator)
        price = {"epsilon": self.epsilon} | ({"delta": self.delta} if "delta" in one.get_params() else {})
        return one.set_params(**price, **params)

    def fit(self, X: ArrayLike, y: ArrayLike | None = None, units: ArrayLike | None = None) -> Self:  # noqa: N803  # as scikit-learn has it
        """Search. `units` are whose the rows are, at most `max_rows` of the estimator each."""
        grid = list(ParameterGrid(self.param_grid))
        best = self._set(grid[0] if grid else {})
        frame, names, label = best.frame(X, y, units)
        mechanism = self.mechanism(names, label)
        told = mechanism(frame)
        best.set_params(**grid[told.place])
        self.privacy_ = Guarantee(mechanism.privacy, mechanism.neighbours)
        best.learn(told.model, self.privacy_)
        self.best_estimator_, self.best_params_, self.best_score_ = best, grid[told.place], told.score
        return self

    @property
    def n_features_in_(self) -> int:
        """How many features it was fitted to."""
        check_is_fitted(self, "best_estimator_")
        return int(self.best_estimator_.n_features_in_)

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes of the estimator, if it has any."""
        check_is_fitted(self, "best_estimator_")
        classes: NDArray[Any] = self.best_estimator_.classes_
        return classes

    def predict(self, X: ArrayLike) -> NDArray[Any]:  # noqa: N803
        """What the best says of each row."""
        return self._best().predict(X)  # type: ignore[no-any-return]

    @_best_has("predict_proba")  # type: ignore[untyped-decorator]
    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:  # noqa: N803
        """The chance of each class, a column each."""
        return self._best().predict_proba(X)  # type: ignore[no-any-return]

    @_best_has("decision_function")  # type: ignore[untyped-decorator]
    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:  # noqa: N803
        """The scores of each row."""
        return self._best().decision_function(X)  # type: ignore[no-any-return]

    def score(self, X: ArrayLike, y: ArrayLike) -> float:  # noqa: N803
        """That of the best: exact, and so for rows that are nobody's secret; see `evaluate`."""
        return float(self._best().score(X, y))

    def _best(self) -> Any:  # noqa: ANN401
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401
        """Those of the estimator."""
        tags, own = super().__sklearn_tags__(), self.estimator.__sklearn_tags__()
        tags.estimator_type, tags.classifier_tags, tags.regressor_tags = (
            own.estimator_type, own.classifier_tags, own.regressor_tags,
        )  # fmt: skip
        tags.target_tags, tags.input_tags, tags.non_deterministic = own.target_tags, own.input_tags, True
        return tags


def _setting(parameters: Any) -> Setting:  # noqa: ANN401  # as a door has them
    """What a setting says, without what the search says for all of them."""
    return tuple((name, value) for name, value in parameters.items() if name not in _TERMS)
