"""A visitor who sends any text of at most 10,000 characters leaves the server below 1 GB, and others' p99 below 1 s.

The server is `discreet serve` in a process of its own, over loopback. Eve, an analyst, sends each text through the door
named, four times at once, and waits for what comes of it; or she holds connections. Meanwhile ana asks in turns: over
HTTP a question that she asked before and a new one that is paid, over Postgres a new connection that looks into the
catalogue. `memory` is the most that the server and all its processes had (proportional shares, from /proc), `p99` is
ana's, `times quiet` how many times her p99 before eve came. `load` is how many processes wanted the cores meanwhile.
"""

from __future__ import annotations

import http.client
import json
import os
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import psycopg
import pyarrow as pa

from benchmarks.doors import Home
from benchmarks.serving import Serving, serving
from discreet.curator.custody import Custody, Declared

AT_ONCE = 4
QUIET = 20.0  # seconds
HELD = 15.0  # seconds that eve holds connections
LONGEST = 10_000  # characters
MEGABYTE = 1 << 20

_AS = "'aaaaaaaaaaaaaaaa'"
_NESTED = f"{'replace(' * 30}{_AS}{f', {chr(39)}a{chr(39)}, {_AS})' * 30}"


def _chain(first: str, step: str, many: int = 40) -> str:
    """WITH queries, each made of the one before."""
    steps = ", ".join(f"t{i} AS ({step.format(i - 1)})" for i in range(1, many))
    return f"WITH t0 AS ({first}), {steps} SELECT * FROM t{many - 1}"  # noqa: S608  # that is the point


def _filled(before: str, piece: Callable[[int], str], between: str, after: str) -> str:
    """As many pieces as there is room for."""
    pieces: list[str] = []
    size = len(before) + len(after)
    for i in count():
        size += len(piece(i)) + len(between)
        if size > LONGEST:
            return before + between.join(pieces) + after
        pieces.append(piece(i))
    raise AssertionError


POSTGRES = {
    "a series of a billion": "SELECT generate_series(1, 1000000000)",
    "a count of a series": "SELECT count(*) FROM generate_series(1, 1000000000) AS g",
    "thirty replace() in each other": f"SELECT {_NESTED}",
    "its length": f"SELECT length({_NESTED})",
    "catalogue tables times each other": "SELECT count(*) FROM pg_class, pg_class b, pg_class c, pg_attribute d",
    "all of their names in one text": "SELECT string_agg(a.relname || b.relname, ',') FROM pg_class a, pg_class b, "
    "pg_class c",
    "WITH RECURSIVE without end": "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT count(*) "
    "FROM t",
    "a text that doubles without end": "WITH RECURSIVE t(n) AS (SELECT 'a' UNION ALL SELECT n || n FROM t) "
    "SELECT max(n) FROM t",
    "a long pattern": f"SELECT count(*) FROM pg_class WHERE relname ~ '{'(a*)*' * 1900}b'",  # noqa: S608
    "4,900 parentheses": f"SELECT {'(' * 4900}1{')' * 4900}",
    "a list of thousands": _filled("SELECT count(*) FROM pg_class WHERE oid IN (", str, ",", ")"),
    "10,000 signs": "SELECT " + "-+" * 4900 + "1",
    "words and nothing else": _filled("SELECT ", lambda i: f"a{i}", " ", ""),
}
HTTP = {
    "public tables times each other": "SELECT count(*) FROM wards a, wards b, wards c, wards d",
    "their rows": "SELECT a.name || b.name FROM wards a, wards b",
    "the same under private rows": "SELECT count(*) FROM visits JOIN (SELECT a.ward FROM wards a, wards b, wards c) w "
    "ON w.ward = visits.user_id",
    "noisy tables times each other": _chain(
        "SELECT region FROM visits GROUP BY region", "SELECT a.region FROM t{0} a CROSS JOIN t{0} b", 20
    ),
    "a text that doubles 40 times": _chain(
        "SELECT min(region) AS s FROM (SELECT region, count(*) FROM visits GROUP BY region)",
        "SELECT s || s AS s FROM t{0}",
    ),
    "a formula that doubles 40 times": _chain(
        "SELECT count(*) AS s FROM visits", "SELECT (s + 1) * (s + 2) AS s FROM t{0}"
    ),
    "rows that double 40 times": _chain("SELECT cost FROM visits", "SELECT * FROM t{0} UNION ALL SELECT * FROM t{0}"),
    "a sum of thousands of terms": _filled("SELECT sum(", lambda _: "cost", "+", ") FROM visits"),
    "a list of keys": _filled("SELECT count(*) FROM visits WHERE user_id IN (", str, ",", ")"),
    "conditions": _filled("SELECT count(*) FROM visits WHERE ", lambda i: f"cost > {i}", " OR ", ""),
    "cases": _filled("SELECT sum(CASE ", lambda i: f"WHEN cost > {i} THEN {i}", " ", " ELSE 0 END) FROM visits"),
    "questions in a question": _filled(
        "SELECT ",
        lambda i: f"(SELECT count(*) FROM visits WHERE cost > {i})",  # noqa: S608
        ", ",
        "",
    ),
    "4,900 parentheses": f"SELECT count(*) FROM visits WHERE {'(' * 4900}cost > 1{')' * 4900}",  # noqa: S608
}


