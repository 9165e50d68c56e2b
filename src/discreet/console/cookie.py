"""The cookie that carries the id of a session: signed, out of reach of scripts, sent to nobody else."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from http.cookies import CookieError, SimpleCookie

from discreet.console.headers import Scope, header, is_secure

THEME = "discreet-theme"
THEMES = ("auto", "light", "dark")


class Seal:
    """Signs ids with a key that lives as long as the server does."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)

    def written(self, scope: Scope, number: str) -> str:
        """The header that sets the cookie."""
        return f"{_name(scope)}={number}.{self._mark(number)}; {_flags(scope)}"

    def cleared(self, scope: Scope) -> str:
        """The header that takes it away."""
        return f"{_name(scope)}=; Max-Age=0; {_flags(scope)}"

    def read(self, scope: Scope) -> str:
        """The id that a browser sent; nothing if it was not we who signed it."""
        number, _, mark = _cookies(scope).get(_name(scope), "").partition(".")
        right = hmac.compare_digest(mark.encode("utf-8", "replace"), self._mark(number).encode())
        return number if right else ""

    def _mark(self, number: str) -> str:
        return hmac.new(self._key, number.encode("utf-8", "replace"), hashlib.sha256).hexdigest()


def theme(scope: Scope) -> str:
    """How somebody likes to see pages."""
    found = _cookies(scope).get(THEME, "")
    return found if found in THEMES else THEMES[0]


def _name(scope: Scope) -> str:
    """With the port in it, because cookies do not tell two servers of one machine apart."""
    port = (scope.get("server") or ("", 0))[1]
    return f"{'__Host-' if is_secure(scope) else ''}discreet-{port}"


def _flags(scope: Scope) -> str:
    return f"Path=/; HttpOnly; SameSite=Strict{'; Secure' if is_secure(scope) else ''}"


def _cookies(scope: Scope) -> dict[str, str]:
    try:
        return {name: morsel.value for name, morsel in SimpleCookie(header(scope, b"cookie")).items()}
    except CookieError:
        return {}
