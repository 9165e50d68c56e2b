"""A plan: which parts are measured and what each may lose; from it follow the noise and every variance."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.declared.grid import whole
from discreet.errors import Refusal
from discreet.exact import spoken
from discreet.noise import Entropy, gaussians, laplaces
from discreet.noise.vector import LARGEST, SMALLEST
from discreet.release.marginals.domain import Axes, Domain, maximal, subsets
from discreet.release.marginals.parts import Part

Reals: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]
Counts: TypeAlias = Callable[[tuple[str, ...]], ArrayLike] | Mapping[tuple[str, ...], ArrayLike]

LAPLACE, GAUSSIAN = "laplace", "gaussian"
_NONE = 1e-30  # a variance of noise that is practically never there, and by which one can still divide


@dataclass(frozen=True)
class Plan:
    """Parts with their share of the loss: ε of discrete Laplace noise, or ρ of discrete Gaussian noise."""

    domain: Domain
    tables: tuple[Axes, ...]
    parts: tuple[Part, ...]
    losses: tuple[Fraction, ...]
    noise: str
    most: int = 1

    @cached_property
    def scales(self) -> tuple[Fraction, ...]:
        """Of the noise on each part: b = most · L1/ε, or σ² = most² · L2²/(2ρ), exactly."""
        pairs = zip(self.parts, self.losses, strict=True)
        if self.noise == LAPLACE:
            return tuple(self.most * part.l1(self.domain) / loss for part, loss in pairs)
        return tuple(self.most**2 * part.l2_squared(self.domain) / (2 * loss) for part, loss in pairs)

    def checked(self, name: str) -> Plan:
        """The plan, if the vector sampler reaches all its scales."""
        power = 1 if self.noise == LAPLACE else 2
        for scale, part in zip(self.scales, self.parts, strict=True):
            if not SMALLEST**power <= scale <= LARGEST**power:
                table = self.domain.names(part.axes)
                wrong = "large" if scale < SMALLEST**power else "small"
                raise Refusal(
                    f"{name} is too {wrong}: the noise on {table} would need a parameter of {spoken(scale)}",
                    hint=f"the sampler's proof covers 2^{-10 * power} to 2^{40 * power}",
                )
        return self

    @cached_property
    def variances(self) -> tuple[float, ...]:
        """Of one draw for each part."""
        variance = laplace_variance if self.noise == LAPLACE else gaussian_variance
        return tuple(variance(float(scale)) for scale in self.scales)

    @cached_property
    def sources(self) -> Mapping[Axes, tuple[tuple[int, float], ...]]:
        """For each residual the parts that tell of it, weighted by precision: the best linear unbiased estimate.

        Estimates of one residual from two parts have independent noise with covariances that are multiples of one
        matrix, so the weights are those of the inverse multiples.
        """
        found: dict[Axes, list[tuple[int, float]]] = {}
        for place, (part, variance) in enumerate(zip(self.parts, self.variances, strict=True)):
            for residual in part.informs():
                precision = 1 / (float(part.gain(residual, self.domain)) * variance)
                found.setdefault(residual, []).append((place, precision))
        return {
            residual: tuple((place, precision / sum(p for _, p in told)) for place, precision in told)
            for residual, told in found.items()
        }

    @cached_property
    def spreads(self) -> Mapping[Axes, float]:
        """s for each residual: its estimate has covariance s · ⊗(1 − J/n), and none with other residuals."""
        return {
            residual: sum(
                weight**2 * float(self.parts[place].gain(residual, self.domain)) * self.variances[place]
                for place, weight in told
            )
            for residual, told in self.sources.items()
        }

    def measured(self, counts: Counts, size: int, rng: Entropy) -> list[Integers]:
        """The noisy numbers of every part, `size` times each: all that is ever read off the data.

        Sums are modulo 2^64: (T mod 2^64) + noise mod 2^64 is a function of T + noise, so nothing is lost by it, and
        nothing in the data raises. Numbers are right while they stay within ±2^63.
        """
        tables = {axes: self._table(counts, axes) for axes in maximal(self.tables)}
        noisy = []
        for part, scale in zip(self.parts, self.scales, strict=True):
            source = next(axes for axes in tables if set(part.axes) <= set(axes))
            gone = tuple(axis for axis, i in enumerate(source) if i not in part.axes)
            numbers = part.measure(tables[source].sum(gone)).ravel()
            draw = laplaces if self.noise == LAPLACE else gaussians
            noisy.append(numbers + draw(scale, size * numbers.size, rng=rng).reshape(size, numbers.size))
        return noisy

    def _table(self, counts: Counts, axes: Axes) -> Integers:
        names = self.domain.names(axes)
        if isinstance(counts, Mapping) and names not in counts:
            raise Refusal(f"there are no counts for the table {names}")
        given = whole(np.asarray(counts[names] if isinstance(counts, Mapping) else counts(names)))
        if given.shape != self.domain.shape(axes):
            shapes = f"of shape {self.domain.shape(axes)}, got {given.shape}"
            raise Refusal(f"expected counts for the table {names} {shapes}")
        return given

    def estimated(self, noisy: list[Integers]) -> dict[Axes, Reals]:
        """Every residual's estimate from one run."""
        shaped = [
            numbers.astype(np.float64).reshape(part.shape(self.domain))
            for part, numbers in zip(self.parts, noisy, strict=True)
        ]
        return {
            residual: sum(
                (weight * self.parts[place].residual(shaped[place], residual) for place, weight in told),
                start=np.zeros(self.domain.shape(residual)),
            )
            for residual, told in self.sources.items()
        }


def cell_variance(domain: Domain, spreads: Mapping[Axes, float], axes: Axes) -> float:
    """Of each cell of a table: Σ_B (N_B/N_A)² Π_B (n − 1)/n · s_B over its sub-tables B, the same for all cells."""
    cells = domain.cells(axes)
    return math.fsum(
        float(Fraction(domain.cells(part) ** 2, cells**2) * domain.centred(part)) * spreads[part]
        for part in subsets(domain.lively(axes))
    )


def laplace_variance(scale: float) -> float:
    """2q/(1 − q)² with q = exp(−1/scale): 1/(2 sinh²(1/(2 scale))). Below 2 scale²."""
    return max(1 / (2 * math.sinh(1 / (2 * scale)) ** 2), _NONE) if scale > 0.01 else _NONE


def gaussian_variance(square: float) -> float:
    """Σ n² w(n)/Σ w(n) with w(n) = exp(−n²/(2σ²)). Below σ², by less than a double holds where σ² ≥ 3."""
    if square >= 3:
        return square
    steps = np.arange(1, 40, dtype=np.float64)
    weights = 2 * np.exp(-(steps**2) / (2 * square))
    return max(float((weights * steps**2).sum() / (1 + weights.sum())), _NONE)