# who is measured ------------------------------------------------------------------------------------------------------


def family(root: int) -> list[int]:
    """A process and all that came of it."""
    parents: dict[int, int] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            stat = (folder / "stat").read_text(encoding="ascii", errors="replace")
            parents[int(folder.name)] = int(stat.rpartition(")")[2].split()[1])
    found = [root]
    for process in found:
        found += [child for child, parent in parents.items() if parent == process]
    return found


def memory(root: int) -> float:
    """Megabytes of a process and all that came of it; what they share counts once."""
    total = 0
    for process in family(root):
        with suppress(OSError):
            rollup = Path(f"/proc/{process}/smaps_rollup").read_text(encoding="ascii")
            total += next((int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:")), 0)
    return total / 1024


@dataclass
class Watch:
    """Ana, and how much memory the server has, as long as the block lasts."""

    server: Serving
    token: str
    seconds: list[float] = field(default_factory=list)
    failed: int = 0
    most: float = 0.0
    numbers: Iterator[int] = field(default_factory=count)

    @contextmanager
    def over(self) -> Iterator[None]:
        """Look until the end of the block."""
        self.seconds, self.failed, self.most = [], 0, 0.0
        done = threading.Event()
        with ThreadPoolExecutor(2) as threads:
            looking = [threads.submit(self._ask, done), threads.submit(self._weigh, done)]
            try:
                yield
            finally:
                done.set()
                for each in looking:
                    each.result()

    def _ask(self, done: threading.Event) -> None:
        turns = (self._again, self._new, self._connected)
        while not done.wait(0.05):
            for turn in turns:
                start = time.perf_counter()
                try:
                    turn()
                except (psycopg.Error, OSError, AssertionError):
                    self.failed += 1
                self.seconds.append(time.perf_counter() - start)

    def _weigh(self, done: threading.Event) -> None:
        while not done.wait(0.2):
            self.most = max(self.most, memory(self.server.process))

    def _again(self) -> None:
        assert asked(self.server, self.token, "SELECT count(*) AS n FROM visits") == 200

    def _new(self) -> None:
        sql = f"SELECT count(*) AS n FROM visits WHERE cost > {next(self.numbers)} / 7.0"  # noqa: S608
        assert asked(self.server, self.token, sql) == 200

    def _connected(self) -> None:
        with connected(self.server, "ana", self.token) as wire:
            assert wire.execute(f"SELECT relname FROM pg_class WHERE oid > {next(self.numbers)}").fetchone()  # noqa: S608

    @property
    def p99(self) -> float:
        """Of ana's questions, in seconds."""
        return sorted(self.seconds)[int(len(self.seconds) * 0.99)]


def asked(server: Serving, token: str, sql: str) -> int:
    """The status of an answer."""
    connection = http.client.HTTPConnection("127.0.0.1", server.http, timeout=120)
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    connection.request("POST", "/api/v1/query", json.dumps({"sql": sql, "epsilon": 1}), headers)
    try:
        reply = connection.getresponse()
        reply.read()
        return reply.status
    finally:
        connection.close()


def connected(server: Serving, who: str, token: str) -> psycopg.Connection[tuple[object, ...]]:
    """A connection to the Postgres door."""
    address = f"host=127.0.0.1 port={server.pg} user={who} dbname=discreet sslmode=disable"
    return psycopg.connect(address, password=token, autocommit=True, connect_timeout=60)


# what eve does --------------------------------------------------------------------------------------------------------


def through_postgres(server: Serving, token: str, sql: str) -> str:
    """What comes of a text."""
    try:
        with connected(server, "eve", token) as wire:
            return f"{len(wire.execute(sql.encode()).fetchall())} rows"
    except psycopg.Error as refused:
        return f"{refused.sqlstate}"


def through_http(server: Serving, token: str, sql: str) -> str:
    """What comes of a text."""
    return str(asked(server, token, sql))


@contextmanager
def idle(server: Serving, token: str) -> Iterator[int]:
    """As many connections as the Postgres door lets eve have, all silent."""
    with ExitStack() as stack:
        many = 0
        with suppress(psycopg.Error):
            for _ in range(600):
                stack.enter_context(connected(server, "eve", token))
                many += 1
        yield many


@contextmanager
def half(port: int, sent: bytes, many: int) -> Iterator[int]:
    """Connections that stop in the middle, again and again."""
    done = threading.Event()

    def keep() -> None:
        wires: list[socket.socket] = []
        while not done.wait(0.01):
            with suppress(OSError):
                wire = socket.create_connection(("127.0.0.1", port), timeout=5)
                wire.sendall(sent)
                wires.append(wire)
            if len(wires) > many:
                wires.pop(0).close()
        for wire in wires:
            wire.close()

    with ThreadPoolExecutor(1) as threads:
        held = threads.submit(keep)
        try:
            yield many
        finally:
            done.set()
            held.result()


def attacks(server: Serving, token: str) -> Iterator[tuple[str, str, Callable[[], str]]]:
    """Door, what is done, and how."""

    def at_once(ask: Callable[[Serving, str, str], str], sql: str) -> str:
        with ThreadPoolExecutor(AT_ONCE) as threads:
            return ", ".join(sorted({*threads.map(lambda _: ask(server, token, sql), range(AT_ONCE))}))

    def waited(held: Callable[[], object]) -> str:
        with held() as many:  # type: ignore[attr-defined]
            time.sleep(HELD)
        return f"{many} at once"

    for name, sql in POSTGRES.items():
        yield "Postgres", name, lambda sql=sql: at_once(through_postgres, sql)  # type: ignore[misc]
    for name, sql in HTTP.items():
        yield "HTTP", name, lambda sql=sql: at_once(through_http, sql)  # type: ignore[misc]
    head = f"POST /api/v1/query HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n"
    body = f"{head}Content-Type: application/json\r\nContent-Length: 60000\r\n\r\n{{"
    yield "Postgres", "idle connections", lambda: waited(lambda: idle(server, token))
    yield "Postgres", "silent strangers", lambda: waited(lambda: half(server.pg, b"\0\0", 400))
    yield "HTTP", "half-sent heads", lambda: waited(lambda: half(server.http, head.encode(), 900))
    yield "HTTP", "half-sent bodies", lambda: waited(lambda: half(server.http, body.encode(), 900))


def measured(server: Serving, watch: Watch, token: str) -> Iterator[Sequence[str]]:
    """Each attack, and how ana fared."""
    with watch.over():
        time.sleep(QUIET)
    quiet = watch.p99
    yield "", "nothing", "", "", f"{watch.most:.0f} MB", f"{quiet:.2f} s", "1", str(watch.failed), load()
    for door, name, attack in attacks(server, token):
        start = time.perf_counter()
        with watch.over():
            ended = attack()
            taken = time.perf_counter() - start
            while time.perf_counter() - start < HELD:  # what is refused at once is sent again, so that ana asks often
                attack()
        times = f"{watch.p99 / quiet:.1f}"
        memory_used = f"{watch.most:.0f} MB"
        yield door, name, ended, f"{taken:.1f} s", memory_used, f"{watch.p99:.2f} s", times, str(watch.failed), load()


def ended(home: Home, token: str) -> str:
    """How long the server and all its processes live after SIGTERM, while they compute for eve."""
    with serving(home.folder) as server, ThreadPoolExecutor(AT_ONCE) as threads:
        sql = POSTGRES["catalogue tables times each other"]
        under_way = [threads.submit(through_postgres, server, token, sql) for _ in range(AT_ONCE)]
        time.sleep(3)
        processes, start = family(server.process), time.perf_counter()
        os.kill(server.process, 15)
        while any(_lives(process) for process in processes):
            time.sleep(0.02)
        taken = time.perf_counter() - start
        for each in under_way:
            each.result()
    return f"After SIGTERM while {AT_ONCE} such questions run, all {len(processes)} processes end in {taken:.1f} s."


def _lives(process: int) -> bool:
    with suppress(OSError):
        stat = Path(f"/proc/{process}/stat").read_text(encoding="ascii", errors="replace")
        return stat.rpartition(")")[2].split()[0] not in "ZX"
    return False


def load() -> str:
    """Processes that wanted the cores in the last minute."""
    return f"{os.getloadavg()[0]:.1f}"


COLUMNS = ("door", "eve sends", "gets", "after", "memory", "p99", "times quiet", "ana failed", "load")


def main() -> None:
    """Print the tables."""
    with tempfile.TemporaryDirectory() as folder:
        home = Home.made(Path(folder))
        wards = pa.table({"ward": range(2000), "name": [f"ward {i}" for i in range(2000)]})
        Custody(home.folder).add("wards", wards, Declared(public=True))
        token = Custody(home.folder).let_in("eve", "analyst")
        print("|", " | ".join(COLUMNS), "|")
        print("|", " | ".join("---" for _ in COLUMNS), "|")
        worst = [0.0, 0.0]
        with serving(home.folder) as server:
            asked(server, home.token, "SELECT count(*) AS n FROM visits")
            watch = Watch(server, home.token)
            for row in measured(server, watch, token):
                print("|", " | ".join(row), "|", flush=True)
                worst = [max(worst[0], watch.most), max(worst[1], watch.p99)]
        print(
            f"\nAt most {worst[0]:.0f} MB (bar 1024 MB) and a p99 of {worst[1]:.2f} s (bar 1 s). {ended(home, token)}"
        )


if __name__ == "__main__":
    main()
