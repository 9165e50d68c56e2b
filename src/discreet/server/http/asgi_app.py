"""Door of HTTP: one ASGI application around one desk.

Door     headers, journal, metrics, and the last word when something fails
body     read whole, within limits, unless an annex streams it
FastAPI  paths, schemas, who is let in
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from discreet import __version__
from discreet.desk import Desk
from discreet.errors import DiscreetError
from discreet.server.errors import ErrorResponse, HttpError, closing, error_response, malformed, missing
from discreet.server.fair_share import Pool
from discreet.server.http.json_values import Texts
from discreet.server.http.mechanism_sessions import sessions
from discreet.server.http.proxy import Proxies
from discreet.server.http.releases import releases
from discreet.server.http.request_body import READ, Gone, Message, Receive, Scope, Send, misshapen, whole
from discreet.server.http.routes import QUERY, Admission, api, ask, open_to_all
from discreet.server.http.streams import streams
from discreet.server.http.sums import MESSAGES, STEPPED, SumIntake, sums
from discreet.server.http.sums import streamed as said_in_sum
from discreet.server.http.survey_pages import missing_page, policy, survey_pages
from discreet.server.http.surveys import UPLOAD, SurveyIntake, streamed, surveys
from discreet.server.journal import Log, Metrics, RequestNote, duration_of, line_of, method_of, to_stderr
from discreet.server.limits import HttpLimits

_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
NOBODY = Proxies()
_KEPT = 2  # threads that no analyst takes: for custodians, and for whoever comes in
_MISSING = 404
_FOR_PROGRAMS = ("/api/", "/survey/v1/", "/sum/v1/")
_UNWRITTEN = (UPLOAD, MESSAGES, STEPPED)
_SECURE = {"Strict-Transport-Security": "max-age=31536000"}


def _encoded(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.lower().encode("ascii"), value.encode("latin-1")) for name, value in headers.items()]


_PLAIN, _SECURED = _encoded(_HEADERS), _encoded(_HEADERS | _SECURE)


class Door:
    """An ASGI application that lets people ask one desk."""

    def __init__(
        self,
        desk: Desk,
        limits: HttpLimits | None = None,
        log: Log = to_stderr,
        proxies: Proxies = NOBODY,
        beside: Callable[[], bytes] = bytes,
    ) -> None:
        self.desk, self.proxies = desk, proxies
        self.limits = limits or HttpLimits()
        self.pool = Pool(self.limits.workers, self.limits.each, kept=_KEPT, waiting=self.limits.waiting)
        self.admission = Admission(desk, self.pool, self.limits)
        self.metrics = Metrics(beside)
        self.texts = Texts()
        self.surveys = SurveyIntake(desk.home, self.limits)
        self.sums = SumIntake(desk.home)
        self.closing = False
        self.streams: frozenset[str] = frozenset()  # paths of an annex that reads bodies itself, within its own limits
        self._log = log
        self.app = _inside(self)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if self.proxies.networks:
            self.proxies.resolved(scope)
        if scope["type"] != "http":
            await self.app(scope, receive, send)  # sockets: an annex lets them in or does not
            return
        told, started, sending = RequestNote(method_of(scope["method"])), time.monotonic(), _Sending(scope, send)
        scope["told"] = told
        try:
            await self._served(scope, receive, sending)
        except Gone:
            sending.status = 499  # as proxies write it: the other side left before it had asked
        except Exception as broken:  # noqa: BLE001  # whatever it says is not for anyone's eyes
            told.broken = None if isinstance(broken, (HttpError, DiscreetError)) else _kind(broken)
            if not sending.begun:
                await sending.failure(error_response(broken))
        finally:
            told.path, told.status = getattr(scope.get("route"), "path", told.path), sending.status
            told.duration = duration_of(time.monotonic() - started)
            self.note(told)

    def note(self, told: RequestNote) -> None:
        """Count a request, and write it down; that somebody answered a survey or a sum, and when, is not."""
        self.metrics.count(told)
        if told.path not in _UNWRITTEN:
            self._log(line_of(told))

    async def _served(self, scope: Scope, receive: Receive, sending: _Sending) -> None:
        if self.closing:
            raise closing()
        path = scope["path"]
        aside = scope["method"] == "POST" and (path in self.streams or streamed(path) or said_in_sum(path))
        if aside:
            scope[READ] = True  # as far as it matters to who waits
        else:
            receive = await whole(scope, receive, self.limits)
        if scope["method"] == "POST" and scope["path"] == QUERY:
            await self._asked(scope, receive, sending)
        else:
            await self.app(scope, receive, sending)

    async def _asked(self, scope: Scope, receive: Receive, sending: _Sending) -> None:
        """A question, which most requests are. Finding its path among all takes longer than an answer that is known."""
        scope["app"] = self.app
        scope["told"].path = QUERY
        response = await ask(Request(scope, receive))
        await response(scope, receive, sending)

    async def close(self) -> None:
        """Let nobody in any more, and wait until the last answer is computed."""
        self.closing = True
        await asyncio.to_thread(self.pool.close)


class _Sending:
    """Sends a response with the headers that every one has, and remembers its status."""

    def __init__(self, scope: Scope, send: Send) -> None:
        self._send = send
        self._common = _SECURED if scope.get("scheme") == "https" else _PLAIN
        self.status, self.begun = 500, False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status, self.begun = message["status"], True
            said = list(message.get("headers", ()))
            names = {name.lower() for name, _ in said}  # a page has a policy of its own
            message = {**message, "headers": [*said, *(each for each in self._common if each[0] not in names)]}
        await self._send(message)

    async def failure(self, failure: ErrorResponse) -> None:
        response = _response(failure)
        start = {"type": "http.response.start", "status": response.status_code, "headers": response.raw_headers}
        await self(start)
        await self({"type": "http.response.body", "body": response.body})


def _kind(broken: Exception) -> str:
    return f"{type(broken).__module__}.{type(broken).__qualname__}"


def _browses(request: Request) -> bool:
    """Whether a person came with a browser to what is no path for programs: they get a page, not JSON."""
    wants = request.method == "GET" and "text/html" in request.headers.get("accept", "")
    return wants and not request.url.path.startswith(_FOR_PROGRAMS)


def _nothing_here() -> Response:
    return Response(missing_page(), _MISSING, {"Content-Security-Policy": policy(scripted=False)}, "text/html")


def _response(failure: ErrorResponse) -> Response:
    return Response(failure.body, failure.status, dict(failure.headers), "application/json")


def _inside(door: Door) -> FastAPI:
    app = FastAPI(
        title="discreet",
        version=__version__,
        description="Ask a statistical database in SQL. Every answer has a price, and the same question again is free.",
        docs_url=None,  # it would load scripts from elsewhere
        redoc_url=None,
        openapi_url="/api/v1/openapi.json",
        redirect_slashes=False,
    )
    app.state.door = door
    app.include_router(api)
    app.include_router(releases)
    app.include_router(sessions)
    app.include_router(streams)
    app.include_router(surveys)
    app.include_router(survey_pages)
    app.include_router(sums)
    app.include_router(open_to_all)
    app.add_exception_handler(DiscreetError, _said)
    app.add_exception_handler(HttpError, _said)
    app.add_exception_handler(RequestValidationError, _misshapen)
    app.add_exception_handler(HTTPException, _elsewhere)
    app.add_exception_handler(Exception, _unforeseen)
    return app


async def _said(request: Request, broken: Exception) -> Response:
    failure = error_response(broken)
    return _nothing_here() if failure.status == _MISSING and _browses(request) else _response(failure)


async def _unforeseen(request: Request, broken: Exception) -> Response:
    request.scope["told"].broken = _kind(broken)
    return _response(error_response(broken))


async def _misshapen(request: Request, broken: Exception) -> Response:
    if _browses(request):
        return _nothing_here()
    first = broken.errors()[0] if isinstance(broken, RequestValidationError) and broken.errors() else {}
    return _response(misshapen(first.get("loc", ()), first.get("type", "unknown")).response)


async def _elsewhere(request: Request, broken: Exception) -> Response:
    """What starlette and FastAPI refuse themselves: an unknown path, another method, a body that is no JSON."""
    status = broken.status_code if isinstance(broken, HTTPException) else 404
    if status == _MISSING and _browses(request):
        return _nothing_here()
    allowed = (broken.headers or {}) if isinstance(broken, HTTPException) else {}
    return _response(missing(status, allowed).response if status in (404, 405) else malformed("body").response)
