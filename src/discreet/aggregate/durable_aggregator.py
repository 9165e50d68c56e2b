"""Aggregator that may be killed at any moment: what it took is on the disk, and sums are read once all are there.

An upload is 4 bytes of the epoch, 4 of the person's place, the message, and a tag of 32 bytes, which nobody but that
person and the aggregator can make: HMAC-SHA256 with a key of the two, which belongs to the task.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from discreet import durable
from discreet.aggregate.cancelling_keys import public_key
from discreet.aggregate.curve_group import LENGTH, read_point
from discreet.aggregate.small_logarithms import Logarithms
from discreet.aggregate.stream_sum import StreamSum, opened
from discreet.aggregate.sum_task import SumTask
from discreet.errors import Refusal

_MARK = b"discreet-sum-upload\0"
_HEAD, _TAG = 8, 32


def uploaded(task: SumTask, own: X25519PrivateKey, epoch: int, message: bytes) -> bytes:
    """What a person sends to the aggregator: the message of an epoch, and a tag."""
    place = task.people.index(public_key(own).hex()) - 1
    body = epoch.to_bytes(4, "big") + place.to_bytes(4, "big") + message
    return body + hmac.digest(_key(task, own, task.people[0]), body, "sha256")


@dataclass(frozen=True)
class Station:
    """Aggregator of a task in which everybody is needed: its key, and a folder for what was sent and read."""

    task: SumTask
    key: X25519PrivateKey = field(repr=False)
    folder: Path

    def __post_init__(self) -> None:
        if not isinstance(self.task.sum, StreamSum) or self.task.people[0] != public_key(self.key).hex():
            raise Refusal("expected a task in which everybody is needed, and the key of its aggregator")

    def take(self, upload: bytes) -> None:
        """Keep an upload. The same bytes may come again; others of that person in that epoch are refused."""
        if len(upload) != _HEAD + LENGTH + _TAG:
            raise Refusal(f"these {len(upload)} bytes are no upload")
        body, tag = upload[:-_TAG], upload[-_TAG:]
        epoch, place = int.from_bytes(body[:4], "big"), int.from_bytes(body[4:_HEAD], "big")
        if not (epoch < self.task.epochs and place < self._people):
            raise Refusal(f"there is no epoch {epoch} or no person {place} in this task")
        key = _key(self.task, self.key, self.task.people[place + 1])
        if not hmac.compare_digest(tag, hmac.digest(key, body, "sha256")):
            raise Refusal(f"the tag of this upload is not that of person {place}")
        read_point(body[_HEAD:])
        path = self._epoch(epoch) / str(place)
        durable.make_folder(path.parent)
        durable.keep(path, body[_HEAD:])
        if path.read_bytes() != body[_HEAD:]:
            raise Refusal(f"person {place} sent something else for epoch {epoch} before")

    def missing(self, epoch: int) -> tuple[int, ...]:
        """Whose messages of an epoch are not there yet."""
        return tuple(place for place in range(self._people) if not (self._epoch(epoch) / str(place)).exists())

    def total(self, epoch: int) -> Fraction:
        """The sum of an epoch, with its noise, once everybody's message is there."""
        path = self._epoch(epoch) / "total"
        if not path.exists():
            gone = self.missing(epoch)
            if gone:
                raise Refusal(f"epoch {epoch} misses {len(gone)} of {self._people} messages", hint="wait for them")
            sent = [(self._epoch(epoch) / str(place)).read_bytes() for place in range(self._people)]
            found = opened(self._sum, epoch, self._exponent, sent, self._table)
            durable.keep(path, str(found).encode())
        return Fraction(path.read_text())

    @property
    def _people(self) -> int:
        return len(self.task.people) - 1

    @property
    def _sum(self) -> StreamSum:
        found = self.task.sum
        assert isinstance(found, StreamSum)  # noqa: S101  # a station of another kind is refused
        return found

    @cached_property
    def _exponent(self) -> int:
        return self.task.exponent(self.key)

    @cached_property
    def _table(self) -> Logarithms:
        return self._sum.table(self.folder)

    def _epoch(self, epoch: int) -> Path:
        return self.folder / f"epoch-{epoch}"


def _key(task: SumTask, own: X25519PrivateKey, other: str) -> bytes:
    try:
        secret = own.exchange(X25519PublicKey.from_public_bytes(bytes.fromhex(other)))
    except ValueError:
        raise Refusal(f"{other} is no public key") from None
    return HKDF(algorithm=SHA256(), length=32, salt=None, info=_MARK + task.digest).derive(secret)
