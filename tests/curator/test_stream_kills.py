"""Streams that are pushed by real processes: one is killed in the middle, another pushes at the same time."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import clinic
import pyarrow as pa
import pytest
from curator.test_streams import streams
from warm import Warm, started

from discreet.curator.streams import StreamOrder

PUSHER = """
import os, signal, sys
from pathlib import Path
import pyarrow as pa
from discreet import durable
from discreet.curator import Curator
from discreet.curator.streams import Streams
home, name, who, many, moment = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5]
sessions, move = Curator(home).paid_sessions(), durable.move
stream = Streams(sessions.ledger, sessions.store, sessions.principal).one(name)
def killed(aside, path):
    if moment == "after":
        move(aside, path)
    os.kill(os.getpid(), signal.SIGKILL)
for each in range(many):
    if moment and each == many - 1:
        durable.move = killed
    step = len(stream.counts) + 1 if moment else None
    said = stream.push(pa.table({"patient": [who + each]}), step=step)
    print(said.step, said.count, flush=True)
print("done", flush=True)
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return clinic.home(tmp_path / "home", epsilon=10**12)


@contextmanager
def pusher(home: Path, name: str, who: int, many: int, moment: str = "") -> Iterator[Warm]:
    process = started(["-c", PUSHER, str(home), name, str(who), str(many), moment], sys.stderr.fileno())
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def told(lines: list[str]) -> dict[int, int]:
    """What was told of each step, of whole lines alone."""
    return {int(step): int(count) for step, count in (line.split() for line in lines if line.endswith("\n"))}


@pytest.mark.parametrize("rounds", [1, pytest.param(8, marks=pytest.mark.slow)])
def test_a_process_killed_in_the_middle_of_pushing_changes_nothing_that_was_told(home: Path, rounds: int) -> None:
    streams(home).open("noisy", StreamOrder("patient", 2_000, 1, epsilon=1))
    for each in range(rounds):
        with pusher(home, "noisy", 1_000 * each, 1_000) as process:
            lines = [process.stdout.readline() for _ in range(2 + each)]
            process.kill()
            assert process.wait() == -signal.SIGKILL
            said = told(lines + process.stdout.readlines())
        stream = streams(home).one("noisy")
        known = [int(count.count) for count in stream.counts]
        assert said.items() <= dict(enumerate(known, start=1)).items()
        assert max(said) <= len(known) <= max(said) + 1  # a step that was counted may not have been told yet
        again = stream.push(pa.table({"patient": [-each]}))
        assert again.step == len(known) + 1
        assert [int(count.count) for count in stream.counts][:-1] == known


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_kill_around_the_write_leaves_the_step_uncounted_or_counted_once(home: Path, moment: str) -> None:
    streams(home).open("noisy", StreamOrder("patient", 20, 1, epsilon=1))
    with pusher(home, "noisy", 7, 2, moment) as process:
        assert process.wait() == -signal.SIGKILL
        said = told(process.stdout.readlines())
    assert list(said) == [1]
    stream = streams(home).one("noisy")
    known = stream.counts
    assert len(known) == 1 + (moment == "after")
    again = stream.push(pa.table({"patient": [8]}), step=2)
    assert (stream.counts[: len(known)], stream.counts[1], len(stream.counts)) == (known, again, 2)
    assert stream.counts[0].count == said[1]


def test_two_processes_that_push_at_once_and_one_that_is_killed_lose_and_repeat_nothing(home: Path) -> None:
    """Of hardly any noise, so that each step counts one row more than the one before it, whoever pushed it."""
    streams(home).open("live", StreamOrder("patient", 2_000, 1, epsilon=10**9))
    with pusher(home, "live", 0, 12) as ends, pusher(home, "live", 10_000, 1_000) as dies:
        lines = [dies.stdout.readline() for _ in range(3)]
        dies.kill()
        assert (dies.wait(), ends.wait()) == (-signal.SIGKILL, 0)
        *theirs, done = ends.stdout.readlines()
        assert done == "done\n"
        one, other = told(theirs), told(lines + dies.stdout.readlines())
    counts = [int(each.count) for each in streams(home).one("live").counts]
    assert counts == list(range(1, len(counts) + 1))
    assert not one.keys() & other.keys()
    assert (one | other).items() <= dict(enumerate(counts, start=1)).items()
    assert len(one) == 12
    assert len(counts) - len(one | other) <= 1
