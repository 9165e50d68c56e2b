"""A person's device: randomizes an answer once, remembers what it said, and says the same ever after.

An answer that is drawn afresh each time a question comes again averages out. So a draw is kept, and sent again; the
true answer is not kept at all.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol
from urllib.parse import quote

from discreet.errors import Refusal
from discreet.local.batch import fresh_ids, packed
from discreet.local.receipt import Receipt
from discreet.local.seal import Handover, follows
from discreet.local.task import Task, read_task
from discreet.noise import SECURE, Entropy
from discreet.privacy import Pure

_PATIENCE = 60.0  # seconds to wait for another process's transaction
_SCHEMA = """
CREATE TABLE IF NOT EXISTS draw (
    asked BLOB, number INTEGER, report BLOB NOT NULL, PRIMARY KEY (asked, number)
) STRICT;
CREATE TABLE IF NOT EXISTS sent (
    digest BLOB, number INTEGER, id TEXT NOT NULL, body BLOB NOT NULL, over INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (digest, number)
) STRICT;
CREATE TABLE IF NOT EXISTS trusted (id TEXT PRIMARY KEY, key TEXT NOT NULL) STRICT;
"""


class Carrier(Protocol):
    """What brings documents and takes uploads: `Courier` over HTTP."""

    def task(self, name: str, /) -> bytes:
        """The newest document of a task."""
        ...

    def handovers(self) -> Sequence[Handover]:
        """How the key that signs was changed."""
        ...

    def send(self, name: str, body: bytes, token: str | None, /) -> Receipt:
        """Upload."""
        ...


@dataclass(frozen=True)
class Upload:
    """Bytes to be sent for a task, as often as it takes."""

    id: str
    body: bytes


class Respondent:
    """The state of one person's device, in a file.

    Guarantee: for each question, whatever is sent in whatever versions of it and however often, loses ε of one report
        for each draw, and there is one draw, unless the person says that the answer is to be drawn `afresh`.
    Proof: a draw is on the disk before its bytes leave, and everything that is sent of it, it alone determines, with
        random ids that do not depend on the answer. Draws have coins of their own, so their losses add up.
    """

    def __init__(self, path: Path, *, rng: Entropy = SECURE) -> None:
        self._path, self._rng = path, rng
        self._alone = threading.RLock()
        if not path.exists():
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
        with self._transaction() as file:
            for statement in _SCHEMA.split(";")[:-1]:
                file.execute(statement)

    def answer(self, task: Task, value: object, *, afresh: bool = False) -> Upload:
        """What is to be sent: drawn at the first time, the same bytes at every other, whatever the value is then.

        `afresh` draws again, which loses ε again and is refused after as many draws as the task allows reports. That
        somebody draws afresh can be seen: it may tell that their answer changed.
        """
        with self._transaction() as file:
            drawn = file.execute("SELECT report FROM draw WHERE asked = ? ORDER BY number", (task.asked,)).fetchall()
            if drawn and afresh and len(drawn) >= task.reports:
                raise Refusal(
                    f"this question was answered {len(drawn)} times, and takes {task.reports}", hint="leave out afresh"
                )
            if not drawn or afresh:
                drawn.append((self._drawn(task, value),))
                file.execute(
                    "INSERT INTO draw (asked, number, report) VALUES (?, ?, ?)",
                    (task.asked, len(drawn), drawn[-1][0]),
                )
            return Upload(task.id, self._packed(file, task, len(drawn), drawn[-1][0]))

    def _drawn(self, task: Task, value: object) -> bytes:
        return task.client.encode(task.client(value, rng=self._rng))  # type: ignore[operator]  # every client is one

    def _packed(self, file: sqlite3.Connection, task: Task, number: int, report: bytes) -> bytes:
        """The upload of a draw for a version of the task: with one id, drawn once."""
        found = file.execute("SELECT body FROM sent WHERE digest = ? AND number = ?", (task.digest, number)).fetchone()
        if found is not None:
            return bytes(found[0])
        body = packed(task, fresh_ids(1, rng=self._rng), report)
        file.execute(
            "INSERT INTO sent (digest, number, id, body) VALUES (?, ?, ?, ?)", (task.digest, number, task.id, body)
        )
        return body

    def loss(self, task: Task) -> Pure:
        """What was said about this question so far, in all its versions."""
        with self._transaction() as file:
            ((draws,),) = file.execute("SELECT count(*) FROM draw WHERE asked = ?", (task.asked,)).fetchall()
        return int(draws) * task.client.privacy

    def trust(self, document: bytes, name: str, *, key: str | None = None, handovers: Sequence[Handover] = ()) -> Task:
        """The task in a document, if whoever signed the first one of this name that was seen signed this one as well.

        Or whoever they handed over to. `key` is one that is known from elsewhere.
        """
        task = read_task(document)
        if task.id != name:
            raise Refusal("this is another task than the one that was asked for")
        with self._transaction() as file:
            found = file.execute("SELECT key FROM trusted WHERE id = ?", (name,)).fetchone()
            known = key or (found[0] if found else task.key)
            if not follows(known, task.key, handovers):
                raise Refusal("this task is signed by a stranger", hint="do not answer, and ask who runs the survey")
            file.execute("INSERT OR REPLACE INTO trusted (id, key) VALUES (?, ?)", (name, task.key))
        return task

    def take_part(  # noqa: PLR0913  # who asks, what is answered, and by whose leave
        self,
        carrier: Carrier,
        name: str,
        value: object,
        *,
        token: str | None = None,
        key: str | None = None,
        afresh: bool = False,
    ) -> Receipt:
        """Fetch a task, check who signed it, answer, and send. Call it again after a failure: the same bytes go."""
        task = self.trust(carrier.task(name), name, key=key, handovers=carrier.handovers())
        return self._sent(carrier, self.answer(task, value, afresh=afresh), token)

    def pending(self) -> list[Upload]:
        """What nobody has given a receipt for yet."""
        with self._transaction() as file:
            rows = file.execute("SELECT id, body FROM sent WHERE over = 0 ORDER BY rowid")
            return [Upload(name, bytes(body)) for name, body in rows]

    def deliver(self, carrier: Carrier, token: str | None = None) -> list[Receipt]:
        """Send again what is pending."""
        return [self._sent(carrier, each, token) for each in self.pending()]

    def _sent(self, carrier: Carrier, upload: Upload, token: str | None) -> Receipt:
        receipt = carrier.send(upload.id, upload.body, token)
        if not receipt.early:  # anything else is how it ends
            with self._transaction() as file:
                file.execute("UPDATE sent SET over = 1 WHERE id = ? AND body = ?", (upload.id, upload.body))
        return receipt

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """All that is done inside is on the disk when it is over, or nothing is."""
        where = f"file:{quote(str(self._path))}?mode=rw"
        try:
            with (
                self._alone,
                closing(sqlite3.connect(where, uri=True, timeout=_PATIENCE, isolation_level=None)) as file,
            ):
                file.execute("PRAGMA synchronous = EXTRA")
                file.execute("BEGIN IMMEDIATE")
                yield file
                file.execute("COMMIT")
        except sqlite3.Error:
            raise Refusal("what this device remembers cannot be read or written", hint="nothing was sent") from None
