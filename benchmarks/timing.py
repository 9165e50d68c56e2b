"""How time is taken: contenders take turns in one process, and the best of several turns counts."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from time import perf_counter, process_time


def best(*contenders: Callable[[], object], turns: int = 5) -> list[float]:
    """The shortest time of each contender, in seconds. A busy machine slows a turn, and never shortens one."""
    return [min(taken) for taken in _taken(contenders, turns, perf_counter)]


def beside(ours: Callable[[], object], theirs: Callable[[], object], turns: int = 9) -> str:
    """Cells of a table: the least processor seconds of each, their ratio, and those of single turns: median, range."""
    own, others = _taken((ours, theirs), turns, process_time)
    each = sorted(one / other for one, other in zip(own, others, strict=True))
    told = f"{median(each):.2f} ({each[0]:.2f} to {each[-1]:.2f})"
    return f"{min(own):.3f} | {min(others):.3f} | {min(own) / min(others):.2f} | {told}"


def _taken(contenders: tuple[Callable[[], object], ...], turns: int, clock: Callable[[], float]) -> list[list[float]]:
    times: list[list[float]] = [[] for _ in contenders]
    for _ in range(turns):
        for contender, taken in zip(contenders, times, strict=True):
            start = clock()
            contender()
            taken.append(clock() - start)
    return times
