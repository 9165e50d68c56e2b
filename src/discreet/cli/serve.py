"""`discreet serve`: both doors in front of one curator, until somebody says stop."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import json
import signal
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Protocol

import typer

from discreet.cli.options import HOME, AtHome, new_app, option
from discreet.errors import DiscreetError, Refusal

if TYPE_CHECKING:
    import ssl

    from discreet.desk import Desk
    from discreet.sandbox import Processes
    from discreet.server.http.asgi_app import Door
    from discreet.server.http.proxy import Proxies
    from discreet.server.journal import Journal

app = new_app()
_Wire = list[tuple[str, int]]  # host and port of the Postgres door, once it is open

_OFF = "off"
_HEADS = 60.0  # seconds between two heads that are printed
_FILES = 8_192  # that may be open: connections of both doors, and more
# what is loaded before a process takes the first question
_COMPUTING = (
    "discreet.curator.sandboxed_planner",
    "discreet.server.pg_catalog",
    "discreet.server.pgwire.parameter_types",
)
_COMPUTED = 3.0  # seconds that computing above the noise may still take when the doors close; else it is ended
_CALM = "no new questions; answers under way are finished"


class Open(Protocol):
    """A door that is open: where, and how to close it so that nobody inside is cut off."""

    @property
    def address(self) -> tuple[str, int]:
        """Host and port."""
        ...

    async def drain(self) -> None:
        """Let nobody in, finish what was begun, and close."""
        ...


@dataclass(frozen=True)
class Address:
    """Where a door is."""

    host: str
    port: int

    @property
    def local(self) -> bool:
        """Whether only this machine reaches it."""
        from discreet.addresses import is_loopback

        return is_loopback(self.host)


@dataclass(frozen=True)
class TlsFiles:
    """Certificate and key in two files, and the TLS context that is made of them."""

    context: ssl.SSLContext
    cert: Path
    key: Path

    def load(self) -> None:
        """Read the files. Connections that are open keep the certificate that they began with."""
        import ssl

        try:
            self.context.load_cert_chain(self.cert, self.key)
        except ssl.SSLError:
            raise Refusal(f"{self.cert} and {self.key} are not a certificate and its key", hint="both in PEM") from None


@dataclass(frozen=True)
class Shared:
    """What both doors have in common."""

    certificate: TlsFiles | None
    rate: float
    proxies: Proxies
    journal: Journal

    @property
    def context(self) -> ssl.SSLContext | None:
        """For TLS, if there is a certificate."""
        return None if self.certificate is None else self.certificate.context

    def reload(self) -> None:
        """Read the certificate anew, if there is one. What cannot be read changes nothing."""
        if self.certificate is None:
            typer.echo("there is no certificate to be read anew", err=True)
            return
        try:
            self.certificate.load()
        except (Refusal, OSError) as broken:
            why = broken.message if isinstance(broken, Refusal) else broken.strerror
            typer.echo(f"the certificate stays as it was: {why}", err=True)
        else:
            typer.echo("the certificate was read anew", err=True)


@app.command()
def serve(  # noqa: PLR0913  # the two doors and what they share
    *,
    http: Annotated[str, option("HOST:PORT", "Of the HTTP door, or off.")] = "127.0.0.1:8410",
    pg: Annotated[str, option("HOST:PORT", "Where the Postgres door is, or off.")] = "127.0.0.1:5439",
    tls_cert: Annotated[Path | None, option("FILE", "The certificate chain.")] = None,
    tls_key: Annotated[Path | None, option("FILE", "Its private key.")] = None,
    rate: Annotated[float, option("N", "HTTP requests of one person a second.")] = 20.0,
    trusted_proxy: Annotated[
        list[str] | None, option("ADDRESS", "Of a proxy that says who asks. May be repeated.")
    ] = None,
    home: AtHome = HOME,
) -> None:
    """Open the doors and say how to come in.

    SIGTERM and Ctrl+C close them when the last answer is out; SIGHUP reads the certificate anew.
    """
    doors = {name: _address(text, name) for name, text in (("http", http), ("pg", pg)) if text != _OFF}
    if not doors:
        raise Refusal("both doors are off", hint="leave one of them open")
    _installed()
    from discreet.server.http.proxy import Proxies

    proxies = Proxies.read(trusted_proxy or ())
    tls = _tls(tls_cert, tls_key)
    for name, address in doors.items():
        if tls is None and not address.local:
            raise Refusal(
                f"--{name} {address.host} can be reached by others, who would see tokens in the clear",
                hint="give --tls-cert and --tls-key, or listen on 127.0.0.1",
            )
    from discreet.desk import Desk
    from discreet.sandbox import Processes
    from discreet.server.journal import Journal

    _many_files()
    shared = Shared(tls, rate, proxies, Journal())
    sandbox = Processes(_COMPUTING)
    try:
        desk = Desk(home, sandbox)  # first: what is wrong with a home is said before anything is begun
        sandbox.open()
        asyncio.run(_run(desk, sandbox, doors, shared))
    finally:
        sandbox.close()


def _installed() -> None:
    for name in ("fastapi", "nicegui", "prometheus_client", "uvicorn"):  # found, not loaded: that takes its time
        if importlib.util.find_spec(name) is None:
            raise Refusal(f"the doors need {name}", hint="pip install 'discreet[server]'")


def _address(text: str, name: str) -> Address:
    host, colon, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not colon or not host or not port.isascii() or not port.isdigit() or int(port) > 65_535:
        raise Refusal(f"expected --{name} as HOST:PORT, got {text!r}", hint="as in 127.0.0.1:8410, or off")
    return Address(host, int(port))


def _tls(cert: Path | None, key: Path | None) -> TlsFiles | None:

    from discreet.server.tls import ServerContext

    if cert is None and key is None:
        return None
    if cert is None or key is None:
        raise Refusal(
            f"a certificate comes with its key, got {cert or key} alone", hint="give both --tls-cert and --tls-key"
        )
    files = TlsFiles(ServerContext(), cert, key)
    files.load()
    return files


def _many_files() -> None:
    """Let this process have as many connections as it may: where others need them all, nobody else comes in."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < _FILES:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(_FILES, hard) if hard > 0 else _FILES, hard))


