"""Sound mechanisms on what they are not for: rows as a vector, rows as scores, rows in the order in which they lie."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.audit.specimen import Specimen
from discreet.mechanisms.additive import LaplaceVector
from discreet.mechanisms.exponential import Exponential
from discreet.mechanisms.mechanism import Pair
from discreet.noise import Entropy, laplaces
from discreet.privacy.loss import Pure

Integers = NDArray[np.int64]
VECTOR = LaplaceVector(Fraction(2))
BLOCKS = 4


def as_a_vector(rows: Sequence[int], size: int, rng: Entropy) -> Integers:
    """Every row with noise for a distance of one in all."""
    noise = laplaces(VECTOR.scale, size * len(rows), rng=rng).reshape(size, -1)
    return np.asarray(rows) + noise


def as_scores(rows: Sequence[int], size: int, rng: Entropy) -> Integers:
    """Which row is the largest, as if each were a score that one person moves by one."""
    return _chosen(Exponential(Fraction(1), len(rows)), rows, size, rng)


def one_way(counts: Sequence[int], size: int, rng: Entropy) -> Integers:
    """Which count is the largest, with the noise of counts that only rise or only fall."""
    return _chosen(Exponential(Fraction(1), len(counts), monotone=True), counts, size, rng)


def _chosen(choice: Exponential, scores: Sequence[int], size: int, rng: Entropy) -> Integers:
    """So many choices at once, by the law that the mechanism has."""
    chances = np.cumsum([float(chance.up) for chance in choice.law(list(scores))])
    steps = np.frombuffer(rng.raw(8 * size), dtype=np.uint64) >> np.uint64(11)
    return np.searchsorted(chances[:-1], steps * 2.0**-53, side="right").astype(np.int64)


def blocks_in_order(bits: Sequence[int], size: int, rng: Entropy) -> Integers:
    """Sample and aggregate: the first row of each block of the rows as they lie, summed with noise for one block."""
    firsts = [block[0] for block in np.array_split(np.asarray(bits), BLOCKS)]
    return int(sum(firsts)) + laplaces(1, size, rng=rng)


def named_in_order(keys: Sequence[str], size: int, rng: Entropy) -> list[object]:
    """Noisy counts of declared keys, listed as they were first met in the rows."""
    order = [*dict.fromkeys(keys), *(key for key in KEYS if key not in keys)]
    noise = laplaces(1, size * len(order), rng=rng).reshape(size, -1).tolist()
    return [{key: keys.count(key) + each for key, each in zip(order, row, strict=True)} for row in noise]


KEYS = ("north", "south")
_ORDER = "SOUNDNESS 35: order is an output"

ROWS = (
    Specimen(
        "rows-as-a-vector",
        VECTOR.privacy,
        Pair((5, 5, 5), (5, 5, 9), "one person's row changes"),
        "the noise is for vectors that differ by one in all, and a person moves a row as far as its bounds allow",
        "Dwork, McSherry, Nissim & Smith 2006, Proposition 1, with the wrong distance in it",
        as_a_vector,
    ),
    Specimen(
        "rows-as-scores",
        Pure(1),
        Pair((0, 0, 0), (0, 0, 9), "one person's row changes"),
        "a row is no score: it may move by more than one, and its place names its owner",
        "McSherry & Talwar 2007, Theorem 6: the sensitivity is that of every score",
        as_scores,
    ),
    Specimen(
        "one-way-though-replaced",
        Pure(1),
        Pair((0, 4), (1, 3), "one person moves from one count to the other"),
        "the narrow noise is for counts that all rise or all fall; a row that is replaced makes one rise, one fall",
        "docs/proofs/selection.md, “Monotone scores”",
        one_way,
    ),
    Specimen(
        "blocks-in-order",
        Pure(1),
        Pair(
            (0, 1, 1, 0, 1, 1, 0, 1, 1, 0, 1, 1),
            (1, 0, 0, 1, 1, 0, 1, 1, 0, 1, 1, 1, 1),
            "one person added, after whom the engine returns the others in another order",
        ),
        "one row more moves every other to another place: all blocks change, not one",
        "docs/proofs/sample.md, “The order must be drawn”",
        blocks_in_order,
    ),
    Specimen(
        "keys-in-order",
        Pure(1),
        Pair(("north", "south"), ("south", "north", "south"), "one person added, whose row comes first"),
        "the counts have noise, and the order in which their keys are listed has none",
        _ORDER,
        named_in_order,
    ),
)
