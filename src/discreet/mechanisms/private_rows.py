"""Rows as a mechanism sees them: public declarations, and sums that run where the rows live."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Protocol, Self, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.declared.group_key import Key
from discreet.declared.table import Caps, Outline, grid_of, keys_of, line_of
from discreet.errors import Refusal
from discreet.exact import Number, count, exact, shown, spoken
from discreet.mechanisms.mechanism import Takes, settle
from discreet.noise import SECURE, Entropy
from discreet.privacy import Loss, Neighbours

T_co = TypeVar("T_co", covariant=True)

MOST_CELLS = 10**9  # of a table that is held in memory
MOST_PRODUCTS = 10**7  # numbers of any size
MOST_UNEVEN = 1024  # bins of many widths: each is a comparison that an engine has to plan
_FARTHEST = 1 << 53  # steps from zero: no grid reaches further


@dataclass(frozen=True)
class Bins:
    """A column cut into intervals at edges, in steps of its line. Each has its lower edge, the last both.

    Steps are those of a number's grid, days of dates, seconds of timestamps.
    """

    column: str
    edges: tuple[int, ...]

    def __post_init__(self) -> None:
        edges = tuple(count(edge, "edges", least=-_FARTHEST) for edge in self.edges)
        if len(edges) < 2 or any(low >= high for low, high in pairwise(edges)):
            raise Refusal(f"expected rising edges of bins of {self.column!r}, at least two, got {shown(self.edges)}")
        settle(self, edges=edges)

    def __len__(self) -> int:
        return len(self.edges) - 1

    @property
    def even(self) -> bool:
        """Whether all bins but the first and the last have one width, so that a place among them is computed."""
        return len({high - low for low, high in pairwise(self.edges[1:-1])}) <= 1


Axis = str | Bins  # a column by its declared keys, or cut into bins


class Relation(Outline, Protocol):
    """A table with owners. Its counts and sums are exact and private: they only feed a mechanism."""

    def counts(self, axes: Sequence[Axis], /, within: Sequence[Axis] = ()) -> NDArray[np.int64]:
        """Rows for each combination of keys and bins, one axis a column.

        Rows that are in no cell of an axis are left out, and so are those that are in none of an axis of `within`.
        """
        ...

    def sums(self, by: Sequence[str], columns: Sequence[str], /) -> NDArray[np.int64]:
        """Sums in steps of each numeric column for each combination of keys; the columns are the last axis.

        What is no number adds nothing. A sum beyond ±2^62 counts as that.
        """
        ...

    def products(self, by: Sequence[str], columns: Sequence[str], /) -> NDArray[np.object_]:
        """For each combination of keys the matrix of sums of products of 1 and the columns, in steps, exactly.

        The last two axes are the matrix: at (0, 0) the number of rows, along its first row and column the sums, and at
        (i, j) the sum of column i times column j, each a Python integer of any size. A row in which any of the columns
        is no number counts nowhere in it.

        With r₀ = 1 and rᵢ the reach of the grid of column i, one row adds at most rᵢ rⱼ to entry (i, j) of one matrix.
        Adding or removing a unit of at most c = `caps.max_rows` rows therefore moves the entries with i ≤ j, of all
        matrices together, by at most c Σ rᵢ rⱼ in L1 and c² Σ (rᵢ rⱼ)² in L2 squared, sums over i ≤ j; replacing one,
        which is removing and then adding, by at most twice and four times as much.
        """
        ...

    def quantile_counts(self, column: str, edges: Sequence[int], /) -> NDArray[np.int64]:
        """Rows with less than edges[0] steps, in [edges[0], edges[1]), …, and from the last edge on.

        What is no number is nowhere.
        """
        ...

    def units(self, column: str, /) -> Mapping[Key, int]:
        """The distinct units of each value of a column of text or whole numbers. What is missing is no value.

        The values are those that occur, so they are as private as their numbers: a unit of at most c = `caps.max_rows`
        rows adds 1 to the numbers of at most c values, some of which nobody else may have.
        """
        ...

    def keyed(self, keys: Mapping[str, Sequence[Key]], /) -> Self:
        """The same rows, of which columns have these keys: a mechanism paid for them, or everybody knows them."""
        ...

    def rows(self) -> Iterator[tuple[object, ...]]:
        """All rows, in an order that is drawn anew. The last resort."""
        ...

    def batches(
        self, size: int, /, numbers: Collection[str] = (), *, rng: Entropy = SECURE
    ) -> Iterator[pa.RecordBatch]:
        """All rows in an order that is drawn anew, so many at once, the last ones fewer: memory stays bounded.

        Columns with declared keys are places among them, int32, −1 for what is none of them; others that have a grid
        are clamped steps, int64, NULL for what is no number; the rest is left out. `numbers` are columns of which steps
        are wanted, whether they have keys or not: a place among keys knows no bounds.
        """
        ...

    def sample(self, rate: Number, /, *, rng: Entropy = SECURE) -> Self:
        """The relation of a Poisson sample of the units: each is in it with this probability, by a fresh coin.

        Who is in it and how many is as private as the rows. Nothing is charged less for it here: a mechanism that
        samples states what it loses by that (docs/proofs/subsampling.md).
        """
        ...

    def split(self, rate: Number, /, *, rng: Entropy = SECURE) -> tuple[Self, Self]:
        """The relation of a Poisson sample of the units, and that of all others: each unit is in one, by a fresh coin.

        With one mechanism on either, a unit is seen by one alone: both together lose what the larger loss is
        (docs/proofs/search.md, "Two parts").
        """
        ...


class TableMechanism(Protocol[T_co]):
    """A mechanism over a relation. Its promise is for all rows of a unit that has no more than its caps."""

    @property
    def takes(self) -> Takes:
        """`Takes.RELATION`."""
        ...

    @property
    def privacy(self) -> Loss:
        """What it loses when one unit changes."""
        ...

    @property
    def neighbours(self) -> Neighbours:
        """How a unit changes."""
        ...

    @property
    def caps(self) -> Caps:
        """How much of one unit it may be shown."""
        ...

    def __call__(self, relation: Relation, /, *, rng: Entropy = SECURE) -> T_co:
        """Its answer."""
        ...


def sides(known: Outline, axes: Sequence[Axis]) -> tuple[int, ...]:
    """How many cells a table has along each axis; refuses axes that are not declared, or reach beyond the bounds."""
    for bins in axes:
        if isinstance(bins, Bins):
            grid = line_of(known, bins.column)
            if len(bins) > MOST_UNEVEN and not bins.even:
                raise Refusal(
                    f"{len(bins)} bins of {bins.column!r} have many widths, and more than {MOST_UNEVEN} must have one",
                    hint="give them as lower:upper:width",
                )
            if not grid.low <= bins.edges[0] < bins.edges[-1] <= grid.high + 1:
                ends = f"{spoken(grid.value(bins.edges[0]))} to {spoken(grid.value(bins.edges[-1]))}"
                declared = f"{spoken(grid.lower)} to {spoken(grid.upper)}"
                raise Refusal(
                    f"the bins of {bins.column!r} go from {ends}, and its declared bounds from {declared}",
                    hint="take bins within the bounds: beyond them there is nothing to count",
                )
    shape = tuple(len(axis) if isinstance(axis, Bins) else len(keys_of(known, axis)) for axis in axes)
    if math.prod(shape) > MOST_CELLS:
        raise Refusal(f"a table of shape {shape} has more than {MOST_CELLS} cells", hint="ask for fewer columns")
    return shape


def squares(known: Outline, by: Sequence[str], columns: Sequence[str]) -> tuple[int, ...]:
    """The shape of products of columns; refuses columns without a grid, and tables that are too large."""
    for name in columns:
        grid_of(known, name)
    shape = (*sides(known, by), len(columns) + 1, len(columns) + 1)
    if math.prod(shape) > MOST_PRODUCTS:
        raise Refusal(f"products of shape {shape} are more than {MOST_PRODUCTS} numbers", hint="ask for fewer columns")
    return shape


def rate_of(rate: Number) -> Fraction:
    """The probability of a unit to be in a sample, exactly."""
    chance = exact(rate, "rate")
    if not 0 <= chance <= 1:
        raise Refusal(f"expected 0 <= rate <= 1, got rate={shown(rate)}")
    return chance
