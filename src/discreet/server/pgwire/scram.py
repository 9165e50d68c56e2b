"""SCRAM-SHA-256 from the server's side (RFC 5802, RFC 7677): a password is checked, and never seen.

With TLS a client may bind itself to the certificate that it was shown (SCRAM-SHA-256-PLUS): then nobody who shows
another one can pass its proof on.

Somebody who is not known gets the same messages in the same time, from a verifier that no password fits. It is made
from the name and a secret of the home, so that asking twice, also after a restart, does not tell either.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass

from discreet.curator.custody import ROUNDS, Scram
from discreet.server.errors import PROTOCOL, WireError

MECHANISM, BOUND = "SCRAM-SHA-256", "SCRAM-SHA-256-PLUS"
_FIRST = re.compile(
    r"((n|y|p=tls-server-end-point),(?:a=)?,)(n=[^,]*,r=([\x21-\x2b\x2d-\x7e]{8,256}))(?:,[a-z]=[^,]*)*"
)
_FINAL = re.compile(r"(c=([A-Za-z0-9+/=]+),r=([\x21-\x2b\x2d-\x7e]+)),p=([A-Za-z0-9+/=]+)")


def nobody(name: str, pepper: bytes) -> Scram:
    """A verifier for somebody who is not known. Nobody knows a password that fits."""
    made = hmac.digest(pepper, b"salt " + name.encode("utf-8", "replace"), "sha256")
    return Scram(made[:16], ROUNDS, hmac.digest(pepper, b"key " + made, "sha256"), bytes(32))


@dataclass(frozen=True)
class Challenge:
    """What the server said first, and what it must remember to check the proof."""

    verifier: Scram
    binding: bytes  # what the client must say of the channel: how it began, and the certificate that it saw
    bare: str
    nonce: str

    @property
    def text(self) -> str:
        """What is sent: the nonces of both, the salt and the rounds."""
        salt = base64.b64encode(self.verifier.salt).decode()
        return f"r={self.nonce},s={salt},i={self.verifier.rounds}"


def offered(end_point: bytes | None) -> tuple[str, ...]:
    """The ways in: bound to the certificate first, where it is known."""
    return (MECHANISM,) if end_point is None else (BOUND, MECHANISM)


def challenge(
    verifier: Scram, first: str, nonce: str | None = None, *, end_point: bytes | None = None, refused: str = ""
) -> Challenge:
    """The answer to a client's first message. The nonce is fresh, unless an example of the RFC is followed.

    With `end_point` the client must bind itself to it, without it must not. A client that says `y`, that it would if
    only it were offered, is refused where it is: somebody between the two has taken the offer away.
    """
    found = _FIRST.fullmatch(first)
    if found is None or found[2] == refused or (len(found[2]) > 1) != (end_point is not None):
        raise _malformed()
    binding = found[1].encode() + (end_point or b"")
    return Challenge(verifier, binding, found[3], found[4] + (nonce or secrets.token_urlsafe(18)))


def signature(asked: Challenge, final: str) -> str | None:
    """What proves the server to the client, if the client's proof is right; else None."""
    found = _FINAL.fullmatch(final)
    if found is None:
        raise _malformed()
    try:
        proof, binding = base64.b64decode(found[4], validate=True), base64.b64decode(found[2], validate=True)
    except binascii.Error:
        raise _malformed() from None
    if not hmac.compare_digest(binding, asked.binding) or len(proof) != 32:
        raise _malformed()
    if not hmac.compare_digest(found[3].encode(), asked.nonce.encode()):
        raise _malformed()
    said = f"{asked.bare},{asked.text},{found[1]}".encode()
    mask = hmac.digest(asked.verifier.stored_key, said, "sha256")
    key = bytes(one ^ other for one, other in zip(proof, mask, strict=True))
    if not hmac.compare_digest(hashlib.sha256(key).digest(), asked.verifier.stored_key):
        return None
    return "v=" + base64.b64encode(hmac.digest(asked.verifier.server_key, said, "sha256")).decode()


def _malformed() -> WireError:
    return WireError(PROTOCOL, f"this is not {MECHANISM}", fatal=True)