async def _run(desk: Desk, sandbox: Processes, doors: dict[str, Address], shared: Shared) -> None:
    loop, stop, hurry = asyncio.get_running_loop(), asyncio.Event(), asyncio.Event()
    secure = shared.certificate is not None

    def heard() -> None:
        (hurry if stop.is_set() else stop).set()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, heard)
    loop.add_signal_handler(signal.SIGHUP, shared.reload)
    loop.set_exception_handler(_noted)
    opened: list[Open] = []
    wire: _Wire = []
    try:
        for name, address in doors.items():
            door = await _opened(name, address, _OPENERS[name](desk, address, shared, wire))
            opened.append(door)
            if name == "pg":
                wire.append((address.host, door.address[1]))
            typer.echo(_greeting(name, address.host, door.address[1], secure=secure))
        typer.echo("stop with Ctrl+C")
        if "http" in doors:
            url = _url(doors["http"].host, opened[0].address[1], secure=secure)
            typer.echo(f"open {url} in a browser, and sign in with your token")
        await _told(desk, stop)
        typer.echo(_CALM, err=True)
        loop.call_later(_COMPUTED, sandbox.close)
    finally:
        await _first(asyncio.gather(*(door.drain() for door in opened)), hurry.wait())


async def _told(desk: Desk, stop: asyncio.Event) -> None:
    """Print a signed head of the ledger whenever it went on, until the end: whoever keeps what is printed has it too.

    A head that cannot be had is no reason to stop: the next one will tell.
    """
    from discreet.desk import HOME as OURSELVES

    last = ""
    while True:
        with contextlib.suppress(DiscreetError):
            head = await asyncio.to_thread(desk.head, OURSELVES)
            if head.root != last:
                typer.echo(f"head {head.text()}")
                last = head.root
        if stop.is_set():
            return
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), _HEADS)


def _noted(_: asyncio.AbstractEventLoop, context: dict[str, object]) -> None:
    """That something broke between two requests. Its text could hold anything, so only its class is told."""
    typer.echo(json.dumps({"door": "loop", "broken": type(context.get("exception")).__name__}), err=True)


async def _opened(name: str, address: Address, door: Awaitable[Open]) -> Open:
    try:
        return await door
    except OSError as broken:
        raise Refusal(
            f"--{name} {address.host}:{address.port} cannot be listened on: {broken.strerror}",
            hint=f"choose another port with --{name}",
        ) from None


async def _first(one: Awaitable[object], other: Awaitable[object]) -> None:
    """Wait for whichever ends first: a second signal does not wait for whoever does not read their answer."""
    tasks = [asyncio.ensure_future(one), asyncio.ensure_future(other)]
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in tasks:
        task.cancel()
    if tasks[0].done():
        tasks[0].result()


async def _http(desk: Desk, address: Address, shared: Shared, wire: _Wire) -> Open:
    from discreet.cli.http_door_for_console import Console
    from discreet.server.http import serve as open_door
    from discreet.server.limits import HttpLimits

    def annex(door: Door) -> Console:
        return Console(door, lambda: wire[0] if wire else None)

    limits, beside = HttpLimits(rate=shared.rate), shared.journal.metrics
    where = desk, address.host, address.port, shared.context
    return await open_door(*where, limits=limits, annex=annex, proxies=shared.proxies, beside=beside)


async def _pg(desk: Desk, address: Address, shared: Shared, _: _Wire) -> Open:
    from discreet.server.pg_catalog import PostgresCatalogue
    from discreet.server.pgwire import serve as open_door

    return await open_door(
        desk, PostgresCatalogue(desk), address.host, address.port, shared.context, journal=shared.journal
    )


_OPENERS: dict[str, Callable[[Desk, Address, Shared, _Wire], Awaitable[Open]]] = {"http": _http, "pg": _pg}


def _url(host: str, port: int, *, secure: bool) -> str:
    return f"{'https' if secure else 'http'}://{f'[{host}]' if ':' in host else host}:{port}"


def _greeting(name: str, host: str, port: int, *, secure: bool) -> str:
    """How to come in."""
    if name == "pg":
        mode = "require" if secure else "disable"
        return (
            f"Postgres at {host}:{port}; the password is the token\n"
            f'  psql "host={host} port={port} dbname=discreet user=NAME sslmode={mode}"'
        )
    url = _url(host, port, secure=secure)
    return (
        f"HTTP at {url}\n"
        f'  curl -H "Authorization: Bearer $DISCREET_TOKEN" {url}/api/v1/tables\n'
        f"  python -c 'import discreet; print(discreet.connect(\"{url}\").tables())'"
    )
