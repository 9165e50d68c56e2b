"""Mechanisms that synthesise rows: which tables they measure, and at what share of the price.

All begin with the table of each column alone, at a share of ρ, and merge cells that hold too little to be seen beside
the noise. What they measure next is what tells them apart; then a model is fitted, and rows are drawn from it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any, ClassVar

import numpy as np

from discreet.errors import Refusal
from discreet.exact import Number, count, positive, share, shown
from discreet.mechanisms.mechanism import USUAL, Pair, Takes, settle
from discreet.mechanisms.sealed_stages import UNSEALED, Stages
from discreet.noise import SECURE, Entropy
from discreet.noise.vector import LARGEST, SMALLEST
from discreet.privacy import AddRemove, Concentrated, Neighbours
from discreet.release.interval_tree import Reals, Whole
from discreet.release.marginals.domain import Axes, Domain
from discreet.release.marginals.plan import exactly
from discreet.release.marginals.residual_and_fourier import added_or_removed
from discreet.release.noisy_cells import Measured, Names, released
from discreet.release.synthetic.coded_records import Records
from discreet.release.synthetic.compression import Compression
from discreet.release.synthetic.fit import EVEN, NoisyTable, total_of
from discreet.release.synthetic.impossible import Impossible, Rule
from discreet.release.synthetic.junction_tree import JunctionTree
from discreet.release.synthetic.noisy_measurements import Measuring
from discreet.release.synthetic.structure import as_if_independent, by_chance, clique_tree, pairs_of, spanning_tree
from discreet.release.synthetic.synthesis_result import MOST_MODEL, MOST_ROWS, Synthesis

MOST_COLUMNS = 128
_MANY = 1 << 32  # parts of ρ, at most so small
MOST_PAIRS = 1 << 26  # cells of all pairs of columns together: they are counted, and then some are merged
_MOST_TRIPLE = 1 << 20  # cells of a triple that is counted: those are held as well, and what is merged is not known yet

Given = Callable[[Names], Any] | Mapping[Names, Any]


@dataclass(frozen=True)
class _Synthesiser(ABC):
    """Public parameters: columns and their sizes, the price, how many records a unit has at most, how many rows."""

    takes: ClassVar[Takes] = Takes.COUNTS
    about: ClassVar[str] = "any count"
    even: ClassVar[float] = EVEN  # how far its fit is pulled towards an even model

    columns: tuple[str, ...]
    sizes: tuple[int, ...]
    rho: Fraction
    most: int = 1
    neighbours: Neighbours = AddRemove()
    rows: int = 0  # that are drawn; 0 for as many as there seem to be records
    along: tuple[int, ...] = ()  # for each column how many of its cells, the first ones, lie along a line; none else
    never: tuple[Rule, ...] = ()  # which combinations of cells no row has
    quantiles: tuple[int, ...] = ()  # for each column how many groups of equal counts its line is cut into; 0 for none

    def __post_init__(self) -> None:
        domain = Domain(self.columns, self.sizes)
        rho, most = positive(self.rho, "rho"), count(self.most, "most")
        settle(self, sizes=domain.sizes, rho=rho, most=most, neighbours=added_or_removed(self.neighbours))
        settle(self, rows=count(self.rows, "rows", least=0))
        settle(self, along=_lines(self.along, domain, "along"), quantiles=_lines(self.quantiles, domain, "quantiles"))
        settle(self, never=Impossible(domain, self.never).rules)
        if len(domain.columns) > MOST_COLUMNS:
            raise Refusal(f"expected at most {MOST_COLUMNS} columns, got {len(domain.columns)}")
        if sum(domain.sizes) > MOST_MODEL:
            raise Refusal(f"expected sizes that add up to at most {MOST_MODEL}, got {sum(domain.sizes)}")
        if self.rows > MOST_ROWS:
            raise Refusal(f"expected rows <= {MOST_ROWS}, got rows={self.rows}", hint="draw more from the model")
        variance = Fraction(most**2) / (2 * rho)
        if not variance >= SMALLEST**2 or not variance * _MANY * MOST_COLUMNS**2 <= LARGEST**2:
            raise Refusal(f"expected another price for {most} records: no noise is known for rho={float(rho):g}")

    @property
    def privacy(self) -> Concentrated:
        """ρ as asked for."""
        return Concentrated(self.rho)

    @property
    def domain(self) -> Domain:
        """Columns and sizes."""
        return Domain(self.columns, self.sizes)

    @property
    def numbers(self) -> int:
        """The cells that a model has at most."""
        return sum(self.sizes)

    def tables(self, columns: Names) -> tuple[Names, ...]:
        """All columns together."""
        return (columns,)

    @property
    def deviation_alone(self) -> float:
        """The largest that the noise in a count of one column alone may have, where no stage is forfeited."""
        return self.most * math.sqrt(len(self.sizes) / (2 * float(self._least_alone * self.rho)))

    @property
    def _least_alone(self) -> Fraction:
        """The part of ρ that measures columns alone, at least."""
        return Fraction(1)

    def bins_at(self, place: int) -> int:  # noqa: ARG002  # of those that choose
        """No bins of its own."""
        return 0

    def measure(
        self,
        counts: Callable[[Names], Whole],
        columns: Names,  # noqa: ARG002  # those that it has
        rng: Entropy,
        stages: Stages = UNSEALED,
    ) -> Measured:
        """The synthesis."""
        return Measured(self(counts, rng=rng, stages=stages))

    def error(self, confidence: Number = USUAL) -> None:
        """It depends on the data: known after paying."""
        share(confidence, "confidence")

    def pairs(self) -> tuple[Pair[Records], ...]:
        """One unit's records where there are none, and beside others that agree with it in nothing."""
        first, last = (0,) * len(self.sizes), tuple(size - 1 for size in self.sizes)
        one, crowd = (first,) * self.most, (last,) * 9
        return (
            Pair(self._records(()), self._records(one), "no records at all, or all of one unit in the first cells"),
            Pair(self._records(crowd), self._records(crowd + one), "some records in the last cells, or one unit more"),
        )

    def _records(self, cells: tuple[tuple[int, ...], ...]) -> Records:
        return Records(self.columns, self.sizes, cells)

    def __call__(self, counts: Given, /, *, rng: Entropy = SECURE, stages: Stages = UNSEALED) -> Synthesis:
        """The synthesis. `counts` gives for a tuple of columns the whole counts of each combination of their cells.

        Each measurement is one of the `stages`.
        """
        given = counts if callable(counts) else counts.__getitem__
        measuring = Measuring(self.domain, given, self.most, self.rho, rng, stages)
        merging, tables = self.measured(measuring)
        never = Impossible(self.domain, self.never)
        return Synthesis.of(merging, tables, self.rows, rng=rng, heard=stages.hear, never=never, even=self.even)

    @abstractmethod
    def measured(self, measuring: Measuring) -> tuple[Compression, list[NoisyTable]]:
        """Which cells were merged, and the noisy tables over what is left."""

    def _groups(self, total: float) -> int:
        """How many groups of cells along a line are left, where there seem to be so many records."""
        return _groups_of(total, deviation) if (deviation := self._deviation()) else max(self.sizes)

    def _deviation(self) -> float:
        """About that of the noise in a cell of a pair."""
        pairs, part = self._pairs()
        return self.most * math.sqrt(pairs / (2 * part * float(self.rho)))

    def _pairs(self) -> tuple[int, float]:
        """About how many pairs of columns are measured, and at what part of ρ; by default cells are left alone."""
        return 0, 1.0

    def _plenty(self, measuring: Measuring) -> float:
        """How many records there seem to be for each deviation of the noise in a cell of a pair."""
        return max(1, int(measuring.table((), self.rho / 100).counts)) / self._deviation()

    def _first(self, plenty: float, enough: int) -> Fraction:
        """The part of ρ for columns alone: the least where there is enough, more of it where noise hides pairs."""
        grown = round(100 * float(self._least_alone) * math.sqrt(enough / plenty))
        return max(self._least_alone, min(_MOST_FIRST, Fraction(grown, 100)))

    def _alone(self, measuring: Measuring, part: Fraction) -> tuple[Compression, list[NoisyTable]]:
        """The table of each column alone, at equal shares of a part of ρ, and the cells to be merged."""
        singles = [measuring.table((i,), part * self.rho / len(self.sizes)) for i in range(len(self.sizes))]
        groups = self._groups(total_of(singles))
        measuring.merging = merging = Compression.of(self.domain, singles, self.along, groups, self.quantiles)
        return merging, [merging.merged_table(table) for table in singles]


