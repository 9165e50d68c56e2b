"""Bad days are told right: a ledger that somebody holds, a certificate that runs out, a proxy, one name said twice."""

from __future__ import annotations

import asyncio
import fcntl
import json
import signal
import sqlite3
import ssl
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from certificate import certificate_in
from server.http.conftest import Place, settled
from server.http.test_listener import everything, head, opened, reply
from server.pgwire.door import opened as opened_wire
from server.pgwire.raw import Raw, errors
from server.pgwire.test_door import COUNT
from server.served import served
from survey.surveyed import draft

from discreet.console.sessions import CookieSeal
from discreet.ledger import file_access
from discreet.server.http.proxy import Proxies
from discreet.server.limits import HttpLimits
from discreet.survey.collector import Collector


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    return settled(tmp_path_factory.mktemp("place"))


@contextmanager
def held(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """While another process has the ledger."""
    monkeypatch.setattr(file_access, "PATIENCE", 0.1)
    with (home / "ledger.db.lock").open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def posted(place: Place, path: str, body: str) -> bytes:
    sent = head(place, f"Content-Length: {len(body)}\r\nConnection: close").replace(b"/api/v1/query", path.encode())
    return sent + body.encode()


def test_a_ledger_that_somebody_holds_is_busy_at_the_http_door(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    body = json.dumps({"sql": COUNT, "epsilon": 1})

    async def visit(port: int) -> None:
        first = await reply(port, posted(place, "/api/v1/tables", "").replace(b"POST", b"GET"))
        assert first.startswith(b"HTTP/1.1 200 ")
        with held(place.home, monkeypatch):
            said = await reply(port, posted(place, "/api/v1/query", body))
        error = json.loads(said.partition(b"\r\n\r\n")[2])["error"]
        assert said.startswith(b"HTTP/1.1 503 ")
        assert b"retry-after: 5" in said.lower()
        assert (error["kind"], error["sqlstate"]) == ("refusal", "55P03")
        assert error["message"] == "the ledger is in use by another program; nothing was charged"
        assert (await reply(port, posted(place, "/api/v1/query", body))).startswith(b"HTTP/1.1 200 ")

    opened(place, HttpLimits(), visit)


def test_the_same_at_the_postgres_door(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened_wire(tmp_path) as door, Raw(door.port) as raw:
        raw.login(door.token)
        with held(door.home, monkeypatch):
            (error,) = errors(raw.ask(COUNT))
        assert (error["C"], str(door.home) in str(error)) == ("55P03", False)
        assert json.loads(door.journal[-1])["outcome"] == "busy"


def test_surveys_that_somebody_holds_are_busy_and_damaged_ones_are_out_of_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = settled(tmp_path)
    task = Collector(place.home).publish(draft())
    file = place.home / "surveys.db"
    whole = file.read_bytes()

    async def told(port: int, path: str) -> tuple[bytes, str, bool]:
        said = await reply(port, f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
        first, _, body = said.partition(b"\r\n\r\n")
        return first[9:12], json.loads(body).get("error", {}).get("sqlstate", ""), str(tmp_path).encode() in body

    async def visit(port: int) -> None:
        paths = ["/survey/v1/keys", f"/survey/v1/{task.id}"]
        monkeypatch.setattr(file_access, "PATIENCE", 0.1)
        with closing(sqlite3.connect(file, isolation_level=None)) as other:
            other.execute("BEGIN EXCLUSIVE")
            assert [await told(port, path) for path in paths] == [(b"503", "55P03", False)] * 2
        file.write_bytes(whole[:100] + b"\xff" * 900 + whole[1000:])
        assert [await told(port, path) for path in paths] == [(b"503", "57P01", False)] * 2
        file.write_bytes(whole)
        assert [await told(port, path) for path in paths] == [(b"200", "", False)] * 2

    opened(place, HttpLimits(), visit)


@contextmanager
def without_state(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Iterator[None]:
    """While the head of the ledger cannot be kept outside the home."""
    folder.mkdir(exist_ok=True)
    (folder / "file").write_text("no folder")
    with monkeypatch.context() as patched:
        patched.setenv("DISCREET_STATE", str(folder / "file"))
        yield


def test_a_head_that_cannot_be_kept_closes_both_doors_with_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = settled(tmp_path / "place")
    sentence, body = "nothing can be paid here for now; nothing was charged", json.dumps({"sql": COUNT, "epsilon": 1})

    async def visit(port: int) -> None:
        with without_state(monkeypatch, tmp_path / "away"):
            said = await reply(port, posted(place, "/api/v1/query", body))
        error = json.loads(said.partition(b"\r\n\r\n")[2])["error"]
        assert said.startswith(b"HTTP/1.1 503 ")
        assert b"retry-after: 60" in said.lower()
        assert (error["kind"], error["sqlstate"], error["message"]) == ("refusal", "55000", sentence)
        assert str(tmp_path) not in str(error)
        assert (await reply(port, posted(place, "/api/v1/query", body))).startswith(b"HTTP/1.1 200 ")

    opened(place, HttpLimits(), visit)
    with opened_wire(tmp_path / "wire") as door, Raw(door.port) as raw:
        raw.login(door.token)
        with without_state(monkeypatch, tmp_path / "away"):
            (error,) = errors(raw.ask(COUNT))
        assert (error["C"], error["M"]) == ("55000", sentence)
        assert str(tmp_path) not in str(error)
        assert json.loads(door.journal[-1])["outcome"] == "closed"


@pytest.mark.parametrize("path", ["/api/v1/query", "/api/v1/explain"])
def test_a_name_that_stands_twice_in_an_object_is_refused(place: Place, path: str) -> None:
    async def visit(port: int) -> None:
        twice = f'{{"sql": "{COUNT}", "epsilon": 1, "epsilon": 2}}'
        said = await reply(port, posted(place, path, twice))
        assert said.startswith(b"HTTP/1.1 400 ")
        assert b"a name stands twice in one object" in said
        assert (await reply(port, posted(place, path, twice.replace(', "epsilon": 2', "")))).startswith(b"HTTP/1.1 200")

    opened(place, HttpLimits(), visit)


def test_half_a_request_makes_room_for_a_whole_one(place: Place) -> None:
    async def visit(port: int) -> None:
        half = [await asyncio.open_connection("127.0.0.1", port) for _ in range(2)]
        half[0][1].write(b"POST /api/v1/query HTTP/1.1\r\nHost: x\r\n")
        half[1][1].write(head(place, "Content-Length: 100") + b"{")
        await asyncio.sleep(0.05)
        whole = posted(place, "/api/v1/tables", "").replace(b"POST", b"GET")
        for _ in range(3):
            assert (await reply(port, whole)).startswith(b"HTTP/1.1 200 ")
        for reader, writer in half:
            assert await everything(reader) == b""
            writer.close()

    opened(place, HttpLimits(each_address=1), visit)


def test_behind_a_trusted_proxy_the_cookie_is_secure() -> None:
    for client, wanted in (("127.0.0.1", True), ("192.0.2.1", False)):
        headers = [(b"x-forwarded-proto", b"https")]
        scope = {"client": (client, 1), "scheme": "http", "headers": headers, "server": ("x", 80)}
        Proxies.read(["127.0.0.1"]).resolved(scope)
        written = CookieSeal().written(scope, "x")
        assert ("; Secure" in written, written.startswith("__Host-")) == (wanted, wanted)


def test_sighup_reads_the_certificate_anew_and_keeps_it_if_that_fails(place: Place, tmp_path: Path) -> None:
    cert, key = certificate_in(tmp_path)
    with served(place.home, "--tls-cert", str(cert), "--tls-key", str(key)) as server:

        def shown() -> str:
            return ssl.get_server_certificate(("127.0.0.1", server.http), timeout=30)

        def told(words: str) -> None:
            server.process.send_signal(signal.SIGHUP)
            for _ in range(500):
                if words in server.journal.read_text():
                    return
                threading.Event().wait(0.02)
            raise TimeoutError(words)

        first = shown()
        certificate_in(tmp_path)  # another one, in its place
        told("the certificate was read anew")
        second = shown()
        assert second != first
        cert.write_text("nonsense")
        told("the certificate stays as it was")
        assert shown() == second
