"""What the Postgres door bears. Every limit is a constant or a custodian's choice, never a fact about rows."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """How many, how long, how much."""

    connections: int = 500
    strangers: int = 256  # connections of one address that are not let in yet
    startup_seconds: float = 10.0  # until somebody is let in
    idle_seconds: float = 8 * 3600.0  # until the next message begins
    message_seconds: float = 30.0  # from the first byte of a message to its last
    send_seconds: float = 60.0  # until a client takes what it is sent
    drain_seconds: float = 60.0  # that answers under way have to arrive, when the door closes
    threads: int = 8  # questions that are worked on at once
    each: int = 4  # and of one person
    prepared: int = 1_000  # statements of one session
    prepared_characters: int = 4_000_000  # of all of them together
    portals: int = 100
