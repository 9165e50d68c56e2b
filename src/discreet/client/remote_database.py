"""Database whose home is elsewhere, asked through its HTTP door."""

from __future__ import annotations

import http.client
import json
import os
import ssl
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar
from urllib.parse import SplitResult, quote, urlencode, urlsplit

from discreet.addresses import is_loopback
from discreet.client import json_values
from discreet.client.database import Database
from discreet.client.sessions import PaidSession, RemoteSession, status
from discreet.client.streams import PaidStream, RemoteStream, ordered, standing
from discreet.curator import Answer, Explanation
from discreet.curator.named_run import NamedRun, RunAnswer, RunQuote
from discreet.curator.paid_mechanism import SessionStatus
from discreet.curator.purchase import PastPayment
from discreet.curator.quote import Terms
from discreet.curator.streams import StreamOrder, StreamStatus
from discreet.declared.table import Table
from discreet.desk import PaidRelease
from discreet.desk.release_store import Offered
from discreet.errors import DiscreetError, Fault, Ground, OverBudget, Refusal
from discreet.exact import exact
from discreet.ledger import Head
from discreet.ledger.entry_kinds import BudgetLoss
from discreet.ledger.signed_head import head_of
from discreet.ledger.verify import Receipt
from discreet.mechanisms import Openable, described
from discreet.privacy import Budget
from discreet.release import Release, Wish
from discreet.release.certificate import Certificate
from discreet.release.folder import CERTIFICATE, RELEASE, checked, refuse_taken

_MOST = 1 << 28  # bytes of an answer
_PAGE = 1000  # receipts at once
_NONSENSE = (ValueError, KeyError, TypeError, AttributeError, RecursionError)  # what reading another's words raises

A = TypeVar("A")
T = TypeVar("T")


class Lost(DiscreetError):
    """The connection broke after a question was sent. If it was paid, asking the same again is free."""


