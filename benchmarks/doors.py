"""A question that was asked before costs a door at most 1 ms of CPU, and a fresh one at most 20 ms beside the engine.

The server is `discreet serve` in a process of its own. (1) The same question again and again by one visitor, for
nothing: CPU of the server process (user and system, from /proc), on average of a thousand after two hundred others.
(2) Questions that are paid: seconds between asking and having the answer, less what the engine needed for its counts,
measured around it in the same process; median of thirty. (3) Two hundred connections of four people ask for a minute,
one question in fifty is new and paid; they come in thirty-two at a time, as an address may hold 64 that are not let in
yet. Client and server share two cores. `load` is how many processes wanted the cores meanwhile.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import multiprocessing
import os
import secrets
import statistics
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import asyncpg
import psycopg

from benchmarks.serving import Serving, serving
from benchmarks.visits import REGIONS, write
from discreet.curator.custody import Custody, Declared, found_home
from discreet.desk import Desk
from discreet.engines import DuckStore
from discreet.engines.duckdb import Counted
from discreet.sandbox import Processes
from discreet.server.journal import Journal
from discreet.server.pg_catalog import PostgresCatalogue
from discreet.server.pgwire import serve
from discreet.sql.plan import Measurement

ROWS = 100_000
WARM, TIMES = 200, 1_000
PAID = 30
CONNECTIONS, SECONDS, NEW = 200, 60.0, 50
PEOPLE, AT_ONCE = ("ana", "ben", "cleo", "dan"), 32
OPTIONS = "sslmode=disable&options=-c%20discreet.epsilon%3D1"

COUNT = "SELECT count(*) AS n FROM visits"
BY_REGION = "SELECT region, count(*) AS n, avg(cost) AS a FROM visits GROUP BY region ORDER BY region"
ABOVE = "SELECT count(*) AS n FROM visits WHERE cost > $1"


@dataclass(frozen=True)
class Home:
    """A home of visits, and the tokens of those who ask."""

    folder: Path
    tokens: dict[str, str]

    @property
    def token(self) -> str:
        """Of whoever asks alone."""
        return self.tokens[PEOPLE[0]]

    @classmethod
    def made(cls, folder: Path) -> Home:
        """With so much budget that it does not run out."""
        write(folder / "visits.parquet", ROWS)
        home = folder / "home"
        found_home(home)
        declared = Declared(
            unit="user_id",
            epsilon=10**9,
            delta="1e-3",
            max_rows=72,
            max_groups=10,
            bounds={"cost": (0, 3000)},
            keys={"region": REGIONS},
        )
        Custody(home).add("visits", str(folder / "visits.parquet"), declared)
        return cls(home, {name: Custody(home).let_in(name, "analyst") for name in PEOPLE})


@dataclass(frozen=True)
class Served(Serving):
    """A server of this home."""

    home: Home

    def uri(self, name: str = PEOPLE[0]) -> str:
        """Where a Postgres client of somebody's finds it."""
        return f"postgresql://{name}:{self.home.tokens[name]}@127.0.0.1:{self.pg}/discreet?{OPTIONS}"


@contextmanager
def served(home: Home) -> Iterator[Served]:
    """Until the end of the block."""
    with serving(home.folder) as found:
        yield Served(found.process, found.http, found.pg, home)


# the same again -------------------------------------------------------------------------------------------------------

Ask = Callable[[], object]


def taken(server: Served, ask: Ask) -> tuple[float, float]:
    """CPU milliseconds of the server and milliseconds on the clock for one question, when it is asked many times."""
    for _ in range(WARM):
        ask()
    cpu, start = server.cpu(), perf_counter()
    for _ in range(TIMES):
        ask()
    return 1000 * (server.cpu() - cpu) / TIMES, 1000 * (perf_counter() - start) / TIMES


@contextmanager
def prepared(server: Served, sql: str) -> Iterator[Ask]:
    """Bind and Execute of a statement that was prepared once."""
    loop = asyncio.new_event_loop()
    connection = loop.run_until_complete(asyncpg.connect(server.uri()))
    statement = loop.run_until_complete(connection.prepare(sql))
    yield lambda: loop.run_until_complete(statement.fetch())
    loop.run_until_complete(connection.close())
    loop.close()


