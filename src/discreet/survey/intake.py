"""Intake: the uploads of one task that came together, judged one after another and written in one transaction.

Each has its own receipt, the same as if it had come alone. What a task keeps is read and written once for all of them.
"""

from __future__ import annotations

import hashlib
import secrets
import sqlite3
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Refusal
from discreet.local.local_mechanism import Reports, Tally
from discreet.noise import Entropy
from discreet.survey.collector_store import counted, held, mingle
from discreet.survey.shuffle import Shuffler
from discreet.survey.task import ID, IDS, Batch, Ids, Task
from discreet.transport.signed_task import UNINVITED, Uninvited, UploadReceipt

_Keys = NDArray[np.uint64]


class Sent(NamedTuple):
    """An upload: the name of its task, its bytes, and the token of whoever was invited."""

    name: str
    body: bytes
    token: str | None = None


@dataclass(frozen=True)
class Row:
    """What the file says about a version, but for its tally."""

    task: Task
    state: bytes
    accepted: int
    waiting: int
    closed: str | None
    collected: str | None
    results: bytes | None

    @classmethod
    def of(cls, file: sqlite3.Connection, task: Task) -> Row:
        """As it is now."""
        row = file.execute(
            "SELECT state, accepted, waiting, closed, collected, results FROM collection WHERE digest = ?",
            (task.digest,),
        ).fetchone()
        if row is None:
            raise Refusal(f"the surveys' file has lost a part of task {task.id}", hint="put it back from a copy")
        return cls(task, *row)


class Intake:
    """One task in one transaction. `most` is how many reports it takes in all."""

    def __init__(self, file: sqlite3.Connection, row: Row, seen: Seen, now: datetime, most: int) -> None:
        self.row, self.seen = row, seen
        self._file, self._now, self._most = file, now, most
        self._ids: list[Ids] = []
        self._reports: list[Reports] = []
        self._mine = Seen()  # ids that this transaction adds
        self._told: Counter[str] = Counter()

    def told(self, receipt: UploadReceipt) -> UploadReceipt:
        """Count what becomes of an upload."""
        self._told.update(receipt.told)
        return receipt

    def judge(self, batch: Batch, token: str | None) -> UploadReceipt:
        """What becomes of an upload. Refused, and counted, if a token is needed and none came."""
        task, person = self.row.task, hashed(token or "")
        left = _left(self._file, task, person) if task.invited else batch.ids.size
        if left is None:
            self._told[UNINVITED] += batch.ids.size
            raise Uninvited(f"task {task.id} is for people who were invited, and no token of theirs came")
        fresh = self.seen.fresh(batch.ids) & self._mine.fresh(batch.ids)
        new = int(np.count_nonzero(fresh))
        refused = UploadReceipt(replayed=batch.ids.size - new, malformed=batch.malformed, unlikely=batch.unlikely)
        if task.early(self._now):
            return self.told(replace(refused, early=new))
        if self.row.closed is not None or task.late(self._now):
            return self.told(replace(refused, late=new))
        allowed = min(new, left)
        taken = min(allowed, max(0, self._most - self.row.accepted - len(self._mine)))
        if taken:
            chosen = np.flatnonzero(fresh)[:taken]
            self._ids.append(batch.ids[chosen])
            self._reports.append(batch.reports[chosen])
            self._mine.add(self._ids[-1])
        if taken and task.invited:
            self._file.execute(
                "UPDATE invited SET sent = sent + ? WHERE digest = ? AND token = ?", (taken, task.digest, person)
            )
        return self.told(replace(refused, accepted=taken, over_limit=new - allowed, full=allowed - taken))

    def write(self, rng: Entropy) -> tuple[Ids, bytes] | None:
        """Keep what was accepted and count the rest; the ids that are new, and the state the file then has."""
        digest = self.row.task.digest
        counted(self._file, digest, self._told)
        if not self._ids:
            return None
        ids, state = np.concatenate(self._ids), secrets.token_bytes(16)
        mingle(self._file, "seen", digest, ids.tobytes(), width=ID, rng=rng)
        waiting = self._keep(np.concatenate(self._reports), rng)
        self._file.execute(
            "UPDATE collection SET state = ?, accepted = accepted + ?, waiting = ? WHERE digest = ?",
            (state, ids.size, waiting, digest),
        )
        return ids, state

    def _keep(self, reports: Reports, rng: Entropy) -> int:
        """Hand them to the shuffler: with those that wait they are a batch, or they wait with them. How many wait."""
        task, waiting = self.row.task, self.row.waiting + len(reports)
        shuffler = Shuffler(task.minimum, task.dishonest)
        if not shuffler.ready(waiting):
            mingle(self._file, "waiting", task.digest, reports.tobytes(), width=task.client.form.itemsize, rng=rng)
            return waiting
        batch = shuffler.batch(together(self._file, task, reports), rng=rng)
        add(self._file, task, batch)
        return 0


