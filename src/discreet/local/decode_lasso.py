"""The non-negative lasso over a sparse design: which columns explain the data, the telling ones first."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from discreet.local.estimate import Reals

LEAST = 1.0  # standard errors by which a column must explain what is left, to be chosen
_SHRINK = 0.85  # of the penalty from one step of the path to the next
_STILL = 1e-3  # standard errors: a sweep that moves no coefficient by more has arrived
_SWEEPS = 1000


def path(matrix: sparse.csc_array, data: Reals, weights: Reals, most: int) -> NDArray[np.intp]:
    """The columns of a positive coefficient where the penalty is least, at most so many; the last column is free.

    Minimises ½ Σ weights (data − matrix · x)² + λ Σ norm_j x_j over x ≥ 0 by coordinate descent (Friedman, Hastie &
    Tibshirani 2010), norm_j² = Σ weights matrix_j², from the λ at which all are 0 down to `LEAST`, each from the last.
    With weights that are one over the variance of the data, λ is in standard errors of a coefficient alone.
    """
    descent = _Descent(matrix, data, weights)
    descent.settle(np.inf)
    penalty = max(LEAST, float(descent.pull().max(initial=0)))
    chosen = np.empty(0, dtype=np.intp)
    while True:
        descent.settle(penalty)
        held = np.flatnonzero(descent.x[:-1] > 0)
        if held.size > most:
            return chosen
        chosen = held
        if penalty <= LEAST:
            return chosen
        penalty = max(LEAST, penalty * _SHRINK)


class _Descent:
    """Coefficients and what they leave unexplained. Changes as it descends."""

    def __init__(self, matrix: sparse.csc_array, data: Reals, weights: Reals) -> None:
        self.columns = np.split(matrix.indices, matrix.indptr[1:-1])
        self.heights = np.asarray(matrix.max(axis=0).todense()).ravel()  # a column has one number but for zeros
        self.matrix, self.weights = matrix, weights
        self.left = weights * data  # what is unexplained, weighed
        self.x = np.zeros(matrix.shape[1])
        self.norms = np.sqrt(matrix.power(2).T @ weights)

    def pull(self) -> Reals:
        """How many standard errors each column would explain of what is left; the last is free and not counted."""
        pulls: Reals = (self.matrix.T @ self.left)[:-1] / np.maximum(self.norms[:-1], 1e-300)
        return pulls

    def settle(self, penalty: float) -> None:
        """Move to the minimum for this penalty."""
        while True:
            outside = np.flatnonzero((self.pull() > penalty + _STILL) & (self.x[:-1] == 0))
            active = [*np.flatnonzero(self.x[:-1] > 0).tolist(), *outside.tolist()]
            self._sweep(active, penalty)
            if not outside.size:
                return

    def _sweep(self, active: Iterable[int], penalty: float) -> None:
        last = self.x.size - 1
        for _ in range(_SWEEPS):
            moved = self._step(last, 0)
            for column in active:
                moved = max(moved, self._step(column, penalty))
            if moved <= _STILL:
                return

    def _step(self, column: int, penalty: float) -> float:
        """Move one coefficient to its best; by how many standard errors it moved."""
        rows, height, norm = self.columns[column], self.heights[column], self.norms[column]
        if not norm:
            return 0.0
        pull = height * self.left[rows].sum() / norm
        change = max(-self.x[column], (pull - penalty) / norm)
        if change:
            self.x[column] += change
            self.left[rows] -= self.weights[rows] * (height * change)
        return float(abs(change) * norm)
