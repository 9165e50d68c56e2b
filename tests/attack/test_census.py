"""A block of seven people from its published table: the only list of people that fits."""

from __future__ import annotations

from itertools import combinations_with_replacement, product
from statistics import median

import pytest

from discreet.attack import Group, blocks
from discreet.errors import Refusal

NAMES = ("female", "black", "married")
TABLE = [  # Garfinkel, Abowd & Martindale 2018, with the groups of fewer than three left out
    Group({}, 7, 30, 266),
    Group({"female": True}, 4, 30, 134),
    Group({"female": False}, 3, 30, 132),
    Group({"black": True}, 4, 51, 194),
    Group({"black": False}, 3, 24, 72),
    Group({"married": True}, 4, 51, 216, youngest=15),
    Group({"female": True, "black": True}, 3, 36, 110),
]
BLOCK = (
    (8, True, True, False),
    (18, False, False, False),
    (24, True, False, False),
    (30, False, False, True),
    (36, True, True, True),
    (66, True, True, True),
    (84, False, True, True),
)


def test_the_block_is_the_only_one() -> None:
    assert list(blocks(TABLE, NAMES)) == [BLOCK]


def test_fewer_lines_leave_more_blocks() -> None:
    fewer = list(blocks(TABLE[:-1], NAMES))
    assert BLOCK in fewer
    assert len(fewer) == len(set(fewer)) == 2  # as an independent solver finds (OR-tools' CP-SAT)


def test_without_who_is_married_all_ages_sexes_and_races_are_known() -> None:
    found = list(blocks([group for group in TABLE if "married" not in group.who], NAMES[:2]))
    assert found == [tuple(person[:3] for person in BLOCK)]


@pytest.mark.parametrize(("count", "middle", "total"), [(2, 60, 130), (2, 111.5, None), (1, 112, None), (0, None, 0)])
def test_all_blocks_are_found_and_no_others(count: int, middle: float | None, total: int | None) -> None:
    groups = [Group({}, 3, 112, 300, youngest=0), Group({"old": True}, count, middle, total, youngest=5)]
    expected = {
        tuple(sorted(block))
        for ages in combinations_with_replacement(range(116), 3)
        if sum(ages) == 300 and median(ages) == 112
        for old in product((False, True), repeat=3)
        if fits(block := list(zip(ages, old, strict=True)), count, middle, total)
    }
    assert set(blocks(groups, ["old"])) == expected


def fits(block: list[tuple[int, bool]], count: int, middle: float | None, total: int | None) -> bool:
    ages = [age for age, old in block if old]
    return (
        len(ages) == count
        and (middle is None or median(ages) == middle)
        and (total is None or sum(ages) == total)
        and min(ages, default=5) >= 5
    )


@pytest.mark.parametrize("count", [-3, 8])
@pytest.mark.parametrize("female", [True, False])
def test_counts_that_cannot_be_fit_no_block(count: int, female: bool) -> None:  # noqa: FBT001
    assert list(blocks([Group({}, 7), Group({"female": female}, count)], ["female"])) == []


@pytest.mark.parametrize("groups", [[], [Group({}, 13)], [Group({}, 2), Group({"tall": True}, 1)]])
def test_nonsense_is_refused(groups: list[Group]) -> None:
    with pytest.raises(Refusal, match="expected one group of everybody"):
        list(blocks(groups, NAMES))
