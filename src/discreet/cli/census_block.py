"""A block of seven people and its table for `discreet attack census`, as published and as a curator answers it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import islice
from pathlib import Path

import pyarrow as pa

from discreet.attack import Group, Off, blocks, nearest
from discreet.attack.census import OLDEST
from discreet.curator import Curator
from discreet.curator.custody import Custody, Declared, found_home
from discreet.errors import Refusal

NAMES = ("female", "black", "married")
PEOPLE = (  # Garfinkel, Abowd & Martindale 2018 made them up
    (8, True, True, False),
    (18, False, False, False),
    (24, True, False, False),
    (30, False, False, True),
    (36, True, True, True),
    (66, True, True, True),
    (84, False, True, True),
)
TABLE = (  # groups of fewer than three are left out, as offices do
    Group({}, 7, 30, 266),
    Group({"female": True}, 4, 30, 134),
    Group({"female": False}, 3, 30, 132),
    Group({"black": True}, 4, 51, 194),
    Group({"black": False}, 3, 24, 72),
    Group({"married": True}, 4, 51, 216, youngest=15),
    Group({"female": True, "black": True}, 3, 36, 110),
)
_SHIFTS = (1, -1, 0, 1, 0, -1, 1)  # as if ages had been rounded
_STARTS = 15  # of searches for the nearest block
_MANY = 1000  # blocks that fit, after which nobody goes on counting


def attempts(epsilon: Fraction) -> Iterator[tuple[str, int, int]]:
    """What was published, how many blocks fit it, up to a thousand, and how many people stand in all of these.

    Of the nearest one, which need not fit, how many people stand in it.
    """
    yield "the table", *_fitting(TABLE)
    yield "without black women", *_fitting(TABLE[:-1])
    shifted = tuple(replace(group, total=(group.total or 0) + off) for group, off in zip(TABLE, _SHIFTS, strict=True))
    yield "totals off by one", *_fitting(shifted)
    yield "totals off by one, nearest block", 1, _near(shifted, Off(total=1))
    noisy = tuple(_noisy(epsilon))
    yield "noisy, from a curator", *_fitting(noisy)
    yield "noisy, nearest block", 1, _near(noisy, Off(1, OLDEST, OLDEST))


def _near(table: tuple[Group, ...], off: Off) -> int:
    """How many people of the block stand in the list that misses the table least."""
    people = min(12, max(1, table[0].count))
    return len(set(PEOPLE).intersection(nearest(table, NAMES, people, off, range(_STARTS))))


def _fitting(table: tuple[Group, ...]) -> tuple[int, int]:
    try:
        found = list(islice(blocks(table, NAMES), _MANY))
    except Refusal:  # of a number of people that cannot be
        return 0, 0
    return len(found), len(set(PEOPLE).intersection(*found)) if found else 0


def _noisy(epsilon: Fraction) -> Iterator[Group]:
    """The table without medians, its counts and sums asked of a curator, each line for the same share of the budget."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        found_home(home, practice=True)
        columns = zip(("age", *NAMES), zip(*PEOPLE, strict=True), strict=True)
        rows = pa.table({name: list(values) for name, values in columns})
        Custody(home).add("block", rows, Declared(unit="row", epsilon=epsilon, bounds={"age": (0, 115)}))
        curator = Curator(home)
        for group in TABLE:
            sql = f"SELECT count(*), sum(age) FROM block{_where(group.who)}"  # noqa: S608  # our own names
            count, total = curator.query(sql, epsilon=epsilon / len(TABLE)).rows[0]
            yield Group(group.who, round(float(str(count))), None, round(float(str(total))), group.youngest)


def _where(who: Mapping[str, bool]) -> str:
    return " WHERE " + " AND ".join(name if holds else f"NOT {name}" for name, holds in who.items()) if who else ""
