"""Worker process: calls functions for others until one takes too much; and the process that forks such workers.

How much one call may take, the kernel is told. Every limit is a constant, never a fact about rows.
"""

from __future__ import annotations

import gc
import importlib
import os
import pickle
import resource
import select
import signal
import socket
import struct
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from discreet.errors import DiscreetError
from discreet.sandbox.call_messages import Over, SharedValue, receive, said, send

MEGABYTE = 1 << 20
_MAPS = Path("/proc/self/statm")  # where there is none, memory is limited by the engine alone
_ROW_SECONDS, _ROW_MEMORY, _ROW_REPLY = 0.005, 8_192, 1_024  # several times what a row with its error bars takes
_PAGE = resource.getpagesize()


@dataclass(frozen=True)
class Limits:
    """Limits of a call, a person and all of them together."""

    cpu_seconds: float = 5.0  # of the processor
    seconds: float = 20.0  # on the clock: many may be waiting for the processor
    memory: int = 160 * MEGABYTE  # beyond what the process held when it was made
    reserved: int = 128 * MEGABYTE  # addresses that an engine takes and does not fill: the stacks of its threads
    reply: int = 8 * MEGABYTE  # bytes of a result, as it is sent: in the server it takes ten times as many
    kept: int = 80 * MEGABYTE  # that a process may have grown by and be used again; a usual question takes 50
    processes: int = 4
    each: int = 2  # of one person at the same time
    patience: float = 2.0  # seconds that the kernel's clock may be late

    def beside(self, rows: int) -> Limits:
        """The same, and more for each row of the noisy tables that a call is given: they were bought."""
        return replace(
            self,
            cpu_seconds=self.cpu_seconds + rows * _ROW_SECONDS,
            seconds=self.seconds + 4 * rows * _ROW_SECONDS,
            memory=self.memory + rows * _ROW_MEMORY,
            reply=self.reply + rows * _ROW_REPLY,
        )


class _ProcessBounds:
    """Bounds of the process that we are in; nothing is bounded where nobody said `made`."""

    def __init__(self) -> None:
        self.size: int | None = None  # bytes of addresses that it had when it was made
        self.loaded = 0  # bytes of public tables that a custodian added: they are nobody's to be blamed for


_BOUNDS = _ProcessBounds()


def held() -> tuple[int, int]:
    """Bytes that this process has the right to touch, and those that it has and that are in no file."""
    with suppress(OSError):
        size, resident, filed = _MAPS.read_text(encoding="ascii").split()[:3]
        return int(size) * _PAGE, (int(resident) - int(filed)) * _PAGE
    return 0, 0


def made() -> None:
    """This process is one of those that are bounded, and what it holds now is what it may always hold."""
    _BOUNDS.size, _ = held()


def limit(limits: Limits) -> None:
    """From here on the kernel counts.

    It counts addresses, and engines keep those of what they gave back. So the limit is counted from what the process
    had when it was made: counted from what it has now, each call would leave more to the next.
    """
    if _BOUNDS.size:
        _allow(_BOUNDS.size + limits.reserved + limits.memory + _BOUNDS.loaded)
    signal.setitimer(signal.ITIMER_PROF, limits.cpu_seconds)  # nobody handles these signals, so they end the process
    signal.setitimer(signal.ITIMER_REAL, limits.seconds)


def unlimit() -> None:
    """From here on it does not."""
    signal.setitimer(signal.ITIMER_PROF, 0)
    signal.setitimer(signal.ITIMER_REAL, 0)
    _allow(resource.RLIM_INFINITY)


def room(size: int) -> None:
    """Let this process hold so many bytes more: of a table that a custodian added. Elsewhere nothing is limited."""
    if _BOUNDS.size is None:
        return
    _BOUNDS.loaded += size
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    if soft != resource.RLIM_INFINITY:
        _allow(soft + size)


def loaded() -> int:
    """Bytes that were allowed for public tables."""
    return _BOUNDS.loaded


def _allow(size: int) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    with suppress(ValueError, OSError):  # a machine's own limit is lower
        resource.setrlimit(resource.RLIMIT_AS, (size if hard == resource.RLIM_INFINITY else min(size, hard), hard))


FORK, END = b"F", b"E"
PID = struct.Struct("!q")
NOBODY = 0  # the number that is told if the machine makes no process now
_LOOKS = 1.0  # seconds between two looks for processes that ended by themselves