def _groups_of(total: float, deviation: float) -> int:
    """How many groups of cells along a line two columns have, so that a cell of theirs holds so many deviations.

    Fewer would hide what the noise lets be seen; more would be measured for nothing.
    """
    return min(_MOST_GROUPS, max(_FEWEST_GROUPS, round(math.sqrt(total / (_IN_A_CELL * deviation)))))


def _lines(given: object, domain: Domain, name: str) -> tuple[int, ...]:
    """Some of the cells of each column, if there are as many."""
    if isinstance(given, tuple) and len(given) in (0, len(domain.sizes)):
        lines = tuple(count(line, name, least=0) for line in given)
        if all(line <= size for line, size in zip(lines, domain.sizes, strict=False)):
            return lines
    raise Refusal(f"expected {name} as a tuple, for each column at most its size, got {name}={shown(given)}")


def _expected(singles: Sequence[NoisyTable], pairs: Iterable[Axes]) -> dict[Axes, Reals]:
    """What noisy tables of single columns expect of pairs if columns knew nothing of each other."""
    total = total_of(singles)
    shares = []
    for table in singles:
        counts = np.maximum(table.counts, 0).astype(np.float64)
        shares.append(counts / counts.sum() if counts.sum() > 0 else np.full(counts.size, 1 / counts.size))
    return {axes: as_if_independent(shares, total, axes) for axes in pairs}


