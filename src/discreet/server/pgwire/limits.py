"""What the Postgres door bears. Every limit is a constant or a custodian's choice, never a fact about rows."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """How many, how long, how much."""

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
