"""A stream: running counts of rows that are pushed step by step, one for each declared key, bought whole.

Its state remembers how many rows of each unit have counted, so a unit adds at most what was declared, over all steps
and keys together. Which units these are is kept as keyed digests, sealed with everything else.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from discreet.errors import Refusal
from discreet.exact import Number, count
from discreet.mechanisms.mechanism import USUAL, Pair, Takes, settle
from discreet.mechanisms.registry import Plain, registered
from discreet.mechanisms.session import Openable, Quota
from discreet.noise import Entropy
from discreet.privacy import Loss, Neighbours
from discreet.stream.gaussian_counters import BufferedCounter, SquareRootCounter
from discreet.stream.step_rows import Pushed
from discreet.stream.tree_counter import TreeCounter

Counts = tuple[int, ...]  # one for each key, or one
_DIGEST = 16  # bytes of a unit's digest: no two of a billion units share one, but for a chance of 2^-69
_USED = 4  # bytes of how many of its rows counted
_SLOTS = 256  # of units, at least: the state's size speaks of their number up to a factor of two
_MOST = 1 << 31


@dataclass(frozen=True)
class StreamState:
    """Secret of a stream: its counters, whose rows counted how often, and all that was answered."""

    salt: bytes = field(repr=False)
    counters: tuple[Any, ...] = field(repr=False)
    used: Mapping[bytes, int] = field(repr=False)
    answers: tuple[Counts, ...] = ()


@registered("stream")
@dataclass(frozen=True)
class Stream(Openable[StreamState, Pushed, Counts, Loss]):
    """Running counts after each step, one for each key, by a counter of its own for each.

    Of one unit at most `contribution` rows count, over all steps and all keys together, each as `amount` at most. With
    `owned=False` each row is its own unit.

    Guarantee: what the one counter promises, for all counts of all keys together.
    Proof: docs/proofs/counters.md, "Streams".
    """

    takes: ClassVar[Takes] = Takes.PUSHES

    counter: TreeCounter | BufferedCounter | SquareRootCounter
    keys: tuple[str | int | bool, ...] = ()
    contribution: int = 1
    amount: int = 1
    owned: bool = True

    def __post_init__(self) -> None:
        settle(self, contribution=count(self.contribution, "contribution"), amount=count(self.amount, "amount"))
        if max(self.contribution, self.amount) >= _MOST:
            raise Refusal(f"expected contribution and amount < 2^31, got {self.contribution} and {self.amount}")
        if not self.owned and self.contribution != 1:
            raise Refusal(
                f"a row that is its own unit counts once, got contribution={self.contribution}",
                hint="name the column that says whose a row is, or leave it at 1",
            )
        if self.counter.contribution != self.contribution * self.amount:
            raise Refusal(
                f"a unit adds up to {self.contribution * self.amount}, and the counter was made for "
                f"{self.counter.contribution}"
            )
        if len(set(self.keys)) < len(self.keys):
            raise Refusal(f"a key is declared twice in {list(self.keys)}")

    @property
    def size(self) -> int:
        """How many counts there are after each step."""
        return len(self.keys) or 1

    @property
    def privacy(self) -> Loss:
        """The price of all counts of all keys together: that of one counter."""
        return self.counter.privacy

    @property
    def neighbours(self) -> Neighbours:
        """Streams that differ by all rows of one unit."""
        return self.counter.neighbours

    @property
    def horizon(self) -> int:
        """How many steps there are."""
        return self.counter.horizon

    def error(self, confidence: Number = USUAL, together: int = 1) -> int:
        """α such that one running count, or the total of `together` keys, is within α with this probability."""
        return self.counter.error(confidence, together)

    def window_error(self, start: int, stop: int, confidence: Number = USUAL, together: int = 1) -> int:
        """The same of what comes after step `start` up to step `stop`."""
        return self.counter.window_error(start, stop, confidence, together)

    def window_errors(
        self, width: int, stops: Sequence[int], confidence: Number = USUAL, together: int = 1
    ) -> tuple[int, ...]:
        """The same of windows of so many steps, by the step that each ends with."""
        return self.counter.window_errors(width, stops, confidence, together)

    def start(self, rng: Entropy) -> StreamState:
        """Before the first step."""
        counter: Any = self.counter
        return StreamState(rng.raw(32), tuple(counter.start(rng) for _ in range(self.size)), {})

    def step(self, state: StreamState, query: Pushed, rng: Entropy) -> StreamState:
        """After one more step in which these rows came."""
        used, kept = self._charged(state, query, rng)
        counter: Any = self.counter
        pushed = [
            counter.push(each, added, rng)
            for each, added in zip(state.counters, query.totals(kept, self.size, self.amount), strict=True)
        ]
        counted = tuple(answer for _, answer in pushed)
        return StreamState(state.salt, tuple(after for after, _ in pushed), used, (*state.answers, counted))

    def _charged(self, state: StreamState, query: Pushed, rng: Entropy) -> tuple[Mapping[bytes, int], Any]:
        """How often each unit has counted after this step, and which of the rows count."""
        if not self.owned:
            return {}, np.ones(query.key.size, dtype=bool)
        names = [hashlib.blake2b(each.encode(), digest_size=_DIGEST, key=state.salt).digest() for each in query.owners]
        before = np.array([state.used.get(name, 0) for name in names], dtype=np.int64)
        kept = query.within(self.contribution, before, rng)
        after = np.minimum(before + np.bincount(query.owner, minlength=len(names)), self.contribution)
        return {**state.used, **dict(zip(names, after.tolist(), strict=True))}, kept

    def answers(self, state: StreamState) -> tuple[Counts, ...]:
        """The counts after each step so far."""
        return state.answers

    def used(self, state: StreamState) -> tuple[Quota, ...]:
        """How many steps there are, and have been."""
        return (Quota("steps", len(state.answers), self.horizon),)

    def told(self, answer: Counts) -> Plain:
        """Counts as JSON holds them."""
        return list(answer)

    def heard(self, told: Any) -> Counts:  # noqa: ANN401  # what came through a door
        """The counts that `told` told."""
        return tuple(map(int, told))

    @property
    def room(self) -> int:
        """Characters that a state needs as JSON, if few units have rows; what more there are make it a multiple."""
        units = -(-_SLOTS * (_DIGEST + _USED) // 3) * 4
        return 512 + units + self.size * (self.counter.room + self.horizon * 24)

    def encode(self, state: StreamState) -> Mapping[str, Plain]:
        """As JSON holds it; units fill up to a power of two of places."""
        counter: Any = self.counter
        slots = max(_SLOTS, 1 << (len(state.used) - 1).bit_length()) if state.used else _SLOTS
        units = b"".join(name + used.to_bytes(_USED, "big") for name, used in state.used.items())
        padded = units.ljust(slots * (_DIGEST + _USED), b"\0") if self.owned else b""
        counters: list[Plain] = [dict(counter.encode(each)) for each in state.counters]
        return {
            "salt": state.salt.hex(),
            "counters": counters,
            "units": base64.b64encode(padded).decode(),
            "answers": [list(each) for each in state.answers],
        }

    def decode(self, content: Mapping[str, Any]) -> StreamState:
        """As it was written; places of nobody have counted no row."""
        counter: Any = self.counter
        units, width = base64.b64decode(content["units"]), _DIGEST + _USED
        places = (units[start : start + width] for start in range(0, len(units), width))
        used = {place[:_DIGEST]: int.from_bytes(place[_DIGEST:], "big") for place in places}
        return StreamState(
            bytes.fromhex(content["salt"]),
            tuple(map(counter.decode, content["counters"])),
            {name: rows for name, rows in used.items() if rows},
            tuple(map(self.heard, content["answers"])),
        )

    def pairs(self) -> tuple[Pair[tuple[Pushed, ...]], ...]:
        """All rows of a unit in the first step under one key; or more than count, late, under several keys."""
        size, others = min(self.horizon, 4), [("other", 0, self.amount)]
        early = [("unit", 0, self.amount)] * self.contribution
        late = [("unit", place % self.size, self.amount) for place in range(self.contribution)] * (1 + self.owned)
        quiet = (Pushed.of(others),) * size
        return (
            Pair(quiet, (Pushed.of(early + others), *quiet[1:]), "all its rows come early, under one key"),
            Pair(quiet, (*quiet[:-1], Pushed.of(late + others)), "more rows than count come late, under several keys"),
        )