def _together(
    measuring: Measuring, domain: Domain, tables: Sequence[Axes], power: float, rho: Fraction
) -> list[NoisyTable]:
    """Tables that share ρ by a power of their cells: large ones need more, for the noise of their cells adds up."""
    parts = exactly([domain.cells(axes) ** power for axes in tables]) if tables else ()
    return [measuring.table(axes, part * rho) for axes, part in zip(tables, parts, strict=True)]


def _refuse_pairs(sizes: Sequence[int]) -> None:
    """Before anything is paid: a relation would refuse to count them, or the memory would end."""
    pairs = (sum(sizes) ** 2 - sum(size**2 for size in sizes)) // 2
    if pairs > MOST_PAIRS:
        raise Refusal(
            f"all pairs of columns together have {pairs:,} cells, more than {MOST_PAIRS:,}, and all would be counted",
            hint="take fewer columns, fewer keys or wider bins; or columns alone, by the method independent",
        )


@released("independent-synthesis")
@dataclass(frozen=True)
class IndependentSynthesis(_Synthesiser):
    """Measures each column alone and draws rows in which columns know nothing of each other.

    Guarantee: Concentrated(rho), when the records of one unit are added or removed.
    Proof: docs/proofs/synthetic.md, "What is paid".
    Source: Canonne, Kamath & Steinke 2020, Theorem 4, for the noise.
    """

    def measured(self, measuring: Measuring) -> tuple[Compression, list[NoisyTable]]:
        """Columns alone."""
        return self._alone(measuring, Fraction(1))


