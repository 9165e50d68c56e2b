"""A release on paper: rows of a table, a picture, and text for a person to read."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.errors import Refusal
from discreet.exact import exact, spoken
from discreet.mechanisms.registry import Plain
from discreet.release.axis import Side
from discreet.release.estimate import error_bar
from discreet.release.tree_variances import Reals

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LINES = 12  # of a table that are spelled out
_TICKS = 40  # labels beside a picture


def rows(sides: Sequence[Side], counts: NDArray[Any], errors: Reals | None, whole: NDArray[Any] | None) -> pa.Table:
    """One row a cell, in the order of the axes."""
    shape = tuple(map(len, sides))
    places = np.unravel_index(np.arange(counts.size), shape) if shape else ()
    found: dict[str, pa.Array] = {}
    for side, place in zip(sides, places, strict=True):
        for name, values in side.arrays(place).items():
            found[free(name, found)] = values
    found[free("count", found)] = pa.array(counts.ravel())
    missing = pa.nulls(counts.size, pa.float64())
    found[free("standard_error", found)] = missing if errors is None else _where_known(errors.ravel())
    if whole is not None:
        found[free("count_whole", found)] = pa.array(whole.ravel().astype(np.int64))
    return pa.table(found)


def _where_known(errors: Reals) -> pa.Array:
    return pa.array(errors, mask=np.isnan(errors))


def free(name: str, taken: Container[str]) -> str:
    """The name, or a longer one if it is taken."""
    return name if name not in taken else free(f"{name}_", taken)


def spelled(facts: Mapping[str, Plain], tables: Sequence[pa.Table], bounding: str) -> str:
    """What was published, the first rows of each table, and what the errors mean."""
    guarantee: Any = facts["guarantee"]
    loss = ", ".join(f"{name} = {spoken(exact(guarantee[name], name))}" for name in guarantee if name != "measure")
    columns: Any = facts["columns"]
    lines = [f"{facts['kind']} of {', '.join(columns)}: {guarantee['measure']} differential privacy, {loss}"]
    for table in tables:
        lines += ["", "  ".join(table.column_names)]
        lines += ["  ".join(map(_cell, row.values())) for row in table.slice(0, _LINES).to_pylist()]
        lines += [f"… {table.num_rows - _LINES} more"] if table.num_rows > _LINES else []
    return "\n".join([*lines, "", bounding])


def _cell(value: object) -> str:
    return "NULL" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)


def plotted(sides: Sequence[Side], counts: NDArray[Any], errors: Reals | None) -> Figure:
    """Bars along one axis with error bars where they are known, hatched where not; or a heat map over two."""
    try:
        import matplotlib.pyplot as plt  # noqa: PLC0415  # optional, and slow to import
    except ImportError:
        raise Refusal("matplotlib is not installed", hint="pip install matplotlib") from None
    if not 1 <= len(sides) <= 2:
        raise Refusal(f"a picture has one or two columns, got {len(sides)}", hint="name them, as in plot(('a', 'b'))")
    figure, axes = plt.subplots(figsize=(7.0, 4.0))
    first = sides[0]
    if len(sides) == 1:
        known = None if errors is None else [error_bar(error, count) for error, count in _pairs(errors, counts)]
        drawn = axes.bar(range(len(first)), counts, yerr=known, capsize=2, color="#4c78a8")
        for place, bar in enumerate(drawn):
            if errors is None or np.isnan(errors[place]):
                bar.set(hatch="///", facecolor="#b9cbe0", edgecolor="#4c78a8")
        axes.set_xlabel(first.column)
        axes.set_ylabel("count")
    else:
        shade = axes.imshow(counts, aspect="auto", cmap="viridis", interpolation="nearest")
        figure.colorbar(shade, label="count")
        axes.set_ylabel(first.column)
        axes.set_xlabel(sides[1].column)
        axes.set_yticks(*_ticks(first))
    axes.set_xticks(*_ticks(sides[-1]), rotation=45, ha="right")
    figure.tight_layout()
    return figure


def _pairs(errors: Reals, counts: NDArray[Any]) -> list[tuple[float, float]]:
    return list(zip(errors.tolist(), counts.tolist(), strict=True))


def _ticks(side: Side) -> tuple[list[int], list[str]]:
    """Places and labels, not more than fit."""
    places = list(range(0, len(side), -(-len(side) // _TICKS)))
    labels = side.labels
    return places, [labels[place] for place in places]
