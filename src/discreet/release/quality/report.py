"""Quality report: how near the made-up rows of a release are to the records. It is as private as the records are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from discreet.errors import Refusal
from discreet.exact import shown
from discreet.noise import SECURE, Entropy, belows, permutation
from discreet.release.axis import KeyAxis, Side
from discreet.release.interval_tree import Reals, Whole
from discreet.release.quality.cell_codes import coded
from discreet.release.quality.closeness import (
    Learned,
    Sample,
    associations,
    distances,
    learned,
    marginal_score,
    parts_of,
    told_apart,
)
from discreet.release.release import Release

_FEW = 12  # values of a column that is predicted if nobody says which


@dataclass(frozen=True, eq=False)
class Comparison:
    """How near some rows are to records."""

    name: str
    score: float  # over tables of three columns, from 0 to 1000
    pairs: float  # mean total variation of tables of two columns
    columns: float  # of one column
    apart: float  # how well trees tell them from records; 0.5 is not at all
    matches: float  # the share of them that some record is equal to, in every column
    learned: Learned | None  # what trees that learned from them know of other records


@dataclass(frozen=True, eq=False)
class QualityReport:
    """A release of rows beside the records that it was made from, and beside yardsticks made of these.

    Nothing here was paid for and all of it depends on single records: it is for whoever may see the records.
    """

    title: str
    sides: tuple[Side, ...]
    records: Sample
    rows: Sample
    target: str | None
    made: Comparison
    yardsticks: tuple[Comparison, ...]  # half of the records, and records whose columns were shuffled
    columns: dict[str, float]  # total variation, column by column
    pairs: dict[tuple[str, str], float]  # and pair by pair
    known: tuple[Reals, Reals]  # how much two columns tell of each other, in the records and in the rows

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """The rows, then the yardsticks."""
        return (self.made, *self.yardsticks)


Heard = Callable[[float], None]


def quality(
    release: Release,
    records: pa.Table,
    *,
    target: str | None = None,
    rng: Entropy = SECURE,
    heard: Heard = lambda _: None,
) -> QualityReport:
    """The report on a release of rows. `target` is a column that models are to predict, by default a key of few values.

    Coins only choose halves, shuffles and samples.
    """
    places, sides = getattr(getattr(release, "content", None), "rows", None), release.sides
    if not isinstance(places, np.ndarray) or not sides:
        raise Refusal(
            f"a report compares made-up rows with records, and this is a release of the kind {release.kind}",
            hint="take a folder that discreet release synthetic wrote",
        )
    sizes = tuple(_cells(side) for side in sides)
    rows, originals = Sample(places, sizes), Sample(coded(sides, records), sizes)
    if len(rows.rows) < 2:
        raise Refusal(f"expected at least two made-up rows, got {len(rows.rows)}")
    goal = _target(sides, target)
    order = permutation(len(originals.rows), rng=rng)
    half = len(order) // 2
    one, two = originals.some(order[:half]), originals.some(order[half:])
    kinds = [
        ("made up", rows, originals),
        ("half", one, two),
        ("shuffled", _shuffled(originals, rng), originals),
    ]
    made, *yardsticks = _compared(kinds, two, goal, rng, heard)
    names = [side.column for side in sides]
    parts = parts_of(sides, originals)
    alone, together = (distances(rows, originals, ways) for ways in (1, 2))
    return QualityReport(
        str(release.facts.get("title", release.kind)),
        tuple(sides),
        originals,
        rows,
        None if goal is None else names[goal],
        made,
        tuple(yardsticks),
        {names[i]: far for (i,), far in alone.items()},
        {(names[i], names[j]): far for (i, j), far in together.items()},
        (associations(originals, parts), associations(rows, parts)),
    )


def _compared(
    kinds: Sequence[tuple[str, Sample, Sample]], others: Sample, goal: int | None, rng: Entropy, heard: Heard
) -> Iterator[Comparison]:
    for done, (name, rows, records) in enumerate(kinds):
        heard(done / len(kinds))
        few = (
            records
            if len(records.rows) <= len(rows.rows)
            else records.some(belows(len(records.rows), len(rows.rows), rng=rng))
        )
        order = permutation(2 * min(len(rows.rows), len(few.rows)), rng=rng)
        yield Comparison(
            name,
            marginal_score(rows, records),
            float(np.mean(list(distances(rows, records, min(2, len(rows.sizes))).values()))),
            float(np.mean(list(distances(rows, records, 1).values()))),
            told_apart(rows, few, order),
            _matches(rows, records),
            None if goal is None else learned(rows, others, goal),
        )


def _cells(side: Side) -> int:
    """With the one for what is in none of its keys or bins."""
    return (len(side.keys) if isinstance(side, KeyAxis) else side.bins) + 1


def _target(sides: Sequence[Side], wanted: str | None) -> int | None:
    names = [side.column for side in sides]
    if wanted is not None:
        if wanted not in names:
            raise Refusal(f"there is no column {shown(wanted)} to predict", hint=f"there are {names}")
        if len(names) < 2:
            raise Refusal("a column is predicted from others, and there are none")
        return names.index(wanted)
    few = [i for i, side in enumerate(sides) if isinstance(side, KeyAxis) and 2 <= len(side.keys) <= _FEW]
    return few[-1] if few and len(names) > 1 else None


def _shuffled(sample: Sample, rng: Entropy) -> Sample:
    many = len(sample.rows)
    columns = [sample.rows[permutation(many, rng=rng), i] for i in range(len(sample.sizes))]
    return Sample(np.stack(columns, axis=1), sample.sizes)


def _matches(rows: Sample, records: Sample) -> float:
    """The share of rows that are equal to some record in the cell of every column."""
    both: Whole = np.concatenate([rows.rows, records.rows])
    same = np.unique(both, axis=0, return_inverse=True)[1].ravel()
    return float(np.isin(same[: len(rows.rows)], same[len(rows.rows) :]).mean())