MOST = 1 << 40  # bytes of a job: it comes from the server itself
# a function, its arguments, for how many rows; the number of the facts that come first, themselves if they are new, and
# those that are not needed any more
Job = tuple[Callable[..., object], tuple[object, ...], int, int, bytes | None, tuple[int, ...]]
VALUE, SAID, TOO_MUCH, BROKEN = "value", "said", "too much", "broken"
_GENTLE = 5  # less important than the server, for whoever shares out the processor


class _Nursery:
    """Processes that were made here and have not been waited for: their numbers are nobody else's."""

    def __init__(self, server: socket.socket, limits: Limits) -> None:
        self._server, self._limits = server, limits
        self._alive: set[int] = set()

    def serve(self) -> None:
        """Until the server is gone."""
        try:
            while self._heard():
                self._reap()
        finally:
            for process in list(self._alive):
                self._end(process)

    def _heard(self) -> bool:
        if not select.select([self._server], [], [], _LOOKS)[0]:
            return True
        message, descriptors, _, _ = socket.recv_fds(self._server, 1 + PID.size, 1)
        if message[:1] == FORK:
            self._server.sendall(PID.pack(self._forked(descriptors[0]) if descriptors else NOBODY))
        elif message[:1] == END:
            self._end(PID.unpack(message[1:])[0])
        return bool(message)

    def _forked(self, descriptor: int) -> int:
        try:
            process = os.fork()
        except OSError:  # too many processes, or no memory: those that are there go on
            os.close(descriptor)
            return NOBODY
        if process:
            os.close(descriptor)
            self._alive.add(process)
            return process
        code = 1
        try:
            self._server.close()
            work(socket.socket(fileno=descriptor), self._limits)
            code = 0
        finally:
            os._exit(code)

    def _end(self, process: int) -> None:
        if process in self._alive:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
            self._alive.discard(process)

    def _reap(self) -> None:
        for process in list(self._alive):
            if os.waitpid(process, os.WNOHANG)[0]:
                self._alive.discard(process)


def main() -> None:
    """Arguments: the descriptor of the server's socket, the limits, and what to load."""
    descriptor, limits, *modules = sys.argv[1:]
    for name in modules:
        importlib.import_module(name)
    with socket.socket(fileno=int(descriptor)) as server:
        _Nursery(server, read(limits)).serve()


def written(limits: Limits) -> str:
    """Limits as one argument."""
    return ",".join(repr(value) for value in vars(limits).values())


def read(text: str) -> Limits:
    """Limits as they were written."""
    kinds = [type(value) for value in vars(Limits()).values()]
    return Limits(*(kind(value) for kind, value in zip(kinds, text.split(","), strict=True)))


def work(there: socket.socket, limits: Limits) -> None:
    """Answer calls until nobody is there, or this process has grown."""
    os.nice(_GENTLE)
    gc.freeze()  # what was loaded before the fork stays shared
    facts: dict[int, SharedValue[object]] = {}
    made()
    _, first = held()
    while True:
        try:
            job: Job = pickle.loads(receive(there, MOST))  # noqa: S301  # the server is whom we work for
        except (Over, OSError):
            return
        ended, value = _called(job, facts, limits)
        grown = held()[1] - first > limits.kept + loaded()
        last = grown or ended == TOO_MUCH
        send(there, pickle.dumps((ended, value, last), pickle.HIGHEST_PROTOCOL))
        if last:
            return


def _called(job: Job, facts: dict[int, SharedValue[object]], limits: Limits) -> tuple[str, object]:
    """The value of one call as bytes, or what went wrong."""
    function, given, rows, number, written, dropped = job
    limits = limits.beside(rows)
    for old in dropped:
        facts.pop(old, None)
    if written is not None:
        facts[number] = SharedValue(pickle.loads(written), number)  # noqa: S301
    limit(limits)
    try:
        value = function(facts[number], *given) if number else function(*given)
        body = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    except DiscreetError as error:
        return SAID, said(error)
    except (MemoryError, RecursionError):
        return TOO_MUCH, None
    except Exception as broken:  # noqa: BLE001  # its text could hold anything
        return BROKEN, type(broken).__name__
    finally:
        unlimit()
    return (VALUE, body) if len(body) <= limits.reply else (TOO_MUCH, None)
