"""A process that calls functions for others until one takes too much, and the process that forks such workers."""

from __future__ import annotations

import gc
import importlib
import os
import pickle
import select
import signal
import socket
import struct
import sys
from collections.abc import Callable
from contextlib import suppress

from discreet.errors import DiscreetError
from discreet.sandbox import limits as bounds
from discreet.sandbox.limits import Limits
from discreet.sandbox.messages import Over, SharedValue, receive, said, send

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
    bounds.made()
    _, first = bounds.held()
    while True:
        try:
            job: Job = pickle.loads(receive(there, MOST))  # noqa: S301  # the server is whom we work for
        except (Over, OSError):
            return
        ended, value = _called(job, facts, limits)
        grown = bounds.held()[1] - first > limits.kept + bounds.loaded()
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
    bounds.start(limits)
    try:
        found = function(facts[number], *given) if number else function(*given)
        body = pickle.dumps(found, pickle.HIGHEST_PROTOCOL)
    except DiscreetError as error:
        return SAID, said(error)
    except (MemoryError, RecursionError):
        return TOO_MUCH, None
    except Exception as broken:  # noqa: BLE001  # its text could hold anything
        return BROKEN, type(broken).__name__
    finally:
        bounds.stop()
    return (VALUE, body) if len(body) <= limits.reply else (TOO_MUCH, None)
