"""A collector: takes in reports of tasks, counts each once, keeps sums of them, and says what they came to, once."""

from __future__ import annotations

import hashlib
import secrets
import sqlite3
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from discreet.errors import Refusal
from discreet.exact import count
from discreet.local.batch import HEAD, ID, IDS, Batch, Ids, addressed, unpacked
from discreet.local.keyring import Keyring
from discreet.local.receipt import KINDS, OVERSIZE, Receipt, Standing, Uninvited, Unknown
from discreet.local.reporter import Reports
from discreet.local.result import Results, read_results, results
from discreet.local.seal import Handover
from discreet.local.seen import Seen
from discreet.local.shuffle import Shuffler, mixed, too_few
from discreet.local.store import Store, counted, held, put, tail
from discreet.local.tally import Tally
from discreet.local.task import Task, read_task, written
from discreet.noise import SECURE, Entropy

T = TypeVar("T")
_Taken = tuple[
    Receipt, tuple[Seen, Ids, bytes] | None
]  # and if anything was accepted: ids known, new; the file's state
FILE, KEY = "surveys.db", "surveys.key"
_MOST = 1 << 24  # reports of a task: their ids take 256 MiB of memory
_KEPT = 8  # tasks whose ids stay in memory


@dataclass(frozen=True)
class _Row:
    """What the file says about a version."""

    task: Task
    state: bytes
    accepted: int
    waiting: int
    tally: Tally
    closed: str | None
    collected: str | None
    results: bytes | None


def _now() -> datetime:
    return datetime.now(UTC)


