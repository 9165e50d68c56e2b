"""`discreet.connect`: what it refuses before a token leaves, and what it says when the other side is not there."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from urllib.parse import unquote

import pytest
from certificate import certificate_in
from release.published import published, released
from server.http.conftest import Place
from server.served import Server

import discreet as dp
from discreet.client import Connection, Lost, remote_database
from discreet.errors import Refusal
from discreet.exact import Number
from discreet.release.certificate import Certificate
from discreet.release.folder import digest


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("http://example.org", "in the clear"),
        ("http://192.168.0.1:8410", "in the clear"),
        ("http://127.0.0.1.example.org", "in the clear"),
        ("ftp://127.0.0.1", "expected an address"),
        ("127.0.0.1:8410", "expected an address"),
        ("", "expected an address"),
        ("http://ann:secret@127.0.0.1:8410", "holds no password"),
        ("http://127.0.0.1:8410/?token=1", "expected an address"),
        ("http://127.0.0.1:99999", "expected an address"),
    ],
)
def test_an_address_that_would_give_the_token_away_is_refused(url: str, says: str) -> None:
    with pytest.raises(Refusal, match=says):
        dp.connect(url, "token")


@pytest.mark.parametrize("token", [None, "", "two words", "line\nbreak", "é"])
def test_a_door_opens_for_a_token(monkeypatch: pytest.MonkeyPatch, token: str | None) -> None:
    monkeypatch.delenv("DISCREET_TOKEN", raising=False)
    with pytest.raises(Refusal, match="opens for a token"):
        dp.connect(token=token)


def test_the_token_may_come_from_the_environment(place: Place, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISCREET_TOKEN", place.ann)
    there = dp.connect(server.url)
    assert [table.name for table in there.tables()] == ["visits"]
    assert place.ann not in repr(there)


def test_a_history_that_fills_several_pages_is_read_to_its_end(
    place: Place, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = server.connect(place.ann)
    for least in range(5):
        there.query(f"SELECT count(*) FROM visits WHERE cost > {least}", epsilon="0.01")
    whole = there.history()
    assert len(whole) >= 5
    for size in (1, 2, len(whole)):
        monkeypatch.setattr(remote_database, "_PAGE", size)
        assert there.history() == whole


def test_a_wrong_token_is_a_refusal(server: Server) -> None:
    with pytest.raises(Refusal, match="opens for a token"):
        dp.connect(server.url, "wrong").populations()


def test_nobody_there_is_a_refusal_because_nothing_was_sent() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(Refusal, match=f"nobody answers at http://127.0.0.1:{port}"):
        dp.connect(f"http://127.0.0.1:{port}", "token").tables()


def _answering(reply: bytes) -> tuple[int, threading.Thread]:
    """Somebody else at a port, who reads a request and says this."""
    listener = socket.create_server(("127.0.0.1", 0))

    def answer() -> None:
        wire, _ = listener.accept()
        with listener, wire:
            wire.recv(65_536)
            wire.sendall(reply)

    thread = threading.Thread(target=answer)
    thread.start()
    return listener.getsockname()[1], thread


def test_a_connection_that_breaks_is_no_refusal_because_it_may_have_been_paid() -> None:
    port, thread = _answering(b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{")
    with pytest.raises(Lost, match="if it was paid, asking again is free") as lost:
        dp.connect(f"http://127.0.0.1:{port}", "token").query("SELECT 1")
    thread.join()
    assert not isinstance(lost.value, Refusal)


@pytest.mark.parametrize(
    "reply",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]",
        b"HTTP/1.1 302 Found\r\nLocation: http://example.org/\r\nContent-Length: 0\r\n\r\n",
        b'HTTP/1.1 400 Bad\r\nContent-Length: 13\r\n\r\n{"error": 17}',
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}",
    ],
)
def test_somebody_else_at_the_address_is_noticed_and_redirects_are_not_followed(reply: bytes) -> None:
    port, thread = _answering(reply)
    with pytest.raises(Refusal, match="does not speak as a door of discreet does"):
        dp.connect(f"http://127.0.0.1:{port}", "token").tables()
    thread.join()


def test_an_unknown_population_is_refused_as_at_home(place: Place, server: Server) -> None:
    said = []
    for db in (dp.open(place.home), server.connect(place.ann)):
        with pytest.raises(Refusal) as refused:
            db.budget("nobody")
        said.append(str(refused.value))
    assert said[0] == said[1]


def test_prices_go_through_exactly(place: Place, server: Server) -> None:
    there: Connection = server.connect(place.ann)
    prices: list[Number] = [0.1, "0.1", Fraction(1, 10), "1e-1", "1/10"]
    for number, price in enumerate(prices):
        answer = there.query(f"SELECT count(*) AS n FROM visits WHERE cost > {300 + number}", epsilon=price)
        assert answer.cost is not None
        assert answer.cost.epsilon == Fraction(1, 10)  # type: ignore[union-attr]


# what somebody else may do -------------------------------------------------------------------------------------------


def test_a_token_is_not_sent_to_who_cannot_show_a_trusted_certificate(tmp_path: Path) -> None:
    heard: list[bytes] = []
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(*certificate_in(tmp_path))
    listener = socket.create_server(("127.0.0.1", 0))

    def listen() -> None:
        with listener, contextlib.suppress(OSError):
            wire, _ = listener.accept()
            with wire, tls.wrap_socket(wire, server_side=True) as secure:
                heard.append(secure.recv(65_536))

    thread = threading.Thread(target=listen)
    thread.start()
    with pytest.raises(Refusal, match="its certificate is not trusted"):
        dp.connect(f"https://127.0.0.1:{listener.getsockname()[1]}", "token").tables()
    thread.join()
    assert heard == []


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of a release that holds."""
    made = tmp_path_factory.mktemp("releases") / "regions"
    published(made, released({"kind": "histogram", "columns": ["region"]}))
    return made


@contextlib.contextmanager
def handing_out(files: Mapping[str, bytes]) -> Iterator[str]:
    """Somebody who says that these are the files of every release."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            content = files[unquote(self.path.rpartition("/")[2])]
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Nothing."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize("name", ["../../evil", "{}/evil", "below/evil"])
def test_a_server_writes_no_file_outside_the_folder_of_a_release(folder: Path, tmp_path: Path, name: str) -> None:
    """Its certificate is in order but for the name of one file."""
    named = name.format(tmp_path)
    certificate = Certificate.from_json((folder / "certificate.json").read_text(encoding="utf-8"))
    more = replace(certificate, files={**certificate.files, named: digest(b"evil")})
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    with handing_out({**files, "certificate.json": more.to_json().encode(), named: b"evil"}) as there:
        with pytest.raises(Refusal, match="does not speak as a door of discreet does"):
            dp.connect(there, "token").certified(1, tmp_path / "out")
        assert list(tmp_path.iterdir()) == []


def test_a_release_that_was_changed_on_its_way_is_not_kept(folder: Path, tmp_path: Path) -> None:
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    with handing_out(files) as there:
        dp.connect(there, "token").certified(1, tmp_path / "as it was")
    for name in sorted(set(files) - {"certificate.json"}):
        with handing_out({**files, name: files[name] + b" "}) as there, pytest.raises(Refusal, match="changed"):
            dp.connect(there, "token").certified(1, tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["as it was"]
