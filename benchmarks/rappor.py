"""RAPPOR decodes a million reports in seconds, and texts are found with and without a list of candidates.

Asked for: 1 M reports, 64 cohorts × 128 bits and 1,000 candidates decoded in < 20 s. A decoding's time is that of the
tally and the fit. Recall is of the texts whose share is above what the fit can tell from nothing: the Bonferroni bound
times the standard error. Texts follow Zipf's law: the i-th is held by a share of 1/i, or 1/i^1.2 for heavy hitters.
"""

from __future__ import annotations

from fractions import Fraction
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from discreet.local.decode import decode
from discreet.local.hitters import HeavyHitters
from discreet.local.rappor import Rappor
from discreet.local.sketch import CountMeanSketch, HadamardSketch

PEOPLE, WORDS = 1_000_000, 1000
NAMES = np.array([f"site{i:03d}" for i in range(WORDS)], dtype=object)


def zipf(power: float) -> NDArray[np.float64]:
    """Shares of all words."""
    weights = np.arange(1.0, WORDS + 1) ** -power
    shares: NDArray[np.float64] = weights / weights.sum()
    return shares


def crowd(shares: NDArray[np.float64], people: int) -> NDArray[np.int64]:
    """A word for each person, as evenly as whole numbers allow."""
    return np.searchsorted(np.cumsum(shares), (np.arange(people) + 0.5) / people).clip(0, WORDS - 1)


def taken(start: float) -> str:
    """Seconds since then."""
    return f"{perf_counter() - start:.2f}"


def recall(found: Any, shares: NDArray[np.float64], error: float, tested: int) -> str:
    """How many of those that could be found were, and how many were found that nobody holds."""
    limit = -special.ndtri(0.05 / tested) * error
    could = set(NAMES[shares > limit])
    false = len(set(found) - set(NAMES))
    return f"{len(could & set(found))} of {len(could)} above {limit:.2%} | {len(found)} | {false}"


def decoding() -> None:
    """A row for each choice of f, p and q."""
    shares = zipf(1)
    texts = NAMES[crowd(shares, PEOPLE)]
    print("| 64 × 128 bits, 2 hashes | ε∞ | ε₁ | candidates | client, s | tally, s | fit, s | recall | found | false |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for f, p, q in (("0.5", "0.5", "0.75"), ("0.25", "0.35", "0.65")):
        client = Rappor.flipping(f, quiet=Fraction(p), loud=Fraction(q))
        start = perf_counter()
        reports = client.batch(texts)
        made, start = taken(start), perf_counter()
        tally = client.tally(client.decode(client.encode(reports)))
        added = taken(start)
        for tested in (WORDS, 20 * WORDS):
            candidates = [*NAMES, *(f"other{i}" for i in range(tested - WORDS))]
            start = perf_counter()
            guess = decode(client, tally, candidates)
            cells = f"{tested} | {made} | {added} | {taken(start)}"
            told = recall(guess.found(), shares, guess.errors[0], tested)
            price = f"{float(client.epsilon):.2f} | {float(client.once.epsilon):.2f}"
            print(f"| f = {f}, p = {p}, q = {q} | {price} | {cells} | {told} |")


def sketches() -> None:
    """A row for each sketch: all 1,000 words are asked about."""
    shares = zipf(1.2)
    print("\n| sketch, ε = 2, 64 rows | people | bytes | client, M/s | tally, M/s | squared error / stated |")
    print("|---|---|---|---|---|---|")
    for client, people in ((CountMeanSketch(Fraction(2)), 100_000), (HadamardSketch(Fraction(2)), PEOPLE)):
        whom = crowd(shares, people)
        start = perf_counter()
        reports = client.batch(NAMES[whom])
        made, start = perf_counter() - start, perf_counter()
        tally = client.tally(reports)
        added = perf_counter() - start
        guess = client.estimate(tally, NAMES)
        ratio = np.mean((guess.counts - np.bincount(whom, minlength=WORDS)) ** 2) / np.mean(guess.errors**2)
        rates = f"{people / made / 1e6:.2f} | {people / added / 1e6:.1f}"
        cells = f"{people:,} | {client.form.itemsize} | {rates} | {ratio:.2f}"
        print(f"| `{type(client).__name__}` | {cells} |")


def hitters() -> None:
    """A row for each price: no candidates are given."""
    shares = zipf(1.2)
    texts = NAMES[crowd(shares, PEOPLE)]
    print("\n| heavy hitters, 1 M reports, 8 bytes | ε | levels | client, s | search, s | recall | found | false |")
    print("|---|---|---|---|---|---|---|---|")
    for epsilon in (1, 2, 4):
        client = HeavyHitters(Fraction(epsilon))
        start = perf_counter()
        reports = client.batch(texts)
        made, start = taken(start), perf_counter()
        run = client.estimate(client.tally(reports))
        cells = f"{len(client.prefixes)} | {made} | {taken(start)}"
        error = float(run.errors[-1]) if run.errors.size else 1.0
        print(f"| `HeavyHitters` | {epsilon} | {cells} | {recall(run.values, shares, error, run.tried)} |")


def main() -> None:
    """All three."""
    decoding()
    sketches()
    hitters()


if __name__ == "__main__":
    main()
