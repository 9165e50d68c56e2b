"""No other auditor refutes as many of the zoo's wrong mechanisms, on the same samples in one run.

All get the same 100,000 outputs on either input, and the same risk of 5 % that a true claim is refuted; `≥` is the ε
that each proves, bold where it is above the claim. Of the zoo those are here that claim a plain ε and tell numbers: the
others cannot all read anything else. The last two rows are right, and must not be refuted.

DP-Sniper (Bichsel, Steffen, Bogunovic & Vechev 2021, Algorithm 1 with logistic regression and c = 0.01), StatDP (Ding,
Wang, Wang, Zhang & Kifer 2018, Algorithms 1 to 3) and the histogram tester of DP-Auditorium (Gilbert & McMillan 2018,
Algorithm 2, with the tolerance of DP-Auditorium) are written here after their papers: none is on the package index.
StatDP looks at values and half-lines of each coordinate and at whole outputs; the histogram at whole outputs if there
are at most 4,096, else at 20 bins of what logistic regression says of them. jax-privacy is the library itself; it wants
a score, and gets that of DP-Sniper; learning it is in nobody's time. No bound is always the largest.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from discreet.audit import ZOO, Specimen, audit
from discreet.mechanisms.mechanism import Pair
from discreet.noise import SECURE, Entropy, flips, laplaces
from discreet.privacy.loss import Loss, Pure

PEER = Path(".peers/jax-privacy/bin/python")
MANY, SPARE = 100_000, 4_000
ALPHA = 0.05
TAIL = 0.01
GRID = np.arange(0, 12.0, 0.01)
MOST_CELLS, MOST_VALUES = 4096, 64
Reals = NDArray[Any]


@dataclass
class Stored:
    """The outputs of a mechanism on both of its inputs, handed out once each."""

    privacy: Loss
    left: Reals
    right: Reals
    taken: dict[int, int] = field(default_factory=lambda: {0: 0, 1: 0})

    def pairs(self) -> tuple[Pair[int], ...]:
        """Which side it is."""
        return (Pair(0, 1, "stored"),)

    def sample(self, side: int, size: int, *, rng: Entropy = SECURE) -> Reals:  # noqa: ARG002  # as a mechanism does
        """The next ones."""
        start = self.taken[side]
        self.taken[side] += size
        return (self.left, self.right)[side][start : start + size]

    def __call__(self, side: int, /) -> object:
        """One more."""
        return self.sample(side, 1)[0]

    @property
    def claimed(self) -> float:
        """The ε of the claim."""
        return float(self.privacy.epsilon)  # type: ignore[attr-defined]

    @cached_property
    def halves(self) -> tuple[tuple[Reals, Reals], tuple[Reals, Reals]]:
        """Rows to look at, and rows to prove with, on either side."""
        left, right = (np.asarray(side[:MANY], dtype=np.float64).reshape(MANY, -1) for side in (self.left, self.right))
        return (left[: MANY // 2], right[: MANY // 2]), (left[MANY // 2 :], right[MANY // 2 :])

    @cached_property
    def codes(self) -> NDArray[np.int64]:
        """A number for each whole output: of the left and right sides to look at, then of those that prove."""
        rows = np.ascontiguousarray(np.vstack([rows for half in self.halves for rows in half]))
        _, codes = np.unique(rows.view(f"V{rows.shape[1] * 8}").ravel(), return_inverse=True)
        return np.asarray(codes, dtype=np.int64)

    @cached_property
    def score(self) -> Callable[[Reals], Reals]:
        """Log-odds of the left side by logistic regression, learned from the first half."""
        left, right = self.halves[0]
        if (np.vstack([left, right]) == left[0]).all():
            return lambda rows: np.zeros(len(rows))
        model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=200))
        model.fit(np.vstack([left, right]), np.repeat([1, 0], [len(left), len(right)]))
        return lambda rows: np.asarray(model.decision_function(rows))


def ours(stored: Stored) -> float:
    """`discreet.audit.audit`."""
    return float(audit(stored, samples=MANY, alpha=ALPHA).epsilon)


def sniper(stored: Stored) -> float:
    """DP-Sniper: the tail of mass c of the learned posterior, ties broken by coins; limits from fresh outputs."""
    coins, proven = np.random.default_rng(1), 0.0
    chosen: list[tuple[float, int, float, float]] = []
    for side, sign in ((0, 1.0), (1, -1.0)):
        looked = [sign * stored.score(rows) for rows in stored.halves[0]]
        threshold = float(np.quantile(looked[1 - side], 1 - TAIL, method="higher"))
        above = float((looked[1 - side] > threshold).mean())
        ties = float((looked[1 - side] == threshold).mean())
        share = min(1.0, max(0.0, (TAIL - above) / ties)) if ties else 0.0
        shares = [(s > threshold).mean() + share * (s == threshold).mean() for s in looked]
        gain = np.log(max(shares[side], 1e-9) / max(shares[1 - side], 1e-9))
        chosen.append((float(gain), side, threshold, share))
    _, side, threshold, share = max(chosen)
    sign = 1.0 if side == 0 else -1.0
    hits = []
    for rows in stored.halves[1]:
        score = sign * stored.score(rows)
        hits.append(int(((score > threshold) | ((score == threshold) & (coins.random(len(rows)) < share))).sum()))
    size = MANY // 2
    low = stats.beta.ppf(ALPHA / 2, hits[side], size - hits[side] + 1) if hits[side] else 0.0
    high = stats.beta.ppf(1 - ALPHA / 2, hits[1 - side] + 1, size - hits[1 - side])
    return max(proven, float(np.log(low / high))) if low > 0 else proven


def thinned(likely: int, unlikely: int, size: int, epsilon: float, coins: np.random.Generator) -> float:
    """StatDP's p-value: hits on the likelier side are thinned by e^−ε, then Fisher's exact test; the mean of 200."""
    kept, times = np.unique(coins.binomial(likely, np.exp(-epsilon), 200), return_counts=True)
    return float(np.average(stats.hypergeom.sf(kept - 1, 2 * size, size, kept + unlikely), weights=times))


def events(stored: Stored) -> Iterator[tuple[Reals, Reals]]:
    """How often each event is seen on either side, in the half that is looked at and in the half that proves.

    Values and half-lines of each coordinate, and whole outputs.
    """
    looked, proving = stored.halves
    for place in range(looked[0].shape[1]):
        sides = [np.sort(rows[:, place]) for rows in (*looked, *proving)]
        values = np.unique(np.concatenate(sides[:2]))
        if values.size > MOST_VALUES:
            values = np.unique(np.quantile(values, np.linspace(0, 1, MOST_VALUES), method="nearest"))
        below = np.array([np.searchsorted(side, values, side="left") for side in sides])
        upto = np.array([np.searchsorted(side, values, side="right") for side in sides])
        for hits in (upto - below, upto, MANY // 2 - below):
            yield hits[:2], hits[2:]
    codes = np.split(stored.codes, 4)
    hits = np.array([np.bincount(part, minlength=int(stored.codes.max()) + 1) for part in codes])
    hits = hits[:, np.argsort(-hits[:2].sum(axis=0))[:MOST_CELLS]]
    yield hits[:2], hits[2:]


def statistical(stored: Stored) -> float:
    """StatDP: the event that looks worst at the claim, then the largest ε of a grid whose p-value is at most 5 %.

    Events are compared by how many deviations the thinned hits are more than the others: the order of their p-values.
    """
    coins, size = np.random.default_rng(2), MANY // 2
    best, chosen = -np.inf, (0, 0)
    for looked, proving in events(stored):
        often = looked.max(axis=0) >= 0.001 * np.exp(stored.claimed) * size  # rarer ones are not looked at
        for side in (0, 1):
            kept = looked[side] * np.exp(-stored.claimed)
            deviations = np.where(often, (kept - looked[1 - side]) / np.sqrt(kept + looked[1 - side] + 1), -np.inf)
            if deviations.max() > best:
                best, at = float(deviations.max()), int(deviations.argmax())
                chosen = int(proving[side][at]), int(proving[1 - side][at])
    low, high = 0, len(GRID)  # p-values grow with ε
    while high - low > 1:
        middle = (low + high) // 2
        refuted = thinned(*chosen, size, float(GRID[middle]), coins) <= ALPHA
        low, high = (middle, high) if refuted else (low, middle)
    return float(GRID[low])


def histogram(stored: Stored) -> float:
    """DP-Auditorium's histogram tester: the largest ε of a grid for which the estimated δ is above its tolerance."""
    cells = np.concatenate(np.split(stored.codes, 4)[::2] + np.split(stored.codes, 4)[1::2])
    if cells.max() >= MOST_CELLS:
        (a, b), (c, d) = stored.halves
        scores = np.concatenate([stored.score(rows) for rows in (a, c, b, d)])
        low, high = np.quantile(scores, [0.005, 0.995])
        cells = np.clip(np.floor(20 * (scores - low) / max(high - low, 1e-12)), 0, 19).astype(np.int64)
    counts = [np.bincount(part.ravel(), minlength=int(cells.max()) + 1) / MANY for part in np.split(cells.ravel(), 2)]
    proven = 0.0
    for p, q in (counts, counts[::-1]):
        for epsilon in GRID:
            odds = np.exp(epsilon)
            tolerance = 2 / np.sqrt(MANY) * (np.sqrt(p).sum() + odds * np.sqrt(q).sum())
            tolerance += 6 * (1 + odds) * np.sqrt(np.log(4 / (ALPHA / 2)) / (2 * MANY))
            if np.maximum(p - odds * q, 0).sum() > tolerance:
                proven = max(proven, float(epsilon))
    return proven


