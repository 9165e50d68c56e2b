"""Small instances of every release, for the suites that all of them must pass."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from discreet.privacy import Replace
from discreet.release import (
    AdaptiveGrid,
    Automatic,
    CliqueTreeSynthesis,
    DirectSynthesis,
    FourierMarginals,
    GaussianTree,
    Hierarchy,
    Identity,
    IndependentSynthesis,
    MultiplicativeWeights,
    Net,
    Partition,
    PrivateBins,
    QuadTree,
    ResidualMarginals,
    SpanningTreeSynthesis,
    Uniform,
    UniformGrid,
    Wavelet,
    WeightedMarginals,
)

ONE, HALF = Fraction(1), Fraction(1, 2)

EXAMPLES: dict[str, list[Any]] = {
    "identity": [Identity(ONE, (3,)), Identity(ONE, (2, 2), most=2)],
    "uniform": [Uniform(ONE, (3,))],
    "hierarchy": [
        Hierarchy(ONE, (4,)),
        Hierarchy(ONE, (5,), 2, Replace("person"), 3, (Fraction(0), Fraction(1, 3), Fraction(2, 3))),
    ],
    "wavelet": [Wavelet(ONE, (4,)), Wavelet(ONE, (3,), 2, shares=(Fraction(1, 4), Fraction(1, 4), HALF))],
    "partition": [Partition(ONE, (4,)), Partition(ONE, (2, 2)), Partition(Fraction(4), (32,), most=2)],
    "uniform-grid": [UniformGrid(ONE, (2, 2))],
    "adaptive-grid": [AdaptiveGrid(ONE, (2, 2))],
    "quadtree": [QuadTree(ONE, (2, 2)), QuadTree(ONE, (3, 2), height=1, shares=(HALF, HALF))],
    "multiplicative-weights": [MultiplicativeWeights(ONE, (4,), rounds=2), MultiplicativeWeights(ONE, (2, 2))],
    "automatic": [Automatic(ONE, (4,)), Automatic(ONE, (2, 2))],
}

# Those that tell something else than a histogram over the cells they were given.
OTHERS: dict[str, list[Any]] = {
    "private-bins": [
        PrivateBins(ONE, (6,), bins=(3,)),
        PrivateBins(ONE, (4, 3), 2, Replace("person"), (2, 0), HALF, "uniform"),
        PrivateBins(Fraction(2), (3, 3), bins=(2, 2), method="adaptive-grid"),
    ],
    "gaussian-tree": [
        GaussianTree.cell_by_cell(HALF, (3,)),
        GaussianTree.cell_by_cell(HALF, (2, 2), 2, Replace("person")),
        GaussianTree(ONE, (5,), 2, Replace("person"), 3, (Fraction(0), Fraction(1, 3), Fraction(2, 3))),
    ],
    "residual-marginals": [ResidualMarginals(("x", "y"), (2, 3), (("x", "y"),), HALF)],
    "net": [Net(ONE, (3,), (1, 2, 4), 3), Net(HALF, (2, 2), (3, 5, 6), 2, 2, neighbours=Replace("person"))],
    "weighted-marginals": [
        WeightedMarginals(("x", "y"), (2, 3), (("x", "y"),), ONE),
        WeightedMarginals(("x", "y", "z"), (2, 3, 2), (("x", "y"), ("y", "z"), ("x",)), ONE, 1, HALF, most=2),
    ],
    "fourier-marginals": [FourierMarginals(("x", "y"), (2, 3), (("x",), ("y",)), ONE, most=2)],
    "independent-synthesis": [IndependentSynthesis(("x", "y"), (2, 3), ONE, 2)],
    "direct-synthesis": [DirectSynthesis(("x", "y"), (2, 2), HALF, rows=5, never=(((0, (0,)), (1, (1,))),))],
    "spanning-tree-synthesis": [SpanningTreeSynthesis(("x", "y", "z"), (2, 3, 2), HALF)],
    "clique-tree-synthesis": [CliqueTreeSynthesis(("x", "y", "z"), (2, 2, 2), ONE, 2, cells=64)],
}
