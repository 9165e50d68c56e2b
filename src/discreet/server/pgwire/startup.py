"""How a connection begins: TLS or not, who it is, and the proof of it. Nothing is answered before its end."""

from __future__ import annotations

import asyncio
import ssl
import struct
from dataclasses import dataclass

from discreet.addresses import is_loopback
from discreet.curator.custody import Scram
from discreet.desk import Desk, Visitor
from discreet.errors import Refusal
from discreet.server.errors import PROTOCOL, UNSUPPORTED, WireError, broken_frame
from discreet.server.fair_share import Pool
from discreet.server.limits import LoginAttempts
from discreet.server.pgwire import frames, scram
from discreet.server.pgwire.frames import PASSWORD_BYTES, VERSION, Reading
from discreet.server.pgwire.settings import Settings, started
from discreet.server.pgwire.wire import Wire


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
            found = CancelRequest(body.number("I"), body.number("I"))
            body.end()
            return found
        fields = _started(wire, code, body)
        if not wire.secure and not is_loopback(wire.address):
            raise WireError(
                "28000", "from elsewhere this door is reached by TLS only", hint="sslmode=require", fatal=True
            )
        name = fields.get("user", "")
        if not name:
            raise WireError("28000", "a connection names its user", fatal=True)
        if fields.get("replication", "false") not in ("false", "off", "no", "0"):
            raise WireError(UNSUPPORTED, "there is nothing to replicate", fatal=True)
        settings = started(name, fields)
        try:
            visitor = await self._proved(wire, name)
        except WireError:
            await asyncio.sleep(self.attempts.failed(wire.address))
            raise
        return Admitted(visitor, settings)

    async def _opening(self, wire: Wire) -> tuple[int, Reading]:
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
        made = scram.nobody(name, self.pepper)  # in any case, so that it takes the same time
        offered = scram.offered(wire.end_point)
        wire.send(frames.authentication(10, b"".join(each.encode() + b"\0" for each in offered) + b"\0"))
        first = Reading(await _password(wire))
        mechanism, size = first.string(), first.number("i")
        if mechanism not in offered or size < 0:
            raise WireError(PROTOCOL, f"{' or '.join(offered)} is the only way in", fatal=True)
        bound = wire.end_point if mechanism == scram.BOUND else None
        greeting = frames.text_of(first.take(size))
        asked = scram.challenge(known or made, greeting, end_point=bound, refused="y" if len(offered) > 1 else "")
        first.end()
        wire.send(frames.authentication(11, asked.text.encode()))
        proof = scram.signature(asked, frames.text_of(await _password(wire)))
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
        raise WireError(PROTOCOL, "a password is expected, and nothing else", fatal=True)
    return body


def _started(wire: Wire, code: int, body: Reading) -> dict[str, str]:
    """The fields of a connection's beginning."""
    major, minor = struct.unpack("!HH", struct.pack("!I", code))
    if major != VERSION >> 16:
        raise WireError(UNSUPPORTED, "this server speaks version 3 of the protocol", fatal=True)
    try:
        fields = frames.startup_fields(body)
    except WireError:
        raise broken_frame().as_fatal() from None
    unknown = [name for name in fields if name.startswith("_pq_.")]
    if minor or unknown:
        wire.send(frames.negotiate(unknown))
    return fields
