"""Rows to predict for: the columns of a table by the names that a model knows."""

from __future__ import annotations

from collections.abc import Container

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.declared.table import chosen
from discreet.errors import Refusal


def features_of(table: pa.Table, features: tuple[str, ...]) -> NDArray[np.float64]:
    """The columns of these names as doubles, what is missing as not a number."""
    spelled = {name: chosen(name, table.column_names) for name in features}
    missing = [name for name, found in spelled.items() if found is None]
    if missing:
        raise Refusal(f"the rows have no column {missing}", hint=f"they have {table.column_names}")
    return np.column_stack([_doubles(table.column(spelled[name]), name) for name in features])


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
