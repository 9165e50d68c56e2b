"""Loaded into a nursery, this makes its machine a full one for as long as a file `full` lies in its home folder."""

from __future__ import annotations

import errno
import os
from pathlib import Path

_plain = os.fork


def _fork() -> int:
    if (Path.home() / "full").exists():
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
    return _plain()


os.fork = _fork
