"""HTTP headers: what a browser may do with a page, and whether a request comes from a page of ours."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import urlsplit

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

_COMMON = (
    "default-src 'self'; connect-src 'self'; img-src 'self' data:; font-src 'self'; object-src 'none'; "
    "frame-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'; worker-src 'none'; "
    "manifest-src 'none'; media-src 'none'; "
)
PLAIN = f"{_COMMON}script-src 'none'; style-src 'self'"
READ = f"{_COMMON}script-src 'self'; style-src 'self'"  # with our own files, and nothing written into the page
_HEADERS = {
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": (
        "accelerometer=(), camera=(), display-capture=(), geolocation=(), gyroscope=(), hid=(), magnetometer=(), "
        "microphone=(), midi=(), payment=(), serial=(), usb=()"
    ),
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}

_PACKETS = frozenset({"40", "41", "42", "43"})  # nothing else: other ways to write a binary event are easily missed
_BEATS = frozenset({"2", "3"})


def new_nonce() -> str:
    """What marks the scripts of one answer as ours."""
    return secrets.token_urlsafe(16)


def drawn(nonce: str) -> str:
    """The policy of a page that NiceGUI draws.

    Vue compiles the templates of NiceGUI's components in the browser, which is `unsafe-eval`; they and Quasar set
    styles on elements, which is `unsafe-inline`. Neither makes a script out of a text that stands in the page.
    """
    return f"{_COMMON}script-src 'self' 'nonce-{nonce}' 'unsafe-eval'; style-src 'self' 'unsafe-inline'"


def headers(policy: str) -> dict[str, str]:
    """The headers of a page."""
    return {**_HEADERS, "content-security-policy": policy}


def with_headers(send: Send, added: dict[str, str]) -> Send:
    """Send with these headers, in place of whatever was said under the same names."""
    names = {name.encode("ascii") for name in added}
    extra = [(name.encode("ascii"), value.encode("latin-1")) for name, value in added.items()]

    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            kept = [(name, value) for name, value in message.get("headers", ()) if name.lower() not in names]
            message = {**message, "headers": [*kept, *extra]}
        await send(message)

    return sent


def header(scope: Scope, name: bytes) -> str:
    """The last header of this name; nothing if there is none."""
    values: list[bytes] = [value for key, value in scope["headers"] if key == name]
    return values[-1].decode("latin-1") if values else ""


def spoken(message: Message) -> bool:
    """Whether a browser of ours says such a thing through a socket: a connection, an event, an answer, a heartbeat.

    Binary events are none of these. Socket.IO would collect what belongs to them for as long as somebody sends.
    """
    text = message.get("text")
    return message.get("bytes") is None and isinstance(text, str) and (text[:2] in _PACKETS or text in _BEATS)


def is_secure(scope: Scope) -> bool:
    """Whether it came through TLS."""
    return scope.get("scheme") in {"https", "wss"}


def from_here(scope: Scope) -> bool:
    """Whether a page of this very server sent a request: not another site, not another port of this machine.

    A form of ours comes with `Origin: null`, because our pages send no referrer. Then the browser's own word counts,
    which every browser gives to servers on this machine and through TLS. A socket always has its origin.
    """
    origin, site = header(scope, b"origin"), header(scope, b"sec-fetch-site")
    if site and site != "same-origin":
        return False
    if scope["type"] == "http" and origin == "null":
        return site == "same-origin"
    return bool(origin) and _place(origin) == header(scope, b"host").lower()


def _place(origin: str) -> str:
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return ""
