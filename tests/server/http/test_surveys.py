"""Surveys over the real HTTP door: uploads count once whatever happens, and nobody can tell who sent them."""

from __future__ import annotations

import hashlib
import http.client
import os
import signal
import socket
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import clinic
import numpy as np
import pytest
from numpy.typing import ArrayLike
from server.served import Reply, Server, served
from survey.surveyed import ONE, sent, trusting
from survey.wired import WIRED, Read, allowed, drawn, even, transformed, worst

from discreet.errors import Refusal
from discreet.local import CLIENTS, LocalHashing, OptimizedUnary, Rappor, Reporter, Response
from discreet.noise import SECURE
from discreet.survey.collector import Collector
from discreet.survey.respondent import Respondent
from discreet.survey.results import fetched
from discreet.survey.task import LARGEST, Task, drafted, fresh_ids, packed, read_task
from discreet.transport.device_client import Courier, Unreached
from discreet.transport.signed_task import UploadReceipt, written

BINARY = {"Content-Type": "application/octet-stream"}
NONE = UploadReceipt().told


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return clinic.home(tmp_path_factory.mktemp("surveys") / "home")


@pytest.fixture(scope="module")
def server(home: Path) -> Iterator[Server]:
    with served(home, "--rate", "100000") as running:
        yield running


def opened(home: Path, client: Reporter | None = None, *, days: float = -1, **changes: Any) -> Task:  # noqa: ANN401
    """A task that opened a day ago and closes in a day, or so many days later."""
    known, now = client or OptimizedUnary(ONE, 4), datetime.now(UTC) + timedelta(days=days)
    labels = [f"label {i}" for i in range(getattr(known, "choices", 0))]
    given = {"opens": written(now), "closes": written(now + timedelta(days=2)), "minimum": 10, **changes}
    return Collector(home).publish(drafted("Which album?", known, labels, **given))


def upload(task: Task, values: ArrayLike) -> bytes:
    reports = task.client.batch(values)
    return packed(task, fresh_ids(len(reports)), reports)


def post(server: Server, task: Task, body: bytes, token: str | None = None) -> Reply:
    return server.call("POST", f"/survey/v1/{task.id}/reports", token, body, BINARY)


def counts(home: Path, task: Task) -> dict[str, int]:
    return {kind: n for kind, n in Collector(home).standing(task.id).counts.items() if n}


def test_a_task_is_handed_out_to_the_byte(server: Server, home: Path) -> None:
    task = opened(home)
    reply = server.call("GET", f"/survey/v1/{task.id}")
    assert (reply.status, reply.headers["content-type"]) == (200, "application/json")
    assert read_task(reply.body) == task
    assert hashlib.sha256(reply.body).digest() == task.digest


def test_from_a_device_to_the_results(server: Server, home: Path, tmp_path: Path) -> None:
    task, courier = opened(home), Courier(server.url)
    for i in range(12):
        me = Respondent(tmp_path / str(i))
        assert me.take_part(courier, task.id, i % 4) == UploadReceipt(accepted=1)
        assert me.take_part(courier, task.id, 0) == UploadReceipt(replayed=1)
    with pytest.raises(Unreached, match="status 404"):
        fetched(courier, task)
    collector = Collector(home)
    collector.close(task.id)
    found = collector.collect(task.id)
    assert fetched(courier, task) == found
    assert found.body["reports"] == 12
    collector.rotate()
    collector.revise(task.id, minimum=11)
    assert me.take_part(courier, task.id, 3) == UploadReceipt(accepted=1)  # its new key was handed over to
    assert len(courier.handovers()) == 1