class Connection(Database):
    """Database behind an HTTP door. Every call is a connection of its own, so threads may share it."""

    def __init__(
        self, url: str, token: str | None = None, *, timeout: float = 600.0, tls: ssl.SSLContext | None = None
    ) -> None:
        parts, port = _split(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
            raise _no_address(url)
        if parts.username or parts.password:
            raise Refusal("an address holds no password", hint="pass token=, or set DISCREET_TOKEN")
        if parts.scheme == "http" and not is_loopback(parts.hostname):
            raise Refusal(
                f"a token is sent in the clear to this machine only, not to {parts.hostname}", hint="use https"
            )
        token = token or os.environ.get("DISCREET_TOKEN", "")
        if not token or not token.isascii() or not token.isprintable() or " " in token:
            raise Refusal(f"the door at {parts.hostname} opens for a token", hint="pass token=, or set DISCREET_TOKEN")
        self._host, self._path, self._token, self._timeout = parts.hostname, parts.path.rstrip("/"), token, timeout
        self._tls = None if parts.scheme == "http" else tls or ssl.create_default_context()
        self._port = port or (443 if self._tls else 80)
        self._url = f"{parts.scheme}://{parts.netloc}"

    def __repr__(self) -> str:
        return f"Connection({self._url!r})"  # without the token

    # asking ----------------------------------------------------------------------------------------------------------

    def _answer(self, sql: str, terms: Terms) -> Answer:
        return self._call("POST", "query", json_values.answer, _question(sql, terms))

    def _explanation(self, sql: str, terms: Terms) -> Explanation:
        return self._call("POST", "explain", json_values.explanation, _question(sql, terms))

    def _columns(self, sql: str, terms: Terms) -> tuple[tuple[str, str], ...]:
        return self._call("POST", "describe", json_values.columns, _question(sql, terms))

    def _run_answer(self, order: NamedRun) -> RunAnswer:
        return self._call("POST", "run", json_values.run_answer, _run(order))

    def _run_quote(self, order: NamedRun) -> RunQuote:
        return self._call("POST", "run/offer", json_values.run_quote, _run(order))

    def _budgets(self) -> dict[str, Budget[BudgetLoss]]:
        return self._call("GET", "budget", json_values.budgets)

    def tables(self) -> list[Table]:
        return self._call("GET", "tables", lambda told: [json_values.table(table) for table in told["tables"]])

    def history(self, *, everybody: bool = False) -> list[PastPayment]:
        payments: list[PastPayment] = []
        while True:
            asked = {"everybody": str(everybody).lower(), "limit": str(_PAGE)}
            more = {"before": str(payments[-1].entry)} if payments else {}
            page = self._call("GET", f"history?{urlencode({**asked, **more})}", json_values.receipts)
            payments += page
            if len(page) < _PAGE:
                return payments

    def head(self) -> Head:
        return self._call("GET", "ledger/head", head_of)

    def proof(self, entry: int) -> Receipt:
        return self._call("GET", f"ledger/proof/{int(entry)}", json_values.proof)

    # publishing ------------------------------------------------------------------------------------------------------

    def _offer(self, source: str, wish: Wish, name: str) -> Offered:
        return self._call("POST", "releases/offer", json_values.offered, _order(source, wish, name))

    def _publish(self, source: str, wish: Wish, name: str) -> PaidRelease:
        return self._call("POST", "releases", json_values.listed, _order(source, wish, name))

    def releases(self) -> list[PaidRelease]:
        return self._call("GET", "releases", lambda told: [json_values.listed(each) for each in told["releases"]])

    def release(self, entry: int) -> Release:
        return Release.from_json(self._file(entry, RELEASE).decode("utf-8", "replace"))

    def certified(self, entry: int, folder: str | Path) -> Certificate:
        out = Path(folder).absolute()
        refuse_taken(out)
        text = self._file(entry, CERTIFICATE)
        certificate = Certificate.from_json(text.decode("utf-8", "replace"))
        with TemporaryDirectory(dir=out.parent, prefix=f".{out.name}.") as aside:
            place = Path(aside) / out.name
            place.mkdir()
            (place / CERTIFICATE).write_bytes(text)
            for name in certificate.files:
                if Path(name).name != name:  # it would leave the folder
                    raise self._strange()
                (place / name).write_bytes(self._file(entry, name))
            checked(place)
            place.rename(out)
        return certificate

    def _file(self, entry: int, name: str) -> bytes:
        status, content = self._exchange("GET", f"releases/{int(entry)}/files/{quote(name, safe='')}", None)
        if status == 200:
            return content
        raise self._refused(content)

    # sessions --------------------------------------------------------------------------------------------------------

    def open_session(self, mechanism: Openable[Any, Any, A, Any], *tables: str) -> PaidSession[A]:
        named = described(mechanism)
        body = {"mechanism": named["name"], "parameters": named["parameters"], "tables": list(tables)}
        return RemoteSession(self._call("POST", "sessions", status, body).entry, self._call)

    def session(self, entry: int) -> PaidSession[Any]:
        return RemoteSession(self._call("GET", f"sessions/{int(entry)}", status).entry, self._call)

    def sessions(self) -> list[SessionStatus]:
        return self._call("GET", "sessions", lambda told: [status(each) for each in told["sessions"]])

    # streams ---------------------------------------------------------------------------------------------------------

    def _opened_stream(self, name: str, order: StreamOrder) -> PaidStream:
        return RemoteStream(self._call("POST", "streams", standing, ordered(name, order)).name, self._call)

    def stream(self, name: str) -> PaidStream:
        return RemoteStream(self._call("GET", f"streams/{quote(name, safe='')}", standing).name, self._call)

    def streams(self) -> list[StreamStatus]:
        return self._call("GET", "streams", lambda told: [standing(each) for each in told["streams"]])

    # the wire --------------------------------------------------------------------------------------------------------

    def _call(
        self, method: str, path: str, read: Callable[[dict[str, Any]], T], body: dict[str, Any] | None = None
    ) -> T:
        status, text = self._exchange(method, path, None if body is None else json.dumps(body).encode("ascii"))
        if status != 200:
            raise self._refused(text)
        try:
            return read(json.loads(text))
        except _NONSENSE:
            raise self._strange() from None

    def _refused(self, text: bytes) -> DiscreetError:
        try:
            return _error(json.loads(text)["error"])
        except _NONSENSE:
            return self._strange()

    def _strange(self) -> Refusal:
        return Refusal(f"{self._url} does not speak as a door of discreet does", hint="check the address")

    def _exchange(self, method: str, path: str, body: bytes | None) -> tuple[int, bytes]:
        connection = self._connected()
        headers = {"Authorization": f"Bearer {self._token}", "Accept": "application/json", "Connection": "close"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        try:
            connection.request(method, f"{self._path}/api/v1/{path}", body, headers)
            response = connection.getresponse()
            text = response.read(_MOST)
            if response.length:  # more was announced than came
                raise http.client.IncompleteRead(text)
        except (OSError, http.client.HTTPException):
            raise Lost(
                f"the connection to {self._host} was lost before the answer came; if it was paid, asking again is free"
            ) from None
        finally:
            connection.close()
        return response.status, text

    def _connected(self) -> http.client.HTTPConnection:
        if self._tls is None:
            connection = http.client.HTTPConnection(self._host, self._port, timeout=self._timeout)
        else:
            connection = http.client.HTTPSConnection(self._host, self._port, timeout=self._timeout, context=self._tls)
        try:
            connection.connect()
        except OSError as broken:  # nothing was sent yet, so nothing was charged
            why = "its certificate is not trusted" if isinstance(broken, ssl.SSLError) else "nobody answers"
            raise Refusal(f"{why} at {self._url}", hint="is discreet serve running there?") from None
        return connection


def _no_address(url: str) -> Refusal:
    return Refusal(f"expected an address such as http://127.0.0.1:8410, got {url!r}")


def _split(url: str) -> tuple[SplitResult, int | None]:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise _no_address(url) from None
    return parts, port


_GROUNDS = {ground.value: ground for ground in Ground}


def _error(error: dict[str, Any]) -> DiscreetError:
    match error["kind"]:
        case "fault":
            return Fault()
        case "over_budget":
            return OverBudget(error["message"], hint=error["hint"])
        case _:
            place = error.get("place")
            return Refusal(
                error["message"],
                hint=error["hint"],
                place=None if place is None else (place[0], place[1]),
                repair=error.get("repair"),
                ground=_GROUNDS.get(error["sqlstate"]),
            )


def _question(sql: str, terms: Terms) -> dict[str, object]:
    """A question as JSON holds it: a rational as text, a float by its shortest digits, and nothing that is usual."""
    said = {word: value for word, value in vars(terms).items() if value is not None and value is not False}
    return {"sql": sql} | {
        word: value if isinstance(value, (bool, int, float, str)) else str(value) for word, value in said.items()
    }


def _order(source: str, wish: Wish, name: str) -> dict[str, object]:
    """What is to be published, read here as the door will read it: what cannot be is refused before it is sent."""
    return {"source": source, "wish": wish.told(), "name": name}


def _run(order: NamedRun) -> dict[str, object]:
    terms = {"max_rows": order.max_rows, "delta": None if order.delta is None else str(exact(order.delta, "delta"))}
    given = {name: value for name, value in terms.items() if value is not None}
    return {"mechanism": order.name, "parameters": dict(order.parameters), "sql": order.rows, **given}
