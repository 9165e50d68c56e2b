"""Whether outcomes follow a law, by exact binomial tails, with a stated rate of false alarms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from fractions import Fraction
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import signal, stats

from discreet.local import Oracle
from discreet.noise import Entropy

FALSE_ALARM = 1e-10  # of one question about one sample: a test that asks ten stays at 1e-9


def follows(seen: Iterable[Hashable], law: Mapping[Any, Fraction], false_alarm: float = FALSE_ALARM) -> bool:
    """Whether each outcome comes as often as its law says, and so do all together that are no likelier than it.

    A right sampler fails with probability at most `false_alarm`, which the two tails of all these share.
    """
    counts, rising = Counter(seen), sorted(law, key=lambda outcome: law[outcome])
    each, chances = [counts[outcome] for outcome in rising], [law[outcome] for outcome in rising]
    hits = np.array([*each, *accumulate(each[:-1])])
    expected = np.array([float(p) for p in (*chances, *accumulate(chances[:-1]))])
    total, rare = sum(counts.values()), false_alarm / (2 * hits.size)
    few, many = stats.binom.cdf(hits, total, expected), stats.binom.sf(hits - 1, total, expected)
    return counts.keys() <= law.keys() and bool(min(few.min(), many.min()) >= rare)


def of_coins(*coins: tuple[int, Fraction]) -> NDArray[np.float64]:
    """The exact law of how many of so many coins of each chance fall on heads, added up."""
    law = np.ones(1)
    for many, chance in coins:
        own = stats.binom.pmf(np.arange(many + 1), many, float(chance))
        law = np.maximum(0, np.asarray(signal.convolve(law, own), np.float64))
    return law


def usual(heads: int, law: NDArray[np.float64], false_alarm: float = FALSE_ALARM) -> bool:
    """Whether neither so few heads nor so many are rarer than half of `false_alarm`."""
    return bool(min(law[: heads + 1].sum(), law[heads:].sum()) >= false_alarm / 2)


def reports(client: Oracle, value: int, size: int, rng: Entropy) -> list[Hashable]:
    """Reports on one value, made together, sent, received, and each as the one-by-one call gives it."""
    return singles(client.decode(client.encode(client.sample(value, size, rng=rng))))


def singles(array: NDArray[Any]) -> list[Hashable]:
    """An array of reports as a list of single ones: bytes, or numbers."""
    return [row.tobytes() for row in array] if array.ndim > 1 else array.tolist()
