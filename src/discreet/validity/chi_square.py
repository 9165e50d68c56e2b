"""Private chi-square tests: of shares, and of whether two columns have to do with each other."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from discreet.declared.table import Outline, keys_of
from discreet.errors import Refusal
from discreet.exact import count, positive, share, shown
from discreet.mechanisms import Column, Frame, Pair
from discreet.mechanisms.mechanism import settle
from discreet.mechanisms.private_rows import Relation
from discreet.mechanisms.registry import registered
from discreet.noise import SECURE, Entropy, laplaces
from discreet.privacy import AddRemove, Neighbours, Replace
from discreet.validity.private_tests import OfPeople, TestResult, uniforms

Floats = NDArray[np.float64]
_CELLS = 10_000


@registered("chi-square-test")
@dataclass(frozen=True)
class ChiSquareTest(OfPeople):
    """Whether the keys of a column have these shares; or, of two columns, whether they are independent.

    Noise goes to each cell of the table, and so does the same noise to each table that is drawn under the null
    hypothesis; what noise adds to a cell's variance is in the statistic.

    Guarantee: Pure(epsilon), when one person is added, removed or replaced. The level is that of a parametric
        bootstrap: it tends to the nominal one as counts grow beyond the noise; for fewer people it was simulated.
    Proof: docs/proofs/private-tests.md, "Tables".
    Source: Gaboardi, Lim, Rogers & Vadhan 2016; Kifer & Rogers 2017.
    """

    columns: tuple[str, ...]
    epsilon: Fraction
    shares: tuple[Fraction, ...] = ()
    draws: int = 999
    max_rows: int = 1
    neighbours: Neighbours = AddRemove()

    def __post_init__(self) -> None:
        settle(
            self,
            columns=tuple(self.columns),
            shares=tuple(share(each, "shares") for each in self.shares),
            epsilon=positive(self.epsilon, "epsilon"),
            draws=count(self.draws, "draws", least=19),
            neighbours=self.neighbours,
        )
        self._refuse_many()
        if len(set(self.columns)) != (1 if self.shares else 2):
            raise Refusal(
                f"expected one column with shares, or two columns without, got {shown(list(self.columns))}",
                hint="shares of one are tested, or whether two are independent",
            )
        if self.shares and sum(self.shares) != 1:
            raise Refusal(f"expected shares that add up to 1, got {shown([str(each) for each in self.shares])}")

    @property
    def columns_read(self) -> tuple[str, ...]:
        """Both, or one."""
        return self.columns

    def refuse_unfit(self, known: Outline) -> None:
        """Where keys are not declared, or are not as many as shares, or too many."""
        sides = [len(keys_of(known, name)) for name in self.columns]
        if self.shares and sides != [len(self.shares)]:
            raise Refusal(f"{self.columns[0]!r} has {sides[0]} keys, and {len(self.shares)} shares were given")
        if int(np.prod(sides)) > _CELLS or min(sides) < 2:
            raise Refusal(f"expected a table of 2 to {_CELLS} cells, at least 2 a side, got {sides}")

    @property
    def scale(self) -> Fraction:
        """Of the noise on each cell."""
        return self.moves / self.epsilon

    def __call__(self, relation: Relation, /, *, rng: Entropy = SECURE) -> TestResult:
        """The p-value. Spends `privacy`."""
        exact = relation.counts(list(self.columns))
        noisy = exact + laplaces(self.scale, exact.size, rng=rng).reshape(exact.shape)
        return self.judged(np.asarray(noisy, dtype=np.float64), rng)

    def judged(self, noisy: Floats, rng: Entropy) -> TestResult:
        """What a noisy table says: no row is looked at any more."""
        expected = self._expected(noisy[np.newaxis])[0]
        people = max(1, round(float(noisy.sum())))
        chances = expected.ravel() / expected.sum()
        drawn = multinomials(people, chances, self.draws, rng)
        noise = laplaces(self.scale, drawn.size, rng=rng).reshape(drawn.shape)
        tables = (drawn + noise).astype(np.float64).reshape(self.draws, *noisy.shape)
        seen = float(self._statistics(noisy[np.newaxis])[0])
        above = int(np.sum(self._statistics(tables) >= seen))
        says = "shares" if self.shares else "independence"
        return TestResult((1 + above) / (self.draws + 1), seen, f"chi-square of {says} of {', '.join(self.columns)}")

    def _statistics(self, tables: Floats) -> Floats:
        expected = self._expected(tables)
        spread = expected + 2 * float(self.scale) ** 2  # Laplace noise has variance 2 λ², here a little less
        axes = tuple(range(1, tables.ndim))
        return np.asarray(((tables - expected) ** 2 / spread).sum(axis=axes))

    def _expected(self, tables: Floats) -> Floats:
        """What the null hypothesis expects of each table, given its own margins."""
        total = np.maximum(tables.sum(axis=tuple(range(1, tables.ndim))), 1.0)
        if self.shares:
            return np.asarray(total[:, np.newaxis] * np.array([float(each) for each in self.shares]))
        rows, columns = (_margins(tables.sum(axis=axis)) for axis in (2, 1))
        return np.asarray(total[:, np.newaxis, np.newaxis] * rows[:, :, np.newaxis] * columns[:, np.newaxis, :])

    def pairs(self) -> tuple[Pair[Frame], ...]:
        """One person more in a corner of the table, or one that changes the corner."""
        return (Pair(_frame(self, 0), _frame(self, 1), "one person in a corner of the table, or in no or another one"),)


def _margins(sums: Floats) -> Floats:
    """Sums as shares: none is below nothing, and where all are, they are even."""
    kept = np.maximum(sums, 0.0)
    whole = kept.sum(axis=1, keepdims=True)
    return np.asarray(np.where(whole > 0, kept / np.where(whole > 0, whole, 1.0), 1 / sums.shape[1]))


def multinomials(people: int, chances: Floats, times: int, rng: Entropy) -> NDArray[np.int64]:
    """So many tables of so many people, cell by cell, each a binomial share of those who are left."""
    left, rest = np.full(times, people, dtype=np.int64), 1.0
    cells = []
    for chance in chances[:-1]:
        part = min(1.0, max(0.0, float(chance) / rest)) if rest > 0 else 0.0
        cells.append(np.asarray(stats.binom.ppf(uniforms(times, rng), left, part), dtype=np.int64))
        left, rest = left - cells[-1], rest - float(chance)
    return np.stack([*cells, left], axis=1)


def _frame(test: ChiSquareTest, which: int) -> Frame:
    sides = [tuple(f"k{i}" for i in range(max(2, len(test.shares)))) for _ in test.columns]
    replaced = isinstance(test.neighbours, Replace)
    places = ([0] if which else [1]) if replaced else [0] * which
    held: dict[str, Any] = {"person": list(range(len(places)))}
    held |= {name: [keys[place] for place in places] for name, keys in zip(test.columns, sides, strict=True)}
    columns = [Column(name, keys=keys) for name, keys in zip(test.columns, sides, strict=True)]
    return Frame.of(held, *columns, unit="person", max_rows=1, neighbours=test.neighbours)
