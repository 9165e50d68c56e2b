"""A signed head: a short text that pins down the whole ledger up to an entry. Whoever keeps one notices a rewrite."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from discreet.errors import Refusal
from discreet.ledger import merkle
from discreet.ledger.entry import canonical


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
        try:
            Ed25519PublicKey.from_public_bytes(bytes.fromhex(self.key)).verify(
                bytes.fromhex(self.signature), self.signed
            )
        except (InvalidSignature, ValueError):
            return False
        return True

    def text(self) -> str:
        """One line of JSON, to be kept by someone else."""
        return json.dumps(self.__dict__, sort_keys=True)


def read_head(text: str) -> Head:
    """The head that `text` wrote."""
    try:
        parsed = json.loads(text)
        return Head(int(parsed["size"]), parsed["root"], parsed["time"], parsed["key"], parsed["signature"])
    except (ValueError, KeyError, TypeError):
        raise Refusal("this is not a ledger head", hint="keep the line that `discreet ledger head` prints") from None


def signing_key(path: Path) -> Ed25519PrivateKey:
    """The key in this file, which only its owner may read; made at the first use."""
    if not path.exists():
        _write_key(path, Ed25519PrivateKey.generate())
    return Ed25519PrivateKey.from_private_bytes(path.read_bytes())


def _write_key(path: Path, key: Ed25519PrivateKey) -> None:
    """Written aside and linked into place whole: of two processes that start at once, the first one's key stays."""
    aside = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    with os.fdopen(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(key.private_bytes(Encoding.Raw, PrivateFormat.Raw, NoEncryption()))
        file.flush()
        os.fsync(file.fileno())
    with suppress(FileExistsError):
        os.link(aside, path)
    aside.unlink()


def sign(hashes: Sequence[str], time: str, key: Ed25519PrivateKey) -> Head:
    """The head of a ledger with these entry hashes."""
    root = merkle.root([merkle.leaf(bytes.fromhex(value)) for value in hashes]).hex()
    public = key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw).hex()
    unsigned = Head(len(hashes), root, time, public, "")
    return Head(len(hashes), root, time, public, key.sign(unsigned.signed).hex())
