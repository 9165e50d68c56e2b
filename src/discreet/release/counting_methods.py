"""Methods of counting, by the names that people write, and the plainest: noise on every cell, or on the total alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from discreet.declared.grid import Integers
from discreet.errors import Refusal
from discreet.exact import Number, shown
from discreet.mechanisms.mechanism import USUAL
from discreet.noise import SECURE, Entropy
from discreet.privacy import Neighbours
from discreet.privacy.calibrate import laplace_error
from discreet.release.gaussian_tree import GaussianTree
from discreet.release.grids import AdaptiveGrid, QuadTree, UniformGrid
from discreet.release.hierarchy_and_wavelet import Wavelet, tuned
from discreet.release.histogram import Histogram
from discreet.release.interval_tree import consistent
from discreet.release.multiplicative_weights import MultiplicativeWeights
from discreet.release.noisy_cells import Counts, noise_variance, noisy, released
from discreet.release.partition import Automatic, Partition


@released("identity")
@dataclass(frozen=True)
class Identity(Counts):
    """Adds discrete Laplace noise to every cell: the best for single cells, poor for long ranges.

    Guarantee: Pure(epsilon) for counts that differ by at most `distance` records in all.
    Proof: ‖x − x'‖₁ ≤ distance, and the noise has the scale distance/ε in every cell: as `LaplaceVector`.
    Source: Dwork, McSherry, Nissim & Smith 2006.
    """

    about: ClassVar[str] = "one cell"

    @property
    def scale(self) -> Fraction:
        """Of the noise."""
        return self.distance / self.epsilon

    def error(self, confidence: Number = USUAL) -> int:
        """The smallest α with Pr[|noise of a given cell| ≤ α] ≥ confidence."""
        return laplace_error(self.scale, confidence)

    def __call__(self, counts: Integers, /, *, rng: Entropy = SECURE) -> Histogram:
        """The cells with noise."""
        values = noisy(self.counted(counts).ravel(), self.scale, rng)
        children = (np.array([self.cells]),)
        unknown = np.array([np.inf])
        every = np.full(self.cells, noise_variance(self.scale))
        leaves, splits = consistent(children, [np.zeros(1), values], [unknown, every])
        return Histogram.of(leaves, splits, self.shape)


@released("uniform")
@dataclass(frozen=True)
class Uniform(Counts):
    """Adds discrete Laplace noise to the total and divides it evenly: nothing about the shape is told.

    Guarantee: Pure(epsilon) for counts that differ by at most `distance` records in all.
    Proof: the total moves by at most distance, and the noise has the scale distance/ε: as `Laplace`.
    Source: Hay, Machanavajjhala, Miklau, Chen & Zhang 2016, as a baseline.
    """

    @property
    def scale(self) -> Fraction:
        """Of the noise."""
        return self.distance / self.epsilon

    def error(self, confidence: Number = USUAL) -> int:
        """The smallest α with Pr[|noise of the total| ≤ α] ≥ confidence."""
        return laplace_error(self.scale, confidence)

    def __call__(self, counts: Integers, /, *, rng: Entropy = SECURE) -> Histogram:
        """The total with noise, divided evenly."""
        total = noisy(self.counted(counts).sum(keepdims=True).ravel(), self.scale, rng)
        leaves, splits = consistent((), [total], [np.array([noise_variance(self.scale)])])
        return Histogram.of(leaves, splits, self.shape, np.zeros(self.cells, dtype=np.int64))


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


_GAUSSIAN_LINE = ("automatic", "hierarchy", "identity")  # what a price in ρ buys with Gaussian noise
_GAUSSIAN_PLANE = ("automatic", "identity")


def gaussian(  # noqa: PLR0913  # as `counting`, and what will be read off it
    method: str, rho: Fraction, shape: tuple[int, ...], most: int, neighbours: Neighbours, *, ranges: bool
) -> GaussianTree | None:
    """The release of this name with Gaussian noise; None where there is none. Automatic suits cells, or ranges."""
    if method not in (_GAUSSIAN_LINE if len(shape) == 1 else _GAUSSIAN_PLANE):
        return None
    if len(shape) == 1 and (method == "hierarchy" or (method == "automatic" and ranges)):
        return GaussianTree.for_ranges(rho, shape[0], most, neighbours)
    return GaussianTree.cell_by_cell(rho, shape, most, neighbours)


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
