"""Private tests of means, by a test of tests: the rows are dealt into blocks, and how many blocks reject is counted."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from discreet.declared.table import Outline, grid_of, keys_of
from discreet.errors import Refusal
from discreet.exact import count, exact, positive, share
from discreet.mechanisms import Column, Frame, Pair, Tulap
from discreet.mechanisms.mechanism import settle
from discreet.mechanisms.private_rows import Relation
from discreet.mechanisms.registry import registered
from discreet.noise import SECURE, Entropy, belows
from discreet.noise.secure_random import words
from discreet.privacy import AddRemove, Neighbours, Replace
from discreet.validity.private_tests import OfPeople, TestResult, numbers_of

Floats = NDArray[np.float64]
Places = NDArray[np.int64]

_PERMUTED = 199  # times, in each block
_MOST = 10_000
_KEYS = 1 << 21  # of permutations that are held at once


class _OfBlocks(OfPeople):
    """What both share: blocks, and a private count of those that reject."""

    column: str
    by: str | None
    blocks: int
    level: Fraction

    @property
    def columns_read(self) -> tuple[str, ...]:
        """The numbers, and the groups if there are any."""
        return (self.column,) if self.by is None else (self.column, self.by)

    def refuse_unfit(self, known: Outline) -> None:
        """Where there are no bounds of numbers, or not two groups."""
        grid_of(known, self.column)
        if self.by is not None and len(keys_of(known, self.by)) != 2:
            raise Refusal(f"expected two groups, and {self.by!r} has {len(keys_of(known, self.by))} keys")

    @cached_property
    def noise(self) -> Tulap:
        """The law of the noise: blocks are a public number, and one person is in one of them."""
        return Tulap(self.epsilon, neighbours=Replace())

    def rejects(self, values: Floats, groups: Places, known: Outline, rng: Entropy) -> bool:
        """Whether the rows of one block alone speak against the null hypothesis at `level`."""
        raise NotImplementedError

    def __call__(self, relation: Relation, /, *, rng: Entropy = SECURE) -> TestResult:
        """The p-value. Spends `privacy`."""
        values, groups = numbers_of(relation, self.column, self.by, rng)
        blocks = belows(self.blocks, len(values), rng=rng)
        order = np.argsort(blocks, kind="stable")
        ends = np.searchsorted(blocks[order], np.arange(self.blocks + 1))
        rejected = sum(
            self.rejects(values[rows], groups[rows], relation, rng)
            for rows in (order[start:end] for start, end in pairwise(ends))
        )
        released = self.noise(rejected, rng=rng)
        p_value = self.noise.p_value(released, self.blocks, self.level)
        return TestResult(float(p_value), float(released), f"of {self.blocks} blocks reject at {float(self.level):g}")

    def pairs(self) -> tuple[Pair[Frame], ...]:
        """All rows at one end, and one person who makes their block reject, or not."""
        return (Pair(self._frame(0), self._frame(1), "one person who may make a block reject"),)

    def _frame(self, which: int) -> Frame:
        replaced, size = isinstance(self.neighbours, Replace), 8
        people = size if replaced else size - 1 + which
        held: dict[str, Any] = {
            "person": list(range(people)),
            self.column: [i % 2 for i in range(people - 1)] + [which],
        }
        columns = [Column(self.column, bounds=(0, 1), step=1)]
        if self.by is not None:
            held[self.by] = [("a", "b")[i % 2] for i in range(people)]
            columns.append(Column(self.by, keys=("a", "b")))
        return Frame.of(held, *columns, unit="person", max_rows=1, neighbours=self.neighbours)

    def _settled(self) -> None:
        settle(
            self,
            epsilon=positive(self.epsilon, "epsilon"),
            blocks=count(self.blocks, "blocks", least=2),
            level=share(self.level, "level"),
            neighbours=self.neighbours,
        )
        self._refuse_many()
        self.noise  # noqa: B018  # which refuses an ε beyond all sense
        if self.blocks > _MOST:
            raise Refusal(f"expected at most {_MOST} blocks, got {self.blocks}")
        if self.by == self.column:
            raise Refusal(f"expected groups and numbers in two columns, got {self.column!r} for both")


@registered("t-test")
@dataclass(frozen=True)
class TTest(_OfBlocks):
    """Whether a mean is `mean`; or, with `by`, whether two groups have the same mean: Student's and Welch's, in blocks.

    Guarantee: Pure(epsilon), when one person is added, removed or replaced. The p-value is valid where the test in a
        block is: for normal numbers, and about for others of which a block has many.
    Proof: docs/proofs/private-tests.md, "Tests of tests".
    Source: Kazan, Shi, Groce & Bray 2023; the count is tested as by Awan & Slavković 2018.
    """

    column: str
    epsilon: Fraction
    by: str | None = None
    mean: Fraction = Fraction(0)
    blocks: int = 40
    level: Fraction = Fraction(1, 5)
    max_rows: int = 1
    neighbours: Neighbours = AddRemove()

    def __post_init__(self) -> None:
        self._settled()
        settle(self, mean=exact(self.mean, "mean"))

    def rejects(self, values: Floats, groups: Places, known: Outline, rng: Entropy) -> bool:  # noqa: ARG002
        """By Student's t, or Welch's; a block without spread says nothing."""
        parts = [values] if self.by is None else [values[groups == place] for place in (0, 1)]
        if any(len(part) < 2 for part in parts):
            return False
        squares = [float(part.var(ddof=1)) / len(part) for part in parts]
        if not sum(squares) > 0:
            return False
        middle = float(self.mean / grid_of(known, self.column).step) if self.by is None else float(parts[1].mean())
        freedom = sum(squares) ** 2 / sum(s * s / (len(part) - 1) for s, part in zip(squares, parts, strict=True))
        t = (float(parts[0].mean()) - middle) / sum(squares) ** 0.5
        return bool(2 * stats.t.sf(abs(t), freedom) <= float(self.level))


@registered("permutation-test")
@dataclass(frozen=True)
class PermutationTest(_OfBlocks):
    """Whether the numbers of two groups have one law, by the difference of their means, permuted in blocks.

    Guarantee: Pure(epsilon), when one person is added, removed or replaced. The p-value is valid, whatever the law.
    Proof: docs/proofs/private-tests.md, "Tests of tests".
    Source: Kazan, Shi, Groce & Bray 2023; Fisher 1935; the count is tested as by Awan & Slavković 2018.
    """

    column: str
    by: str
    epsilon: Fraction
    blocks: int = 40
    level: Fraction = Fraction(1, 5)
    max_rows: int = 1
    neighbours: Neighbours = AddRemove()

    def __post_init__(self) -> None:
        self._settled()

    def rejects(self, values: Floats, groups: Places, known: Outline, rng: Entropy) -> bool:  # noqa: ARG002
        """By 199 permutations of the groups; a block with one group says nothing."""
        first = int(np.sum(groups == 0))
        if not 0 < first < len(values):
            return False
        middle = float(values.sum()) * first / len(values)  # a difference of means is a distance from it
        seen = abs(float(values[groups == 0].sum()) - middle)
        as_far, left, at_once = 0, _PERMUTED, max(1, _KEYS // len(values))
        while left:
            times = min(left, at_once)
            keys = words(times * len(values), rng=rng).reshape(times, len(values))
            sums = values[np.argsort(keys, axis=1)[:, :first]].sum(axis=1)
            as_far += int(np.sum(np.abs(sums - middle) >= seen * (1 - 1e-12)))
            left -= times
        return Fraction(1 + as_far, 1 + _PERMUTED) <= self.level
