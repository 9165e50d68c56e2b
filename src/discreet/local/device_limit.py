"""What each collector was told by a device, and how much more it may be told: ε over all its questions together.

A collector is who holds its signing keys: a key, and every key that it is known to have handed over to or to have come
from, by signed handovers. Another address makes nobody another collector.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from discreet.errors import Refusal
from discreet.exact import spoken
from discreet.local.device_memory import number
from discreet.local.seal import Handover, related
from discreet.local.task import Task
from discreet.privacy import Pure

# Of a person who says nothing. After ε = 5 somebody who wavers between two lives of theirs guesses right in at most
# 99.4 of 100 cases: few questions at the usual prices of 1 or 2, and not many.
USUAL = Pure(5)


@dataclass(frozen=True)
class Gauge:
    """What a collector was told so far, and the most that it may be told."""

    lost: Pure
    limit: Pure

    @property
    def left(self) -> Pure:
        """What it may still be told; nothing, if the limit was lowered since."""
        return Pure(max(Fraction(0), self.limit.epsilon - self.lost.epsilon))

    def __str__(self) -> str:
        return f"{spoken(self.lost.epsilon)} of {spoken(self.limit.epsilon)}"


def limit(file: sqlite3.Connection) -> Pure:
    """The most that any one collector may be told: what the person said last, else the usual."""
    said = file.execute("SELECT value FROM setting WHERE name = 'limit'").fetchone()
    return USUAL if said is None else Pure(number(said[0]))


def set_limit(file: sqlite3.Connection, most: Pure) -> None:
    """The person says how much."""
    file.execute("INSERT OR REPLACE INTO setting (name, value) VALUES ('limit', ?)", (str(most.epsilon),))


def acquaint(file: sqlite3.Connection, key: str, handovers: Sequence[Handover]) -> None:
    """Join a key to those it comes from and those it went to, in whatever order they turn up: one collector."""
    for other in sorted(related(key, handovers)):
        old, new = root(file, other), root(file, key)
        file.execute("UPDATE signer SET root = ? WHERE root = ?", (old, new))
        file.execute("INSERT OR REPLACE INTO signer (key, root) VALUES (?, ?), (?, ?)", (other, old, key, old))


def root(file: sqlite3.Connection, key: str) -> str:
    """The first key of a collector, by any of its keys."""
    found = file.execute("SELECT root FROM signer WHERE key = ?", (key,)).fetchone()
    return key if found is None else str(found[0])


def tell(file: sqlite3.Connection, task: Task, draw: tuple[bytes, int]) -> None:
    """That whoever signed a task is told a draw."""
    file.execute("INSERT OR IGNORE INTO told (key, asked, number) VALUES (?, ?, ?)", (task.key, *draw))


def gauge(file: sqlite3.Connection, key: str) -> Gauge:
    """How a collector stands. A draw that it is told twice counts once: it is the same report."""
    own = root(file, key)
    rows = file.execute(
        "SELECT epsilon FROM price JOIN (SELECT DISTINCT asked, number FROM told LEFT JOIN signer USING (key)"
        " WHERE coalesce(signer.root, told.key) = ?) USING (asked, number)",
        (own,),
    )
    return Gauge(Pure(sum((number(epsilon) for (epsilon,) in rows), start=Fraction(0))), limit(file))


def afford(file: sqlite3.Connection, task: Task, draw: tuple[bytes, int]) -> None:
    """Refuse to tell a collector one more draw beyond the limit; what it knows it may be told again."""
    sought = "SELECT 1 FROM told LEFT JOIN signer USING (key) WHERE coalesce(signer.root, told.key) = ?"
    known = file.execute(f"{sought} AND asked = ? AND number = ?", (root(file, task.key), *draw)).fetchone()
    now = gauge(file, task.key)
    if known is None and not now.lost + task.client.privacy <= now.limit:
        raise Refusal(
            f"who asks this was told {now} that this device tells one collector, and the question takes "
            f"{spoken(task.client.epsilon)} more",
            hint="nothing was sent; set_limit raises the limit, if you want to tell them more",
        )
