"""Respondent: a person's device, which randomizes an answer once, remembers it, and says the same ever after.

An answer that is drawn afresh each time a question comes again averages out. So a draw is kept, and sent again; the
true answer is not kept at all. For RAPPOR a secret is kept, from which a text's permanent response follows.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from discreet.errors import Refusal
from discreet.exact import shown
from discreet.local.local_mechanism import answer
from discreet.local.rappor import Device, Rappor
from discreet.noise import SECURE, Entropy
from discreet.privacy import Pure
from discreet.survey import device_memory
from discreet.survey.device_memory import Gauge
from discreet.survey.task import Task, fresh_ids, packed, read_task
from discreet.transport.signed_task import UploadReceipt
from discreet.transport.signing_keys import Handover, follows


class Carrier(Protocol):
    """What brings documents and takes uploads: `Courier` over HTTP."""

    @property
    def address(self) -> str:
        """Whom it reaches: what was meant for one is never sent to another."""
        ...

    def task(self, name: str, /) -> bytes:
        """The newest document of a task."""
        ...

    def handovers(self) -> Sequence[Handover]:
        """How the key that signs was changed."""
        ...

    def send(self, name: str, body: bytes, token: str | None, /) -> UploadReceipt:
        """Upload."""
        ...


@dataclass(frozen=True)
class Upload:
    """Bytes to be sent for a task, as often as it takes."""

    id: str
    body: bytes


class Respondent:
    """The state of one person's device, in a file.

    `limit` is the most that may be lost through it, to whomever; to any one collector no more is lost than `set_limit`
    said last, else ε = 5, over all its questions and whatever it calls them.

    Guarantee: whatever is sent of a question, in whatever versions and however often, loses ε of one report for each
        draw, and there is one draw, unless the person says that the answer is to be drawn `afresh`. To a task no more
        is lost than its first document asked for, ε times its reports, unless the person says how much. Of several
        draws of RAPPOR it is not hidden that the text changed between them.
    Proof: a draw and its price are on the disk before its bytes leave, and everything that is sent of it, it alone
        determines, with random ids that do not depend on the answer. Draws have coins of their own, so their losses
        add up. Those of RAPPOR have not, but all of one text together lose no more than ε (`Device`), and their
        permanent responses have coins of their own: adding up is an upper bound for lives whose text changes, and
        goes back, at the same draws (docs/proofs/rappor.md). A draw is noted as told to the collector, and the sum of
        such draws is compared with its limit, in the same transaction as it is drawn.
    """

    def __init__(self, path: Path, *, limit: Pure | None = None, rng: Entropy = SECURE) -> None:
        self._memory, self._limit, self._rng = device_memory.Memory(path), limit, rng

    def answer(self, task: Task, value: object, *, afresh: bool = False, most: Pure | None = None) -> Upload:
        """What is to be sent: drawn at the first time, the same bytes at every other, whatever the value is then.

        Of a task that lists its answers, `value` is a label or its number from 0 on; what is neither is refused.
        `afresh` draws again, which loses ε again and is refused after as many draws as the task allows reports. That
        somebody draws afresh can be seen: it may tell that their answer changed. `most` is what may be lost to this
        task in all: without it, as much as its first document asked for, and a later one that asks something else is
        refused.
        """
        return self._answered(task, value, afresh=afresh, most=most)

    def _answered(
        self, task: Task, value: object, *, afresh: bool, most: Pure | None, to: tuple[str, str | None] | None = None
    ) -> Upload:
        """The same, and to which address it goes with which token."""
        value = _listed(task, value)
        with self._memory.transaction() as file:
            allowed, asked = device_memory.allowed(file, task, most), device_memory.spelled(file, task)
            drawn = device_memory.drawn(file, task, asked)
            if drawn and afresh and len(drawn) >= task.reports:
                raise Refusal(
                    f"this question was answered {len(drawn)} times, and takes {task.reports}", hint="leave out afresh"
                )
            number = device_memory.linked(file, task, asked)
            if not drawn or afresh:
                self._afford(file, task, allowed)
                device_memory.afford(file, task, (asked, len(drawn) + 1))
                drawn.append(self._drawn(file, task, value))
                number = len(drawn)
                device_memory.keep(file, task, (asked, number), drawn[-1])
            elif number is None:  # another task asked the same, and this one gets what that got last
                _owe(file, task, allowed)
                number = len(drawn)
            device_memory.afford(file, task, (asked, number))
            device_memory.tell(file, task, (asked, number))
            device_memory.link(file, task, (asked, number))
            upload = Upload(task.id, self._packed(file, task, number, drawn[number - 1]))
            if to is not None:
                device_memory.route(file, upload.body, *to)
        return upload

    def _afford(self, file: sqlite3.Connection, task: Task, allowed: Pure) -> None:
        """One more draw, if it is within both limits."""
        _owe(file, task, allowed)
        if self._limit is not None and not device_memory.lost(file) + task.client.privacy <= self._limit:
            raise Refusal(
                f"another draw would lose more than epsilon={self._limit.epsilon}, the limit of this device",
                hint="nothing was sent",
            )

    def _drawn(self, file: sqlite3.Connection, task: Task, value: object) -> bytes:
        client = task.client
        if isinstance(client, Rappor):
            return self._device(file, task, client)(value, rng=self._rng)
        return client.encode(client(value, rng=self._rng))  # type: ignore[operator]  # every client is one

    def _device(self, file: sqlite3.Connection, task: Task, client: Rappor) -> Device:
        """With the secret of this question: nobody sees whether another one, with another, got the same answer."""
        row = file.execute("SELECT secret FROM secret WHERE posed = ?", (task.posed,)).fetchone()
        if row is not None:
            return Device(client, device_memory.blob(row[0]))
        device = Device.fresh(client, rng=self._rng)
        file.execute("INSERT INTO secret (posed, secret) VALUES (?, ?)", (task.posed, device.secret))
        return device

    def _packed(self, file: sqlite3.Connection, task: Task, number: int, report: bytes) -> bytes:
        """The upload of a draw for a version of the task: with one id, drawn once."""
        row = file.execute("SELECT body FROM sent WHERE digest = ? AND number = ?", (task.digest, number)).fetchone()
        if row is not None:
            return device_memory.blob(row[0])
        body = packed(task, fresh_ids(1, rng=self._rng), report)
        file.execute(
            "INSERT INTO sent (digest, number, id, body) VALUES (?, ?, ?, ?)", (task.digest, number, task.id, body)
        )
        return body

    def loss(self, task: Task) -> Pure:
        """What was lost to a task so far, in all its versions and whatever they asked."""
        with self._memory.transaction() as file:
            return device_memory.lost(file, task.id)

    def lost(self) -> Pure:
        """What was lost to all tasks together. A draw that several of them got counts once."""
        with self._memory.transaction() as file:
            return device_memory.lost(file)

    def gauge(self, task: Task) -> Gauge:
        """What was told to whoever signs this task, over all their questions, and the most that they may be told."""
        with self._memory.transaction() as file:
            return device_memory.gauge(file, task.key)

    def set_limit(self, most: Pure) -> None:
        """Say how much any one collector may be told from now on: it is remembered. What was told stays told."""
        with self._memory.transaction() as file:
            device_memory.set_limit(file, most)

    def trust(self, document: bytes, name: str, *, key: str | None = None, handovers: Sequence[Handover] = ()) -> Task:
        """The task in a document, if whoever signed the last one of this name that was seen signed this one as well.

        Or whoever they handed over to. `key` is one that is known from elsewhere: they must come from it too. There is
        no way back, neither to an older key nor to an older version.
        """
        task = read_task(document)
        if task.id != name:
            raise Refusal(f"this is task {task.id}, and {name} was asked for")
        with self._memory.transaction() as file:
            row = file.execute("SELECT key FROM trusted WHERE id = ?", (name,)).fetchone()
            known = [each for each in (key, row[0] if row else None) if each is not None]
            if not all(follows(each, task.key, handovers) for each in known):
                raise Refusal(
                    f"this task is signed by a stranger, {task.key}", hint="do not answer, and ask who runs the survey"
                )
            device_memory.newest(file, task)
            device_memory.acquaint(file, task.key, handovers)
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
        most: Pure | None = None,
    ) -> UploadReceipt:
        """Fetch a task, check who signed it, answer, and send. Call it again after a failure: the same bytes go."""
        task = self.trust(carrier.task(name), name, key=key, handovers=carrier.handovers())
        to = (carrier.address, token)
        return self._sent(carrier, self._answered(task, value, afresh=afresh, most=most, to=to), token)

    def pending(self) -> list[Upload]:
        """What nobody has given a receipt for yet."""
        with self._memory.transaction() as file:
            rows = file.execute("SELECT id, body FROM sent WHERE over = 0 ORDER BY rowid")
            return [Upload(name, device_memory.blob(body)) for name, body in rows]

    def deliver(self, carrier: Carrier) -> list[UploadReceipt]:
        """Send again what is pending for this address, each with its token. What fails stays pending."""
        with self._memory.transaction() as file:
            rows = file.execute(
                "SELECT id, body, token FROM sent JOIN route USING (body) WHERE over = 0 AND address = ?"
                " ORDER BY sent.rowid",
                (carrier.address,),
            ).fetchall()
        receipts = []
        for name, body, token in rows:
            with suppress(Refusal):
                receipts.append(self._sent(carrier, Upload(name, device_memory.blob(body)), token))
        return receipts

    def _sent(self, carrier: Carrier, upload: Upload, token: str | None) -> UploadReceipt:
        receipt = carrier.send(upload.id, upload.body, token)
        if not receipt.early:  # anything else is how it ends
            with self._memory.transaction() as file:
                file.execute("UPDATE sent SET over = 1 WHERE id = ? AND body = ?", (upload.id, upload.body))
                file.execute("DELETE FROM route WHERE body = ?", (upload.body,))
        return receipt


def _listed(task: Task, value: object) -> object:
    """An answer of a task that lists them, as its number: by its label or its number. Refused if it is none."""
    if not task.domain:
        return value
    if isinstance(value, str):
        if value not in task.domain:
            raise Refusal(
                f"this answer is not on the list of this survey: {shown(list(task.domain))}",
                hint="nothing was sent; give one of its labels, or the number of one",
            )
        return task.domain.index(value)
    return answer(value, len(task.domain))


def _owe(file: sqlite3.Connection, task: Task, allowed: Pure) -> None:
    """One more draw for a task, new or not, if no more is lost to it than may be."""
    if not device_memory.lost(file, task.id) + task.client.privacy <= allowed:
        raise Refusal(
            f"another draw would lose more than epsilon={allowed.epsilon}, which its first document asked for",
            hint="say with most= how much may be lost to it in all",
        )
