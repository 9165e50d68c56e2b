"""Count-mean sketches: any text of an open dictionary as one cell of one of many short rows."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Refusal
from discreet.exact import Number, count, shown
from discreet.interval_arithmetic import simpler_up, sqrt
from discreet.local.bloom import Digests, Functions, by_group, text_of, texts, written
from discreet.local.frequencies import Frequencies, Odds, Reals, simplex
from discreet.local.hadamard import walsh
from discreet.local.local_mechanism import (
    Reporter,
    Reports,
    Tally,
    Whole,
    client,
    hoeffding,
    narrowest,
    price,
    written_down,
)
from discreet.local.unary import SymmetricUnary, padded
from discreet.mechanisms import Pair, RandomizedResponse, Share
from discreet.mechanisms.mechanism import USUAL, settle
from discreet.noise import SECURE, Entropy, below, belows
from discreet.privacy.divergence import Channel

_MOST_ROWS, _MOST_WIDTH, _MOST_CELLS = 1 << 16, 1 << 16, 1 << 24
_PARTS = 1 << 20  # of reports that are drawn or added up at once
_FEWEST = 8  # differences between cells of one row, in all rows


@dataclass(frozen=True, eq=False)
class Sketched(Frequencies):
    """Counts of texts from a sketch. Standard errors cover coins, rows, and texts that share a cell by chance.

    `collisions` is what the last of these seems to add to the variance of a share. docs/proofs/sketch.md.
    """

    values: tuple[Hashable, ...] = ()
    collisions: Fraction = Fraction(0)
    rows: int = 1
    width: int = 2

    @property
    def _beyond(self) -> float:
        """Texts that share a cell."""
        return self.people**2 * float(self._shared)

    @property
    def _shared(self) -> Fraction:
        """What texts that share a cell add to the variance of a share; the most that they can where cells are few."""
        return self.collisions if self._enough else Fraction(1, self.rows * (self.width - 1))

    @property
    def _jump(self) -> float:
        """One report; or one row that a text shares with another, if that one were all that others share."""
        largest = math.sqrt(float(self.collisions) * self.rows * (self.width - 1))  # share
        return super()._jump + self.people * largest / (self.rows * (1 - 1 / self.width))

    @property
    def _coins_alone(self) -> bool:
        return self._enough and not self.collisions

    @property
    def _enough(self) -> bool:
        """Whether cells are so many that how they differ says how often texts share one."""
        return self.rows * (self.width - 1) >= _FEWEST

    def _nearly(self, far: float) -> tuple[Reals, Reals]:
        """As of other counts; but of so few cells that they tell nothing of collisions, from nobody to everybody."""
        if self._enough:
            return super()._nearly(far)
        return np.minimum(self.counts, 0), np.maximum(self.counts, self.people)

    def consistent(self) -> Reals:
        """The nearest counts that are not negative and sum to at most `people`, of whom some may hold another text.

        They are biased, and have no standard errors.
        """
        cut: Reals = np.maximum(self.counts, 0)
        return cut if cut.sum() <= self.people else simplex(self.counts, self.people)

    def __getitem__(self, value: int) -> Share:
        """The share of the text of that number, and its standard error, in exact numbers."""
        alone = super().__getitem__(value)
        return Share(alone.value, simpler_up(sqrt(alone.deviation**2 + self._shared).up))


@dataclass(frozen=True, eq=False)
class CellCounts:
    """For each row: how many reports there are, and how many of them support each of its cells."""

    reports: Whole
    supports: Whole
    inside: Odds

    @property
    def people(self) -> int:
        """In all rows."""
        return int(self.reports.sum())

    def estimate(self, values: tuple[Hashable, ...], table: Whole) -> Sketched:
        """How many people hold each text, whose cells in all rows the table has."""
        supports = self.supports[np.arange(len(self.reports)), table].sum(axis=1)
        odds = Odds(self.inside.holder, self.inside.other + self.inside.gap / self.supports.shape[1])
        return Sketched(self.people, supports, odds, values, self.collisions, *self.supports.shape)

    def overlaps(self, table: Whole, one: int) -> Reals:
        """What each share holds of that of one text, whose cells it has in some rows: 1 of itself, 0 in the mean."""
        chance = 1 / self.supports.shape[1]
        shared = (table == table[one]) @ self.reports / self.people
        overlaps: Reals = (shared - chance) / (1 - chance)
        return overlaps

    @cached_property
    def collisions(self) -> Fraction:
        """s/(rows · (width − 1)), s being how likely two people hold the same text, as uneven rows tell."""
        rows, width = self.supports.shape
        totals = self.reports[:, None]
        held = (self.supports - totals * float(self.inside.other)) / float(self.inside.gap) - totals / width
        noise = 1 + float(self.inside.variance(Fraction(1)) + (width - 1) * self.inside.variance(Fraction(0)))
        squares, even = (held**2).sum(), (self.reports.astype(np.float64) ** 2).sum() / width
        couples = float((self.reports.astype(np.float64) * (self.reports - 1)).sum())
        met = (float(squares + even) - noise * self.people) / couples if couples else 1.0  # in one cell of a row
        same = (met - 1 / width) / (1 - 1 / width)
        added: Fraction = Fraction(min(1.0, max(0.0, same))).limit_denominator(1 << 40) / int(rows * (width - 1))
        return added


@dataclass(frozen=True)
class Sketch(Reporter):
    """The public parameters: what a report loses, how many rows of how many cells, and which hash functions.

    Row j has hash function j. A person draws a row evenly and tells something about the cell of their text in it. What
    is neither text nor bytes nor whole number is refused. Errors and p-values are over the choice of the key, so draw
    one for each survey: a task does, where the key is 0.
    """

    epsilon: Fraction
    rows: int = 64
    width: int = 1024
    key: int = 0

    def __post_init__(self) -> None:
        settle(
            self, epsilon=price(self.epsilon), rows=count(self.rows, "rows"), width=count(self.width, "width", least=2)
        )
        for name, most in (("rows", _MOST_ROWS), ("width", _MOST_WIDTH)):
            if getattr(self, name) > most:
                raise Refusal(f"expected {name} <= {most}, got {name}={shown(getattr(self, name))}")
        if self.rows * self.width > _MOST_CELLS:
            raise Refusal(f"expected at most 2^24 cells in all rows, got {self.rows * self.width}")
        settle(self, key=self.functions.key)

    @cached_property
    def functions(self) -> Functions:
        """One for each row."""
        return Functions(self.width, self.key)

    @property
    @abstractmethod
    def inside(self) -> Odds:
        """How likely a report supports a cell of its row: the cell of its holder's text, and another."""

    @property
    def odds(self) -> Odds:
        """How likely a report supports a text, over its coins and the choice of hash functions."""
        return Odds(self.inside.holder, self.inside.other + self.inside.gap / self.width)

    @abstractmethod
    def told(self, rows: Whole, held: Whole, rng: Entropy) -> Reports:
        """What people tell who drew these rows and have these cells in them."""

    @abstractmethod
    def supports(self, counts: Whole) -> Whole:
        """For each row and cell, how many reports support it, from a tally's sums without those of the first column."""

    def digests(self, values: Iterable[object]) -> Digests:
        """What the hash functions see of some texts."""
        return self.functions.digests([text_of(written(value)) for value in values])

    def _truths(self, given: NDArray[np.generic]) -> Whole:
        return self.functions.digests([text_of(text) for text in texts(given)])

    def randomize(self, truths: Whole, rng: Entropy) -> Reports:
        """A report for each, in arrays."""
        rows = belows(self.rows, len(truths), rng=rng)
        held = [self.functions.cell(text.tobytes(), row) for text, row in zip(truths, rows.tolist(), strict=True)]
        return self.told(rows, np.array(held, dtype=np.int64), rng)

    def __call__(self, value: object, /, *, rng: Entropy = SECURE) -> Any:  # noqa: ANN401  # as each sends it
        """One person's report."""
        row = below(self.rows, rng=rng)
        return self.said(row, self.functions.cell(self.digests([value])[0].tobytes(), row), rng)

    @abstractmethod
    def said(self, row: int, held: int, rng: Entropy) -> Any:  # noqa: ANN401  # as each sends it
        """What one person tells who drew this row and has this cell in it."""

    @property
    def _nothing(self) -> Whole:
        return np.zeros(self.rows * (1 + self.width), dtype=np.int64)

    def kept(self, tally: Tally) -> CellCounts:
        """What the reports say about every cell of every row."""
        sums = self.understood(tally).counts.reshape(self.rows, 1 + self.width)
        return CellCounts(sums[:, 0], self.supports(sums), self.inside)

    def estimate(self, tally: Tally, values: Iterable[Hashable] = ()) -> Sketched:
        """How many people hold each of these texts: unbiased over coins and hash functions, with standard errors."""
        asked = tuple(values)
        return self.kept(tally).estimate(asked, self.functions.table(self.digests(asked), self.rows))

    def pairs(self) -> tuple[Pair[str], ...]:
        """Two texts that share a cell in few rows."""
        some = [str(number) for number in range(16)]
        table = self.functions.table(self.digests(some), min(self.rows, 64))
        apart = (table != table[0]).sum(axis=1)
        return (Pair(some[0], some[int(np.argmax(apart))], "a person with one text, and with another"),)

    def error(self, confidence: Number = USUAL, people: int = 1) -> Fraction:
        """An α such that the share of a given text, from so many people, is within α; texts in its cells aside."""
        return hoeffding(count(people, "people"), confidence) / self.odds.gap


