"""Continual counter of a wide tree whose nodes are added and subtracted: pure ε, whole numbers only."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.declared.grid import Integers
from discreet.errors import Refusal
from discreet.exact import ONE, Number, count, positive, share
from discreet.mechanisms.integer_noise import LaplaceVector
from discreet.mechanisms.mechanism import USUAL, Pair, Takes, settle
from discreet.mechanisms.noise_sums import bar
from discreet.mechanisms.registry import Plain, registered
from discreet.noise import SECURE, Entropy, laplace, laplaces
from discreet.noise.vector import LARGEST, SMALLEST
from discreet.privacy import AddRemove, Neighbours, Pure
from discreet.stream.counter import distance, held, steps_of, worst_streams

_WIDEST = 201  # arity up to which the best is looked for: beyond some thirty none is better for any horizon below 10^12


@dataclass(frozen=True)
class _Level:
    """Noise of one level between two blocks of its parent: what is still to be taken away, and what was added."""

    left: tuple[int, ...] = ()
    added: int = 0


@dataclass(frozen=True)
class TreeState:
    """Secret of a counter: how many events there were, and the noise that later steps use again."""

    step: int = 0
    total: int = field(default=0, repr=False)
    levels: tuple[_Level, ...] = field(default=(), repr=False)


@registered("tree-counter")
@dataclass(frozen=True)
class TreeCounter:
    """Running count of events after each of `horizon` steps, from noisy counts of the blocks of a tree.

    A block of level l is `arity`^l steps long. The count after a step is that of few blocks: those up to a block's end
    nearby, less those that are still to come; what is to come cancels, and its noise alone is drawn beforehand.

    Guarantee: if a unit adds at most `contribution` to all steps together, Pure(contribution · levels / scale) for
        all running counts, the events of each step chosen after the counts before it; twice that where units are
        replaced.
    Proof: docs/proofs/counters.md, Theorem 1.
    Source: Andersson, Pagh, Steiner & Torkamani 2025 for subtraction; Dwork, Naor, Pitassi & Rothblum 2010 for trees.
    """

    takes: ClassVar[Takes] = Takes.EVENTS

    scale: Fraction
    horizon: int
    arity: int = 3
    contribution: int = 1
    neighbours: Neighbours = AddRemove()

    def __post_init__(self) -> None:
        settle(
            self,
            scale=positive(self.scale, "scale"),
            horizon=count(self.horizon, "horizon"),
            arity=count(self.arity, "arity", least=3),
            contribution=count(self.contribution, "contribution"),
            neighbours=self.neighbours,
        )
        if self.arity % 2 == 0:
            raise Refusal(f"expected an odd arity, got arity={self.arity}", hint=f"take {self.arity + 1}")

    @classmethod
    def of(
        cls, epsilon: Number, horizon: int, contribution: int = 1, neighbours: Neighbours = AddRemove()
    ) -> TreeCounter:
        """The one that loses exactly `epsilon`, of the arity whose largest deviation is the least."""
        steps = count(horizon, "horizon")
        arity = min(range(3, _WIDEST, 2), key=lambda k: (_levels(steps, k) ** 2 * _most_blocks(steps, k), k))
        moved = count(contribution, "contribution") * (1 if isinstance(neighbours, AddRemove) else 2)
        return cls(moved * _levels(steps, arity) / positive(epsilon, "epsilon"), steps, arity, contribution, neighbours)

    @cached_property
    def levels(self) -> int:
        """In how many blocks each step lies."""
        return _levels(self.horizon, self.arity)

    @property
    def privacy(self) -> Pure:
        """The price of all running counts together."""
        return Pure(distance(self.contribution, self.neighbours) * self.levels / self.scale)

    def blocks(self, step: int) -> int:
        """Of how many blocks the running count after a step is made."""
        return sum(map(abs, _digits(count(step, "step", least=0), self.arity)))

    def deviation(self, step: int | None = None) -> float:
        """Standard deviation of the running count after a step; without one, the largest there is."""
        many = _most_blocks(self.horizon, self.arity) if step is None else self.blocks(step)
        a = math.exp(-1 / self.scale)
        return math.sqrt(many * 2 * a) / (1 - a)

    def error(self, confidence: Number = USUAL, together: int = 1) -> int:
        """α such that with this probability one running count, whichever was chosen beforehand, is within α.

        For all of them together ask for the confidence 1 − β / horizon. Or α of the sum of those of so many counters.
        """
        many = _most_blocks(self.horizon, self.arity) * count(together, "together")
        return math.floor(bar(((LaplaceVector(self.scale), ONE),) * many, 1 - share(confidence, "confidence")))

    def window_error(self, start: int, stop: int, confidence: Number = USUAL, together: int = 1) -> int:
        """The same of what comes after step `start` up to step `stop`: one running count less another.

        Blocks on the way to both count in neither, or twice.
        """
        if not 0 <= start < stop <= self.horizon:
            raise Refusal(f"expected 0 <= start < stop <= {self.horizon}, got start={start} stop={stop}")
        before, after = self._way(start), self._way(stop)
        weights = sorted(abs(Fraction(after.get(each, 0) - before.get(each, 0))) for each in {*before, *after})
        drawn = tuple((LaplaceVector(self.scale), weight) for weight in weights if weight)
        return math.floor(bar(drawn * count(together, "together"), 1 - share(confidence, "confidence")))

    def window_errors(
        self, width: int, stops: Sequence[int], confidence: Number = USUAL, together: int = 1
    ) -> tuple[int, ...]:
        """The same of windows of so many steps, by the step that each ends with; the first of them may be shorter."""
        return tuple(self.window_error(max(0, stop - width), stop, confidence, together) for stop in stops)

    def _way(self, step: int) -> dict[tuple[int, int], int]:
        """The blocks on the way to a step, as level and place, and whether each is added or taken away."""
        way, at = {}, 0
        for level, digit in reversed(list(enumerate(_digits(step, self.arity)))):
            for _ in range(abs(digit)):
                sign = 1 if digit > 0 else -1
                way[level, at if sign > 0 else at - 1] = sign
                at += sign
            at *= self.arity
        return way

    def pairs(self) -> tuple[Pair[tuple[int, ...]], ...]:
        """All events of a unit in one step, and spread."""
        return worst_streams(self.horizon, self.contribution)

    def __call__(self, steps: Integers, /, *, rng: Entropy = SECURE) -> NDArray[np.int64]:
        """The running counts after all these steps, which are `horizon` at most."""
        events = steps_of(steps, self.horizon)
        noise = np.zeros(events.size, dtype=np.int64)
        for level in range(self.levels):
            noise += self._of_level(events.size, level, rng)
        counted: NDArray[np.int64] = np.cumsum(events) + noise
        return counted

    def _of_level(self, size: int, level: int, rng: Entropy) -> NDArray[np.int64]:
        """The noise of one level in each running count: of a table with a row for each block of the level above."""
        half, length = self.arity // 2, self.arity**level
        nearest = (np.arange(1, size + 1, dtype=np.int64) + (length - 1) // 2) // length  # in blocks of this level
        above = (nearest + half) // self.arity
        drawn = self._drawn((int(above[-1]) + 1 if size else 0) * 2 * half, rng).reshape(-1, 2 * half)
        sums = np.zeros((len(drawn), self.arity), dtype=np.int64)
        sums[:, half + 1 :] = np.cumsum(drawn[:, half:], axis=1)
        sums[:, :half] = -np.cumsum(drawn[:, :half], axis=1)[:, ::-1]
        placed: NDArray[np.int64] = sums[above, nearest - above * self.arity + half]
        return placed

    def _drawn(self, size: int, rng: Entropy) -> NDArray[np.int64]:
        if SMALLEST <= self.scale <= LARGEST:
            return laplaces(self.scale, size, rng=rng)
        return np.array([laplace(self.scale, rng=rng) for _ in range(size)], dtype=np.int64)

    def start(self, rng: Entropy) -> TreeState:  # noqa: ARG002  # nothing is drawn before the first step
        """Before the first step: no count stands to the left of it, so nothing is taken away."""
        return TreeState(levels=(_Level(),) * self.levels)

    def push(self, state: TreeState, events: int, rng: Entropy) -> tuple[TreeState, int]:
        """After one more step with so many events: the secret that is left, and the running count."""
        before, now = (self._digits(step) for step in (state.step, state.step + 1))
        levels = tuple(self._moved(*each, rng) for each in zip(state.levels, before, now, strict=True))
        after = TreeState(state.step + 1, state.total + held(events, self.horizon), levels)
        return after, after.total + sum(level.added - sum(level.left) for level in levels)

    def _moved(self, level: _Level, before: int, now: int, rng: Entropy) -> _Level:
        """A level after its digit went from one to the other: up by one, or from its largest to its smallest."""
        if now == before:
            return level
        if now < before:  # the block above is the next: all to the left of its end is drawn now
            return _Level(tuple(laplace(self.scale, rng=rng) for _ in range(self.arity // 2)))
        if level.left:
            return _Level(level.left[:-1])
        return _Level((), level.added + laplace(self.scale, rng=rng))

    def _digits(self, step: int) -> list[int]:
        digits = _digits(step, self.arity)
        return digits + [0] * (self.levels - len(digits))

    @property
    def room(self) -> int:
        """Characters that a state needs as JSON, whatever it says."""
        digits = len(str(int(self.scale) + 1)) + 21  # e^(−2^64) is never seen
        return 128 + self.levels * (16 + (self.arity // 2 + 1) * digits)

    def encode(self, state: TreeState) -> Mapping[str, Plain]:
        """As JSON holds it."""
        levels: list[Plain] = [[*level.left, level.added] for level in state.levels]
        return {"step": state.step, "total": state.total, "levels": levels}

    def decode(self, content: Mapping[str, Any]) -> TreeState:
        """As it was written."""
        levels = tuple(_Level(tuple(map(int, noise[:-1])), int(noise[-1])) for noise in content["levels"])
        return TreeState(int(content["step"]), int(content["total"]), levels)


def _levels(horizon: int, arity: int) -> int:
    """How many digits of −arity//2 to arity//2 write all numbers up to the horizon."""
    levels = 1
    while (arity**levels - 1) // 2 < horizon:
        levels += 1
    return levels


def _digits(number: int, arity: int) -> list[int]:
    """A number in digits from −arity//2 to arity//2, the least first."""
    half, digits = arity // 2, []
    while number:
        digits.append((number + half) % arity - half)
        number = (number - digits[-1]) // arity
    return digits


def _most_blocks(horizon: int, arity: int) -> int:
    """The largest sum of absolute digits of a number up to the horizon.

    A number below it agrees with it down to some digit, has a smaller one there, and below that any digits at all.
    """
    half, digits = arity // 2, _digits(horizon, arity)
    most = sum(map(abs, digits))
    for level, digit in enumerate(digits):
        above = sum(map(abs, digits[level + 1 :]))
        lowest = 0 if level == len(digits) - 1 else -half  # no number below zero
        if digit > lowest:
            most = max(most, above + max(abs(lowest), abs(digit - 1)) + level * half)
    return most
