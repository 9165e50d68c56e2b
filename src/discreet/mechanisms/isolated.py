"""One function on one block of rows, in a process of its own: what it does there reaches nobody else.

Nothing that a block does may change what another block answers, so a block leaves no trace: its memory, its output and
its children end with it. Its time is counted in processor seconds, which do not depend on what else the machine does.
"""

from __future__ import annotations

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


def number_of(function: Callable[[B], object], block: B, seconds: float, patience: float) -> float | None:
    """The number that `function` returns for `block`; None if it returns none, fails, or takes too long.

    `seconds` is processor time; `patience` is time on the wall, for a function that sleeps or waits.
    """
    reading, writing = os.pipe()
    try:
        child = _forked()
    except OSError:  # no process to be had: the machine's state, not the rows', and still no reason to say more
        os.close(reading)
        os.close(writing)
        raise Fault from None
    if child == 0:
        _run(function, block, seconds, writing)
    os.close(writing)
    try:
        content = _received(reading, time.monotonic() + patience)
    finally:
        os.close(reading)
        _end(child)
    return _NUMBER.unpack(content)[0] if len(content) == _NUMBER.size else None


def _forked() -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of a fork beside threads: the child is left at its end
        return os.fork()


def _run(function: Callable[[B], object], block: B, seconds: float, writing: int) -> NoReturn:
    """In the child: it never returns, whatever happens."""
    try:
        os.setsid()  # so that its own children can be ended with it
        quiet = os.open(os.devnull, os.O_RDWR)
        for standard in (0, 1, 2):
            os.dup2(quiet, standard)
        sys.stdout = sys.stderr = open(quiet, "w", encoding="utf-8")  # noqa: PTH123, SIM115  # a notebook's go elsewhere
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_PROF, seconds)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a core file would hold all rows
        result = function(block)
        if isinstance(result, (str, bytes)):  # float() would read them
            os._exit(1)
        os.write(writing, _NUMBER.pack(float(result)))  # type: ignore[arg-type]  # whatever it is, it is tried
    finally:
        os._exit(0)


def _received(reading: int, deadline: float) -> bytes:
    """What the child wrote before it ended, or before the deadline."""
    content = b""
    while len(content) < _NUMBER.size:
        ready, _, _ = select.select([reading], [], [], max(0.0, deadline - time.monotonic()))
        part = os.read(reading, _NUMBER.size - len(content)) if ready else b""
        if not part:
            break
        content += part
    return content


def _end(child: int) -> None:
    """The child and whatever it started."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)
    with suppress(ProcessLookupError):
        os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
