"""Device of a person who takes part in masked sums: its key, what it told whom, and the steps of an epoch.

What is lost to one collector is added up in zCDP over all its sums, whatever they are called, and a device refuses
beyond its owner's limit. A collector is who holds its signing keys, as far as they hand over to one another: who signs
with a key that no other hands over to is another collector.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable, Generator
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any, Protocol, TypeVar

from discreet import durable
from discreet.aggregate import sum_messages as wire
from discreet.aggregate.masked_round import Member
from discreet.aggregate.masked_sum import MaskedSum
from discreet.aggregate.sent_epochs import Outbox
from discreet.aggregate.sum_messages import AGREEMENT, BOXES, HELLO, SHARES, STEPS, UPLOAD, Message, joining
from discreet.aggregate.sum_task import SumTask
from discreet.errors import Refusal
from discreet.exact import spoken
from discreet.ledger.file_access import Called
from discreet.ledger.signed_head import public_part, signing_key
from discreet.privacy import Concentrated
from discreet.transport.device_client import Unreached
from discreet.transport.private_file import PrivateFile
from discreet.transport.signing_keys import Handover, follows, read_handover, related

# Of a person who says nothing: at δ = 10⁻⁶ this is less than ε = 5, as surveys have it. ρ + 2√(ρ ln(1/δ)) = 4.93.
USUAL = Concentrated(Fraction(3, 8))
_NUMBER = re.compile(r"-?[0-9]{1,40}(/[1-9][0-9]{0,39})?")  # whatever a server sends, it is read quickly
_CALLED = Called(
    "what this device told sums",
    "nothing was sent",
    "put the newest copy of it back; without it, what was lost already is not known",
    see="nothing was sent",
)
_SCHEMA = """
CREATE TABLE IF NOT EXISTS trusted (id TEXT PRIMARY KEY, key TEXT NOT NULL, version INTEGER NOT NULL, digest BLOB)
    STRICT;
