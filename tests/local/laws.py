"""Whether outcomes follow a law: Pearson's test, with a stated rate of false alarms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from discreet.local import Oracle
from discreet.noise import Entropy

FALSE_ALARM = 1e-7
_LEAST = 20  # expected outcomes in a cell, so that the chi-square law is near


def follows(seen: Iterable[Hashable], law: Mapping[Any, Fraction], false_alarm: float = FALSE_ALARM) -> bool:
    """Pearson 1900: a right sampler fails with a probability of about `false_alarm`."""
    counts = Counter(seen)
    total = sum(counts.values())
    if not counts.keys() <= law.keys():
        return False
    expected = {y: float(p) * total for y, p in law.items()}
    rare = [y for y, size in expected.items() if size < _LEAST]
    cells = [(counts[y], size) for y, size in expected.items() if size >= _LEAST]
    if sum(expected[y] for y in rare) >= _LEAST:
        cells.append((sum(counts[y] for y in rare), sum(expected[y] for y in rare)))
    statistic = sum((got - size) ** 2 / size for got, size in cells)
    return bool(stats.chi2.sf(statistic, len(cells) - 1) >= false_alarm)


def alike(one: Iterable[Hashable], other: Iterable[Hashable], false_alarm: float = FALSE_ALARM) -> bool:
    """Pearson's test that two samples are of one law."""
    left, right = Counter(one), Counter(other)
    common = [y for y in left.keys() | right.keys() if left[y] + right[y] >= 2 * _LEAST]
    table = [[side[y] for y in common] + [sum(side.values()) - sum(side[y] for y in common)] for side in (left, right)]
    kept = np.array(table)[:, np.sum(table, axis=0) > 0]
    return bool(stats.chi2_contingency(kept).pvalue >= false_alarm)


def reports(client: Oracle, value: int, size: int, rng: Entropy) -> list[Hashable]:
    """Reports on one value, made together, sent, received, and each as the one-by-one call gives it."""
    return singles(client.decode(client.encode(client.sample(value, size, rng=rng))))


def singles(array: NDArray[Any]) -> list[Hashable]:
    """An array of reports as a list of single ones: bytes, or numbers."""
    return [row.tobytes() for row in array] if array.ndim > 1 else array.tolist()
