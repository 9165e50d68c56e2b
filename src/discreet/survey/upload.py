"""Upload: a mark, the digest of the task, how many reports, and for each a random id and the report.

    b"DSR1" | digest of the task document, 32 bytes | count, 4 bytes, little end first | count × (id, 16 bytes | report)

All reports of a task have one width, so many are read as one array.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Refusal
from discreet.local.client import Reporter, Reports
from discreet.noise import SECURE, Entropy
from discreet.survey.task import Task

MARK = b"DSR1"
ID = 16  # bytes
HEAD = len(MARK) + 32 + 4
LARGEST = 1 << 20  # bytes of an upload

Ids = NDArray[np.bytes_]  # 16 bytes each: numpy pads texts with zeros, so no two of one width are taken for one
IDS = np.dtype(f"S{ID}")


@dataclass(frozen=True, eq=False)
class Batch:
    """Reports that an honest run of the task's client sends, each with its id, and how many there were beside them.

    `malformed` are of no run; `unlikely` of one so rare that nobody sends them by accident.
    """

    ids: Ids
    reports: Reports
    malformed: int
    unlikely: int = 0


def fresh_ids(count: int, *, rng: Entropy = SECURE) -> Ids:
    """So many new ids: 128 random bits each."""
    return np.frombuffer(rng.raw(ID * count), dtype=IDS)


def packed(task: Task, ids: Ids, reports: Reports | object) -> bytes:
    """An upload. Sent again to the byte it counts once."""
    known = task.client.arranged(reports)
    if len(known) != len(ids):
        raise Refusal(f"expected an id for each of the {len(known)} reports, got {len(ids)}")
    records = np.empty(len(known), dtype=_record(task.client))
    records["id"], records["report"] = ids, known
    sent = MARK + task.digest + len(known).to_bytes(4, "little") + records.tobytes()
    if len(sent) > LARGEST:
        raise Refusal(f"an upload has at most {LARGEST} bytes, got {len(sent)}", hint=f"send {most(task)} at a time")
    return sent


def most(task: Task) -> int:
    """How many reports of a task fit into one upload."""
    return (LARGEST - HEAD) // _record(task.client).itemsize


def addressed(body: bytes) -> tuple[bytes, int] | None:
    """The digest that an upload names and how many reports it says it has; None if it is no upload."""
    if len(body) < HEAD or not body.startswith(MARK):
        return None
    return body[4:36], int.from_bytes(body[36:HEAD], "little")


def unpacked(task: Task, body: bytes) -> Batch | None:
    """The reports of an upload that names this task; None if its length is not what it says."""
    said, record = addressed(body), _record(task.client)
    if said is None or not said[1] or len(body) != HEAD + said[1] * record.itemsize:
        return None
    records = np.frombuffer(body, dtype=record, offset=HEAD)
    reports: Any = np.ascontiguousarray(records["report"])
    ids, strange = np.ascontiguousarray(records["id"]), task.client.strange(reports)
    if strange.any():
        ids, reports = ids[~strange], reports[~strange]
    unlikely = task.client.unlikely(reports)
    if unlikely.any():
        ids, reports = ids[~unlikely], reports[~unlikely]
    return Batch(ids, reports, int(strange.sum()), int(unlikely.sum()))


def _record(client: Reporter) -> np.dtype[Any]:
    return np.dtype([("id", IDS), ("report", client.form)])
