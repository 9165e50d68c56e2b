"""A collector takes in at least 100,000 reports a second over HTTP on two cores, each once and on the disk.

The server is `discreet serve` in a process of its own; uploads were packed before, and two connections of one other
process send them over loopback. A receipt comes when the ids, the sums and the counters are synced to the disk, in one
transaction for those that arrived together. `seen before` is how many ids the server compares with. CPU is the
server's, user and system. One report an upload is what browsers send: there the disk decides, so the time of a bare
write with fsync stands beside it; over more connections more of them share a transaction. `load` is how many processes
wanted the cores meanwhile.
"""

from __future__ import annotations

import http.client
import json
import os
import tempfile
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from time import perf_counter

import numpy as np

from benchmarks.serving import Serving, serving
from discreet.curator.custody import found_home
from discreet.local import Hadamard, LocalHashing, OptimizedUnary, Oracle, Response
from discreet.survey.collector import Collector
from discreet.survey.task import Task, drafted, fresh_ids, most, packed
from discreet.transport.signed_task import written

ONE = Fraction(1)
CLIENTS: dict[str, Oracle] = {
    "response, 4 values": Response(ONE, 4),
    "optimized unary, 100 values": OptimizedUnary(ONE, 100),
    "Hadamard, 100 values": Hadamard(ONE, 100),
    "local hashing, 100 values": LocalHashing(ONE, 100),
}
REPORTS, BEFORE, CONNECTIONS = 1_000_000, 1_000_000, 2
SMALL = {1: 200, 8: 800, 64: 4_000}  # connections, and uploads of one report each


def opened(home: Path, client: Oracle) -> Task:
    """A task that is open, for everybody."""
    now = datetime.now(UTC)
    opens, closes = (written(now + timedelta(days=days)) for days in (-1, 1))
    labels = [f"label {i}" for i in range(client.choices)]
    draft = drafted("Which?", client, labels, opens=opens, closes=closes, minimum=1000, most=4 * REPORTS)
    return Collector(home).publish(draft)


def uploads(task: Task, reports: int, each: int) -> list[bytes]:
    """So many reports, so many an upload."""
    made = task.client.batch(np.arange(reports) % 4)
    return [packed(task, fresh_ids(len(made[i : i + each])), made[i : i + each]) for i in range(0, reports, each)]


def send(server: Serving, task: Task, bodies: list[bytes]) -> int:
    """Over one connection; how many were accepted."""
    connection, accepted = http.client.HTTPConnection("127.0.0.1", server.http), 0
    for body in bodies:
        connection.request("POST", f"/survey/v1/{task.id}/reports", body, {"Content-Type": "application/octet-stream"})
        reply = connection.getresponse()
        accepted += json.loads(reply.read())["accepted"]
    connection.close()
    return accepted


def rate(server: Serving, task: Task, reports: int, each: int, connections: int = CONNECTIONS) -> tuple[float, float]:
    """Reports a second on the clock, and a second of the server's CPU."""
    bodies = uploads(task, reports, each)
    cpu, start = server.cpu(), perf_counter()
    with ThreadPoolExecutor(connections) as threads:
        accepted = sum(threads.map(lambda i: send(server, task, bodies[i::connections]), range(connections)))
    wall, used = perf_counter() - start, server.cpu() - cpu
    assert accepted == reports
    return reports / wall, reports / used


def synced(folder: Path, times: int = 100) -> float:
    """Seconds of a bare write of a page with fsync."""
    with (folder / "page").open("wb", buffering=0) as file:
        start = perf_counter()
        for _ in range(times):
            file.write(bytes(4096))
            os.fsync(file.fileno())
    return (perf_counter() - start) / times


def main() -> None:
    """Print the tables."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        found_home(home)
        tasks = {name: opened(home, client) for name, client in CLIENTS.items()}
        crowded = opened(home, CLIENTS["response, 4 values"])
        for body in uploads(crowded, BEFORE, most(crowded)):
            Collector(home).receive(crowded.id, body)
        cases = [(name, task, 0) for name, task in tasks.items()] + [("response, 4 values", crowded, BEFORE)]
        print("| reports of | bytes each | an upload | seen before | reports/s | reports/s of CPU | asked | load |")
        print("| --- " * 8 + "|")
        with serving(home) as server:
            for name, task, before in cases:
                known = before
                for each in (most(task), 4_000):
                    wall, cpu = rate(server, task, REPORTS, each)
                    width = task.client.form.itemsize
                    line = (name, width, f"{each:,}", f"{known:,}", f"{wall:,.0f}", f"{cpu:,.0f}", "≥ 100,000", load())
                    print("| " + " | ".join(map(str, line)) + " |", flush=True)
                    known += REPORTS
            print("\n| one report an upload, connections | uploads/s | uploads/s of CPU | load |")
            print("| --- " * 4 + "|")
            for connections, many in SMALL.items():
                wall, cpu = rate(server, tasks["response, 4 values"], many, 1, connections)
                print(f"| {connections} | {wall:,.0f} | {cpu:,.0f} | {load()} |", flush=True)
        print(f"\nA bare write with fsync takes {1000 * synced(Path(folder)):.1f} ms.")


def load() -> str:
    """How many processes wanted the cores in the last minute."""
    return f"{os.getloadavg()[0]:.1f}"


if __name__ == "__main__":
    main()