@released("direct-synthesis")
@dataclass(frozen=True)
class DirectSynthesis(_Synthesiser):
    """Measures the table of all columns together and draws rows from that: for few cells.

    Guarantee: Concentrated(rho), when the records of one unit are added or removed.
    Proof: docs/proofs/synthetic.md, "What is paid".
    Source: Canonne, Kamath & Steinke 2020, Theorem 4, for the noise.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.numbers > MOST_MODEL:
            raise Refusal(
                f"all columns together have {self.numbers} cells, more than {MOST_MODEL}, got sizes={self.sizes}",
                hint="take another method",
            )

    @property
    def numbers(self) -> int:
        """The cells of the one table."""
        return math.prod(self.sizes)

    @property
    def deviation_alone(self) -> float:
        """That of a sum over the cells of the most that have one value of a column in common."""
        return self.most * math.sqrt(self.numbers / min(self.sizes) / (2 * float(self.rho)))

    def measured(self, measuring: Measuring) -> tuple[Compression, list[NoisyTable]]:
        """Everything at once; nothing is merged."""
        table = measuring.table(tuple(range(len(self.sizes))), self.rho)
        return Compression.none(self.domain), [table]


@released("spanning-tree-synthesis")
@dataclass(frozen=True)
class SpanningTreeSynthesis(_Synthesiser):
    """Measures pairs of columns that join all of them, each chosen because it is far from independent.

    A hundredth of ρ measures how many records there are. By that, 1/4 to 3/5 of ρ measure columns alone. 3/20 choose
    the pairs by the exponential mechanism, the rest measures them.

    Guarantee: Concentrated(rho), when the records of one unit are added or removed.
    Proof: docs/proofs/synthetic.md, "What is paid".
    Source: McKenna, Miklau & Sheldon 2021 (MST); McKenna, Sheldon & Miklau 2019 for the model; bounded range of the
        exponential mechanism: Cesar & Rogers 2021.
    """

    even: ClassVar[float] = 0.2  # chosen on public sets

    def __post_init__(self) -> None:
        super().__post_init__()
        _refuse_pairs(self.sizes)

    @property
    def _least_alone(self) -> Fraction:
        return Fraction(1, 4)

    def _pairs(self) -> tuple[int, float]:
        return max(1, len(self.sizes) - 1), 0.6

    def measured(self, measuring: Measuring) -> tuple[Compression, list[NoisyTable]]:
        """Columns alone, then the pairs of a tree."""
        merging, singles = self._alone(measuring, self._first(self._plenty(measuring), _PLENTY_OF_PAIRS))
        pairs = pairs_of(merging.domain)
        if not pairs:
            return merging, singles
        expected = _expected(singles, pairs)
        chosen = spanning_tree(measuring, expected, len(self.sizes), Fraction(3, 20) * self.rho)
        return merging, [*singles, *_together(measuring, merging.domain, chosen, 0.0, measuring.left)]


@released("clique-tree-synthesis")
@dataclass(frozen=True)
class CliqueTreeSynthesis(_Synthesiser):
    """Measures pairs and triples of columns within the cliques of one tree, chosen at once from noisy distances.

    A hundredth of ρ measures how many records there are. By that, 3/20 to 3/5 of ρ measure columns alone. 1/20 measures
    all pairs' distances from independence. The tree holds pairs of
    much distance, in at most `cells` numbers. Half of the rest measures all pairs that lie in one of its
    cliques, the other half triples of few cells. Where no pair is seen to be far from independent, the rest measures
    the columns alone once more.

    Guarantee: Concentrated(rho), when the records of one unit are added or removed.
    Proof: docs/proofs/synthetic.md, "What is paid".
    Source: the model is that of McKenna, Sheldon & Miklau 2019; a tree of cliques from noisy distances as in PrivSyn
        (Zhang et al. 2021) and later work.
    """

    cells: int = 2_000_000

    def __post_init__(self) -> None:
        super().__post_init__()
        _refuse_pairs(self.sizes)
        settle(self, cells=count(self.cells, "cells"))
        if self.cells > MOST_MODEL:
            raise Refusal(f"expected cells <= {MOST_MODEL}, got cells={self.cells}")

    @property
    def numbers(self) -> int:
        """The cells of the model, but for columns alone."""
        return max(min(self.cells, math.prod(self.sizes)), sum(self.sizes))

    @property
    def _least_alone(self) -> Fraction:
        return Fraction(3, 20)

    def _pairs(self) -> tuple[int, float]:
        return 3 * len(self.sizes), 0.4

    def _room(self, plenty: float) -> int:
        """The cells of the tree, only where noise is little as many as may be: in more, more tables share the price."""
        return min(self.cells, max(_FEWEST_CELLS, round(_CELLS * plenty)))

    def measured(self, measuring: Measuring) -> tuple[Compression, list[NoisyTable]]:
        """Columns alone, distances of all pairs, then pairs and triples in cliques."""
        plenty = self._plenty(measuring)
        merging, singles = self._alone(measuring, self._first(plenty, _PLENTY))
        domain, expected = merging.domain, _expected(singles, pairs_of(merging.domain))
        tree = self._tree(measuring, domain, expected, self._room(plenty))
        sets = [set(axes) for axes in tree.cliques]
        pairs = [axes for axes in expected if any(set(axes) <= clique for clique in sets)]
        if not pairs:
            again = [measuring.table((i,), measuring.left / (len(sets) - i)) for i in range(len(sets))]
            return merging, [*singles, *again]
        triples = sorted({three for axes in tree.cliques for three in combinations(axes, 3)})
        triples = [
            axes for axes in triples if domain.cells(axes) <= _TRIPLE and self.domain.cells(axes) <= _MOST_TRIPLE
        ]
        part = measuring.left * _OF_PAIRS if triples else measuring.left
        tables = _together(measuring, domain, pairs, _POWER, part)
        if triples:
            tables += _together(measuring, domain, triples, _POWER, measuring.left)
        return merging, [*singles, *tables]

    def _tree(self, measuring: Measuring, domain: Domain, expected: Mapping[Axes, Reals], room: int) -> JunctionTree:
        if not expected:
            return JunctionTree.of(domain, [])
        part = self.rho / 20
        distances = measuring.distances(list(expected.items()), part)
        noise = math.sqrt(len(expected) * self.most**2 / (2 * float(part)))
        told = zip(expected.items(), distances.tolist(), strict=True)
        gains = {axes: far - by_chance(table) for (axes, table), far in told}
        return clique_tree(domain, {axes: gain for axes, gain in gains.items() if gain > _CLEAR * noise}, room)


_MOST_FIRST, _PLENTY, _PLENTY_OF_PAIRS = Fraction(3, 5), 674, 1600  # records a deviation, on Adult at ε = 1
_FEWEST_CELLS, _CELLS = 50_000, 370  # of the tree; for each of these: measured on Adult at ε = 1 and 10
_FEWEST_GROUPS, _MOST_GROUPS = 4, 64
_IN_A_CELL = 3.4  # deviations: measured on Adult, where 14 groups are best at ε = 1
_CLEAR = 2  # deviations of a distance, of which a gain must have more to be seen
_TRIPLE = 3000  # cells of a triple that is measured
_POWER = 0.5
_OF_PAIRS = Fraction(1, 2)
