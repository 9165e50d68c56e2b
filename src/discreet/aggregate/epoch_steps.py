"""Steps of an epoch of a masked sum, as an aggregator keeps them: whose turn it is, when it is over, what came of it.

A step is over when everybody who took the step before has spoken, or when its time is up. Then whoever is missing is
left out; if too few are left, the epoch has no sum, and that is said in place of one.
"""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass
from datetime import datetime, timedelta
from fractions import Fraction
from hashlib import sha256
from typing import Any

from discreet.aggregate import sum_messages as wire
from discreet.aggregate.masked_round import added_up
from discreet.aggregate.masked_sum import MaskedSum
from discreet.aggregate.sum_messages import AGREEMENT, BOXES, HELLO, SHARES, STEPS, UPLOAD, Message, Misshapen
from discreet.aggregate.sum_store import forget, said, senders
from discreet.aggregate.sum_task import SumTask
from discreet.errors import Refusal
from discreet.ledger.signed_head import genuine
from discreet.transport.signed_task import moment, written

Outcome = tuple[int, tuple[Fraction, ...], int, int, str]  # epoch, total, people, error, why there is none


class Late(Refusal):
    """A message for a step that is over, or that has not begun; or another than the one that was sent before."""

    def __init__(self) -> None:
        super().__init__("it is not the time for this message", hint="ask how the sum stands; nothing new was kept")


@dataclass(frozen=True)
class Patience:
    """How long a step waits, and since when somebody has been listening."""

    each: timedelta
    awake: datetime


@dataclass(frozen=True)
class StepStanding:
    """Which epoch and step it is, who has spoken and of how many; of the step that was asked for, what came of it."""

    version: int
    epoch: int
    step: int
    spoken: int
    expected: int
    over: bool
    content: Any = None
    refused: str = ""

    @property
    def told(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "version": self.version,
            "epoch": self.epoch,
            "step": STEPS[self.step],
            "spoken": self.spoken,
            "expected": self.expected,
            "over": self.over,
            "content": self.content,
            "refused": self.refused,
        }


def current(file: sqlite3.Connection, task: SumTask) -> int:
    """The epoch that is under way, or comes next; as many as there are when all are over."""
    row = file.execute("SELECT max(epoch) FROM outcome WHERE digest = ?", (task.digest,)).fetchone()
    return 0 if row[0] is None else int(row[0]) + 1


def _step(file: sqlite3.Connection, task: SumTask, epoch: int) -> tuple[int, datetime | None]:
    """The step that is under way, and since when."""
    row = file.execute(
        "SELECT step, began FROM step WHERE digest = ? AND epoch = ? AND over = 0", (task.digest, epoch)
    ).fetchone()
    return (HELLO, None) if row is None else (row[0], moment(row[1]))


def keep(file: sqlite3.Connection, task: SumTask, message: Message, now: datetime) -> None:
    """Keep a message of the step that is under way."""
    where = task.digest, message.epoch, message.step
    if not message.place < len(task.people) or not message.genuine(task.people[message.place]):
        raise Misshapen
    kept = sha256(message.content).digest() if message.step == BOXES else message.content
    sought = "SELECT content FROM message WHERE digest = ? AND epoch = ? AND step = ? AND place = ?"
    before = file.execute(sought, (*where, message.place)).fetchone()
    if before is not None:
        if before[0] != kept:
            raise Late
        return
    epoch = current(file, task)
    if message.epoch != epoch or epoch >= task.epochs:
        raise Late
    step, began = _step(file, task, epoch)
    if message.step != step or message.place not in _expected(file, task, epoch, step):
        raise Late
    _check(file, task, message)
    if began is None:
        _begin(file, task, epoch, HELLO, now)
    file.execute(
        "INSERT INTO message (digest, epoch, step, place, content) VALUES (?, ?, ?, ?, ?)",
        (*where, message.place, kept),
    )
    if message.step == BOXES:
        boxes = wire.json_in(message.content)
        file.executemany(
            "INSERT INTO box (digest, epoch, receiver, sender, content) VALUES (?, ?, ?, ?, ?)",
            [(task.digest, epoch, int(receiver), message.place, box) for receiver, box in boxes.items()],
        )