def test_results_of_an_older_version_stay_where_they_were(server: Server, home: Path) -> None:
    task, collector, courier = opened(home), Collector(home), Courier(server.url)
    post(server, task, upload(task, [1] * 12))
    collector.close(task.id)
    found = collector.collect(task.id)
    second = collector.revise(task.id, minimum=11)
    assert server.call("GET", f"/survey/v1/{task.id}/results").status == 404
    assert server.call("GET", f"/survey/v1/{task.id}/results?version=1").body == found.document
    assert fetched(courier, task) == found
    assert read_task(server.call("GET", f"/survey/v1/{task.id}?version=1").body) == task
    assert read_task(server.call("GET", f"/survey/v1/{task.id}").body) == second
    for version in ("3", "1000000000000"):
        assert server.call("GET", f"/survey/v1/{task.id}?version={version}").status == 404
    for version in ("0", "-1", "x", "9" * 30):
        assert server.call("GET", f"/survey/v1/{task.id}/results?version={version}").status == 400


class Witness(Courier):
    """A courier that remembers what it sent."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.bodies: list[bytes] = []

    def send(self, name: str, body: bytes, token: str | None = None) -> UploadReceipt:
        self.bodies.append(body)
        return super().send(name, body, token)


def answers(name: str, server: Server, home: Path, folder: Path, devices: int) -> list[tuple[Read, Read]]:
    """What so many devices sent of one value, from the signed task to the results; and how it reads for another value.

    Each sends as often as the client's law asks for. Without a memory one device that draws afresh is as good as many.
    """
    wired = WIRED[name]
    memory = isinstance(wired.client, Rappor)
    task = opened(home, wired.client, minimum=2, reports=wired.each if memory else devices)
    courier = Witness(server.url)
    me = trusting(folder / "me")
    for i in range(devices):
        device = trusting(folder / str(i)) if memory else me
        for number in range(wired.each):
            receipt = device.take_part(courier, task.id, wired.value, afresh=number > 0 or (i > 0 and not memory))
            assert receipt == UploadReceipt(accepted=1)
        assert device.loss(task) == (wired.each if memory else i + 1) * wired.client.privacy
    collector = Collector(home)
    collector.close(task.id)
    reports = np.concatenate([sent(body, task)[1] for body in courier.bodies])
    assert collector.collect(task.id).tally == wired.client.tally(reports)
    found = fetched(courier, task)
    assert (found.client, found.tally.people) == (wired.client, devices * wired.each)
    parts = [reports[i : i + wired.each] for i in range(0, len(reports), wired.each)]
    return [(wired.outcome(part, wired.value), wired.outcome(part, wired.other)) for part in parts]


@pytest.mark.parametrize("name", sorted(CLIENTS))
def test_every_client_goes_from_a_signed_task_to_results(name: str, server: Server, home: Path, tmp_path: Path) -> None:
    assert name in WIRED, "a new client: add it to tests/survey/wired.py"
    for mine, others in answers(name, server, home, tmp_path, 2):
        assert mine.said in mine.law
        assert worst(mine.law, others.law) <= allowed(WIRED[name].client)  # exactly, for all reports together


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(CLIENTS))
def test_what_comes_over_the_wire_follows_the_exact_channel(
    name: str, server: Server, home: Path, tmp_path: Path
) -> None:
    """And no other: a false alarm of 2e-9 for each client, with the operating system's coins."""
    found = answers(name, server, home, tmp_path, 160)
    mine = [(one.said, one.law, other.law) for one, other in found]
    assert even(transformed(mine, SECURE))
    assert even(drawn((one for one, _ in found), SECURE))
    assert not even(transformed([(said, other, law) for said, law, other in mine], SECURE))


