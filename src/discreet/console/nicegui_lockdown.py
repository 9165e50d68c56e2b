"""NiceGUI, locked down: no store, no uploads, no texts of exceptions, no socket that speaks for somebody else's page.

NiceGUI is one application for a whole process, so this module sets it up when it is imported. It is imported when the
first browser comes.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable
from importlib import import_module
from typing import Any
from urllib.parse import parse_qs

from jinja2 import DictLoader
from nicegui import Client, core
from nicegui import __version__ as nicegui_version
from nicegui.client import templates
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from discreet.console import promise, why
from discreet.console.headers import App, Scope
from discreet.console.pages import ICON, PLACES, Visit
from discreet.console.sessions import LINES, BrowserSession
from discreet.errors import Fault

_FOLDERS = ("static", "libraries", "components", "resources", "esm", "dynamic_resources")
_TABS = LINES  # pages of one person that are kept: as many as they have sockets for
_AWAY = 30.0  # seconds after which a page whose socket broke is forgotten


class NiceguiApp:
    """Application of NiceGUI, running: its files, its sockets, and the pages that are open."""

    def __init__(self) -> None:
        self.app: App = core.app
        self._running = contextlib.AsyncExitStack()

    async def open(self) -> NiceguiApp:
        """Start what NiceGUI does beside requests."""
        await self._running.enter_async_context(core.app.router.lifespan_context(core.app))
        return self

    async def close(self) -> None:
        """Stop it."""
        await self._running.aclose()

    def serves(self, path: str) -> bool:
        """Whether a file of NiceGUI's is one that pages need."""
        prefix = f"/_nicegui/{nicegui_version}/"
        return path.startswith(prefix) and path.removeprefix(prefix).partition("/")[0] in _FOLDERS

    def stranger(self, scope: Scope, session: BrowserSession) -> bool:
        """Whether a socket asks for a page of somebody else's. One that is gone is nobody's: NiceGUI says reload."""
        asked = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("client_id", [""])[0]
        client = Client.instances.get(asked)
        return client is not None and _session_of(client) is not session

    async def throw_out(self, session: BrowserSession, why: str) -> None:
        """Bring the open pages of a session back to the form."""
        for client in [each for each in Client.instances.values() if _session_of(each) is session]:
            await core.sio.emit("open", {"path": f"/sign-in?why={why}", "new_tab": False}, room=client.id)
            await _forget(client)

    async def make_room(self, session: BrowserSession) -> None:
        """Forget the oldest pages of somebody who has many, those that nobody looks at first."""
        name = session.visitor.name
        theirs = [each for each in Client.instances.values() if _session_of(each).visitor.name == name]
        theirs.sort(key=lambda client: (client.has_socket_connection, client.created))
        for client in theirs[: max(0, len(theirs) + 1 - _TABS)]:
            await _forget(client)


async def opened() -> NiceguiApp:
    """The stage, ready."""
    return await NiceguiApp().open()


async def _forget(client: Client) -> None:
    sockets = [socket for socket, _ in core.sio.manager.get_participants("/", client.id)]
    with contextlib.suppress(KeyError):
        client.delete()  # before its sockets go, or NiceGUI would delete it once more later
    for socket in sockets:
        await core.sio.disconnect(socket)


def _session_of(client: Client) -> BrowserSession:
    visit: Visit = client.request.scope["visit"]
    return visit.session


def _speaker(socket: str) -> Visit:
    visit: Visit = core.sio.get_environ(socket)["asgi.scope"]["visit"]
    return visit


def _own_page(socket: str, message: object) -> bool:
    """Whether a message speaks of a page that this socket's session opened, and the session lasts."""
    if not isinstance(message, dict):
        return False
    client, visit = Client.instances.get(str(message.get("client_id"))), _speaker(socket)
    if client is None or visit.session.over or _session_of(client) is not visit.session:
        return False
    visit.touch(visit.session)
    return True


def _guard(name: str) -> None:
    handle: Callable[[str, dict[str, Any]], Any] = core.sio.handlers["/"][name]

    def guarded(socket: str, message: dict[str, Any]) -> None:
        if _own_page(socket, message) and message["client_id"] in core.sio.rooms(socket):
            handle(socket, message)

    core.sio.on(name, guarded)


def _guard_handshake() -> None:
    handle: Callable[[str, dict[str, Any]], Any] = core.sio.handlers["/"]["handshake"]

    async def guarded(socket: str, message: dict[str, Any]) -> bool:
        others = set(core.sio.rooms(socket)) - {socket}  # a socket is of one page: else one would keep many alive
        return not others and _own_page(socket, message) and bool(await handle(socket, message))

    core.sio.on("handshake", guarded)


async def _keep_nothing(_: str, __: str | None = None) -> None:
    """Of a tab. NiceGUI would keep something for each name that a browser makes up, for a month."""


def _mute(_: str, __: object) -> None:
    """Browsers may not write into our log."""


async def _broken(_: Request, __: Exception) -> Response:
    """The door writes down which class of exception it was; nobody is told what it said."""
    return PlainTextResponse(Fault.SENTENCE, 500)


async def _missing(_: Request, __: Exception) -> Response:
    return PlainTextResponse("there is nothing of this kind here", 404)


def _silence(_: Exception) -> None:
    """What breaks at a page is written down by the call that broke, and shown by the page, in constant words."""


def _set_up() -> None:
    for name in ("nicegui", "socketio.server", "engineio.server"):  # they would print values
        logging.getLogger(name).disabled = True
    app = core.app
    app.config.add_run_config(
        reload=False,
        title="discreet",
        viewport="width=device-width, initial-scale=1",
        favicon=ICON,
        dark=None,
        language="en-US",
        binding_refresh_interval=None,
        reconnect_timeout=_AWAY,
        message_history_length=200,
        tailwind=False,
        unocss=None,
        prod_js=True,
        show_welcome_message=False,
        markdown=False,
    )
    app.config.socket_io_js_transports = ["websocket"]
    app.config.quasar_config["loadingBar"]["skipHijack"] = True
    core.sio.eio.transports = ["websocket"]
    for name in ("event", "javascript_response", "ack"):
        _guard(name)
    _guard_handshake()
    core.sio.on("log", _mute)
    app.storage._create_tab_storage = _keep_nothing  # type: ignore[assignment]  # noqa: SLF001
    app.add_exception_handler(Exception, _broken)
    app.add_exception_handler(404, _missing)
    app._exception_handlers[:] = [_silence]  # noqa: SLF001  # the first of them prints the exception
    source, _, _ = templates.env.loader.get_source(templates.env, "index.html")  # type: ignore[union-attr]
    marked = source.replace("<script", '<script nonce="{{ request.scope.nonce }}"')
    templates.env.loader = DictLoader({"index.html": marked})


_set_up()
for _place in PLACES:
    import_module(f"discreet.console{_place.path.replace('/', '.')}")
promise.register()
why.register()
