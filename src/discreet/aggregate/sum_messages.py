"""Messages of a masked sum as they travel: what is sent in each of the five steps, signed by whoever sends it.

    b"DSM1" | digest of the task document, 32 bytes | epoch, 4 | step, 1 | place, 4 | signature, 64 | content, in JSON

All is signed but the signature, so that nobody sends in another's name. In JSON places are texts, as its keys have to
be, and bytes and numbers of 64 bits are texts of base64.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from discreet.aggregate.masked_round import Hello, Shares, Upload
from discreet.aggregate.shamir import PRIME, WIDTH
from discreet.errors import Refusal
from discreet.ledger.entry_kinds import Plain, canonical
from discreet.ledger.signed_head import genuine, is_hex, public_part, strict_json

MARK, _SIGNED, _JOIN = b"DSM1", b"discreet-sum-message\0", b"discreet-sum-join\0"
HEAD = len(MARK) + 32 + 4 + 1 + 4
_SIGNATURE = 64
STEPS = ("hello", "boxes", "upload", "agreement", "shares")
HELLO, BOXES, UPLOAD, AGREEMENT, SHARES = range(len(STEPS))
Json = Any


class Misshapen(Refusal):
    """Bytes that are no message of a step; what came instead is not said."""

    def __init__(self) -> None:
        super().__init__("these bytes are no message of a sum", hint="nothing was kept")


@dataclass(frozen=True)
class Message:
    """What one person says in one step of one epoch of the task that has this digest."""

    digest: bytes
    epoch: int
    step: int
    place: int
    content: bytes
    signature: bytes = b""

    @property
    def head(self) -> bytes:
        """Which step of which epoch of what, and by whom."""
        numbers = self.epoch.to_bytes(4, "big"), self.step.to_bytes(1, "big"), self.place.to_bytes(4, "big")
        return MARK + self.digest + b"".join(numbers)

    def signed(self, key: Ed25519PrivateKey) -> bytes:
        """The bytes that are sent."""
        return self.head + key.sign(_SIGNED + self.head + self.content) + self.content

    def genuine(self, key: str) -> bool:
        """Whether the holder of this key sent it."""
        return genuine(key, self.signature.hex(), _SIGNED + self.head + self.content)


def joining(name: str, key: Ed25519PrivateKey) -> dict[str, str]:
    """What a device sends to join a sum: its public key, and a signature that it holds the key."""
    own = public_part(key)
    return {"key": own, "signature": key.sign(_JOIN + name.encode() + own.encode()).hex()}


def joins(name: str, key: str, signature: str) -> bool:
    """Whether the holder of a key wants to join a sum."""
    return genuine(key, signature, _JOIN + name.encode() + key.encode())


def read_message(body: bytes) -> Message:
    """The message in these bytes."""
    if len(body) < HEAD + _SIGNATURE or not body.startswith(MARK):
        raise Misshapen
    epoch, step, place = (int.from_bytes(body[a:b], "big") for a, b in ((36, 40), (40, 41), (41, 45)))
    if step >= len(STEPS):
        raise Misshapen
    return Message(body[4:36], epoch, step, place, body[HEAD + _SIGNATURE :], body[HEAD : HEAD + _SIGNATURE])


def written(said: Hello | Mapping[int, bytes] | Upload | str | Shares) -> bytes:
    """What is said in a step, in JSON."""
    match said:
        case Hello():
            return canonical({"masks": said.masks, "boxes": said.boxes, "signature": said.signature})
        case Upload():
            words = np.array(said.numbers, dtype=np.uint64).astype(">u8").tobytes()
            return canonical({"numbers": _text(words), "signature": said.signature})
        case str():
            return canonical({"signature": said})
        case Shares():
            told: dict[str, Plain] = {"seeds": _shares(said.seeds), "secrets": _shares(said.secrets)}
            return canonical(told)
        case _:
            return canonical({str(place): _text(box) for place, box in sorted(said.items())})


def hello_in(content: Json) -> Hello:
    """The first step."""
    match content:
        case {"masks": str(masks), "boxes": str(boxes), "signature": str(signature)} if len(content) == 3:
            if is_hex(masks, 32) and is_hex(boxes, 32) and is_hex(signature, 64):
                return Hello(masks, boxes, signature)
    raise Misshapen


def boxes_in(content: Json) -> dict[int, bytes]:
    """The second: boxes by whom they are for, or by whom they are from."""
    if not isinstance(content, dict):
        raise Misshapen
    return {_place(place): _bytes(box) for place, box in content.items()}


def upload_in(content: Json) -> Upload:
    """The third."""
    match content:
        case {"numbers": str(text), "signature": str(signature)} if len(content) == 2 and is_hex(signature, 64):
            raw = _bytes(text)
            if len(raw) % 8 == 0:
                return Upload(tuple(np.frombuffer(raw, dtype=">u8").tolist()), signature)
    raise Misshapen


def agreement_in(content: Json) -> str:
    """The fourth."""
    match content:
        case {"signature": str(signature)} if len(content) == 1 and is_hex(signature, 64):
            return signature
    raise Misshapen


def shares_in(content: Json) -> Shares:
    """The last."""
    match content:
        case {"seeds": dict(seeds), "secrets": dict(secrets)} if len(content) == 2:
            return Shares(_shares_in(seeds), _shares_in(secrets))
    raise Misshapen


def signatures_in(content: Json) -> dict[int, str]:
    """Signatures by whose they are."""
    if not isinstance(content, dict) or not all(isinstance(one, str) and is_hex(one, 64) for one in content.values()):
        raise Misshapen
    return {_place(place): one for place, one in content.items()}


def hellos_in(content: Json) -> dict[int, Hello]:
    """First steps by whose they are."""
    if not isinstance(content, dict):
        raise Misshapen
    return {_place(place): hello_in(one) for place, one in content.items()}


def json_in(content: bytes) -> Json:
    """The JSON value in these bytes."""
    try:
        return strict_json(content.decode())
    except (ValueError, RecursionError):
        raise Misshapen from None


def by_place(contents: Mapping[int, Json]) -> dict[str, Json]:
    """The same under texts, as JSON has it."""
    return {str(place): one for place, one in sorted(contents.items())}


def _shares(shares: Mapping[int, int]) -> dict[str, Plain]:
    return {str(place): _text(share.to_bytes(WIDTH, "big")) for place, share in sorted(shares.items())}


def _shares_in(content: Mapping[str, Json]) -> dict[int, int]:
    shares = {_place(place): int.from_bytes(_bytes(share), "big") for place, share in content.items()}
    if any(share >= PRIME for share in shares.values()):
        raise Misshapen
    return shares


def _place(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 9 and str(int(text)) == text):
        raise Misshapen
    return int(text)


def _text(content: bytes) -> str:
    return base64.b64encode(content).decode()


def _bytes(text: Json) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError, TypeError):
        raise Misshapen from None
