"""Net mechanism: of all small tables the one that answers a family of counts most like the data, chosen privately.

The net are all multisets of so many rows over a small domain. Each is scored by its worst answer, and the exponential
mechanism chooses (Blum, Ligett & Roth 2008). All of them are written out: what does not fit is refused with its size.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import combinations, product
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.declared.grid import Integers, whole
from discreet.errors import Refusal
from discreet.exact import Number, count, positive, share, shown
from discreet.interval_arithmetic import Interval, log
from discreet.mechanisms import Exponential, Pair
from discreet.mechanisms.mechanism import USUAL, Takes, settle
from discreet.noise import SECURE, Entropy, laplace
from discreet.privacy import AddRemove, Neighbours, Pure
from discreet.privacy.calibrate import laplace_error
from discreet.release.interval_tree import Whole
from discreet.release.net_rows import NetRows
from discreet.release.noisy_cells import Measured, Names, released

MOST_CELLS = 32  # of a domain: the net grows beyond all bounds with them
MOST_TABLES = 1 << 21  # of a net: each is written out and scored
MOST_QUERIES = 4096
_MOST_SCORE = 1 << 58  # differences of two of them still fit


@dataclass(frozen=True)
class ChosenRows:
    """What a net tells: how many of its rows lie in each cell, and how many records there are in all."""

    rows: tuple[int, ...]
    records: int


@released("net")
@dataclass(frozen=True)
class Net:
    """Chooses a table of `rows` rows over cells of `shape` that answers `queries` most like the data.

    A query is a set of cells, as bits of one number, the last axis fastest; its answer is how many records lie in them.
    `ratio` of ε buys how many records there are; each chosen row stands for as many as they are more.

    Guarantee: Pure(epsilon) for counts that differ by at most `distance` records in all.
    Proof: docs/proofs/net.md, Theorem 1.
    Source: Blum, Ligett & Roth 2008, Section 4: pure ε, and exponential time.
    """

    takes: ClassVar[Takes] = Takes.COUNTS

    epsilon: Fraction
    shape: tuple[int, ...]
    queries: tuple[int, ...]
    rows: int
    most: int = 1
    ratio: Fraction = Fraction(1, 5)
    neighbours: Neighbours = AddRemove()

    def __post_init__(self) -> None:
        settle(
            self,
            epsilon=positive(self.epsilon, "epsilon"),
            shape=_shaped(self.shape),
            queries=_asked(self.queries, self.shape),
            rows=count(self.rows, "rows"),
            most=count(self.most, "most"),
            ratio=share(self.ratio, "ratio"),
            neighbours=self.neighbours,
        )
        if self.size > MOST_TABLES:
            fits = next((m for m in range(self.rows, 0, -1) if tables_of(m, self.cells) <= MOST_TABLES), 0)
            raise Refusal(
                f"the net has {self.size:,} tables of {self.rows} rows over {self.cells} cells, more than "
                f"{MOST_TABLES:,}, and all of them would be written out",
                hint=f"at most {fits} rows, or fewer cells: this mechanism is for very small domains",
            )

    @property
    def privacy(self) -> Pure:
        """ε as asked for."""
        return Pure(self.epsilon)

    @property
    def cells(self) -> int:
        """How many there are."""
        return math.prod(self.shape)

    @property
    def numbers(self) -> int:
        """How many it tells at most: each row's cell, and the total."""
        return self.rows + 1

    @property
    def size(self) -> int:
        """How many tables the net has."""
        return tables_of(self.rows, self.cells)

    @property
    def about(self) -> str:
        """Of what its error speaks."""
        share = float(100 * self.radius)
        far = f"{math.ceil(share * 10) / 10:g} % of all records"
        return f"the worst answer, beyond that of the nearest table of {self.rows} rows, which is off by at most {far}"

    @property
    def distance(self) -> int:
        """How far the counts of neighbours are apart: replacing a unit takes its records and brings others."""
        return self.most if isinstance(self.neighbours, AddRemove) else 2 * self.most

    @property
    def total_scale(self) -> Fraction:
        """Of the noise on how many records there are."""
        return self.distance / (self.ratio * self.epsilon)

    @cached_property
    def choice(self) -> Exponential:
        """What chooses: a score is how far off the worst answer is, times the number of rows."""
        return Exponential((1 - self.ratio) * self.epsilon, self.size, self.rows * self.distance)

    @cached_property
    def radius(self) -> Fraction:
        """How far off, as a share of all records, the worst answer of the nearest table of the net is at most."""
        return radius(self.rows, self.cells, different(self.queries, self.cells))

    def error(self, confidence: Number = USUAL) -> Fraction:
        """How many records further off than the nearest table of the net the chosen one is at most, so confidently.

        Exact for this net, and data-free. What comes to it from the number of rows and of records, `reach` says.
        """
        return Fraction(self.choice.error(confidence), self.rows)

    def reach(self, records: int, confidence: Number = USUAL) -> Fraction:
        """How far off all answers together are at most, so confidently, where so many records were told.

        docs/proofs/net.md, Theorem 2. A function of what was bought.
        """
        each = 1 - (1 - share(confidence, "confidence")) / 2
        away = max(1, laplace_error(self.total_scale, each))
        return self.error(each) + self.radius * (max(1, records) + away) + away

    def records_error(self, confidence: Number = USUAL) -> int:
        """How far off the number of records is at most."""
        return max(1, laplace_error(self.total_scale, confidence))

    def tables(self, columns: Names) -> tuple[Names, ...]:
        """One table, of all columns."""
        return (columns,)

    def bins_at(self, place: int) -> int:  # noqa: ARG002  # of those that choose
        """No bins of its own."""
        return 0

    def pairs(self) -> tuple[Pair[Whole], ...]:
        """All of a unit's records in one cell of none, at either end; and beside many others."""
        none, first, last = (np.zeros(self.shape, dtype=np.int64) for _ in range(3))
        first.flat[0] = last.flat[-1] = self.distance
        even = np.full(self.shape, 3, dtype=np.int64)
        more = even.copy()
        more.flat[0] += self.distance
        return (
            Pair(none, first, "the first cell takes the whole distance"),
            Pair(none, last, "the last cell takes the whole distance"),
            Pair(even, more, "every cell is as high as the others, and the first gets more"),
        )

    def __call__(self, counts: Integers, /, *, rng: Entropy = SECURE) -> ChosenRows:
        """The chosen table."""
        values = self._counted(counts)
        bought = int(values.sum()) + laplace(self.total_scale, rng=rng)
        records = min(max(bought, 1), self._largest)
        chosen = self.choice(self.scores(values, records), rng=rng)
        return ChosenRows(tuple(_net(self.rows, self.cells)[chosen].tolist()), records)

    def law(self, counts: Integers, records: int) -> tuple[Interval, ...]:
        """How likely each table is chosen, so many records bought. As private as the counts: for proofs and audits."""
        return self.choice.law(self.scores(self._counted(counts), records))

    def scores(self, values: Whole, records: int) -> NDArray[np.int64]:
        """Of each table of the net: minus how far off its worst answer is, times the number of rows."""
        net, flat = _net(self.rows, self.cells), values.ravel()
        worst = np.zeros(len(net), dtype=np.int64)
        for query in self.queries:
            inside = _inside(query, self.cells)
            off = net[:, inside].sum(axis=1, dtype=np.int64) * records - self.rows * int(flat[inside].sum())
            np.maximum(worst, np.abs(off), out=worst)
        return -worst

    def measure(self, counts: Callable[[Names], Whole], columns: Names, rng: Entropy) -> Measured:
        """What it tells of all columns together, with how far off its answers are."""
        told = self(counts(columns), rng=rng)
        reach, away = math.ceil(self.reach(told.records)), self.records_error()
        return Measured(NetRows(self.shape, told.rows, told.records, self.queries, reach, away))

    @property
    def _largest(self) -> int:
        return _MOST_SCORE // self.rows

    def _counted(self, counts: Integers) -> Whole:
        """The counts in their shape, clamped so that scores fit: neighbours come no further apart by that."""
        values = whole(counts, self._largest // self.cells)
        if values.shape != self.shape:  # public
            raise Refusal(f"expected counts of shape {self.shape}, got {values.shape}")
        return values


def tables_of(rows: int, cells: int) -> int:
    """How many multisets of so many rows there are."""
    return math.comb(rows + cells - 1, rows)


def radius(rows: int, cells: int, queries: int) -> Fraction:
    """How far off a share is at most in the nearest table of so many rows, rounded up (docs/proofs/net.md, Lemma)."""
    rounded = Fraction(cells, 4 * rows)
    return min(rounded, (log(2 * queries) / (2 * rows)).sqrt().up)


def rows_for(within: Number, cells: int, queries: int) -> int:
    """The fewest rows whose nearest table is so near, as a share of all records."""
    near = share(within, "within")
    most = math.ceil(cells / (4 * near))
    return min(most, max(1, math.ceil(log(2 * queries).up / (2 * near**2))))


def different(queries: Iterable[int], cells: int) -> int:
    """How many there are, a set of cells and the set of all others counted as one."""
    return len({min(query, query ^ ((1 << cells) - 1)) for query in queries})


def tables_up_to(shape: Sequence[int], ways: int) -> tuple[int, ...]:
    """The cells of all tables of up to so many columns, as queries: every conjunction of that many equalities."""
    known = {
        _bits(shape, dict(zip(axes, keys, strict=True)))
        for many in range(1, ways + 1)
        for axes in combinations(range(len(shape)), many)
        for keys in product(*(range(shape[axis]) for axis in axes))
    }
    return _telling(known, math.prod(shape))


def ranges_of(cells: int) -> tuple[int, ...]:
    """All ranges along a line, as queries."""
    return _telling((((1 << high) - 1) ^ ((1 << low) - 1) for low, high in combinations(range(cells + 1), 2)), cells)


def _telling(queries: Iterable[int], cells: int) -> tuple[int, ...]:
    """Those that are neither about no cell nor about all."""
    return tuple(sorted(query for query in set(queries) if 0 < query < (1 << cells) - 1))


def _bits(shape: Sequence[int], where: dict[int, int]) -> int:
    places = np.ones(tuple(shape), dtype=bool)
    for axis, key in where.items():
        own = np.zeros(shape[axis], dtype=bool)
        own[key] = True
        places &= own.reshape([-1 if i == axis else 1 for i in range(len(shape))])
    return sum(1 << int(cell) for cell in np.flatnonzero(places))


def _shaped(shape: object) -> tuple[int, ...]:
    if not isinstance(shape, tuple) or not shape:
        raise Refusal(f"expected a shape of whole numbers, got shape={shown(shape)}")
    sides = tuple(count(side, "shape") for side in shape)
    if not 2 <= math.prod(sides) <= MOST_CELLS:
        raise Refusal(
            f"a net is over 2 to {MOST_CELLS} cells, got {math.prod(sides)}: shape={shown(shape)}",
            hint="fewer columns, fewer keys or wider bins; for larger domains take marginals",
        )
    return sides


def _asked(queries: object, shape: tuple[int, ...]) -> tuple[int, ...]:
    given = queries if isinstance(queries, tuple) else ()
    everything = (1 << math.prod(shape)) - 1
    right = all(type(each) is int and 0 < each < everything for each in given)
    if not given or not right or len(set(given)) < len(given) or len(given) > MOST_QUERIES:
        raise Refusal(
            f"expected queries as 1 to {MOST_QUERIES} different sets of cells, none of them empty or whole, "
            f"got queries={shown(queries)}",
            hint="as bits: 5 is the first cell and the third",
        )
    return given


@lru_cache(maxsize=MOST_QUERIES)
def _inside(query: int, cells: int) -> NDArray[np.int64]:
    return np.array([cell for cell in range(cells) if query >> cell & 1])


@lru_cache(maxsize=4)
def _net(rows: int, cells: int) -> NDArray[np.int16]:
    """All tables: how many rows lie in each cell. Column by column, each with all that may be left for it."""
    left, net = np.array([rows]), np.zeros((1, 0), dtype=np.int16)
    for _ in range(cells - 1):
        again = np.repeat(np.arange(left.size), left + 1)
        own = np.arange(again.size) - np.repeat(np.cumsum(left + 1) - left - 1, left + 1)
        net, left = np.column_stack([net[again], own.astype(np.int16)]), left[again] - own
    net = np.column_stack([net, left.astype(np.int16)])
    net.setflags(write=False)
    return net
