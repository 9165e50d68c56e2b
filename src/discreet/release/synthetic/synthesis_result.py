"""Synthesis: what was measured, the model that was fitted to that, and rows drawn from the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Refusal
from discreet.exact import count, shown
from discreet.noise import Entropy
from discreet.release.estimate import Estimate, error_bar
from discreet.release.interval_tree import Reals, Whole
from discreet.release.marginals.domain import Axes, Domain
from discreet.release.synthetic.array_json import packed, unpacked
from discreet.release.synthetic.compression import Compression
from discreet.release.synthetic.descent import Heard, unheard
from discreet.release.synthetic.fit import EVEN, NoisyTable, fitted, total_of
from discreet.release.synthetic.impossible import Impossible
from discreet.release.synthetic.junction_tree import JunctionTree
from discreet.release.synthetic.model import GraphicalModel
from discreet.release.synthetic.noisy_measurements import MEASURED
from discreet.release.synthetic.sampling import sampled

MOST_ROWS = 1 << 20  # that are written out: of a model anybody draws more
MOST_MODEL = 1 << 22  # cells of a model
_TRIES = 64  # at drawing a row that can be


@dataclass(frozen=True, eq=False)
class Synthesis:
    """A distribution over a domain, by which noisy tables it was found, and rows drawn from it.

    The model is over merged cells (`merging`), and so are the tables in which cells were merged.
    """

    domain: Domain
    merging: Compression
    model: GraphicalModel
    tables: tuple[NoisyTable, ...]  # over merged cells
    total: float  # records, as measured
    rows: Whole  # one line each, the place of each column's cell
    never: Impossible

    @classmethod
    def of(  # noqa: PLR0913  # what nothing is known of may be left out
        cls,
        merging: Compression,
        tables: Sequence[NoisyTable],
        rows: int,
        *,
        rng: Entropy,
        heard: Heard = unheard,
        never: Impossible | None = None,
        even: float = EVEN,
    ) -> Synthesis:
        """The model that fits tables, and so many rows of it; for 0 as many as there seem to be records.

        `heard` is told how far that is. `never` says what no row can be, and `even` how
        far towards an even model the noisy tables may be left (docs/proofs/synthetic.md, "The fit").
        """
        total, impossible = total_of(tables), never or Impossible(merging.original)
        tree, possible = _tree(merging, [table.axes for table in tables], impossible)
        share = 0.9 - MEASURED  # of the work; then rows are drawn
        model = fitted(
            merging.domain,
            tree,
            tables,
            total,
            lambda done: heard(MEASURED + share * done),
            possible=possible,
            even=even,
        )
        many = rows or min(round(total), MOST_ROWS)
        drawn = _possible_rows(model, merging, many, rng, never=impossible)
        return cls(merging.original, merging, model, tuple(tables), total, drawn, impossible)

    def drawn(self, rows: int, rng: Entropy, weights: Mapping[int, Reals] = MappingProxyType({})) -> Whole:
        """So many other rows of the same model; with weights for the cells of some columns, rows that have these.

        Those that cannot be are drawn again, and left out if that does not help.
        """
        many, model, merging = count(rows, "rows", least=0), self.model, self.merging
        if weights:
            merging, merged = merging.given(weights)
            model = model.given(merged)
        return _possible_rows(model, merging, many, rng, never=self.never, weights=weights)

    def table(self, columns: Sequence[str]) -> Reals:
        """About how many records there are of each combination, one axis a column, in the order that is given."""
        axes = self.domain.axes(columns)
        table = self.total * self.merging.expanded_table(self.model.marginal(axes), axes) * self.never.possible(axes)
        return table.transpose([axes.index(self.domain.columns.index(name)) for name in columns])

    def query(self, columns: Sequence[str], weights: Reals) -> Estimate:
        """A sum over the table of some columns, each cell by its weight.

        Where one of the noisy tables tells the same sum, there is an error bar: about that of the noise, as much wider
        as the model's sum is away from the noisy one, so that it covers whatever that covers. Elsewhere there is none.
        """
        table = self.table(columns)
        if weights.shape != table.shape:
            raise Refusal(f"expected weights of shape {table.shape}, got {shown(weights.shape)}")
        value = float((table * weights).sum())
        axes = self.domain.axes(columns)
        ordered = weights.transpose([list(columns).index(name) for name in self.domain.names(axes)])
        if total := bool(np.all(weights == weights.flat[0])):  # all records alike: any table has their sum
            axes, ordered = (), np.asarray(weights.flat[0])
        first = [one for one in self.tables if one.decided] if total else []  # widths that noise decides not
        known = [told for one in first or self.tables if (told := self._noisy(one, axes, ordered)) is not None]
        if not known:
            return Estimate(value, None)
        noisy, error, largest = min(known, key=lambda told: told[1])
        far = error_bar(error) + 0.625 * max(0.0, largest - 1) + abs(value - noisy)
        return Estimate(value, None, (value - far, value + far))

    def _noisy(self, table: NoisyTable, axes: Axes, weights: Reals) -> tuple[float, float, float] | None:
        """What a noisy table says of a sum, its standard error and its largest weight, if it can be read off it."""
        if not set(axes) <= set(table.axes):
            return None
        if table.decided and np.any(weights != weights.flat[0]):
            return None  # whether its cells can be told apart was decided by their noise: only their sum is as it was
        for axis, i in enumerate(axes):
            merged = self._merged_weights(weights, axis, i)
            if merged is None:
                return None
            weights = merged
        spread = weights.reshape([self.merging.domain.sizes[i] if i in axes else 1 for i in table.axes])
        value = float((table.counts * spread).sum())
        error = float((table.variances * spread**2).sum()) ** 0.5
        return value, error, float(np.abs(weights).max(initial=0.0))

    def _merged_weights(self, weights: Reals, axis: int, column: int) -> Reals | None:
        """The weights of merged cells, if those that were merged have one weight."""
        places, size = self.merging.places[column], self.merging.domain.sizes[column]
        first = np.zeros(size, dtype=np.int64)
        first[places[::-1]] = np.arange(places.size)[::-1]
        merged = weights.take(first, axis)
        return merged if np.array_equal(merged.take(places, axis), weights) else None

    # as text ---------------------------------------------------------------------------------------------------------

    @property
    def plain(self) -> dict[str, Any]:
        """As JSON can hold it; `read` takes it back."""
        return {
            "columns": list(self.domain.columns),
            "sizes": list(self.domain.sizes),
            "total": self.total,
            "merged": [packed(places) for places in self.merging.places],
            "shares": [packed(shares) for shares in self.merging.shares],
            "cliques": [list(axes) for axes in self.model.tree.cliques],
            "parents": list(self.model.tree.parents),
            "model": [packed(table) for table in self.model.beliefs],
            "measured": [
                {
                    "axes": list(one.axes),
                    "counts": packed(one.counts),
                    "variances": packed(_narrow(one.variances)),
                    "decided": one.decided,
                }
                for one in self.tables
            ],
            "rows": [packed(self.rows[:, i]) for i in range(self.rows.shape[1])],
            **(
                {"never": [[[i, list(cells)] for i, cells in rule] for rule in self.never.rules]}
                if self.never.rules
                else {}
            ),
        }

    @classmethod
    def read(cls, told: Mapping[str, Any]) -> Synthesis:
        """The synthesis that `plain` told of; raises what nonsense raises."""
        domain = Domain(tuple(told["columns"]), tuple(told["sizes"]))
        places = tuple(
            unpacked(each, (size,), whole=True) for each, size in zip(told["merged"], domain.sizes, strict=True)
        )
        sizes = tuple(int(place.max()) + 1 for place in places)
        if not all(
            np.array_equal(np.unique(place), np.arange(size)) for place, size in zip(places, sizes, strict=True)
        ):
            raise ValueError
        merged = Domain(domain.columns, sizes)
        shares = tuple(unpacked(each, (size,)) for each, size in zip(told["shares"], domain.sizes, strict=True))
        cliques = tuple(_axes(axes, domain) for axes in told["cliques"])
        parents = tuple(count(place, "parents", least=0) for place in told["parents"])
        if len(parents) != len(cliques) or any(parent >= max(place, 1) for place, parent in enumerate(parents)):
            raise ValueError
        beliefs = tuple(unpacked(each, merged.shape(axes)) for each, axes in zip(told["model"], cliques, strict=True))
        tables = []
        for each in told["measured"]:
            axes = _axes(each["axes"], domain)
            shape = merged.shape(axes)
            counts = unpacked(each["counts"], shape, whole=True)
            tables.append(NoisyTable(axes, counts, _wide(each["variances"], shape), bool(each["decided"])))
        many = int(told["rows"][0]["size"])
        rows = np.stack([unpacked(each, (many,), whole=True) for each in told["rows"]], axis=1)
        if rows.shape[1] != len(domain.sizes) or np.any(rows < 0) or np.any(rows >= np.array(domain.sizes)):
            raise ValueError
        model = GraphicalModel(merged, JunctionTree(cliques, parents), beliefs)
        total = float(told["total"])
        if not np.isfinite(total):
            raise ValueError
        never = Impossible(domain, tuple(told.get("never", ())))
        return cls(domain, Compression(merged, places, shares), model, tuple(tables), total, rows, never)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Synthesis) and self.plain == other.plain

    def __hash__(self) -> int:
        return hash((self.domain, self.total, self.rows.tobytes()))


def _tree(
    merging: Compression, tables: Sequence[Axes], never: Impossible
) -> tuple[JunctionTree, dict[Axes, NDArray[np.bool_]]]:
    """A tree that holds all tables, and those of what is impossible that still fit; rows keep to the others as well."""
    tree, held = JunctionTree.of(merging.domain, tables), dict[Axes, NDArray[np.bool_]]()
    for axes, table in never.merged(merging).items():
        larger = JunctionTree.of(merging.domain, [*tables, *held, axes])
        if table.any() and larger.cells(merging.domain) <= max(MOST_MODEL, tree.cells(merging.domain)):
            tree, held[axes] = larger, table
    return tree, held


def _possible_rows(  # noqa: PLR0913  # a model is three of them
    model: GraphicalModel,
    merging: Compression,
    many: int,
    rng: Entropy,
    *,
    never: Impossible,
    weights: Mapping[int, Reals] = MappingProxyType({}),
) -> Whole:
    """So many rows that can be, by drawing those that cannot anew; fewer where that does not help."""
    rows = merging.expanded(sampled(model, many, rng), rng)
    for _ in range(_TRIES):
        wrong = np.flatnonzero(_wrong(rows, never, weights))
        if not wrong.size:
            return rows
        rows[wrong] = merging.expanded(sampled(model, wrong.size, rng), rng)
    return rows[~_wrong(rows, never, weights)]


def _wrong(rows: Whole, never: Impossible, weights: Mapping[int, Reals]) -> NDArray[np.bool_]:
    wrong = never.broken(rows)
    for i, own in weights.items():
        wrong |= own[rows[:, i]] <= 0
    return wrong


def _axes(given: object, domain: Domain) -> Axes:
    axes = tuple(count(i, "axes", least=0) for i in given)  # type: ignore[attr-defined]  # or what nonsense raises
    if list(axes) != sorted(set(axes)) or any(i >= len(domain.sizes) for i in axes):
        raise ValueError
    return axes


def _narrow(variances: Reals) -> Reals:
    """One number, where all are one."""
    return variances.ravel()[:1] if np.all(variances == variances.flat[0]) else variances


def _wide(told: Mapping[str, Any], shape: tuple[int, ...]) -> Reals:
    one = told["size"] == 1
    return np.broadcast_to(unpacked(told, (1,)), shape) if one else unpacked(told, shape)
