"""Answer to a question: rows with their noise and its bars, what it cost, and what was cut off before."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR
from fractions import Fraction
from typing import TYPE_CHECKING, cast

from discreet.declared.grid import Grid
from discreet.errors import Fault, Refusal
from discreet.exact import Number, digit_of, share, to_digit
from discreet.ledger.entry_kinds import BudgetLoss
from discreet.sql.plan import AggregateColumn, Part, Rank, Statistic

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    from matplotlib.figure import Figure

Estimate = int | float
Formula = Callable[[list[int]], Estimate]

Spans = tuple[tuple[tuple[float, float] | None, ...], ...]
_ARROW = {"bigint": "int64", "double": "float64", "boolean": "bool_", "varchar": "string", "date": "date32"}


def estimates(part: Part, rows: Sequence[tuple[int, ...]]) -> list[list[Estimate]]:
    """Every aggregate of a part, for each group."""
    places = {statistic: place for place, statistic in enumerate(part.measurement.statistics)}
    formulas = [
        (_estimate(aggregate), [places[statistic] for statistic in aggregate.statistics])
        for aggregate in part.aggregates
    ]
    return [[formula([row[place] for place in needed]) for formula, needed in formulas] for row in rows]


def _estimate(aggregate: AggregateColumn) -> Formula:
    """How an aggregate follows from its statistics."""
    first = aggregate.statistics[0]
    if isinstance(first, Rank):
        rank_step = first.grid.step
        return lambda numbers: float(numbers[0] * rank_step)
    if aggregate.kind == "count":
        return lambda numbers: numbers[0]
    if aggregate.kind == "sum" and first.grid is not None:
        top, bottom = first.grid.step.numerator, first.grid.step.denominator
        return lambda numbers: numbers[0] * top / bottom  # a quotient of integers is rounded once
    second = aggregate.statistics[1]
    if not isinstance(second, Statistic) or second.grid is None:
        raise Fault
    return _average(second.grid) if aggregate.kind == "avg" else _spread(aggregate, second.grid)


def _average(grid: Grid) -> Formula:
    step = grid.step

    def formula(numbers: list[int]) -> float:
        rows = max(1, numbers[0])
        total = min(max(numbers[1] + grid.middle * rows, grid.low * rows), grid.high * rows)
        return total * step.numerator / (rows * step.denominator)

    return formula


def _spread(aggregate: AggregateColumn, grid: Grid) -> Formula:
    most, step = grid.half**2, grid.step**2

    def formula(numbers: list[int]) -> float:
        rows = max(1 + aggregate.sample, numbers[0])
        above = min(max(0, numbers[2] * rows - numbers[1] ** 2), most * rows**2)
        scaled = above * step.numerator / (rows * (rows - aggregate.sample) * step.denominator)
        return scaled if aggregate.kind == "variance" else scaled**0.5

    return formula


@dataclass(frozen=True)
class Answer:
    """The rows of an answer. Asking the same again costs nothing."""

    columns: tuple[str, ...]
    types: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]
    cost: BudgetLoss | None  # None: it was free
    left: BudgetLoss | None
    entry: str
    bounding: str  # what is left out before the noise: caps, bounds, NULLs, groups that are not shown
    confidence: Fraction
    spans: Spans  # at this confidence
    _again: Callable[[Fraction], Spans]
    notices: tuple[str, ...] = ()  # what in the question is hardly meant, and groups that are not shown
    noisy: tuple[bool, ...] = ()  # which columns have noise in them; empty where that is not known

    def intervals(self, confidence: Number = Fraction(95, 100)) -> Spans:
        """For each cell, between which numbers the bounded truth lies with this probability; None where not known."""
        wanted = share(confidence, "confidence")
        return self.spans if wanted == self.confidence else self._again(wanted)

    def to_arrow(self) -> pa.Table:
        """The rows as an Arrow table."""
        import pyarrow as pa  # noqa: PLC0415  # slow to import

        cells = list(zip(*self.rows, strict=True)) if self.rows else [()] * len(self.columns)
        arrays = []
        for column, kind in zip(cells, self.types, strict=True):
            try:
                arrays.append(pa.array(list(column), type=getattr(pa, _ARROW[kind])() if kind in _ARROW else None))
            except (pa.ArrowInvalid, pa.ArrowTypeError):  # dates that Python has no word for come as text
                arrays.append(pa.array([None if cell is None else str(cell) for cell in column], type=pa.string()))
        return pa.table(dict(zip(self.columns, arrays, strict=True)))

    def to_pandas(self) -> pd.DataFrame:
        """The rows as a pandas frame."""
        try:
            import pandas as pd  # noqa: PLC0415  # optional, and slow to import
        except ImportError:
            raise Refusal("pandas is not installed", hint="pip install 'discreet[pandas]'") from None
        return pd.DataFrame(list(self.rows), columns=list(self.columns))

    def to_polars(self) -> pl.DataFrame:
        """The rows as a polars frame."""
        try:
            import polars as pl  # noqa: PLC0415  # optional, and slow to import
        except ImportError:
            raise Refusal("polars is not installed", hint="pip install 'discreet[polars]'") from None
        return cast("pl.DataFrame", pl.from_arrow(self.to_arrow()))  # a table, so no series

    def plot(self, confidence: Number = Fraction(95, 100)) -> Figure:
        """A bar chart of the last numeric column over the first, with error bars."""
        try:
            import matplotlib.pyplot as plt  # noqa: PLC0415  # optional, and slow to import
        except ImportError:
            raise Refusal("matplotlib is not installed", hint="pip install matplotlib") from None
        numeric = [i for i, kind in enumerate(self.types) if kind in ("bigint", "double")]
        if not numeric or not self.rows:
            raise Refusal(f"there is no number to plot in this answer, whose columns are {list(self.columns)}")
        value, spans = numeric[-1], self.intervals(confidence)
        labels = [" ".join(str(cell) for i, cell in enumerate(row) if i not in numeric) or "all" for row in self.rows]
        heights = [float(str(row[value])) if row[value] is not None else 0.0 for row in self.rows]
        bars = [_bar(height, row[value]) for height, row in zip(heights, spans, strict=True)]
        figure, axes = plt.subplots(figsize=(max(4.0, 0.5 * len(labels) + 2), 3.5))
        axes.bar(range(len(labels)), heights, yerr=list(zip(*bars, strict=True)), capsize=3, color="#4c78a8")
        axes.set_xticks(
            range(len(labels)),
            labels,
            rotation=45 if len(labels) > 6 else 0,
            ha="right" if len(labels) > 6 else "center",
        )
        axes.set_ylabel(self.columns[value])
        axes.set_title(f"noise at {float(share(confidence, 'confidence')):.0%} confidence", fontsize=9)
        figure.tight_layout()
        return figure

    @property
    def unbarred(self) -> tuple[str, ...]:
        """The columns that have noise in them and no error bar."""
        return tuple(
            name
            for i, (name, noisy) in enumerate(zip(self.columns, self.noisy, strict=bool(self.noisy)))
            if noisy and self.rows and all(row[i] is None for row in self.spans)
        )

    @property
    def partly_unbarred(self) -> tuple[str, ...]:
        """The columns that have noise in them, and an error bar in some rows only."""
        bars = list(zip(*self.spans, strict=True)) if self.rows else [()] * len(self.columns)
        return tuple(
            name
            for name, noisy, spans in zip(self.columns, self.noisy, bars, strict=bool(self.noisy))
            if noisy and None in spans and any(span is not None for span in spans)
        )

    def __str__(self) -> str:
        lines = ["  ".join(self.columns)]
        noisy = self.noisy or (False,) * len(self.columns)
        for row, spans in zip(self.rows, self.spans, strict=True):
            lines.append("  ".join(_written(*cell) for cell in zip(row, spans, noisy, strict=True)))
        return "\n".join(lines if self.rows else [*lines, *self.notices])


def _written(cell: object, span: tuple[float, float] | None, noisy: bool) -> str:  # noqa: FBT001
    """A cell with its error bar, whose ends are rounded outward where they have more digits than anybody reads."""
    if cell is None:
        return "NULL"
    if span is None:
        return f"{cell} (no error bar)" if noisy else str(cell)
    low, high = map(float, span)
    place = digit_of(high - low)
    text = to_digit(cell, place) if isinstance(cell, float) else str(cell)
    return f"{text} [{to_digit(low, place, ROUND_FLOOR)}, {to_digit(high, place, ROUND_CEILING)}]"


def _bar(height: float, span: tuple[float, float] | None) -> tuple[float, float]:
    """How far an error bar reaches down and up."""
    return (0.0, 0.0) if span is None else (max(0.0, height - span[0]), max(0.0, span[1] - height))
