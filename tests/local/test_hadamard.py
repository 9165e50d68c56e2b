"""The transform against a matrix, and the shape of reports."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from doubles import Seeded
from numpy.typing import NDArray

from discreet.errors import Refusal
from discreet.local import Hadamard
from discreet.local.hadamard import walsh


def matrix(size: int) -> NDArray[np.int64]:
    """Sylvester 1867."""
    rows = np.array([[1]])
    while len(rows) < size:
        rows = np.block([[rows, rows], [rows, -rows]])
    return rows


@pytest.mark.parametrize("size", [1, 2, 4, 8, 64])
def test_the_fast_transform_is_the_slow_one(size: int) -> None:
    sums = np.arange(size) ** 2 - 7 * np.arange(size)
    assert walsh(sums).tolist() == (matrix(size) @ sums).tolist()


@pytest.mark.parametrize(("choices", "digits"), [(2, 2), (3, 2), (4, 3), (7, 3), (8, 4), (100, 7), (1024, 11)])
def test_there_is_a_column_for_every_value_beside_the_constant_one(choices: int, digits: int) -> None:
    client = Hadamard(Fraction(1), choices)
    assert client.digits == digits
    assert 1 << digits >= choices + 1
    assert 1 << (digits - 1) < choices + 1


@pytest.mark.parametrize("choices", [2, 5, 100])
def test_the_server_counts_what_a_plain_loop_counts(choices: int) -> None:
    client = Hadamard(Fraction(2), choices)
    reports = client.batch(np.arange(400) % choices, rng=Seeded(6))
    rows = matrix(1 << client.digits)
    signs = 1 - 2 * (reports.astype(int) & 1)
    plain = [int(np.sum(rows[reports >> 1, v + 1] == signs)) for v in range(choices)]
    assert client.estimate(client.tally(reports)).supports.tolist() == plain


def test_a_certain_person_is_seen() -> None:
    """At ε = 20 a bit is wrong once in half a billion: of 1000 on a value two do not support it once in 10^12."""
    client = Hadamard(Fraction(20), 200)
    for value in (0, 1, 127, 128, 199):
        guess = client.estimate(client.tally(client.batch([value] * 1000, rng=Seeded(value))))
        assert guess.supports[value] >= 999
        assert np.sort(guess.supports)[-2] < 650


@pytest.mark.parametrize(("choices", "width"), [(63, 1), (127, 1), (128, 2), (32767, 2), (32768, 4)])
def test_a_report_is_a_row_and_a_bit(choices: int, width: int) -> None:
    client = Hadamard(Fraction(1), choices)
    assert client.form.itemsize == width
    assert client.encode(2 * 5 + 1) == (11).to_bytes(width, "little")
    rows = client.batch([0] * 20_000, rng=Seeded(1)) >> 1
    assert int(rows.max()).bit_length() == client.digits


def test_a_row_that_is_none_is_refused() -> None:
    client = Hadamard(Fraction(1), 10)
    assert client.decode(b"\x1f").tolist() == [31]
    with pytest.raises(Refusal, match="report 1 of 2 is none that Hadamard sends"):
        client.decode(b"\x1f\x20")
    with pytest.raises(Refusal, match="choices"):
        Hadamard(Fraction(1), 1 << 24)