AUDITORS = {"discreet": ours, "DP-Sniper": sniper, "StatDP": statistical, "histogram": histogram}


def grid_laplace(value: int, size: int, rng: Entropy) -> Reals:
    """Right: noise on a grid, exactly 1."""
    return (1024 * value + laplaces(1024, size, rng=rng)) / 1024


def response(bit: int, size: int, rng: Entropy) -> Reals:
    """Right: the truth with probability 0.73, below e/(1 + e)."""
    return np.where(flips("0.731", size, rng=rng), bit, 1 - bit)


RIGHT = (
    Specimen("right: Laplace on a grid", Pure(1), Pair(0, 1, ""), "", "", grid_laplace),
    Specimen("right: randomized response", Pure(1), Pair(0, 1, ""), "", "", response),
)


def stored_of(specimen: Specimen) -> Stored | None:
    """Its outputs, if it claims a plain ε and they are numbers, as many from each input."""
    if not isinstance(specimen.privacy, Pure):
        return None
    try:
        left, right = (specimen.sample(side, MANY + SPARE) for side in (specimen.pair.left, specimen.pair.right))
    except ValueError:  # it raises on one of them
        return None
    alike = all(isinstance(side, np.ndarray) and side.dtype.kind in "iuf" for side in (left, right))
    if not alike or left.shape != right.shape:  # type: ignore[union-attr]
        return None
    if np.isnan(np.asarray(left, dtype=np.float64)).any() or np.isnan(np.asarray(right, dtype=np.float64)).any():
        return None
    return Stored(specimen.privacy, left, right)  # type: ignore[arg-type]


