"""How many different people came, from a memory that hides who did even from whoever once looks into it.

Each of `size` declared people has one bit. Before they come it is mostly down, by a coin; whenever they come it is
thrown anew and is mostly up. Whoever seizes the memory at one moment sees randomized responses.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Refusal
from discreet.exact import Number, count, positive, share, spoken
from discreet.interval import exp
from discreet.mechanisms.mechanism import USUAL, Pair, Takes, settle
from discreet.mechanisms.registry import registered
from discreet.noise import SECURE, Entropy, flips, laplace
from discreet.privacy import AddRemove, Neighbours, Pure
from discreet.privacy.calibrate import laplace_error

_SMALLEST, _LARGEST = Fraction(1, 10**9), 40  # of ε: the coin has 64 binary digits, and is never a fair one
_MOST = 1 << 30  # people

Bits = NDArray[np.bool_]
Visits = Sequence[Sequence[int]]  # who came in each step


@registered("pan-private-distinct")
@dataclass(frozen=True)
class PanPrivateDistinct:
    """Number of different people of 0, …, size − 1 who came, told `answers` times, from a memory of one bit each.

    Guarantee: Pure(epsilon_memory + answers · epsilon_answer) for all that is told and the whole memory at one moment,
        whoever chooses that moment, for all visits of one person; and for what is told alone as well.
    Proof: docs/proofs/counters.md, Theorem 4.
    Source: Dwork, Naor, Pitassi, Rothblum & Yekhanin 2010; full randomized response in
        place of a coin near one half: arXiv 2111.08784.
    """

    takes: ClassVar[Takes] = Takes.PUSHES

    epsilon_memory: Fraction
    epsilon_answer: Fraction
    size: int
    answers: int = 1
    neighbours: Neighbours = AddRemove()

    def __post_init__(self) -> None:
        settle(
            self,
            epsilon_memory=positive(self.epsilon_memory, "epsilon_memory"),
            epsilon_answer=positive(self.epsilon_answer, "epsilon_answer"),
            size=count(self.size, "size"),
            answers=count(self.answers, "answers"),
            neighbours=self.neighbours,
        )
        if not _SMALLEST <= self.epsilon_memory <= _LARGEST:
            raise Refusal(f"expected {_SMALLEST} <= epsilon_memory <= {_LARGEST}, got {spoken(self.epsilon_memory)}")
        if self.size > _MOST:
            raise Refusal(f"expected size <= {_MOST}, got size={self.size}")
        if not isinstance(self.neighbours, AddRemove):
            raise Refusal("the promise is for a person who came or did not", hint="leave neighbours out")

    @cached_property
    def lie(self) -> Fraction:
        """The chance that a bit is up though nobody came, or down though somebody did: 1/(e^ε + 1), rounded up."""
        chance = (1 / (exp(self.epsilon_memory) + 1)).up
        return Fraction(math.ceil(chance * (1 << 64)), 1 << 64)

    @property
    def privacy(self) -> Pure:
        """The price of the memory at one moment and of all that is told."""
        return Pure(self.epsilon_memory + self.answers * self.epsilon_answer)

    def start(self, rng: Entropy = SECURE) -> Bits:
        """The memory before anybody came."""
        return flips(self.lie, self.size, rng=rng)

    def push(self, memory: Bits, people: Sequence[int], rng: Entropy = SECURE) -> Bits:
        """The memory after these people came, each perhaps several times."""
        there = np.unique(np.asarray(people, dtype=np.int64))
        if there.size and (int(there[0]) < 0 or int(there[-1]) >= self.size):
            raise Refusal(f"people are 0 to {self.size - 1}", hint="give everybody who may come a number beforehand")
        after = memory.copy()
        after[there] = flips(1 - self.lie, int(there.size), rng=rng)
        return after

    def told(self, memory: Bits, rng: Entropy = SECURE) -> Fraction:
        """An unbiased estimate of how many came. It may be told `answers` times: who calls it keeps count."""
        noisy = int(memory.sum()) + laplace(1 / self.epsilon_answer, rng=rng)
        return (noisy - self.size * self.lie) / (1 - 2 * self.lie)

    def error(self, confidence: Number = USUAL) -> int:
        """α such that with this probability one answer, whichever was chosen beforehand, is within α.

        Half of what may go wrong is for the bits, by Hoeffding's inequality, and half for the noise.
        """
        half = (1 - share(confidence, "confidence")) / 2
        bits = math.sqrt(self.size * math.log(2 / half) / 2) * (1 + 1e-9)
        return math.ceil((Fraction(bits) + laplace_error(1 / self.epsilon_answer, 1 - half)) / (1 - 2 * self.lie))

    def pairs(self) -> tuple[Pair[Visits], ...]:
        """Somebody came in every step, or in none."""
        last = self.size - 1
        return (Pair(((), ()), ((last,), (last,)), "all visits of one person"),)

    def __call__(self, steps: Visits, /, *, rng: Entropy = SECURE) -> Fraction:
        """One answer after all these steps."""
        memory = self.start(rng)
        for people in steps:
            memory = self.push(memory, people, rng)
        return self.told(memory, rng)
