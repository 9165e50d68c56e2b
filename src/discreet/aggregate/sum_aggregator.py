"""Aggregator of masked sums that may be killed at any moment: who joined, whose turn it is, and what was added up.

Nobody has to trust it with a number. What it says was said is signed by whoever said it, so all that it can do is to
leave people out, to make an epoch fail, to tell a wrong sum, or to write keys of its own among those of the people.
"""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from hashlib import sha256
from pathlib import Path

from discreet.aggregate import epoch_steps
from discreet.aggregate.epoch_steps import Late, StepStanding
from discreet.aggregate.sum_messages import Misshapen, joins, read_message
from discreet.aggregate.sum_plan import MOST, SumPlan
from discreet.aggregate.sum_store import SumStore
from discreet.aggregate.sum_task import SumTask
from discreet.errors import Refusal
from discreet.exact import count
from discreet.transport.signed_task import Uninvited, Unknown, moment, written
from discreet.transport.signing_keys import Handover, Keyring

FILE, KEY = "sums.db", "sums.key"


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True)
class SumOutcome:
    """What an epoch came to: the sum with its noise over so many people, or why there is none.

    `error`: each number is within it of the sum over these people 19 times in 20, if all of them added their noise.
    """

    version: int
    epoch: int
    total: tuple[Fraction, ...]
    people: int
    error: int
    refused: str


@dataclass(frozen=True)
class SumStanding:
    """How a sum stands: what it asks, who joined, and the newest task that was signed."""

    id: str
    plan: SumPlan
    joined: int
    task: SumTask | None
    epoch: int
    closes: str
    closed: bool


