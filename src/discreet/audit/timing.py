"""How long a run takes, as a part of what it tells: a stopwatch on a mechanism, for `audit_until`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter_ns
from typing import Any

from discreet.audit.outputs import once
from discreet.errors import Refusal
from discreet.mechanisms.mechanism import Pair
from discreet.noise import SECURE, Entropy

Clock = Callable[[], int]


@dataclass(frozen=True)
class Timed:
    """A mechanism with a stopwatch: an output is what came out, and how many nanoseconds it took.

    A machine gets slower and faster by itself: audit it with `audit_until`, whose runs are made in the order of coins.
    """

    mechanism: Callable[..., Any]
    clock: Clock = perf_counter_ns

    drifts = True  # a run may depend on those before it

    @property
    def privacy(self) -> object:
        """That of the mechanism, if it has one: a promise about all that can be seen."""
        return getattr(self.mechanism, "privacy", None)

    def pairs(self) -> Sequence[Pair[Any]]:
        """The mechanism's own."""
        own = getattr(self.mechanism, "pairs", None)
        if own is None:
            raise Refusal(f"{self.mechanism!r} names no neighbouring inputs", hint="pass pairs=[(left, right)]")
        return tuple(own())

    def __call__(self, data: object, /, *, rng: Entropy = SECURE) -> object:
        """One run, timed. What raises takes its time too."""
        start = self.clock()
        told = once(self.mechanism, data, rng=rng)
        return {"output": told, "nanoseconds": self.clock() - start}
