"""Synthetic rows as a kind of release: what may be asked for, and how it is made."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar

import numpy as np

from discreet.declared.column import with_keys
from discreet.declared.group_key import Key
from discreet.declared.table import column_of
from discreet.errors import Refusal, about
from discreet.exact import Number, count, share, shown
from discreet.ledger.entry_kinds import write_loss
from discreet.mechanisms import Bins, Caps, Column, Frame, Outline, Pair, Relation
from discreet.mechanisms.mechanism import settle
from discreet.mechanisms.registry import Plain
from discreet.mechanisms.sealed_stages import UNSEALED, Stages
from discreet.noise import SECURE, Entropy
from discreet.privacy import AddRemove, Concentrated, Neighbours, Pure
from discreet.release.axis import IN_OTHER, sided
from discreet.release.bins import Found, Private, spacious
from discreet.release.counting_mechanism import CellMechanism, Publication, neighbouring
from discreet.release.estimate import error_bar
from discreet.release.found_keys import MISSING, FoundKeys, LaterStages, finders, pretended
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
    finds: ClassVar[bool] = True
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
        if self.found and (named := [*{*self.found} & _named(self.never, self.follows)]):
            raise Refusal(f"rules name {named[0]!r}, whose keys are not known yet", field="never")
        if self.found and self.delta is None:
            raise Refusal(
                f"keys of {next(iter(self.found))!r} are found, which needs a delta",
                hint="say delta='1e-9' beside the price",
                field="delta",
            )
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
        """At a price in ε, and where keys are found."""
        return self.rho is None or bool(self.found)

    @property
    def found(self) -> Mapping[str, int]:
        """The columns whose keys are to be found within the price, and how many of each at most."""
        return {name: cut.keys for name, cut in self.cuts.items() if isinstance(cut, Found)}

    def refuse_outside(self) -> None:
        """A row in no cell of a column has nothing in that column, whatever is said."""
        if self.outside not in (None, IN_OTHER):
            raise Refusal("rows in no cell of a column stay, with nothing in that column", hint="leave outside out")


@dataclass(frozen=True)
class SyntheticPublication(Publication):
    """Counts the rows of a relation by keys and bins, fits a model to noisy tables of them, and draws rows.

    Guarantee: `privacy`, for all rows of one unit that has at most `caps.max_rows` of them, as any publication.
    Proof: that of `Publication`; numbers are drawn within their bins by coins that know nothing of the rows. Keys that
        are `finding` found come first, and by these the mechanism is the planned one with the rest of the price:
        docs/proofs/synthetic.md, "Keys that are found".
    Source: that of the mechanism.
    """

    staged: ClassVar[bool] = True

    finding: tuple[FoundKeys, ...] = ()

    @property
    def privacy(self) -> Pure | Concentrated:
        """What one run loses."""
        own: Any = self.mechanism.privacy  # a ρ, as theirs are
        return sum((each.privacy for each in self.finding), start=own)

    @property
    def preview(self) -> Preview:
        """What is public about it before it is paid."""
        known = super().preview
        lines = (
            "rows whose value is missing, no declared key or in no bin have nothing in that column",
            *known.lines[1:],
            *(_said_of(each) for each in self.finding),
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
        if self.finding:
            return self._with_keys(relation, rng, stages)
        mechanism: Any = self.mechanism  # a synthesiser: only those are planned
        made: Any = self._released(relation, partial(mechanism.measure, stages=stages), rng)
        drawn = [steps_within(side, made.content.rows[:, i], rng) for i, side in enumerate(made.sides)]
        measured: list[Plain] = [measured_table(made.content, place) for place in range(len(made.content.tables))]
        facts: dict[str, Plain] = {**made.facts, "measured": measured}
        return SyntheticRelease(facts, made.axes, made.content, tuple(drawn))

    def pairs(self) -> tuple[Pair[Frame], ...]:
        """Tables that differ by one unit, where that shows most; whose rows are whose is known."""
        if not self.finding:
            return super().pairs()
        known = {each.column: each.most for each in self.finding}
        columns = tuple(pretended(each, known[each.name]) if each.name in known else each for each in self.columns)
        every = neighbouring(columns, self.axes, self.caps, self.neighbours)
        return tuple(Pair(self._owned(each.left), self._owned(each.right), each.why) for each in every)

    def _owned(self, frame: Frame) -> Frame:
        """The last rows are one unit's, each other one somebody else's."""
        many = frame.values[0].size
        return replace(frame, columns=self.columns, owners=np.minimum(np.arange(many), max(0, many - self.caps.rows)))

    def _axis(self, place: int) -> dict[str, Plain]:
        found = {each.column: each.most for each in self.finding}
        name = self.columns[place].name
        return {"column": name, "found": found[name]} if name in found else super()._axis(place)

    def _with_keys(self, relation: Relation, rng: Entropy, stages: Stages) -> SyntheticRelease:
        """The release by the keys that are found first."""
        self._refuse_other(relation)
        privacy: Any = self.privacy
        left, keys = privacy.rho, dict[str, list[Key]]()
        for place, each in enumerate(self.finding):
            left -= each.rho
            found = each.staged(relation, rng, LaterStages(stages, place), left)
            keys[each.column] = [*found, *MISSING]
        columns = tuple(with_keys(each, keys[each.name]) if each.name in keys else each for each in self.columns)
        mechanism: Any = self.mechanism
        sizes = tuple(
            len(keys[name]) + 1 if name in keys else size
            for name, size in zip(mechanism.columns, mechanism.sizes, strict=True)
        )
        known = replace(self, columns=columns, mechanism=replace(mechanism, sizes=sizes), finding=())
        made = known(relation.keyed(keys), rng=rng, stages=LaterStages(stages, len(self.finding)))
        found_by: list[Plain] = [each.plain for each in self.finding]
        facts: dict[str, Plain] = {**made.facts, "guarantee": write_loss(privacy), "found": found_by}
        return replace(made, facts=facts)


def _said_of(each: FoundKeys) -> str:
    return (
        f"keys of {each.column}, at most {each.most:,}, are found with a part of the price: those of about "
        f"{each.threshold:,} people or more, and others have nothing in that column"
    )


def _named(never: Any, follows: Mapping[str, Any]) -> set[str]:  # noqa: ANN401  # rules that were read
    """The columns that rules name."""
    parents = {str(parent) for parent, _ in follows.values()}
    return {name for rule in never for name in rule} | {*follows} | parents


@dataclass(frozen=True)
class _Outlined:
    """What is known of rows, with other columns."""

    schema: Mapping[str, Column]
    caps: Caps
    neighbours: Neighbours


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


def _without_found(wish: SyntheticWish) -> SyntheticWish:
    """The wish as it is of columns whose keys are known."""
    if not wish.found:
        return wish
    bins = {name: cut for name, cut in wish.bins.items() if name not in wish.found}
    return replace(wish, bins=bins, delta=wish.delta if wish.rho is None else None)


def _on_a_fine_grid(wish: SyntheticWish, parts: Mapping[str, int], columns: Sequence[Column]) -> SyntheticWish:
    """The wish with many public bins where private ones are to be found."""
    wanted = [column for column in columns if column.name in parts]
    fine = {column.name: min(_FINE, spacious(column.name, column.line) + 1) for column in wanted if column.line}
    return replace(wish, bins={**wish.bins, **fine})


def _planned(outline: Outline, wish: SyntheticWish) -> SyntheticPublication:
    """The mechanism of a wish, for rows of which only what is declared is known.

    It is planned as if as many keys were found as may be.
    """
    declared, found = tuple(column_of(outline, name) for name in wish.columns), wish.found
    columns = tuple(pretended(each, found[each.name]) if each.name in found else each for each in declared)
    outline = _Outlined({each.name: each for each in columns}, outline.caps, outline.neighbours)
    bare = _without_found(wish)
    parts = _quantiles(bare, columns)
    axes, delta = axes_of(_on_a_fine_grid(bare, parts, columns), columns), None
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
        lost = delta / 10 if found and delta else Fraction(0)
        rho = concentrated(wish, lost)
        finding = finders(found, rho, lost, most) if found else ()
        rest = rho - sum(each.rho for each in finding)
        mechanism: CellMechanism = METHODS[method](
            wish.columns, sizes, rest, most, added, wish.rows or 0, along, never, quantiles
        )
    own = caps, outline.neighbours, delta, IN_OTHER, finding
    return SyntheticPublication(wish.kind, declared, axes, mechanism, *own)


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
