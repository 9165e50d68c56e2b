"""What runs in a process of its own is bounded there, holds nothing of ours, and leaves nothing behind."""

from __future__ import annotations

import mmap
import operator
import os
import pickle
import resource
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from sqlglot import exp, parse_one, serde

from discreet.errors import Exceeded, Fault, Ground, OverBudget, Refusal, Unsupported
from discreet.sandbox import DIRECT, Limits, Processes, SharedValue
from discreet.sandbox import process_pool as pool
from discreet.sandbox.call_messages import Over, heard, receive, restored, said, send
from discreet.sandbox.worker_process import read, unlimit, written

SMALL = Limits(cpu_seconds=0.3, seconds=5.0, memory=64 << 20, reply=1 << 20, processes=3, each=1)


@pytest.fixture(scope="module")
def processes() -> Iterator[Processes]:
    found = Processes((), SMALL)
    yield found
    found.close()


def twice(text: str) -> str:
    """A function that another process finds by its name."""
    return text * 2


def counted(facts: SharedValue[dict[str, int]], name: str) -> tuple[int, int]:
    """A fact, and how often something was made of the facts."""
    made = facts.made("calls", lambda _: [0])
    made[0] += 1
    return facts.value[name], made[0]


@pytest.mark.parametrize("sandbox", ["direct", "processes"])
def test_a_call_has_its_value_here_and_there(sandbox: str, processes: Processes) -> None:
    called = DIRECT.call if sandbox == "direct" else processes.call
    facts = SharedValue({"a": 1})
    assert called("ann", operator.add, 1, 2) == 3
    assert [called("ann", counted, "a", facts=facts) for _ in range(3)] == [(1, 1), (1, 2), (1, 3)]
    assert called("ann", counted, "b", facts=SharedValue({"b": 2})) == (2, 1)


def test_a_tree_of_sql_comes_back_whole(processes: Processes) -> None:
    tree = processes.call("ann", parse_one, "SELECT a::bigint FROM t WHERE b IN (1, 2)")
    assert isinstance(tree, exp.Select)
    assert tree.sql() == parse_one("SELECT a::bigint FROM t WHERE b IN (1, 2)").sql()


@pytest.mark.parametrize(
    ("function", "given"),
    [
        (operator.mul, (b"x", 1 << 30)),  # more memory than there is
        (operator.mul, (b"x", 2 << 20)),  # more than a reply may hold
        (operator.mul, (b"x", 1 << 20)),  # the same, by the few bytes around it
        (pow, (7, 10**8)),  # in one instruction of the interpreter, which no thread can interrupt
        (os._exit, (0,)),
        (os.abort, ()),
    ],
)
def test_what_takes_too_much_is_ended_and_the_next_call_is_answered(
    processes: Processes, function: Callable[..., object], given: tuple[object, ...]
) -> None:
    with pytest.raises(Exceeded, match="more memory or time than one question has"):
        processes.call("eve", function, *given)
    assert processes.call("eve", operator.add, 1, 2) == 3


def test_the_kernel_is_told_how_long_a_call_may_take(processes: Processes) -> None:
    """On the processor and on the clock, and more of both for tables of many rows."""
    for rows in (0, 100):
        most = SMALL.beside(rows)
        for which, limit in ((signal.ITIMER_PROF, most.cpu_seconds), (signal.ITIMER_REAL, most.seconds)):
            left, again = processes.call("ann", signal.getitimer, which, rows=rows)
            assert 0 < left <= limit + 0.01  # the kernel counts in steps of its own
            assert again == 0


def unlimited() -> tuple[list[tuple[float, float]], bool]:
    """What is left of the clocks, and whether memory has no end, where a call is over."""
    unlimit()
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    return [signal.getitimer(which) for which in (signal.ITIMER_PROF, signal.ITIMER_REAL)], soft == hard


def test_who_waits_for_the_next_call_is_not_limited(processes: Processes) -> None:
    assert processes.call("ann", unlimited) == ([(0, 0), (0, 0)], True)


def stubborn(said: Path) -> None:
    """Takes no signal that the kernel's clocks send, says which process it is, and waits for ever."""
    for number in (signal.SIGPROF, signal.SIGALRM):
        signal.signal(number, signal.SIG_IGN)
    said.write_text(str(os.getpid()))
    while True:
        signal.pause()


def test_a_process_that_is_given_up_is_ended(tmp_path: Path) -> None:
    found = Processes((), replace(SMALL, seconds=1.0, patience=0.4))  # time to say which process it is
    try:
        with pytest.raises(Exceeded):
            found.call("eve", stubborn, tmp_path / "number")
        assert found.call("ann", operator.add, 1, 2) == 3  # in a process that was made after that one was ended
        with pytest.raises(ProcessLookupError):
            os.kill(int((tmp_path / "number").read_text()), 0)
    finally:
        found.close()


_RESERVED: list[mmap.mmap] = []


