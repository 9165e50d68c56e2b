"""What all estimators share: scikit-learn's conventions around a frozen mechanism over a relation.

An estimator's constructor stores what it is given, and `fit` reads it. All that says how far numbers may reach is
an argument of the constructor, since data never does. In `fit` each row is a unit of its own, unless `units` says whose
each row is. A row in which anything is no number is left out. There is no `random_state`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d, validate_data

from discreet.declared.column import Column
from discreet.declared.grid import cells
from discreet.errors import Refusal
from discreet.exact import Number, exact, shown
from discreet.learn.fitted_model import Model
from discreet.learn.prediction_rows import as_numbers, unlike
from discreet.mechanisms import Frame, TableMechanism
from discreet.privacy import Guarantee

_LABEL = "y"
_UNIT = "unit of the row"


class ArgumentRefusal(Refusal, ValueError):
    """What scikit-learn calls a ValueError."""


class PrivateEstimator(BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """An estimator whose `fit` runs a mechanism; `model_` is what that told, `privacy_` what it cost.

    `fit` on arrays is for whoever holds the rows. In a home the same is bought by
    `db.run(estimator.mechanism(…), sql)`, by `discreet fit`, or by its name.
    """

    labelled: ClassVar[bool] = True  # whether it learns to predict a label, or something of the rows alone

    @abstractmethod
    def mechanism(self, features: Sequence[str], label: str) -> TableMechanism[Any]:
        """The mechanism that a fit is, over columns of these names. It is all that sees rows."""

    def _label_column(self, name: str) -> Column:
        """What is declared of the label."""
        raise NotImplementedError

    def fit(self, X: ArrayLike, y: ArrayLike | None = None, units: ArrayLike | None = None) -> Self:  # noqa: N803  # as scikit-learn has it
        """Fit to rows, which are read once. `units` are whose the rows are, at most `max_rows` each."""
        frame, names, label = self.frame(X, y, units)
        mechanism = self.mechanism(names, label)
        self.learn(mechanism(frame), Guarantee(mechanism.privacy, mechanism.neighbours))
        return self

    def frame(
        self,
        X: ArrayLike,  # noqa: N803
        y: ArrayLike | None,
        units: ArrayLike | None = None,
    ) -> tuple[Frame, tuple[str, ...], str]:
        """Rows as a mechanism takes them, with the names of the features and of the label."""
        X, y = self._read(X, y)  # noqa: N806
        names = feature_names(self, X.shape[1])
        label = unlike(_LABEL, names)
        columns, held = feature_columns(self, names), [*X.T]
        if self.labelled:
            columns, held = (*columns, self._label_column(label)), [*held, y]
        return self._frame(held, units, columns), names, label

    def learn(self, model: Any, privacy: Guarantee[Any]) -> None:  # noqa: ANN401  # each has its own kind of model
        """Take over a model that was fitted, and what it cost."""
        self.model_, self.privacy_ = model, privacy
        self._learnt(model)

    def _read(self, X: ArrayLike, y: ArrayLike | None) -> tuple[NDArray[Any], NDArray[Any]]:  # noqa: N803
        """Rows and labels as arrays of one length. What is no number may be in either, and there may be none.

        Without a label what came as one is not looked at.

        Of what brings no type of its own each cell is read by itself: one type for all of them would be chosen by what
        somebody's cell is, and what is said when there is none would show that cell.
        """
        if self.labelled and y is None:
            validate_data(self, X, y)  # which says that there must be one
        X = _each_by_itself(X)  # noqa: N806
        kind = None if _of_objects(X) else np.float64
        rows = validate_data(self, X, ensure_all_finite=False, ensure_min_samples=0, dtype=kind)
        if not self.labelled:
            return rows, rows[:, :0]
        labels = self._read_label(column_or_1d(_each_by_itself(y), warn=True))
        check_consistent_length(rows, labels)
        return rows, labels

    def _read_label(self, y: NDArray[Any]) -> NDArray[Any]:
        """Labels as they are to stand in a column."""
        return y

    def _learnt(self, model: Any) -> None:  # noqa: ANN401  # each has its own kind of model
        """Set what scikit-learn calls what was learnt."""

    def _frame(self, held: Sequence[NDArray[Any]], units: ArrayLike | None, columns: Sequence[Column]) -> Frame:
        data = {column.name: _cells(own) for column, own in zip(columns, held, strict=True)}
        if units is None:
            return Frame.of(data, *columns, max_rows=self.max_rows)
        if len(cells(units)) != len(held[0]):
            raise Refusal("expected units to say of each row whose it is", hint="one for each row of X")
        owned = unlike(_UNIT, data)
        return Frame.of({**data, owned: units}, *columns, unit=owned, max_rows=self.max_rows)

    def _predicted(self, X: ArrayLike) -> NDArray[Any]:  # noqa: N803
        rows = self._checked(X)
        model: Model = self.model_
        return model.predict(rows)

    def _checked(self, X: ArrayLike) -> NDArray[np.float64]:  # noqa: N803
        """Rows to predict for, as an array, if there is a model."""
        check_is_fitted(self)
        if not getattr(self, "categories", None):
            rows: NDArray[np.float64] = validate_data(self, X, reset=False, ensure_all_finite=False, dtype=np.float64)
            return rows
        given = validate_data(self, _each_by_itself(X), reset=False, ensure_all_finite=False, dtype=None)
        both = zip(given.T, self.model_.keys, strict=True)
        return np.column_stack([as_numbers(own.tolist(), keys) for own, keys in both])

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401  # scikit-learn ships no types
        """What scikit-learn's checks may expect: what is no number is left out, not refused."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.non_deterministic = True
        return tags


