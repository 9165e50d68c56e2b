"""The process that makes the others: it loads our code once, forks when it is told to, and ends with its server.

It opens no database and starts no thread before a fork, so that what it forks is whole.
"""

from __future__ import annotations

import importlib
import os
import select
import signal
import socket
import struct
import sys
from contextlib import suppress

from discreet.sandbox.limits import Limits
from discreet.sandbox.worker import work

FORK, END = b"F", b"E"
PID = struct.Struct("!q")
NOBODY = 0  # the number that is told if the machine makes no process now
_LOOKS = 1.0  # seconds between two looks for processes that ended by themselves


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
