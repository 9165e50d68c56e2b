"""Linkage: rows without names are joined to names by what else is known of people.

Threat model: the attacker holds rows that were published without names, and knows a few things about a person, some of
them wrong: where and when they were born, or some films that they rated in public. That a row has no name, that only a
sample is published, or that several people share a place and a year of birth changes little: what is known need not be
one of the columns that somebody thought of as identifying.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from math import e, log

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import Ground, Refusal

Floats = NDArray[np.float64]


def joined(known: Sequence[Hashable], published: Sequence[Hashable]) -> list[int | None]:
    """For each known key, as birthday, sex and postcode in a tuple, the place of the only published row with it."""
    places: dict[Hashable, list[int]] = defaultdict(list)
    for place, key in enumerate(published):
        places[key].append(place)
    return [found[0] if len(found := places.get(key, [])) == 1 else None for key in known]


@dataclass(frozen=True)
class Match:
    """The row that fits best, and by how many standard deviations of all scores it stands out from the next."""

    row: int
    eccentricity: float

    def named(self, least: float = 1.5) -> int | None:
        """The row, if it stands out enough to be believed."""
        return self.row if self.eccentricity > least else None


@dataclass(frozen=True)
class Scoreboard:
    """Published ratings with their days, people by items; what a person did not rate is not a number.

    The score of a row is Σ w (e^(−|rating − known|/1.5) + e^(−|day − known|/30)) over the items that are known and
    rated there, w = 1/ln(raters of the item): a rare item tells more (Narayanan & Shmatikov 2008, Scoreboard-RH).
    """

    ratings: Floats
    days: Floats
    scale: float = 1.5
    memory: float = 30.0

    def __post_init__(self) -> None:
        if self.ratings.ndim != 2 or self.ratings.shape != self.days.shape or len(self.ratings) < 3:
            raise Refusal(
                f"expected ratings and days of at least three people, got {self.ratings.shape} and {self.days.shape}",
                ground=Ground.VALUE,
            )

    def match(self, items: Sequence[int], ratings: ArrayLike, days: ArrayLike) -> Match:
        """The row that fits best to what is known of a person: some items, with ratings and days that may be off."""
        stars, when = np.asarray(ratings, dtype=np.float64), np.asarray(days, dtype=np.float64)
        if not len(items) or not stars.shape == when.shape == (len(items),):
            raise Refusal("expected a rating and a day for each known item", ground=Ground.VALUE)
        rated, day = self.ratings[:, items], self.days[:, items]
        support = np.count_nonzero(~np.isnan(rated), axis=0)
        weights = np.array([1 / log(max(float(count), e)) for count in support])
        near = np.exp(-np.abs(rated - stars) / self.scale) + np.exp(-np.abs(day - when) / self.memory)
        scores = np.nansum(near * weights, axis=1)
        second, first = np.sort(scores)[-2:]
        spread = float(scores.std())
        return Match(int(scores.argmax()), float(first - second) / spread if spread else 0.0)
