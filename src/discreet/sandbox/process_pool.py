"""Pool of processes that wait for functions to call. One that takes too much is ended, and another takes its place."""

from __future__ import annotations

import os
import pickle
import socket
import struct
import subprocess
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TypeVar, cast

from discreet.errors import Exceeded, Fault
from discreet.sandbox import worker_process
from discreet.sandbox.call_messages import Over, Said, SharedValue, heard, receive, restored, send
from discreet.sandbox.worker_process import BROKEN, SAID, VALUE, Limits

T = TypeVar("T")
_KEPT = 8  # facts that a process remembers
_SPARE = 1 << 16  # bytes of a reply around its value
_Wanted = tuple[Callable[..., object], tuple[object, ...], int]  # a function, its arguments, and for how many rows
_ENDING = 2.0  # seconds that the nursery has to end
_MAKING = 60.0  # seconds that it has to make a process, the first after it has loaded our code; then another is begun


class _Unmade(Exception):  # not an error: an answer
    """The machine makes no process now; those that are there go on."""


class _Process:
    """One of the processes: its number, the way to it, and which facts it knows."""

    def __init__(self, number: int, there: socket.socket) -> None:
        self.number, self._there = number, there
        self.last = ""  # whom it worked for
        self._known: OrderedDict[int, None] = OrderedDict()

    def called(self, wanted: _Wanted, facts: SharedValue[Any] | None, limits: Limits) -> tuple[str, Any, bool]:
        """How it ended, what came of it, and whether the process ends too."""
        job, limits = (*wanted, *self._told(facts)), limits.beside(wanted[2])
        self._there.settimeout(limits.seconds + limits.patience)
        send(self._there, pickle.dumps(job, pickle.HIGHEST_PROTOCOL))
        return cast("tuple[str, Any, bool]", restored(receive(self._there, limits.reply + _SPARE)))

    def _told(self, facts: SharedValue[Any] | None) -> tuple[int, bytes | None, tuple[int, ...]]:
        if facts is None:
            return 0, None, ()
        new = facts.number not in self._known
        self._known[facts.number] = None
        self._known.move_to_end(facts.number)
        dropped = list(self._known)[:-_KEPT]
        for old in dropped:
            del self._known[old]
        return facts.number, facts.written if new else None, tuple(dropped)

    @property
    def gone(self) -> bool:
        """Whether it ended while nobody used it."""
        self._there.settimeout(0)
        try:
            return self._there.recv(1, socket.MSG_PEEK) == b""
        except (BlockingIOError, InterruptedError):
            return False
        except OSError:
            return True

    def leave(self) -> None:
        """Let it go: it ends when it has nobody to work for."""
        self._there.close()