class SumAggregator:
    """The sums of a home. Every method may be called from any thread.

    Guarantee: what a person sent is on the disk before there is an answer; until the epoch is over the same bytes may
        come again, and others of that person in that step are refused. A step that is over stays over, whatever stops
        in between.
    Proof: a message, the end of a step and the sum of an epoch are each one transaction, with synchronous=FULL.
    """

    def __init__(self, home: Path, *, clock: Callable[[], datetime] = _now) -> None:
        self._store, self._keys, self._clock = SumStore(home / FILE), Keyring(home / KEY), clock
        self._tasks: dict[bytes, SumTask] = {}
        self._awake = clock()  # whoever could not be heard while nobody ran has the whole time again

    # what a custodian does ------------------------------------------------------------------------------------------

    def plan(self, plan: SumPlan, closes: datetime) -> str:
        """Ask people to join: the id of a new sum."""
        name = secrets.token_hex(16)
        with self._store.transaction(new=True) as file:
            file.execute("INSERT INTO plan (id, document, closes) VALUES (?, ?, ?)", (name, plan.text, written(closes)))
        return name

    def invite(self, name: str, people: int) -> list[str]:
        """A token for each of so many people, kept nowhere. Each lets one key in."""
        tokens = [secrets.token_urlsafe(32) for _ in range(count(people, "people"))]
        with self._changing(name) as file:
            known = file.execute("SELECT count(*) FROM invited WHERE id = ?", (name,)).fetchone()[0]
            if known + people > MOST:
                raise Refusal(f"expected at most {MOST} people, got {known + people}", hint="make several groups")
            file.executemany("INSERT INTO invited (id, token) VALUES (?, ?)", [(name, _hash(one)) for one in tokens])
        return tokens

    def start(self, name: str) -> SumTask:
        """Sign the task among all who joined: the first version, or the next one with those who joined since.

        An epoch of the version before that is under way comes to nothing.
        """
        with self._changing(name) as file:
            plan, closes = self._plan(file, name)
            people = tuple(
                key for (key,) in file.execute("SELECT key FROM person WHERE id = ? ORDER BY number", (name,))
            )
            last = self._newest(file, name)
            if last is not None and last.people == people:
                raise Refusal(f"nobody joined since version {last.version}", hint="it goes on as it is")
            draft = plan.task(name, 1 if last is None else last.version + 1, people, written(self._clock()), closes)
            task = draft.sign(self._keys.current(file))
            file.execute(
                "INSERT INTO task (digest, id, version, document) VALUES (?, ?, ?, ?)",
                (task.digest, name, task.version, task.document),
            )
            if last is not None:
                epoch_steps.abandoned(file, last)
        return task

    def close(self, name: str) -> None:
        """Take nothing more. What was added up stays."""
        with self._changing(name) as file:
            file.execute("UPDATE plan SET closed = coalesce(closed, ?) WHERE id = ?", (written(self._clock()), name))
            last = self._newest(file, name)
            if last is not None:
                epoch_steps.abandoned(file, last)

    def rotate(self) -> Handover:
        """A new key signs tasks from now on, and the old one says so."""
        with self._store.transaction(new=True) as file:
            handover = self._keys.rotate(file)
        self._keys.settle(handover.new)
        return handover

    # what devices do --------------------------------------------------------------------------------------------------

    def join(self, name: str, key: str, signature: str, token: str | None) -> int:
        """Let a key in for which somebody was invited; how many joined so far. The same key may come again."""
        if not joins(name, key, signature):
            raise Misshapen
        with self._changing(name) as file:
            row = None if token is None else file.execute(_INVITATION, (name, _hash(token))).fetchone()
            if row is None or row[0] not in (None, key):
                raise Uninvited("this sum is for people who were invited, each with a token of their own")
            file.execute("UPDATE invited SET key = ? WHERE id = ? AND token = ?", (key, name, _hash(token or "")))
            file.execute("INSERT OR IGNORE INTO person (id, key) VALUES (?, ?)", (name, key))
            joined: int = file.execute("SELECT count(*) FROM person WHERE id = ?", (name,)).fetchone()[0]
        return joined

    def take(self, name: str, body: bytes) -> None:
        """Keep what a person says in a step. Refused if it is too late for it, or if it is not that person's."""
        message = read_message(body)
        with self._changing(name) as file:
            task = self._started(file, name)
            if message.digest != task.digest or self._over(file, name):
                raise Late
            now = self._clock()
            epoch_steps.advance(file, task, self._patience(file, name), now)
            epoch_steps.keep(file, task, message, now)
            epoch_steps.advance(file, task, self._patience(file, name), now)

    def step(self, name: str, epoch: int, step: int, place: int) -> StepStanding:
        """How a step stands, and if it is over what it came to for one person."""
        with self._changing(name) as file:
            task = self._started(file, name)
            if not self._over(file, name):
                epoch_steps.advance(file, task, self._patience(file, name), self._clock())
            return epoch_steps.standing(file, task, epoch, step, place)

    # what all may read ------------------------------------------------------------------------------------------------

    def task(self, name: str) -> SumTask:
        """The newest task that was signed."""
        with self._reading(name) as file:
            return self._started(file, name)

    def handovers(self) -> list[Handover]:
        """From the first key to the present one."""
        if not self._store.exists:
            return []
        with self._store.reading() as file:
            return self._keys.handovers(file)

    def names(self) -> list[str]:
        """The ids of all sums."""
        if not self._store.exists:
            return []
        with self._store.reading() as file:
            return [name for (name,) in file.execute("SELECT id FROM plan ORDER BY closes DESC, id")]

    def standing(self, name: str) -> SumStanding:
        """How a sum stands."""
        with self._reading(name) as file:
            plan, closes = self._plan(file, name)
            joined = file.execute("SELECT count(*) FROM person WHERE id = ?", (name,)).fetchone()[0]
            task = self._newest(file, name)
            epoch = 0 if task is None else epoch_steps.current(file, task)
            return SumStanding(name, plan, joined, task, epoch, closes, self._over(file, name))

    def outcomes(self, name: str) -> list[SumOutcome]:
        """What all epochs of all versions came to, from the first on."""
        with self._reading(name) as file:
            found = []
            for (document,) in file.execute("SELECT document FROM task WHERE id = ? ORDER BY version", (name,)):
                task = SumTask.read(bytes(document))
                found += [SumOutcome(task.version, *each) for each in epoch_steps.outcomes(file, task)]
            return found

    # inside -----------------------------------------------------------------------------------------------------------

    @contextmanager
    def _changing(self, name: str) -> Iterator[sqlite3.Connection]:
        if not self._store.exists:
            raise _unknown()
        with self._store.transaction() as file:
            _known(file, name)
            yield file

    @contextmanager
    def _reading(self, name: str) -> Iterator[sqlite3.Connection]:
        if not self._store.exists:
            raise _unknown()
        with self._store.reading() as file:
            _known(file, name)
            yield file

    def _plan(self, file: sqlite3.Connection, name: str) -> tuple[SumPlan, str]:
        text, closes = file.execute("SELECT document, closes FROM plan WHERE id = ?", (name,)).fetchone()
        return SumPlan.read(text), closes

    def _patience(self, file: sqlite3.Connection, name: str) -> epoch_steps.Patience:
        return epoch_steps.Patience(timedelta(seconds=self._plan(file, name)[0].patience), self._awake)

    def _over(self, file: sqlite3.Connection, name: str) -> bool:
        closes, closed = file.execute("SELECT closes, closed FROM plan WHERE id = ?", (name,)).fetchone()
        return closed is not None or self._clock() >= moment(closes)

    def _newest(self, file: sqlite3.Connection, name: str) -> SumTask | None:
        row = file.execute("SELECT max(version), digest FROM task WHERE id = ?", (name,)).fetchone()
        if row[1] is None:
            return None
        digest = bytes(row[1])
        if digest not in self._tasks:
            document = file.execute("SELECT document FROM task WHERE digest = ?", (digest,)).fetchone()[0]
            self._tasks[digest] = SumTask.read(bytes(document))
        return self._tasks[digest]

    def _started(self, file: sqlite3.Connection, name: str) -> SumTask:
        task = self._newest(file, name)
        if task is None:
            raise Unknown(f"sum {name} has not begun", hint="people are still joining")
        return task


_INVITATION = "SELECT key FROM invited WHERE id = ? AND token = ?"


def _hash(token: str) -> bytes:
    return sha256(token.encode("utf-8", "replace")).digest()


def _known(file: sqlite3.Connection, name: str) -> None:
    if file.execute("SELECT 1 FROM plan WHERE id = ?", (name,)).fetchone() is None:
        raise _unknown()


def _unknown() -> Unknown:
    return Unknown("there is no such sum", hint="see the list")
