"""RAPPOR decodes a million reports in seconds, and texts are found with and without a list of candidates.

Asked for: 1 M reports, 64 cohorts × 128 bits and 1,000 candidates decoded in < 20 s. A decoding's time is that of the
tally and the fit. Texts follow Zipf's law: the i-th of 1,000 is held by a share of 1/i, or 1/i^1.2 for heavy hitters.
Lists: all that are held; those and 19,000 that nobody holds; every second that is held and 500 that nobody holds, so
that half of the common texts are on no list. Found are texts at a level of 0.05 for all of a list together; false are
those among them that nobody holds. Recall is of the texts on the list that so many people hold, or more. For heavy
hitters it is of those whose share is above what the search can tell from nothing: the Bonferroni bound times the error.
With matplotlib installed it also draws docs/images/rappor.png, of the last list.
"""

from __future__ import annotations

import importlib
from fractions import Fraction
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from discreet.local.heavy_hitters import HeavyHitters
from discreet.local.rappor import Rappor
from discreet.local.rappor_decoder import ALPHA, Decoded, decode
from discreet.local.sketch import CountMeanSketch, HadamardSketch

PEOPLE, WORDS = 1_000_000, 1000
LEVELS = (0.02, 0.01, 0.005)  # shares of which the recall is told
PLOT = Path(__file__).parent.parent / "docs" / "images" / "rappor.png"
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


def lists() -> dict[str, list[str]]:
    """Candidates, and what they are."""
    others = [f"other{i}" for i in range(19 * WORDS)]
    return {
        "1,000, all held": [*NAMES],
        "20,000, 1,000 held": [*NAMES, *others],
        "1,000, every second held": [*NAMES[::2], *others[: WORDS // 2]],
    }


def decoding() -> None:
    """A row for each choice of f, p and q, and each list."""
    shares = zipf(1)
    truth = dict(zip(NAMES, shares, strict=True))
    texts = NAMES[crowd(shares, PEOPLE)]
    levels = " | ".join(f"≥ {level:.1%}" for level in LEVELS)
    print(
        f"| 64 × 128 bits, 2 hashes | ε∞ | ε₁ | candidates | client, s | tally, s | fit, s | {levels} | found | false |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|---|---|")
    for f, p, q in (("0.5", "0.5", "0.75"), ("0.25", "0.35", "0.65")):
        client = Rappor.flipping(f, quiet=Fraction(p), loud=Fraction(q))
        start = perf_counter()
        reports = client.batch(texts)
        made, start = taken(start), perf_counter()
        tally = client.tally(client.decode(client.encode(reports)))
        added = taken(start)
        for name, candidates in lists().items():
            start = perf_counter()
            guess = decode(client, tally, candidates)
            cells = f"{name} | {made} | {added} | {taken(start)}"
            found = set(guess.found())
            common = [{text for text in candidates if truth.get(text, 0) >= level} for level in LEVELS]
            told = " | ".join(f"{len(found & some)} of {len(some)}" for some in common)
            price = f"{float(client.epsilon):.2f} | {float(client.once.epsilon):.2f}"
            print(
                f"| f = {f}, p = {p}, q = {q} | {price} | {cells} | {told} | {len(found)} | {len(found - set(truth))} |"
            )
    plot(guess, truth)


def plot(guess: Decoded, truth: dict[str, float]) -> None:
    """The largest shares with error bars, and the true ones."""
    try:
        pyplot = importlib.import_module("matplotlib.pyplot")
    except ImportError:
        return
    figure, panel = pyplot.subplots(figsize=(7.5, 4.2), constrained_layout=True)
    shown = range(min(24, len(guess.values)))
    for found, colour, label in ((True, "tab:blue", "found"), (False, "silver", "not found")):
        some = [i for i in shown if (guess.chances[i] <= ALPHA) == found]
        bars = 1.96 * guess.errors[some]
        panel.errorbar(some, 100 * guess.shares[some], 100 * bars, fmt="o", color=colour, capsize=3, label=label)
    panel.plot(shown, [100 * truth.get(str(guess.values[i]), 0) for i in shown], "x", color="black", label="true share")
    panel.set_xticks(list(shown), [str(guess.values[i]) for i in shown], rotation=60, ha="right", fontsize=7)
    panel.axhline(0, color="black", linewidth=0.5)
    panel.set(ylabel="share of people, %, with 95 % error bars")
    panel.legend()
    PLOT.parent.mkdir(exist_ok=True)
    figure.savefig(PLOT, dpi=110)


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