def test_texts_are_asked_for_by_rappor_and_named_afterwards(server: Server, home: Path, tmp_path: Path) -> None:
    client = Rappor(Fraction(20), 16, 2, 4, Fraction(1, 8), Fraction(7, 8))
    task, courier = opened(home, client, minimum=100, reports=1000), Courier(server.url)
    texts = ["cat"] * 1200 + ["dog"] * 600 + ["owl"] * 200
    assert post(server, task, upload(task, texts)).json == {**NONE, "accepted": 2000}
    me = trusting(tmp_path / "me")
    assert me.take_part(courier, task.id, "cat") == UploadReceipt(accepted=1)
    collector = Collector(home)
    collector.close(task.id)
    collector.collect(task.id)
    found = fetched(courier, task)
    assert found.body["estimates"] == []  # nobody had a list
    counts = found.client.estimate(found.tally)  # type: ignore[attr-defined]
    assert (counts.reports.sum(), counts.ones.shape) == (2001, (4, 16))
    held = found.texts(["cat", "dog", "owl", "fox", "hen", "cow"])
    assert [one.text for one in held[:3]] == ["cat", "dog", "owl"]
    for one, share in zip(held, (0.6, 0.3, 0.1), strict=False):
        assert abs(one.share - share) < 6 * one.error < 0.3
        assert one.low < one.share < one.high
        assert one.chance < 0.01
    with pytest.raises(Refusal, match="read with a list of candidates"):
        found.texts()


def test_refused_reports_are_counted_by_kind(server: Server, home: Path) -> None:
    task = opened(home, Response(ONE, 5), reports=2, invited=True)
    ann, bob = Collector(home).invite(task.id, 2)
    early, late, other = (opened(home, days=days) for days in (3, -9, -1))
    body = upload(task, [0, 1])
    spoilt = bytearray(upload(task, [0]))
    spoilt[-1] = 77
    told = [
        post(server, task, body, ann),
        post(server, task, body, ann),
        post(server, task, upload(task, [0, 1, 2]), bob),
        post(server, task, bytes(spoilt), bob),
        post(server, task, b"nonsense", bob),
        post(server, task, upload(other, [0] * 4), bob),
        post(server, early, upload(early, [0] * 3)),
        post(server, late, upload(late, [0] * 5)),
    ]
    assert [reply.status for reply in told] == [200] * 8
    assert [{kind: n for kind, n in reply.json.items() if n} for reply in told] == [
        {"accepted": 2},
        {"replayed": 2},
        {"accepted": 2, "over_limit": 1},
        {"malformed": 1},
        {"malformed": 1},
        {"wrong_task": 4},
        {"early": 3},
        {"late": 5},
    ]
    assert all(set(reply.json) == set(NONE) for reply in told)
    assert counts(home, task) == {"accepted": 4, "replayed": 2, "over_limit": 1, "malformed": 2, "wrong_task": 4}
    assert (counts(home, early), counts(home, late)) == ({"early": 3}, {"late": 5})


def test_who_was_not_invited_is_told_one_sentence(server: Server, home: Path) -> None:
    task = opened(home, invited=True)
    replies = [post(server, task, upload(task, [0]), token) for token in (None, "x" * 43, "x" * 1000, "ä")]
    assert {(reply.status, reply.body) for reply in replies} == {(401, replies[0].body)}
    assert counts(home, task) == {"uninvited": 4}


@pytest.mark.parametrize("name", ["0" * 32, "v1", "x" * 32, "0" * 31, "%00", "A" * 32, "0" * 5000])
@pytest.mark.parametrize("path", ["/survey/v1/{}", "/survey/v1/{}/results", "/survey/v1/{}/reports"])
def test_a_task_that_is_not_there_is_not_there_in_one_sentence(server: Server, path: str, name: str) -> None:
    reports = path.endswith("reports")
    reply = server.call("POST" if reports else "GET", path.format(name), None, b"x" if reports else None, BINARY)
    assert (reply.status, reply.error["message"]) == (404, "there is nothing of this kind here")


def test_an_upload_is_binary(server: Server, home: Path) -> None:
    task = opened(home)
    for kind in ("application/json", "text/plain", "multipart/form-data", ""):
        reply = server.call("POST", f"/survey/v1/{task.id}/reports", None, upload(task, [0]), {"Content-Type": kind})
        assert (reply.status, reply.error["message"]) == (
            400, "the request is not of the expected shape: body: application/octet-stream"
        )  # fmt: skip
    assert counts(home, task) == {}


