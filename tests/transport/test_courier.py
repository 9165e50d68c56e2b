"""A courier: goes to web addresses, tells a token to nobody in between, and takes no nonsense for an answer."""

from __future__ import annotations

import socket
import ssl
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest
from certificate import certificate_in

from discreet.errors import Refusal
from discreet.transport.device_client import Courier, Unreached, _json, _message


@pytest.mark.parametrize(
    "url",
    ["ftp://x", "survey.example.org", "https://", "", "http://a:b", "http://a:99999", "http://[::1", "http://a\n.b"],
)
def test_a_courier_goes_to_web_addresses(url: str) -> None:
    with pytest.raises(Refusal, match="expected an address"):
        Courier(url)


def test_a_courier_does_not_shout_a_token() -> None:
    with pytest.raises(Refusal, match="in the clear"):
        Courier("http://survey.example.org").send("0" * 32, b"", "token")


def test_a_courier_that_meets_nobody_says_so() -> None:
    with pytest.raises(Unreached, match="nobody answers"):
        Courier("http://127.0.0.1:9", seconds=2).task("0" * 32)


def test_a_courier_goes_to_nobody_whom_no_authority_vouches_for(tmp_path: Path) -> None:
    """A server with a certificate of its own: it is reached by whoever was told of that, and by nobody else."""
    cert, key = certificate_in(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    asked: list[bytes] = []

    def serve(listening: socket.socket) -> None:
        there, _ = listening.accept()
        with there, suppress(OSError), context.wrap_socket(there, server_side=True) as safe:
            asked.append(safe.recv(1000))
            safe.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ntask")

    with socket.create_server(("127.0.0.1", 0)) as listening, ThreadPoolExecutor(1) as threads:
        url = f"https://127.0.0.1:{listening.getsockname()[1]}"
        served = threads.submit(serve, listening)
        with pytest.raises(Unreached, match="nobody answers"):
            Courier(url).task("0" * 32)
        served.result()
        served = threads.submit(serve, listening)
        assert Courier(url, tls=ssl.create_default_context(cafile=str(cert))).task("0" * 32) == b"task"
        served.result()
    assert [request.split()[0] for request in asked] == [b"GET"]


def test_a_courier_takes_no_nonsense() -> None:
    for content in (b"[" * 100_000, b'{"a": 1, "a": 2}', b"\xff", b"[]"):
        with pytest.raises(Unreached, match="no JSON object"):
            _json(content)
    assert _message(b'{"error": {"message": "no\\u001b[2J way"}}') == "no[2J way"
    assert _message(b'{"error": "no"}') == "no reason given"
    for token in ("a\nb", "a\r\nX: y", "ä"):
        with pytest.raises(Refusal, match="as it was handed out"):
            Courier("http://127.0.0.1:9").send("0" * 32, b"", token)
    assert Courier("http://127.0.0.1:81/x").address == "http://127.0.0.1:81"
    assert Courier("https://a.example").address == "https://a.example:443"
    for name in ("ä" * 32, "a b", "../x", "A" * 32):
        with pytest.raises(Refusal, match="32 small hexadecimal digits"):
            Courier("http://127.0.0.1:9").task(name)
