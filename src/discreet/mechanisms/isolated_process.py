"""One function on one block of rows, in a process of its own, so that an honest function's number depends on its block.

What a block stores in memory or prints ends with it, and it inherits no open file. Its time is counted in processor
seconds, which hardly depend on what else the machine holds or does. "Hardly" and "honest" are conditions of the
guarantee: docs/proofs/sample.md, "Isolation", has them all.
"""

from __future__ import annotations

import fcntl
import gc
import os
import resource
import select
import signal
import struct
import sys
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import NoReturn, TypeVar

from discreet.errors import Fault

B = TypeVar("B")

_NUMBER = struct.Struct("<d")
_POLL = 60_000  # milliseconds at most in one call: more than 2^31 would not fit


def number_of(function: Callable[[B], object], block: B, seconds: float, patience: float) -> float | None:
    """The number that `function` returns for `block`; None if it returns none, fails, or takes too long.

    `seconds` is processor time; `patience` is time on the wall, for a function that sleeps or waits. Files that the
    function reads it must open itself.
    """
    child, reading = _started(function, block, seconds)
    try:
        content = _received(reading, time.monotonic() + patience)
    finally:
        os.close(reading)
        _end(child)
    return _NUMBER.unpack(content)[0] if len(content) == _NUMBER.size else None


def _started(function: Callable[[B], object], block: B, seconds: float) -> tuple[int, int]:
    """The child, and where its number can be read."""
    ends: tuple[int, ...] = ()
    try:
        reading, writing = ends = os.pipe()
        child = _forked()
    except OSError:  # no process to be had: the machine's state, not the rows', and still no reason to say more
        for end in ends:
            os.close(end)
        raise Fault from None
    if child == 0:
        _run(function, block, seconds, writing)
    os.close(writing)
    return child, reading


def _forked() -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of a fork beside threads: the child is left at its end
        return os.fork()


def _run(function: Callable[[B], object], block: B, seconds: float, writing: int) -> NoReturn:
    """In the child: it never returns, whatever happens."""
    try:
        os.setsid()  # so that its own children can be ended with it
        writing = fcntl.fcntl(writing, fcntl.F_DUPFD_CLOEXEC, 3)  # in case the parent has no standard output
        _close_files(writing)
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a core file would hold all rows
        gc.freeze()  # so that no collection walks through other blocks' rows, in this block's time
        gc.collect()  # and the next one is due after as many objects, whatever was made before
        signal.setitimer(signal.ITIMER_PROF, seconds)
        result = function(block)
        if isinstance(result, (str, bytes)):  # float() would read them
            os._exit(1)
        os.write(writing, _NUMBER.pack(float(result)))  # type: ignore[arg-type]  # whatever it is, it is tried
    finally:
        os._exit(0)


def _close_files(writing: int) -> None:
    """Every open file but this one: where a file is read and written next is shared with the parent and all blocks."""
    quiet = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(quiet, standard)
    for name in os.listdir("/dev/fd"):  # noqa: PTH208  # names of numbers, not paths
        if int(name) > 2 and int(name) != writing:
            with suppress(OSError):  # the listing's own, closed by now
                os.close(int(name))
    sys.stdout = sys.stderr = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115  # a notebook's go elsewhere


def _received(reading: int, deadline: float) -> bytes:
    """What the child wrote before it ended, or before the deadline."""
    content, poll = b"", select.poll()  # select() takes no file number above 1023
    poll.register(reading, select.POLLIN)
    while len(content) < _NUMBER.size and (left := deadline - time.monotonic()) > 0:
        if poll.poll(min(1000 * left, _POLL)):
            part = os.read(reading, _NUMBER.size - len(content))
            if not part:
                break
            content += part
    return content


def _end(child: int) -> None:
    """The child and whatever it started, unless that left the child's process group."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)
    with suppress(ProcessLookupError):
        os.kill(child, signal.SIGKILL)
    with suppress(ChildProcessError):  # where SIGCHLD is ignored, nobody need wait for it
        os.waitpid(child, 0)