def reserved(size: int) -> int:
    """Addresses that this process takes, does not fill and keeps, as engines do with what they gave back: how many."""
    try:
        _RESERVED.append(mmap.mmap(-1, size))
    except OSError:
        raise MemoryError from None
    return sum(map(len, _RESERVED))


def test_calls_that_leave_addresses_behind_leave_no_more_memory_to_the_next_one() -> None:
    """What a process may hold is counted from the day it was made, however many calls came before."""
    processes = Processes((), SMALL)
    held = [processes.call("eve", reserved, 32 << 20)]
    try:
        while held[-1] <= 2 * (SMALL.memory + SMALL.reserved):
            held.append(processes.call("eve", reserved, 32 << 20))
    except Exceeded:
        pass
    finally:
        processes.close()
    assert SMALL.memory < held[-1] <= SMALL.memory + SMALL.reserved


def test_a_call_about_many_bought_rows_has_more_memory(processes: Processes) -> None:
    size = SMALL.memory + SMALL.reserved
    with pytest.raises(Exceeded):
        processes.call("eve", reserved, size)
    assert processes.call("ann", reserved, size, rows=1 << 17) == size


def answered_by(pipe: Path) -> int:
    """Which process this is, told when there is something in the pipe."""
    pipe.read_text()
    return os.getpid()


def test_there_are_no_more_processes_than_may_be(tmp_path: Path) -> None:
    """Bob waits until ann's call is over, and his is then answered by the process that answered hers."""
    found, pipe = Processes((), replace(SMALL, processes=1)), tmp_path / "pipe"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(2) as threads:
        ann = threads.submit(found.call, "ann", answered_by, pipe)
        writer = os.open(pipe, os.O_WRONLY)  # when her process has begun
        try:
            bob = threads.submit(found.call, "bob", os.getpid)
            assert not found._places.acquire(blocking=False)
        finally:
            os.write(writer, b"now")
            os.close(writer)
        assert ann.result() == bob.result()
    found.close()


def test_who_grew_is_used_once_more_and_then_no_more() -> None:
    """What a process keeps of one call, the next has no room for: another takes its place."""
    found = Processes((), replace(SMALL, kept=48 << 20))
    try:
        first = found.call("ann", os.getpid)
        assert found.call("ann", filled, 1 << 20) == first
        assert found.call("ann", filled, 64 << 20) == first
        assert found.call("ann", os.getpid) != first
    finally:
        found.close()


_FILLED: list[bytes] = []


def filled(size: int) -> int:
    """Which process this is, that now keeps so much."""
    _FILLED.append(b"x" * size)
    return os.getpid()


def test_a_process_at_work_ends_with_its_server(tmp_path: Path) -> None:
    found, pipe, number = Processes((), SMALL), tmp_path / "pipe", tmp_path / "number"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as threads:
        ann = threads.submit(found.call, "ann", deaf, number, pipe)
        os.close(os.open(pipe, os.O_WRONLY))  # when it has said its number
        found.close()
        with pytest.raises(Exceeded):
            ann.result()
    with pytest.raises(ProcessLookupError):
        os.kill(int(number.read_text()), signal.SIGKILL)


def deaf(said: Path, pipe: Path) -> None:
    """Says which process it is, and works on whoever goes away: the kernel's clocks do not end it."""
    signal.setitimer(signal.ITIMER_REAL, 0)
    said.write_text(str(os.getpid()))
    with pipe.open() as _:
        while True:
            signal.pause()


@pytest.mark.parametrize(("most", "heard"), [(10, True), (9, False)])
def test_a_message_is_no_longer_than_may_be(most: int, *, heard: bool) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        send(theirs, b"ten bytes.")
        if heard:
            assert receive(ours, most) == b"ten bytes."
        else:
            with pytest.raises(Over):
                receive(ours, most)


