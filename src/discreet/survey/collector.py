"""Collector: takes in reports of tasks, counts each once, keeps sums of them, and says what they came to, once."""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from discreet.errors import Refusal
from discreet.exact import count
from discreet.noise import SECURE, Entropy
from discreet.survey.collector_store import Store, counted, held, pruned
from discreet.survey.intake import Intake, Row, Seen, Sent, add, hashed, tallied, together
from discreet.survey.results import Results, read_results, results
from discreet.survey.shuffle import Shuffler, mixed, too_few
from discreet.survey.task import HEAD, ID, LARGEST_MOST, Batch, Task, addressed, read_task, unpacked
from discreet.transport.private_file import ALONE
from discreet.transport.signed_task import KINDS, OVERSIZE, Uninvited, Unknown, UploadReceipt, written
from discreet.transport.signing_keys import Handover, Keyring

T = TypeVar("T")
FILE, KEY = "surveys.db", "surveys.key"
_REMEMBERED = 1 << 24  # ids in memory: 384 MiB
_TASKS = 256  # whose ids are in memory


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True)
class TaskStanding:
    """Of the newest version of a task: what was accepted and refused so far, and whether it is over."""

    task: Task
    counts: dict[str, int]
    closed: bool
    collected: bool


class Collector:
    """The surveys of a home. Every method may be called from any thread, and from several processes at once.

    Guarantee: each report id counts once, whatever is sent again and whenever the machine stops; what a receipt says
        is on the disk before the receipt is there.
    Proof: which ids were seen, the sums, the reports of each token and the counters change in one transaction, with
        synchronous=FULL. Ids in memory are used only under the random state that the file had after they were added.
    """

    def __init__(
        self, home: Path, *, clock: Callable[[], datetime] = _now, most: int = LARGEST_MOST, rng: Entropy = SECURE
    ) -> None:
        self._store, self._keys = Store(home / FILE), Keyring(home / KEY)
        self._clock, self._most, self._rng = clock, most, rng
        self._tasks: dict[bytes, Task] = {}
        self._seen: dict[bytes, tuple[bytes, Seen]] = {}

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
            handover = self._keys.rotate(file)
        self._keys.settle(handover.new)
        return handover

    def handovers(self) -> list[Handover]:
        """From the first key to the present one."""
        return self._read(self._keys.handovers) if self._store.exists else []

    def tasks(self) -> list[Task]:
        """The newest version of each, the latest to close first."""
        return self._read(self._all) if self._store.exists else []

    def names(self) -> list[str]:
        """The ids of all tasks, in no order."""
        return self._read(_names) if self._store.exists else []

    def task(self, name: str, version: int | None = None) -> Task:
        """The newest version of a task, or the one that is asked for."""
        if not self._store.exists:
            raise _unknown()
        return self._read(lambda file: self._task(file, name, version))

    def invite(self, name: str, people: int) -> list[str]:
        """A token for each of so many people. Only digests are kept: hand them out now."""
        tokens = [secrets.token_urlsafe(32) for _ in range(count(people, "people"))]
        task = self.task(name)
        if not task.invited:
            raise Refusal(f"task {name} is open to everybody", hint="revise it with invited=True")
        with self._store.transaction() as file:
            digest = self._task(file, name).digest
            file.executemany(
                "INSERT INTO invited (digest, token, sent) VALUES (?, ?, 0)",
                [(digest, hashed(token)) for token in tokens],
            )
        return tokens

    def standing(self, name: str) -> TaskStanding:
        """How a task stands."""
        self.task(name)
        return self._read(lambda file: self._standing(file, self._task(file, name)))

    def standings(self) -> list[TaskStanding]:
        """How every task stands, the latest to close first."""
        if not self._store.exists:
            return []
        return self._read(lambda file: [self._standing(file, task) for task in self._all(file)])

    # reports ---------------------------------------------------------------------------------------------------------

    def receive(self, name: str, body: bytes, token: str | None = None) -> UploadReceipt:
        """Take in an upload. Sent again it changes nothing, and its reports are `replayed`."""
        (receipt,) = self.take([Sent(name, body, token)])
        if isinstance(receipt, Refusal):
            raise receipt
        return receipt

    def take(self, uploads: Sequence[Sent]) -> list[UploadReceipt | Refusal]:
        """Take in uploads that came together, in one transaction: for each its receipt, or why it has none.

        They share what it costs to reach the disk, and nobody has a receipt before all of them are there. If that
        fails and they are of several tasks, each task is tried alone: what is broken in one is not the others' fault.
        """
        try:
            return self._taken(uploads)
        except Refusal:
            if len({each.name for each in uploads}) == 1:
                raise
        return self._apart(uploads)

    def _apart(self, uploads: Sequence[Sent]) -> list[UploadReceipt | Refusal]:
        told: dict[int, UploadReceipt | Refusal] = {}
        for name in dict.fromkeys(each.name for each in uploads):
            places = [i for i, each in enumerate(uploads) if each.name == name]
            try:
                receipts = self._taken([uploads[i] for i in places])
            except Refusal as broken:
                receipts = [broken] * len(places)
            told.update(zip(places, receipts, strict=True))
        return [told[i] for i in range(len(uploads))]

    def _taken(self, uploads: Sequence[Sent]) -> list[UploadReceipt | Refusal]:
        names = dict.fromkeys(each.name for each in uploads)
        tasks = self._read(lambda file: self._known(file, names)) if self._store.exists else {}
        if not tasks:
            return [_unknown() for _ in uploads]
        read = [_opened(tasks.get(each.name), each.body) for each in uploads]
        with ALONE:
            with self._store.transaction() as file:
                newest = self._known(file, names)
                intakes = {name: self._intake(file, task) for name, task in newest.items()}
                told = []
                for each, opened in zip(uploads, read, strict=True):
                    task = newest.get(each.name)
                    same = task is tasks.get(each.name)  # else it was revised a moment ago
                    told.append(_judged(intakes.get(each.name), opened if same else _opened(task, each.body), each))
                kept = [(intake, intake.write(self._rng)) for intake in intakes.values()]
            for intake, added in kept:
                if added is not None:  # it is on the disk: only now may memory know it
                    ids, state = added
                    intake.seen.add(ids)
                    self._remember(intake.row.task.digest, state, intake.seen)
        return told

    def _intake(self, file: sqlite3.Connection, task: Task) -> Intake:
        row = Row.of(file, task)
        return Intake(file, row, self._ids(file, row), self._clock(), min(task.most, self._most))

    def oversize(self, name: str) -> None:
        """Count an upload that was too long to be read."""
        task = self.task(name)
        with self._store.transaction() as file:
            counted(file, task.digest, {OVERSIZE: 1})

    # results ---------------------------------------------------------------------------------------------------------

    def close(self, name: str) -> None:
        """Take no more reports of a task, before its time is over."""
        self.task(name)
        with self._store.transaction() as file:
            task = self._task(file, name)
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
            row = Row.of(file, self._task(file, name))
            if row.results is None and row.collected is None:
                row = self._frozen(file, row)
            rejected = {kind: n for kind, n in _counts(file, row.task.digest).items() if kind != "accepted"}
            key, tally = self._keys.current(file), tallied(file, row.task)
        if row.results is None and row.collected is not None:
            made = results(row.task, tally, row.collected, rejected, key).document
            with self._store.transaction() as file:
                file.execute(
                    "UPDATE collection SET results = coalesce(results, ?) WHERE digest = ?", (made, row.task.digest)
                )
        return self.results(name, row.task.version)

    def _frozen(self, file: sqlite3.Connection, row: Row) -> Row:
        task, now = row.task, self._clock()
        if row.closed is None and not task.late(now):
            raise Refusal(f"this task takes reports until {task.closes}", hint="close it first, or wait")
        if not Shuffler(task.minimum, task.dishonest).ready(row.accepted):
            raise too_few()
        add(file, task, mixed(together(file, task, task.client.decode(b"")), rng=self._rng))
        when = written(now)
        file.execute(
            "UPDATE collection SET waiting = 0, closed = coalesce(closed, ?), collected = ? WHERE digest = ?",
            (when, when, task.digest),
        )
        return replace(row, collected=when)

    def results(self, name: str, version: int | None = None) -> Results:
        """What was collected, as it was said the first time."""
        self.task(name, version)
        document = self._read(lambda file: Row.of(file, self._task(file, name, version)).results)
        if document is None:
            raise Unknown(f"task {name} has no results yet", hint="they are there once it was collected")
        return read_results(document)

    def forget(self, name: str) -> list[int]:
        """Delete ids, tokens and waiting reports that are not needed any more: of which versions. All else stays.

        Those of older versions, of which no report is taken; and those of the newest, if it has results, or if it is
        over with too few reports to say anything. It is then closed for good, so nothing can count twice.
        """
        self.task(name)
        with ALONE, self._store.transaction() as file:
            row = Row.of(file, self._task(file, name))
            over = row.closed is not None or row.task.late(self._clock())
            few = not Shuffler(row.task.minimum, row.task.dishonest).ready(row.accepted)
            needed = row.results is None and not (over and few)
            last = row.task.version if needed else row.task.version + 1
            gone = file.execute(
                "SELECT version, digest FROM task WHERE id = ? AND version < ? ORDER BY version", (name, last)
            ).fetchall()
            if needed and row.task.version == 1:
                raise Refusal(
                    f"task {name} has no results yet, and needs what it knows", hint="close it first: its results stay"
                )
            for _, digest in gone:
                pruned(file, digest, written(self._clock()))
        return [version for version, _ in gone]

    # the file --------------------------------------------------------------------------------------------------------

    def _read(self, look: Callable[[sqlite3.Connection], T]) -> T:
        with self._store.reading() as file:
            return look(file)

    def _task(self, file: sqlite3.Connection, name: str, version: int | None = None) -> Task:
        rows = file.execute(_NEWEST, (name,)) if version is None else file.execute(_VERSION, (name, version))
        row = rows.fetchone()
        if row is None:
            raise _unknown()
        digest = row[0]
        if digest not in self._tasks:
            self._tasks[digest] = read_task(row[2])
        return self._tasks[digest]

    def _all(self, file: sqlite3.Connection) -> list[Task]:
        """The newest version of each, the latest to close first."""
        tasks = [self._task(file, name) for name in _names(file)]
        return sorted(tasks, key=lambda task: (task.closes, task.id), reverse=True)

    def _standing(self, file: sqlite3.Connection, task: Task) -> TaskStanding:
        row = Row.of(file, task)
        closed = row.closed is not None or task.late(self._clock())
        return TaskStanding(task, _counts(file, task.digest), closed, row.results is not None)

    def _known(self, file: sqlite3.Connection, names: Iterable[str]) -> dict[str, Task]:
        """The newest versions of those of these tasks that there are."""
        tasks = {}
        for name in names:
            with suppress(Unknown):
                tasks[name] = self._task(file, name)
        return tasks

    def _ids(self, file: sqlite3.Connection, row: Row) -> Seen:
        """The ids that the file has: those in memory, if nobody else wrote meanwhile."""
        state, seen = self._seen.get(row.task.digest, (b"", Seen()))
        if state != row.state:
            seen = Seen(held(file, "seen", row.task.digest))
            self._remember(row.task.digest, row.state, seen)
        return seen

    def _remember(self, digest: bytes, state: bytes, seen: Seen) -> None:
        """As long as there is room: the ids of the task that was used last stay, whatever they take."""
        self._seen.pop(digest, None)
        self._seen[digest] = state, seen
        ids = sum(len(each) for _, each in self._seen.values())
        while len(self._seen) > 1 and (ids > _REMEMBERED or len(self._seen) > _TASKS):
            _, oldest = self._seen.pop(next(iter(self._seen)))
            ids -= len(oldest)


