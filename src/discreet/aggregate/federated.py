"""Federated mean and gradient descent: everybody's vector is clipped on a grid, and only noisy sums of all are read."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.aggregate.gaussian_shares import GaussianShares
from discreet.errors import Refusal
from discreet.exact import count, positive, shown


@dataclass(frozen=True)
class ClippedGrid:
    """How vectors become whole numbers: one of length `norm` has `limit` steps, and a longer one is shortened to that.

    Guarantee: whatever the vector, the squares of its whole numbers add up to limit² at most, so replacing a person
        moves a sum by 2 · limit at most, as a masked sum with a `dimension` and this `limit` counts on.
    Proof: docs/proofs/aggregate.md, Theorem 6. All of it is in whole numbers.
    """

    norm: Fraction
    limit: int = 1 << 20

    def __post_init__(self) -> None:
        object.__setattr__(self, "norm", positive(self.norm, "norm"))
        object.__setattr__(self, "limit", count(self.limit, "limit"))

    def clipped(self, vector: ArrayLike) -> list[int]:
        """A person's vector on the grid, rounded toward zero: by less than a step a number if it is not too long.

        What is infinite, or no number, counts as 0.
        """
        given = np.asarray(vector, dtype=np.float64)
        if given.ndim != 1:
            raise Refusal(f"expected a vector of numbers, got shape {given.shape}")
        numbers = np.where(np.isfinite(given), given, 0.0).tolist()  # who sent nothing instead would be seen to
        steps = [int(Fraction(each) * self.limit / self.norm) for each in numbers]  # int() rounds toward zero
        square = sum(each * each for each in steps)
        if square <= self.limit**2:
            return steps
        length = math.isqrt(square - 1) + 1  # rounded up, so that what is shortened is short enough
        return [(abs(each) * self.limit // length) * (1 if each > 0 else -1) for each in steps]

    def mean(self, total: Sequence[Fraction], people: int) -> NDArray[np.float64]:
        """The mean of the clipped vectors with its noise, from the sum that was read over so many people."""
        part = self.norm / self.limit / count(people, "people")
        return np.array([float(each * part) for each in total])

    def error(self, noise: GaussianShares, people: int) -> float:
        """Each number of the mean is within this of that of everybody's vectors 19 times in 20, if all are honest.

        That is if no vector is longer than `norm`: what is cut off of longer ones is not in it.
        """
        return float(Fraction(noise.error_of(people), people) * self.norm / self.limit + self.norm / self.limit)


@dataclass(frozen=True)
class LogisticDescent:
    """Logistic regression by gradient steps on rows that stay with people. `rate` is how far a step goes.

    Guarantee: in an epoch of a masked sum, a person's rows are told as `ClippedGrid` says; weights are made of sums
        that were read before, so all epochs together cost what the sum says: for replacing all rows of a person.
    Proof: docs/proofs/aggregate.md, Theorem 6.
    """

    grid: ClippedGrid
    rate: float = 1.0

    def gradient(self, weights: ArrayLike, rows: ArrayLike, labels: ArrayLike) -> list[int]:
        """A person's part of an epoch: the mean gradient of the logistic loss over the person's rows, clipped.

        Rows with a label but 0 and 1, or without all numbers, are left out; who has no others says zero: whoever
        refused to take part would tell that of their rows.
        """
        known, answers = np.asarray(rows, dtype=np.float64), np.asarray(labels, dtype=np.float64)
        slopes = np.asarray(weights, dtype=np.float64)
        if known.ndim != 2 or known.shape != (answers.size, slopes.size):
            raise Refusal(f"expected rows of {slopes.size} numbers and a label for each, got {shown(known.shape)}")
        there = np.isin(answers, (0, 1)) & np.isfinite(known).all(axis=1)
        known, answers = known[there], answers[there]
        with np.errstate(over="ignore", invalid="ignore"):
            chances = 0.5 * (1 + np.tanh(known @ slopes / 2))  # the logistic function, which does not overflow so
            return self.grid.clipped(known.T @ (chances - answers) / max(1, answers.size))

    def step(self, weights: ArrayLike, total: Sequence[Fraction], people: int) -> NDArray[np.float64]:
        """The next weights, from the sum that was read: computed by everybody alike."""
        slopes = np.asarray(weights, dtype=np.float64)
        if slopes.shape != (len(total),):
            raise Refusal(f"expected {len(total)} weights, got {shown(slopes.shape)}")
        moved: NDArray[np.float64] = slopes - self.rate * self.grid.mean(total, people)
        return moved
