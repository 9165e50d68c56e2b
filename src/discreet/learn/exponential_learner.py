"""ExponentialLearner, by scikit-learn's conventions: a short rule, chosen by the exponential mechanism."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.declared.column import Column
from discreet.exact import Number, exact
from discreet.learn.classifiers import PrivateClassifier
from discreet.learn.constructor_arguments import neighbours_of
from discreet.learn.estimator import feature_columns
from discreet.learn.rule_learner import RuleLearner
from discreet.mechanisms import Frame
from discreet.privacy import Neighbours


class ExponentialLearner(PrivateClassifier):
    """Learns a short rule ("second if x0 ≥ 3 and x1 < 5, else first") from a finite class of them.

    `classes` are the labels that there can be and `bounds` how far features reach, both public. Each feature is cut at
    `cuts` places between its bounds, and a rule has up to `terms` features, 1 or 2. `sample_size` says how many rows
    are enough.

    Guarantee: that of `RuleLearner`; `privacy_` says it.
    """

    _tells_chances = False

    def __init__(  # noqa: PLR0913  # all that there is to choose
        self,
        epsilon: Number = 1,
        *,
        classes: Any = None,  # noqa: ANN401  # labels of any type
        bounds: Any = None,  # noqa: ANN401  # a pair of numbers, or of lists of them
        cuts: int = 10,
        terms: int = 1,
        max_rows: int = 1,
        neighbours: Neighbours | str = "add-remove",
    ) -> None:
        self.epsilon = epsilon
        self.classes = classes
        self.bounds = bounds
        self.cuts = cuts
        self.terms = terms
        self.max_rows = max_rows
        self.neighbours = neighbours

    def mechanism(self, features: Sequence[str], label: str) -> RuleLearner:
        """The mechanism that a fit is, over columns of these names."""
        price, who = exact(self.epsilon, "epsilon"), neighbours_of(self.neighbours)
        return RuleLearner(tuple(features), label, price, self.cuts, self.terms, self.max_rows, who)

    def sample_size(
        self, excess: Number, confidence: Number = "0.95", *, features: int, realizable: bool = False
    ) -> int:
        """How many rows are enough for a rule that errs at most `excess` more often than the best, so confidently.

        On new rows of the same law, where each row is drawn independently and has a unit of its own; what the law is
        does not matter. If some rule errs never, `realizable=True` needs far fewer.
        """
        self._read_label(np.zeros(0))  # learns the classes
        names = tuple(f"x{i}" for i in range(features))
        columns: tuple[Column, ...] = (*feature_columns(self, names), self._label_column("y"))
        known = Frame.of({column.name: [] for column in columns}, *columns)
        return self.mechanism(names, "y").rows_needed(known, excess, confidence, realizable=realizable)

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:  # noqa: N803  # as scikit-learn has it
        """1 for the class that is said and 0 for others; of two classes ±1."""
        rows = self._checked(X)
        said = self.model_.predict(rows)[:, np.newaxis] == np.arange(self.classes_.size)
        scores: NDArray[np.float64] = np.asarray(said, dtype=np.float64)
        return 2 * scores[:, 1] - 1 if scores.shape[1] == 2 else scores

    def predict(self, X: ArrayLike) -> NDArray[Any]:  # noqa: N803
        """The class of each row."""
        rows = self._checked(X)
        told: NDArray[Any] = self.classes_[self.model_.predict(rows)]
        return told

    def _learnt(self, model: Any) -> None:  # noqa: ANN401  # its classes stay places
        self.rule_ = str(model)

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401  # scikit-learn ships no types
        """A rule of one or two features is not right about everything."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags
