"""A kind of release that another package might bring: noisy totals of columns. It edits nothing of the house."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import pyarrow as pa

from discreet.declared.table import Caps, Outline, grid_of
from discreet.exact import Number
from discreet.mechanisms import Column, Frame, Pair, Relation, Takes, registered
from discreet.mechanisms.mechanism import USUAL
from discreet.noise import SECURE, Entropy, laplace
from discreet.privacy import Neighbours, Pure
from discreet.privacy.calibrate import laplace_error
from discreet.release import Kind, Release, Wish
from discreet.release.counting_mechanism import facts_of
from discreet.release.release_kind import Option, Preview, part


@dataclass(frozen=True)
class TotalsWish(Wish):
    unit: str = part(Option("In which unit.", "TEXT", label="Unit", usual="the column's own"), "")


@registered("noisy-totals")
@dataclass(frozen=True)
class NoisyTotals:
    """Adds Laplace noise to the sums of columns, which one row moves by `reach` steps in all."""

    takes: ClassVar[Takes] = Takes.RELATION
    columns: tuple[str, ...]
    reach: int
    epsilon: Fraction
    rows: int
    neighbours: Neighbours
    caps = property(lambda self: Caps(self.rows))
    privacy = property(lambda self: Pure(self.epsilon))
    scale = property(lambda self: self.rows * self.reach / self.epsilon)
    preview = property(lambda self: Preview(len(self.columns), "each total", (self.columns,), method="noisy-totals"))

    def error(self, confidence: Number = USUAL) -> int:
        return laplace_error(self.scale, confidence)

    def pairs(self) -> tuple[Pair[Frame], ...]:
        known = [Column(name, bounds=(0, self.reach), step=1) for name in self.columns]
        none, some = (Frame.of({name: [self.reach] * n for name in self.columns}, *known) for n in (0, 1))
        return (Pair(none, some, "no rows, or one that is as large as it may be"),)

    def __call__(self, relation: Relation, /, *, rng: Entropy = SECURE) -> Totals:
        sums = relation.sums((), self.columns).ravel().tolist()
        told = tuple(each + laplace(self.scale, rng=rng) for each in sums)
        return Totals(facts_of("totals", self.columns, self, self), told)


@dataclass(frozen=True)
class Totals(Release):
    told: tuple[int, ...]

    def to_arrow(self) -> dict[str, pa.Table]:
        return {"totals": pa.table({"column": self.columns, "total": self.told})}

    def body(self) -> dict[str, Any]:
        return {"totals": list(self.told)}

    @classmethod
    def read(cls, facts: Mapping[str, Any], body: Mapping[str, Any]) -> Totals:
        return cls(facts, tuple(int(each) for each in body["totals"]))


def plan(outline: Outline, wish: TotalsWish) -> NoisyTotals:
    reach = sum(grid_of(outline, name).reach for name in wish.columns)
    rows = wish.max_rows or outline.caps.rows
    return NoisyTotals(wish.columns, reach, Fraction(wish.epsilon or 0), rows, outline.neighbours)


TOTALS = Kind("totals", "Totals", "Sums of columns, each with noise.", TotalsWish, plan, Totals)
