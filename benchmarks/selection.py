"""Permute-and-flip never chooses worse than the exponential mechanism at the same price: exactly, by enumeration.

Expected distance from the best score, from the exact laws; the 95 % error is the smallest that holds for all scores.
With matplotlib installed it also draws docs/images/selection.png.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations_with_replacement
from pathlib import Path
from typing import Any

from discreet.interval_arithmetic import Interval
from discreet.mechanisms import ConcentratedTopK, Exponential, PermuteAndFlip, TopK
from discreet.privacy.calibrate import concentrated_for

PLOT = Path(__file__).parents[1] / "docs" / "images" / "selection.png"
PRICES = tuple(Fraction(n, 8) for n in range(1, 33))
FAMILIES: dict[str, tuple[int, ...]] = {
    "one best of 10, the others 5 below": (0, *(-5,) * 9),
    "10 scores in a row": tuple(range(-9, 1)),
    "20 counts that fall as 20/rank": tuple(20 // rank - 20 for rank in range(1, 21)),
    "20 equal scores but one 2 below": (*(0,) * 19, -2),
}


def shortfall(mechanism: Exponential | PermuteAndFlip, scores: Sequence[int]) -> Interval:
    """How far below the best the choice is on average."""
    best, law = max(scores), mechanism.law(scores)
    return sum(((best - score) * chance for score, chance in zip(scores, law, strict=True)), Interval.of(0))


def both(scores: Sequence[int], epsilon: Fraction) -> tuple[Interval, Interval]:
    """The exponential mechanism's, and permute-and-flip's."""
    ours = (kind(epsilon, len(scores)) for kind in (Exponential, PermuteAndFlip))
    first, second = (shortfall(mechanism, scores) for mechanism in ours)
    return first, second


def checked(candidates: int, reach: int, epsilon: Fraction) -> tuple[int, float, float]:
    """Over all scores from −reach to 0, one of them 0: how many, the least and the largest ratio of shortfalls."""
    ratios = []
    for rest in combinations_with_replacement(range(-reach, 1), candidates - 1):
        first, second = both((0, *rest), epsilon)
        assert second.low <= first.high, rest
        if any(rest):
            ratios.append(float((second / first).up))
    return len(ratios), min(ratios), max(ratios)


def rows() -> Iterator[Sequence[str]]:
    """One for each family and price."""
    for name, scores in FAMILIES.items():
        for epsilon in (Fraction(1, 2), Fraction(1), Fraction(2)):
            first, second = (float(value.up) for value in both(scores, epsilon))
            errors = [kind(epsilon, len(scores)).error() for kind in (Exponential, PermuteAndFlip)]
            ratio = f"{second / first:.3f}"
            yield (name, str(epsilon), f"{first:.4g}", f"{second:.4g}", ratio, f"{errors[0]}", f"{errors[1]}")


def table(heads: Sequence[str], lines: Iterator[Sequence[str]]) -> str:
    """A Markdown table."""
    return "\n".join("| " + " | ".join(line) + " |" for line in (heads, ["---"] * len(heads), *lines))


def several(epsilon: int, delta: Fraction) -> Iterator[Sequence[str]]:
    """The best k of 1000 counts at one (ε, δ), both ways."""
    rho = concentrated_for(epsilon, delta).rho
    for size in (1, 5, 20, 100):
        pure = TopK(Fraction(epsilon), 1000, size, monotone=True).error()
        concentrated = ConcentratedTopK(rho, 1000, size, monotone=True).error()
        yield (str(size), str(pure), str(concentrated), f"{concentrated / pure:.2f}")


def plot(pyplot: Any) -> None:
    """The expected shortfall against the price, one panel a family."""
    figure, panels = pyplot.subplots(1, len(FAMILIES), figsize=(3.2 * len(FAMILIES), 3), constrained_layout=True)
    for panel, (name, scores) in zip(panels, FAMILIES.items(), strict=True):
        known = [both(scores, epsilon) for epsilon in PRICES]
        for place, (label, style) in enumerate((("exponential", "--"), ("permute-and-flip", "-"))):
            panel.plot([float(e) for e in PRICES], [float(pair[place].up) for pair in known], style, label=label)
        panel.set(title=name, xlabel="ε", yscale="log")
        panel.title.set_fontsize(9)
    panels[0].set_ylabel("expected distance from the best score")
    panels[0].legend(fontsize=8)
    PLOT.parent.mkdir(exist_ok=True)
    figure.savefig(PLOT, dpi=110)


def main() -> None:
    """Print the tables; draw, if there is something to draw with."""
    heads = ("scores", "ε", "exponential", "permute-and-flip", "ratio", "95 % error, exponential", "permute-and-flip")
    print(table(heads, rows()))
    ways, least, most = checked(5, 6, Fraction(1))
    found = f"the ratio is {least:.3f} to {most:.3f}"
    print(f"\nAll {ways} ways to score 5 candidates within 6 of the best, at ε = 1: {found}.\n")
    print("The best k of 1000 counts, 95 % error of every place at once, at ε = 1 and δ = 10⁻⁶:\n")
    print(table(("k", "`TopK`, pure", "`ConcentratedTopK`", "ratio"), several(1, Fraction(1, 10**6))))
    try:
        pyplot = importlib.import_module("matplotlib.pyplot")
    except ImportError:
        return
    plot(pyplot)


if __name__ == "__main__":
    main()