@contextmanager
def described(server: Served, sql: str) -> Iterator[Ask]:
    """Bind, Describe and Execute, as libpq does."""
    with psycopg.connect(server.uri(), autocommit=True) as connection:
        yield lambda: connection.execute(sql, prepare=True).fetchall()


@contextmanager
def simple(server: Served, sql: str) -> Iterator[Ask]:
    """One Query message."""
    with psycopg.connect(server.uri(), autocommit=True, cursor_factory=psycopg.ClientCursor) as connection:
        yield lambda: connection.execute(sql).fetchall()


@contextmanager
def over_http(server: Served, sql: str) -> Iterator[Ask]:
    """POST on a connection that stays open."""
    connection = http.client.HTTPConnection("127.0.0.1", server.http)
    headers = {"Authorization": f"Bearer {server.home.token}", "Content-Type": "application/json"}
    body = json.dumps({"sql": sql, "epsilon": 1})

    def ask() -> Any:
        connection.request("POST", "/api/v1/query", body, headers)
        reply = connection.getresponse()
        found = json.loads(reply.read())
        assert reply.status == 200, found
        return found["rows"]

    yield ask
    connection.close()


DOORS = {
    "Postgres, prepared (Bind, Execute)": prepared,
    "Postgres, prepared (Bind, Describe, Execute)": described,
    "Postgres, simple": simple,
    "HTTP, keep-alive": over_http,
}


def repeated(server: Served) -> Iterator[Sequence[str]]:
    """Each door, for one row and for fifty."""
    for name, door in DOORS.items():
        for what, sql in (("1 row", COUNT), ("50 rows", BY_REGION)):
            with door(server, sql) as ask:
                cpu, wall = taken(server, ask)
            yield name, what, f"{cpu:.2f} ms", f"{wall:.2f} ms", "≤ 1 ms", load()


# paid -----------------------------------------------------------------------------------------------------------------


class Timed:
    """How long the engine counted, in all."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def watch(self) -> None:
        """From now on."""
        inner = DuckStore.counted

        def counted(store: DuckStore, measurement: Measurement) -> Counted:
            start = perf_counter()
            try:
                return inner(store, measurement)
            finally:
                self.seconds += perf_counter() - start

        DuckStore.counted = counted  # type: ignore[method-assign, assignment]  # here and in no other process


@contextmanager
def opened(home: Home) -> Iterator[str]:
    """The Postgres door in a thread of this process, so that the engine's time is seen."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    sandbox = Processes(("discreet.curator.sandboxed_planner", "discreet.server.pg_catalog"))
    desk = Desk(home.folder, sandbox)
    journal = Journal(lambda _: None)
    opening = serve(desk, PostgresCatalogue(desk), "127.0.0.1", 0, journal=journal)
    server = asyncio.run_coroutine_threadsafe(opening, loop).result()
    yield f"postgresql://{PEOPLE[0]}:{home.token}@127.0.0.1:{server.address[1]}/discreet?{OPTIONS}"
    asyncio.run_coroutine_threadsafe(server.drain(), loop).result()
    sandbox.close()
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


def paid(home: Home) -> Iterator[Sequence[str]]:
    """Questions that nobody asked before."""
    engine = Timed()
    engine.watch()
    with opened(home) as uri, psycopg.connect(uri, autocommit=True, cursor_factory=psycopg.ClientCursor) as connection:
        for what, sql in (
            ("1 row", ABOVE.replace("$1", "{}")),
            ("50 rows", BY_REGION.replace("GROUP", "WHERE cost > {} GROUP", 1)),
        ):
            beside, whole = [], []
            for turn in range(PAID + 3):
                text = sql.format(f"{turn}.{secrets.randbelow(10**6):06d}")
                engine.seconds, start = 0.0, perf_counter()
                connection.execute(text).fetchall()
                whole.append(perf_counter() - start)
                beside.append(whole[-1] - engine.seconds)
            extra, all_of_it = (1000 * statistics.median(each[3:]) for each in (beside, whole))
            worst = 1000 * max(beside[3:])
            yield (
                what,
                f"{all_of_it:.1f} ms",
                f"{all_of_it - extra:.1f} ms",
                f"{extra:.1f} ms",
                f"{worst:.1f} ms",
                "≤ 20 ms",
                load(),
            )


