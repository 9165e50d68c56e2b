"""A signed head: a short text that pins down the whole ledger up to an entry. Whoever keeps one notices a rewrite."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from discreet import durable
from discreet.errors import Refusal
from discreet.exact import shown
from discreet.ledger import merkle
from discreet.ledger.entry_kinds import canonical

_MOST = 1 << 63  # entries: as many as a SQLite file can number


@dataclass(frozen=True)
class Head:
    """So many entries, with this Merkle root, at this time, said by the holder of this key."""

    size: int
    root: str
    time: str
    key: str
    signature: str

    @property
    def signed(self) -> bytes:
        """The bytes under the signature."""
        said = {"size": self.size, "root": self.root, "time": self.time, "key": self.key}
        return b"discreet-head\0" + canonical(said)  # type: ignore[arg-type]

    def genuine(self) -> bool:
        """Whether the signature is the key's."""
        return genuine(self.key, self.signature, self.signed)

    def text(self) -> str:
        """One line of JSON, to be kept by someone else."""
        return json.dumps(self.__dict__, sort_keys=True)


def read_head(text: str) -> Head:
    """The head that `text` wrote."""
    try:
        return head_of(strict_json(text))
    except ValueError:
        raise Refusal(
            f"this is not a ledger head: {shown(text)}", hint="keep the line that `discreet ledger head` prints"
        ) from None


def strict_json(text: str) -> object:
    """A JSON value in which no name stands twice: else two readers could see two different things."""
    try:
        return json.loads(text, object_pairs_hook=_once)
    except RecursionError:
        raise ValueError("too deep") from None


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    named = dict(pairs)
    if len(named) != len(pairs):
        raise ValueError("a name stands twice")
    return named


def head_of(body: object) -> Head:
    """The head in a JSON object: these five parts in their one spelling, nothing else; ValueError otherwise."""
    match body:
        case {
            "size": int(size),
            "root": str(root),
            "time": str(time),
            "key": str(key),
            "signature": str(signature),
            **rest,
        } if not rest and 0 <= size < _MOST:
            if is_hex(root, 32) and is_hex(key, 32) and is_hex(signature, 64):
                return Head(size, root, time, key, signature)
    raise ValueError("no head")


def now() -> str:
    """The time as entries and heads have it: UTC, to the second."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def is_hex(text: str, count: int) -> bool:
    """Whether a text is so many bytes in small hexadecimal digits."""
    return re.fullmatch(r"[0-9a-f]*", text) is not None and len(text) == 2 * count


def genuine(key: str, signature: str, signed: bytes) -> bool:
    """Whether a signature is a key's, both in hexadecimal digits."""
    if not is_hex(key, 32) or not is_hex(signature, 64):
        return False
    try:
        Ed25519PublicKey.from_public_bytes(bytes.fromhex(key)).verify(bytes.fromhex(signature), signed)
    except (InvalidSignature, ValueError):
        return False
    return True


def signing_key(path: Path) -> Ed25519PrivateKey:
    """The key in this file, which only its owner may read; made at the first use."""
    if not path.exists():
        _write_key(path, Ed25519PrivateKey.generate())
    try:
        return Ed25519PrivateKey.from_private_bytes(path.read_bytes())
    except ValueError:
        raise Refusal(f"{path.name} holds no key", hint="put the one back that the ledger was signed with") from None


def public_part(key: Ed25519PrivateKey) -> str:
    """What others know a key by, and what stands in its heads."""
    return key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw).hex()


def _write_key(path: Path, key: Ed25519PrivateKey) -> None:
    """Written aside and linked into place whole: of two processes that start at once, the first one's key stays."""
    durable.keep(path, key.private_bytes(Encoding.Raw, PrivateFormat.Raw, NoEncryption()))


def sign(hashes: Sequence[str], time: str, key: Ed25519PrivateKey) -> Head:
    """The head of a ledger with these entry hashes."""
    return sign_root(len(hashes), merkle.root([merkle.leaf(bytes.fromhex(value)) for value in hashes]), time, key)


def sign_root(size: int, root: bytes, time: str, key: Ed25519PrivateKey) -> Head:
    """The head of a ledger with so many entries and this root."""
    unsigned = Head(size, root.hex(), time, public_part(key), "")
    return replace(unsigned, signature=key.sign(unsigned.signed).hex())
