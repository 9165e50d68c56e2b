"""Cells that noise hides are merged, neighbours along a line are, and rows find back."""

from __future__ import annotations

import math

import numpy as np
from doubles import Seeded
from hypothesis import given
from hypothesis import strategies as st

from discreet.release.marginals.domain import Domain
from discreet.release.synthetic.compression import Compression
from discreet.release.synthetic.fit import NoisyTable


def test_cells_that_noise_hides_are_merged_and_rows_find_back() -> None:
    domain = Domain(("a", "b"), (5, 2))
    variances = np.full(5, 100.0)
    singles = [
        NoisyTable((0,), np.array([500, 29, 400, -3, 10]), variances),
        NoisyTable((1,), np.array([450, 486]), variances[:2]),
    ]
    merging = Compression.of(domain, singles)
    assert merging.domain.sizes == (3, 2)
    assert merging.places[0].tolist() == [0, 2, 1, 2, 2]
    table = np.arange(10).reshape(5, 2)
    assert merging.merged(table, (0, 1)).tolist() == [[0, 1], [4, 5], [2 + 6 + 8, 3 + 7 + 9]]
    both = merging.merged_table(singles[0])
    assert (both.counts.tolist(), both.variances.tolist(), both.decided) == ([500, 400, 36], [100, 100, 300], True)
    rows = merging.expanded(np.array([[2, 1]] * 3900 + [[0, 0]] * 10), Seeded(1))
    found = np.bincount(rows[:, 0], minlength=5)
    assert found[[0, 2, 3]].tolist() == [10, 0, 0]
    assert abs(found[1] - 2900) < 3900 * math.sqrt(math.log(2e9) / (2 * 3900))
    assert np.allclose(merging.expanded_table(np.array([1.0, 2.0, 39.0]), (0,)), [1, 29, 2, 0, 10], atol=1e-6)


def test_neighbours_along_a_line_are_merged_where_they_are_many_and_others_are_left_alone() -> None:
    counts = np.array([*[100] * 40, 8000, *[25] * 20, 70])
    table = NoisyTable((0,), counts, np.full(counts.size, 1.0))
    merging = Compression.of(Domain(("a",), (62,)), [table], (61,), 10)
    place = merging.places[0]
    assert merging.domain.sizes[0] <= 11
    assert np.all(np.diff(place) >= 0)
    assert int((place == place[40]).sum()) == 1
    assert int((place == place[61]).sum()) == 1
    assert Compression.of(Domain(("a",), (62,)), [table], (61,), 61).domain.sizes == (62,)
    assert np.allclose(merging.expanded_table(merging.merged(counts, (0,)).astype(float), (0,)), counts)


def test_a_column_that_noise_hides_whole_is_one_cell() -> None:
    merging = Compression.of(Domain(("a",), (3,)), [NoisyTable((0,), np.array([1, -1, 2]), np.full(3, 100.0))])
    assert merging.domain.sizes == (1,)


@given(st.lists(st.integers(-30, 200), min_size=1, max_size=60), st.integers(1, 12))
def test_groups_of_equal_counts_are_neighbours_and_none_reaches_beyond_its_share(counts: list[int], parts: int) -> None:
    table = NoisyTable((0,), np.array([*counts, 5]), np.ones(len(counts) + 1))
    own = Compression.of(Domain(("a",), (len(counts) + 1,)), [table], (len(counts),), 9, (parts,))
    place = own.places[0]
    assert np.all(np.diff(place) >= 0)
    assert place[-1] == place[-2] + 1  # what is not on the line is a group of its own
    assert place[-2] < min(parts, 9)
    sums = np.maximum.accumulate(np.cumsum(counts))
    for group in range(int(place[-2]) + 1):
        inside = np.flatnonzero(place[:-1] == group)
        begun = max(sums[inside[0] - 1], 0) if inside[0] else 0
        assert max(sums[inside[-1] - 1], 0) - begun <= max(sums[-1], 1) / min(parts, 9) or inside.size == 1


def test_noise_where_nobody_is_makes_no_group() -> None:
    counts = np.array([200, 200, 200, 200, *[-30, 30] * 20, 0])
    own = Compression.of(Domain(("a",), (45,)), [NoisyTable((0,), counts, np.ones(45))], (44,), 9, (4,))
    assert own.places[0].tolist() == [0, 1, 2, 3, *[3] * 40, 4]
