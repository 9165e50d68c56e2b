"""The family of hash functions by enumeration of a small one, and the server against a plain loop."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations, pairwise

import numpy as np
import pytest
from doubles import Seeded

from discreet.errors import Refusal
from discreet.interval_arithmetic import exp
from discreet.local import LocalHashing
from discreet.local.hashing import PRIME, Family


@pytest.mark.parametrize(("prime", "cells"), [(5, 2), (7, 2), (7, 3), (11, 4), (13, 13), (13, 1)])
def test_any_two_values_share_a_cell_with_the_stated_probability(prime: int, cells: int) -> None:
    family = Family(cells, prime)
    functions = [(slope, shift) for slope in range(1, prime) for shift in range(prime)]
    for one, other in combinations(range(prime), 2):
        shared = sum(family.cell(one, *key) == family.cell(other, *key) for key in functions)
        assert Fraction(shared, len(functions)) == family.collision
    for value in range(prime):
        sizes = Counter(family.cell(value, *key) for key in functions)
        assert max(sizes.values()) - min(sizes.values()) <= prime - 1  # even, but for one residue a cell


@pytest.mark.parametrize("cells", [2, 4, 100, 65536])
def test_cells_begin_where_they_are_said_to(cells: int) -> None:
    family = Family(cells)
    starts = family.starts.tolist()
    assert (starts[0], starts[-1], len(starts)) == (0, PRIME, cells + 1)
    for cell in (0, 1, cells // 2, cells - 1):
        assert family.cell(starts[cell], 1, 0) == cell
        assert cell == 0 or family.cell(starts[cell] - 1, 1, 0) == cell - 1
    assert abs(family.collision - Fraction(1, cells)) < Fraction(2, PRIME)
    assert family.collision == sum(Fraction(b - a, PRIME) * Fraction(b - a - 1, PRIME - 1) for a, b in pairwise(starts))


@pytest.mark.parametrize(("epsilon", "cells"), [("0.01", 2), ("0.5", 3), ("1", 4), ("2", 8), ("3", 21), ("20", 65536)])
def test_there_are_about_as_many_cells_as_make_the_error_smallest(epsilon: str, cells: int) -> None:
    client = LocalHashing(Fraction(epsilon), 10)
    assert client.family.cells == cells
    if cells < 65536:
        odds = float(exp(Fraction(epsilon)).up)
        errors = {g: (odds - 1 + g) ** 2 / (g - 1) for g in range(2, 200)}
        assert errors[cells] <= 1.01 * min(errors.values())


@pytest.mark.parametrize("epsilon", ["0.5", "2", "8"])
def test_the_server_counts_what_a_plain_loop_counts(epsilon: str) -> None:
    client = LocalHashing(Fraction(epsilon), 37)
    reports = client.batch(np.arange(500) % 37, rng=Seeded(6))
    edges = [(1, 0, 0), (PRIME - 1, PRIME - 1, client.family.cells - 1), (1, PRIME - 1, 0), (PRIME - 1, 0, 1)]
    every = np.concatenate([reports, np.array(edges, dtype=client.form)])
    plain = [
        sum(client.family.cell(v, slope, shift) == said for slope, shift, said in every.tolist()) for v in range(37)
    ]
    tally = client.tally(client.decode(client.encode(every)))
    assert tally.counts.tolist() == plain
    assert client.estimate(tally).supports.tolist() == plain


def test_a_cell_ends_where_the_next_one_begins() -> None:
    """The residue of the value 0 is the shift: at the first of a cell, at the last, and at the first of the next."""
    client = LocalHashing(Fraction(1), 2)
    start, end = (int(place) for place in client.family.starts[1:3])
    for shift, inside in ((start - 1, 0), (start, 1), (end - 1, 1), (end, 0)):
        assert int(client.tally((PRIME // 2, shift, 1)).counts[0]) == inside


class Small(LocalHashing):
    """With a family that is small enough to enumerate."""

    family = Family(4, 13)


def test_a_report_supports_values_with_the_stated_odds_exactly() -> None:
    """Over all functions of a small family, and all cells that may be told. 1/cells would not be exact."""
    client = Small(Fraction(1), 5)
    functions = [(slope, shift) for slope in range(1, 13) for shift in range(13)]
    for value in (0, 3):
        supported = [Fraction(0)] * 5
        for key in functions:
            for report, chance in client.channel(*key)[value].items():
                for other in range(5):
                    supported[other] += chance * (client.family.cell(other, *key) == report.cell) / len(functions)
        expected = [client.odds.holder if other == value else client.odds.other for other in range(5)]
        assert supported == expected
    assert client.odds.other != Fraction(1, 4)


def test_many_reports_are_hashed_as_one_is() -> None:
    """At ε = 20 a lie is rarer than 1 in 7000 for 65,536 cells: six of 600 are not once in 10^9."""
    client = LocalHashing(Fraction(20), PRIME)
    values = [0, 1, 2, PRIME // 2, PRIME - 2, PRIME - 1] * 100
    reports = client.batch(values, rng=Seeded(9)).tolist()
    told = [client.family.cell(v, a, b) == cell for v, (a, b, cell) in zip(values, reports, strict=True)]
    assert sum(told) >= 595


@pytest.mark.parametrize(
    "report", [(0, 5, 0), (PRIME, 5, 0), (PRIME + 7, 5, 0), (5, PRIME, 0), (5, 1 << 31, 0), (5, 5, 4), (5, 5, 255)]
)
def test_what_no_client_sends_is_refused(report: tuple[int, int, int]) -> None:
    client = LocalHashing(Fraction(1), 10)
    sound = np.array([(5, 5, 3)], dtype=client.form)
    wrong = np.array([report], dtype=client.form)
    assert client.decode(sound.tobytes()).tolist() == [(5, 5, 3)]
    with pytest.raises(Refusal, match="report 1 of 2 is none that LocalHashing sends"):
        client.decode(sound.tobytes() + wrong.tobytes())
    with pytest.raises(Refusal, match="report 0 of 1"):
        client.tally(wrong)


def test_the_wire_is_little_end_first() -> None:
    client = LocalHashing(Fraction(1), 10)
    assert client.encode((1, 2, 3)) == b"\x01\0\0\0\x02\0\0\0\x03"
    assert LocalHashing(Fraction(7), 10).encode((1, 2, 515)) == b"\x01\0\0\0\x02\0\0\0\x03\x02"
