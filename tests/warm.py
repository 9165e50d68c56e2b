"""A process that has loaded our code and becomes `discreet …`, or what a test wrote, in 30 ms, not in two seconds.

Everything else is as in a process of its own: its number, signals, streams, environment, folder and exit code. What
is about starting a Python starts one. The nursery of a server's sandbox is made in the same way, by a process that
was split off before it had loaded a server.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import io
import json
import os
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import traceback
import types
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import IO, NoReturn

from discreet.cli import main
from discreet.sandbox import process_pool, worker_process

_NUMBER = struct.Struct("!q")
_SIZE = struct.Struct("!Q")
_NURSERY = (
    "discreet.curator.sandboxed_planner",
    "discreet.server.pg_catalog",
    "discreet.server.pgwire.parameter_types",
)
_SERVER = (
    "discreet.cli.serve",
    "discreet.cli.http_door_for_console",
    "discreet.desk",
    "discreet.server.http",
    "discreet.server.pgwire",
)
_NO_THREADS = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "ARROW_DEFAULT_MEMORY_POOL": "system"}


class Warm:
    """A process that was forked for us, as `subprocess.Popen` would show it."""

    def __init__(self, at: Path, arguments: Sequence[str], descriptors: Sequence[int], env: Mapping[str, str]) -> None:
        self.args = list(arguments)
        self.returncode: int | None = None
        self.stdout: IO[str] = io.StringIO()
        self._there = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._there.connect(str(at))
            asked = json.dumps([self.args, dict(env), str(Path.cwd())]).encode()
            socket.send_fds(self._there, [_SIZE.pack(len(asked))], list(descriptors))
            self._there.sendall(asked)
            self.pid = _number(self._there)
        except BaseException:
            self._there.close()
            raise

    def poll(self) -> int | None:
        """Its exit code, if it has ended."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Its exit code, when it has ended."""
        if self.returncode is None:
            if not select.select([self._there], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(self.args, timeout or 0)
            self.returncode = _number(self._there)
            self._there.close()
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Unless it has ended: its number may be another's by now."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def started(arguments: Sequence[str], err: int) -> Warm:
    """`discreet ARGUMENTS`, begun, in our environment and folder; `stdout` is a pipe, and `err` a file of ours.

    With `-c` and a text first it is that text of Python, where all of ours is imported already.
    """
    read, write = os.pipe()
    try:
        process = Warm(_place() / "commands", arguments, [write, err], os.environ)
    finally:
        os.close(write)
    process.stdout = os.fdopen(read)
    return process


def finished(arguments: Sequence[str], timeout: float = 600) -> subprocess.CompletedProcess[str]:
    """What `discreet ARGUMENTS` prints and how it ends; with `-c` and a text first, that of Python."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        process = Warm(_place() / "commands", arguments, [out.fileno(), err.fileno()], os.environ)
        try:
            code = process.wait(timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise
        for stream in (out, err):
            stream.seek(0)
        return subprocess.CompletedProcess(list(arguments), code, out.read(), err.read())


@cache
def _place() -> Path:
    """The folder where it listens. It ends when we do: then the other end of its standard input is closed."""
    folder = Path(tempfile.mkdtemp(prefix="discreet-warm-"))
    environment = {**os.environ, **_NO_THREADS, "MALLOC_ARENA_MAX": "2"}
    command = [sys.executable, "-P", "-W", "ignore::DeprecationWarning", __file__, str(folder)]  # of forks, in 3.12
    ours = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
    atexit.register(_end, ours, folder)
    assert ours.stdout is not None
    assert ours.stdout.readline() == b"ready\n"
    return folder


def _end(ours: subprocess.Popen[bytes], folder: Path) -> None:
    ours.communicate()
    shutil.rmtree(folder)


def _number(there: socket.socket) -> int:
    return int(_NUMBER.unpack(there.recv(_NUMBER.size, socket.MSG_WAITALL))[0])


# in the process that forks --------------------------------------------------------------------------------------------


def _main(folder: Path) -> NoReturn:
    """Load, split, load more, and fork until whoever asked for it is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C is for whoever asked
    doors = {name: socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) for name in ("commands", "nurseries")}
    for name, door in doors.items():
        door.bind(str(folder / name))
        door.listen(64)
    for name in _NURSERY:
        importlib.import_module(name)
    if (other := os.fork()) == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        doors["commands"].close()
        _forking(doors["nurseries"], _become_nursery)
        os._exit(0)
    doors["nurseries"].close()
    for name in _SERVER:
        importlib.import_module(name)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    _forking(doors["commands"], partial(_become_command, folder / "nurseries"))
    os.waitpid(other, 0)
    os._exit(0)  # nothing here is worth an orderly end


