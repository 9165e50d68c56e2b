"""Courier: carries tasks, uploads and results over HTTP, with Python's own library alone, for people's devices."""

from __future__ import annotations

import http.client
import json
import ssl
from urllib.parse import urlsplit

from discreet.addresses import is_loopback
from discreet.errors import Refusal
from discreet.exact import shown
from discreet.ledger.signed_head import is_hex, strict_json
from discreet.transport.signed_task import UploadReceipt
from discreet.transport.signing_keys import Handover, read_handover

SURVEYS = "/survey/v1"  # the paths below which a server has them
_AGAIN = (http.client.REQUEST_TIMEOUT, http.client.TOO_MANY_REQUESTS)
_LONGEST = 1 << 25  # bytes of an answer: results hold a tally in hexadecimal digits


class Unreached(Refusal):
    """Nobody answered, or not as a survey does. What was to be sent is pending: send it again.

    `final`: a server answered that it does not want it, and will not later.
    """

    final = False


class Courier:
    """A server of surveys at an address like https://survey.example.org; or of another `service`, below other paths."""

    def __init__(
        self, url: str, *, seconds: float = 30.0, tls: ssl.SSLContext | None = None, service: str = SURVEYS
    ) -> None:
        self._secure, self._host, self._port = _parts(url)
        self._seconds, self._tls, self._service = seconds, tls, service

    @property
    def address(self) -> str:
        """Whom it reaches."""
        return f"{'https' if self._secure else 'http'}://{self._host}:{self._port or (443 if self._secure else 80)}"

    def task(self, name: str) -> bytes:
        """The newest document of a task, to the byte."""
        if not is_hex(name, 16):
            raise Refusal(f"expected an id of 32 small hexadecimal digits, got {shown(name)}")
        return self.answered("GET", f"{self._service}/{name}")

    def handovers(self) -> list[Handover]:
        """How the key that signs was changed."""
        listed = _json(self.answered("GET", f"{self._service}/keys")).get("handovers")
        return [read_handover(json.dumps(each)) for each in listed] if isinstance(listed, list) else []

    def send(self, name: str, body: bytes, token: str | None = None) -> UploadReceipt:
        """Upload. After a failure, send the same bytes again: they count once."""
        self.guarded(token)
        bearer = {} if token is None else {"Authorization": f"Bearer {token}"}
        kind = {"Content-Type": "application/octet-stream"}
        counts = _json(self.answered("POST", f"{self._service}/{name}/reports", body, {**kind, **bearer}))
        counts.setdefault("unlikely", 0)  # a server of before counted none
        if set(counts) != set(UploadReceipt().told) or any(type(number) is not int for number in counts.values()):
            raise Unreached(f"{self._host} answered with no receipt", hint="is this a server of surveys?")
        return UploadReceipt(**counts)  # type: ignore[arg-type]  # they are numbers

    def guarded(self, token: str | None) -> None:
        """Refuse to send a token that others would see, or that is none."""
        if token is not None and not self._secure and not is_loopback(self._host):
            raise Refusal(f"a token is sent in the clear to this machine only, not to {self._host}", hint="use https")
        if token is not None and not (token.isascii() and token.isprintable()):
            raise Refusal("expected a token as it was handed out", hint="letters, digits, _ and -")

    def results(self, name: str, version: int) -> bytes:
        """What a version of a task came to, to the byte."""
        return self.answered("GET", f"{self._service}/{name}/results?version={version}")

    def answered(
        self, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None
    ) -> bytes:
        """What the server says to a request."""
        connection = self._connection()
        try:
            connection.request(method, path, body, headers or {})
            response = connection.getresponse()
            content = response.read(_LONGEST)
        except (OSError, http.client.HTTPException):
            raise Unreached(f"nobody answers at {self._host}", hint="try again: the same bytes are sent") from None
        finally:
            connection.close()
        if response.status != http.client.OK:
            refused = Unreached(f"refused with status {response.status}: {_message(content)}", hint="try again later")
            refused.final = 400 <= response.status < 500 and response.status not in _AGAIN
            raise refused
        return content

    def _connection(self) -> http.client.HTTPConnection:
        if not self._secure:
            return http.client.HTTPConnection(self._host, self._port, timeout=self._seconds)
        tls = self._tls or ssl.create_default_context()
        return http.client.HTTPSConnection(self._host, self._port, timeout=self._seconds, context=tls)


def _parts(url: str) -> tuple[bool, str, int | None]:
    """Whether it is https, the host and the port of an address, whatever path somebody copied with it."""
    try:
        parts = urlsplit(url)
        if url.isprintable() and parts.scheme in ("http", "https") and parts.hostname:
            return parts.scheme == "https", parts.hostname, parts.port
    except ValueError:  # of a port, or of an IPv6 address
        pass
    raise Refusal(f"expected an address as https://survey.example.org, got {shown(url)}")


def _json(content: bytes) -> dict[str, object]:
    try:
        body = strict_json(content.decode())
    except ValueError:
        body = None
    if not isinstance(body, dict):
        raise Unreached(f"the answer of {len(content)} bytes is no JSON object", hint="is this a server of surveys?")
    return body


def _message(content: bytes) -> str:
    try:
        error = _json(content).get("error")
    except Unreached:
        return "no reason given"
    if not isinstance(error, dict) or "message" not in error:
        return "no reason given"
    return "".join(each for each in str(error["message"])[:200] if each.isprintable())  # a terminal obeys some of them
