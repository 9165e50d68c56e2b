"""Gram matrices of whole numbers are exact, whatever their size."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.mechanisms.gram import BLOCK, GramSum, gram, product


@pytest.mark.parametrize("most", [1, 1 << 17, (1 << 18) - 1, 1 << 18, 1 << 40, (1 << 62) - 1])
def test_it_is_pythons_sum(most: int) -> None:
    """Against integers of any size, at the ends of limbs and of 64 bits."""
    rng = np.random.default_rng(1)
    one = rng.integers(-most, most, size=(300, 3), endpoint=True)
    one[:4] = most
    one[4:8] = -most
    two = rng.integers(-5, 6, size=(300, 2))
    assert np.array_equal(gram(one), one.astype(object).T @ one.astype(object))
    assert np.array_equal(product(one, two), one.astype(object).T @ two.astype(object))
    assert np.array_equal(product(two, one), two.astype(object).T @ one.astype(object))
    assert all(type(cell) is int for cell in gram(one).ravel())


@pytest.mark.parametrize("most", [(1 << 18) - 1, -(1 << 18)])
def test_sums_over_many_chunks_are_exact_where_doubles_round(most: int) -> None:
    """Every product is the largest that one pair of limbs has, for more rows than a chunk."""
    rows = np.full((3 * (1 << 16) + 7, 2), most, dtype=np.int64)
    assert gram(rows)[0, 1] == len(rows) * most * most
    assert product(rows, rows[:, :1])[1, 0] == len(rows) * most * most


def test_no_rows_add_up_to_nothing() -> None:
    assert gram(np.zeros((0, 2), dtype=np.int64)).tolist() == [[0, 0], [0, 0]]


@pytest.mark.parametrize("most", [1, 5, (1 << 18) - 1, 1 << 18, (1 << 36) - 1, 1 << 36, (1 << 53) - 1])
def test_blocks_of_doubles_add_up_to_pythons_sum(most: int) -> None:
    """Against integers of any size: of no columns, a few, and full blocks, at both ends of what they may be."""
    rng = np.random.default_rng(2)
    blocks = [rng.integers(-most, most, size=(3, size), endpoint=True) for size in (0, 1, 300, BLOCK)]
    blocks[2][:, :2], blocks[2][:, 2:4] = most, -most
    total = GramSum(3, most)
    for each in blocks:
        total.add(each.astype(np.float64))
    whole = np.hstack([np.vstack([np.ones((1, each.shape[1]), dtype=object), each.astype(object)]) for each in blocks])
    assert np.array_equal(total.total(), whole @ whole.T)
    assert all(type(cell) is int for cell in total.total().ravel())
    assert GramSum(2, most).total().tolist() == [[0] * 3] * 3


@pytest.mark.parametrize("most", [(1 << 18) - 1, (1 << 36) - 1, (1 << 53) - 1])
def test_blocks_are_exact_where_doubles_round(most: int) -> None:
    """The largest numbers of whole parts in more rows than doubles add up exactly."""
    total, rows = GramSum(1, most), 0
    for size in [*[BLOCK] * ((1 << 17) // BLOCK + 3), 1]:  # an odd number of rows, so that the last bit says something
        total.add(np.full((1, size), float(most)))
        rows += size
    assert total.total().tolist() == [[rows, rows * most], [rows * most, rows * most**2]]
