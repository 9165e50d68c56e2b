"""A curator that is elsewhere, asked through its HTTP door with the methods of one that is here."""

from __future__ import annotations

import datetime as dt
import http.client
import ipaddress
import json
import os
import ssl
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeVar
from urllib.parse import SplitResult, urlencode, urlsplit

from discreet.curator import Answer, Explanation
from discreet.curator.above import Result
from discreet.curator.history import Receipt
from discreet.errors import DiscreetError, Fault, OverBudget, Refusal
from discreet.ledger import Head
from discreet.ledger.entry import BudgetLoss, read_loss, read_neighbours
from discreet.ledger.head import head_of
from discreet.ledger.verify import Receipt as Proof
from discreet.ledger.verify import read_proof
from discreet.privacy import Budget
from discreet.sql.schema import Column, Table, Type

_MOST = 1 << 28  # bytes of an answer
_PAGE = 1000  # receipts at once

T = TypeVar("T")


class Lost(DiscreetError):
    """The connection broke after a question was sent. If it was paid, asking the same again is free."""


class Connection:
    """A curator behind a door. Every call is a connection of its own, so threads may share it."""

    def __init__(
        self, url: str, token: str | None = None, *, timeout: float = 600.0, tls: ssl.SSLContext | None = None
    ) -> None:
        parts, port = _split(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
            raise _no_address(url)
        if parts.username or parts.password:
            raise Refusal("an address holds no password", hint="pass token=, or set DISCREET_TOKEN")
        if parts.scheme == "http" and not _is_local(parts.hostname):
            raise Refusal("a token is sent in the clear to this machine only", hint="use https")
        token = token or os.environ.get("DISCREET_TOKEN", "")
        if not token or not token.isascii() or not token.isprintable() or " " in token:
            raise Refusal("a door opens for a token", hint="pass token=, or set DISCREET_TOKEN")
        self._host, self._path, self._token, self._timeout = parts.hostname, parts.path.rstrip("/"), token, timeout
        self._tls = None if parts.scheme == "http" else tls or ssl.create_default_context()
        self._port = port or (443 if self._tls else 80)
        self._url = f"{parts.scheme}://{parts.netloc}"

    def __repr__(self) -> str:
        return f"Connection({self._url!r})"  # without the token

    # asking ----------------------------------------------------------------------------------------------------------

    def query(self, /, sql: str, **terms: object) -> Answer:
        """The answer to a question. Spends its price, unless the same was answered before."""
        return self._call("POST", "query", _answer, {"sql": sql, **_plain(terms)})

    def explain(self, /, sql: str, **terms: object) -> Explanation:
        """What a question would cost and how exact it would be. Free."""
        return self._call("POST", "explain", _explanation, {"sql": sql, **_plain(terms)})

    def describe(self, /, sql: str, **terms: object) -> tuple[tuple[str, str], ...]:
        """The columns of an answer and their types. Free."""
        return self._call("POST", "describe", _columns, {"sql": sql, **_plain(terms)})

    def tables(self) -> list[Table]:
        """The tables that may be asked about, as they were declared."""
        return self._call("GET", "tables", lambda found: [_table(table) for table in found["tables"]])

    def populations(self) -> list[str]:
        """The populations that have a budget."""
        return sorted(self._call("GET", "budget", _budgets))

    def budget(self, population: str) -> Budget[BudgetLoss]:
        """What a population may lose in all and has lost."""
        found = self._call("GET", "budget", _budgets)
        if population not in found:
            raise Refusal(f"there is no population {population!r}", hint=f"there are {sorted(found)}")
        return found[population]

    def history(self, *, everybody: bool = False) -> list[Receipt]:
        """What was asked and paid, the latest first; of everybody for a custodian."""
        found: list[Receipt] = []
        while True:
            asked = {"everybody": str(everybody).lower(), "limit": str(_PAGE)}
            more = {"before": str(found[-1].entry)} if found else {}
            page = self._call("GET", f"history?{urlencode({**asked, **more})}", _receipts)
            found += page
            if len(page) < _PAGE:
                return found

    def head(self) -> Head:
        """A signed head of the ledger, to be kept."""
        return self._call("GET", "ledger/head", head_of)

    def proof(self, entry: int) -> Proof:
        """An entry and that it is in the ledger. Check it against a head that you kept: `.faults(pin(head))`."""
        return self._call("GET", f"ledger/proof/{int(entry)}", _proof)

    # the wire --------------------------------------------------------------------------------------------------------

    def _call(
        self, method: str, path: str, read: Callable[[dict[str, Any]], T], body: dict[str, Any] | None = None
    ) -> T:
        status, text = self._exchange(method, path, None if body is None else json.dumps(body).encode("ascii"))
        try:
            found = json.loads(text)
            if status == 200:
                return read(found)
            error = _error(found["error"])
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            strange = f"{self._url} does not speak as a door of discreet does"
            raise Refusal(strange, hint="check the address") from None
        raise error

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
            raise Lost("the connection was lost before the answer came; if it was paid, asking again is free") from None
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


def _is_local(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


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
            )


def _plain(terms: dict[str, object]) -> dict[str, object]:
    """Terms as JSON holds them: a rational as text, a float by its shortest digits."""
    return {
        name: value if value is None or isinstance(value, (bool, int, float, str)) else str(value)
        for name, value in terms.items()
        if value is not None
    }


def _price(found: dict[str, Any]) -> BudgetLoss:
    parts = {name: value for name, value in found.items() if name != "words" and value is not None}
    return read_loss(parts)


def _loss(found: dict[str, Any] | None) -> BudgetLoss | None:
    return None if found is None else _price(found)


_READ: dict[str, Callable[[str], object]] = {
    "double": float,
    "float": float,
    "date": dt.date.fromisoformat,
    "timestamp": dt.datetime.fromisoformat,
    "time": dt.time.fromisoformat,
}


def _cell(value: object, kind: str) -> object:
    """A cell as it was before it became JSON, where its type says how."""
    if not isinstance(value, str):
        return value
    if kind.startswith("decimal"):
        return Decimal(value)
    return _READ[kind](value) if kind in _READ else value


def _columns(found: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    return tuple((column["name"], column["type"]) for column in found["columns"])


def _answer(found: dict[str, Any]) -> Answer:
    columns = _columns(found)
    rows = tuple(
        tuple(_cell(cell, kind) for cell, (_, kind) in zip(row, columns, strict=True)) for row in found["rows"]
    )
    spans = tuple(
        tuple(None if span is None else (float(span[0]), float(span[1])) for span in row) for row in found["intervals"]
    )
    confidence = Fraction(found["confidence"])

    def again(wanted: Fraction) -> Result:
        raise Refusal(
            f"this answer came with error bars at {float(confidence)}, not at {float(wanted)}",
            hint=f"ask again with confidence={float(wanted)}: the same question is free",
        )

    return Answer(
        tuple(name for name, _ in columns),
        tuple(kind for _, kind in columns),
        rows,
        _loss(found["cost"]),
        _loss(found["left"]),
        found["entry"],
        found["bounding"],
        confidence,
        spans,
        again,
    )


def _explanation(found: dict[str, Any]) -> Explanation:
    errors = tuple(
        (each["name"], None if each["error"] is None else Fraction(each["error"])) for each in found["error"]
    )
    return Explanation(_loss(found["price"]), errors, tuple(found["plan"]), found["notice"])


def _budgets(found: dict[str, Any]) -> dict[str, Budget[BudgetLoss]]:
    return {
        each["population"]: Budget(
            _price(each["total"]),
            _price(each["spent"]),
            read_neighbours({"relation": each["relation"], "unit": each["unit"]}),
        )
        for each in found["budgets"]
    }


def _proof(found: dict[str, Any]) -> Proof:
    proof = read_proof(json.dumps(found))
    if not isinstance(proof, Proof):
        raise TypeError("an extension")
    return proof


def _table(found: dict[str, Any]) -> Table:
    link = found["link"]
    return Table(
        found["name"],
        tuple(_column(column) for column in found["columns"]),
        found["population"],
        found["unit"],
        found["max_rows"],
        found["max_groups"],
        found["version"],
        None if link is None else (link[0], link[1], link[2]),
    )


def _column(found: dict[str, Any]) -> Column:
    bounds = found["bounds"]
    return Column(
        found["name"],
        Type(found["type"]),
        None if bounds is None else (Fraction(bounds[0]), Fraction(bounds[1])),
        None if found["step"] is None else Fraction(found["step"]),
        None if found["keys"] is None else tuple(found["keys"]),
        found["description"],
    )


def _receipts(found: dict[str, Any]) -> list[Receipt]:
    return [
        Receipt(
            each["entry"],
            each["time"],
            each["principal"],
            each["population"],
            _price(each["loss"]),
            each["sql"],
            tuple(each["tables"]),
            each["answer"],
        )
        for each in found["history"]
    ]
