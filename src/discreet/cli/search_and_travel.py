"""Made-up search logs and travels for `discreet attack link`: what people looked for and where they were, and when."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.attack import Scoreboard
from discreet.noise import below, belows, permutation

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Logs:
    """When each person looked for each word, or was at each place; not a number where never."""

    when: Floats
    known: int  # entries that are known of somebody, from a chat, say
    off: int  # by how much the times of these may be off


def searches(people: int) -> Logs:
    """Forty words of 2,000 for each, some of them in everybody's mouth, on days of a year; six are known, to a week."""
    when = np.full((people, 2000), np.nan)
    for person in range(people):
        words = np.unique(belows(2000 * 2000, 40) ** 2 // 2000**3)  # the square of a uniform number
        when[person, words] = belows(365, words.size)
    return Logs(when, 6, 7)


def travels(people: int) -> Logs:
    """Hours of a week at which each was at places of a town, most of them near home; four are known, to an hour."""
    side = 40
    when = np.full((people, side * side), np.nan)
    for person in range(people):
        home = belows(side, 2)
        steps = belows(9, 24).reshape(2, 12) - 4
        x, y = (home[:, np.newaxis] + steps) % side
        places = np.unique(np.concatenate([x * side + y, belows(side * side, 4)]))
        when[person, places] = belows(168, places.size)
    return Logs(when, 4, 1)


def attempts(logs: Logs) -> tuple[Sequence[int], Sequence[int | None]]:
    """Of whom something is known, and the rows that the attacker names for them: all are published, without names."""
    board = Scoreboard(np.where(np.isnan(logs.when), np.nan, 0.0), logs.when, memory=max(1, logs.off))
    return range(len(logs.when)), list(_named(board, logs))


def _named(board: Scoreboard, logs: Logs) -> Iterator[int | None]:
    for person in range(len(logs.when)):
        entries = np.flatnonzero(~np.isnan(logs.when[person]))
        some = entries[permutation(entries.size)[: logs.known]]
        off = np.array([below(2 * logs.off + 1) - logs.off for _ in some])
        yield board.match(some.tolist(), np.zeros(some.size), logs.when[person, some] + off).named()
