"""Sums of bits at ε = 1, δ = 10⁻⁶: what it costs in error to trust nobody, a mixer of reports, or each other.

One quantity, how many people say yes, by four models. `local`: everybody randomizes the bit, and nobody is trusted.
`shuffled`: the same with a larger ε of each bit, as the coins of all, which add up to binomial noise, hide it once
somebody has mixed the reports. `summed`: everybody adds a share of discrete Gaussian noise, and the sum alone is read;
or few add geometric noise (`diluted`). `curator`: somebody whom all trust adds discrete Laplace noise. Nobody fails,
and all are honest. The error is predicted, and in brackets measured: root mean squares of 400 runs of the samplers
that devices run, share by share. With matplotlib installed it also draws docs/images/trust-models.png.
"""

from __future__ import annotations

import importlib
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from discreet.aggregate import GaussianShares, plan
from discreet.aggregate.scheme_comparison import crowd_epsilon, curator_deviation
from discreet.local import Response
from discreet.noise import gaussians, laplaces
from discreet.privacy.calibrate import concentrated_for

PLOT = Path(__file__).parents[1] / "docs" / "images" / "trust-models.png"
EPSILON, DELTA, RUNS = Fraction(1), Fraction(1, 10**6), 400
CROWDS = (100, 1_000, 10_000, 100_000, 1_000_000)
MODELS = ("local", "shuffled", "diluted", "summed", "curator")
_MEASURED = 10_000  # people up to whom errors are measured too


def predicted(people: int) -> dict[str, float]:
    """How far off each model's sum is."""
    found = {one.scheme: one.deviation for one in plan(people, 0, EPSILON, DELTA, mixer=True)}
    chosen = {model: found["gaussian" if model == "summed" else model] for model in MODELS if model != "curator"}
    return {**{model: one for model, one in chosen.items() if one is not None}, "curator": curator_deviation(EPSILON)}


def responses(people: int, epsilon: Fraction) -> float:
    """Of randomized bits, of whom half say yes."""
    client = Response(epsilon, 2)
    own, other = float(client.odds.holder), float(client.odds.other)
    bits = np.arange(people) % 2
    errors = [(client.batch(bits).sum() - people * other) / (own - other) - bits.sum() for _ in range(RUNS)]
    return math.sqrt(float(np.mean(np.square(errors))))


def measured(people: int) -> dict[str, float]:
    """The same by running what devices run."""
    shares = GaussianShares(concentrated_for(EPSILON, DELTA).rho, people, people)
    drawn = gaussians(shares.variance * 4**shares.places, people * RUNS) / 2**shares.places
    sums = drawn.reshape(RUNS, people).sum(axis=1)
    return {
        "local": responses(people, EPSILON),
        "shuffled": responses(people, crowd_epsilon(people, EPSILON, DELTA)),
        "summed": math.sqrt(float(np.mean(np.square(sums)))),
        "curator": math.sqrt(float(np.mean(np.square(laplaces(1 / EPSILON, RUNS).astype(float))))),
    }


def drawn(errors: dict[int, dict[str, float]], seen: dict[int, dict[str, float]]) -> None:
    """Lines are predicted, dots measured."""
    try:
        plt: Any = importlib.import_module("matplotlib.pyplot")
    except ImportError:
        return
    figure, axis = plt.subplots(figsize=(6, 3.8), layout="constrained")
    for place, model in enumerate(MODELS):
        points = [(people, each[model]) for people, each in errors.items()]
        axis.loglog(*zip(*points, strict=True), color=f"C{place}", label=model)
        dots = [(people, each[model]) for people, each in seen.items() if model in each]
        if dots:
            axis.loglog(*zip(*dots, strict=True), "o", color=f"C{place}", markersize=4)
    axis.set(xlabel="people", ylabel="deviation of how many say yes")
    axis.grid(visible=True, alpha=0.3)
    axis.legend(fontsize=8)
    figure.savefig(PLOT, dpi=120)


def main() -> None:
    """Print the table, and draw."""
    errors = {people: predicted(people) for people in CROWDS}
    seen = {people: measured(people) for people in CROWDS if people <= _MEASURED}
    print(f"| people | {' | '.join(MODELS)} |\n|---|{'---|' * len(MODELS)}")
    for people, found in errors.items():
        cells = [
            f"{found[model]:,.1f}" + (f" ({seen[people][model]:,.1f})" if model in seen.get(people, {}) else "")
            for model in MODELS
        ]
        print(f"| {people:,} | {' | '.join(cells)} |")
    drawn(errors, seen)


if __name__ == "__main__":
    main()
