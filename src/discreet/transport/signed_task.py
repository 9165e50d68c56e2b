"""Signed task: what every kind of task shares that strangers' devices are given, and receipts for what they send."""

from __future__ import annotations

import hashlib
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, ClassVar, Self

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from discreet.errors import Refusal
from discreet.exact import count, shown
from discreet.ledger.entry_kinds import Plain, canonical
from discreet.ledger.signed_head import genuine, is_hex, public_part, strict_json

LONGEST = 1 << 18  # bytes of a document
MOST = 1 << 40  # of any number in one
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z")
# What is counted and not answered in numbers: uploads that were too long to be read, and reports of strangers.
OVERSIZE, UNINVITED = "oversize", "uninvited"


class SignedTask(ABC):
    """What is asked of devices, by the holder of a key, between two moments: a document that never changes.

    Whatever changes is a new version, with a digest of its own, and what is sent names the digest. `mark` stands before
    the document under its signature: each kind of task has its own, so that none passes for another.
    """

    mark: ClassVar[bytes]

    id: str
    version: int
    opens: str
    closes: str
    key: str
    signature: str

    @property
    @abstractmethod
    def body(self) -> dict[str, Plain]:
        """The document as JSON, in its one spelling."""

    @classmethod
    @abstractmethod
    def parsed(cls, body: Any) -> Self | None:  # noqa: ANN401  # any JSON
        """The task in a JSON value; None if it is of another kind or shape."""

    def _check_frame(self) -> None:
        """Refuse an id, a version or a time that is none."""
        if not is_hex(self.id, 16):
            raise Refusal(f"expected an id of 32 small hexadecimal digits, got {shown(self.id)}")
        numbered(self.version, "version", 1)
        if moment(self.opens) >= moment(self.closes):
            raise Refusal(f"expected opens < closes, got opens={self.opens} closes={self.closes}")

    @property
    def signed(self) -> bytes:
        """The bytes under the signature."""
        return signed_bytes(self.mark, self.body)

    @cached_property
    def document(self) -> bytes:
        """What is handed out, to the byte."""
        return canonical(self.body)

    @cached_property
    def digest(self) -> bytes:
        """SHA-256 of the document: 32 bytes that every upload begins with."""
        return hashlib.sha256(self.document).digest()

    def genuine(self) -> bool:
        """Whether the signature is the key's."""
        return genuine(self.key, self.signature, self.signed)

    def sign(self, key: Ed25519PrivateKey) -> Self:
        """The same, said by the holder of this key."""
        unsigned: Self = replace(self, key=public_part(key), signature="")  # type: ignore[type-var]  # a dataclass
        signed: Self = replace(unsigned, signature=key.sign(unsigned.signed).hex())  # type: ignore[type-var]
        return signed

    @classmethod
    def read(cls, document: bytes) -> Self:
        """The task in a document, if it is spelled as we do and signed by the key that it names."""
        task = None
        if len(document) <= LONGEST:
            try:
                task = cls.parsed(strict_json(document.decode()))
            except (ValueError, TypeError, AttributeError):
                task = None
        if task is None or task.document != document:
            raise Refusal(f"these {len(document)} bytes are not a task document")
        if not task.genuine():
            raise Refusal(
                f"the signature of task {task.id} is not its key's", hint="somebody changed the document: do not answer"
            )
        return task

    def early(self, now: datetime) -> bool:
        """Whether it is not open yet."""
        return now < moment(self.opens)

    def late(self, now: datetime) -> bool:
        """Whether it is over."""
        return now >= moment(self.closes)


class Uninvited(Refusal):
    """A task for people who were invited, and no token of theirs."""


class Unknown(Refusal):
    """A task that there is not, or that has no results yet."""


@dataclass(frozen=True)
class UploadReceipt:
    """What became of the reports of one upload. `malformed` counts an upload that cannot be read as one.

    `unlikely` are reports that honest dice never show: fewer than one in 2^39 of theirs.
    """

    accepted: int = 0
    replayed: int = 0
    early: int = 0
    late: int = 0
    malformed: int = 0
    wrong_task: int = 0
    over_limit: int = 0
    full: int = 0
    unlikely: int = 0

    @property
    def told(self) -> dict[str, int]:
        """As JSON."""
        return {part.name: getattr(self, part.name) for part in fields(self)}


KINDS = (*UploadReceipt().told, OVERSIZE, UNINVITED)


def signed_bytes(mark: bytes, body: Mapping[str, Plain]) -> bytes:
    """The bytes under the signature of a document: a mark for its kind, and all of it but the signature."""
    return mark + canonical({name: value for name, value in body.items() if name != "signature"})


def numbered(value: int, name: str, least: int) -> None:
    """Refuse a number of a document that is none, or too large for anything."""
    if count(value, name, least=least) > MOST:
        raise Refusal(f"expected {name} of at most 2^40, got {shown(value)}")


def moment(text: str) -> datetime:
    """The time that a text like 2027-01-31T12:00:00Z says."""
    if _TIME.fullmatch(text):
        try:
            return datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
        except ValueError:
            pass
    raise Refusal(f"expected a time as 2027-01-31T12:00:00Z, got {shown(text)}")


def written(time: datetime) -> str:
    """The text of a time, in whole seconds."""
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
