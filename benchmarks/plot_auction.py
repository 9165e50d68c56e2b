"""A private posted price earns nearly as much as the best one, from a few hundred buyers on: the tutorial's apples.

Three of four buyers would pay $1.00 for an apple, one $4.01. What the chosen price earns on average in a crowd of such
buyers, at ε = 1 for prices from 1 to 500 cents, as a share of what the best price earns. With matplotlib installed it
also draws docs/images/auction.png.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms.auction import PostedPrice

PLOT = Path(__file__).parents[1] / "docs" / "images" / "auction.png"
BUYERS = (100, 100, 100, 401)  # cents
CROWDS = (1, 10, 100, 1000)  # times these four
RULES = ("exponential", "permute-and-flip")

Floats = NDArray[np.float64]


def chances(auction: PostedPrice, bids: Sequence[int]) -> Floats:
    """The probability of each price, in floats, for a picture."""
    revenues = auction.revenues(bids)
    heads = np.exp(-float(auction.choice.rate) * (revenues.max() - revenues))
    if auction.rule == "exponential":
        return np.asarray(heads / heads.sum())
    # a price wins if its coin lands heads, and no other that comes before its uniform time t does: ∫ Π (1 − t p) dt
    nodes, weights = np.polynomial.legendre.leggauss(heads.size // 2 + 1)  # exact for a polynomial of this degree
    times = (nodes + 1) / 2
    tails = np.log1p(-times[:, None] * heads[None, :])
    alone = np.exp(tails.sum(axis=1)[:, None] - tails)
    return np.asarray(heads * (weights[:, None] / 2 * alone).sum(axis=0))


def checked() -> None:
    """The floats against the exact laws, on few prices."""
    for rule in RULES:
        auction = PostedPrice(Fraction(1), 50, 500, 50, rule)
        exact = [float(p.up) for p in auction.choice.law(auction.revenues(BUYERS * 10))]
        assert np.allclose(chances(auction, BUYERS * 10), exact, rtol=1e-9)


def rows() -> Iterator[Sequence[str]]:
    """One for each size of the crowd."""
    for crowd in CROWDS:
        bids = BUYERS * crowd
        line = [str(len(bids)), f"${401 * crowd / 100:.2f}"]
        for rule in RULES:
            auction = PostedPrice(Fraction(1), 1, 500, rule=rule)
            earned = float((chances(auction, bids) * auction.revenues(bids)).sum())
            line += [f"{earned / (401 * crowd):.3f}", f"${auction.error() / 100:.2f}"]
        yield line


def plot(pyplot: Any) -> None:
    """What each price earns, and how likely it is chosen, for crowds of three sizes."""
    sizes = CROWDS[1:]
    figure, panels = pyplot.subplots(len(sizes) + 1, 1, figsize=(8, 8), sharex=True, constrained_layout=True)
    auction = PostedPrice(Fraction(1), 1, 500)
    prices = auction.prices / 100
    panels[0].plot(prices, auction.revenues(BUYERS) / 100, color="black", drawstyle="steps-mid")
    panels[0].set(ylabel=r"earned, \$", title=r"Four buyers: three would pay \$1.00, one \$4.01")
    for panel, crowd in zip(panels[1:], sizes, strict=True):
        for rule, width in zip(RULES, (3, 1), strict=True):
            law = chances(PostedPrice(Fraction(1), 1, 500, rule=rule), BUYERS * crowd)
            panel.plot(prices, law, label=rule, linewidth=width)
        panel.set(ylabel="probability", title=f"{4 * crowd} buyers, ε = 1")
        panel.set_ylim(bottom=0)
    panels[1].legend(fontsize=8)
    panels[-1].set_xlabel(r"price of an apple, \$")
    PLOT.parent.mkdir(exist_ok=True)
    figure.savefig(PLOT, dpi=110)


def main() -> None:
    """Print the table; draw, if there is something to draw with."""
    checked()
    heads = ["buyers", "best price earns", *(f"{rule}: {what}" for rule in RULES for what in ("share", "95 % error"))]
    print("\n".join("| " + " | ".join(line) + " |" for line in (heads, ["---"] * len(heads), *rows())))
    try:
        pyplot = importlib.import_module("matplotlib.pyplot")
    except ImportError:
        return
    plot(pyplot)


if __name__ == "__main__":
    main()
