"""Rows to predict for: the columns of a table by the names that a model knows."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.declared.group_key import Key
from discreet.declared.table import chosen
from discreet.errors import Refusal

Keys = tuple[tuple[Key, ...], ...]  # of each feature, () for one that is a number


def features_of(table: pa.Table, features: tuple[str, ...], keys: Keys = ()) -> NDArray[np.float64]:
    """The columns of these names as doubles, what is missing as not a number; of one with keys, places among those."""
    spelled = {name: chosen(name, table.column_names) for name in features}
    missing = [name for name, found in spelled.items() if found is None]
    if missing:
        raise Refusal(f"the rows have no column {missing}", hint=f"they have {table.column_names}")
    columns = []
    for name, own in zip(features, keys or ((),) * len(features), strict=True):
        column = table.column(spelled[name])
        columns.append(as_numbers(column.to_pylist(), own) if own else _doubles(column, name))
    return np.column_stack(columns)


def as_numbers(cells: Sequence[Any], keys: tuple[Key, ...]) -> NDArray[np.float64]:
    """Cells as doubles; with keys their places among them, not a number for what is none."""
    if not keys:
        return np.array([_number(cell) for cell in cells], dtype=np.float64)
    places = {str(key): float(place) for place, key in enumerate(keys)}
    return np.array([places.get(str(cell), np.nan) for cell in cells])


def _number(cell: Any) -> float:  # noqa: ANN401  # whatever came
    try:
        return np.nan if cell is None else float(cell)
    except (TypeError, ValueError):
        raise Refusal(
            "a column of numbers has a cell that is none", hint="a model predicts from numbers, and from its categories"
        ) from None


def _doubles(column: pa.ChunkedArray, name: str) -> NDArray[np.float64]:
    try:
        return np.asarray(column.cast(pa.float64()).to_numpy(), dtype=np.float64)
    except (pa.ArrowException, ValueError):
        raise Refusal(f"column {name!r} has no numbers", hint="a model predicts from numbers") from None


def unlike(name: str, others: Container[str]) -> str:
    """A name that none of the others is."""
    while name in others:
        name += "_"
    return name
