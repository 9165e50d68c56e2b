"""How time is taken: contenders take turns in one process, and the best of several turns counts."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter


def best(*contenders: Callable[[], object], turns: int = 5) -> list[float]:
    """The shortest time of each contender, in seconds. A busy machine slows a turn, and never shortens one."""
    times: list[list[float]] = [[] for _ in contenders]
    for _ in range(turns):
        for contender, taken in zip(contenders, times, strict=True):
            start = perf_counter()
            contender()
            taken.append(perf_counter() - start)
    return [min(taken) for taken in times]