def advance(file: sqlite3.Connection, task: SumTask, patience: Patience, now: datetime) -> None:
    """End the step that is under way, if all have spoken or its time is up, and what follows from that."""
    while True:
        epoch = current(file, task)
        step, began = _step(file, task, epoch)
        if began is None:
            return
        spoken, expected = senders(file, task.digest, epoch, step), _expected(file, task, epoch, step)
        if len(spoken) < len(expected) and now < max(began, patience.awake) + patience.each:
            return
        _close(file, task, epoch, step)
        sum_ = _sum(task)
        least = sum_.minimum if step <= UPLOAD else sum_.threshold
        if len(spoken) < least:
            total, refused = None, _few(len(spoken), len(task.people), least)
        elif step < SHARES:
            _begin(file, task, epoch, step + 1, now)
            continue
        else:
            total, refused = _added(file, task, epoch)
        _end(file, task, epoch, total, refused)


def _close(file: sqlite3.Connection, task: SumTask, epoch: int, step: int) -> None:
    """A step is over; what everybody needs of it is written once, and not made anew for each who asks."""
    told = None if step in (BOXES, SHARES) else json.dumps(_told(file, task, epoch, step))
    file.execute(
        "UPDATE step SET over = 1, told = ? WHERE digest = ? AND epoch = ? AND step = ?",
        (told, task.digest, epoch, step),
    )


def _few(left: int, people: int, least: int) -> str:
    return f"{left} of {people} people are left, and at least {least} have to be: this epoch has no sum"


def _added(file: sqlite3.Connection, task: SumTask, epoch: int) -> tuple[str | None, str]:
    sum_ = _sum(task)
    content = [
        {place: wire.json_in(each) for place, each in said(file, task.digest, epoch, step).items()}
        for step in (HELLO, UPLOAD, SHARES)
    ]
    hellos = {place: wire.hello_in(each) for place, each in content[0].items()}
    uploads = {place: wire.upload_in(each) for place, each in content[1].items()}
    told = {place: wire.shares_in(each) for place, each in content[2].items()}
    try:
        total = sum_.decoded(added_up(sum_, epoch, hellos, uploads, told))
    except Refusal as refused:
        return None, f"{refused.message}: this epoch has no sum"
    return json.dumps([str(each) for each in total]), ""


def standing(file: sqlite3.Connection, task: SumTask, epoch: int, step: int, place: int) -> StepStanding:
    """How the sum stands, and what a step came to, for one person, once it is over."""
    now = current(file, task)
    going, _ = _step(file, task, now)
    spoken, expected = len(senders(file, task.digest, now, going)), len(_expected(file, task, now, going))
    where = task.version, now, going, spoken, expected
    row = file.execute(
        "SELECT total, people, refused FROM outcome WHERE digest = ? AND epoch = ?", (task.digest, epoch)
    ).fetchone()
    if row is not None:
        content = None if row[0] is None else {"total": json.loads(row[0]), "people": row[1]}
        return StepStanding(*where, over=True, content=content, refused=row[2])
    over = file.execute(
        "SELECT over, told FROM step WHERE digest = ? AND epoch = ? AND step = ?", (task.digest, epoch, step)
    ).fetchone()
    if over is None or not over[0]:
        return StepStanding(*where, over=False)
    content = _boxes(file, task, epoch, place) if step == BOXES else json.loads(over[1] or "null")
    return StepStanding(*where, over=True, content=content)


def _boxes(file: sqlite3.Connection, task: SumTask, epoch: int, place: int) -> dict[str, str]:
    """Those for one person, by whom they are from."""
    found = file.execute(
        "SELECT sender, content FROM box WHERE digest = ? AND epoch = ? AND receiver = ? ORDER BY sender",
        (task.digest, epoch, place),
    )
    return {str(sender): content for sender, content in found}