class Collector:
    """The surveys of a home. Every method may be called from any thread, and from several processes at once.

    Guarantee: each report id counts once, whatever is sent again and whenever the machine stops; what a receipt says
        is on the disk before the receipt is there.
    Proof: which ids were seen, the sums, the reports of each token and the counters change in one transaction, with
        synchronous=FULL. Ids in memory are used only under the random state that the file had after they were added.
    """

    def __init__(
        self, home: Path, *, clock: Callable[[], datetime] = _now, most: int = _MOST, rng: Entropy = SECURE
    ) -> None:
        self._store, self._keys = Store(home / FILE), Keyring(home / KEY)
        self._clock, self._most, self._rng = clock, most, rng
        self._tasks: dict[bytes, Task] = {}
        self._seen: dict[bytes, tuple[bytes, Seen]] = {}
        self._lock = threading.Lock()

    # tasks -----------------------------------------------------------------------------------------------------------

    def publish(self, draft: Task) -> Task:
        """Sign a task and open it: a new one, or the next version of one. Who was invited stays invited."""
        with self._store.transaction(new=True) as file:
            task = draft.sign(self._keys.current(file))
            last = file.execute(_NEWEST, (task.id,)).fetchone()
            if task.version != (1 if last is None else last[1] + 1):
                raise Refusal(f"expected version {1 if last is None else last[1] + 1}, got {task.version}")
            file.execute(
                "INSERT INTO task (digest, id, version, document) VALUES (?, ?, ?, ?)",
                (task.digest, task.id, task.version, task.document),
            )
            nothing = task.client.tally(task.client.decode(b"")).encode()
            file.execute(
                "INSERT INTO collection (digest, state, accepted, waiting, tally) VALUES (?, ?, 0, 0, ?)",
                (task.digest, secrets.token_bytes(16), nothing),
            )
            if last is not None:
                file.execute(
                    "INSERT INTO invited (digest, token, sent) SELECT ?, token, 0 FROM invited WHERE digest = ?",
                    (task.digest, last[0]),
                )
        return task

    def revise(self, name: str, **changes: Any) -> Task:  # noqa: ANN401  # the parts of a task
        """The next version of a task, with these parts changed. Reports of the version before are taken no more."""
        last = self.task(name)
        return self.publish(replace(last, **changes, version=last.version + 1))

    def rotate(self) -> Handover:
        """A new key signs from now on. What the old one signed stays signed, and it says which the new one is."""
        with self._store.transaction(new=True) as file:
            found = self._keys.rotate(file)
        self._keys.settle(found.new)
        return found

    def handovers(self) -> list[Handover]:
        """From the first key to the present one."""
        return self._read(self._keys.handovers) if self._store.exists else []

    def tasks(self) -> list[Task]:
        """The newest version of each, the latest to close first."""
        if not self._store.exists:
            return []
        found = self._read(lambda file: [row[0] for row in file.execute("SELECT DISTINCT id FROM task")])
        return sorted(map(self.task, found), key=lambda task: (task.closes, task.id), reverse=True)

    def task(self, name: str, version: int | None = None) -> Task:
        """The newest version of a task, or the one that is asked for."""
        if not self._store.exists:
            raise _unknown()
        return self._read(lambda file: self._found(file, name, version))

    def invite(self, name: str, people: int) -> list[str]:
        """A token for each of so many people. Only digests are kept: hand them out now."""
        tokens = [secrets.token_urlsafe(32) for _ in range(count(people, "people"))]
        task = self.task(name)
        if not task.invited:
            raise Refusal("this task is open to everybody", hint="revise it with invited=True")
        with self._store.transaction() as file:
            digest = self._found(file, name).digest
            file.executemany(
                "INSERT INTO invited (digest, token, sent) VALUES (?, ?, 0)",
                [(digest, _hashed(token)) for token in tokens],
            )
        return tokens

    def standing(self, name: str) -> Standing:
        """How a task stands."""

        def read(file: sqlite3.Connection) -> Standing:
            row = self._row(file, self._found(file, name))
            closed = row.closed is not None or row.task.late(self._clock())
            return Standing(row.task, _counts(file, row.task.digest), closed, row.results is not None)

        self.task(name)
        return self._read(read)

    # reports ---------------------------------------------------------------------------------------------------------

    def receive(self, name: str, body: bytes, token: str | None = None) -> Receipt:
        """Take in an upload. Sent again it changes nothing, and its reports are `replayed`."""
        task = self.task(name)
        said = addressed(body)
        if said is not None and said[0] != task.digest:
            return self._refused(task, Receipt(wrong_task=max(1, min(said[1], (len(body) - HEAD) // (ID + 1)))))
        batch = unpacked(task, body)
        if batch is None:
            return self._refused(task, Receipt(malformed=1))
        with self._lock:
            with self._store.transaction() as file:
                if self._found(file, name).digest != task.digest:  # revised a moment ago
                    receipt, added = Receipt(wrong_task=batch.ids.size), None
                else:
                    receipt, added = self._taken(file, task, batch, token)
                counted(file, task.digest, receipt.told)
            if added is not None:  # it is on the disk: only now may memory know it
                seen, ids, state = added
                seen.add(ids)
                self._seen[task.digest] = state, seen
        return receipt

    def oversize(self, name: str) -> None:
        """Count an upload that was too long to be read."""
        task = self.task(name)
        with self._store.transaction() as file:
            counted(file, task.digest, {OVERSIZE: 1})

    def _refused(self, task: Task, receipt: Receipt) -> Receipt:
        with self._store.transaction() as file:
            counted(file, task.digest, receipt.told)
        return receipt

    def _taken(self, file: sqlite3.Connection, task: Task, batch: Batch, token: str | None) -> _Taken:
        row, person = self._row(file, task), _hashed(token or "")
        left = _left(file, task, person) if task.invited else batch.ids.size
        seen = self._known(file, row)
        fresh = seen.fresh(batch.ids)
        new, now = int(np.count_nonzero(fresh)), self._clock()
        refused = Receipt(replayed=batch.ids.size - new, malformed=batch.malformed)
        if task.early(now):
            return replace(refused, early=new), None
        if row.closed is not None or task.late(now):
            return replace(refused, late=new), None
        allowed = min(new, left)
        taken = min(allowed, max(0, self._most - row.accepted))
        receipt = replace(refused, accepted=taken, over_limit=new - allowed, full=allowed - taken)
        if not taken:
            return receipt, None
        chosen = np.flatnonzero(fresh)[:taken]
        ids, state = batch.ids[chosen], secrets.token_bytes(16)
        self._keep(file, row, batch.reports[chosen], state)
        run, before = tail(file, "seen", task.digest)
        put(file, "seen", task.digest, run, np.sort(np.append(np.frombuffer(before, dtype=IDS), ids)).tobytes())
        if task.invited:
            file.execute(
                "UPDATE invited SET sent = sent + ? WHERE digest = ? AND token = ?", (taken, task.digest, person)
            )
        return receipt, (seen, ids, state)

    def _keep(self, file: sqlite3.Connection, row: _Row, reports: Reports, state: bytes) -> None:
        """Hand the reports to the shuffler: with those that wait they are a batch, or they wait with them."""
        task, waiting, tally = row.task, row.waiting + len(reports), row.tally
        shuffler = Shuffler(task.minimum, task.dishonest)
        if shuffler.ready(waiting):
            tally += task.client.tally(shuffler.batch(self._together(file, task, reports), rng=self._rng))
            file.execute("DELETE FROM waiting WHERE digest = ?", (task.digest,))
            waiting = 0
        else:
            run, before = tail(file, "waiting", task.digest)
            grown = mixed(np.concatenate([task.client.decode(before), reports]), rng=self._rng)
            put(file, "waiting", task.digest, run, grown.tobytes())
        file.execute(
            "UPDATE collection SET state = ?, accepted = accepted + ?, waiting = ?, tally = ? WHERE digest = ?",
            (state, len(reports), waiting, tally.encode(), task.digest),
        )

    def _together(self, file: sqlite3.Connection, task: Task, reports: Reports) -> Reports:
        waiting = task.client.decode(b"".join(held(file, "waiting", task.digest)))
        return np.concatenate([waiting, reports]) if len(waiting) else reports

    # results ---------------------------------------------------------------------------------------------------------

    def close(self, name: str) -> None:
        """Take no more reports of a task, before its time is over."""
        self.task(name)
        with self._store.transaction() as file:
            task = self._found(file, name)
            file.execute(
                "UPDATE collection SET closed = coalesce(closed, ?) WHERE digest = ?",
                (written(self._clock()), task.digest),
            )

    def collect(self, name: str) -> Results:
        """What a task that is over came to: computed once, then the same bytes for ever.

        First the task is closed for good and what waits joins the tally, in one transaction; then the results are
        made from that, and kept. Whoever stops in between goes on where it was.
        """
        self.task(name)
        with self._store.transaction() as file:
            row = self._row(file, self._found(file, name))
            if row.results is None and row.collected is None:
                row = self._frozen(file, row)
            rejected = {kind: n for kind, n in _counts(file, row.task.digest).items() if kind != "accepted"}
            key = self._keys.current(file)
        if row.results is None and row.collected is not None:
            made = results(row.task, row.tally, row.collected, rejected, key).document
            with self._store.transaction() as file:
                file.execute(
                    "UPDATE collection SET results = coalesce(results, ?) WHERE digest = ?", (made, row.task.digest)
                )
        return self.results(name)

    def _frozen(self, file: sqlite3.Connection, row: _Row) -> _Row:
        task, now = row.task, self._clock()
        if row.closed is None and not task.late(now):
            raise Refusal(f"this task takes reports until {task.closes}", hint="close it first, or wait")
        if not Shuffler(task.minimum, task.dishonest).ready(row.accepted):
            raise too_few()
        waiting = mixed(self._together(file, task, task.client.decode(b"")), rng=self._rng)
        whole = replace(row, tally=row.tally + task.client.tally(waiting), collected=written(now))
        file.execute("DELETE FROM waiting WHERE digest = ?", (task.digest,))
        file.execute(
            "UPDATE collection SET waiting = 0, tally = ?, closed = coalesce(closed, ?), collected = ?"
            " WHERE digest = ?",
            (whole.tally.encode(), whole.collected, whole.collected, task.digest),
        )
        return whole

    def results(self, name: str, version: int | None = None) -> Results:
        """What was collected, as it was said the first time."""
        self.task(name, version)
        found = self._read(lambda file: self._row(file, self._found(file, name, version)).results)
        if found is None:
            raise Unknown("this task has no results yet", hint="they are there once it was collected")
        return read_results(found)

    # the file --------------------------------------------------------------------------------------------------------

    def _read(self, look: Callable[[sqlite3.Connection], T]) -> T:
        with self._store.reading() as file:
            return look(file)

    def _found(self, file: sqlite3.Connection, name: str, version: int | None = None) -> Task:
        rows = file.execute(_NEWEST, (name,)) if version is None else file.execute(_VERSION, (name, version))
        found = rows.fetchone()
        if found is None:
            raise _unknown()
        digest = found[0]
        if digest not in self._tasks:
            self._tasks[digest] = read_task(found[2])
        return self._tasks[digest]

    def _row(self, file: sqlite3.Connection, task: Task) -> _Row:
        (row,) = file.execute(
            "SELECT state, accepted, waiting, tally, closed, collected, results FROM collection WHERE digest = ?",
            (task.digest,),
        )
        return _Row(task, row[0], row[1], row[2], Tally.decode(row[3]), *row[4:])

    def _known(self, file: sqlite3.Connection, row: _Row) -> Seen:
        """The ids that the file has: those in memory, if nobody else wrote meanwhile."""
        state, seen = self._seen.get(row.task.digest, (b"", Seen()))
        if state != row.state:
            seen = Seen(held(file, "seen", row.task.digest))
            self._seen[row.task.digest] = row.state, seen
            while len(self._seen) > _KEPT:
                del self._seen[next(iter(self._seen))]
        return seen


_NEWEST = "SELECT digest, version, document FROM task WHERE id = ? ORDER BY version DESC LIMIT 1"
_VERSION = "SELECT digest, version, document FROM task WHERE id = ? AND version = ?"


def _hashed(token: str) -> bytes:
    """All that is kept of a token. It has 256 random bits, so nobody finds it from this."""
    return hashlib.sha256(token.encode("utf-8", "replace")).digest()


def _left(file: sqlite3.Connection, task: Task, person: bytes) -> int:
    """How many reports the holder of a token may still send."""
    found = file.execute("SELECT sent FROM invited WHERE digest = ? AND token = ?", (task.digest, person)).fetchone()
    if found is None:
        raise Uninvited("this task is for people who were invited, and no token of theirs came")
    return max(0, task.reports - int(found[0]))


def _counts(file: sqlite3.Connection, digest: bytes) -> dict[str, int]:
    nothing = dict.fromkeys(KINDS, 0)
    return nothing | dict(file.execute("SELECT kind, number FROM counted WHERE digest = ?", (digest,)).fetchall())


def _unknown() -> Unknown:
    return Unknown("there is no task of this name")
