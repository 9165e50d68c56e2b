"""A client that says exactly what a test wants it to say, also what no client would."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
import socket
import struct
from collections.abc import Sequence
from contextlib import suppress
from typing import Self

START = struct.pack("!I", 3 << 16)


def frame(kind: bytes, body: bytes = b"") -> bytes:
    return kind + struct.pack("!i", len(body) + 4) + body


def opening(body: bytes) -> bytes:
    return struct.pack("!i", len(body) + 4) + body


def greeting(user: str = "ana", **fields: str) -> bytes:
    pairs = {"user": user, "database": "discreet", **fields}
    return opening(START + b"".join(f"{k}\0{v}\0".encode() for k, v in pairs.items()) + b"\0")


def query(sql: str) -> bytes:
    return frame(b"Q", sql.encode() + b"\0")


def parse(sql: str, name: str = "", oids: Sequence[int] = ()) -> bytes:
    return frame(b"P", f"{name}\0{sql}\0".encode() + struct.pack(f"!H{len(oids)}I", len(oids), *oids))


def bind(
    values: Sequence[bytes | None] = (), portal: str = "", name: str = "", formats: Sequence[int] = (), results: int = 0
) -> bytes:
    body = f"{portal}\0{name}\0".encode() + struct.pack(f"!H{len(formats)}h", len(formats), *formats)
    body += struct.pack("!H", len(values))
    for value in values:
        body += struct.pack("!i", -1) if value is None else struct.pack("!i", len(value)) + value
    return frame(b"B", body + struct.pack("!Hh", 1, results))


def describe(kind: str, name: str = "") -> bytes:
    return frame(b"D", f"{kind}{name}\0".encode())


def execute(rows: int = 0, portal: str = "") -> bytes:
    return frame(b"E", f"{portal}\0".encode() + struct.pack("!i", rows))


SYNC = frame(b"S")

Message = tuple[bytes, bytes]


class Raw:
    """A socket that reads messages."""

    def __init__(self, port: int, seconds: float = 20) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=seconds)
        self._buffer = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send(self, *frames: bytes) -> None:
        self.socket.sendall(b"".join(frames))

    def _exactly(self, size: int) -> bytes:
        while len(self._buffer) < size:
            try:
                more = self.socket.recv(1 << 16)
            except ConnectionResetError:  # whoever lets go of us with something of ours unread
                more = b""
            if not more:
                raise EOFError
            self._buffer += more
        found, self._buffer = self._buffer[:size], self._buffer[size:]
        return found

    def read(self) -> Message:
        kind = self._exactly(1)
        (size,) = struct.unpack("!i", self._exactly(4))
        return kind, self._exactly(size - 4)

    def until(self, kind: bytes) -> list[Message]:
        """Every message up to one of a kind."""
        found = [self.read()]
        while found[-1][0] != kind:
            found.append(self.read())
        return found

    def rest(self) -> bytes:
        """Everything up to the end of the connection."""
        found = self._buffer
        with suppress(ConnectionError):
            while more := self.socket.recv(1 << 16):
                found += more
        return found

    def ask(self, sql: str) -> list[Message]:
        self.send(query(sql))
        return self.until(b"Z")

    def said(self, *frames: bytes) -> list[Message]:
        """What comes back to frames, up to the next time the server is ready."""
        self.send(*frames, SYNC)
        return self.until(b"Z")

    def login(self, token: str, user: str = "ana", **fields: str) -> list[Message]:
        """Come in, by SCRAM from the client's side."""
        self.send(greeting(user, **fields))
        kind, body = self.read()
        if kind == b"v":
            kind, body = self.read()
        assert (kind, body[:4]) == (b"R", struct.pack("!i", 10)), (kind, body)
        nonce = secrets.token_urlsafe(12)
        self.send(first_response(nonce))
        kind, body = self.read()
        assert (kind, body[:4]) == (b"R", struct.pack("!i", 11)), (kind, body)
        self.send(final_response(token, nonce, body[4:].decode()))
        return self.until(b"Z")


def first_response(nonce: str, mechanism: str = "SCRAM-SHA-256", header: str = "n,,") -> bytes:
    first = f"{header}n=,r={nonce}".encode()
    return frame(b"p", mechanism.encode() + b"\0" + struct.pack("!i", len(first)) + first)


def final_response(token: str, nonce: str, challenge: str, binding: bytes = b"n,,") -> bytes:
    given = dict(part.split("=", 1) for part in challenge.split(","))
    salted = hashlib.pbkdf2_hmac("sha256", token.encode(), base64.b64decode(given["s"]), int(given["i"]))
    key = hmac.digest(salted, b"Client Key", "sha256")
    bare = f"c={base64.b64encode(binding).decode()},r={given['r']}"
    mask = hmac.digest(hashlib.sha256(key).digest(), f"n=,r={nonce},{challenge},{bare}".encode(), "sha256")
    proof = base64.b64encode(bytes(a ^ b for a, b in zip(key, mask, strict=True))).decode()
    return frame(b"p", f"{bare},p={proof}".encode())


def kinds(messages: Sequence[Message]) -> str:
    """The kinds of messages, one letter each."""
    return b"".join(kind for kind, _ in messages).decode()


def fields(body: bytes) -> dict[str, str]:
    """The fields of an error or a notice."""
    return {part[:1].decode(): part[1:].decode() for part in body.split(b"\0") if part}


def errors(messages: Sequence[Message]) -> list[dict[str, str]]:
    return [fields(body) for kind, body in messages if kind == b"E"]


def rows(messages: Sequence[Message]) -> list[list[bytes | None]]:
    """The cells of every row."""
    found = []
    for kind, body in messages:
        if kind == b"D":
            (count,) = struct.unpack("!H", body[:2])
            cells: list[bytes | None] = []
            at = 2
            for _ in range(count):
                (size,) = struct.unpack("!i", body[at : at + 4])
                at += 4
                cells.append(None if size < 0 else body[at : at + size])
                at += max(0, size)
            found.append(cells)
    return found