def _told(file: sqlite3.Connection, task: SumTask, epoch: int, step: int) -> dict[str, Any]:
    """What everybody needs of a step that is over; of uploads, their signatures alone."""
    read = {sender: wire.json_in(each) for sender, each in said(file, task.digest, epoch, step).items()}
    if step in (UPLOAD, AGREEMENT):
        return wire.by_place({sender: each["signature"] for sender, each in read.items()})
    return wire.by_place(read)


def outcomes(file: sqlite3.Connection, task: SumTask) -> list[Outcome]:
    """What each epoch came to."""
    found = file.execute(
        "SELECT epoch, total, people, refused FROM outcome WHERE digest = ? ORDER BY epoch", (task.digest,)
    )
    noise = _sum(task).noise
    return [
        (
            epoch,
            () if total is None else tuple(Fraction(each) for each in json.loads(total)),
            people,
            0 if total is None else noise.error_of(people),
            refused,
        )
        for epoch, total, people, refused in found
    ]


def abandoned(file: sqlite3.Connection, task: SumTask) -> None:
    """End the epoch that is under way without a sum: its task takes nothing more."""
    epoch = current(file, task)
    if _step(file, task, epoch)[1] is not None:
        _end(file, task, epoch, None, "the sum was closed or begun anew meanwhile: this epoch has no sum")


def _begin(file: sqlite3.Connection, task: SumTask, epoch: int, step: int, now: datetime) -> None:
    file.execute(
        "INSERT INTO step (digest, epoch, step, began, over) VALUES (?, ?, ?, ?, 0)",
        (task.digest, epoch, step, written(now)),
    )


def _end(file: sqlite3.Connection, task: SumTask, epoch: int, total: str | None, refused: str) -> None:
    people = len(senders(file, task.digest, epoch, UPLOAD))
    file.execute(
        "INSERT INTO outcome (digest, epoch, total, people, refused) VALUES (?, ?, ?, ?, ?)",
        (task.digest, epoch, total, people, refused),
    )
    file.execute("UPDATE step SET over = 1 WHERE digest = ? AND epoch = ?", (task.digest, epoch))
    forget(file, task.digest, epoch)


def _expected(file: sqlite3.Connection, task: SumTask, epoch: int, step: int) -> list[int]:
    """Who may speak in a step: whoever took the step before; the shares are those of all who agreed."""
    return list(range(len(task.people))) if step == HELLO else senders(file, task.digest, epoch, step - 1)


def _check(file: sqlite3.Connection, task: SumTask, message: Message) -> None:
    """Refuse content that would end the epoch for everybody else."""
    sum_, content = _sum(task), wire.json_in(message.content)
    key, epoch, digest = task.people[message.place], message.epoch, task.digest
    match message.step:
        case wire.HELLO:
            hello = wire.hello_in(content)
            signature, statement = (
                hello.signature,
                sum_.statement("hello", epoch, masks=hello.masks, boxes=hello.boxes),
            )
        case wire.BOXES:
            others = [place for place in _expected(file, task, epoch, BOXES) if place != message.place]
            if sorted(wire.boxes_in(content)) != others:
                raise Misshapen
            return
        case wire.UPLOAD:
            upload = wire.upload_in(content)
            if len(upload.numbers) != sum_.width:
                raise Misshapen
            partners = senders(file, digest, epoch, BOXES)
            signature, statement = upload.signature, sum_.statement("masked with", epoch, people=partners)
        case wire.AGREEMENT:
            signature = wire.agreement_in(content)
            partners, survivors = (senders(file, digest, epoch, step) for step in (BOXES, UPLOAD))
            statement = sum_.statement("survivors", epoch, people=partners, survivors=survivors)
        case _:
            shares = wire.shares_in(content)
            partners, survivors = (senders(file, digest, epoch, step) for step in (BOXES, UPLOAD))
            if sorted(shares.seeds) != survivors or sorted(shares.seeds | shares.secrets) != partners:
                raise Misshapen
            return
    if not genuine(key, signature, statement):
        raise Misshapen


def _sum(task: SumTask) -> MaskedSum:
    found = task.sum
    if not isinstance(found, MaskedSum):
        raise Refusal(f"expected a masked sum, got {task.scheme}", hint="others travel as you like: see Station")
    return found
