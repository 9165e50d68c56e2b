"""Release of counts: cells of tables, by keys and bins. What histograms, ranges and marginals have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.errors import Refusal
from discreet.mechanisms.registry import Plain
from discreet.pictures import thumbnail
from discreet.pictures.svg import rounded, safe
from discreet.release.axis import IN_OTHER, LEFT_OUT, OTHER, KeyAxis, NumberAxis, Side, read_rule, read_side
from discreet.release.estimate import Curve, Estimate, error_bar
from discreet.release.interval_tree import Reals
from discreet.release.release import CUT_OFF, Cell, Release, Sheet, alike, cell, no_line

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FIT = 1  # which way counts are made whole: a folder says by which its whole counts were computed
_IN_A_BIN = "; there is no error bar, because that is not known"
_KEYS = 12  # of a column that are shown on a page
_TICKS = 40  # labels beside a picture
_NOISE = "The counts are deliberately a little wrong: random noise was added before they were published."
_KNOWN = "How much is known: the truth lies within what follows ± 19 times in 20, for one number at a time."
_PARTLY = "Where nothing follows, how far a number is off is not known."
_NONE_KNOWN = "How far a single number here is off is not known."
_WHOLE = "A count can be below zero, or not whole; beside it stands the whole count that fits best with all others."
_OUTSIDE = {
    IN_OTHER: "that records whose value is missing, no key or in no bin are counted as (other), in every table",
    LEFT_OUT: "that records whose value is missing, no key or in no bin in any column are left out of everything",
    "": "that records whose value is no key or in no bin are not counted",
}
_UNCOUNTED = {
    IN_OTHER: (
        "Not counted are records beyond the most that one {unit} may have. A record whose value in a column is "
        "missing, is no listed key or lies in no bin is counted in the cell (other) of that column, so that every "
        "table has the same records; values beyond the declared bounds count as the nearer one, and numbers are "
        "rounded to their column's step before they are put into bins."
    ),
    LEFT_OUT: (
        "Not counted are records beyond the most that one {unit} may have, and those whose value in any of the columns "
        "is missing, is no listed key or lies in no bin: they are left out of everything here alike; values beyond the "
        "declared bounds count as the nearer one, and numbers are rounded to their column's step before they are put "
        "into bins."
    ),
    "": (  # as version 0.1 said, which did not name a rule
        "Not counted are records beyond the most that one {unit} may have, and those whose value is no listed key or "
        "lies in no bin; values beyond the declared bounds count as the nearer one."
    ),
}


@dataclass(frozen=True)
class CountedRelease(Release):
    """Published counts, with the facts about their publication and the columns they are counted by.

    `facts` is what `Publication.described` tells, and `axes` are the keys and bins that were used. Each kind says what
    holds the counts.
    """

    heading: ClassVar[str] = "What was counted"

    axes: tuple[Side, ...]
    content: Any  # what holds the counts, of each kind its own

    @staticmethod
    def is_earlier(facts: Mapping[str, Plain]) -> bool:
        """Whether it was made before releases said what became of rows that are in no cell."""
        return "outside" not in facts

    @property
    def outside(self) -> str:
        """What became of records that are in no cell of some column; nothing if an earlier discreet did not say."""
        return _rule(self.facts)

    @property
    def sides(self) -> tuple[Side, ...]:
        """Its axes."""
        return self.axes

    def axis(self, column: str) -> Side:
        """The axis of a column."""
        return self.side(column)

    @property
    def tables(self) -> tuple[tuple[str, ...], ...]:
        """The columns of each table that was published, but for those that are part of another."""
        tables: Any = self.facts["tables"]
        return tuple(tuple(names) for names in tables)

    @property
    def bounding(self) -> str:
        """Which numbers have no error bar, and what error bars leave out; of an earlier release as it was certified."""
        return f"{self.own_bounding} {CUT_OFF}"

    # what each kind has -----------------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def own_bounding(self) -> str:
        """Which numbers have no error bar."""

    @abstractmethod
    def weighed(self, columns: Sequence[str], weights: Reals) -> Estimate:
        """A weighted sum of the cells of a table."""

    @abstractmethod
    def counts(self, columns: Sequence[str] | None = None) -> NDArray[Any]:
        """The counts as an array with an axis for each column, of one table; else of the first one."""

    @abstractmethod
    def errors(self, columns: Sequence[str] | None = None) -> Reals | None:
        """The standard error of each of these counts; not a number where there is none, None if nowhere is one."""

    @abstractmethod
    def nonnegative(self) -> CountedRelease:
        """Near counts of which none is negative: a fit of all cells together, never a clip."""

    @abstractmethod
    def whole(self) -> CountedRelease:
        """Whole counts, none negative, that agree; refused where there need not be any."""

    def fitted(self) -> CountedRelease | None:
        """The same; None where there need not be any."""
        return self.whole()

    def _asked(self, where: Mapping[str, object]) -> tuple[str, ...]:
        """The columns of the table that a range is read off."""
        return tuple(where)

    # questions --------------------------------------------------------------------------------------------------------

    def range(self, /, **where: object) -> Estimate:
        """The records with these values: for numbers `age=(18, 65)`, from 18 to before 65; for keys one or a list.

        None is an end of the axis. A column that is not named may have any value. `OTHER` asks for the records that are
        in no other cell of a column, where there is such a cell. Where an end lies within a bin, the records of the bin
        are taken to be spread evenly, and the note says so; then there is no error bar.
        """
        asked = {name: self.axis(name).weights(value) for name, value in where.items()}
        columns = self._asked(where)
        sides = [asked[name][0] if name in asked else np.ones(len(self.axis(name))) for name in columns]
        weights: Reals = reduce(np.multiply.outer, sides, np.ones(()))
        note = "; ".join(asked[name][1] for name in columns if name in asked and asked[name][1])
        weighed = self.weighed(columns, weights)
        if note:
            return Estimate(weighed.value, None, note=note + _IN_A_BIN)
        return weighed

    def cdf(self) -> Curve:
        """The share of all records up to the upper edge of each bin."""
        raise no_line(self.columns)

    def cell(self, /, **where: object) -> Estimate:
        """One cell: a key by its value, a bin by a number in it, of the table of these columns."""
        asked: dict[str, object] = {}
        for name, value in where.items():
            axis = self.axis(name)
            place = axis.place(value)
            if isinstance(axis, NumberAxis):
                edges = tuple(map(axis.spelled, axis.steps[place : place + 2]))
                asked[name] = edges if place < axis.bins else OTHER
            else:
                asked[name] = [axis.values[place]]
        return self.range(**asked)

    # tables ----------------------------------------------------------------------------------------------------------

    def table(self, columns: Sequence[str] | None = None) -> pa.Table:
        """One row a cell: its keys or edges, `count`, `standard_error` and, where there is one, `count_whole`.

        A column with a cell for other values has beside it `COLUMN_other`, true in that cell, whose key or edges are
        missing. `count` is as it was estimated: it may be negative or a fraction. `standard_error` is that of `count`,
        and missing where there is no error bar. `count_whole` is the whole count of the fit without negative ones, in
        which tables still agree; it has no error of its own.
        """
        return self._rows(self.tables[0] if columns is None else tuple(columns), self.fitted())

    def to_arrow(self) -> dict[str, pa.Table]:
        """Every table, named by its columns."""
        whole = self.fitted()
        tables: dict[str, pa.Table] = {}
        for names in self.tables:
            tables[free(" by ".join(names), tables)] = self._rows(names, whole)
        return tables

    def printed(self) -> list[pa.Table]:
        """The tables without whole counts."""
        return [self._rows(names, None) for names in self.tables]

    def _rows(self, names: Sequence[str], whole: CountedRelease | None) -> pa.Table:
        """One row a cell, in the order of the axes."""
        counts, errors, sides = self.counts(names), self.errors(names), [self.axis(name) for name in names]
        shape = tuple(map(len, sides))
        places = np.unravel_index(np.arange(counts.size), shape) if shape else ()
        columns: dict[str, pa.Array] = {}
        for side, place in zip(sides, places, strict=True):
            for name, values in side.arrays(place).items():
                columns[free(name, columns)] = values
        columns[free("count", columns)] = pa.array(counts.ravel())
        missing = pa.nulls(counts.size, pa.float64())
        known = missing if errors is None else pa.array(errors.ravel(), mask=np.isnan(errors.ravel()))
        columns[free("standard_error", columns)] = known
        if whole is not None:
            columns[free("count_whole", columns)] = pa.array(whole.counts(names).ravel().astype(np.int64))
        return pa.table(columns)

    def sheet(self, table: pa.Table, most: int) -> Sheet:
        """The first cells of a table: keys or edges, the count with its error bar, perhaps the whole count."""
        keys = table.num_columns - (3 if _has_whole(table) else 2)
        rows = []
        for row in table.slice(0, most).to_pylist():
            values: list[Any] = list(row.values())
            count, error, *whole = values[keys:]
            bar = "no error bar" if error is None else f"± {rounded(error_bar(error, count or 0.0), error)}"
            figures = [Cell(rounded(count or 0.0, error), bar), *(Cell(f"{each:,}") for each in whole)]
            rows.append((*(Cell(cell(value)) for value in values[:keys]), *figures))
        numbers = ("count", *(("whole count",) if _has_whole(table) else ()))
        return Sheet((*table.column_names[:keys], *numbers), tuple(rows), table.num_rows, len(numbers))

    def thumbnail(self) -> str:
        """The first table as bars or fields."""
        return thumbnail(np.asarray(self.counts(self.tables[0]), dtype=np.float64))

    def plot(self, columns: Sequence[str] | None = None) -> Figure:
        """Bars with standard errors for one column, a heat map for two."""
        names = self.tables[0] if columns is None else tuple(columns)
        counts, errors = self.counts(names), self.errors(names)
        return plotted([self.axis(name) for name in names], counts, errors)

    # what a page and a certificate say -------------------------------------------------------------------------------

    def exactness(self, tables: Mapping[str, pa.Table]) -> str:
        """That counts are noisy, how much that is, and which have whole ones beside them."""
        table = next(iter(tables.values()))
        missing = table.column(-2 if _has_whole(table) else -1).null_count
        known = [_NONE_KNOWN] if missing == table.num_rows else [_KNOWN, _PARTLY] if missing else [_KNOWN]
        return " ".join([_NOISE, *known, *([_WHOLE] if _has_whole(table) else [])])

    def declared(self) -> list[str]:
        """The keys or bins of each column. Bins that were chosen privately are part of the release."""
        return [self._public(axis) for axis in self.axes]

    def rules(self) -> list[str]:
        """What becomes of records in no cell."""
        return [_OUTSIDE[self.outside]]

    def chosen(self, column: str) -> bool:
        """Whether the bins or keys of a column were chosen privately, and so are no public fact."""
        found: Any = self.facts.get("found", [])
        if any(each["column"] == column for each in found):
            return True
        match self.facts.get("mechanism"):
            case {"parameters": {"bins": list(bins)}, "name": "private-bins"} if column in self.columns:
                return bool(bins[self.columns.index(column)])
        return False

    def _public(self, side: Side) -> str:
        name = _code(side.column)
        if isinstance(side, KeyAxis) and self.chosen(side.column):
            return f"{name}, whose {len(side.keys):,} keys were found privately, and are part of this release"
        if isinstance(side, KeyAxis):
            some = ", ".join(_code(cell(key)) for key in side.keys[:_KEYS])
            rest = f", and {len(side.keys) - _KEYS:,} more" if len(side.keys) > _KEYS else ""
            return f"{name} by its {len(side.keys):,} keys: {some}{rest}"
        low, high = (side.spelled(steps) for steps in (side.steps[0], side.steps[-1]))
        ends = f"{name} from {low} to {'' if side.closed else 'before '}{high}"
        if self.chosen(side.column):
            return f"{ends}; its {side.bins:,} bins were chosen privately, and are part of this release"
        return f"{ends} in {side.bins:,} bin{'' if side.bins == 1 else 's'}"

    @staticmethod
    def left_out(facts: Mapping[str, Plain], unit: str) -> tuple[str, ...]:
        """What was not counted, or where it was counted."""
        return (_UNCOUNTED[_rule(facts)].format(unit=unit),)

    # checking --------------------------------------------------------------------------------------------------------

    def same(self, name: str, stored: pa.ChunkedArray, own: pa.ChunkedArray) -> bool:
        """Earlier folders state errors where there is none; whole counts of another fit cannot be computed again."""
        if name.startswith("count_whole") and not self._same_fit:
            return True
        if self.earlier and name.startswith("standard_error") and pa.types.is_floating(stored.type):
            stored = pa.chunked_array([pa.array(stored.to_numpy(), mask=own.is_null().to_numpy())])
        return alike(stored, own)

    def unchecked(self) -> list[str]:
        """Errors and whole counts of other versions."""
        merged = "its standard errors were NOT checked where cells were counted together"
        errors = [f"{merged}: they are too small, ask it anew"] if self.earlier else []
        fit = "its whole counts were NOT checked: this discreet makes counts whole in another way"
        return errors if self._same_fit else [*errors, fit]

    @property
    def _same_fit(self) -> bool:
        """Whether this discreet makes counts whole as the one that made it did: the first did not say how."""
        return self.facts.get("fit", 1) == FIT

    # as text ---------------------------------------------------------------------------------------------------------

    @staticmethod
    def read_axes(facts: Mapping[str, Plain], body: Mapping[str, Any], shape: tuple[int, ...]) -> tuple[Side, ...]:
        """The axes that JSON told of; raises what nonsense raises, if the parts of a text do not fit each other."""
        axes = tuple(read_side(axis) for axis in body["axes"])
        if shape != tuple(map(len, axes)):
            raise ValueError
        if facts["columns"] != [axis.column for axis in axes]:
            raise TypeError
        return axes


def _rule(facts: Mapping[str, Plain]) -> str:
    return read_rule(facts["outside"]) if "outside" in facts else ""


def _has_whole(table: pa.Table) -> bool:
    """Whether whole counts come last; else the standard errors do."""
    return bool(table.column_names[-1].startswith("count_whole"))


def _code(name: str) -> str:
    return f"<code>{safe(name)}</code>"


def free(name: str, taken: Container[str]) -> str:
    """The name, or a longer one if it is taken."""
    return name if name not in taken else free(f"{name}_", taken)


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
        pairs = [] if errors is None else zip(errors.tolist(), counts.tolist(), strict=True)
        known = None if errors is None else [error_bar(error, count) for error, count in pairs]
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


def _ticks(side: Side) -> tuple[list[int], list[str]]:
    """Places and labels, not more than fit."""
    places = list(range(0, len(side), -(-len(side) // _TICKS)))
    labels = side.labels
    return places, [labels[place] for place in places]
