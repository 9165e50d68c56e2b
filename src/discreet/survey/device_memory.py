"""Memory of a person's device, one file: what it drew, for whom, what that lost, whom it trusts, and its limits.

draw      reports that were drawn for a question
price     what each of them lost
question  of each task: what it asked first, and the most that may be lost to it
link      which draws a task got
secret    for RAPPOR, of each question
sent      uploads, and whether there is a receipt
route     where an upload goes and with which token, until there is a receipt
trusted   of each task: the key that signed it last
latest    of each task: the newest version that was seen
meaning   what each question means, however it is spelled
told      which draws were told to the holder of a key
signer    keys, and the first key of the same collector
setting   what the person said: the most that one collector may be told

A collector is who holds its signing keys: a key, and every key that it is known to have handed over to or to have come
from, by signed handovers. Another address makes nobody another collector.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from discreet.errors import Refusal
from discreet.exact import spoken
from discreet.ledger.file_access import Called, damaged
from discreet.privacy import Pure
from discreet.survey.task import Task
from discreet.transport.private_file import PrivateFile
from discreet.transport.signing_keys import Handover, related

_CALLED = Called(
    "what this device remembers",
    "nothing was sent",
    "put the newest copy of it back; without it, what was lost already is not known",
    see="nothing was sent",
)
_SCHEMA = """
CREATE TABLE IF NOT EXISTS draw (
    asked BLOB, number INTEGER, report BLOB NOT NULL, PRIMARY KEY (asked, number)
) STRICT;
CREATE TABLE IF NOT EXISTS price (
    asked BLOB, number INTEGER, epsilon TEXT NOT NULL, PRIMARY KEY (asked, number)
) STRICT;
CREATE TABLE IF NOT EXISTS question (id TEXT PRIMARY KEY, asked BLOB NOT NULL, most TEXT NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS link (id TEXT, asked BLOB, number INTEGER, PRIMARY KEY (id, asked, number)) STRICT;
CREATE TABLE IF NOT EXISTS secret (posed BLOB PRIMARY KEY, secret BLOB NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS sent (
    digest BLOB, number INTEGER, id TEXT NOT NULL, body BLOB NOT NULL, over INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (digest, number)
) STRICT;
CREATE TABLE IF NOT EXISTS route (body BLOB PRIMARY KEY, address TEXT NOT NULL, token TEXT) STRICT;
CREATE TABLE IF NOT EXISTS trusted (id TEXT PRIMARY KEY, key TEXT NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS latest (id TEXT PRIMARY KEY, version INTEGER NOT NULL, digest BLOB NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS meaning (asked BLOB PRIMARY KEY, meant BLOB NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS told (
    key TEXT, asked BLOB, number INTEGER, PRIMARY KEY (key, asked, number)
) STRICT;
CREATE TABLE IF NOT EXISTS signer (key TEXT PRIMARY KEY, root TEXT NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS setting (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
INSERT OR IGNORE INTO told (key, asked, number)
    SELECT coalesce(trusted.key, ''), asked, number FROM link LEFT JOIN trusted USING (id)
    WHERE NOT EXISTS (SELECT 1 FROM told WHERE told.asked = link.asked AND told.number = link.number);
"""


class Memory(PrivateFile):
    """What a device remembers."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, _CALLED, _SCHEMA)
        with self.transaction(new=True):
            pass


def number(cell: str) -> Fraction:
    """A price or a limit as it was written."""
    try:
        return Fraction(cell)
    except (ValueError, TypeError, ZeroDivisionError):
        raise damaged(_CALLED) from None


def blob(cell: object) -> bytes:
    """A report or a key as it was written."""
    if not isinstance(cell, bytes):  # what a flipped bit made of it
        raise damaged(_CALLED)
    return cell


def spelled(file: sqlite3.Connection, task: Task) -> bytes:
    """The question under which draws for what a task asks are kept: its own, or the first that means the same."""
    own = file.execute("SELECT 1 FROM draw WHERE asked = ?", (task.asked,)).fetchone()
    other = file.execute(
        "SELECT asked FROM meaning JOIN draw USING (asked) WHERE meant = ? ORDER BY draw.rowid LIMIT 1", (task.meant,)
    ).fetchone()
    file.execute("INSERT OR IGNORE INTO meaning (asked, meant) VALUES (?, ?)", (task.asked, task.meant))
    return task.asked if own is not None or other is None else blob(other[0])


def drawn(file: sqlite3.Connection, task: Task, asked: bytes) -> list[bytes]:
    """The reports that were drawn for a question, the last one last."""
    priced = "INSERT OR IGNORE INTO price (asked, number, epsilon) SELECT asked, number, ? FROM draw WHERE asked = ?"
    file.execute(priced, (str(task.client.epsilon), asked))  # those of a file that is older than prices
    rows = file.execute("SELECT report FROM draw WHERE asked = ? ORDER BY number", (asked,))
    return [blob(report) for (report,) in rows]


def keep(file: sqlite3.Connection, task: Task, draw: tuple[bytes, int], report: bytes) -> None:
    """A new draw, and its price."""
    file.execute("INSERT INTO draw (asked, number, report) VALUES (?, ?, ?)", (*draw, report))
    file.execute("INSERT INTO price (asked, number, epsilon) VALUES (?, ?, ?)", (*draw, str(task.client.epsilon)))


def linked(file: sqlite3.Connection, task: Task, asked: bytes) -> int | None:
    """The last draw of a question that this very task got: what others got later is not for it."""
    sought = "SELECT max(number) FROM link WHERE id = ? AND asked = ?"
    last: int | None = file.execute(sought, (task.id, asked)).fetchone()[0]
    return last


def link(file: sqlite3.Connection, task: Task, draw: tuple[bytes, int]) -> None:
    """That a task gets a draw."""
    file.execute("INSERT OR IGNORE INTO link (id, asked, number) VALUES (?, ?, ?)", (task.id, *draw))


def lost(file: sqlite3.Connection, name: str | None = None) -> Pure:
    """By all draws, or by those that one task got."""
    if name is None:
        rows = file.execute("SELECT epsilon FROM price")
    else:
        rows = file.execute("SELECT epsilon FROM price JOIN link USING (asked, number) WHERE link.id = ?", (name,))
    return Pure(sum((number(epsilon) for (epsilon,) in rows), start=Fraction(0)))


def allowed(file: sqlite3.Connection, task: Task, most: Pure | None) -> Pure:
    """What may be lost to a task: as much as its first document asked for, if nobody says otherwise.

    A document that asks something else under the same name, or in another way, is refused unless somebody does.
    """
    row = file.execute("SELECT asked, most FROM question WHERE id = ?", (task.id,)).fetchone()
    if row is not None and most is None:
        if blob(row[0]) != task.asked:
            raise Refusal(
                f"task {task.id} asks something else than at first, or in another way",
                hint="to answer it all the same, say with most= how much may be lost to it in all",
            )
        return Pure(number(row[1]))
    limit = most if most is not None else task.reports * task.client.privacy
    file.execute(
        "INSERT OR REPLACE INTO question (id, asked, most) VALUES (?, ?, ?)",
        (task.id, task.asked, str(limit.epsilon)),
    )
    return limit


def route(file: sqlite3.Connection, body: bytes, address: str, token: str | None) -> None:
    """Where an upload goes, and with which token; of one that has a receipt, nothing is kept."""
    file.execute(
        "INSERT OR REPLACE INTO route (body, address, token) SELECT body, ?, ? FROM sent WHERE body = ? AND over = 0",
        (address, token, body),
    )


def newest(file: sqlite3.Connection, task: Task) -> None:
    """Remember a version, unless a later one was seen, or another document of this one."""
    row = file.execute("SELECT version, digest FROM latest WHERE id = ?", (task.id,)).fetchone()
    if row is not None and (row[0] > task.version or (row[0] == task.version and row[1] != task.digest)):
        raise Refusal(
            f"this is version {task.version}, and not the document that was seen last, version {row[0]}",
            hint="do not answer, and ask who runs the survey",
        )
    file.execute(
        "INSERT OR REPLACE INTO latest (id, version, digest) VALUES (?, ?, ?)", (task.id, task.version, task.digest)
    )


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
    row = file.execute("SELECT root FROM signer WHERE key = ?", (key,)).fetchone()
    return key if row is None else str(row[0])


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