def test_who_waits_makes_nobody_else_wait(processes: Processes, tmp_path: Path) -> None:
    """Eve's second call waits for her first, which waits for us; ann's does not."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    begun = threading.Event()

    def eve() -> str:
        begun.set()
        return processes.call("eve", Path.read_text, pipe)

    with ThreadPoolExecutor(2) as threads:
        first: Future[str] = threads.submit(eve)
        begun.wait()
        writer = os.open(pipe, os.O_WRONLY)  # when the other side is open as well: her process has begun
        turn, _ = processes._turns["eve"]
        assert not turn.acquire(blocking=False)  # she has as many as one person may have
        second = threads.submit(processes.call, "eve", operator.add, 1, 2)
        assert processes.call("ann", operator.add, 1, 2) == 3
        assert not first.done()
        assert not second.done()
        os.write(writer, b"now")
        os.close(writer)
        assert (first.result(), second.result()) == ("now", 3)


def test_errors_of_ours_are_told_whole_and_others_not_at_all(processes: Processes) -> None:
    told = Unsupported("no", hint="yes", place=(1, 2), repair="SELECT 1")
    again = heard(said(told))
    assert (type(again), vars(again)) == (Unsupported, vars(told))
    assert heard(said(OverBudget("dear"))).args == ("dear",)
    assert isinstance(heard(said(Fault())), Fault)

    class Misread(Refusal):
        pass

    assert type(heard(said(Misread("x", ground=Ground.TABLE)))) is Refusal
    with pytest.raises(Fault, match=Fault.SENTENCE):
        processes.call("ann", operator.add, 1, "a secret")


def test_a_process_holds_nothing_of_ours(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DISCREET_TOKEN", "a secret")
    fresh = Processes((), SMALL)
    try:
        with (tmp_path / "ledger.db").open("w"):
            assert fresh.call("ann", os.getenv, "DISCREET_TOKEN") is None
            held = {fresh.call("ann", os.path.realpath, f"/proc/self/fd/{i}") for i in range(64)}
        assert not [path for path in held if "ledger.db" in path]
    finally:
        fresh.close()


@pytest.mark.parametrize("value", [os.system, print, twice, Path("x"), {"a": [eval]}])
def test_a_reply_is_a_value_and_names_no_function(value: object) -> None:
    with pytest.raises(pickle.UnpicklingError, match="is no value"):
        restored(pickle.dumps(value))


class Forged:
    """A tree whose root, or whose type, is something else."""

    def __init__(self, *parts: dict[str, object]) -> None:
        self.parts = list(parts)

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        return serde.load, (self.parts,)


@pytest.mark.parametrize(
    "part", [{"c": "os.getcwd"}, {"c": "sqlglot.parse"}, {"c": "Literal", "t": [{"c": "os.getcwd"}]}]
)
def test_a_tree_in_a_reply_names_classes_of_the_parser_only(part: dict[str, object]) -> None:
    with pytest.raises(pickle.UnpicklingError, match="is no part of SQL"):
        restored(pickle.dumps(Forged(part)))


def test_they_all_end_with_their_server_and_come_back_if_their_nursery_ends() -> None:
    found = Processes((), SMALL)
    first = found.call("ann", os.getppid)
    os.kill(first, 9)
    with pytest.raises(Exceeded):
        found.call("ann", os._exit, 0)  # the last process of that nursery
    second, nursery = found.call("ann", os.getpid), found.call("ann", os.getppid)
    assert nursery != first
    found.close()
    for process in (second, nursery):
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)
    with pytest.raises(Exceeded):
        found.call("ann", os.getpid)


def test_limits_are_written_and_read() -> None:
    assert read(written(SMALL)) == SMALL
    assert SMALL.beside(0) == SMALL
    assert SMALL.beside(1000).cpu_seconds > SMALL.cpu_seconds


def test_a_reply_names_no_class_that_our_modules_only_import() -> None:
    """A name with dots is looked up part by part, so a module of ours would lead to every class that it knows."""
    for module, name in (
        ("discreet.sandbox.process_pool", "subprocess.Popen"),
        ("discreet.server.fair_share", "ThreadPoolExecutor"),
        ("collections", "_sys.modules.__class__"),
    ):
        named = [pickle.SHORT_BINUNICODE + bytes([len(text)]) + text.encode() for text in (module, name)]
        with pytest.raises(pickle.UnpicklingError, match="no value"):
            restored(pickle.PROTO + b"\x04" + b"".join(named) + pickle.STACK_GLOBAL + pickle.STOP)


def test_a_nursery_that_stands_still_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "_ENDING", 0.1)
    found = Processes((), SMALL)
    try:
        assert found.call("ann", twice, "x") == "xx"
        stuck, there = found._nursery or pytest.fail("there is none")
        stuck.send_signal(signal.SIGSTOP)
        there.settimeout(0.1)
        assert found.call("bob", twice, "y") == "yy"  # for whom another process is made
        assert stuck.poll() is not None
    finally:
        found.close()


def test_a_machine_that_makes_no_more_processes_ends_none_of_those_that_are_there(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Ann's process is at work and bob's waits for him when eve wants a third, and nobody makes one."""
    monkeypatch.setenv("HOME", str(tmp_path))
    processes, pipe = Processes(("sandbox.crowded",), SMALL), tmp_path / "pipe"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as threads:
        ann = threads.submit(processes.call, "ann", Path.read_text, pipe)
        writer = os.open(pipe, os.O_WRONLY)
        (tmp_path / "full").touch()
        for _ in range(3):
            with pytest.raises(Exceeded, match="more memory or time than one question has"):
                processes.call("eve", operator.add, 1, 2)
        (tmp_path / "full").unlink()
        bob = processes.call("bob", os.getpid)
        (tmp_path / "full").touch()
        assert processes.call("eve", os.getpid) == bob  # which is idle
        os.write(writer, b"still here")
        os.close(writer)
        assert ann.result() == "still here"
    (tmp_path / "full").unlink()
    with pytest.raises(Exceeded):
        processes.call("eve", os._exit, 0)
    assert processes.call("eve", operator.add, 1, 2) == 3
    processes.close()
