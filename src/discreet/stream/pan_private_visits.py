"""How often people came, from a memory that hides it even from whoever looks into it: heavy hitters, incidence, means.

Each of `size` declared people has a number, which is random at the start and goes up by one at each visit, around a
circle of `most` + 1. Whoever seizes the memory at one moment sees randomized responses.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import numpy as np

from discreet.errors import Refusal
from discreet.exact import Number, count, share
from discreet.interval_arithmetic import exp
from discreet.mechanisms.integer_noise import LaplaceVector
from discreet.mechanisms.mechanism import USUAL, Pair, settle
from discreet.mechanisms.noise_sums import bar
from discreet.mechanisms.registry import registered
from discreet.noise import SECURE, Entropy, belows, flips, laplace
from discreet.stream.pan_private import Cells, Memory, Seizable, Visits

_CIRCLE = 256  # a number of the memory is one byte

Weights = tuple[Fraction, ...]


@registered("pan-private-visits")
@dataclass(frozen=True)
class PanPrivateVisits(Seizable):
    """How many of the people 0, …, size − 1 came so often, for 0 to `most` visits, told `answers` times.

    From one answer follow how many came exactly t times (the incidence), at least k times (the heavy hitters), and the
    mean of visits cropped at t. Somebody who came more than `most` times counts as after `most` + 1 fewer.

    Guarantee: Pure(intrusions · epsilon_memory + answers · epsilon_answer) for all that is told and the whole memory at
        so many moments, whoever chooses these, for all visits of one person; between one moment and the next the
        memory was refreshed, and nothing else happened before that. For what is told alone as well.
    Proof: docs/proofs/counters.md, Theorem 5.
    Source: the statistics are those of Dwork, Naor, Pitassi, Rothblum & Yekhanin 2010 and of Mir, Muthukrishnan,
        Nikolov & Wright 2011; the memory is that of the proof.
    """

    most: int = field(kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        settle(self, most=count(self.most, "most"))
        if self.most >= _CIRCLE:
            raise Refusal(f"expected most < {_CIRCLE}, got most={self.most}", hint="take fewer")

    @property
    def circle(self) -> int:
        """How many numbers there are, after the last of which comes the first."""
        return self.most + 1

    @cached_property
    def random(self) -> Fraction:
        """The chance that a number is thrown at the start: n/(e^ε + n − 1) on a circle of n, rounded up."""
        chance = (self.circle / (exp(self.epsilon_memory) + (self.circle - 1))).up
        return Fraction(math.ceil(chance * (1 << 64)), 1 << 64)

    def true_after(self, refreshed: int) -> Fraction:
        """The chance that a number is the count of visits and nothing else, in a memory blurred anew so often."""
        return (1 - self.random) ** (refreshed + 1)

    def _thrown(self, rng: Entropy) -> Cells:
        uniform = belows(self.circle, self.size, rng=rng).astype(np.uint8)
        return np.where(flips(self.random, self.size, rng=rng), uniform, np.uint8(0))

    def start(self, rng: Entropy = SECURE) -> Memory:
        """The memory before anybody came."""
        return Memory(self._thrown(rng))

    def push(self, memory: Memory, people: Sequence[int], rng: Entropy = SECURE) -> Memory:  # noqa: ARG002  # no coin
        """The memory after these people came, each as often as they are named."""
        visits = np.bincount(self.places(people), minlength=self.size)
        return Memory(self._moved(memory.cells, visits), memory.refreshed)

    def refresh(self, memory: Memory, rng: Entropy = SECURE) -> Memory:
        """The memory blurred anew: right after a look that was noticed."""
        self.refuse_blurred(memory.refreshed)
        return Memory(self._moved(memory.cells, self._thrown(rng)), memory.refreshed + 1)

    def _moved(self, cells: Cells, further: np.ndarray[tuple[int, ...], np.dtype[np.integer]]) -> Cells:
        moved: Cells = ((cells.astype(np.int64) + further) % self.circle).astype(np.uint8)
        return moved

    def told(self, memory: Memory, rng: Entropy = SECURE) -> Weights:
        """Unbiased estimates of how many came 0, 1, …, `most` times. They may be told `answers` times."""
        there, true = np.bincount(memory.cells, minlength=self.circle).tolist(), self.true_after(memory.refreshed)
        noisy = [each + laplace(2 / self.epsilon_answer, rng=rng) for each in there]
        return tuple((each - self.size * (1 - true) / self.circle) / true for each in noisy)

    def exactly(self, times: int) -> Weights:
        """What makes of an answer how many came so often."""
        return tuple(Fraction(each == self._within(times)) for each in range(self.circle))

    def at_least(self, times: int) -> Weights:
        """What makes of it how many came so often or more: the heavy hitters."""
        return tuple(Fraction(each >= self._within(times)) for each in range(self.circle))

    def cropped_mean(self, times: int) -> Weights:
        """What makes of it the mean of visits, of whom came more often only so many."""
        return tuple(Fraction(min(each, self._within(times)), self.size) for each in range(self.circle))

    def _within(self, times: int) -> int:
        if count(times, "times", least=0) > self.most:
            raise Refusal(f"visits are counted up to {self.most}, got {times}")
        return times

    def estimate(self, told: Weights, weights: Weights) -> Fraction:
        """One number of an answer."""
        return sum((each * weight for each, weight in zip(told, weights, strict=True)), Fraction(0))

    def error(self, weights: Weights, confidence: Number = USUAL, refreshed: int = 0) -> Fraction:
        """α such that with this probability one number, whichever was chosen beforehand, is within α.

        Half of what may go wrong is for what was thrown, by Hoeffding's inequality, and half for the noise.
        """
        rare, reach = 1 - share(confidence, "confidence"), max(weights) - min(weights)
        people = Fraction(math.sqrt(self.size * math.log(4 / rare) / 2) * (1 + 1e-9)) * reach
        noise = bar(tuple((LaplaceVector(2 / self.epsilon_answer), each) for each in weights), rare / 2)
        return (people + noise) / self.true_after(refreshed)

    def pairs(self) -> tuple[Pair[Visits], ...]:
        """Somebody came in every step, or in none."""
        last = self.size - 1
        return (
            Pair(((), ()), ((last,), ()), "one visit of one person"),
            Pair(((), ()), ((last,), (last,) * (self.most - 1)), "all visits of one person"),
        )

    def __call__(self, steps: Visits, /, *, rng: Entropy = SECURE) -> Weights:
        """One answer after all these steps."""
        memory = self.start(rng)
        for people in steps:
            memory = self.push(memory, people, rng)
        return self.told(memory, rng)
