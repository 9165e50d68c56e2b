"""A block from a table whose numbers are off: found where they are off by little alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from attack.test_census import BLOCK, NAMES, TABLE

from discreet.attack import Group, Off, blocks, nearest
from discreet.attack.census_search import _Search
from discreet.errors import Refusal

STARTS = range(15)
FEW = range(2)
SHIFTED = [replace(g, total=(g.total or 0) + off) for g, off in zip(TABLE, (1, -1, 0, 1, 0, -1, 1), strict=True)]


def test_an_exact_table_gives_its_block() -> None:
    assert nearest(TABLE, NAMES, 7, Off(), FEW) == BLOCK


@pytest.mark.slow
def test_totals_that_are_off_by_one_fit_nothing_and_give_most_people_away() -> None:
    assert list(blocks(SHIFTED, NAMES)) == []
    found = nearest(SHIFTED, NAMES, 7, Off(total=1), STARTS)
    assert len(set(found) & set(BLOCK)) >= 5


def test_noise_of_a_small_price_gives_nobody_away() -> None:
    """Scale 14 on counts and 14 times 115 on totals: ε = 1 over seven lines of two numbers. Five tables of one seed."""
    rng = np.random.default_rng(1)
    hits = 0
    for _ in range(5):
        noisy = [
            replace(
                g,
                count=g.count + int(rng.laplace(0, 14)),
                total=(g.total or 0) + int(rng.laplace(0, 1610)),
                median=None,
            )
            for g in TABLE
        ]
        hits += len(set(nearest(noisy, NAMES, 7, Off(1, 115, 115), range(3))) & set(BLOCK))
    assert hits <= 2  # of 35; most are at an end of what ages can be


def test_a_miss_is_counted_in_units_of_its_noise() -> None:
    """Two people of 30 and 41, one of them old; by hand."""
    groups = (Group({}, 3, 40, 80, youngest=31), Group({"old": True}, 1, None, 44))
    block = np.array([[[30, 0], [41, 1]]])
    misses = _Search(groups, ("old",), Off(count=0.5, total=3, median=2)).misfit(block)
    counts, totals = ((2 - 3) / 0.5) ** 2, ((71 - 80) / 3) ** 2 + ((41 - 44) / 3) ** 2
    assert float(misses[0]) == pytest.approx(counts + totals + ((35.5 - 40) / 2) ** 2 + 1 / 4)


@pytest.mark.parametrize(("people", "starts"), [(0, [1]), (13, [1]), (3, [])])
def test_nonsense_is_refused_by_name(people: int, starts: list[int]) -> None:
    with pytest.raises(Refusal, match=f"got {people}"):
        nearest(TABLE, NAMES, people, Off(), starts)
