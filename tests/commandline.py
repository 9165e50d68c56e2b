"""`discreet …` as a person types it, in this process: a Python that starts up for each call costs a second.

What a call could change of this process is put back: folder, environment, arguments, streams, umask.
What needs a real process (signals, a terminal, a server, what is imported) starts one itself.
"""

from __future__ import annotations

import io
import os
import sys
from contextlib import chdir
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from bare import BARE

from discreet.cli import main


def discreet(folder: Path, *arguments: str | bytes, stdin: str = "", **environment: str) -> CompletedProcess[str]:
    """What `discreet ARGUMENTS` prints and how it ends, called in a folder with nothing else in the environment."""
    words = [os.fsdecode(argument) for argument in arguments]
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="\n") for _ in range(2))
    mask = os.umask(0)  # so that a command which leaves it as it finds it writes for everybody, and is noticed
    try:
        with chdir(folder), pytest.MonkeyPatch.context() as patch:
            for name in set(os.environ) - set(BARE):
                patch.delenv(name)
            for name, value in environment.items():
                patch.setenv(name, value)
            patch.setattr(sys, "argv", ["discreet", *words])
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode()), encoding="utf-8"))
            patch.setattr(sys, "stdout", out)
            patch.setattr(sys, "stderr", err)
            code = _exit_code()
    finally:
        os.umask(mask)
    return CompletedProcess(words, code, *(_text(stream) for stream in (out, err)))


def _exit_code() -> int:
    try:
        main()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    stream.seek(0)
    return stream.read()
