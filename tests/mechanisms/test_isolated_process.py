"""A function in a process of its own: its number comes back, everything else stays there."""

from __future__ import annotations

import gc
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from waiting import until

from discreet.errors import Fault
from discreet.mechanisms.sample_and_aggregate import number_of
from discreet.noise import SECURE

Rows = list[int]


def run(function: Callable[[Rows], object], seconds: float = 5, patience: float = 20) -> float | None:
    return number_of(function, [1, 2, 3], seconds, patience)


def test_a_number_comes_back() -> None:
    assert run(sum) == 6.0
    assert run(lambda rows: np.float32(rows[0] / 2)) == 0.5
    assert run(lambda rows: 10**300 * len(rows)) == 3e300
    assert run(lambda _: float("-inf")) == float("-inf")


@pytest.mark.parametrize(
    "function",
    [
        lambda rows: rows[99],
        lambda _: None,
        lambda _: "3",
        lambda _: b"3",
        lambda rows: rows,
        lambda _: np.zeros(2),
        lambda _: 1j,
        lambda _: 10**400,
        lambda _: sys.exit(0),
        lambda _: os._exit(0),
        lambda _: os.kill(os.getpid(), 9),
        lambda _: (_ for _ in ()).throw(KeyboardInterrupt),
    ],
    ids=["error", "none", "text", "bytes", "list", "array", "complex", "huge", "exit", "gone", "killed", "interrupt"],
)
def test_everything_else_is_nothing(function: Callable[[Rows], object]) -> None:
    assert run(function) is None


def spin(_: Rows) -> int:
    while True:
        pass


def spin_inside_a_library(_: Rows) -> float:
    matrix = np.ones((400, 400))
    while True:
        matrix = matrix @ matrix / 400


@pytest.mark.parametrize("function", [spin, spin_inside_a_library])
def test_processor_time_has_an_end(function: Callable[[Rows], object]) -> None:
    assert run(function, seconds=0.2) is None


def test_waiting_has_an_end() -> None:
    assert run(lambda _: threading.Event().wait(), patience=0.3) is None  # which nobody ever sets


def test_waiting_is_not_counted_as_work() -> None:
    assert run(lambda _: [time.sleep(0.4), 4][1], seconds=0.2) == 4.0  # type: ignore[func-returns-value]


def test_what_one_block_remembers_no_other_block_sees() -> None:
    memory: list[int] = []

    def remembering(rows: Rows) -> int:
        memory.extend(rows)
        return len(memory)

    assert [run(remembering) for _ in range(3)] == [3.0, 3.0, 3.0]
    assert memory == []


def test_the_collector_walks_through_no_other_rows() -> None:
    """Its walks would be paid from this block's time, however many rows the other blocks have."""

    def walked(_: Rows) -> int:
        return len(gc.get_objects())

    def due(_: Rows) -> int:
        young, middle, old = gc.get_count()
        return young + 1000 * middle + 10**6 * old

    alone = run(walked), run(due)
    others = [[i] for i in range(50_000)]
    assert (run(walked), run(due)) == alone
    assert len(others) == 50_000


def test_no_open_file_is_handed_down(tmp_path: Path) -> None:
    """Two processes with one open file share its position, and a block could count the others by it."""
    path = tmp_path / "file"
    path.write_bytes(bytes(range(1, 100)))
    bare = run(lambda _: len(os.listdir("/proc/self/fd")))  # noqa: PTH208
    assert bare == 5  # three that lead nowhere, the answer's, the listing's
    with path.open("rb", buffering=0) as file:
        assert [run(lambda _: file.read(1)[0]) for _ in range(3)] == [None] * 3
        assert file.tell() == 0
        assert run(lambda _: len(os.listdir("/proc/self/fd"))) == bare  # noqa: PTH208
    assert [run(lambda _: path.read_bytes()[0]) for _ in range(3)] == [1.0] * 3  # what it opens itself, it reads


def test_many_open_files_do_no_harm() -> None:
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(1200, limits[0]), limits[1]))
    handles = [os.open(os.devnull, os.O_RDONLY)]
    try:
        while handles[-1] < 1100:
            handles.append(os.dup(handles[0]))
        assert run(sum) == 6.0
    finally:
        for handle in handles:
            os.close(handle)
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def test_a_parent_that_ignores_its_children_gets_the_number_too() -> None:
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        assert run(sum) == 6.0
        assert run(lambda _: time.sleep(60), patience=0.2) is None
    finally:
        signal.signal(signal.SIGCHLD, before)


def test_a_long_patience_is_no_error() -> None:
    assert run(sum, patience=1e9) == 6.0


STREAMLESS = """
import os
from discreet.mechanisms.sample_and_aggregate import number_of
for standard in (0, 1, 2):
    os.close(standard)
os._exit(int(number_of(sum, [1, 2, 3], 5.0, 20.0) or 0))
"""


def test_a_parent_without_standard_streams_gets_the_number_too() -> None:
    assert subprocess.run([sys.executable, "-c", STREAMLESS], check=False, env=os.environ).returncode == 6


def test_what_it_prints_goes_nowhere(capfd: pytest.CaptureFixture[str]) -> None:
    def loud(rows: Rows) -> int:
        sys.stdout.write(f"{rows}\n")
        sys.stdout.flush()
        sys.stderr.write("seen\n")
        os.write(1, b"raw")
        raise ValueError(rows)

    assert run(loud) is None
    assert capfd.readouterr() == ("", "")


def test_what_it_started_ends_with_it(tmp_path: Path) -> None:
    mark = tmp_path / "pid"

    def starting(_: Rows) -> int:
        mark.write_text(str(subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]).pid))
        return 1

    assert run(starting) == 1.0
    child = Path(f"/proc/{mark.read_text()}/stat")

    def ended() -> bool:
        try:
            return child.read_text().split(")")[1].split()[0] == "Z"
        except (FileNotFoundError, ProcessLookupError):
            return True

    assert until(ended)


def children() -> set[str]:
    """The processes that this one started and has not waited for: other tests may have some."""
    return {number for task in Path("/proc/self/task").iterdir() for number in (task / "children").read_text().split()}


def test_no_process_and_no_file_stays_behind() -> None:
    folder = Path("/proc/self/fd")
    before, others = len(list(folder.iterdir())), children()
    for _ in range(3):
        run(sum)
        run(lambda rows: rows[99])
    assert len(list(folder.iterdir())) == before
    assert children() == others


def test_no_process_to_be_had_is_a_constant_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused() -> int:
        raise BlockingIOError("Resource temporarily unavailable")

    before = len(list(Path("/proc/self/fd").iterdir()))
    monkeypatch.setattr(os, "fork", refused)
    with pytest.raises(Fault) as fault:
        run(sum)
    assert str(fault.value) == Fault.SENTENCE
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_no_pipe_to_be_had_is_the_same_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused() -> tuple[int, int]:
        raise OSError("Too many open files")

    monkeypatch.setattr(os, "pipe", refused)
    with pytest.raises(Fault) as fault:
        run(sum)
    assert str(fault.value) == Fault.SENTENCE


def test_a_block_draws_other_random_bits_than_its_parent() -> None:
    drawn = {run(lambda _: SECURE.bits(50)) for _ in range(3)} | {float(SECURE.bits(50))}
    assert len(drawn) == 4
