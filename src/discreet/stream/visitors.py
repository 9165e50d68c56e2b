"""A memory that may be looked into, as a session: people come, the memory is blurred anew, an answer is told.

Its state is the memory and what was told, and nothing else: no row, and no digest of one, which were a second memory.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from discreet.errors import Refusal
from discreet.exact import count
from discreet.mechanisms.mechanism import Pair, Takes, settle
from discreet.mechanisms.registry import Plain, registered
from discreet.mechanisms.session import Openable, Quota
from discreet.noise import Entropy
from discreet.privacy import Neighbours, Pure
from discreet.stream.pan_private import Memory, PanPrivateDensity, PanPrivateDistinct
from discreet.stream.pan_private_visits import PanPrivateVisits

_NAMED = 1 << 16  # people by names: the ledger has them all
_NUMBERED = 1 << 22


class Doing(StrEnum):
    """What happens in one step."""

    CAME = "came"
    REFRESHED = "refreshed"
    TOLD = "told"


@dataclass(frozen=True)
class Happening:
    """One step: people who came, by their places and once for each visit; or a refresh; or an answer."""

    doing: Doing
    people: tuple[int, ...] = ()


@dataclass(frozen=True)
class VisitorsTold:
    """What is public of one step: what it was, the numbers that were told, how often the memory was blurred by then."""

    doing: Doing
    numbers: tuple[Fraction, ...] = ()
    refreshed: int = 0


@dataclass(frozen=True)
class VisitorsState:
    """The memory, and what was told."""

    memory: Memory
    told: tuple[VisitorsTold, ...] = ()


@registered("visitors")
@dataclass(frozen=True)
class Visitors(Openable[VisitorsState, Happening, VisitorsTold, Pure]):
    """A session of one memory of at most `steps` steps, about people who have numbers, or `names` instead.

    Guarantee: that of the memory. A step's kind and its time are public.
    Proof: docs/proofs/counters.md, Theorems 4 and 5.
    """

    takes: ClassVar[Takes] = Takes.PUSHES

    counter: PanPrivateDistinct | PanPrivateDensity | PanPrivateVisits
    names: tuple[str, ...] = ()
    steps: int = 10_000

    def __post_init__(self) -> None:
        settle(self, steps=count(self.steps, "steps"))
        if self.names and len(set(self.names)) != self.counter.size:
            raise Refusal(f"{self.counter.size} people have {len(set(self.names))} names", hint="name each once")
        if len(self.names) > _NAMED or self.counter.size > _NUMBERED:
            raise Refusal(
                f"expected at most {_NUMBERED} people by numbers or {_NAMED} by names, got {self.counter.size}"
            )

    @property
    def privacy(self) -> Pure:
        """The price of all looks that are covered, and of all answers."""
        return self.counter.privacy

    @property
    def neighbours(self) -> Neighbours:
        """All visits of one person."""
        return self.counter.neighbours

    def start(self, rng: Entropy) -> VisitorsState:
        """Before anybody came."""
        return VisitorsState(self.counter.start(rng))

    def step(self, state: VisitorsState, query: Happening, rng: Entropy) -> VisitorsState:
        """After one more step."""
        memory = state.memory
        numbers: tuple[Fraction, ...] = ()
        if query.doing is Doing.CAME:
            memory = self.counter.push(memory, query.people, rng)
        elif query.doing is Doing.REFRESHED:
            memory = self.counter.refresh(memory, rng)
        else:
            said = self.counter.told(memory, rng)
            numbers = said if isinstance(said, tuple) else (said,)
        return VisitorsState(memory, (*state.told, VisitorsTold(query.doing, numbers, memory.refreshed)))

    def answers(self, state: VisitorsState) -> tuple[VisitorsTold, ...]:
        """What is public of each step so far."""
        return state.told

    def used(self, state: VisitorsState) -> tuple[Quota, ...]:
        """How many answers and steps there are, and have been."""
        told = sum(each.doing is Doing.TOLD for each in state.told)
        return Quota("answers", told, self.counter.answers), Quota("steps", len(state.told), self.steps)

    def told(self, answer: VisitorsTold) -> Plain:
        """As JSON holds it."""
        return [answer.doing.value, [str(each) for each in answer.numbers], answer.refreshed]

    def heard(self, told: Any) -> VisitorsTold:  # noqa: ANN401  # what came through a door
        """What `told` told."""
        doing, numbers, refreshed = told
        return VisitorsTold(Doing(doing), tuple(map(Fraction, numbers)), int(refreshed))

    @property
    def room(self) -> int:
        """Characters that a state needs as JSON, whatever it says."""
        sampled = 4 * self.counter.sample if isinstance(self.counter, PanPrivateDensity) else 0
        cells = self.counter.sample if isinstance(self.counter, PanPrivateDensity) else self.counter.size
        numbers = self.counter.circle if isinstance(self.counter, PanPrivateVisits) else 1
        digits = 64 * (self.counter.intrusions + 2)  # of one number, refreshed as often as looks are announced
        return 512 + 2 * (cells + sampled) + self.steps * 32 + self.counter.answers * numbers * digits

    def encode(self, state: VisitorsState) -> Mapping[str, Plain]:
        """As JSON holds it."""
        memory, told = state.memory, [self.told(each) for each in state.told]
        sampled = None if memory.sampled is None else base64.b64encode(memory.sampled.astype("<u4").tobytes()).decode()
        cells = base64.b64encode(memory.cells.tobytes()).decode()
        return {"cells": cells, "sampled": sampled, "refreshed": memory.refreshed, "told": told}

    def decode(self, content: Mapping[str, Any]) -> VisitorsState:
        """As it was written."""
        cells, sampled = np.frombuffer(base64.b64decode(content["cells"]), dtype=np.uint8), content["sampled"]
        drawn = None if sampled is None else np.frombuffer(base64.b64decode(sampled), dtype="<u4").astype(np.int64)
        memory = Memory(cells, int(content["refreshed"]), drawn)
        return VisitorsState(memory, tuple(map(self.heard, content["told"])))

    def pairs(self) -> tuple[Pair[tuple[Happening, ...]], ...]:
        """Somebody comes in the worst way, or never."""
        tell = Happening(Doing.TOLD)

        def steps(visits: Any) -> tuple[Happening, ...]:  # noqa: ANN401  # of the counter's pairs
            return (*(Happening(Doing.CAME, tuple(people)) for people in visits), tell)

        return tuple(Pair(steps(each.left), steps(each.right), each.why) for each in self.counter.pairs())
