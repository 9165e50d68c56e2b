"""Sums where none to three in ten people fail are off by as much as is predicted: full rounds of the protocol.

Masked sums of twenty people, the noise measured for up to three in ten who fail and one in ten who works with the
aggregator: keys, shares, masked numbers, survivors' shares, and the masks of those who failed taken off. Beside it the
tree of Chan, Shi & Song with Gaussian noise, of sixteen people, encrypted and read, at the same price. Values from 0
to 50, ρ = 1/8. `measured` is the root mean square of the errors, and 95 in 100 such lie within the span beside it if
the prediction is right. With matplotlib installed it also draws docs/images/sums-recovery.png.
"""

from __future__ import annotations

import importlib
import math
import tempfile
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from scipy import stats

from discreet.aggregate import Block, MaskedSum, TreeMember, TreeSum, dealt, read_tree, rehearsed
from discreet.ledger.signed_head import public_part
from discreet.privacy import Concentrated

PLOT = Path(__file__).parents[1] / "docs" / "images" / "sums-recovery.png"
PEOPLE, LEAVES, LIMIT, RHO = 20, 16, 50, Fraction(1, 8)
SHARES = (0, 5, 10, 15, 20, 25, 30)  # of a hundred who fail
ROUNDS, TREES = 40, 25


def masked(percent: int, folder: Path) -> tuple[float, float]:
    """Predicted and measured error of masked sums."""
    dice, failures = Random(percent), PEOPLE * percent // 100  # noqa: S311  # who fails is made up
    keys = [Ed25519PrivateKey.generate() for _ in range(PEOPLE)]
    people = [public_part(key) for key in keys]
    task = MaskedSum.of(str(folder), people, LIMIT, RHO, failures="0.3", colluders="0.1", epochs=ROUNDS)
    squares = 0.0
    for epoch in range(ROUNDS):
        values, gone = [dice.randint(0, LIMIT) for _ in keys], dice.sample(range(PEOPLE), failures)
        (found,) = rehearsed(task, epoch, keys, values, folder, gone)
        squares += float(found - sum(value for place, value in enumerate(values) if place not in gone)) ** 2
    return task.noise.deviation_of(PEOPLE - failures), math.sqrt(squares / ROUNDS)


def tree(percent: int, folder: Path) -> tuple[float, float]:
    """The same of the tree: the prediction is the mean over the failures that happened."""
    dice, failures = Random(percent), LEAVES * percent // 100  # noqa: S311  # the same
    task = TreeSum(str(folder), LEAVES, Concentrated(RHO), limit=LIMIT, epochs=TREES)
    aggregator: dict[Block, int] = {}
    own: dict[int, dict[Block, int]] = {place: {} for place in range(LEAVES)}
    for block in {block for place in range(LEAVES) for block in task.blocks_of(place)}:
        aggregator[block], *theirs = dealt(block.size)
        for place, exponent in zip(block.people, theirs, strict=True):
            own[place][block] = exponent
    members = [TreeMember(task, own[place], folder / f"leaf-{place}") for place in range(LEAVES)]
    squares = variance = 0.0
    for epoch in range(TREES):
        live = sorted(dice.sample(range(LEAVES), LEAVES - failures))
        sent = {place: members[place].encrypt(place, epoch) for place in live}
        squares += (float(read_tree(task, epoch, aggregator, sent)) - sum(live)) ** 2
        variance += task.deviation(live) ** 2
    return math.sqrt(variance / TREES), math.sqrt(squares / TREES)


def span(deviation: float, rounds: int) -> tuple[float, float]:
    """Where 95 in 100 root mean squares of so many normal errors lie."""
    low, high = (float(stats.chi2.ppf(part, rounds)) for part in (0.025, 0.975))
    return deviation * math.sqrt(low / rounds), deviation * math.sqrt(high / rounds)


def drawn(found: dict[str, list[tuple[float, float]]]) -> None:
    """Lines are predicted, dots measured."""
    try:
        plt: Any = importlib.import_module("matplotlib.pyplot")
    except ImportError:
        return
    figure, axis = plt.subplots(figsize=(6, 3.6), layout="constrained")
    for place, (scheme, errors) in enumerate(found.items()):
        spans = [span(predicted, ROUNDS if scheme == "masked" else TREES) for predicted, _ in errors]
        axis.fill_between(SHARES, *zip(*spans, strict=True), color=f"C{place}", alpha=0.15)
        axis.plot(SHARES, [one for one, _ in errors], color=f"C{place}", label=f"{scheme}, predicted")
        axis.plot(SHARES, [one for _, one in errors], "o", color=f"C{place}", label=f"{scheme}, measured")
    axis.set(xlabel="of a hundred people fail", ylabel="deviation of the sum", ylim=(0, None))
    axis.grid(visible=True, alpha=0.3)
    axis.legend(fontsize=8)
    figure.savefig(PLOT, dpi=120)


def main() -> None:
    """Print the table, and draw."""
    found: dict[str, list[tuple[float, float]]] = {"masked": [], "tree-gaussian": []}
    print("| fail | masked: predicted | measured | span | tree: predicted | measured | span |")
    print("|---|---|---|---|---|---|---|")
    for percent in SHARES:
        with tempfile.TemporaryDirectory() as folder:
            found["masked"].append(masked(percent, Path(folder)))
            found["tree-gaussian"].append(tree(percent, Path(folder)))
        cells = []
        for scheme, rounds in (("masked", ROUNDS), ("tree-gaussian", TREES)):
            predicted, measured = found[scheme][-1]
            low, high = span(predicted, rounds)
            cells += [f"{predicted:,.0f}", f"{measured:,.0f}", f"{low:,.0f} to {high:,.0f}"]
        print(f"| {percent} % | {' | '.join(cells)} |")
    drawn(found)


if __name__ == "__main__":
    main()
