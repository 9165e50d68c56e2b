"""How to divide a loss among parts. Floats may choose: whatever they choose, the shares add up to exactly one."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.release.marginals.domain import Workload, subsets

_FINEST = 1 << 48  # a share is a multiple of about one over this
_ROUNDS = 4000
_CLOSE = 1e-5  # to the optimum, relatively


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
