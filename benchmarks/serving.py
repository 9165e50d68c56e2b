"""A server to measure: `discreet serve` in a process of its own, as people run it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Serving:
    """Its process, and the ports of its two doors."""

    process: int
    http: int
    pg: int

    def cpu(self) -> float:
        """Seconds that the server has used so far, user and system."""
        fields = Path(f"/proc/{self.process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS


@contextmanager
def serving(home: Path) -> Iterator[Serving]:
    """On free ports, until the end of the block; nobody is told to come less often."""
    command = [sys.executable, "-m", "discreet", "serve", "--home", str(home), "--rate", "1000000"]
    command += ["--http", "127.0.0.1:0", "--pg", "127.0.0.1:0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:  # noqa: S603
        assert process.stdout is not None
        greeting = ""
        for line in process.stdout:
            greeting += line
            if line.startswith("stop with"):
                break
        web, wire = (re.findall(rf"{name} at \S*127\.0\.0\.1:(\d+)", greeting) for name in ("HTTP", "Postgres"))
        try:
            yield Serving(process.pid, int(web[0]), int(wire[0]))
        finally:
            process.send_signal(signal.SIGTERM)
