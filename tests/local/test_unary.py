"""Sets of values in bytes: where a bit stands, what may not be set, and sums of columns."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from doubles import Seeded

from discreet.errors import Refusal
from discreet.local import OptimizedUnary, SubsetSelection
from discreet.local.unary import columns, every, packed


def test_value_v_is_bit_v_mod_8_of_byte_v_div_8() -> None:
    for v in range(20):
        row = np.zeros((1, 20), dtype=np.bool_)
        row[0, v] = True
        assert packed(row).tobytes() == (1 << v).to_bytes(3, "little")


@pytest.mark.parametrize("choices", [2, 7, 8, 9, 16, 17])
def test_a_spare_bit_that_is_set_is_refused(choices: int) -> None:
    client, width = OptimizedUnary(Fraction(1), choices), -(-choices // 8)
    assert client.form.itemsize == width
    assert client.decode(((1 << choices) - 1).to_bytes(width, "little")).shape == (1, width)
    for spare in range(choices, 8 * width):
        with pytest.raises(Refusal, match="report 1 of 2 is none that OptimizedUnary sends"):
            client.decode(bytes(width) + (1 << spare).to_bytes(width, "little"))


def test_a_set_of_another_size_is_refused() -> None:
    client = SubsetSelection(Fraction(1, 2), 8)
    assert client.size == 3
    assert client.decode(bytes([0b10101])).tolist() == [[0b10101]]
    for wrong in (0, 0b1, 0b11, 0b1111, 0xFF):
        with pytest.raises(Refusal, match="report 0 of 1 is none that SubsetSelection sends"):
            client.decode(bytes([wrong]))


@pytest.mark.parametrize("people", [0, 1, 254, 255, 256, 1000])
@pytest.mark.parametrize("choices", [3, 8, 11])
def test_columns_add_up(people: int, choices: int) -> None:
    rows = np.frombuffer(Seeded(people).raw(people * choices), dtype=np.uint8).reshape(people, choices) < 200
    assert columns(packed(rows), choices).tolist() == rows.sum(axis=0).tolist()
    full = np.ones((people, choices), dtype=np.bool_)
    assert columns(packed(full), choices).tolist() == [people] * choices


def test_sets_are_listed_in_order() -> None:
    assert every(2) == [b"\0", b"\1", b"\2", b"\3"]
    assert every(9)[0b100000001] == b"\1\1"
