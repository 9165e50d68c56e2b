"""Plan: which parts of tables are measured, as whole numbers, and what each may lose; the noise follows.

Along each column a part applies one of three integer matrices to the table's counts.

    cells      the identity: also says what the sub-tables are
    sign       (1, −1), for a column of two keys: one number, the character of Barak et al.
    centred    n·1 − J: n times the distance to the mean over the column

Columns of their Kronecker product all have the same norms, so the sensitivity is exact. How a loss is divided among
parts floats may choose: whatever they choose, the shares add up to exactly one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
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
from discreet.release.marginals.domain import Axes, Domain, Workload, maximal, subsets

Reals: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]
Counts: TypeAlias = Callable[[tuple[str, ...]], ArrayLike] | Mapping[tuple[str, ...], ArrayLike]

LAPLACE, GAUSSIAN = "laplace", "gaussian"
_NONE = 1e-30  # a variance of noise that is practically never there, and by which one can still divide
CELLS, SIGN, CENTRED = "cells", "sign", "centred"
_FINEST = 1 << 48  # a share is a multiple of about one over this
_ROUNDS = 4000
_CLOSE = 1e-5  # to the optimum, relatively


@dataclass(frozen=True)
class MeasuredTable:
    """A table, and what is measured of it along each of its columns."""

    axes: Axes
    forms: tuple[str, ...]

    def shape(self, domain: Domain) -> tuple[int, ...]:
        """Of the measured numbers."""
        return tuple(1 if form == SIGN else domain.sizes[i] for i, form in zip(self.axes, self.forms, strict=True))

    def l1(self, domain: Domain) -> int:
        """How far one record moves the numbers in all: the sum of the sizes of any column of the matrix."""
        return math.prod(2 * (domain.sizes[i] - 1) for i in self._with(CENTRED))

    def l2_squared(self, domain: Domain) -> int:
        """The sum of the squares of any column of the matrix: (n − 1)² + (n − 1) for a centred one."""
        return math.prod(domain.sizes[i] * (domain.sizes[i] - 1) for i in self._with(CENTRED))

    def informs(self) -> list[Axes]:
        """The residuals that can be read off: columns measured by cells may be summed over, the others not."""
        kept = set(self._with(SIGN)) | set(self._with(CENTRED))
        return [axes for axes in subsets(self.axes) if kept <= set(axes)]

    def gain(self, residual: Axes, domain: Domain) -> Fraction:
        """Noise of variance 1 on each number becomes a residual with covariance gain · ⊗(1 − J/n)."""
        gain = Fraction(1)
        for i, form in zip(self.axes, self.forms, strict=True):
            size = domain.sizes[i]
            if i not in residual:
                gain *= size  # so many independent draws are summed
            elif form == SIGN:
                gain /= 2
            elif form == CENTRED:
                gain /= size * size
        return gain

    def measure(self, table: NDArray[np.int64]) -> NDArray[np.int64]:
        """The whole numbers, modulo 2^64."""
        for axis, form in enumerate(self.forms):
            if form == SIGN:
                table = np.take(table, [0], axis) - np.take(table, [1], axis)
            elif form == CENTRED:
                table = table.shape[axis] * table - table.sum(axis, keepdims=True)
        return table

    def residual(self, numbers: NDArray[np.float64], residual: Axes) -> NDArray[np.float64]:
        """The residual's unbiased estimate from noisy numbers."""
        gone = tuple(axis for axis, i in enumerate(self.axes) if i not in residual)
        kept = [form for i, form in zip(self.axes, self.forms, strict=True) if i in residual]
        numbers = numbers.sum(gone)
        for axis, form in enumerate(kept):
            if form == SIGN:
                numbers = np.concatenate([numbers, -numbers], axis) / 2
            else:
                numbers = numbers - numbers.mean(axis, keepdims=True)
                numbers = numbers / numbers.shape[axis] if form == CENTRED else numbers
        return numbers

    def _with(self, form: str) -> Axes:
        return tuple(i for i, own in zip(self.axes, self.forms, strict=True) if own == form)


