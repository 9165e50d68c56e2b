"""What the HTTP door bears. Every limit is a constant or a custodian's choice, never a fact about rows."""

from __future__ import annotations

import math
from dataclasses import dataclass

from discreet.errors import Refusal


@dataclass(frozen=True)
class Limits:
    """How much, how long and how often.

    There is no limit on how long an answer takes: it would tell of rows. The engine has its own, which lies above every
    admissible question.
    """

    rate: float = 20.0  # requests of one person a second, in the long run
    seconds: float = 3.0  # of which so many seconds' worth may come at once
    failures: int = 10  # wrong tokens from one address at once
    forgiven: float = 0.2  # of those a second
    body: int = 65_536  # bytes of a request
    upload: int = 1 << 30  # bytes of a file that a custodian brings to the console
    depth: int = 16  # lists in lists
    head_seconds: float = 5.0  # until the head of a request is there
    body_seconds: float = 10.0  # until its body is
    send_seconds: float = 30.0  # until something of an answer is taken
    workers: int = 8  # questions that are worked on at once
    each: int = 3  # and of one person
    waiting: int = 256  # questions that wait for that
    connections: int = 1024
    each_address: int = 512  # of them; an address may be many people's
    drain_seconds: float = 60.0  # that answers under way have to arrive, when the door closes

    def __post_init__(self) -> None:
        if not 0 < self.rate < math.inf:
            raise Refusal(f"expected a rate above 0, got {self.rate}", hint="so many requests of one person a second")

    @property
    def burst(self) -> int:
        """How many requests of one person may come at once."""
        return max(1, round(self.rate * self.seconds))
