"""How much of the house one act goes through: which modules of ours are entered, and what is done twice.

A module is entered when a function that is written in it is called, in any thread of this process, between the asking
and the answer. Everything was asked once before, so that what is loaded or remembered at the first time does not count.
"""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from http.client import HTTPConnection
from pathlib import Path
from types import FrameType

import clinic
import numpy as np
import pytest
from cli.test_release import AGES, rows, settled
from commandline import discreet as command
from server.pgwire.door import opened
from server.pgwire.raw import Raw, query

import discreet
from discreet.desk import Desk
from discreet.ledger import open_ledger
from discreet.local import OptimizedUnary
from discreet.server.http import serve
from discreet.server.pg_catalog import PostgresCatalogue
from discreet.survey import Collector, fresh_ids, packed
from discreet.survey.task import drafted
from discreet.transport.signed_task import written

HOUSE = f"{Path(discreet.__file__).parent}/"
# Modules that are entered at most. Make them smaller when you can; a draw that is rare may enter one more.
PAID, HISTOGRAM, UPLOAD = 94, 92, 19


class Trace:
    """What is called of the house while it is on."""

    def __init__(self) -> None:
        self.on = False
        self.calls: Counter[tuple[str, str]] = Counter()  # module and function
        self.decoded: Counter[int] = Counter()  # entries of a ledger, by their number

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if not self.on or event != "call" or not code.co_filename.startswith(HOUSE):
            return
        module, name = code.co_filename.removeprefix(HOUSE), code.co_qualname
        self.calls[module, name] += 1
        if (module, name) == ("ledger/entry_kinds.py", "read_entry"):
            self.decoded[json.loads(frame.f_locals["body"])["number"]] += 1

    @contextmanager
    def asked(self) -> Iterator[None]:
        """On until the answer is there."""
        sys.setprofile(self)
        self.on = True
        try:
            yield
        finally:
            self.on = False
            sys.setprofile(None)

    @property
    def modules(self) -> list[str]:
        """The modules that were entered."""
        return sorted({module for module, _ in self.calls})

    def times(self, module: str, *functions: str) -> int:
        """How often these were called."""
        return sum(self.calls[module, name] for name in functions)

    @property
    def plans(self) -> int:
        """How often a text was planned."""
        return self.times("sql/split_at_noise.py", "question", "rows_of")


@pytest.fixture
def trace() -> Iterator[Trace]:
    """A trace that threads take part in which begin from now on."""
    found = Trace()
    threading.setprofile(found)
    try:
        yield found
    finally:
        threading.setprofile(None)


def test_a_paid_question_through_the_postgres_door(trace: Trace, tmp_path: Path) -> None:
    with opened(tmp_path, catalogue=PostgresCatalogue) as door, Raw(door.port) as client:
        client.login(door.token)
        for price, sql in enumerate(("SELECT count(*) AS n FROM visits", "SELECT avg(cost) AS c FROM visits")):
            assert kinds(client, f"SET discreet.epsilon = {price + 1}; {sql}") == b"CTDNCZ"
        paid = door.entries()
        with trace.asked():
            said = kinds(client, "SELECT region, count(*) AS n, sum(cost) AS s FROM visits GROUP BY region")
        assert said == b"TDDDNCZ"
        assert door.entries() == paid + 2
    assert trace.plans == 1
    assert trace.times("ledger/sqlite.py", "SqliteLedger.vouch") == 0
    assert set(trace.decoded) == {paid + 1, paid + 2}  # what was there is not read again
    assert len(trace.modules) <= PAID, trace.modules


def kinds(client: Raw, sql: str) -> bytes:
    """The messages that answer a question."""
    client.send(query(sql))
    said = b""
    while not said.endswith(b"Z"):
        said += client.read()[0]
    return said


def test_a_release_of_a_histogram(trace: Trace, tmp_path: Path) -> None:
    home = settled(tmp_path, rows(400))
    done = command(home, *AGES, "--out", "first")
    assert done.returncode == 0, done.stderr
    before = range(1, len(open_ledger(home / "discreet-home").entries()) + 1)
    with trace.asked():
        done = command(home, *AGES[:-1], "0.25", "--out", "second")
    assert done.returncode == 0, done.stderr
    assert trace.plans == 1
    assert trace.times("ledger/sqlite.py", "SqliteLedger.vouch") == 1
    assert [trace.decoded[number] for number in before] == [1] * len(before)
    assert len(trace.modules) <= HISTOGRAM, trace.modules


def test_an_upload_to_a_survey(trace: Trace, tmp_path: Path) -> None:
    home, now = clinic.home(tmp_path / "home"), datetime.now(UTC)
    opens, closes = (written(now + timedelta(days=days)) for days in (-1, 1))
    four = OptimizedUnary(Fraction(1), 4)
    task = Collector(home).publish(drafted("Which?", four, list("abcd"), opens=opens, closes=closes, minimum=10))
    bodies = [packed(task, fresh_ids(1), four.batch(np.array([place]))) for place in range(2)]
    with listening(home) as address:
        assert uploaded(address, task.id, bodies[0])["accepted"] == 1
        with trace.asked():
            assert uploaded(address, task.id, bodies[1])["accepted"] == 1
    assert len(trace.modules) <= UPLOAD, trace.modules


def uploaded(address: tuple[str, int], task: str, body: bytes) -> dict[str, int]:
    """The receipt of an upload."""
    connection = HTTPConnection(*address, timeout=60)
    try:
        connection.request("POST", f"/survey/v1/{task}/reports", body, {"Content-Type": "application/octet-stream"})
        return dict(json.loads(connection.getresponse().read()))
    finally:
        connection.close()


@contextmanager
def listening(home: Path) -> Iterator[tuple[str, int]]:
    """The HTTP door of a home, open in a thread of this process."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    try:
        door = asyncio.run_coroutine_threadsafe(serve(Desk(home), "127.0.0.1", 0, log=lambda *_: None), loop).result(60)
        try:
            yield door.address
        finally:
            asyncio.run_coroutine_threadsafe(door.drain(), loop).result(60)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