def test_an_upload_that_is_too_long_is_counted_and_not_read(server: Server, home: Path) -> None:
    task = opened(home)
    path = f"/survey/v1/{task.id}/reports"
    assert server.call("POST", path, None, None, {**BINARY, "Content-Length": str(LARGEST + 1)}).status == 413
    connection = http.client.HTTPConnection("127.0.0.1", server.http, timeout=60)
    with closing(connection):  # and in parts whose sum nobody said before
        connection.request("POST", path, iter([b"x" * (1 << 16)] * 17), BINARY, encode_chunked=True)
        assert connection.getresponse().status == 413
    assert counts(home, task) == {"oversize": 2}
    largest = b"DSR1" + bytes(LARGEST - 4)
    assert post(server, task, largest).json == {**NONE, "wrong_task": 1}


def test_bytes_that_look_like_deep_json_are_only_bytes(server: Server, home: Path) -> None:
    task = opened(home, LocalHashing(ONE, 5))
    ids = np.frombuffer(b"[" * 160, dtype="S1").reshape(10, 16).copy().view("S16").ravel()
    ids = np.array([each[:15] + bytes([65 + i]) for i, each in enumerate(ids.tolist())], dtype="S16")
    body = packed(task, ids, task.client.batch([0] * 10))
    assert post(server, task, body).json == {**NONE, "accepted": 10}


def test_who_comes_too_often_waits(home: Path) -> None:
    task = opened(home)
    with served(home, "--rate", "1") as server:
        replies = [post(server, task, upload(task, [0])) for _ in range(6)]
        paths = (f"/survey/v1/{task.id}", f"/survey/v1/{task.id}/results", "/survey/v1/keys")
        reading = [server.call("GET", path).status for path in paths for _ in range(3)]
    assert [reply.status for reply in replies][:3] == [200] * 3
    assert replies[-1].status == 429
    assert reading.count(429) >= 4  # whoever only reads waits as well
    assert int(replies[-1].headers["retry-after"]) >= 1
    assert counts(home, task)["accepted"] == sum(reply.status == 200 for reply in replies)


@pytest.mark.slow
def test_a_slow_upload_does_not_keep_its_place(server: Server, home: Path) -> None:
    task = opened(home)
    head = f"POST /survey/v1/{task.id}/reports HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n"
    with socket.create_connection(("127.0.0.1", server.http), timeout=60) as slow:
        slow.sendall(f"{head}Content-Type: application/octet-stream\r\n\r\nDSR1".encode())
        assert post(server, task, upload(task, [0])).json == {**NONE, "accepted": 1}  # others are not kept waiting
        assert slow.recv(100).startswith(b"HTTP/1.1 408 ")


class Senders:
    """Devices that send uploads, again and again until they have a receipt or the server is gone."""

    def __init__(self, server: Server, task: Task, bodies: list[bytes], tokens: list[str], people: int = 6) -> None:
        self.receipts: dict[int, dict[str, int]] = {}
        self._server, self._task, self._bodies, self._tokens = server, task, bodies, tokens
        self._threads = [threading.Thread(target=self._send, args=(i, people)) for i in range(people)]
        for thread in self._threads:
            thread.start()

    def _send(self, first: int, people: int) -> None:
        for number in range(first, len(self._bodies), people):
            try:
                reply = post(self._server, self._task, self._bodies[number], self._tokens[number])
            except (OSError, http.client.HTTPException):
                return
            assert reply.status == 200, reply.body
            self.receipts[number] = reply.json

    def wait_for(self, receipts: int) -> None:
        while len(self.receipts) < receipts and any(thread.is_alive() for thread in self._threads):
            self._threads[0].join(0.002)

    def join(self) -> None:
        for thread in self._threads:
            thread.join()