def _forking(door: socket.socket, become: Callable[[list[str], list[int]], None]) -> None:
    """Fork for each who comes, tell them the number and the end of what was forked; in the end, end all."""
    gc.collect()
    gc.freeze()  # so that what is forked shares it
    heard, bell = socket.socketpair()
    bell.setblocking(False)  # noqa: FBT003
    signal.set_wakeup_fd(bell.fileno(), warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    alive: dict[int, socket.socket] = {}
    while sys.stdin not in (found := select.select([door, heard, sys.stdin], [], [])[0]):
        if heard in found:
            heard.recv(4096)
            _tell_ends(alive)
        if door in found:
            there, _ = door.accept()
            if (process := os.fork()) == 0:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                signal.signal(signal.SIGINT, signal.default_int_handler)
                for each in (door, heard, bell, *alive.values()):
                    each.close()
                _become(there, become)
            alive[process] = there
            _tell(there, process)
    signal.set_wakeup_fd(-1)
    for process in alive:
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)


def _tell(there: socket.socket, number: int) -> None:
    with contextlib.suppress(OSError):  # whoever asked is gone
        there.sendall(_NUMBER.pack(number))


def _tell_ends(alive: dict[int, socket.socket]) -> None:
    for process in list(alive):
        found, status = os.waitpid(process, os.WNOHANG)
        if found:
            with alive.pop(process) as there:
                _tell(there, os.waitstatus_to_exitcode(status))


# in what was forked ---------------------------------------------------------------------------------------------------


def _become(there: socket.socket, become: Callable[[list[str], list[int]], None]) -> NoReturn:
    """Hear what is wanted, be it, and end as an interpreter does."""
    code = 1
    try:
        with there:
            size, descriptors, _, _ = socket.recv_fds(there, _SIZE.size, 4)
            asked = there.recv(_SIZE.unpack(size)[0], socket.MSG_WAITALL)
        arguments, environment, folder = json.loads(asked)
        os.environ.clear()
        os.environ.update(environment)
        os.chdir(folder)
        become(arguments, descriptors)
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:  # noqa: BLE001  # as an interpreter would
        traceback.print_exc()
    finally:
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _streams(*descriptors: int) -> None:
    """Put these in the place of standard input, output and error."""
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
    for descriptor in set(descriptors):
        os.close(descriptor)


def _become_command(nurseries: Path, arguments: list[str], descriptors: list[int]) -> None:
    def made(command: list[str], *, pass_fds: Sequence[int], env: Mapping[str, str], **_: object) -> Warm:
        assert command[:4] == [sys.executable, "-m", "discreet.sandbox", str(pass_fds[0])]
        return Warm(nurseries, command[4:], pass_fds, env)

    _streams(os.open(os.devnull, os.O_RDONLY), *descriptors)
    if arguments[0] == "-c":
        sys.argv = ["-c", *arguments[2:]]
        exec(arguments[1], {"__name__": "__main__"})  # noqa: S102  # what a test wrote
        return
    sys.argv = ["discreet", *arguments]
    vars(process_pool)["subprocess"] = types.SimpleNamespace(**{**vars(subprocess), "Popen": made})
    main()


def _become_nursery(arguments: list[str], descriptors: list[int]) -> None:
    nothing = os.open(os.devnull, os.O_RDWR)
    _streams(nothing, nothing, nothing)
    os.setsid()
    sys.argv = ["discreet.sandbox", str(descriptors[0]), *arguments]
    worker_process.main()


if __name__ == "__main__":
    _main(Path(sys.argv[1]))