@client("count-mean-sketch")
@dataclass(frozen=True)
class CountMeanSketch(Sketch):
    """Tells the row, and a bit for each of its cells, each flipped on its own.

    Guarantee: Pure(epsilon) for any two texts of the person who reports, whoever reads the report.
    Proof: the row does not depend on the text; given it, the report is a `SymmetricUnary` on the text's cell
        (docs/proofs/sketch.md).
    Source: Differential Privacy Team, Apple 2017, *Learning with privacy at scale*, Algorithm A_client-CMS.
    """

    @cached_property
    def mechanism(self) -> SymmetricUnary:
        """How a cell is told."""
        return SymmetricUnary(self.epsilon, self.width)

    @property
    def inside(self) -> Odds:
        """A report supports the cells whose bit is set."""
        return self.mechanism.odds

    @property
    def form(self) -> np.dtype[Any]:
        """The row in 1 or 2 bytes, little end first, then ⌈width/8⌉ bytes: cell c is bit c mod 8 of byte c div 8."""
        return np.dtype((np.uint8, (self._head + -(-self.width // 8),)))

    @property
    def _head(self) -> int:
        return narrowest(self.rows).itemsize

    @property
    def _together(self) -> int:
        return max(_PARTS, 4 * self.rows * self.width) // self.width

    def channel(self, values: Iterable[Hashable], row: int = 0) -> Channel[Hashable, bytes]:
        """All probabilities of the bits, given the row, which is drawn without a look at the text."""
        asked = list(values)
        written_down(self.width << min(64, self.width))
        law = self.mechanism.channel()
        held = [self.functions.cell(text.tobytes(), row) for text in self.digests(asked)]
        return Channel({value: law[cell] for value, cell in zip(asked, held, strict=True)})

    def said(self, row: int, held: int, rng: Entropy) -> bytes:
        """What one person tells who drew this row and has this cell in it."""
        return row.to_bytes(self._head, "little") + self.mechanism(held, rng=rng)

    def told(self, rows: Whole, held: Whole, rng: Entropy) -> Reports:
        """What people tell who drew these rows and have these cells in them."""
        head = rows.astype(narrowest(self.rows)).reshape(-1, 1).view(np.uint8)
        return np.hstack([head, self.mechanism.randomize(held, rng)])

    def _row(self, reports: Reports) -> Whole:
        head = np.ascontiguousarray(reports[:, : self._head])
        return head.view(narrowest(self.rows)).reshape(-1).astype(np.int64)

    def strange(self, reports: Reports) -> NDArray[np.bool_]:
        """Which reports no run of this client can have sent."""
        return np.asarray((self._row(reports) >= self.rows) | padded(reports, self.width))

    def unlikely(self, reports: Reports) -> NDArray[np.bool_]:
        """Those that set too many cells, or too few."""
        return self.mechanism.unlikely(reports[:, self._head :])

    def sums(self, reports: Reports) -> Whole:
        """For each row, how many reports there are, and in how many each cell is set."""
        return by_group(self._row(reports), reports[:, self._head :], self.rows, self.width).reshape(-1)

    def supports(self, counts: Whole) -> Whole:
        """The bits that are set."""
        return counts[:, 1:]


@client("hadamard-sketch")
@dataclass(frozen=True)
class HadamardSketch(Sketch):
    """Tells the row, and one randomized bit of the Hadamard transform of the text's cell: reports of a few bytes.

    Guarantee: Pure(epsilon) for any two texts of the person who reports, whoever reads the report.
    Proof: row and coordinate do not depend on the text; given both, the report is a `RandomizedResponse` on one bit
        (docs/proofs/sketch.md).
    Source: Differential Privacy Team, Apple 2017, *Learning with privacy at scale*, Algorithm A_client-HCMS.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.width & (self.width - 1):
            raise Refusal(f"expected width as a power of two, got width={self.width}")

    @cached_property
    def mechanism(self) -> RandomizedResponse:
        """The law of the bit."""
        return RandomizedResponse(self.epsilon)

    @property
    def inside(self) -> Odds:
        """A report supports the cells whose entry in its coordinate it tells: of those not held, half."""
        return Odds(self.mechanism.truth, Fraction(1, 2))

    @property
    def form(self) -> np.dtype[Any]:
        """2 · (row · width + coordinate) + bit in the fewest of 1, 2 or 4 bytes, little end first."""
        return narrowest(2 * self.rows * self.width)

    @property
    def _together(self) -> int:
        return max(1 << 15, self.rows * self.width)

    def channel(self, values: Iterable[Hashable], row: int = 0) -> Channel[Hashable, int]:
        """All probabilities of all reports, given the row, which is drawn without a look at the text."""
        asked, law = list(values), self.mechanism.channel
        written_down(2 * self.width * len(asked))
        held = [self.functions.cell(text.tobytes(), row) for text in self.digests(asked)]
        return Channel({
            value: {
                2 * (row * self.width + at) + bit: p / self.width
                for at in range(self.width)
                for bit, p in law[(at & cell).bit_count() & 1].items()
            }
            for value, cell in zip(asked, held, strict=True)
        })  # fmt: skip

    def said(self, row: int, held: int, rng: Entropy) -> int:
        """What one person tells who drew this row and has this cell in it."""
        at = below(self.width, rng=rng)
        return 2 * (row * self.width + at) + self.mechanism((at & held).bit_count() & 1, rng=rng)

    def told(self, rows: Whole, held: Whole, rng: Entropy) -> Reports:
        """What people tell who drew these rows and have these cells in them."""
        at = belows(self.width, rows.size, rng=rng)
        bit = self.mechanism.each(np.bitwise_count(at & held) & np.uint8(1), rng=rng)
        return (2 * (rows * self.width + at) + bit).astype(self.form)

    def strange(self, reports: Reports) -> NDArray[np.bool_]:
        """Which reports no run of this client can have sent."""
        return np.asarray(reports >= 2 * self.rows * self.width)

    def sums(self, reports: Reports) -> Whole:
        """For each row, how many reports there are, and how many more told the entry 1 than −1 of each coordinate."""
        said = np.bincount(reports, minlength=2 * self.rows * self.width).reshape(self.rows, self.width, 2)
        told = said[:, :, 0] - said[:, :, 1]
        return np.hstack([said.sum(axis=(1, 2))[:, None], told]).reshape(-1)

    def supports(self, counts: Whole) -> Whole:
        """(reports + Σ over coordinates of sum · entry) / 2 for each cell."""
        return np.stack([(row[0] + walsh(row[1:])) // 2 for row in counts])
