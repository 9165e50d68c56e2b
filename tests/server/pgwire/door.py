"""A real door in front of a made-up clinic, on this machine, in a thread of its own."""

from __future__ import annotations

import asyncio
import re
import ssl
import threading
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import clinic

from discreet.curator.custody import Custody
from discreet.desk import Desk, Visitor
from discreet.errors import Refusal
from discreet.server.journal import Journal
from discreet.server.limits import WireLimits
from discreet.server.pg_catalog import PostgresCatalogue
from discreet.server.pgwire import PostgresServer, serve

T = TypeVar("T")

TYPES = [(16, "bool"), (20, "int8"), (25, "text"), (701, "float8"), (1082, "date"), (1114, "timestamp")]


ANSWERS: dict[str, tuple[list[tuple[str, int]], list[list[object]]]] = {
    "version()": ([("version", 25)], [["PostgreSQL 16.0 (discreet)"]]),
    "current_schema": ([("current_schema", 19)], [["public"]]),
    "pg_advisory_unlock_all": ([("pg_advisory_unlock_all", 25)], [[""]]),
    "pg_array": ([("items", 1009)], [[["a", None, 'b "x"']]]),
}


class StandIn:
    """Answers what clients ask when they connect, and nothing else. The catalogue itself is tested elsewhere."""

    def remembered(self, _: str) -> bool | None:
        return False  # what is asked again here was a question

    def handles(self, _: Visitor, sql: str) -> bool:
        return re.search(r"\bpg_|\bversion\(\)|\bcurrent_schema\b", sql) is not None

    def described(self, visitor: Visitor, sql: str) -> tuple[list[int], Sequence[tuple[str, int]]]:
        parameters = [25] * len(set(re.findall(r"\$[0-9]+", sql)))
        return parameters, self.answer(visitor, sql)[0]

    def answer(
        self, visitor: Visitor, sql: str, values: Sequence[object] = ()
    ) -> tuple[Sequence[tuple[str, int]], Sequence[Sequence[object]]]:
        assert visitor.name
        if "typreceive" in sql:  # ADBC
            columns = (
                ("oid", 26),
                ("typname", 19),
                ("typreceive", 25),
                ("typbasetype", 26),
                ("typarray", 26),
                ("typrelid", 26),
            )
            wanted = [(name, kind) for name, kind in columns if name in sql]
            rows = [{"oid": oid, "typname": name, "typreceive": f"{name}recv"} for oid, name in TYPES]
            return wanted, [[row.get(name, 0) for name, _ in wanted] for row in rows]
        if "attrelid" in sql:
            return [("attrelid", 26), ("attname", 19), ("atttypid", 26)], []
        if "typdelim" in sql:
            return [("name", 19), ("oid", 26), ("array_oid", 26), ("regtype", 25), ("delimiter", 25)], []
        for word, found in ANSWERS.items():
            if word in sql:
                return found
        if "pg_echo" in sql:
            return [("echo", 25)], [[str(value)] for value in values]
        raise Refusal("the catalogue has nothing of this kind")


@dataclass
class Door:
    """Where the door is, who may come in, and what is behind it."""

    server: PostgresServer
    home: Path
    port: int
    token: str
    loop: asyncio.AbstractEventLoop
    journal: list[str]

    def run(self, task: Coroutine[Any, Any, T]) -> T:
        """The result of a coroutine in the door's own loop."""
        return asyncio.run_coroutine_threadsafe(task, self.loop).result(60)

    def uri(self, driver: str = "postgresql", **options: str) -> str:
        """As clients write it."""
        query = "&".join(f"{name}={value}" for name, value in {"sslmode": "disable", **options}.items())
        return f"{driver}://ana:{self.token}@127.0.0.1:{self.port}/discreet?{query}"

    def entries(self) -> int:
        """How long the ledger is: it grows when something is paid."""
        return len(Desk(self.home)._curator.ledger.entries())


def home(folder: Path, **changes: object) -> tuple[Path, str]:
    """The clinic, and a token of ana's."""
    made = clinic.home(folder / "home", **{"epsilon": 1000, **changes})
    return made, Custody(made).let_in("ana", "analyst")


@contextmanager
def opened(
    folder: Path,
    tls: ssl.SSLContext | None = None,
    limits: WireLimits | None = None,
    catalogue: StandIn | type[PostgresCatalogue] | None = None,
    **changes: object,
) -> Iterator[Door]:
    """A door that is open until the end of the block."""
    made, token = home(folder, **changes)
    lines: list[str] = []
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    async def start() -> PostgresServer:
        journal, desk = Journal(lines.append), Desk(made)
        known = catalogue(desk) if isinstance(catalogue, type) else catalogue or StandIn()
        return await serve(desk, known, "127.0.0.1", 0, tls, limits=limits, journal=journal)

    try:
        server = asyncio.run_coroutine_threadsafe(start(), loop).result(60)
        door = Door(server, made, server.address[1], token, loop, lines)
        try:
            yield door
        finally:
            door.run(server.close())
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
