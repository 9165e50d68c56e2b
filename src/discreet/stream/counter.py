"""What a continual counter is: a running count of events after each of so many steps, bought whole.

Every counter is a value with public parameters and a promise for all its running counts together. It is fed one step
after another, from a small secret state, or all steps at once; the law of what it says is the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from operator import index
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.declared.grid import LIMIT, Integers, whole
from discreet.errors import Refusal
from discreet.exact import Number, count
from discreet.mechanisms.mechanism import USUAL, Pair
from discreet.mechanisms.registry import Plain
from discreet.noise import SECURE, Entropy
from discreet.privacy import AddRemove, Loss, Neighbours

S = TypeVar("S")
L_co = TypeVar("L_co", bound=Loss, covariant=True)


class Counter(Protocol[S, L_co]):
    """A running count after each of at most `horizon` steps; a unit adds at most `contribution` to all of them."""

    @property
    def horizon(self) -> int:
        """How many steps there are at most."""
        ...

    @property
    def contribution(self) -> int:
        """How much one unit adds to all steps together, at most."""
        ...

    @property
    def privacy(self) -> L_co:
        """The price of all running counts together."""
        ...

    @property
    def neighbours(self) -> Neighbours:
        """Which streams the price compares."""
        ...

    @property
    def room(self) -> int:
        """Characters that a state needs as JSON, whatever it says; it does not grow with the steps."""
        ...

    def start(self, rng: Entropy) -> S:
        """Before the first step."""
        ...

    def push(self, state: S, events: int, rng: Entropy) -> tuple[S, int]:
        """After one more step with so many events: the next state, and the running count. It is total."""
        ...

    def encode(self, state: S) -> Mapping[str, Plain]:
        """The state as JSON holds it."""
        ...

    def decode(self, content: Mapping[str, Any]) -> S:
        """The state that `encode` wrote."""
        ...

    def deviation(self, step: int | None = None) -> float:
        """Standard deviation of the running count after a step; without one, the largest there is."""
        ...

    def error(self, confidence: Number = USUAL, together: int = 1) -> int:
        """α such that one running count, chosen beforehand, is within α with this probability.

        Or the sum of the counts of so many counters of this kind after one step.
        """
        ...

    def __call__(self, steps: Integers, /, *, rng: Entropy = SECURE) -> NDArray[np.int64]:
        """The running counts after all these steps."""
        ...


def distance(contribution: int, neighbours: Neighbours) -> int:
    """How far apart two neighbouring streams are, all their steps added up."""
    return count(contribution, "contribution") * (1 if isinstance(neighbours, AddRemove) else 2)


def held(events: int, horizon: int) -> int:
    """The events of one step, within what keeps the sum of all steps in 64 bits: closer numbers stay as close."""
    most = LIMIT // horizon
    return max(-most, min(most, index(events)))


def steps_of(steps: Integers, horizon: int) -> NDArray[np.int64]:
    """Events of each step as whole numbers, refused where there are more steps than were bought.

    How many steps there are is public. A count beyond ±2^62 / horizon counts as that.
    """
    events = whole(steps, LIMIT // horizon)
    if events.ndim != 1 or events.size > horizon:
        raise Refusal(
            f"a counter of {horizon} steps was given {events.shape} of them", hint="open one of a longer horizon"
        )
    return events


def worst_streams(horizon: int, contribution: int) -> tuple[Pair[tuple[int, ...]], ...]:
    """Streams of few steps that differ by all that a unit may add: in the first step, and in the last."""
    size = min(horizon, 4)
    nothing = (0,) * size
    first, last = (contribution, *nothing[1:]), (*nothing[1:], contribution)
    pairs = (
        Pair(nothing, first, "all that a unit adds comes in the first step, which every later count holds"),
        Pair(nothing, last, "all that a unit adds comes late"),
    )
    if contribution == 1 or size == 1:
        return pairs
    spread = (1, *nothing[2:], contribution - 1)
    return (*pairs, Pair(nothing, spread, "what a unit adds comes early and late"))
