"""The door as an application: what it says and writes down when something happens that nobody foresaw."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from server.http.conftest import Place, settled

from discreet.desk import Desk
from discreet.errors import Fault
from discreet.server.http.asgi_app import Door

ASKED = b'{"sql": "SELECT count(*) AS n FROM visits", "epsilon": 1}'


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    return settled(tmp_path_factory.mktemp("place"))


def called(door: Door, place: Place, method: str, path: str, body: bytes = b"") -> tuple[int, bytes, bytes]:
    """The status, the headers and the body of what the door says to ann."""
    sent: list[dict[str, Any]] = []
    headers = [(b"host", b"127.0.0.1"), (b"authorization", f"Bearer {place.ann}".encode())]
    headers += [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "scheme": "http",
        "path": path, "raw_path": path.encode(), "query_string": b"", "root_path": "", "headers": headers,
        "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 80),
    }  # fmt: skip

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:  # noqa: ANN401  # as ASGI has it
        sent.append(dict(message))

    asyncio.run(door(scope, receive, send))
    start, *parts = sent
    told = b"\n".join(b": ".join(header) for header in start["headers"])
    return int(start["status"]), told, b"".join(part.get("body", b"") for part in parts)


@pytest.mark.parametrize(
    ("method", "path", "what"),
    [("POST", "/api/v1/query", "asked"), ("POST", "/api/v1/explain", "explained"), ("GET", "/api/v1/tables", "tables")],
)
def test_an_error_that_nobody_foresaw_is_one_constant_sentence(
    place: Place, method: str, path: str, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> object:
        raise ArithmeticError("patient 17 has cost 4711")

    journal: list[str] = []
    desk = Desk(place.home)
    monkeypatch.setattr(desk, what, broken)
    status, headers, body = called(
        Door(desk, log=journal.append), place, method, path, ASKED if method == "POST" else b""
    )
    assert status == 500
    error = json.loads(body)["error"]
    assert (error["kind"], error["message"], error["hint"]) == ("fault", Fault.SENTENCE, "")
    assert json.loads(journal[-1])["broken"] == "builtins.ArithmeticError"
    for said in (headers, body, "".join(journal).encode()):
        assert b"4711" not in said
        assert b"patient" not in said