@dataclass(frozen=True)
class Plan:
    """Parts with their share of the loss: ε of discrete Laplace noise, or ρ of discrete Gaussian noise."""

    domain: Domain
    tables: tuple[Axes, ...]
    parts: tuple[MeasuredTable, ...]
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
        sources: dict[Axes, list[tuple[int, float]]] = {}
        for place, (part, variance) in enumerate(zip(self.parts, self.variances, strict=True)):
            for residual in part.informs():
                precision = 1 / (float(part.gain(residual, self.domain)) * variance)
                sources.setdefault(residual, []).append((place, precision))
        return {
            residual: tuple((place, precision / sum(p for _, p in told)) for place, precision in told)
            for residual, told in sources.items()
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


# shares ---------------------------------------------------------------------------------------------------------------


def exactly(sizes: Sequence[float]) -> tuple[Fraction, ...]:
    """Shares in proportion to some sizes, as rationals that add up to 1."""
    total = float(np.sum(sizes))
    parts = [max(1, round(_FINEST * size / total)) for size in sizes]
    return tuple(Fraction(part, sum(parts)) for part in parts)


def for_total(workload: Workload) -> list[float]:
    """Shares of ρ that minimise the weighted sum of all cells' variances.

    Residual B has spread c_B/(2ρ_B) with c_B = Π (n − 1)/n, and counts v_B times. By Cauchy & Schwarz
    Σ v_B c_B/ρ_B · Σ ρ_B ≥ (Σ √(v_B c_B))², with equality if ρ_B is proportional to √(v_B c_B).
    """
    domain, needs = workload.domain, workload.needs
    return [float(needs[axes] * domain.centred(axes)) ** 0.5 for axes in workload.residuals]


def for_worst(workload: Workload) -> tuple[list[float], float]:
    """Shares of ρ that nearly minimise the largest weighted variance of a cell, and how nearly: a proven ratio.

    For weights λ of the tables that add up to 1, min_ρ Σ λ_A V_A(ρ) is a lower bound of min_ρ max_A V_A(ρ), and the
    minimum is that of `for_total`. Tables with a larger variance than the average get more weight, until all that
    have weight are equal; the ratio of the largest variance to the bound says how far that is.
    """
    domain, residuals = workload.domain, workload.residuals
    place = {axes: i for i, axes in enumerate(residuals)}
    loads = np.zeros((len(workload.tables), len(residuals)))
    for row, (axes, weight) in enumerate(zip(workload.tables, workload.weights, strict=True)):
        for part in subsets(domain.lively(axes)):
            size = Fraction(domain.cells(part) ** 2, domain.cells(axes) ** 2)
            loads[row, place[part]] = float(weight * size * domain.centred(part) ** 2)
    weights = np.full(len(loads), 1 / len(loads))
    best, ratio = np.ones(len(residuals)), np.inf
    for _ in range(_ROUNDS):
        roots = np.sqrt(weights @ loads)
        with np.errstate(divide="ignore", invalid="ignore"):
            variances = np.where(loads > 0, loads / roots, 0).sum(1) * roots.sum()
        bound = roots.sum() ** 2
        if np.max(variances) / bound < ratio:
            best, ratio = roots, float(np.max(variances) / bound)
        if ratio <= 1 + _CLOSE:
            break
        weights = weights * variances
        weights = np.maximum(weights / weights.sum(), 1e-30)
    return [float(root) for root in best], ratio


def for_laplace(needs: NDArray[np.float64], tells: NDArray[np.float64], start: NDArray[np.float64]) -> list[float]:
    """Shares of ε for parts with Laplace noise that come near a least sum of variances, from a start.

    With `tells[j, B]` the precision that part j at ε = 1 gives residual B, which counts needs[B] times, the sum is
    Σ_B needs_B/τ_B, τ_B = Σ_j tells[j, B] ε_j². A share grows with the cube root of what it gains. Where every residual
    has one part, the first step is the optimum: ε_j in proportion to the cube root of needs/tells. Each step is kept
    only if it is better, so the result is at least as good as the start.
    """
    shares = start / start.sum()
    best = float(np.sum(needs / (shares**2 @ tells)))
    for _ in range(300):
        gains = tells @ (needs / (shares**2 @ tells) ** 2)
        trial = np.maximum(shares * np.cbrt(gains * shares), 1e-12)
        trial = trial / trial.sum()
        value = float(np.sum(needs / (trial**2 @ tells)))
        if not value < best * (1 - 1e-9):
            break
        shares, best = trial, value
    return [float(share) for share in shares]
