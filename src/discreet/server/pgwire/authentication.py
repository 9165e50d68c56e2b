"""Authentication of a connection: TLS or not, who it is, and the proof of it. Nothing is answered before its end.

A password is checked by SCRAM-SHA-256 (RFC 5802, RFC 7677), and never seen; with TLS a client may bind itself to the
certificate that it was shown (-PLUS): then nobody who shows another one can pass its proof on. Somebody who is unknown
gets the same messages in the same time, from a verifier that no password fits. It is made from the name and a secret of
the home, so that asking twice, also after a restart, does not tell either. The package `scramp` would refuse every
client of Postgres: they leave the name in SCRAM empty.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import hmac
import re
import secrets
import ssl
import struct
from dataclasses import dataclass

from discreet.addresses import is_loopback
from discreet.curator.custody import ROUNDS, Scram
from discreet.desk import Desk, Visitor
from discreet.errors import Refusal
from discreet.exact import shown
from discreet.server.errors import PROTOCOL, UNSUPPORTED, WireError, broken_frame
from discreet.server.fair_share import Pool
from discreet.server.limits import LoginAttempts
from discreet.server.pgwire import frames
from discreet.server.pgwire.frames import PASSWORD_BYTES, VERSION, MessageReader
from discreet.server.pgwire.settings import Settings, started
from discreet.server.pgwire.wire import Wire

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
    """First message of the server in SCRAM, and what it must remember to check the proof."""

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
    read = _FIRST.fullmatch(first)
    if read is None or read[2] == refused or (len(read[2]) > 1) != (end_point is not None):
        raise _no_scram()
    binding = read[1].encode() + (end_point or b"")
    return Challenge(verifier, binding, read[3], read[4] + (nonce or secrets.token_urlsafe(18)))


def signature(asked: Challenge, final: str) -> str | None:
    """What proves the server to the client, if the client's proof is right; else None."""
    read = _FINAL.fullmatch(final)
    if read is None:
        raise _no_scram()
    try:
        proof, binding = base64.b64decode(read[4], validate=True), base64.b64decode(read[2], validate=True)
    except binascii.Error:
        raise _no_scram() from None
    if not hmac.compare_digest(binding, asked.binding) or len(proof) != 32:
        raise _no_scram()
    if not hmac.compare_digest(read[3].encode(), asked.nonce.encode()):
        raise _no_scram()
    said = f"{asked.bare},{asked.text},{read[1]}".encode()
    mask = hmac.digest(asked.verifier.stored_key, said, "sha256")
    key = bytes(one ^ other for one, other in zip(proof, mask, strict=True))
    if not hmac.compare_digest(hashlib.sha256(key).digest(), asked.verifier.stored_key):
        return None
    return "v=" + base64.b64encode(hmac.digest(asked.verifier.server_key, said, "sha256")).decode()


def _no_scram() -> WireError:
    return WireError(PROTOCOL, f"this is not {MECHANISM}", fatal=True)


@dataclass(frozen=True)
class Admitted:
    """Somebody who proved who they are, and the settings they came with."""

    visitor: Visitor
    settings: Settings


@dataclass(frozen=True)
class CancelRequest:
    """Somebody who wants a question to be cancelled, and what they know of its connection."""

    process: int
    secret: int


@dataclass(frozen=True)
class Entrance:
    """Lets people in."""

    desk: Desk
    logins: Pool
    attempts: LoginAttempts
    tls: ssl.SSLContext | None
    pepper: bytes

    async def admitted(self, wire: Wire) -> Admitted | CancelRequest:
        """Who came, once they have proved it."""
        code, body = await self._opening(wire)
        if code == frames.CANCEL:
            asked = CancelRequest(body.number("I"), body.number("I"))
            body.end()
            return asked
        fields = _started(wire, code, body)
        if not wire.secure and not is_loopback(wire.address):
            raise WireError(
                "28000", f"from {wire.address} this door is reached by TLS only", hint="sslmode=require", fatal=True
            )
        name = fields.get("user", "")
        if not name:
            raise WireError("28000", "a connection names its user", fatal=True)
        if fields.get("replication", "false") not in ("false", "off", "no", "0"):
            raise WireError(
                UNSUPPORTED, f"there is nothing to replicate, got {shown(fields['replication'])}", fatal=True
            )
        settings = started(name, fields)
        try:
            visitor = await self._proved(wire, name)
        except WireError:
            await asyncio.sleep(self.attempts.failed(wire.address))
            raise
        return Admitted(visitor, settings)

    async def _opening(self, wire: Wire) -> tuple[int, MessageReader]:
        """What comes after the requests for TLS and GSS, of which there is one each at most."""
        asked: set[int] = set()
        while True:
            body = await wire.opening()
            code = body.number("I")
            if code not in (frames.TLS, frames.GSS) or code in asked or wire.secure:
                return code, body
            body.end()
            asked.add(code)
            if code == frames.TLS and self.tls is not None:
                await wire.secured(self.tls)
            else:
                wire.send(b"N")
                await wire.flush()

    async def _proved(self, wire: Wire, name: str) -> Visitor:
        """Who comes, once their password was checked by SCRAM."""
        visitor, known = await self.logins.call(self._known, name)
        made = nobody(name, self.pepper)  # in any case, so that it takes the same time
        ways = offered(wire.end_point)
        wire.send(frames.authentication(10, b"".join(each.encode() + b"\0" for each in ways) + b"\0"))
        first = MessageReader(await _password(wire))
        mechanism, size = first.string(), first.number("i")
        if mechanism not in ways or size < 0:
            raise WireError(PROTOCOL, f"{' or '.join(ways)} is the only way in", fatal=True)
        bound = wire.end_point if mechanism == BOUND else None
        greeting = frames.text_of(first.take(size))
        asked = challenge(known or made, greeting, end_point=bound, refused="y" if len(ways) > 1 else "")
        first.end()
        wire.send(frames.authentication(11, asked.text.encode()))
        proof = signature(asked, frames.text_of(await _password(wire)))
        if proof is None or visitor is None or known is None:
            raise WireError(
                "28P01",
                "password authentication failed",
                hint="the password is the token that discreet user add printed",
                fatal=True,
            )
        wire.send(frames.authentication(12, proof.encode()) + frames.authentication(0))
        return visitor

    def _known(self, name: str) -> tuple[Visitor | None, Scram | None]:
        """Somebody, then what their password is checked against: a newer token is no way to an older grant."""
        try:
            visitor = self.desk.visitor(name)
        except Refusal:
            visitor = None
        return visitor, self.desk.scram(name)


async def _password(wire: Wire) -> bytes:
    await wire.flush()
    kind, body = await wire.message(PASSWORD_BYTES)
    if kind != b"p":
        raise WireError(PROTOCOL, f"a password is expected, and not a message of the kind {kind!r}", fatal=True)
    return body


def _started(wire: Wire, code: int, body: MessageReader) -> dict[str, str]:
    """The fields of a connection's beginning."""
    major, minor = struct.unpack("!HH", struct.pack("!I", code))
    if major != VERSION >> 16:
        raise WireError(UNSUPPORTED, f"this server speaks version 3 of the protocol, not {major}.{minor}", fatal=True)
    try:
        fields = frames.startup_fields(body)
    except WireError:
        raise broken_frame().as_fatal() from None
    unknown = [name for name in fields if name.startswith("_pq_.")]
    if minor or unknown:
        wire.send(frames.negotiate(unknown))
    return fields
