"""Non-negative lasso over a sparse design: which columns explain the data, the telling ones first."""

from __future__ import annotations

import math
from collections.abc import Iterable
from copy import copy
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from discreet.local.frequencies import Reals

LEAST = 1.0  # standard errors by which a column must explain what is left, to be chosen
_SHRINK = 0.85  # of the penalty from one step of the path to the next
_STILL = 1e-3  # standard errors: a sweep that moves no coefficient by more has arrived
_SWEEPS = 1000


@dataclass(frozen=True, eq=False)
class LassoPath:
    """Where a path ended: the columns of a positive coefficient there, the penalty, and what is left, weighed."""

    chosen: NDArray[np.intp]
    penalty: float
    left: Reals
    _end: Descent

    def strangers(self, variances: Reals) -> float:
        """The variance that what is no column adds to every datum, whose own variances are these.

        From what the lasso leaves, which follows the noise by one degree of freedom for each column that it chose (Zou,
        Hastie & Tibshirani 2007). What least squares on the chosen leaves would be too little: they were chosen for it.
        """
        free = max(1, self.left.size - self.chosen.size)
        return max(0.0, float(np.sum((self.left / self._end.weights) ** 2)) / free - float(variances.mean()))

    def without(self, column: int) -> Reals:
        """What is left unexplained at that penalty, weighed, where this column is not in the design at all.

        A minimum is reached, which is the same wherever one sets out: nothing of the column is in it.
        """
        descent = self._end.less(column)
        descent.settle(self.penalty)
        return descent.left


def path(matrix: sparse.csc_array, data: Reals, weights: Reals, most: int) -> LassoPath:
    """Down to the penalty that is one standard error of what is left, with at most so many columns; the last is free.

    Minimises ½ Σ weights (data − matrix · x)² + λ Σ norm_j x_j over x ≥ 0 by coordinate descent (Friedman, Hastie &
    Tibshirani 2010), norm_j² = Σ weights matrix_j², from a λ at which all are 0, each from the last. With weights that
    are one over the variance of the data, λ is in standard errors of a coefficient alone. Where the data scatter more
    than their variances say, because something sets bits that is no column, they are larger in proportion.
    """
    descent = Descent(matrix, data, weights)
    descent.settle(np.inf)
    pull = max(LEAST, float(descent.pull().max(initial=0)))
    steps = math.ceil(math.log(pull / LEAST) / -math.log(_SHRINK))  # on one grid, whatever the columns are
    ended = LassoPath(np.empty(0, dtype=np.intp), LEAST * _SHRINK**-steps, descent.left.copy(), descent)
    for step in range(steps, -1, -1):
        penalty = LEAST * _SHRINK**-step
        descent.settle(penalty)
        held = np.flatnonzero(descent.x[:-1] > 0)
        if held.size > most:
            return ended
        ended = LassoPath(held, penalty, descent.left.copy(), descent)
        if penalty <= LEAST * descent.scatter:
            return ended
    return ended


class Descent:
    """Coefficients and what they leave unexplained. Changes as it descends."""

    def __init__(self, matrix: sparse.csc_array, data: Reals, weights: Reals) -> None:
        self.columns = np.split(matrix.indices, matrix.indptr[1:-1])
        self.heights = np.asarray(matrix.max(axis=0).todense()).ravel()  # a column has one number but for zeros
        self.matrix, self.weights = matrix, weights
        self.left = weights * data  # what is unexplained, weighed
        self.x = np.zeros(matrix.shape[1])
        self.norms = np.sqrt(matrix.power(2).T @ weights)

    def less(self, column: int) -> Descent:
        """Another one from here, on all columns but one."""
        other = copy(self)
        other.left, other.x, other.norms = self.left.copy(), self.x.copy(), self.norms.copy()
        rows = self.columns[column]
        other.left[rows] += self.weights[rows] * (self.heights[column] * self.x[column])
        other.x[column] = 0
        other.norms[column] = np.inf  # it pulls at nothing, and is never moved
        return other

    @property
    def scatter(self) -> float:
        """How many standard errors a datum is off: the root of the mean square."""
        return math.sqrt(float(np.mean(self.left**2 / self.weights)))

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