# many -----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Crowd:
    """What those who ask at once have in common: the way in, when it is over, and what came of it."""

    entrance: asyncio.Semaphore
    until: asyncio.Event
    told: list[float]
    wrong: list[str]


async def _let_in(uri: str, crowd: Crowd) -> asyncpg.Connection | None:
    async with crowd.entrance:
        try:
            return await asyncpg.connect(uri, timeout=60)
        except (OSError, asyncpg.PostgresError, TimeoutError) as failed:
            crowd.wrong.append(type(failed).__name__)
            return None


async def _visit(uri: str, crowd: Crowd, ready: Callable[[], None]) -> None:
    """One connection, which asks until it is told to stop."""
    connection = await _let_in(uri, crowd)
    ready()
    if connection is None:
        return
    while not crowd.until.is_set():
        start = perf_counter()
        try:
            if secrets.randbelow(NEW):
                await connection.fetchval(COUNT)
            else:
                await connection.fetchval(ABOVE, secrets.randbelow(3 * 10**9) / 10**6)
        except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as failed:
            crowd.wrong.append(type(failed).__name__)
            return
        crowd.told.append(perf_counter() - start)
    await connection.close()


async def _crowd(uris: Sequence[str]) -> tuple[list[float], list[str]]:
    crowd = Crowd(asyncio.Semaphore(AT_ONCE), asyncio.Event(), [], [])
    waiting, everybody = [CONNECTIONS], asyncio.Event()

    def ready() -> None:
        waiting[0] -= 1
        if not waiting[0]:
            everybody.set()

    visits = [asyncio.create_task(_visit(uris[i % len(uris)], crowd, ready)) for i in range(CONNECTIONS)]
    await everybody.wait()
    crowd.told.clear()
    await asyncio.sleep(SECONDS)
    crowd.until.set()
    await asyncio.gather(*visits)
    return crowd.told, crowd.wrong


def _crowded(uris: Sequence[str]) -> tuple[list[float], list[str]]:
    return asyncio.run(_crowd(uris))


def crowd(server: Served) -> Sequence[str]:
    """Everybody at once, from a process of their own."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        told, wrong = pool.apply(_crowded, ([server.uri(name) for name in PEOPLE],))
    shares = statistics.quantiles(told, n=100)
    return (
        str(CONNECTIONS),
        f"{SECONDS:.0f}",
        f"{len(told) / SECONDS:.0f}",
        f"{1000 * shares[49]:.0f} ms",
        f"{1000 * shares[98]:.0f} ms",
        str(len(wrong)) + (f" ({', '.join(sorted(set(wrong)))})" if wrong else ""),
        "0",
        load(),
    )


# told -----------------------------------------------------------------------------------------------------------------


def load() -> str:
    """How many processes wanted to run in the last minute."""
    return f"{os.getloadavg()[0]:.1f}"


def table(heads: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    return "\n".join("| " + " | ".join(line) + " |" for line in (heads, ["---"] * len(heads), *lines))


def main() -> None:
    """Print the tables. Names of claims on the command line choose among them: repeated, paid, crowd."""
    wanted = set(sys.argv[1:]) or {"repeated", "paid", "crowd"}
    texts: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        home = Home.made(Path(folder))
        if "paid" in wanted:
            heads = ["paid", "clock", "engine", "beside it", "most", "bar", "load"]
            texts["paid"] = table(heads, list(paid(home)))
        with served(home) as server:
            if "repeated" in wanted:
                heads = ["asked again", "answer", "server CPU", "clock", "bar", "load"]
                texts["repeated"] = table(heads, list(repeated(server)))
            if "crowd" in wanted:
                heads = ["connections", "seconds", "questions a second", "p50", "p99", "errors", "bar", "load"]
                texts["crowd"] = table(heads, [crowd(server)])
    print("\n\n".join(texts[name] for name in ("repeated", "paid", "crowd") if name in texts))


if __name__ == "__main__":
    main()
