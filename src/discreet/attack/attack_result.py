"""How much of a guess was right, beside what guessing gets without answers and what privacy allows."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import sqrt

import numpy as np
from numpy.typing import ArrayLike

from discreet.errors import Ground, Refusal


@dataclass(frozen=True)
class Outcome:
    """An attack that is over: right guesses of so many, the share that a blind guess gets, and the ceiling."""

    right: int
    of: int
    blind: Fraction
    ceiling: Fraction | None = None

    @property
    def share(self) -> float:
        """The share that was guessed right."""
        return self.right / self.of

    @property
    def chance(self) -> float:
        """One standard error of the share that so many independent blind guesses get right."""
        return sqrt(self.blind * (1 - self.blind) / self.of)

    def __str__(self) -> str:
        most = (
            "nothing limits an attacker"
            if self.ceiling is None or self.ceiling >= 1
            else f"no attacker gets more than {100 * float(self.ceiling):.1f} % on average"
        )
        return (
            f"recovered {self.right} of {self.of} ({100 * self.share:.1f} %); a blind guess gets "
            f"{100 * float(self.blind):.1f} % ± {100 * self.chance:.1f}; {most}"
        )


def scored(guess: ArrayLike, truth: ArrayLike, ceiling: Fraction | None = None) -> Outcome:
    """Compare a guess of bits with the truth, for whoever has made the truth up; the attacker cannot.

    A blind guess says of each bit what is said by a fair coin: `ceiling` is meant for such bits too.
    """
    guessed, true = np.asarray(guess), np.asarray(truth)
    if guessed.shape != true.shape or guessed.ndim != 1 or guessed.size == 0:
        raise Refusal(f"expected a guess for each of the {true.size} secrets, got {guessed.size}", ground=Ground.VALUE)
    return Outcome(int(np.count_nonzero(guessed == true)), true.size, Fraction(1, 2), ceiling)
