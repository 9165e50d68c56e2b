"""Right noise, wrong data: what one person can do was not bounded, or rows stood where scores or a vector belong."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.audit.claim import Specimen
from discreet.audit.outputs import Outputs
from discreet.mechanisms.integer_noise import LaplaceVector
from discreet.mechanisms.mechanism import Pair
from discreet.mechanisms.selection import Exponential
from discreet.noise import Entropy, laplaces
from discreet.privacy.loss import Pure

Integers = NDArray[np.int64]
VECTOR = LaplaceVector(Fraction(2))
BLOCKS = 4

KEYS = ("north", "south")
_ORDER = "SOUNDNESS 35: order is an output"
UPPER = 4
TRIES = 32
_UNIT = "SOUNDNESS 13: what one unit can do is bounded before anything is summed"
_OUTPUT = "SOUNDNESS 16: failure is an output"


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


def through_a_clamp(values: Sequence[float], size: int, rng: Entropy) -> NDArray[np.float64]:
    """A sum of values clamped to [0, 1]: `min` and `max` of not-a-number are not a number."""
    return float(np.clip(values, 0, 1).sum()) + laplaces(1, size, rng=rng).astype(np.float64)


def past_the_end(values: Sequence[int], size: int, rng: Entropy) -> Integers:
    """A sum of values said to be below `UPPER`, clamped to at most `UPPER`, with noise for `UPPER` − 1."""
    return sum(min(max(value, 0), UPPER) for value in values) + laplaces(UPPER - 1, size, rng=rng)


def mean_of_a_known_number(bits: Sequence[int], size: int, rng: Entropy) -> NDArray[np.float64]:
    """A noisy sum over the number of rows, as if that number were public."""
    return (sum(bits) + laplaces(1, size, rng=rng)) / len(bits)


def all_rows(owners: Sequence[str], size: int, rng: Entropy) -> Integers:
    """A count of rows, with noise for one row."""
    return len(owners) + laplaces(1, size, rng=rng)


def own_keys(keys: Sequence[str], size: int, rng: Entropy) -> list[tuple[tuple[str, int], ...]]:
    """A noisy count for each key that occurs."""
    present = sorted(set(keys))
    noisy = np.array([keys.count(key) for key in present]) + laplaces(1, size * len(present), rng=rng).reshape(size, -1)
    return [tuple(zip(present, row, strict=True)) for row in noisy.tolist()]


def same_noise(counts: Sequence[int], size: int, rng: Entropy) -> Integers:
    """Two counts from a generator that was reset in between."""
    return np.asarray(counts) + laplaces(1, size, rng=rng)[:, None]


def refunded(count: int, size: int, rng: Entropy) -> Integers:
    """How often a noisy count was negative, thrown away and its price refunded, and the count that was kept."""
    noisy = count + laplaces(1, size * TRIES, rng=rng).reshape(size, TRIES)
    first = np.argmax(noisy >= 0, axis=1)
    return np.column_stack([first, noisy[np.arange(size), first]])


def silent_when_empty(count: int, size: int, rng: Entropy) -> Outputs:
    """A noisy count, or nothing if there is nobody to count."""
    return count + laplaces(1, size, rng=rng) if count else [None] * size


def strict(values: Sequence[int], size: int, rng: Entropy) -> Integers:
    """A noisy sum that raises where a value is out of its bounds."""
    if max(values) > UPPER:
        raise ValueError("a value is out of bounds")
    return sum(values) + laplaces(UPPER, size, rng=rng)


DATA = (
    Specimen(
        "nan-through-a-clamp",
        Pure(1),
        Pair((0.5, 0.5), (0.5, math.nan), "one value replaced by one that is not a number"),
        "a clamp lets not-a-number through, and a sum with one is none",
        "SOUNDNESS 16; IEEE 754-2019, Section 6.2",
        through_a_clamp,
    ),
    Specimen(
        "past-the-end",
        Pure(1),
        Pair((1, 1), (1, 1, UPPER), "one person added, at the upper bound"),
        "bounds were meant to exclude their end, the clamp includes it",
        _UNIT,
        past_the_end,
    ),
    Specimen(
        "replace-as-add-remove",
        Pure(1),
        Pair((1,) * 10, (1,) * 11, "one person added"),
        "dividing by the number of rows is private when one is replaced; when one is added, that number tells it",
        "SOUNDNESS 2: replace-one gives nothing for add/remove",
        mean_of_a_known_number,
    ),
    Specimen(
        "unbounded-contribution",
        Pure(1),
        Pair(("ann", "bob"), ("ann", "bob", *["mary"] * 6), "one person added, with six rows"),
        "the noise hides one row, a person may have many",
        "Wilson, Zhang, Lam, Desfontaines, Simmons-Marengo & Gipson 2020, “Differentially private SQL with bounded user"
        " contribution”",
        all_rows,
    ),
    Specimen(
        "own-keys",
        Pure(1),
        Pair(("north", "north"), ("north", "north", "south"), "one person added, the only one of a group"),
        "which groups there are is told without noise",
        "Korolova, Kenthapadi, Mishra & Ntoulas 2009, “Releasing search queries and clicks privately”",
        own_keys,
    ),
    Specimen(
        "same-noise-twice",
        Pure(2),
        Pair((5, 5), (5, 6), "one person added to the second count"),
        "two answers with one noise: their difference has none",
        "SOUNDNESS 20; a generator restored or forked with its state hands out the same bits again",
        same_noise,
    ),
    Specimen(
        "refund-on-error",
        Pure(1),
        Pair(0, 1, "a count with one person and without"),
        "an answer that failed was seen to fail; each failure loses as much as an answer",
        "SOUNDNESS 8: nothing is refunded",
        refunded,
    ),
    Specimen(
        "silent-when-empty",
        Pure(1),
        Pair(0, 1, "a count with one person and without"),
        "silence has no noise",
        _OUTPUT,
        silent_when_empty,
    ),
    Specimen(
        "strict",
        Pure(1),
        Pair((1, 1), (1, 1, UPPER + 1), "one person added, out of bounds"),
        "an exception is an output",
        _OUTPUT,
        strict,
    ),
)
