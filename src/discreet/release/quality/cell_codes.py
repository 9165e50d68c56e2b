"""Records as places: which cell of each column of a release each record of a table is in."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.declared.group_key import Type, since_1970
from discreet.errors import Refusal
from discreet.exact import shown
from discreet.release.axis import KeyAxis, NumberAxis, Side
from discreet.release.interval_tree import Whole


def coded(sides: Sequence[Side], records: pa.Table) -> Whole:
    """One line a record, one column a side; the last cell, if there is one more, for what is in no other.

    A number beyond the outer edges counts as the nearest, as one beyond declared bounds does when it is taken in.
    """
    missing = [side.column for side in sides if side.column not in records.column_names]
    if missing:
        raise Refusal(
            f"the records have no column {shown(missing[0])}, and the release has",
            hint=f"bring the records that it was made from, with the columns {[side.column for side in sides]}",
        )
    if records.num_rows < 2:
        raise Refusal(f"expected at least two records to compare with, got {records.num_rows}")
    columns = [_places(side, records.column(side.column)) for side in sides]
    return np.stack(columns, axis=1)


def _places(side: Side, column: pa.ChunkedArray) -> Whole:
    return _of_keys(side, column) if isinstance(side, KeyAxis) else _of_numbers(side, column)


def _of_keys(side: KeyAxis, column: pa.ChunkedArray) -> Whole:
    """By the text of each key: a file of text has no other."""
    known = {_spelled(key): place for place, key in enumerate(side.keys)}
    values = column.combine_chunks().dictionary_encode("encode")
    found = [known.get(_spelled(value), len(side.keys)) for value in values.dictionary.to_pylist()]
    places: Whole = np.array(found, dtype=np.int64)[values.indices.to_numpy(zero_copy_only=False)]
    return places


def _spelled(value: object) -> str | None:
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _of_numbers(side: NumberAxis, column: pa.ChunkedArray) -> Whole:
    if side.time is not None:
        numbers = np.array([_since(value, side.time) for value in column.to_pylist()], dtype=np.float64)
    elif pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        numbers = np.array([_number(text) for text in column.to_pylist()])
    else:
        try:
            numbers = pc.cast(column, pa.float64()).to_numpy(zero_copy_only=False)
        except pa.ArrowNotImplementedError:
            message = f"the records have no numbers in {side.column!r}, and the release has"
            raise Refusal(message, hint="bring the column as numbers, as the release was made from them") from None
    numbers = np.asarray(numbers, dtype=np.float64)
    there = np.isfinite(numbers)
    steps = np.rint(np.where(there, numbers, 0.0) / float(side.step))
    steps = np.clip(steps, side.steps[0], side.steps[-1])
    places = np.searchsorted(np.array(side.steps[1:-1], dtype=np.float64), steps, side="right")
    return np.where(there, places, side.bins).astype(np.int64)


def _since(value: object, kind: Type) -> float:
    """Days or seconds after 1970 began."""
    since = since_1970(value, kind)
    return float("nan") if since is None else float(since)


def _number(text: str | None) -> float:
    try:
        return float(text) if text is not None else float("nan")
    except ValueError:
        return float("nan")
