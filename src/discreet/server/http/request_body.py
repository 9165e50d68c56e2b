"""Body of a request, read whole before anyone looks at it: not too large, not too slow, not too deep."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, TypeVar

from fastapi import Request
from pydantic import BaseModel, ValidationError

from discreet.server.errors import HttpError, malformed, too_deep, too_large, too_slow
from discreet.server.limits import HttpLimits

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

READ = "discreet.read"  # in a scope: its body is here
_TEXT = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)


class Gone(Exception):
    """Nobody waits for an answer any more."""


async def whole(scope: Scope, receive: Receive, limits: HttpLimits) -> Receive:
    """A source that hands out the body at once, then whatever comes after it."""
    body = await read(scope, receive, limits.body, limits.body_seconds)
    scope[READ] = True
    if depth(body) > limits.depth:
        raise too_deep(limits.depth)
    if is_json(header(scope, b"content-type")):
        _refuse_twice(body)
    first: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Message:
        return first.pop() if first else await receive()

    return again


async def read(
    scope: Scope, receive: Receive, most: int, seconds: float, grown: Callable[[int], None] = lambda _: None
) -> bytes:
    """A body of so many bytes at most, if it comes in time. `grown` hears how much is there, and may refuse more."""
    sent = header(scope, b"content-length")
    if sent.isdigit() and int(sent[:20]) > most:
        raise too_large(most)
    parts = bytearray()
    try:
        async with asyncio.timeout(seconds):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise Gone
                parts += message.get("body", b"")
                if len(parts) > most:
                    raise too_large(most)
                grown(len(parts))
                if not message.get("more_body", False):
                    return bytes(parts)
    except TimeoutError:
        raise too_slow() from None


def is_json(kind: str) -> bool:
    """Whether a content type is JSON's."""
    main, _, sub = kind.partition(";")[0].strip().lower().partition("/")
    return main == "application" and (sub == "json" or sub.endswith("+json"))


def _refuse_twice(body: bytes) -> None:
    """Refuse an object that says one thing twice: which of the two is meant, two readers may see differently."""
    try:
        json.loads(body, object_pairs_hook=_once)
    except (ValueError, RecursionError):
        return  # whoever reads it says what is wrong with it


def _once(pairs: list[tuple[str, object]]) -> None:
    if len({name for name, _ in pairs}) < len(pairs):
        raise malformed("a name stands twice in one object")


def header(scope: Scope, name: bytes) -> str:
    """The last header of this name; nothing if there is none."""
    values: list[bytes] = [value for key, value in scope["headers"] if key == name]
    return values[-1].decode("latin-1") if values else ""


def depth(body: bytes) -> int:
    """How deep lists and objects of a JSON text lie in each other."""
    deep = most = 0
    for byte in _TEXT.sub(b"", body):
        if byte in b"[{":
            deep += 1
            most = max(most, deep)
        elif byte in b"]}":
            deep = max(0, deep - 1)
    return most


S = TypeVar("S", bound=BaseModel)


async def body(request: Request, shape: type[S]) -> S:
    """The body of a request in a shape; else an error that says where it is not, and not what stands there."""
    sent = await request.body()
    try:
        return shape.model_validate(json.loads(sent) if is_json(request.headers.get("content-type", "")) else sent)
    except ValidationError as invalid:
        first = invalid.errors(include_url=False, include_context=False, include_input=False)[0]
        raise misshapen(("body", *first["loc"]), first["type"]) from None
    except (ValueError, RecursionError):
        raise misshapen(("body",), "json_invalid") from None


def misshapen(place: tuple[str | int, ...], kind: str) -> HttpError:
    """Where the first thing is that was not expected, and what was; never what came in its place."""
    return malformed(f"{'.'.join(str(part) for part in place)[:100]}: {kind}")
