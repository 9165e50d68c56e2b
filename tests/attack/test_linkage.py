"""Rows without names get them back."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.attack import Match, Scoreboard, joined
from discreet.errors import Refusal

Floats = NDArray[np.float64]
NONE = float("nan")


def rated(people: int = 400, items: int = 150, each: int = 20, seed: int = 1) -> tuple[Floats, Floats]:
    """Made-up ratings: some items are rated by many, most by few."""
    rng = random.Random(seed)
    ratings, days = np.full((people, items), NONE), np.full((people, items), NONE)
    for person in range(people):
        chosen = {min(int(items * rng.random() ** 2), items - 1) for _ in range(each)}
        for item in sorted(chosen):
            ratings[person, item], days[person, item] = rng.randint(1, 5), rng.randrange(700)
    return ratings, days


def known(ratings: Floats, days: Floats, person: int, rng: random.Random) -> tuple[list[int], list[float], list[float]]:
    """Eight items of a person, two of them rated otherwise, the days up to two weeks off."""
    items = rng.sample([int(item) for item in np.flatnonzero(~np.isnan(ratings[person]))], 8)
    stars = [float(ratings[person, item]) for item in items]
    stars[0], stars[1] = 6 - stars[0], rng.randint(1, 5)
    return items, stars, [float(days[person, item]) + rng.randint(-14, 14) for item in items]


def test_a_key_that_only_one_row_has_names_it() -> None:
    published = [("1970", "m"), ("1970", "f"), ("1971", "m"), ("1970", "m")]
    assert joined([("1970", "f"), ("1970", "m"), ("1999", "m")], published) == [1, None, None]


def test_eight_ratings_two_of_them_wrong_name_nearly_everybody() -> None:
    ratings, days = rated()
    board, rng = Scoreboard(ratings, days), random.Random(2)
    found = [board.match(*known(ratings, days, person, rng)).named() for person in range(100)]
    assert sum(row == person for person, row in enumerate(found)) >= 95
    assert sum(row not in {None, person} for person, row in enumerate(found)) == 0


def test_of_a_published_sample_those_are_named_who_are_in_it_and_hardly_any_others() -> None:
    ratings, days = rated()
    board, rng = Scoreboard(ratings[:200], days[:200]), random.Random(3)
    found = [board.match(*known(ratings, days, person, rng)).named() for person in range(150, 250)]
    assert sum(row == place + 150 for place, row in enumerate(found[:50])) >= 47
    assert sum(row is not None for row in found[50:]) <= 10


def test_a_score_is_the_formula() -> None:
    ratings = np.array([[5, NONE], [3, 4], [NONE, 4], [1, 2]], dtype=np.float64)
    days = np.array([[0, NONE], [30, 10], [NONE, 40], [90, 10]], dtype=np.float64)
    match = Scoreboard(ratings, days).match([0, 1], [3, 4], [30, 10])
    weight = 1 / math.log(3)
    scores = [
        weight * (math.exp(-2 / 1.5) + math.exp(-1)),
        weight * 4,
        weight * (1 + math.exp(-1)),
        weight * (math.exp(-2 / 1.5) + math.exp(-2) + math.exp(-2 / 1.5) + 1),
    ]
    mean = sum(scores) / 4
    spread = math.sqrt(sum((score - mean) ** 2 for score in scores) / 4)
    assert match.row == 1
    assert match.eccentricity == pytest.approx((scores[1] - max(scores[0], *scores[2:])) / spread)


def test_what_does_not_stand_out_is_not_believed() -> None:
    assert Match(3, 1.6).named() == 3
    assert Match(3, 1.4).named() is None
    same = np.ones((5, 2))
    assert Scoreboard(same, same).match([0], [1], [1]).named() is None


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Scoreboard(np.ones((2, 2)), np.ones((2, 2))),
        lambda: Scoreboard(np.ones((3, 2)), np.ones((3, 3))),
        lambda: Scoreboard(np.ones((3, 2)), np.ones((3, 2))).match([0], [1, 2], [1]),
        lambda: Scoreboard(np.ones((3, 2)), np.ones((3, 2))).match([], [], []),
    ],
)
def test_nonsense_is_refused(wrong) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
    with pytest.raises(Refusal, match="expected"):
        wrong()
