"""Right noise in a system that gives it away: caches, seeds, samples, prices, refusals, and the order of answers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from discreet.audit.claim import Specimen
from discreet.mechanisms.mechanism import Pair
from discreet.noise import Entropy, belows, laplaces
from discreet.privacy.loss import Approximate, Pure

Integers = NDArray[np.int64]
QUESTION = "SELECT count(*) FROM visits"
SHARE = Fraction(1, 5)  # of the people, that a sample is to have
SALT = b"2026"
SEEDS = 256
CELLS = 6
PRICE, ANSWERS = Fraction(2, 5), 12  # 0.4 is rounded to 0
FEWEST = 5  # in a cell that is shown
_ONE = Pair(0, 1, "a count with one person and without")
_TEN = Pair(10, 11, "a count with one person and without")
_OUTPUT = "SOUNDNESS 16: failure is an output"
_COHEN = "Cohen & Nissim 2020, “Linear program reconstruction in practice”, on noise that is fixed by the question"


def cached_by_text(count: int, size: int, rng: Entropy) -> Integers:
    """The same question in two spellings: the cache knows the first, and draws anew for the second, free of charge."""
    return count + laplaces(1, 2 * size, rng=rng).reshape(size, 2)


def forked(counts: Sequence[int], size: int, rng: Entropy) -> Integers:
    """Two workers that were forked with one generator, each asked for another count."""
    state = laplaces(1, size, rng=rng)  # what both of them draw next
    return np.column_stack([counts[0] + state, counts[1] + state])


def eight_bit_seed(count: int, size: int, rng: Entropy) -> Integers:
    """A count asked six times over, with noise from a generator that is seeded by eight bits."""
    streams = np.array([[_laplace_of(stream, cell) for cell in range(CELLS)] for stream in range(SEEDS)])
    return np.asarray(count + streams[belows(SEEDS, size, rng=rng)])


def _laplace_of(stream: int, cell: int) -> int:
    """What a generator with this seed draws in this place: about Laplace, of scale `CELLS`."""
    digest = blake2b(b"%d %d" % (stream, cell), digest_size=9).digest()
    size = int(-CELLS * math.log((int.from_bytes(digest[1:]) + 1) / (1 << 64)))
    return size if digest[0] & 1 else -size


def noise_of_the_text(count: int, size: int, _: Entropy) -> Integers:
    """Noise from a hash of the question, so that asking again gives the same; anybody can hash it."""
    digest = int.from_bytes(blake2b(QUESTION.encode(), digest_size=4).digest())
    return np.full(size, count + digest % 7 - 3, dtype=np.int64)


def sampled_by_salt(people: Sequence[int], size: int, rng: Entropy) -> Integers:
    """A noisy count of a sample: whoever's hash is small, the same people every time."""
    inside = sum(_hash(person) < SHARE for person in people)
    return inside + laplaces(1, size, rng=rng)


def _hash(person: int) -> Fraction:
    return Fraction(int.from_bytes(blake2b(b"%d" % person, key=SALT, digest_size=4).digest()), 1 << 32)


def in_the_sample() -> int:
    """The first person whose hash is small."""
    return next(person for person in range(1000) if _hash(person) < SHARE)


def rounded_prices(count: int, size: int, rng: Entropy) -> Integers:
    """Twelve answers at 0.4 each, from an account in whole numbers: 0.4 is rounded to 0, and never runs out."""
    return count + laplaces(1 / PRICE, ANSWERS * size, rng=rng).reshape(size, ANSWERS)


def small_cells_hidden(count: int, size: int, rng: Entropy) -> Sequence[object]:
    """A noisy count, or nothing where fewer than five people were counted, as the exact count says."""
    return [None] * size if count < FEWEST else (count + laplaces(1, size, rng=rng)).tolist()