def jax_privacy(held: dict[str, Stored], python: Path) -> dict[str, float]:
    """The bounds of the library, in its own environment; nothing where there is none."""
    if not python.exists():
        return {}
    with tempfile.NamedTemporaryFile(suffix=".npz") as file:
        scores = {
            f"{name}/{side}": stored.score(rows)
            for name, stored in held.items()
            for side, rows in zip(("left", "right"), stored.halves[1], strict=True)
        }
        np.savez(file, **scores)  # type: ignore[arg-type]  # its stubs name another argument
        file.flush()
        script = Path(__file__).parent / "peers" / "canary_scores.py"
        done = subprocess.run([str(python), str(script), file.name], stdout=subprocess.PIPE, text=True, check=True)  # noqa: S603
    return dict(json.loads(done.stdout))


def main() -> None:
    """Print the table, and how many each refutes."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--python", type=Path, default=PEER, help="an interpreter that has jax-privacy")
    found = {s.name: stored for s in (*ZOO.values(), *RIGHT) if (stored := stored_of(s)) is not None}
    library = jax_privacy(found, parser.parse_args().python)
    names = [*AUDITORS, *(["jax-privacy"] if library else [])]
    print(
        f"| mechanism | claim | {' | '.join(f'{name} ≥' for name in names)} |",
        "|---" * (len(names) + 2) + "|",
        sep="\n",
    )
    refuted, seconds = dict.fromkeys(names, 0), dict.fromkeys(names, 0.0)
    for name, stored in found.items():
        cells = []
        for auditor in names:
            start = process_time()
            bound = AUDITORS[auditor](stored) if auditor in AUDITORS else library[name]
            seconds[auditor] += process_time() - start
            above = bound > stored.claimed
            refuted[auditor] += above and not name.startswith("right")
            cells.append(f"**{bound:.2f}**" if above else f"{bound:.2f}")
        print(f"| {name} | {stored.claimed:g} | {' | '.join(cells)} |", flush=True)
    wrong = sum(not name.startswith("right") for name in found)
    print(f"| **refuted, of {wrong}** | | {' | '.join(str(refuted[name]) for name in names)} |")
    print(f"| CPU s | | {' | '.join(f'{seconds[name]:.0f}' if name in AUDITORS else '–' for name in names)} |")


if __name__ == "__main__":
    main()
