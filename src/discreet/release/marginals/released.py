"""Released contingency tables: any sub-table, with its standard deviation, consistent to the last digit."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.errors import Refusal
from discreet.exact import count, shown
from discreet.release.estimate import Estimate, weighted
from discreet.release.marginals import consistency
from discreet.release.marginals.domain import Axes, Domain, closure, maximal
from discreet.release.marginals.plan import Integers, Reals, cell_variance

BITS = 20  # cells are multiples of 2^−20; up to 2^33 of them a double holds every sum exactly
FORMAT = "discreet-marginals-1"


@dataclass(frozen=True, eq=False)
class Marginals:
    """Noisy contingency tables over some columns, for every sub-table of those that were measured.

    `table(("sex", "age"))` has an axis for each column, in the order asked for. Two tables agree exactly on the columns
    they share: all cells are whole multiples of 2^−bits, computed from the same whole numbers. `std` is that of each
    cell; after `nonnegative`, `counts` or `rounded` cells have moved by more than that, and there is none.
    """

    domain: Domain
    sets: tuple[Axes, ...]
    corners: tuple[Integers, ...]
    spreads: tuple[float, ...]
    bits: int = BITS
    fitted: bool = False

    def __post_init__(self) -> None:
        sums = tuple(np.asarray(own) for own in self.corners)
        for own in sums:
            own.setflags(write=False)
        object.__setattr__(self, "corners", sums)

    @classmethod
    def of(cls, domain: Domain, residuals: Mapping[Axes, Reals], spreads: Mapping[Axes, float]) -> Marginals:
        """From estimated residuals of a downward closed family, and the spread of each."""
        sets = closure(residuals)
        sums = tuple(consistency.corners(consistency.table(domain, residuals, axes), BITS) for axes in sets)
        return cls(domain, sets, sums, tuple(spreads[axes] for axes in sets))

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of all columns."""
        return self.domain.columns

    @property
    def tables(self) -> tuple[tuple[str, ...], ...]:
        """The largest tables that can be asked for, without columns of a single key; all sub-tables can be too."""
        return tuple(self.domain.names(axes) for axes in maximal(self.sets))

    @property
    def total(self) -> float:
        """The number of records."""
        return float(self.table(()))

    def table(self, columns: Sequence[str]) -> Reals:
        """The counts of every combination of the columns' keys."""
        return np.ldexp(self.steps(columns).astype(np.float64), -self.bits)

    def steps(self, columns: Sequence[str]) -> Integers:
        """The same, as whole numbers of 2^−bits."""
        axes = self._known(columns)
        order = [self.domain.columns.index(name) for name in columns]
        given = consistency.cells(self.domain, self._sums, self.domain.lively(axes)).reshape(self.domain.shape(axes))
        return given.transpose([axes.index(place) for place in order])

    def std(self, columns: Sequence[str]) -> float | None:
        """The standard deviation of the noise in each cell of a table: the same in all its cells. None once fitted."""
        known = self._known(columns)
        return None if self.fitted else math.sqrt(cell_variance(self.domain, self._spread, known))

    def query(self, columns: Sequence[str], weights: object) -> Estimate:
        """A weighted sum of the cells of a table, with its exact standard deviation: sums, differences, contrasts.

        Of fitted tables it has none.
        """
        given, axes = np.asarray(weights, dtype=np.float64), self._known(columns)
        table = self.table(columns)
        if given.shape != table.shape or not np.isfinite(given).all():
            raise Refusal(f"expected finite weights of shape {table.shape}, got shape {given.shape}")
        order = [self.domain.columns.index(name) for name in columns]
        lively = self.domain.lively(axes)
        load = given.transpose([order.index(place) for place in axes]).reshape(self.domain.shape(lively))
        value, variance = float((given * table).sum()), 0.0
        up, down = np.zeros_like(load), np.zeros_like(load)  # what a draw beside each cell may weigh: of either sign
        for part in closure([lively]):
            share = self.domain.cells(part) / self.domain.cells(lively)
            inside = share * consistency.residual(self.domain, load, lively, part)
            variance += self._spread[part] * float((inside**2).sum())
            spread = inside.reshape([self.domain.sizes[i] if i in part else 1 for i in lively])
            up, down = up + np.maximum(spread, 0), down + np.maximum(-spread, 0)
        if self.fitted:
            return Estimate(value, None)
        return weighted(value, math.sqrt(variance), given, float(max(up.max(), down.max())))

    def rounded(self) -> Marginals:
        """Whole counts, consistent exactly, for every family of tables. A cell may be negative.

        Each cell of a k-way table moves by at most 2^(k−1).
        """
        sums = tuple(
            consistency.corners(np.ldexp(own.astype(np.float64), -self.bits), 0) for own in self._whole_tables()
        )
        return Marginals(self.domain, self.sets, sums, self.spreads, 0, fitted=True)

    def nonnegative(self, rounds: int = 300) -> Marginals:
        """Tables without a negative cell near these, consistent exactly, with the same total.

        A negative total becomes 0; so does, in families that are neither pairs nor a tree (see `counts`), one that is
        too small to give each cell of a table a few steps.

        A least-squares fit of the residuals, weighted by their precision and small tables first, such that no cell of a
        table is negative. Clipping cells instead would make every sum too large.
        """
        fitted = consistency.fitted(self.domain, self._residuals(), self._spread, count(rounds, "rounds"))
        near = {axes: consistency.table(self.domain, fitted, axes) for axes in self.sets}
        return self._from(consistency.settled(self.domain, near, self.bits), self.bits)

    def counts(self, rounds: int = 300) -> Marginals:
        """Whole counts, none negative, consistent exactly.

        For tables of at most two columns, and for families that hang together like a tree (one large table and all its
        sub-tables, or tables of which each meets all earlier ones within one of them). For others such counts need not
        exist near the fit, and are refused: `rounded` is then consistent but may be negative, `nonnegative` is both but
        not whole.
        """
        if not consistency.can_be_whole(maximal(self.sets)):
            raise Refusal(
                f"whole counts that are not negative and agree need not exist for the tables {shown(self.tables)}",
                hint="take nonnegative() or rounded(), or tables of at most two columns",
            )
        fitted = consistency.fitted(self.domain, self._residuals(), self._spread, count(rounds, "rounds"))
        near = {axes: consistency.table(self.domain, fitted, axes) for axes in self.sets}
        return self._from(consistency.settled(self.domain, near, 0), 0)

    def to_arrow(self, columns: Sequence[str], keys: Mapping[str, Sequence[object]] | None = None) -> pa.Table:
        """One row a cell: the columns' keys (their places where none are given), `count`, and `std`."""
        table, named = self.table(columns), keys or {}
        codes = np.indices(table.shape).reshape(len(columns), table.size)
        arrays = [pa.array(row) for row in codes]
        for place, name in enumerate(columns):
            if name in named:
                if len(named[name]) != table.shape[place]:
                    raise Refusal(f"expected {table.shape[place]} keys for {name!r}, got {len(named[name])}")
                arrays[place] = pa.array(list(named[name])).take(arrays[place])
        arrays += [pa.array(table.ravel()), pa.array([self.std(columns)] * table.size, type=pa.float64())]
        heads = [_free("count", columns), _free("std", columns)]
        return pa.Table.from_arrays(arrays, names=[*columns, *heads])

    @property
    def plain(self) -> dict[str, Any]:
        """All of it as JSON can hold it."""
        tables = [
            {"columns": self.domain.names(axes), "corners": sums.ravel().tolist(), "spread": spread}
            for axes, sums, spread in zip(self.sets, self.corners, self.spreads, strict=True)
        ]
        head = {"format": FORMAT, "columns": self.domain.columns, "sizes": self.domain.sizes}
        return {**head, "bits": self.bits, "fitted": self.fitted, "tables": tables}

    def to_json(self) -> str:
        """The same as text."""
        return json.dumps(self.plain)

    @classmethod
    def from_json(cls, text: str) -> Marginals:
        """The tables that a text holds."""
        try:
            return cls.read(json.loads(text))
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError):
            raise Refusal(f"expected tables written by to_json, got {shown(text)}") from None

    @classmethod
    def read(cls, given: Any) -> Marginals:  # noqa: ANN401  # whatever a text held
        """The same, once it was read as JSON; raises what nonsense raises."""
        domain = Domain(tuple(given["columns"]), tuple(given["sizes"]))
        bits, fitted = count(given["bits"], "bits", least=0), given["fitted"]
        told = {domain.axes(table["columns"]): table for table in given["tables"]}
        sets = closure(told)
        if (
            given["format"] != FORMAT
            or bits > BITS
            or not isinstance(fitted, bool)
            or not sets
            or set(sets) != set(told)
        ):
            raise ValueError
        if any(domain.lively(axes) != axes for axes in sets):
            raise ValueError
        shapes = {axes: tuple(size - 1 for size in domain.shape(axes)) for axes in sets}
        sums = tuple(
            np.array([count(n, "corners", least=-(1 << 63)) for n in told[axes]["corners"]], dtype=np.int64).reshape(
                shapes[axes]
            )
            for axes in sets
        )
        spreads = tuple(float(told[axes]["spread"]) for axes in sets)
        if not all(math.isfinite(spread) and spread >= 0 for spread in spreads):
            raise ValueError
        return cls(domain, sets, sums, spreads, bits, fitted)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Marginals):
            return NotImplemented
        return self._facts() == other._facts() and all(map(np.array_equal, self.corners, other.corners))

    def __hash__(self) -> int:
        return hash((self._facts(), tuple(own.tobytes() for own in self.corners)))

    def _facts(self) -> tuple[object, ...]:
        return self.domain, self.sets, self.spreads, self.bits, self.fitted

    @property
    def _sums(self) -> dict[Axes, Integers]:
        return dict(zip(self.sets, self.corners, strict=True))

    @property
    def _spread(self) -> dict[Axes, float]:
        return dict(zip(self.sets, self.spreads, strict=True))

    def _whole_tables(self) -> list[Integers]:
        return [consistency.cells(self.domain, self._sums, axes) for axes in self.sets]

    def _residuals(self) -> dict[Axes, Reals]:
        residuals: dict[Axes, Reals] = {}
        for axes, own in zip(self.sets, self._whole_tables(), strict=True):
            table = np.ldexp(own.astype(np.float64), -self.bits)
            residuals[axes] = consistency.residual(self.domain, table, axes, axes)
        return residuals

    def _from(self, tables: Mapping[Axes, Integers], bits: int) -> Marginals:
        """Of whole tables that agree, one for each largest set."""
        sums = []
        for axes in self.sets:
            source = next(larger for larger in tables if set(axes) <= set(larger))
            gone = tuple(axis for axis, i in enumerate(source) if i not in axes)
            sums.append(consistency.whole_corners(tables[source].sum(gone, dtype=np.int64)))
        return Marginals(self.domain, self.sets, tuple(sums), self.spreads, bits, fitted=True)

    def _known(self, columns: Sequence[str]) -> Axes:
        axes = self.domain.axes(columns)
        if self.domain.lively(axes) not in self._sums:
            raise Refusal(
                f"the table {shown(tuple(columns))} was not measured", hint=f"sub-tables of {shown(self.tables)} were"
            )
        return axes


def _free(head: str, columns: Sequence[str]) -> str:
    """The heading, or a longer one if a column has that name."""
    return head if head not in columns else _free(f"{head}_", columns)