class PrivateTransformer(TransformerMixin, PrivateEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """An estimator without a label, whose model tells new columns of each row."""

    labelled = False

    def transform(self, X: ArrayLike) -> NDArray[np.float64]:  # noqa: N803  # as scikit-learn has it
        """The new columns of each row."""
        return self._predicted(X)


def _each_by_itself(values: Any) -> Any:  # noqa: ANN401  # whatever came
    """Lists as arrays in which every cell is what it was."""
    return np.array(values, dtype=object) if isinstance(values, (list, tuple)) else values


def _of_objects(rows: Any) -> bool:  # noqa: ANN401  # an array, a data frame, or what is refused
    """Whether there are cells without a type that they share."""
    kinds = [getattr(rows, "dtype", None), *getattr(rows, "dtypes", ())]
    return any(isinstance(kind, np.dtype) and kind.kind == "O" for kind in kinds)


def _cells(column: NDArray[Any]) -> Any:  # noqa: ANN401  # an array, or a list
    """Objects as a list, which is read fast where all are of one type."""
    return column.tolist() if column.dtype.kind == "O" else column


def feature_names(estimator: Any, size: int) -> tuple[str, ...]:  # noqa: ANN401  # scikit-learn ships no types
    """What the features are called: as the columns of a data frame, or by their place."""
    return tuple(getattr(estimator, "feature_names_in_", [f"x{i}" for i in range(size)]))


def categories_of(estimator: Any, names: Sequence[str]) -> dict[str, tuple[Any, ...]]:  # noqa: ANN401  # as above
    """The values of features that are no numbers, by name, as the estimator was given them by name or place."""
    told: dict[str, tuple[Any, ...]] = {}
    for which, values in dict(getattr(estimator, "categories", None) or {}).items():
        name = names[which] if isinstance(which, int) and 0 <= which < len(names) else which
        if name not in names:
            raise Refusal(
                f"categories has {shown(which)}, which is no feature",
                hint=f"there are {', '.join(names)}, or places from 0",
            )
        told[name] = tuple(values)
    return told


def feature_columns(estimator: Any, names: Sequence[str]) -> tuple[Column, ...]:  # noqa: ANN401  # as above
    """The features with the values or bounds that the estimator was given, or those that its norm implies."""
    categories = categories_of(estimator, names)
    if categories and set(categories) == set(names):
        return tuple(Column(name, keys=categories[name]) for name in names)
    bounds = estimator.bounds
    norm = getattr(estimator, "data_norm", None)
    if bounds is None and norm is not None:
        bounds = (-abs(exact(norm, "data_norm")), exact(norm, "data_norm"))
    if bounds is None:
        raise Refusal(
            f"{type(estimator).__name__} needs bounds=, the lowest and the highest value of a feature as public facts",
            hint="take them from what is known of such data, as bounds=(0, 120) or bounds=([0, 18], [1, 99]); "
            "in a home `discreet bounds TABLE COLUMN --epsilon E` buys them",
        )
    low, high = (_ends(end, len(names), "bounds") for end in _pair(bounds, "bounds"))
    return tuple(
        Column(name, keys=categories[name]) if name in categories else Column(name, bounds=ends)
        for name, ends in zip(names, zip(low, high, strict=True), strict=True)
    )


def number_column(estimator: Any, name: str) -> Column:  # noqa: ANN401  # scikit-learn ships no types
    """A label that is a number, with the bounds that the estimator was given."""
    if estimator.label_bounds is None:
        raise Refusal(
            f"{type(estimator).__name__} needs label_bounds=, the lowest and the highest value of y as public facts",
            hint="take them from what is known of such data, as label_bounds=(0, 250)",
        )
    low, high = _pair(estimator.label_bounds, "label_bounds")
    return Column(name, bounds=(exact(low, "label_bounds"), exact(high, "label_bounds")))


def numbers_of(y: NDArray[Any]) -> NDArray[Any]:
    """Labels that are numbers, if their type does not say that none is."""
    if y.dtype.kind not in "biufO":
        raise Refusal(f"expected numbers as y, got {y.dtype}", hint="y = y.astype(float), if they are")
    return y


def _pair(bounds: Any, name: str) -> tuple[Any, Any]:  # noqa: ANN401  # whatever came
    """A lower and an upper bound, if that is what was given."""
    if isinstance(bounds, (tuple, list)) and len(bounds) == 2:
        return bounds[0], bounds[1]
    raise Refusal(f"expected {name} as a pair of a lowest and a highest value, got {name}={shown(bounds)}")


def _ends(end: Any, size: int, name: str) -> list[Fraction]:  # noqa: ANN401  # a number, or one for each feature
    each = np.asarray(end, dtype=object).ravel().tolist()
    if len(each) not in (1, size):
        raise Refusal(f"expected {name} of {size} features, or one pair for all, got {len(each)}")
    return [exact(value, name) for value in (each * size if len(each) == 1 else each)]


def optional(value: Number | None, name: str) -> Fraction | None:
    """A number read exactly, if there is one."""
    return None if value is None else exact(value, name)