def hashed(token: str) -> bytes:
    """All that is kept of a token. It has 256 random bits, so nobody finds it from this."""
    return hashlib.sha256(token.encode("utf-8", "replace")).digest()


def _left(file: sqlite3.Connection, task: Task, person: bytes) -> int | None:
    """How many reports the holder of a token may still send; None if there is no such token."""
    row = file.execute("SELECT sent FROM invited WHERE digest = ? AND token = ?", (task.digest, person)).fetchone()
    return None if row is None else max(0, task.reports - int(row[0]))


def together(file: sqlite3.Connection, task: Task, reports: Reports) -> Reports:
    """These, and those that wait."""
    waiting = task.client.decode(b"".join(held(file, "waiting", task.digest)))
    return np.concatenate([waiting, reports]) if len(waiting) else reports


def tallied(file: sqlite3.Connection, task: Task) -> Tally:
    """The sums of all batches so far."""
    ((kept,),) = file.execute("SELECT tally FROM collection WHERE digest = ?", (task.digest,)).fetchall()
    return Tally.decode(kept)


def add(file: sqlite3.Connection, task: Task, batch: Reports) -> Tally:
    """Add a batch to the sums, and nothing waits any more."""
    whole = tallied(file, task) + task.client.tally(batch)
    file.execute("UPDATE collection SET tally = ? WHERE digest = ?", (whole.encode(), task.digest))
    file.execute("DELETE FROM waiting WHERE digest = ?", (task.digest,))
    return whole


@dataclass(frozen=True, eq=False)
class _Run:
    """Sorted ids, and beside each its first 8 bytes as a number: numbers are compared faster than texts."""

    ids: Ids
    keys: _Keys

    @classmethod
    def of(cls, ids: Ids) -> _Run:
        keys = _keys(ids)
        order = np.argsort(keys, kind="stable")
        if _distinct(keys[order]):
            return cls(ids[order], keys[order])
        ordered = np.sort(ids)  # somebody drew ids that begin alike
        return cls(ordered, _keys(ordered))

    def among(self, ids: Ids, keys: _Keys) -> NDArray[np.intp]:
        """Which of the ids are here, by their places."""
        near = np.minimum(np.searchsorted(self.keys, keys), self.keys.size - 1)
        alike = np.flatnonzero(self.keys[near] == keys)
        if alike.size:
            near = np.minimum(np.searchsorted(self.ids, ids[alike]), self.ids.size - 1)
            alike = alike[self.ids[near] == ids[alike]]
        return alike


class Seen:
    """A set of ids. Arrays are merged when one has grown as long as the one before: there are never more than a few."""

    def __init__(self, runs: Iterable[bytes] = ()) -> None:
        self._runs: list[_Run] = []
        self.add(np.frombuffer(b"".join(runs), dtype=IDS))

    def __len__(self) -> int:
        return sum(run.ids.size for run in self._runs)

    def fresh(self, ids: Ids) -> NDArray[np.bool_]:
        """Which of these are new. Of one that stands twice, the first."""
        keys, new = _keys(ids), np.ones(ids.size, dtype=np.bool_)
        if not _distinct(np.sort(keys)):
            new[:] = False
            new[np.unique(ids, return_index=True)[1]] = True
        for run in self._runs:
            new[run.among(ids, keys)] = False
        return new

    def add(self, ids: Ids) -> None:
        """Take in ids that are new."""
        if ids.size:
            self._runs.append(_Run.of(ids))
        while len(self._runs) > 1 and self._runs[-2].ids.size <= self._runs[-1].ids.size:
            last, before = self._runs.pop(), self._runs.pop()
            self._runs.append(_Run.of(np.concatenate([before.ids, last.ids])))


def _keys(ids: Ids) -> _Keys:
    """In the order of the texts."""
    return np.ascontiguousarray(ids).view(">u8")[::2].astype(np.uint64)


def _distinct(ordered: _Keys) -> bool:
    return not np.any(ordered[1:] == ordered[:-1])
