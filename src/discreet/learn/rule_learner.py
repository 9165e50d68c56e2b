"""Private learning over a finite class of rules: the one that errs least is chosen by the exponential mechanism."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations, permutations, product
from math import ceil
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.declared.table import Outline, grid_of, keys_of
from discreet.errors import Refusal
from discreet.exact import Number, count, positive, share
from discreet.interval_arithmetic import log
from discreet.learn.convex_risk import classes_of
from discreet.learn.fit_parameters import OverRows, settle_columns
from discreet.learn.rule_model import Literal, Rule
from discreet.mechanisms import Axis, Bins, Column, Frame, Pair, PermuteAndFlip, Relation, registered
from discreet.mechanisms.mechanism import settle
from discreet.mechanisms.private_rows import MOST_UNEVEN
from discreet.noise import SECURE, Entropy
from discreet.privacy import AddRemove, Neighbours, Pure

_MOST = 10**7  # rules

Counts = NDArray[np.int64]


@dataclass(frozen=True)
class RuleClass:
    """All rules with at most `terms` literals of different features, at public cuts, between public classes.

    Which there are, and their order, is public. With one literal only "at least" is needed: the two classes may change
    places.
    """

    cuts: tuple[int, ...]  # how many each feature has
    classes: int
    terms: int

    def __len__(self) -> int:
        ordered = self.classes * (self.classes - 1)
        total = self.classes + sum(self.cuts) * ordered
        return total + sum(4 * a * b for a, b in combinations(self.cuts, 2)) * ordered * (self.terms > 1)

    def sides(self) -> Iterator[tuple[tuple[int, ...], tuple[bool, ...], int, int]]:
        """Features, for each whether it is to be at least its cut, and the classes where all hold and elsewhere."""
        pairs = list(permutations(range(self.classes), 2))
        one = (((i,), (True,)) for i in range(len(self.cuts)))
        two = (
            (both, which)
            for both in (combinations(range(len(self.cuts)), 2) if self.terms > 1 else ())
            for which in product((True, False), repeat=2)
        )
        for chosen in (one, two):
            for features, above in chosen:
                yield from ((features, above, inside, outside) for inside, outside in pairs)


@registered("exponential-learner")
@dataclass(frozen=True)
class RuleLearner(OverRows):
    """Chooses of a finite class of rules one that says the right class of nearly as many rows as the best one does.

    A rule is a class where up to `terms` (1 or 2) features are at least, or below, one of `cuts` public cuts each, and
    another class elsewhere. The choice is permute-and-flip, which is nowhere worse than the exponential mechanism.

    Guarantee: Pure(epsilon), when all rows of one unit, of which there are at most `max_rows`, are added or removed; or
        replaced, if those are its neighbours.
    Proof: docs/proofs/finite_class.md.
    Source: Kasiviswanathan, Lee, Nissim, Raskhodnikova & Smith 2008, Section 3.
    """

    model: ClassVar[type[Rule]] = Rule

    features: tuple[str, ...]
    label: str
    epsilon: Fraction
    cuts: int = 10
    terms: int = 1
    max_rows: int = 1
    neighbours: Neighbours = AddRemove()

    def __post_init__(self) -> None:
        settle_columns(self)
        settle(
            self,
            epsilon=positive(self.epsilon, "epsilon"),
            cuts=count(self.cuts, "cuts"),
            terms=count(self.terms, "terms"),
        )
        if self.terms > 2:
            raise Refusal(f"expected terms as 1 or 2, got terms={self.terms}", hint="more make too large a class")

    @cached_property
    def privacy(self) -> Pure:
        """As asked for."""
        return Pure(self.epsilon)

    @property
    def numbers(self) -> int:
        """A cut for each literal, and two classes."""
        return self.terms + 2

    def refuse_unfit(self, known: Outline) -> None:
        """Where the label has no declared keys, a feature no bounds and step, or there are too many rules or cuts."""
        self._classes(known)
        self.choice(known)

    def rules(self, known: Outline) -> RuleClass:
        """The class, by what is declared."""
        each = tuple(len(self._bins(known, name)) - 1 for name in self.features)
        rules = RuleClass(each, len(classes_of(known, self.label)), self.terms)
        if len(rules) > _MOST:
            raise Refusal(f"there are {len(rules)} such rules, more than {_MOST}", hint="take fewer cuts, or terms=1")
        return rules

    def choice(self, known: Outline) -> PermuteAndFlip:
        """The choice among its rules, by how many rows each is right about."""
        monotone = isinstance(self.neighbours, AddRemove)  # a row that comes lowers no score
        return PermuteAndFlip(self.epsilon, len(self.rules(known)), self.max_rows, monotone, self.neighbours)

    def rows_needed(self, known: Outline, excess: Number, confidence: Number, *, realizable: bool = False) -> int:
        """Of how many rows, drawn independently, the chosen rule errs at most `excess` more often than the best.

        So often on new rows, with this confidence; the rows are of different units. `realizable`: some rule errs never.
        Proof: docs/proofs/finite_class.md, "How many rows".
        """
        most, rare = share(excess, "excess"), 1 - share(confidence, "confidence")
        gap = self.choice(known).error(1 - rare / 2)
        if realizable:
            far = 2 * log(2 * len(self.rules(known)) / rare)
            root = (far.sqrt() + (far + 4 * gap).sqrt()) / 2
            return ceil((root * root).up / most)
        far = 2 * log(2 * (len(self.rules(known)) + 1) / rare)
        root = (far.sqrt() + (far + 4 * most * gap).sqrt()) / (2 * most)
        return ceil((root * root).up)

    def scores(self, relation: Relation) -> Counts:
        """How many rows each rule is right about, in the order of the class; rows without some column count nowhere."""
        rules, classes = self.rules(relation), [keys_of(relation, self.label).index(c) for c in self._classes(relation)]
        bins = [self._bins(relation, name) for name in self.features]
        every: tuple[Axis, ...] = (*(Bins(each.column, (each.edges[0], each.edges[-1])) for each in bins), self.label)
        total = relation.counts([self.label], within=every)[classes]
        held: dict[tuple[int, ...], Counts] = {}
        scores = [total]  # of the rules without a literal
        for features, above, inside, outside in rules.sides():
            if features not in held:
                held = {
                    features: relation.counts([*(bins[i] for i in features), self.label], within=every)[..., classes]
                }
            within = _beyond(held[features], above)
            scores.append((within[..., inside] + total[outside] - within[..., outside]).ravel())
        return np.concatenate(scores)

    def rule(self, known: Outline, place: int) -> Rule:
        """The rule at a place in the order of the class."""
        rules, classes = self.rules(known), self._classes(known)
        if place < len(classes):
            return Rule(self.features, (), classes[place], classes[place])
        place -= len(classes)
        for features, above, inside, outside in rules.sides():
            shape = tuple(rules.cuts[i] for i in features)
            if place < int(np.prod(shape)):
                literals = tuple(
                    Literal(i, self._cut(known, i, int(at)), up)
                    for i, at, up in zip(features, np.unravel_index(place, shape), above, strict=True)
                )
                return Rule(self.features, literals, classes[inside], classes[outside])
            place -= int(np.prod(shape))
        raise AssertionError(place)

    def pairs(self) -> tuple[Pair[Frame], ...]:
        """A few rows of both classes, and those of a unit that all rules of one side are right about."""
        rows = (1,) * self.max_rows
        if isinstance(self.neighbours, AddRemove):
            why = "a unit's rows at a corner, or none"
            return tuple(
                Pair(self._frame(few, ()), self._frame(few, tuple(side * each for each in rows)), why)
                for few in (0, 4)
                for side in (1, -1)
            )
        other = tuple(-each for each in rows)
        return (Pair(self._frame(4, rows), self._frame(4, other), "a unit's rows of either class"),)

    def _frame(self, few: int, own: tuple[int, ...]) -> Frame:
        columns = [Column(name, bounds=(-1, 1), step=1) for name in self.features]
        held: dict[str, Any] = {name: [(-1) ** i for i in range(few)] + [1] * len(own) for name in self.features}
        held |= {self.label: [*(i % 2 == 0 for i in range(few)), *(side > 0 for side in own)]}
        held |= {"of": [*range(few), *[few] * len(own)]}
        every = (*columns, Column(self.label, keys=(False, True)))
        return Frame.of(held, *every, unit="of", max_rows=self.max_rows, neighbours=self.neighbours)

    def _classes(self, known: Outline) -> tuple[Any, ...]:
        keys_of(known, self.label)  # refused where a label has bounds alone
        return classes_of(known, self.label)

    def _bins(self, known: Outline, name: str) -> Bins:
        grid = grid_of(known, name)
        parts = min(self.cuts + 1, grid.span + 1)
        edges = [grid.low + (grid.span + 1) * i // parts for i in range(parts)]
        bins = Bins(name, (*edges, grid.high + 1))
        if len(bins) > MOST_UNEVEN and not bins.even:  # an engine plans a comparison for each
            raise Refusal(f"expected cuts < {MOST_UNEVEN} of {name!r}, got cuts={self.cuts}", hint="take fewer cuts")
        return bins

    def _cut(self, known: Outline, feature: int, place: int) -> float:
        name = self.features[feature]
        grid = grid_of(known, name)
        step = self._bins(known, name).edges[place + 1]
        return float(grid.step * (step - Fraction(1, 2)))  # what is nearer to the step counts as it

    def __call__(self, relation: Relation, /, *, rng: Entropy = SECURE) -> Rule:
        """The rule. Spends `privacy`."""
        return self.rule(relation, self.choice(relation)(self.scores(relation), rng=rng))


def _beyond(counts: Counts, above: tuple[bool, ...]) -> Counts:
    """Of counts by bins the sums over all bins from each inner edge on, or before it, axis by axis."""
    for axis, up in enumerate(above):
        inner = [slice(None)] * counts.ndim
        inner[axis] = slice(1, None) if up else slice(None, -1)
        summed = np.flip(np.cumsum(np.flip(counts, axis), axis), axis) if up else np.cumsum(counts, axis)
        counts = summed[tuple(inner)]
    return counts
