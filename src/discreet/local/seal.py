"""Signatures, and how one key hands over to the next: what an old key signed stays signed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from discreet.errors import Refusal
from discreet.ledger.entry import Plain, canonical
from discreet.ledger.head import is_hex, public_part, strict_json

FORMAT = "discreet-key-1"


def genuine(key: str, signature: str, signed: bytes) -> bool:
    """Whether a signature is a key's, both in hexadecimal digits."""
    if not is_hex(key, 32) or not is_hex(signature, 64):
        return False
    try:
        Ed25519PublicKey.from_public_bytes(bytes.fromhex(key)).verify(bytes.fromhex(signature), signed)
    except (InvalidSignature, ValueError):
        return False
    return True


@dataclass(frozen=True)
class Handover:
    """The holder of the key `old` says that `new` signs from now on."""

    old: str
    new: str
    signature: str

    @property
    def signed(self) -> bytes:
        """The bytes under the signature."""
        return b"discreet-key\0" + canonical({"format": FORMAT, "old": self.old, "new": self.new})

    @property
    def body(self) -> dict[str, Plain]:
        """As JSON."""
        return {"format": FORMAT, "old": self.old, "new": self.new, "signature": self.signature}

    def genuine(self) -> bool:
        """Whether the old key said so."""
        return genuine(self.old, self.signature, self.signed)


def handed_over(old: Ed25519PrivateKey, new: Ed25519PrivateKey) -> Handover:
    """From one key to the next."""
    unsigned = Handover(public_part(old), public_part(new), "")
    return Handover(unsigned.old, unsigned.new, old.sign(unsigned.signed).hex())


def read_handover(text: str) -> Handover:
    """The handover in a JSON text, if its old key signed it."""
    try:
        match strict_json(text):
            case {"format": str(form), "old": str(old), "new": str(new), "signature": str(said), **rest} if not rest:
                found = Handover(old, new, said)
                if form == FORMAT and found.genuine() and is_hex(new, 32):
                    return found
    except ValueError:
        pass
    raise Refusal("this is not a handover from one key to the next")


def follows(trusted: str, key: str, handovers: Iterable[Handover]) -> bool:
    """Whether a key is the trusted one, or got its place from it, one signed handover after another."""
    reached = {trusted}
    for each in handovers:
        if each.old in reached and each.genuine():
            reached.add(each.new)
    return key in reached


def related(key: str, handovers: Iterable[Handover]) -> frozenset[str]:
    """All keys that genuine handovers tie to a key, forwards and backwards, and itself."""
    ties = [{each.old, each.new} for each in handovers if each.genuine()]
    found, before = {key}, 0
    while len(found) > before:
        before = len(found)
        found = found.union(*(tie for tie in ties if tie & found))
    return frozenset(found)