@pytest.mark.slow
@pytest.mark.parametrize(("rounds", "each", "people"), [(2, 40, 6), (12, 40, 6), (4, 1, 24)])
def test_a_killed_server_loses_and_doubles_nothing(tmp_path: Path, rounds: int, each: int, people: int) -> None:
    """Uploads of many reports, and of one by many people: those share transactions."""
    home = clinic.home(tmp_path / "home")
    task = opened(home, LocalHashing(ONE, 5), minimum=12 * each, reports=each, invited=True)
    bodies = [upload(task, np.arange(each) % 5) for _ in range(120 * rounds)]
    tokens = Collector(home).invite(task.id, len(bodies))
    told: set[int] = set()
    for i in range(rounds):
        with served(home, "--rate", "100000") as server:
            left = [n for n in range(len(bodies)) if n not in told]
            senders = Senders(server, task, [bodies[n] for n in left], [tokens[n] for n in left], people)
            senders.wait_for(20 + 13 * i)
            os.kill(server.process.pid, signal.SIGKILL)
            senders.join()
            assert server.process.wait() == -signal.SIGKILL
        fresh = [n for k, n in enumerate(left) if k in senders.receipts]
        assert len(fresh) >= 20
        assert all(one["accepted"] + one["replayed"] == each for one in senders.receipts.values())
        told |= set(fresh)
        held = counts(home, task)["accepted"]
        assert held % each == 0  # an upload is in whole, or not at all
        assert held >= each * len(told)
    with served(home, "--rate", "100000") as server:
        again = Senders(server, task, bodies, tokens, people)
        again.join()
        assert len(again.receipts) == len(bodies)
        assert all(again.receipts[n]["replayed"] == each for n in told)  # what was told to be there was there
    collector = Collector(home)
    assert counts(home, task)["accepted"] == each * len(bodies)
    collector.close(task.id)
    reports = np.concatenate([sent(body, task)[1] for body in bodies])
    assert collector.collect(task.id).tally == task.client.tally(reports)


def test_nothing_that_is_written_down_tells_who_sent_what(tmp_path: Path) -> None:
    home = clinic.home(tmp_path / "home")
    task = opened(home, LocalHashing(ONE, 5), reports=2, invited=True)
    tokens = Collector(home).invite(task.id, 24)
    bodies = [upload(task, [i % 5, 1]) for i in range(24)]
    with served(home, "--rate", "100000") as server:
        for body, token in zip(bodies, tokens, strict=True):
            assert post(server, task, body, token).json == {**NONE, "accepted": 2}
        assert post(server, task, bodies[0], "stranger").status == 401
        assert server.call("GET", f"/survey/v1/{task.id}").status == 200
        assert server.stop() == 0
        lines = server.lines()
        journal = server.journal.read_text()
    assert [line["path"] for line in lines] == ["/survey/v1/{name}"]  # that somebody answered, and when, is not there
    ids = b"".join(sent(body, task)[0] for body in bodies)
    reports = [report.tobytes() for body in bodies for report in sent(body, task)[1]]
    files = b"".join(path.read_bytes() for path in home.rglob("*") if path.is_file())
    secrets = [*tokens, "127.0.0.1", task.id, *(ids[i : i + 16].hex() for i in range(0, len(ids), 16))]
    assert not any(secret in journal for secret in secrets)
    assert not any(token.encode() in files for token in tokens)
    with closing(sqlite3.connect(home / "surveys.db")) as file:
        waiting = b"".join(held for (held,) in file.execute("SELECT held FROM waiting"))
        known = {token for (token,) in file.execute("SELECT token FROM invited")}
        seen = b"".join(held for (held,) in file.execute("SELECT held FROM seen"))
    assert known == {hashlib.sha256(token.encode()).digest() for token in tokens}
    assert seen == b"".join(sorted(ids[i : i + 16] for i in range(0, len(ids), 16)))
    assert sum(report in files for report in reports) == len(waiting) // 9 < 10
