"""Methods of counting, by the names that people write."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from discreet.errors import Refusal
from discreet.exact import shown
from discreet.privacy import Neighbours
from discreet.release.counts import Counts
from discreet.release.grids import AdaptiveGrid, QuadTree, UniformGrid
from discreet.release.hierarchy import tuned
from discreet.release.identity import Identity, Uniform
from discreet.release.multiplicative_weights import MultiplicativeWeights
from discreet.release.partition import Automatic, Partition
from discreet.release.wavelet import Wavelet

Built = Callable[[Fraction, tuple[int, ...], int, Neighbours], Counts]


def _hierarchy(epsilon: Fraction, shape: tuple[int, ...], most: int, neighbours: Neighbours) -> Counts:
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
COUNTING = tuple({**_LINE, **_PLANE})  # what there is for one table


def counting(method: str, epsilon: Fraction, shape: tuple[int, ...], most: int, neighbours: Neighbours) -> Counts:
    """The release of this name over a line or a plane."""
    known, place = (_LINE, "a line") if len(shape) == 1 else (_PLANE, "a plane")
    if method not in known:
        columns = "one column makes" if len(shape) == 1 else "two columns make"
        raise Refusal(
            f"the method {shown(method)} is not for {place}, and {columns} one",
            hint=f"take one of {sorted(known)}",
            field="method",
        )
    return known[method](epsilon, shape, most, neighbours)
