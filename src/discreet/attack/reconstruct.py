"""Reconstruction of secret bits from counts over many subsets, as by Dinur & Nissim (2003).

Threat model of all of them: the attacker knows who is in each subset, and sees about how many of these have the secret.
Nothing else is known: no bit, and no law of the bits.
"""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import Ground, Refusal

Bits = NDArray[np.int64]
_WORK = 1 << 28  # products that an exhaustive search may make
_AT_ONCE = 1 << 22  # numbers that are in memory for it
_RIDGE = 2.0**-20  # so that fewer questions than people have one solution too: the one nearest to one half


def exhaustive(members: ArrayLike, answers: ArrayLike) -> Bits:
    """The bits whose counts miss the answers least, where the largest miss counts, by trying all 2^n.

    Guarantee: if `members` holds all 2^n subsets and no answer is off by more than E, at most 4E bits are wrong
        (Dinur & Nissim 2003, Theorem 3; docs/proofs/attacks.md).
    """
    rows, told = _checked(members, answers)
    people = rows.shape[1]
    if people > 20 or len(rows) << people > _WORK:
        raise Refusal(
            f"{len(rows)} questions about {people} people are too many to try all secrets",
            hint="use least_squares or linear_program",
            ground=Ground.LIMIT,
        )
    block, best, least = max(1, _AT_ONCE // len(rows)), 0, float("inf")
    for start in range(0, 1 << people, block):
        secrets = _binary(np.arange(start, min(start + block, 1 << people)), people)
        misses = np.abs(secrets @ rows.T - told).max(axis=1)
        if misses.min() < least:
            best, least = start + int(misses.argmin()), float(misses.min())
    return np.asarray(_binary(np.array([best]), people)[0])


def least_squares(members: ArrayLike, answers: ArrayLike) -> Bits:
    """The bits nearest to the solution of least squares: fast, and right where `predicted` says so."""
    rows, told = _checked(members, answers)
    square = rows.T @ rows
    square.flat[:: rows.shape[1] + 1] += _RIDGE
    solution = np.linalg.solve(square, rows.T @ (told - rows.sum(axis=1) / 2))
    return np.asarray(solution > 0, dtype=np.int64)


def linear_program(members: ArrayLike, answers: ArrayLike, error: float | None = None) -> Bits:
    """The bits nearest to a point of [0, 1]^n whose counts lie within `error` of all answers (Dinur & Nissim 2003).

    Without `error` the point has the least sum of misses, which many wholly wrong answers do not disturb (Dwork,
    McSherry & Talwar 2007). Slower than `least_squares`, and better where answers are far off in few places or never by
    more than `error`.
    """
    from scipy.optimize import linprog  # noqa: PLC0415  # half a second that the other attacks need not pay

    rows, told = _checked(members, answers)
    questions, people = rows.shape
    if error is None:
        slack = np.eye(questions)
        found = linprog(
            np.r_[np.zeros(people), np.ones(questions)],
            A_ub=np.block([[rows, -slack], [-rows, -slack]]),
            b_ub=np.r_[told, -told],
            bounds=[(0, 1)] * people + [(0, None)] * questions,
            method="highs",
        )
    else:
        bounds = np.r_[told + error, error - told]
        found = linprog(np.zeros(people), A_ub=np.vstack([rows, -rows]), b_ub=bounds, bounds=(0, 1), method="highs-ipm")
    if found.x is None:
        raise Refusal(
            f"no secrets have counts within {error} of all answers",
            hint="say a larger error, or none",
            ground=Ground.VALUE,
        )
    return np.asarray(found.x[:people] > 0.5, dtype=np.int64)


def predicted(people: int, questions: int, deviation: float) -> float:
    """The share of bits that `least_squares` gets right, from the standard deviation of an answer's error; a forecast.

    Φ(√(m − n)/(4s)) for m random subsets of n people: the solution is off by 2s/√(m − n), and a bit is right if its
    number is off by less than 1/2 toward the other (docs/proofs/attacks.md). It is no bound.
    """
    if people < 1 or questions <= people or deviation < 0:
        raise Refusal(
            f"expected more questions than people, and a deviation >= 0, got {questions}, {people} and {deviation}",
            ground=Ground.VALUE,
        )
    if deviation == 0:
        return 1.0
    return NormalDist().cdf((questions - people) ** 0.5 / (4 * deviation))


def _checked(members: ArrayLike, answers: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    rows, told = np.asarray(members, dtype=np.float64), np.asarray(answers, dtype=np.float64)
    if rows.ndim != 2 or told.shape != rows.shape[:1] or rows.size == 0:
        raise Refusal(
            f"expected one answer for each row of members, got {told.shape} for {rows.shape}", ground=Ground.VALUE
        )
    if not np.isfinite(told).all():
        raise Refusal("expected answers that are finite numbers", ground=Ground.VALUE)
    return rows, told


def _binary(numbers: Bits, digits: int) -> Bits:
    return np.asarray(numbers[:, None] >> np.arange(digits) & 1, dtype=np.int64)
