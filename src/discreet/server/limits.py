"""Limits of both doors: how much and how long they bear, how often somebody may come, how slowly failed logins go.

Every limit is a constant or a custodian's choice, never a fact about rows. The package `limits` counts by the clock on
the wall and remembers every name that comes, in windows; here the clock is monotonic and so many names are remembered.
"""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

from discreet.addresses import network
from discreet.errors import Refusal

MOST_ADDRESSES = 4_096
FIRST_WAIT, LONGEST_WAIT = 0.05, 3.0  # seconds
HALF_LIFE = 60.0  # seconds after which half of the failures are forgotten


@dataclass(frozen=True)
class HttpLimits:
    """Limits of the HTTP door: sizes, times, and how many at once.

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


@dataclass(frozen=True)
class WireLimits:
    """Limits of the Postgres door: sizes, times, and how many at once."""

    connections: int = 500  # of people who are let in
    each_person: int = 250
    each_address: int = 400  # an address may be many people's
    custodians: int = 20  # of all of them that nobody else takes
    strangers: int = 64  # connections of one address that are not let in yet; who comes next drops the oldest
    all_strangers: int = 256  # the same, of all addresses
    startup_seconds: float = 5.0  # until somebody is let in
    idle_seconds: float = 3600.0  # until the next message begins
    message_seconds: float = 30.0  # from the first byte of a message to its last
    send_seconds: float = 60.0  # until a client takes what it is sent
    drain_seconds: float = 60.0  # that answers under way have to arrive, when the door closes
    threads: int = 8  # questions that are worked on at once
    each: int = 4  # and of one person
    kept: int = 2  # of them that only custodians take
    held: int = 64_000_000  # bytes of rows and statements that one person has here, in all connections
    prepared: int = 1_000  # statements of one session
    prepared_characters: int = 4_000_000  # of all of them together
    portals: int = 100


class Buckets:
    """One bucket for each name: `burst` tokens, of which `rate` come back every second.

    Only so many names are remembered. Who has not come for the longest time is forgotten first, and then has a full
    bucket again, which is what waiting would have given them. Not for several threads: an event loop owns it.
    """

    def __init__(
        self, rate: float, burst: int, *, most: int = 10_000, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._rate, self._burst, self._most, self._clock = rate, burst, most, clock
        self._filled: OrderedDict[str, tuple[float, float]] = OrderedDict()  # name -> tokens, and when it had them

    def wait(self, name: str) -> float:
        """The seconds until there is a token; 0 if there is one now."""
        return max(0.0, (1 - self._tokens(name)) / self._rate)

    def take(self, name: str) -> float:
        """Take a token if there is one, and return 0; else the seconds until there is."""
        tokens = self._tokens(name)
        if tokens < 1:
            return (1 - tokens) / self._rate
        self._filled[name] = tokens - 1, self._clock()
        self._filled.move_to_end(name)
        if len(self._filled) > self._most:
            self._filled.popitem(last=False)
        return 0.0

    def _tokens(self, name: str) -> float:
        tokens, then = self._filled.get(name, (float(self._burst), 0.0))
        return min(float(self._burst), tokens + self._rate * (self._clock() - then))


@dataclass
class LoginAttempts:
    """Counter of failed logins for each address, which makes the next failure slower."""

    now: Callable[[], float] = time.monotonic
    _failures: OrderedDict[str, tuple[float, float]] = field(default_factory=OrderedDict)  # address -> count, when

    def failed(self, address: str) -> float:
        """Count one more failure; how many seconds its answer has to wait."""
        who, now = network(address), self.now()
        count, when = self._failures.pop(who, (0.0, now))
        count = count * math.exp2((when - now) / HALF_LIFE) + 1
        self._failures[who] = count, now
        if len(self._failures) > MOST_ADDRESSES:
            self._failures.popitem(last=False)  # who failed longest ago
        return min(LONGEST_WAIT, FIRST_WAIT * math.exp2(min(count - 1, 20.0)))

    def __len__(self) -> int:
        return len(self._failures)
