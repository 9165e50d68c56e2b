"""How many different people came, from a memory that hides who did even from whoever looks into it.

Each of `size` declared people has one bit. Before they come it is mostly down, by a coin; whenever they come it is
thrown anew and is mostly up. Whoever seizes the memory at one moment sees randomized responses. After a look that is
noticed, `refresh` blurs the memory, so that a next one is covered too, at its own price.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Refusal
from discreet.exact import Number, count, positive, share, spoken
from discreet.interval_arithmetic import exp
from discreet.mechanisms.mechanism import USUAL, Pair, Takes, settle
from discreet.mechanisms.registry import registered
from discreet.noise import SECURE, Entropy, flips, laplace, permutation
from discreet.privacy import AddRemove, Neighbours, Pure
from discreet.privacy.calibrate import laplace_error

_SMALLEST, _LARGEST = Fraction(1, 10**9), 40  # of ε: the coin has 64 binary digits, and is never a fair one
_MOST = 1 << 30  # people
_LOOKS = 64  # and so often a memory is blurred, at most: after that an estimate says nothing, in ever more digits

Cells = NDArray[np.uint8]
Visits = Sequence[Sequence[int]]  # who came in each step


@dataclass(frozen=True, eq=False)
class Memory:
    """All that is remembered: one number for each person, how often it was blurred anew, and whose numbers these are.

    Nothing else is kept, and an intruder may see all of it.
    """

    cells: Cells
    refreshed: int = 0
    sampled: NDArray[np.int64] | None = field(default=None)  # these people alone; None for everybody


@dataclass(frozen=True)
class Seizable:
    """What all memories of this kind declare: their two prices, how many people, answers and looks there are."""

    takes: ClassVar[Takes] = Takes.PUSHES

    epsilon_memory: Fraction  # of one look into the memory
    epsilon_answer: Fraction  # of one answer
    size: int
    answers: int = 1
    intrusions: int = 1  # looks that are covered: after each but the last, `refresh` comes before anything else
    neighbours: Neighbours = AddRemove()

    def __post_init__(self) -> None:
        settle(
            self,
            epsilon_memory=positive(self.epsilon_memory, "epsilon_memory"),
            epsilon_answer=positive(self.epsilon_answer, "epsilon_answer"),
            size=count(self.size, "size"),
            answers=count(self.answers, "answers"),
            intrusions=count(self.intrusions, "intrusions"),
            neighbours=self.neighbours,
        )
        if not _SMALLEST <= self.epsilon_memory <= _LARGEST:
            raise Refusal(f"expected {_SMALLEST} <= epsilon_memory <= {_LARGEST}, got {spoken(self.epsilon_memory)}")
        if self.size > _MOST:
            raise Refusal(f"expected size <= {_MOST}, got size={self.size}")
        if self.intrusions > _LOOKS:
            raise Refusal(f"expected intrusions <= {_LOOKS}, got intrusions={self.intrusions}")
        if not isinstance(self.neighbours, AddRemove):
            raise Refusal("the promise is for a person who came or did not", hint="leave neighbours out")

    @property
    def privacy(self) -> Pure:
        """The price of all looks into the memory that are covered, and of all that is told."""
        return Pure(self.intrusions * self.epsilon_memory + self.answers * self.epsilon_answer)

    def refuse_blurred(self, refreshed: int) -> None:
        """Where a memory was blurred so often that once more would leave nothing in it."""
        if refreshed >= _LOOKS:
            raise Refusal(f"a memory is blurred at most {_LOOKS} times", hint="close it, and open a new one")

    def places(self, people: Sequence[int]) -> NDArray[np.int64]:
        """People by their numbers, refused if one was not declared."""
        there = np.asarray(people, dtype=np.int64)
        if there.size and (int(there.min()) < 0 or int(there.max()) >= self.size):
            raise Refusal(f"people are 0 to {self.size - 1}", hint="give everybody who may come a number beforehand")
        return there


@registered("pan-private-distinct")
@dataclass(frozen=True)
class PanPrivateDistinct(Seizable):
    """Number of different people of 0, …, size − 1 who came, told `answers` times, from a memory of one bit each.

    Guarantee: Pure(intrusions · epsilon_memory + answers · epsilon_answer) for all that is told and the whole memory at
        so many moments, whoever chooses these, for all visits of one person; between one moment and the next the
        memory was refreshed, and nothing else happened before that. For what is told alone as well.
    Proof: docs/proofs/counters.md, Theorem 4.
    Source: Dwork, Naor, Pitassi, Rothblum & Yekhanin 2010; full randomized response in
        place of a coin near one half: arXiv 2111.08784.
    """

    @cached_property
    def lie(self) -> Fraction:
        """The chance that a bit is up though nobody came, or down though somebody did: 1/(e^ε + 1), rounded up."""
        chance = (1 / (exp(self.epsilon_memory) + 1)).up
        return Fraction(math.ceil(chance * (1 << 64)), 1 << 64)

    def lie_after(self, refreshed: int) -> Fraction:
        """The same in a memory that was blurred anew so often."""
        return (1 - (1 - 2 * self.lie) ** (refreshed + 1)) / 2

    def start(self, rng: Entropy = SECURE) -> Memory:
        """The memory before anybody came."""
        return Memory(flips(self.lie, self.size, rng=rng).astype(np.uint8))

    def push(self, memory: Memory, people: Sequence[int], rng: Entropy = SECURE) -> Memory:
        """The memory after these people came, each perhaps several times."""
        there, cells = np.unique(self.places(people)), memory.cells.copy()
        cells[there] = flips(1 - self.lie_after(memory.refreshed), int(there.size), rng=rng)
        return Memory(cells, memory.refreshed)

    def refresh(self, memory: Memory, rng: Entropy = SECURE) -> Memory:
        """The memory blurred anew: right after a look that was noticed."""
        self.refuse_blurred(memory.refreshed)
        turned = flips(self.lie, self.size, rng=rng).astype(np.uint8)
        return Memory(memory.cells ^ turned, memory.refreshed + 1)

    def told(self, memory: Memory, rng: Entropy = SECURE) -> Fraction:
        """An unbiased estimate of how many came. It may be told `answers` times: who calls it keeps count."""
        noisy = int(memory.cells.sum()) + laplace(1 / self.epsilon_answer, rng=rng)
        lie = self.lie_after(memory.refreshed)
        return (noisy - self.size * lie) / (1 - 2 * lie)

    def error(self, confidence: Number = USUAL, refreshed: int = 0) -> int:
        """α such that with this probability one answer, whichever was chosen beforehand, is within α.

        Half of what may go wrong is for the bits, by Hoeffding's inequality, and half for the noise.
        """
        return math.ceil(self._within(1 - share(confidence, "confidence"), refreshed))

    def _within(self, rare: Fraction, refreshed: int) -> Fraction:
        bits = math.sqrt(self.size * math.log(4 / rare) / 2) * (1 + 1e-9)
        noise = laplace_error(1 / self.epsilon_answer, 1 - rare / 2)
        return (Fraction(bits) + noise) / (1 - 2 * self.lie_after(refreshed))

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


@registered("pan-private-density")
@dataclass(frozen=True)
class PanPrivateDensity(Seizable):
    """Share of the people 0, …, size − 1 who came, from the bits of `sample` of them, drawn at the start.

    Guarantee: that of the number of different people among those who were drawn; who these are depends on nobody.
    Proof: docs/proofs/counters.md, Theorem 4.
    Source: Dwork, Naor, Pitassi, Rothblum & Yekhanin 2010.
    """

    sample: int = field(kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        settle(self, sample=count(self.sample, "sample"))
        if self.sample > self.size:
            raise Refusal(f"expected sample <= size, got sample={self.sample} of size={self.size}")

    @cached_property
    def distinct(self) -> PanPrivateDistinct:
        """How many came of those who were drawn."""
        return PanPrivateDistinct(
            self.epsilon_memory, self.epsilon_answer, self.sample, self.answers, self.intrusions, self.neighbours
        )

    def start(self, rng: Entropy = SECURE) -> Memory:
        """The memory before anybody came."""
        sampled = np.sort(permutation(self.size, rng=rng)[: self.sample])
        return Memory(self.distinct.start(rng).cells, 0, sampled)

    def push(self, memory: Memory, people: Sequence[int], rng: Entropy = SECURE) -> Memory:
        """The memory after these people came, each perhaps several times."""
        sampled = _sampled(memory)
        there = np.intersect1d(self.places(people), sampled)
        after = self.distinct.push(memory, np.searchsorted(sampled, there).tolist(), rng)
        return Memory(after.cells, after.refreshed, sampled)

    def refresh(self, memory: Memory, rng: Entropy = SECURE) -> Memory:
        """The memory blurred anew: right after a look that was noticed."""
        after = self.distinct.refresh(memory, rng)
        return Memory(after.cells, after.refreshed, memory.sampled)

    def told(self, memory: Memory, rng: Entropy = SECURE) -> Fraction:
        """An unbiased estimate of the share who came. It may be told `answers` times."""
        return self.distinct.told(memory, rng) / self.sample

    def error(self, confidence: Number = USUAL, refreshed: int = 0) -> float:
        """α such that with this probability one answer is within α; half of what may go wrong is for who was drawn."""
        rare = 1 - share(confidence, "confidence")
        if self.sample == self.size:
            return float(self.distinct._within(rare, refreshed)) / self.sample * (1 + 1e-9)  # noqa: SLF001  # its own
        drawn = math.sqrt(math.log(4 / rare) / (2 * self.sample))
        return (float(self.distinct._within(rare / 2, refreshed)) / self.sample + drawn) * (1 + 1e-9)  # noqa: SLF001

    def pairs(self) -> tuple[Pair[Visits], ...]:
        """Somebody came in every step, or in none."""
        return self.distinct.pairs()

    def __call__(self, steps: Visits, /, *, rng: Entropy = SECURE) -> Fraction:
        """One answer after all these steps."""
        memory = self.start(rng)
        for people in steps:
            memory = self.push(memory, people, rng)
        return self.told(memory, rng)


def _sampled(memory: Memory) -> NDArray[np.int64]:
    if memory.sampled is None:
        raise Refusal("this memory is not of a sample", hint="begin with start()")
    return memory.sampled