_NEWEST = "SELECT digest, version, document FROM task WHERE id = ? ORDER BY version DESC LIMIT 1"
_VERSION = "SELECT digest, version, document FROM task WHERE id = ? AND version = ?"


def _opened(task: Task | None, body: bytes) -> Batch | UploadReceipt:
    """The reports of an upload to a task, or that it is none."""
    said = addressed(body)
    if task is not None and said is not None and said[0] != task.digest:
        return UploadReceipt(wrong_task=max(1, min(said[1], (len(body) - HEAD) // (ID + 1))))
    batch = None if task is None else unpacked(task, body)
    return UploadReceipt(malformed=1) if batch is None else batch


def _judged(intake: Intake | None, opened: Batch | UploadReceipt, upload: Sent) -> UploadReceipt | Refusal:
    if intake is None:
        return _unknown()
    if isinstance(opened, UploadReceipt):
        return intake.told(opened)
    try:
        return intake.judge(opened, upload.token)
    except Uninvited as refused:
        return refused


def _counts(file: sqlite3.Connection, digest: bytes) -> dict[str, int]:
    nothing = dict.fromkeys(KINDS, 0)
    return nothing | dict(file.execute("SELECT kind, number FROM counted WHERE digest = ?", (digest,)).fetchall())


def _names(file: sqlite3.Connection) -> list[str]:
    return [name for (name,) in file.execute("SELECT DISTINCT id FROM task")]


def _unknown() -> Unknown:
    return Unknown("there is no task of this name")
