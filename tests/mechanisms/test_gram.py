"""Gram matrices of whole numbers are exact, whatever their size."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.mechanisms.gram import gram, product


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