CREATE TABLE IF NOT EXISTS told (
    digest BLOB, epoch INTEGER, key TEXT NOT NULL, rho TEXT NOT NULL, PRIMARY KEY (digest, epoch)
) STRICT;
CREATE TABLE IF NOT EXISTS handover (document TEXT PRIMARY KEY) STRICT;
"""


def _now() -> datetime:
    return datetime.now(UTC)


class SumCarrier(Protocol):
    """What brings documents and takes messages: `SumCourier` over HTTP."""

    def task(self, name: str, /) -> bytes:
        """The newest document of a sum."""
        ...

    def handovers(self) -> list[Handover]:
        """How the key that signs was changed."""
        ...

    def join(self, name: str, said: dict[str, str], token: str, /) -> int:
        """Let a key in; how many joined."""
        ...

    def say(self, name: str, message: bytes, /) -> None:
        """Bring a message of a step. Sent again it changes nothing."""
        ...

    def step(self, name: str, epoch: int, step: int, place: int, /) -> dict[str, Any]:
        """How a step stands, and what it came to."""
        ...


@dataclass(frozen=True)
class SumRead:
    """What came of an epoch: the sum with its noise, and over how many people."""

    epoch: int
    total: tuple[Fraction, ...]
    people: int


Steps = Generator[str | None, None, SumRead]
T = TypeVar("T")


class SumDevice:
    """One person's part in the sums of whoever asks. Its folder is never copied to another device, nor put back.

    Guarantee: in each epoch of a task one value leaves, masked and with noise, and to one collector no more rho is
        lost than `most` says at each call, and 2^−128 of delta with each value: by whatever else the aggregator says,
        nothing, as far as it can compute. That is for tasks of whose people no more work with the aggregator than the
        task says: who they are, the owner has to know.
    Proof: that an epoch is spent is on the disk before its value leaves, in one row that is written once; prices of
        epochs have noise of their own, so they add up. The steps are those of `Member`, which checks signatures.
    """

    def __init__(self, folder: Path, *, clock: Callable[[], datetime] = _now) -> None:
        durable.make_folder(folder)
        self._clock = clock
        self._folder, self._file = folder, PrivateFile(folder / "sums.db", _CALLED, _SCHEMA)
        with self._file.transaction(new=True):
            pass

    @property
    def key(self) -> str:
        """What others know this person by."""
        return public_part(signing_key(self._folder / "identity.key"))

    def join(self, carrier: SumCarrier, name: str, token: str) -> int:
        """Let an aggregator write one's key into the next task; how many joined so far. Nothing is told by that."""
        return carrier.join(name, joining(name, signing_key(self._folder / "identity.key")), token)

    def lost(self, key: str) -> Concentrated:
        """What was told to the holder of a signing key, and of all keys that are known to be the same collector's."""
        with self._file.reading() as file:
            return _lost(file, key)

    def task(self, carrier: SumCarrier, name: str) -> SumTask:
        """The newest task of a sum, if it is signed by whom it was before and names this person; refused otherwise."""
        task = SumTask.read(carrier.task(name))
        if task.id != name:
            raise Refusal(f"this is the task {task.id}, and not {name}", hint="do not answer")
        handovers = carrier.handovers()
        with self._file.transaction() as file:
            file.executemany(
                "INSERT OR IGNORE INTO handover (document) VALUES (?)",
                [(json.dumps(each.body, sort_keys=True),) for each in handovers if each.genuine()],
            )
            row = file.execute("SELECT key, version, digest FROM trusted WHERE id = ?", (name,)).fetchone()
            if row is not None and not follows(row[0], task.key, handovers):
                raise Refusal(
                    f"task {name} was signed by somebody else before", hint="do not answer, and ask who runs the sum"
                )
            if row is not None and (row[1] > task.version or (row[1] == task.version and row[2] != task.digest)):
                raise Refusal(f"this is version {task.version}, and not the document that was seen last, {row[1]}")
            file.execute(
                "INSERT OR REPLACE INTO trusted (id, key, version, digest) VALUES (?, ?, ?, ?)",
                (name, task.key, task.version, task.digest),
            )
        if not isinstance(task.sum, MaskedSum):
            raise Refusal(f"expected a masked sum, got {task.scheme}")
        now = self._clock()
        if task.early(now) or task.late(now):
            raise Refusal(f"this sum is open from {task.opens} to {task.closes}")
        if self.key not in task.people:
            raise Refusal("this person is not among those of the task", hint="join, and wait for its next version")
        return task

    def taking_part(
        self, carrier: SumCarrier, name: str, value: int | list[int], *, most: Concentrated = USUAL
    ) -> Steps:
        """The steps of the epoch that is under way, one after another: yields a step's name, or None while it waits.

        Returns what the sum came to. Where nobody answers it waits as well: whoever drives it stops when it likes.
        """
        task = yield from _patient(lambda: self.task(carrier, name))
        sum_ = task.sum
        assert isinstance(sum_, MaskedSum)  # noqa: S101  # `task` refuses others
        sum_.noise.fits(value)
        place = task.people.index(self.key)
        began = yield from _patient(lambda: carrier.step(name, 0, HELLO, place))
        epoch = _epoch(began, task)
        self._afford(task, epoch, most, sum_)
        own, folder = signing_key(self._folder / "identity.key"), self._folder / "sent" / task.digest.hex()
        member = Member(sum_, epoch, own, Outbox(folder))

        def said(step: int, content: bytes) -> Generator[str | None, None, Any]:
            body = Message(task.digest, epoch, step, place, content).signed(own)
            try:
                yield from _patient(lambda: carrier.say(name, body))
            except Refusal:  # with the last word an epoch is over and forgotten: perhaps it was this one
                now = yield from _patient(lambda: carrier.step(name, epoch, step, place))
                if step != SHARES or not now.get("over"):
                    raise
            yield STEPS[step]
            while True:
                now = yield from _patient(lambda: carrier.step(name, epoch, step, place))
                if now.get("refused"):
                    raise Refusal(_printable(str(now["refused"])))
                if now.get("over"):
                    return now.get("content")
                yield None

        hellos = yield from said(HELLO, wire.written(member.hello()))
        boxes = yield from said(BOXES, wire.written(member.boxes(wire.hellos_in(hellos))))
        received = wire.boxes_in(boxes)
        self._spend(task, epoch, most, sum_)  # on the disk before a value leaves
        signatures = yield from said(UPLOAD, wire.written(member.upload(value, received)))
        agreements = yield from said(AGREEMENT, wire.written(member.agreement(wire.signatures_in(signatures))))
        total = yield from said(SHARES, wire.written(member.shares(wire.signatures_in(agreements))))
        return _read(epoch, total)

    def _afford(self, task: SumTask, epoch: int, most: Concentrated, sum_: MaskedSum) -> None:
        with self._file.reading() as file:
            _affordable(file, task, epoch, most, sum_)

    def _spend(self, task: SumTask, epoch: int, most: Concentrated, sum_: MaskedSum) -> None:
        with self._file.transaction() as file:
            _affordable(file, task, epoch, most, sum_)
            file.execute(
                "INSERT INTO told (digest, epoch, key, rho) VALUES (?, ?, ?, ?)",
                (task.digest, epoch, task.key, str(sum_.noise.privacy.rho)),
            )


