"""How much one call may take, and how the kernel is told. Every limit is a constant, never a fact about rows."""

from __future__ import annotations

import resource
import signal
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

MEGABYTE = 1 << 20
_MAPS = Path("/proc/self/statm")  # where there is none, memory is limited by the engine alone
_ROW_SECONDS, _ROW_MEMORY, _ROW_REPLY = 0.005, 8_192, 1_024  # several times what a row with its error bars takes
_PAGE = resource.getpagesize()


@dataclass(frozen=True)
class Limits:
    """What a call, a person and all of them together may take."""

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
    """What the process that we are in may hold; nothing is bounded where nobody said `made`."""

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


def start(limits: Limits) -> None:
    """From here on the kernel counts.

    It counts addresses, and engines keep those of what they gave back. So the limit is counted from what the process
    had when it was made: counted from what it has now, each call would leave more to the next.
    """
    if _BOUNDS.size:
        _allow(_BOUNDS.size + limits.reserved + limits.memory + _BOUNDS.loaded)
    signal.setitimer(signal.ITIMER_PROF, limits.cpu_seconds)  # nobody handles these signals, so they end the process
    signal.setitimer(signal.ITIMER_REAL, limits.seconds)


def stop() -> None:
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
