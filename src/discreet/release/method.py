"""The ways to publish, by the names that people write."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Protocol

from discreet.declared.grid import Integers
from discreet.errors import Refusal
from discreet.exact import Number, shown
from discreet.noise import SECURE, Entropy
from discreet.privacy import Neighbours, Pure
from discreet.release.automatic import Automatic
from discreet.release.grids import AdaptiveGrid, UniformGrid
from discreet.release.histogram import Histogram
from discreet.release.identity import Identity, Uniform
from discreet.release.multiplicative_weights import MultiplicativeWeights
from discreet.release.partition import Partition
from discreet.release.quadtree import QuadTree
from discreet.release.tuned_hierarchy import tuned
from discreet.release.wavelet import Wavelet

HISTOGRAM, RANGES, MARGINALS = KINDS = ("histogram", "ranges", "marginals")


class Counting(Protocol):
    """A release of counts, whichever it is."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Cells each way."""
        ...

    @property
    def cells(self) -> int:
        """How many there are."""
        ...

    @property
    def privacy(self) -> Pure:
        """What it loses."""
        ...

    def error(self, confidence: Number = ..., /) -> Fraction | int | None:
        """How far off it may be; None where that is known after paying."""
        ...

    def __call__(self, counts: Integers, /, *, rng: Entropy = SECURE) -> Histogram:
        """What it tells."""
        ...


Built = Callable[[Fraction, tuple[int, ...], int, Neighbours], Counting]


def _hierarchy(epsilon: Fraction, shape: tuple[int, ...], most: int, neighbours: Neighbours) -> Counting:
    return tuned(epsilon, shape[0], most, neighbours)


_ANY: dict[str, Built] = {
    "automatic": Automatic,
    "identity": Identity,
    "partition": Partition,
    "mwem": MultiplicativeWeights,
    "uniform": Uniform,
}
_LINE: dict[str, Built] = {**_ANY, "hierarchy": _hierarchy, "wavelet": Wavelet}
_PLANE: dict[str, Built] = {
    **_ANY,
    "quadtree": QuadTree,
    "uniform-grid": UniformGrid,
    "adaptive-grid": AdaptiveGrid,
}
TABLES = ("residual", "fourier")
USUAL = {HISTOGRAM: "identity", RANGES: "automatic"}  # single cells are read off the one, long ranges off the other


def methods(kind: str) -> tuple[str, ...]:
    """What there is for a kind of publication."""
    return TABLES if kind == MARGINALS else tuple({**_LINE, **_PLANE})


def counting(method: str, epsilon: Fraction, shape: tuple[int, ...], most: int, neighbours: Neighbours) -> Counting:
    """The release of this name over a line or a plane."""
    known, place = (_LINE, "a line") if len(shape) == 1 else (_PLANE, "a plane")
    if method not in known:
        columns = "one column makes" if len(shape) == 1 else "two columns make"
        raise Refusal(
            f"the method {shown(method)} is not for {place}, and {columns} one",
            hint=f"take one of {sorted(known)}",
        )
    return known[method](epsilon, shape, most, neighbours)