def _affordable(file: sqlite3.Connection, task: SumTask, epoch: int, most: Concentrated, sum_: MaskedSum) -> None:
    if file.execute("SELECT 1 FROM told WHERE digest = ? AND epoch = ?", (task.digest, epoch)).fetchone():
        raise Refusal(
            f"a number was sent for epoch {epoch} already: a second one would tell their difference",
            hint="wait for the next epoch",
        )
    before = _lost(file, task.key)
    if before.rho + sum_.noise.privacy.rho > most.rho:
        raise Refusal(
            f"who asks this was told rho={spoken(before.rho)} of {spoken(most.rho)} that this device tells one "
            f"collector, and an epoch takes {spoken(sum_.noise.privacy.rho)} more",
            hint="nothing was sent; say with most how much may be told to them in all",
        )


def _lost(file: sqlite3.Connection, key: str) -> Concentrated:
    handovers = [read_handover(text) for (text,) in file.execute("SELECT document FROM handover")]
    keys = related(key, handovers)
    rows = file.execute("SELECT key, rho FROM told").fetchall()
    own = [Fraction(rho) for by, rho in rows if by in keys]
    return Concentrated(sum(own, start=Fraction(0)), len(own) * Fraction(1, 1 << 128))


def _patient(call: Callable[[], T]) -> Generator[None, None, T]:
    """What a call answers, once somebody answers. A refusal of theirs is one."""
    while True:
        try:
            return call()
        except Unreached as nobody:
            if nobody.final:
                raise
            yield None


def _epoch(standing: dict[str, Any], task: SumTask) -> int:
    version, epoch = standing.get("version"), standing.get("epoch")
    if version != task.version or type(epoch) is not int or epoch < 0:
        raise Refusal("the aggregator speaks of another task", hint="try again")
    if epoch >= task.epochs:
        raise Refusal(f"all {task.epochs} epochs of this task are over", hint="wait for its next version")
    return epoch


def _read(epoch: int, content: Any) -> SumRead:  # noqa: ANN401  # any JSON
    match content:
        case {"total": list(total), "people": int(people)} if all(map(_NUMBER.fullmatch, map(str, total))):
            return SumRead(epoch, tuple(Fraction(str(each)) for each in total), people)
    raise Refusal("the aggregator told no sum")


def _printable(text: str) -> str:
    return "".join(each for each in text[:300] if each.isprintable())
