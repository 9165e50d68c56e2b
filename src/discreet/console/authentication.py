"""Signing in and out: who has a session goes on to the pages, everybody else to the form.

Nothing of NiceGUI is reached without a session: no page, no file, no socket.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import time
from collections.abc import Coroutine
from functools import partial
from html import escape
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, quote

from fastapi import FastAPI
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Match, Route, WebSocketRoute

from discreet.console import downloads, headers, promise, sessions, why
from discreet.console.headers import Message, Receive, Scope, Send
from discreet.console.pages import ICON, PLACES, Host, Visit, in_force, known, static_address, static_files, static_text
from discreet.console.sessions import BrowserSession, BrowserSessions, Sockets
from discreet.console.upload import LIMIT, UPLOAD, UploadRefused, Uploads
from discreet.desk import HOME, Desk
from discreet.errors import DiscreetError, Refusal

if TYPE_CHECKING:
    from discreet.console.nicegui_lockdown import NiceguiApp

_SWEEP = 20.0  # seconds between two looks for sessions that have lasted too long
_FRESH = 60.0  # seconds for which strangers are told the same, so that they cannot keep the desk busy
_KEPT = {"cache-control": "private, max-age=31536000, immutable"}  # their addresses change with them
_SAID = {  # what a page may ask to be said: constants, so that no link puts words into our mouth
    "ended": "You were away for a while, so you were signed out. Sign in again to go on.",
    "left": "You are signed out.",
    "revoked": "Your token does not let you in any more. A custodian can give you another.",
}
_WORDS = '<p id="said" class="d-said{kind}" role="{role}">{text}</p>'
_OURS = ("type", "asgi", "http_version", "server", "client", "scheme", "method", "root_path", "path", "raw_path")


class Gate:
    """An ASGI application for the console's paths."""

    def __init__(self, desk: Desk, host: Host, uploads: Uploads, sockets: Sockets) -> None:
        self._desk, self._host, self._uploads, self._sockets = desk, host, uploads, sockets
        self._sessions, self._seal = BrowserSessions(), sessions.CookieSeal()
        self._loading: asyncio.Task[NiceguiApp] | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._told: tuple[float, list[promise.Limit]] = (0.0, [])  # until when, and what strangers read
        self._closing = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request, or one socket."""
        if scope["type"] == "websocket":
            await self._socket(scope, receive, send)
            return
        path = scope["path"]
        if path.startswith("/_nicegui/"):
            await self._file(scope, receive, send)
        elif path in _PAGES and scope["method"] == "GET":
            await self._page(scope, receive, send)
        else:
            brought = path == UPLOAD and scope["method"] == "POST"
            response = await (self._brought if brought else self._plain)(scope, receive)
            await response(scope, receive, headers.with_headers(send, _headers_of(response)))

    async def close(self) -> None:
        """Let nobody in any more, and end what was open."""
        self._closing = True
        self._uploads.close()
        for task in self._tasks:
            task.cancel()
        if self._loading is not None:
            with contextlib.suppress(ImportError):  # then no page was ever drawn
                await (await self._loading).close()

    # pages -----------------------------------------------------------------------------------------------------------

    async def _page(self, scope: Scope, receive: Receive, send: Send) -> None:
        session = self._session(scope)
        if session is None:
            if scope["path"] in {promise.PATH, why.PATH}:
                await self._open(scope, receive, send)
            else:
                await _to(f"/sign-in?next={quote(_asked_for(scope))}")(scope, receive, send)
            return
        try:
            self._host.paced(session.visitor)
        except Refusal as refusal:
            await PlainTextResponse(str(refusal), 429)(scope, receive, send)
            return
        nonce = headers.new_nonce()
        inner = self._inner(scope, session)
        inner["nonce"] = nonce
        stage = await self._stage()
        await stage.make_room(session)
        await stage.app(inner, receive, headers.with_headers(send, headers.headers(headers.drawn(nonce))))

    async def _open(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The pages that everybody may read: what is promised to the people whose data it is, and why."""
        if scope["path"] == why.PATH:
            await _read(why.page(sessions.theme_of(scope)))(scope, receive, send)
            return
        if time.monotonic() >= self._told[0]:
            try:
                accounts = await self._host.call(HOME, scope["path"], lambda: self._desk.accounts(HOME), question=False)
                self._told = time.monotonic() + _FRESH, promise.widest(accounts)
            except Refusal:
                pass  # too much is going on: what was told before is told again
        await _read(promise.page(sessions.theme_of(scope), self._told[1]))(scope, receive, send)

    async def _file(self, scope: Scope, receive: Receive, send: Send) -> None:
        session, told = self._session(scope), {"status": 0}
        if session is None:
            await PlainTextResponse("sign in first", 401)(scope, receive, send)
            return
        stage = await self._stage()
        if scope["method"] != "GET" or not stage.serves(scope["path"]):
            await PlainTextResponse("there is nothing of this kind here", 404)(scope, receive, send)
            return

        async def sent(message: Message) -> None:
            told["status"] = message.get("status", told["status"])
            await (kept if told["status"] == 200 else send)(message)

        kept = headers.with_headers(send, _KEPT)
        await stage.app(self._inner(scope, session), receive, sent)

    async def _socket(self, scope: Scope, receive: Receive, send: Send) -> None:
        session = self._session(scope)
        if session is None or self._closing or not headers.from_here(scope):
            await _refused(receive, send)
            return
        with self._sockets.taken(session.visitor) as room:
            stage = await self._stage()
            if not room or stage.stranger(scope, session):
                await _refused(receive, send)
                return
            inner = self._inner(scope, session)
            await stage.app(inner, inner["visit"].heard(receive, self._sockets), send)

    # signing in and out ----------------------------------------------------------------------------------------------

    async def _plain(self, scope: Scope, receive: Receive) -> Response:  # noqa: PLR0911  # one a path
        match scope["method"], scope["path"]:
            case "GET", "/":
                return _to(PLACES[0].path)
            case "GET", "/sign-in":
                return self._asked(scope)
            case "GET", "/session":
                return Response(status_code=401 if self._session(scope) is None else 204)
            case "GET", path if path.startswith("/console/"):
                return _own(path.removeprefix("/console/"))
            case "GET", path if path.startswith(("/made-up/", "/published/")):
                return await self._taken(scope)
            case "POST", "/sign-in" | "/sign-out":
                return await self._sent(scope, receive)
        return PlainTextResponse("there is nothing of this kind here", 405)

    async def _taken(self, scope: Scope) -> Response:
        session, path = self._session(scope), scope["path"]
        if session is None:
            return PlainTextResponse("sign in first", 401)
        visitor = session.visitor
        try:
            made_up = path.startswith("/made-up/")
            response = downloads.sample_response if made_up else downloads.release_response
            named = downloads.SAMPLE_PATH if made_up else downloads.RELEASE_PATH
            return await self._host.call(visitor, named, partial(response, self._desk, visitor, path), question=False)
        except Refusal as refusal:
            return PlainTextResponse(str(refusal), 404)

    async def _brought(self, scope: Scope, receive: Receive) -> Response:
        """A file of a custodian's. Who may not bring one is told before a byte of it is read."""
        session = self._session(scope)
        if session is None or not headers.from_here(scope):
            status = 401 if session is None else 403
            return JSONResponse({"said": "this file was not sent from a page that you opened here"}, status)
        visitor, status = session.visitor, 429
        self._host.named(scope, visitor)
        try:
            self._host.paced(visitor)
            status = 403
            await self._host.call(visitor, UPLOAD, partial(self._desk.custody, visitor), question=False)
            taken = await self._uploads.take(session, scope, receive)
        except Refusal as refusal:
            return JSONResponse(
                {"said": str(refusal)}, refusal.status if isinstance(refusal, UploadRefused) else status
            )
        return JSONResponse({"id": taken.id})

    def _asked(self, scope: Scope) -> Response:
        """The form. While somebody looks for their token, we load what draws pages."""
        self._prepare()
        asked = parse_qs(scope.get("query_string", b"").decode("latin-1"))
        said = _SAID.get(asked.get("why", [""])[0], "")
        return _form(scope, said=said, after=asked.get("next", [""])[0])

    async def _sent(self, scope: Scope, receive: Receive) -> Response:
        if not headers.from_here(scope):
            return PlainTextResponse("this form was not sent from a page of this server", 403)
        if scope["path"] == "/sign-out":
            return await self._sign_out(scope)
        return await self._sign_in(scope, await _body(receive))

    async def _sign_in(self, scope: Scope, body: bytes) -> Response:
        """A new session, with a new id. Whatever the browser had before ends."""
        form = parse_qs(body.decode("utf-8", "replace"), max_num_fields=8)
        token, after = form.get("token", [""])[0].strip(), form.get("next", [""])[0]
        address = scope["client"][0] if scope.get("client") else ""
        try:
            visitor = await self._host.admitted(token, address)
        except Refusal as refusal:
            return _form(scope, said=str(refusal), wrong=True, after=after)
        before = self._session(scope)
        if before is not None:
            await self._end(before, "left")
        session, crowded = self._sessions.begin(visitor)
        for each in crowded:
            await self._end(each, "ended")
        response = _to(known(after))
        response.headers.append("set-cookie", self._seal.written(scope, session.id))
        return response

    async def _sign_out(self, scope: Scope) -> Response:
        session = self._session(scope)
        if session is not None:
            await self._end(session, "left")
        response = _to("/sign-in?why=left")
        response.headers.append("set-cookie", self._seal.cleared(scope))
        return response

    def _session(self, scope: Scope) -> BrowserSession | None:
        number = self._seal.read(scope)
        return self._sessions.find(number) if number else None

    async def _end(self, session: BrowserSession, why: str) -> None:
        self._sessions.end(session)
        self._uploads.end(session)
        if self._loading is not None and self._loading.done():
            await (await self._loading).throw_out(session, why)

    # what is behind --------------------------------------------------------------------------------------------------

    def _inner(self, scope: Scope, session: BrowserSession) -> Scope:
        """The same request without traces of our own application, in the name of whoever is signed in."""

        def end(why: str) -> None:
            self._keep(self._end(session, why))

        visit = Visit(
            self._desk, session.visitor, self._host, session, scope["path"], end, self._sessions.touch, self._uploads
        )
        headers = [(name, value) for name, value in scope["headers"] if not name.startswith(b"x-forwarded")]
        kept = {name: scope[name] for name in _OURS if name in scope}
        return kept | {"query_string": scope.get("query_string", b""), "headers": headers, "visit": visit}

    def _prepare(self) -> None:
        """Load what draws pages, once."""
        if self._loading is None and not self._closing:
            self._loading = asyncio.create_task(_loaded())
            self._keep(self._swept())

    async def _stage(self) -> NiceguiApp:
        self._prepare()
        if self._loading is None:
            raise Refusal("this door is closing; nothing was charged")
        return await asyncio.shield(self._loading)

    async def sweep(self) -> None:
        """End what has lasted too long, and what nobody is let in by any more."""
        for session in self._sessions.swept():
            await self._end(session, "ended")
        known = self._sessions.all()
        with contextlib.suppress(DiscreetError):  # a ledger that cannot be read: then nobody gets anything anyway
            for session in await asyncio.to_thread(_revoked, self._desk, known):
                await self._end(session, "revoked")

    async def _swept(self) -> None:
        while True:
            await asyncio.sleep(_SWEEP)
            await self.sweep()

    def _keep(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


_PAGES = frozenset(place.path for place in PLACES)


def _read(text: str) -> headers.App:
    """A page to read: with our own files, and nothing written into it."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        response = Response(text, media_type="text/html")
        await response(scope, receive, headers.with_headers(send, headers.headers(headers.READ)))

    return answer


def _revoked(desk: Desk, sessions: list[BrowserSession]) -> list[BrowserSession]:
    good = {visitor for visitor in {session.visitor for session in sessions} if in_force(desk, visitor)}
    return [session for session in sessions if session.visitor not in good]


async def _loaded() -> NiceguiApp:
    module = await asyncio.to_thread(importlib.import_module, "discreet.console.nicegui_lockdown")
    stage: NiceguiApp = await module.opened()
    return stage


def mount(app: FastAPI, desk: Desk, host: Host, *, upload: int = LIMIT, sockets: int = 512) -> Gate:
    """Put the console's paths beside those of an application. They are not in its schema.

    Whoever mounts it lets bodies of POST to UPLOAD through unread; files of more than `upload` bytes are not taken,
    nor more than so many sockets.
    """
    gate = Gate(desk, host, Uploads(desk.home, most=upload), Sockets(sockets))
    plain = ("/", "/sign-in", "/sign-out", "/session", "/console/{name}", "/_nicegui/{file:path}", UPLOAD)
    for path in (*plain, downloads.SAMPLE_PATH, downloads.RELEASE_PATH, *sorted(_PAGES)):
        app.router.routes.append(_Named(path, gate))
    app.router.routes.append(WebSocketRoute("/_nicegui_ws/socket.io/", gate))
    return gate


class _Named(Route):
    """A route that says which one it was, for the journal."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Whether a path is this one. To a program the root is nothing, as it ever was."""
        if self.path == "/" and "text/html" not in headers.header(scope, b"accept"):
            return Match.NONE, {}
        return super().matches(scope)

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve it."""
        scope["route"] = self
        await super().handle(scope, receive, send)


def _form(scope: Scope, *, said: str = "", wrong: bool = False, after: str = "") -> Response:
    """The form to sign in, with a sentence above it, and no script at all."""
    words = _WORDS.format(kind=" d-wrong" if wrong else "", role="alert" if wrong else "status", text=escape(said))
    text = static_text("sign-in.html").format(
        theme=sessions.theme_of(scope),
        icon=ICON,
        style=static_address("console.css"),
        said=words if said else "",
        after=escape(known(after), quote=True),
        described='aria-describedby="said"' if said else "",
    )
    return Response(text, 401 if wrong else 200, media_type="text/html")


def _own(name: str) -> Response:
    if name not in static_files():
        return PlainTextResponse("there is nothing of this kind here", 404)
    content, kind = static_files()[name]
    return Response(content, headers=_KEPT, media_type=kind)


def _headers_of(response: Response) -> dict[str, str]:
    common = headers.headers(headers.PLAIN)
    return common | _KEPT if response.headers.get("cache-control") == _KEPT["cache-control"] else common


def _asked_for(scope: Scope) -> str:
    query = scope.get("query_string", b"").decode("latin-1")
    return f"{scope['path']}?{query}" if query else str(scope["path"])


def _to(path: str) -> Response:
    return RedirectResponse(path, 303)


async def _body(receive: Receive) -> bytes:
    """All of it: the door has read it already, within its limits."""
    parts = bytearray()
    while True:
        message = await receive()
        parts += message.get("body", b"")
        if not message.get("more_body", False):
            return bytes(parts)


async def _refused(receive: Receive, send: Send) -> None:
    with contextlib.suppress(OSError):
        await receive()
        await send({"type": "websocket.close", "code": 1008})