class Processes:
    """The processes of one server. Any thread may call; it waits for its turn."""

    def __init__(self, modules: Sequence[str] = (), limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        self._modules = tuple(modules)
        self._lock = threading.Lock()  # around everything below, and never while a process works
        self._nursery: tuple[subprocess.Popen[bytes], socket.socket] | None = None
        self._idle: list[_Process] = []
        self._many = 0  # idle or not
        self._over = False
        self._places = threading.Semaphore(self.limits.processes)
        self._turns: dict[str, tuple[threading.Semaphore, int]] = {}  # with how many want one

    def call(
        self,
        who: str,
        function: Callable[..., T],
        /,
        *given: object,
        facts: SharedValue[Any] | None = None,
        rows: int = 0,
    ) -> T:
        """Its value, from another process; one person has only so many of them at once."""
        with self._turn(who), self._places:
            ended, value = self._called(who, (function, given, rows), facts)
        if ended == VALUE:
            return cast("T", restored(value))
        if ended == SAID:
            raise heard(cast("Said", value))
        if ended == BROKEN:
            raise Fault
        raise Exceeded

    def _called(self, who: str, wanted: _Wanted, facts: SharedValue[Any] | None) -> tuple[str, Any]:
        try:
            process = self._taken(who)
        except (Over, _Unmade):  # the server closes, or the machine has no room
            return "", None
        ending = True
        try:
            ended, value, ending = process.called(wanted, facts, self.limits)
        except (Over, OSError, pickle.UnpicklingError):  # the kernel ended it, or we do
            return "", None
        finally:
            if ending:
                self._end(process)
            else:
                with self._lock:
                    self._idle.append(process)
        return ended, value

    @contextmanager
    def _turn(self, who: str) -> Iterator[None]:
        with self._lock:
            turn, wanted = self._turns.get(who, (threading.Semaphore(self.limits.each), 0))
            self._turns[who] = turn, wanted + 1
        try:
            with turn:
                yield
        finally:
            with self._lock:
                turn, wanted = self._turns.pop(who)
                if wanted > 1:
                    self._turns[who] = turn, wanted - 1

    # making and ending them ------------------------------------------------------------------------------------------

    def open(self) -> None:
        """Begin to load what the processes need, so that the first question does not wait for it."""
        with self._lock:
            self._begun()

    def _taken(self, who: str) -> _Process:
        """The process that last worked for somebody, if it is idle; else a new one, if there may be more of them.

        So what one person's process remembers is not lost when another's is ended.
        """
        with self._lock:
            self._idle = [process for process in self._idle if not self._gone(process)]
            own = [process for process in self._idle if process.last == who]
            if self._idle and (own or self._many >= self.limits.processes):
                process = (own or self._idle)[-1 if own else 0]
                self._idle.remove(process)
            else:
                process = self._another_or_idle()
            process.last = who
            return process

    def _gone(self, process: _Process) -> bool:
        if process.gone:
            process.leave()
            self._many -= 1
            return True
        return False

    def _another_or_idle(self) -> _Process:
        try:
            return self._another()
        except _Unmade:
            if not self._idle:
                raise
            return self._idle.pop(0)

    def _another(self) -> _Process:
        if self._over:
            raise Over
        try:
            made = self._made()
        except Over:  # the nursery ended: another one is begun
            self._end_nursery()
            made = self._made()
        self._many += 1
        return made

    def _made(self) -> _Process:
        try:
            _, there = self._begun()
            ours, theirs = socket.socketpair()
        except OSError:
            raise _Unmade from None
        try:
            with theirs:
                socket.send_fds(there, [worker_process.FORK], [theirs.fileno()])
            (number,) = worker_process.PID.unpack(there.recv(worker_process.PID.size, socket.MSG_WAITALL))
        except (OSError, struct.error):  # it said nothing, or not all
            ours.close()
            raise Over from None
        if number == worker_process.NOBODY:
            ours.close()
            raise _Unmade
        return _Process(number, ours)

    def _begun(self) -> tuple[subprocess.Popen[bytes], socket.socket]:
        if self._nursery is None:
            ours, theirs = socket.socketpair()
            command = [sys.executable, "-m", "discreet.sandbox", str(theirs.fileno())]
            command += [worker_process.written(self.limits), *self._modules]
            with theirs:
                process = subprocess.Popen(  # noqa: S603  # our own interpreter and our own code
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,  # an engine that breaks may print what it was asked
                    pass_fds=[theirs.fileno()],
                    env=_surroundings(),
                    start_new_session=True,  # whoever stops the server with Ctrl+C stops this one through the server
                )
            ours.settimeout(_MAKING)  # everybody waits meanwhile, also who closes the server
            self._nursery = process, ours
        return self._nursery

    def _end(self, process: _Process) -> None:
        process.leave()
        with self._lock, suppress(OSError):
            self._many -= 1
            if self._nursery is not None:
                self._nursery[1].sendall(worker_process.END + worker_process.PID.pack(process.number))

    def _end_nursery(self) -> None:
        if self._nursery is None:
            return
        process, there = self._nursery
        self._nursery = None
        there.close()  # the nursery ends its processes, and itself
        try:
            process.wait(_ENDING)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def close(self) -> None:
        """End them all, at once, whatever they do."""
        with self._lock:
            for process in self._idle:
                process.leave()
            self._idle.clear()
            self._over = True
            self._end_nursery()


_PASSED = ("HOME", "LANG", "LC_ALL", "LC_CTYPE", "LD_LIBRARY_PATH", "PATH", "TMPDIR", "TZ", "VIRTUAL_ENV")

_NO_THREADS = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "ARROW_DEFAULT_MEMORY_POOL": "system"}  # for forks


def _surroundings() -> dict[str, str]:
    """What the other process may know of ours: where code is, and no token."""
    passed = {name: os.environ[name] for name in _PASSED if name in os.environ}
    paths = os.pathsep.join(path for path in sys.path if path)
    return {**passed, "PYTHONPATH": paths, "MALLOC_ARENA_MAX": "2", **_NO_THREADS}
