"""What all tasks share that are sent to strangers' devices: a signature, opening and closing times, receipts."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from datetime import UTC, datetime

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from discreet.errors import Refusal
from discreet.exact import shown
from discreet.ledger.head import is_hex

_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z")
# What is counted and not answered in numbers: uploads that were too long to be read, and reports of strangers.
OVERSIZE, UNINVITED = "oversize", "uninvited"


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


def genuine(key: str, signature: str, signed: bytes) -> bool:
    """Whether a signature is a key's, both in hexadecimal digits."""
    if not is_hex(key, 32) or not is_hex(signature, 64):
        return False
    try:
        Ed25519PublicKey.from_public_bytes(bytes.fromhex(key)).verify(bytes.fromhex(signature), signed)
    except (InvalidSignature, ValueError):
        return False
    return True


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
