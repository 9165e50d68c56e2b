"""`discreet serve` as people run it: a process of its own on a free port of this machine."""

from __future__ import annotations

import http.client
import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from warm import Warm, started

from discreet.client import Connection


@dataclass(frozen=True)
class Reply:
    """What came back: everything that left the door."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:  # noqa: ANN401  # whatever it is
        return json.loads(self.body)

    @property
    def error(self) -> dict[str, Any]:
        found = self.json["error"]
        assert set(found) == {"kind", "message", "hint", "sqlstate", "place", "repair"}
        return dict(found)

    @property
    def text(self) -> str:
        return "\n".join([*(f"{name}: {value}" for name, value in self.headers.items()), self.body.decode()])


@dataclass(frozen=True)
class Server:
    """A running server."""

    process: subprocess.Popen[str] | Warm
    greeting: str
    journal: Path

    @property
    def http(self) -> int:
        return int(re.findall(r"HTTP at https?://127\.0\.0\.1:(\d+)", self.greeting)[0])

    @property
    def pg(self) -> int:
        return int(re.findall(r"Postgres at 127\.0\.0\.1:(\d+)", self.greeting)[0])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.http}"

    def connect(self, token: str) -> Connection:
        return Connection(self.url, token)

    def call(
        self,
        method: str,
        path: str,
        token: str | None = None,
        body: object = None,
        headers: Mapping[str, str] | None = None,
    ) -> Reply:
        """One request, answered by whatever comes back. Bytes are sent as they are, anything else as JSON."""
        sent = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
        kind = {} if sent is None else {"Content-Type": "application/json"}
        bearer = {} if token is None else {"Authorization": f"Bearer {token}"}
        connection = http.client.HTTPConnection("127.0.0.1", self.http, timeout=600)
        try:
            with suppress(BrokenPipeError, ConnectionResetError):  # it may be turned away before all of it was sent
                connection.request(method, path, sent, {**kind, **bearer, **(headers or {})})
            response = connection.getresponse()
            return Reply(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())
        finally:
            connection.close()

    def lines(self) -> list[dict[str, Any]]:
        """The journal so far."""
        return [json.loads(line) for line in self.journal.read_text().splitlines() if line.startswith("{")]

    def stop(self) -> int:
        """SIGTERM, and the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=600)


@contextmanager
def served(home: Path, *options: str, doors: Sequence[str] = ("http",), cold: bool = False) -> Iterator[Server]:
    """A server of a home, stopped in the end. It is forked from a process that is warm, unless it shall be cold."""
    addresses = {name: "127.0.0.1:0" if name in doors else "off" for name in ("http", "pg")}
    command = ["serve", "--home", str(home), *options]
    command += [
        part for name, address in addresses.items() for part in (f"--{name}", address) if f"--{name}" not in options
    ]
    journal = home.with_name(f"{home.name}.journal")
    with journal.open("a") as log:
        process = _cold(command, log) if cold else started(command, log.fileno())
    assert process.stdout is not None
    with process.stdout:
        greeting = []
        for line in process.stdout:
            greeting.append(line)
            if line.startswith("stop with"):
                break
        try:
            assert greeting, journal.read_text()
            yield Server(process, "".join(greeting), journal)
        finally:
            process.terminate()
            try:
                process.wait(timeout=600)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                raise


def _cold(arguments: Sequence[str], log: IO[str]) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "discreet", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
