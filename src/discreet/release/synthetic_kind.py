"""Synthetic rows as a kind of release: what may be asked for, and how it is made."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar

from discreet.declared.table import column_of
from discreet.errors import Refusal, about
from discreet.exact import Number, count, share, shown
from discreet.mechanisms import Bins, Caps, Column, Outline, Relation
from discreet.mechanisms.mechanism import settle
from discreet.mechanisms.registry import Plain
from discreet.mechanisms.stages import UNSEALED, Stages
from discreet.noise import SECURE, Entropy
from discreet.privacy import AddRemove
from discreet.release.axis import IN_OTHER, sided
from discreet.release.bins import Private, spacious
from discreet.release.counting_mechanism import CellMechanism, Publication
from discreet.release.estimate import error_bar
from discreet.release.histogram_kinds import CountsWish, axes_of, fits, side_of
from discreet.release.impossible_values import read_follows, read_never, rules
from discreet.release.marginals_kind import concentrated
from discreet.release.release_kind import Kind, Option, Preview, part, register
from discreet.release.synthetic import (
    CliqueTreeSynthesis,
    DirectSynthesis,
    IndependentSynthesis,
    SpanningTreeSynthesis,
)
from discreet.release.synthetic.synthesis_result import MOST_ROWS
from discreet.release.synthetic_release import SyntheticRelease, measured_table, steps_within

AUTO = "auto"
METHODS: Mapping[str, type[Any]] = {
    "clique-tree": CliqueTreeSynthesis,
    "mst": SpanningTreeSynthesis,
    "independent": IndependentSynthesis,
    "direct": DirectSynthesis,
}
_FEW = 256  # cells of all columns together, of which the one table is measured by itself
_FINE = 256  # cells of the public grid on which private bins are found
_DELTA = Option(label="delta, for Gaussian noise", usual="none")
_NEVER = Option(
    "What no row may be: 'sex=m & pregnant=yes; age=0:15 & status=married'.",
    "RULES",
    label="Never together",
    usual="nothing",
    tip="Values that no record can have together, as everybody knows: sex=m & pregnant=yes; age=0:15 & status=married",
)
_FOLLOWS = Option(
    "What follows from another column: 'county=zip: 10115>Berlin, 20095>Hamburg'.", "COL=COL:A>B", many=True
)
_ROWS = Option("Rows to draw; else about as many as there are.", "N", int, label="Rows", usual="about as many")


@dataclass(frozen=True)
class SyntheticWish(CountsWish):
    """Synthetic rows that somebody asks for: of which columns, by which method, and how many."""

    every: ClassVar[bool] = True
    methods: ClassVar[tuple[str, ...]] = (AUTO, *METHODS)
    line: ClassVar[int] = 64  # noisy counts merge neighbours
    plane: ClassVar[int] = 64

    delta: Number | None = part(_DELTA)  # noqa: RUF009  # a field
    rows: int | None = part(_ROWS)
    never: object = field(default=(), hash=False, metadata={"option": _NEVER})
    follows: Mapping[str, object] = part(_FOLLOWS, {})

    def __post_init__(self) -> None:
        super().__post_init__()
        settle(self, never=read_never(self.never, self.columns), follows=read_follows(self.follows, self.columns))
        if self.rho is None and self.delta is None:
            raise Refusal(
                "synthetic rows have Gaussian noise, which needs a delta beside epsilon",
                hint="say delta='1e-9', or rho instead of epsilon",
                field="delta",
            )
        with about("rows"):
            settle(self, rows=None if self.rows is None else count(self.rows, "rows"))
            if self.rows is not None and self.rows > MOST_ROWS:
                raise Refusal(f"at most {MOST_ROWS} rows are written out, got rows={shown(self.rows)}")

    def respelled(self, spelling: Mapping[str, str]) -> dict[str, Any]:
        """Bins and what no row may be, by columns so spelled."""
        told: Any = self.never
        never = [{spelling[name]: text for name, text in rule.items()} for rule in told]
        follows = {spelling[name]: [spelling[parent], values] for name, (parent, values) in self.followed.items()}
        return {**super().respelled(spelling), "never": never, "follows": follows}

    @property
    def followed(self) -> Mapping[str, Any]:
        """For each column that follows the one it follows from, and which value from which."""
        return self.follows

    @property
    def takes_delta(self) -> bool:
        """At a price in ε."""
        return self.rho is None

    def refuse_outside(self) -> None:
        """A row in no cell of a column has nothing in that column, whatever is said."""
        if self.outside not in (None, IN_OTHER):
            raise Refusal("rows in no cell of a column stay, with nothing in that column", hint="leave outside out")


@dataclass(frozen=True)
class SyntheticPublication(Publication):
    """Counts the rows of a relation by keys and bins, fits a model to noisy tables of them, and draws rows.

    Guarantee: `privacy`, for all rows of one unit that has at most `caps.max_rows` of them, as any publication.
    Proof: that of `Publication`; numbers are drawn within their bins by coins that know nothing of the rows.
    Source: that of the mechanism.
    """

    staged: ClassVar[bool] = True

    @property
    def preview(self) -> Preview:
        """What is public about it before it is paid."""
        known = super().preview
        lines = (
            "rows whose value is missing, no declared key or in no bin have nothing in that column",
            *known.lines[1:],
            f"noise in a count of one column alone is within ± {self.alone:,}, 19 times in 20, if not interrupted",
        )
        return replace(known, lines=lines)

    @property
    def alone(self) -> int:
        """How far noise may bring a count of one column alone, before a model evens it out."""
        mechanism: Any = self.mechanism
        return math.ceil(error_bar(mechanism.deviation_alone))

    def __call__(self, relation: Relation, /, *, rng: Entropy = SECURE, stages: Stages = UNSEALED) -> SyntheticRelease:
        """The release. Spends `privacy`; each measurement is one of the `stages`."""
        mechanism: Any = self.mechanism  # a synthesiser: only those are planned
        made: Any = self._released(relation, partial(mechanism.measure, stages=stages), rng)
        drawn = [steps_within(side, made.content.rows[:, i], rng) for i, side in enumerate(made.sides)]
        measured: list[Plain] = [measured_table(made.content, place) for place in range(len(made.content.tables))]
        facts: dict[str, Plain] = {**made.facts, "measured": measured}
        return SyntheticRelease(facts, made.axes, made.content, tuple(drawn))


def _quantiles(wish: SyntheticWish, columns: Sequence[Column]) -> dict[str, int]:
    """The columns whose bins are to be chosen privately, and how many of them."""
    parts = {name: cut.bins for name, cut in wish.cuts.items() if isinstance(cut, Private)}
    for column in columns:
        if column.name in parts and column.line is None:
            message = f"column {column.name!r} has keys, and bins are for numbers"
            raise Refusal(message, hint="leave its bins out", field=column.name)
    if parts and wish.method == "direct":
        raise Refusal(
            f"the method direct measures every cell, and bins of {next(iter(parts))!r} were to be chosen privately",
            hint="take another method, or say which bins",
            field=next(iter(parts)),
        )
    return parts


def _on_a_fine_grid(wish: SyntheticWish, parts: Mapping[str, int], columns: Sequence[Column]) -> SyntheticWish:
    """The wish with many public bins where private ones are to be found."""
    wanted = [column for column in columns if column.name in parts]
    fine = {column.name: min(_FINE, spacious(column.name, column.line) + 1) for column in wanted if column.line}
    return replace(wish, bins={**wish.bins, **fine})


def _planned(outline: Outline, wish: SyntheticWish) -> SyntheticPublication:
    """The mechanism of a wish, for rows of which only what is declared is known."""
    columns = tuple(column_of(outline, name) for name in wish.columns)
    parts = _quantiles(wish, columns)
    axes, delta = axes_of(_on_a_fine_grid(wish, parts, columns), columns), None
    if wish.delta is not None:
        delta = share(wish.delta, "delta")
    caps = outline.caps if wish.max_rows is None else Caps(wish.max_rows)
    sizes = tuple(side_of(outline, axis) + 1 for axis in axes)  # and one cell for what is in none of them
    adding = isinstance(outline.neighbours, AddRemove)
    most, added = caps.rows if adding else 2 * caps.rows, AddRemove(outline.neighbours.unit)
    quantiles = tuple(min(parts.get(column.name, 0), size - 1) for column, size in zip(columns, sizes, strict=True))
    along = tuple(len(axis) if isinstance(axis, Bins) else 0 for axis in axes)
    method = wish.method or AUTO
    if method == AUTO:
        method = "direct" if math.prod(sizes) <= _FEW and not parts else "clique-tree"
    both = zip(columns, axes, strict=True)
    cells = [sided(column, axis if isinstance(axis, Bins) else None, other=True) for column, axis in both]
    told: Any = wish.never
    with about("never"):
        never = rules(told, wish.followed, cells)
        mechanism: CellMechanism = METHODS[method](
            wish.columns, sizes, concentrated(wish), most, added, wish.rows or 0, along, never, quantiles
        )
    return SyntheticPublication(wish.kind, columns, axes, mechanism, caps, outline.neighbours, delta, IN_OTHER)


SYNTHETIC = register(
    Kind(
        "synthetic",
        "Synthetic rows",
        "Rows that look like yours and are nobody's, to be used like a table. Any number of columns.",
        SyntheticWish,
        _planned,
        SyntheticRelease,
        phrase="Synthetic rows",
        help="Publish made-up rows that follow noisy tables; without columns, of all that have keys or bounds.",
        fits=fits,
    )
)
