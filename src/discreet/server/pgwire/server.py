"""Server of Postgres clients: who may connect, how many at once, and how the door closes."""

from __future__ import annotations

import asyncio
import hmac
import secrets
import socket
import ssl
from collections import Counter

from discreet.addresses import is_loopback, network
from discreet.desk import Desk, Visitor
from discreet.errors import Refusal
from discreet.server.errors import WireError, wire_error
from discreet.server.fair_share import CUSTODIAN, Pace, Pool, Steps
from discreet.server.journal import Journal
from discreet.server.limits import LoginAttempts, WireLimits
from discreet.server.pgwire import frames
from discreet.server.pgwire.authentication import Admitted, CancelRequest, Entrance
from discreet.server.pgwire.execution import Execution
from discreet.server.pgwire.question_to_desk import CatalogueSource, Questions
from discreet.server.pgwire.session import WireSession, closing
from discreet.server.pgwire.session_state import Portals
from discreet.server.pgwire.wire import Hangup, Wire

_LAST_WORDS = 5.0  # seconds


class PostgresServer:
    """A door for Postgres clients that is open."""

    def __init__(
        self, desk: Desk, catalogue: CatalogueSource, tls: ssl.SSLContext | None, limits: WireLimits, journal: Journal
    ) -> None:
        self._desk, self._catalogue, self._limits, self._journal = desk, catalogue, limits, journal
        self._threads = Pool(limits.threads, limits.each, kept=limits.kept)
        self._logins = Pool(2)  # threads of their own: who asks and who comes in do not wait for each other
        self._entrance = Entrance(desk, self._logins, LoginAttempts(), tls, desk.pepper())
        self._sessions: dict[int, tuple[int, WireSession]] = {}  # process -> secret, session
        self._people: Counter[str] = Counter()  # connections of each
        self._networks: Counter[str] = Counter()
        self._connections: set[asyncio.Task[None]] = set()
        self._coming: dict[asyncio.Task[None], str] = {}  # those of them that are not let in yet, and from where
        self._dropped: set[asyncio.Task[None]] = set()  # those that made room for others
        self._pace = Pace()
        self._listener: asyncio.Server | None = None
        self._closing = False

    async def listen(self, host: str, port: int) -> None:
        """Open the door."""
        self._listener = await asyncio.start_server(self._connected, host, port, backlog=512)

    @property
    def address(self) -> tuple[str, int]:
        """Host and port."""
        sockets = self._listener.sockets if self._listener is not None else ()
        if not sockets:
            raise Refusal("this door is closed")
        address = sockets[0].getsockname()
        return str(address[0]), int(address[1])

    # connections -----------------------------------------------------------------------------------------------------

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve a connection. Whatever happens in it stays in it."""
        task = _own_task()
        self._connections.add(task)
        wire = Wire(reader, writer, self._limits)
        try:
            await self._served(wire)
        except Hangup:
            pass
        except (WireError, Refusal) as told:
            wire.send(frames.error_response(wire_error(told).as_fatal()))
        except asyncio.CancelledError:
            wire.send(frames.error_response(_crowded() if task in self._dropped else closing()))
        except Exception as broken:  # noqa: BLE001  # its text could hold anything
            self._journal.broken(broken)
            wire.send(frames.error_response(wire_error(broken).as_fatal()))
        finally:
            self._connections.discard(task)
            self._dropped.discard(task)
            await wire.close()

    async def _served(self, wire: Wire) -> None:
        try:
            admitted = await self._admitted(wire)
            if isinstance(admitted, CancelRequest):
                self._cancel(admitted)
                return
            visitor, place = admitted.visitor, network(wire.address)
            self._refuse_crowd(visitor, place)
        except (WireError, Refusal) as told:
            self._journal.refused(wire_error(told))
            raise
        self._people[visitor.name] += 1
        self._networks[place] += 1
        self._journal.came(visitor.name)
        try:
            await self._visited(wire, admitted)
        finally:
            self._journal.left(visitor.name)
            for count, key in ((self._people, visitor.name), (self._networks, place)):
                count[key] -= 1
                if not count[key]:
                    del count[key]

    async def _visited(self, wire: Wire, admitted: Admitted) -> None:
        """Answer somebody who was let in."""
        who = admitted.visitor
        portals = Portals(self._limits, lambda: self._held(who.name))
        questions = Questions(self._desk, self._catalogue, who)
        execution = Execution(questions, self._threads, portals, admitted.settings, self._journal)
        session = WireSession(wire, execution, Steps(self._pace, who.name))
        process, secret = self._number(), secrets.randbits(32)
        self._sessions[process] = secret, session
        session.leaving = self._closing
        try:
            await session.serve(process, secret)
        finally:
            del self._sessions[process]
            portals.clear()  # the last error may still know the session

    def _held(self, name: str) -> int:
        """Bytes of rows and statements that one person has here."""
        return sum(session.held for _, session in self._sessions.values() if session.visitor == name)

    def _refuse_crowd(self, visitor: Visitor, place: str) -> None:
        """Refuse who has too many connections, or would take one of those that are kept for custodians."""
        limits, many = self._limits, len(self._sessions)
        room = limits.connections if visitor.role == CUSTODIAN else limits.connections - limits.custodians
        own = self._people[visitor.name] >= limits.each_person
        here = self._networks[place] >= limits.each_address and visitor.role != CUSTODIAN
        if many >= room or own or here:
            raise _crowded()

    async def _admitted(self, wire: Wire) -> Admitted | CancelRequest:
        """Who came, if they prove it in time. Where too many have not yet, the oldest of them makes room."""
        who, task = network(wire.address), _own_task()
        self._coming[task] = who
        self._pace.coming += 1
        self._make_room(who)
        try:
            async with asyncio.timeout(self._limits.startup_seconds):
                return await self._entrance.admitted(wire)
        except TimeoutError:
            within = self._limits.startup_seconds
            raise WireError("08006", f"coming in took more than {within:g} seconds", fatal=True) from None
        finally:
            self._pace.coming -= 1
            self._coming.pop(task, None)

    def _make_room(self, who: str) -> None:
        """Drop a stranger who has been there longest: somebody who is let in proves it within a few messages."""
        many = Counter(self._coming.values())
        if many[who] <= self._limits.strangers:
            if len(self._coming) <= self._limits.all_strangers:
                return
            who = many.most_common(1)[0][0]
        oldest = next(task for task, place in self._coming.items() if place == who)
        del self._coming[oldest]
        self._dropped.add(oldest)
        oldest.cancel()

    def _number(self) -> int:
        """A process number that nobody has."""
        while (number := secrets.randbits(31)) in self._sessions or not number:
            pass
        return number

    def _cancel(self, asked: CancelRequest) -> None:
        secret, session = self._sessions.get(asked.process, (None, None))
        if secret is None or session is None:
            return
        if hmac.compare_digest(secret.to_bytes(4, "big"), asked.secret.to_bytes(4, "big")):
            session.cancel()

    # closing ---------------------------------------------------------------------------------------------------------

    async def drain(self) -> None:
        """Let nobody in, finish what was begun, and close."""
        self._closing = True
        if self._listener is not None:
            self._listener.close()
        for _, session in list(self._sessions.values()):
            session.leave()
        for task in list(self._coming):
            task.cancel()
        await self._gone(self._limits.drain_seconds)
        for task in self._connections:
            task.cancel()
        await self._gone(_LAST_WORDS)
        await asyncio.to_thread(self._threads.close)
        await asyncio.to_thread(self._logins.close)

    async def _gone(self, seconds: float) -> None:
        """Wait so long for every connection to end."""
        if self._connections:
            await asyncio.wait(self._connections, timeout=seconds)

    async def close(self) -> None:
        """The same: a door never slams."""
        await self.drain()


def _own_task() -> asyncio.Task[None]:
    task = asyncio.current_task()
    if task is None:  # nobody but a task calls this
        raise AssertionError
    return task


def _crowded() -> WireError:
    return WireError("53300", "too many connections", hint="close some, or try again later", fatal=True)


async def serve(  # noqa: PLR0913  # what is behind the door, where it is, what it bears
    desk: Desk,
    catalogue: CatalogueSource,
    host: str,
    port: int,
    tls: ssl.SSLContext | None = None,
    *,
    limits: WireLimits | None = None,
    journal: Journal | None = None,
) -> PostgresServer:
    """Open a door for Postgres clients. In the clear it opens on this machine's own addresses only."""
    if tls is None:
        addresses = await asyncio.get_running_loop().getaddrinfo(host or None, port, type=socket.SOCK_STREAM)
        if not host or not all(is_loopback(str(address[0])) for *_, address in addresses):
            raise Refusal(
                f"{host!r} can be reached by others, who would see questions and answers in the clear",
                hint="give a certificate, or listen on 127.0.0.1",
            )
    server = PostgresServer(desk, catalogue, tls, limits or WireLimits(), journal or Journal())
    await server.listen(host, port)
    return server
