"""Small logarithms: every number of a range is found, and nothing outside it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from discreet.aggregate.curve_group import LENGTH, ORDER, added, hashed, multiple, read_point, written
from discreet.aggregate.small_logarithms import Logarithms, size_for
from discreet.errors import Refusal

TABLE = Logarithms.made(5)


@pytest.mark.parametrize(("least", "most"), [(-30, 40), (0, 60), (-7, -3), (12, 12)])
def test_every_number_of_the_range_is_found_and_no_other(least: int, most: int) -> None:
    for number in range(least - 15, most + 16):
        point = multiple(number) if number else None
        assert TABLE(point, least, most) == (number if least <= number <= most else None)


def test_a_table_is_made_once_and_one_that_is_none_is_refused(tmp_path: Path) -> None:
    assert Logarithms.kept(tmp_path / "new", 9).keys.tolist() == Logarithms.made(9).keys.tolist()
    np.save(tmp_path / "new" / "logarithms-9.npy", np.arange(9, dtype=np.uint64))  # another table of that length
    wrong = Logarithms.kept(tmp_path / "new", 9)
    assert wrong(multiple(3), 0, 20) is None  # it finds nothing; what it finds is always computed again
    np.save(tmp_path / "new" / "logarithms-9.npy", np.arange(8, dtype=np.uint64))
    with pytest.raises(Refusal, match="no table of 9"):
        Logarithms.kept(tmp_path / "new", 9)


def test_what_a_table_says_is_computed_again() -> None:
    wrong = Logarithms(TABLE.keys[::-1].copy())  # every first coordinate stands in another's place
    assert {wrong(multiple(number), 1, 5) for number in (1, 2, 4, 5)} == {None}


def test_sizes_grow_with_the_square_root() -> None:
    assert [size_for(span) for span in (1, 10**6, 10**8, 1 << 60)] == [256, 1024, 8192, 1 << 22]


def test_the_group_has_the_order_of_the_standard_and_labels_have_points_of_their_own() -> None:
    one, last = multiple(1), multiple(ORDER - 1)
    assert one.format()[1:] == last.format()[1:]
    assert one.format() != last.format()
    assert added([one, last]) is None
    assert len({hashed(bytes([label])).format() for label in range(100)}) == 100
    assert added([multiple(7), multiple(-3)]) == multiple(4)
    with pytest.raises(Refusal, match="multiple of the order"):
        multiple(0)


def test_what_is_no_point_is_refused() -> None:
    good = written(multiple(9))
    assert read_point(good) == multiple(9)
    for wrong in (b"", good[:-1], good + b"\0", good[:-1] + bytes([good[-1] ^ 1]), b"\x06" + good[1:], bytes(LENGTH)):
        with pytest.raises(Refusal, match="not a point"):
            read_point(wrong)
