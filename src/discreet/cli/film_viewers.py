"""Made-up viewers of films for `discreet attack link`: names, what identifies them, and what they rated when."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.attack import Scoreboard, joined
from discreet.noise import below, belows, permutation

Floats = NDArray[np.float64]
_ITEMS, _RATED, _DAYS = 150, 20, 700
_KNOWN, _WRONG, _OFF = 8, 2, 14  # ratings of a person that are known, how many of them wrongly, and days they are off


@dataclass(frozen=True)
class Viewers:
    """People by place: birthday, sex and postcode of each, and ratings and days by film, not a number where none."""

    identifiers: list[tuple[int, int, int]]
    ratings: Floats
    days: Floats


def viewers(people: int) -> Viewers:
    """So many people who do not exist. Of the films some are rated by many, most by few."""
    identifiers = list(zip(*(belows(values, people).tolist() for values in (60 * 365, 2, 100)), strict=True))
    ratings, days = (np.full((people, _ITEMS), np.nan) for _ in range(2))
    for person in range(people):
        films = np.unique(belows(_ITEMS * _ITEMS, _RATED) ** 2 // _ITEMS**3)  # the square of a uniform number
        ratings[person, films], days[person, films] = 1 + belows(5, films.size), belows(_DAYS, films.size)
    return Viewers(identifiers, ratings, days)


def attempts(crowd: Viewers) -> Iterator[tuple[str, str, Sequence[int], Sequence[int | None]]]:
    """What was published, what is known, of whom, and the rows that the attacker names for them."""
    everyone = range(len(crowd.identifiers))
    identified = "birthday, sex, postcode"
    coarse = [(born // 3650, sex, code // 10) for born, sex, code in crowd.identifiers]
    yield "all rows", identified, everyone, joined(crowd.identifiers, crowd.identifiers)
    yield "decades and districts", identified, everyone, joined(coarse, coarse)
    ratings = f"{_KNOWN} ratings, {_WRONG} wrong"
    yield "decades and districts", ratings, everyone, _named(crowd, everyone, everyone)
    half = range(len(everyone) // 2)
    yield "half of the rows", ratings, half, _named(crowd, half, half)
    rest = range(len(half), len(everyone))
    yield "half, without them", ratings, rest, _named(crowd, half, rest)


def _named(crowd: Viewers, published: range, people: range) -> list[int | None]:
    board = Scoreboard(crowd.ratings[published], crowd.days[published])
    return [board.match(*_known(crowd, person)).named() for person in people]


def _known(crowd: Viewers, person: int) -> tuple[list[int], Floats, Floats]:
    """Some films of a person, the first two rated wrongly, all days off by up to two weeks."""
    films = np.flatnonzero(~np.isnan(crowd.ratings[person]))
    items = films[permutation(films.size)[:_KNOWN]]
    stars, days = crowd.ratings[person, items].copy(), crowd.days[person, items]
    for place in range(min(_WRONG, items.size)):
        stars[place] = 1 + (stars[place] + below(4)) % 5  # any but the true one
    return items.tolist(), stars, days + belows(2 * _OFF + 1, items.size) - _OFF
