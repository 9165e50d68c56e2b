"""A publication: which counts are read off a table, what is released of them, and what that loses."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import ClassVar

from discreet.errors import Refusal
from discreet.exact import Number
from discreet.ledger.entry import write_loss, write_neighbours
from discreet.mechanisms import Axis, Bins, Caps, Column, Frame, Pair, Relation, described
from discreet.mechanisms.mechanism import USUAL, Takes
from discreet.mechanisms.registry import Plain
from discreet.noise import SECURE, Entropy
from discreet.privacy import Concentrated, Neighbours, Pure
from discreet.release.axis import Side, sided
from discreet.release.bins import written
from discreet.release.marginals import FourierMarginals, ResidualMarginals
from discreet.release.marginals.domain import maximal
from discreet.release.method import MARGINALS, Counting
from discreet.release.other_cell import IN_OTHER, LEFT_OUT, tables
from discreet.release.private_bins import PrivateBins
from discreet.release.release import FIT, Release
from discreet.release.worst_pairs import neighbouring

Mechanism = Counting | PrivateBins | ResidualMarginals | FourierMarginals


@dataclass(frozen=True, repr=False)
class Publication:
    """Counts the rows of a relation by keys and bins, and releases the counts through one mechanism.

    `columns` are what is declared, `axes` what is counted; private bins are chosen on a fine public grid. A relation
    must have the same declarations, units of at most `caps.max_rows` rows, and the same neighbours. `outside` says what
    becomes of rows that are in no cell of some column: of several tables they are counted in cells of their own, or
    left out of all tables alike; one table leaves them out.

    Guarantee: `privacy`, for all rows of one unit that has at most `caps.max_rows` of them: added or removed, or, where
        the neighbours are Replace, put in place of another unit's.
    Proof: the relation's counts are all that is read. A row is in at most one cell of a table of counts, also where
        tables have cells for rows outside. Adding or removing a unit adds or removes at most m = max_rows records; a
        mechanism with `most` = m promises its loss for that. Replacing one removes at most m records and adds at most
        m. Counts move by at most 2m in L1 then, which is what `Counts.distance` has for Replace. Marginals have `most`
        = 2m there: their loss is bounded by the L1 or L2 norm of the change of what they measure, each record changes
        it by at most the same s, to either side, so 2m of them change it by at most 2m · s (triangle inequality), as
        2m added ones may.
    Source: that of the mechanism; neighbours by group: Dwork, McSherry, Nissim & Smith 2006.
    """

    takes: ClassVar[Takes] = Takes.RELATION

    kind: str
    columns: tuple[Column, ...]
    axes: tuple[Axis, ...]
    mechanism: Mechanism
    caps: Caps
    neighbours: Neighbours
    delta: Fraction | None = None  # what the loss is to be read at, if it was asked for as (ε, δ)
    outside: str = LEFT_OUT

    def __repr__(self) -> str:
        """All fields; of one table without its rule, which it had before there was another: its question stays."""
        named = [each.name for each in fields(self) if each.name != "outside" or self.kind == MARGINALS]
        return f"Publication({', '.join(f'{name}={getattr(self, name)!r}' for name in named)})"

    @property
    def privacy(self) -> Pure | Concentrated:
        """What one run loses."""
        return self.mechanism.privacy

    @property
    def cells(self) -> int:
        """How many numbers are published: of private bins the most that there can be."""
        mechanism = self.mechanism
        if isinstance(mechanism, PrivateBins):
            return math.prod(mechanism.coarse)
        if isinstance(mechanism, (ResidualMarginals, FourierMarginals)):
            return sum(mechanism.domain.cells(axes) for axes in maximal(mechanism.wanted.tables))
        return mechanism.cells

    @property
    def tables(self) -> tuple[tuple[str, ...], ...]:
        """The columns of each table that is published, but for those that are part of another."""
        if isinstance(self.mechanism, (ResidualMarginals, FourierMarginals)):
            domain = self.mechanism.domain
            return tuple(domain.names(axes) for axes in maximal(self.mechanism.wanted.tables))
        return (tuple(column.name for column in self.columns),)

    def error(self, confidence: Number = USUAL) -> Fraction | int | None:
        """As its mechanism measures it: a cell, a prefix or the total; None where that is known after paying."""
        return self.mechanism.error(confidence)

    def described(self) -> dict[str, Plain]:
        """All that is public about it, as JSON can hold it."""
        return {**self._facts(), "axes": [self._axis(place) for place in range(len(self.axes))]}

    def pairs(self) -> tuple[Pair[Frame], ...]:
        """Tables that differ by one unit, where that shows most."""
        return neighbouring(self.columns, self.axes, self.caps, self.neighbours)

    def __call__(self, relation: Relation, /, *, rng: Entropy = SECURE) -> Release:
        """The release. Spends `privacy`."""
        self._refuse_other(relation)
        mechanism = self.mechanism
        if isinstance(mechanism, PrivateBins):
            chosen = mechanism(relation.counts(self.axes), rng=rng)
            return Release(self._facts(), self._sides(chosen.cuts), chosen.histogram)
        if not isinstance(mechanism, (ResidualMarginals, FourierMarginals)):
            return Release(self._facts(), self._sides(None), mechanism(relation.counts(self.axes), rng=rng))
        axes = dict(zip((column.name for column in self.columns), self.axes, strict=True))
        return Release(self._facts(), self._sides(None), mechanism(tables(relation, axes, self.outside), rng=rng))

    def _facts(self) -> dict[str, Plain]:
        facts: dict[str, Plain] = {
            "kind": self.kind,
            "columns": [column.name for column in self.columns],
            "tables": [list(names) for names in self.tables],
            "mechanism": dict(described(self.mechanism)),
            "guarantee": write_loss(self.privacy),
            "neighbours": write_neighbours(self.neighbours),
            "caps": {"max_rows": self.caps.rows},
            "outside": self.outside,
            "fit": FIT,
            "source": _part(self.mechanism, "Source"),
            "proof": _part(self.mechanism, "Proof"),
        }
        return facts if self.delta is None else {**facts, "delta": written(self.delta)}

    def _axis(self, place: int) -> dict[str, Plain]:
        own = self.axes[place]
        side = sided(self.columns[place], own if isinstance(own, Bins) else None, other=self.outside == IN_OTHER)
        if isinstance(self.mechanism, PrivateBins) and self.mechanism.bins[place]:
            edges = side.plain["edges"]
            ends: list[Plain] = [edges[0], edges[-1]] if isinstance(edges, list) else []
            return {"column": side.column, "private": self.mechanism.bins[place], "among": len(side), "bounds": ends}
        return side.plain

    def _sides(self, cuts: Sequence[Sequence[int]] | None) -> tuple[Side, ...]:
        """The axes as readers see them; of private bins those that were chosen."""
        found = []
        for place, (column, axis) in enumerate(zip(self.columns, self.axes, strict=True)):
            bins = axis if isinstance(axis, Bins) else None
            if bins is not None and cuts is not None:
                bins = Bins(bins.column, tuple(bins.edges[cut] for cut in cuts[place]))
            found.append(sided(column, bins, other=self.outside == IN_OTHER))
        return tuple(found)

    def _refuse_other(self, relation: Relation) -> None:
        """All of this is public, and comes before anything is read."""
        for column in self.columns:
            known = relation.schema.get(column.name)
            if known is None or (known.keys, known.grid) != (column.keys, column.grid):
                raise Refusal(f"column {column.name!r} is not declared as this publication has it")
        if relation.neighbours != self.neighbours:
            raise Refusal(f"this promises for {self.neighbours}, and the table's neighbours are {relation.neighbours}")
        if relation.caps.rows > self.caps.rows:
            raise Refusal(
                f"this promises for units of {self.caps.rows} rows, and these have up to {relation.caps.rows}",
                hint="bound the rows of a unit, or ask with a larger max_rows",
            )


def _part(mechanism: object, name: str) -> str:
    """What the docstring of a mechanism says under a heading, on one line."""
    text = inspect.cleandoc(type(mechanism).__doc__ or "")
    found = re.search(rf"(?ms)^{name}: (.*?)(?=^\S|\Z)", text)
    return " ".join(found[1].split()) if found else ""