def listed_by_truth(counts: Sequence[int], size: int, rng: Entropy) -> list[object]:
    """Noisy counts of declared keys, listed from the largest exact count to the smallest."""
    order = sorted(range(len(counts)), key=lambda key: -counts[key])
    noise = laplaces(1, size * len(counts), rng=rng).reshape(size, -1).tolist()
    return [[(key, counts[key] + each) for key, each in zip(order, row, strict=True)] for row in noise]


def drawn_until_plausible(count: int, size: int, rng: Entropy) -> Integers:
    """A noisy count that is drawn again for as long as it is negative."""
    noisy = count + laplaces(1, 64 * size, rng=rng).reshape(size, 64)
    first = np.argmax(noisy >= 0, axis=1)
    return np.asarray(noisy[np.arange(size), first])


def any_key_will_do(count: int, size: int, rng: Entropy) -> Integers:
    """The noisy count of a group, or −1 where it is below one: a threshold that does not know δ."""
    noisy = count + laplaces(1, size, rng=rng)
    return np.where((noisy >= 1) & (count > 0), noisy, -1)


SYSTEMS = (
    Specimen(
        "cache-by-text",
        Pure(1),
        _ONE,
        "the cache is keyed by the text of a question: another spelling gets fresh noise and is not charged",
        "SOUNDNESS 10: the key is the plan, and a fresh draw is paid",
        cached_by_text,
    ),
    Specimen(
        "reused-after-fork",
        Pure(2),
        Pair((5, 5), (6, 5), "one person added to the first count"),
        "two processes inherit one generator, and draw the same noise for different questions",
        "SOUNDNESS 20; the note on fork in the documentation of Python's ssl.RAND_bytes",
        forked,
    ),
    Specimen(
        "eight-bit-seed",
        Pure(1),
        _ONE,
        "a generator with 256 seeds has 256 outputs for each input, and hardly one in common",
        "Garfinkel & Leclerc 2020, “Randomness concerns when deploying differential privacy”",
        eight_bit_seed,
    ),
    Specimen(
        "noise-of-the-text",
        Pure(1),
        _ONE,
        "noise that is fixed by the question is known to whoever asks it",
        _COHEN,
        noise_of_the_text,
    ),
    Specimen(
        "sampled-by-salt",
        Pure(Fraction(3, 10)),  # ln(1 + (e − 1)/5) is above 0.295
        Pair((), (in_the_sample(),), "one person added, whom the hash takes"),
        "the sample is the same every time: who is in it has none of the privacy that sampling gives",
        "SOUNDNESS 37; Balle, Barthe & Gaboardi 2018, “Privacy amplification by subsampling”, with secret coins",
        sampled_by_salt,
    ),
    Specimen(
        "rounded-prices",
        Pure(1),
        _ONE,
        "a price below a half is entered as 0, so the account never ends",
        "SOUNDNESS 5: prices are exact",
        rounded_prices,
    ),
    Specimen(
        "small-cells-hidden",
        Pure(1),
        Pair(FEWEST - 1, FEWEST, "the fifth person added"),
        "which cells are too small to be shown is decided by the exact count, and seen",
        _OUTPUT,
        small_cells_hidden,
    ),
    Specimen(
        "listed-by-truth",
        Pure(1),
        Pair((5, 5), (5, 6), "one person added to the second count"),
        "ORDER BY on the exact counts: the order of noisy answers has no noise",
        "SOUNDNESS 35: order is an output",
        listed_by_truth,
    ),
    Specimen(
        "drawn-until-plausible",
        Pure(1),
        _ONE,
        "how often a draw is thrown away depends on the count, so the law of what is kept does as well",
        "Liu & Talwar 2019, “Private selection from private candidates”: a loop that stops by its result is paid for",
        drawn_until_plausible,
        runs=100_000,
    ),
    Specimen(
        "any-key-will-do",
        Approximate(1, "0.001"),
        _ONE,
        "a group of one person is shown far more often than δ: the threshold is 1, whatever δ is",
        "Korolova, Kenthapadi, Mishra & Ntoulas 2009, “Releasing search queries and clicks privately”",
        any_key_will_do,
    ),
)
