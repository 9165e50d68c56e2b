"""Tallies: their bytes, and what is none."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.errors import Refusal
from discreet.local import Tally

TALLY = Tally('{"name":"x"}', 3, np.array([1, -2, 1 << 60]))


def test_the_bytes_are_as_stated() -> None:
    data = TALLY.encode()
    assert data[:16] == b"dTL1" + (12).to_bytes(4, "little") + (3).to_bytes(8, "little")
    assert data[16:28] == b'{"name":"x"}'
    assert data[28:] == b"".join(n.to_bytes(8, "little", signed=True) for n in (1, -2, 1 << 60))
    assert Tally.decode(data) == TALLY


def test_a_tally_does_not_change() -> None:
    with pytest.raises(ValueError, match="read-only"):
        TALLY.counts[0] = 5
    with pytest.raises(ValueError, match="read-only"):
        (TALLY + TALLY).counts[0] = 5
    mine = np.array([1, 2])
    kept = Tally("x", 3, mine)
    mine[0] = 7
    assert kept.counts.tolist() == [1, 2]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"dTL1",
        TALLY.encode()[:-1],
        TALLY.encode() + b"\0",
        b"x" + TALLY.encode()[1:],
        TALLY.encode()[:4] + b"\xff\xff\xff\xff" + TALLY.encode()[8:],
        TALLY.encode()[:8] + b"\xff" * 8 + TALLY.encode()[16:],
        TALLY.encode().replace(b'"name"', b'"\xff\xff\xff\xff"'),
    ],
)
def test_what_is_no_tally_is_refused(data: bytes) -> None:
    with pytest.raises(Refusal, match="tally"):
        Tally.decode(data)


def test_only_bytes_are_read() -> None:
    for nonsense in ("dTL1", None, 7):
        with pytest.raises(Refusal, match="expected a tally as bytes"):
            Tally.decode(nonsense)  # type: ignore[arg-type]


def test_bytes_that_lie_about_their_length_are_read_as_they_are() -> None:
    class Short(bytes):
        def __len__(self) -> int:
            return 0

    assert Tally.decode(Short(TALLY.encode())) == TALLY
    with pytest.raises(Refusal, match="these 4 bytes are no tally"):
        Tally.decode(Short(b"dTL1"))


def test_more_people_than_fit_are_refused() -> None:
    most = Tally("x", 1 << 40, np.zeros(1, dtype=np.int64))
    with pytest.raises(Refusal, match=r"at most 2\^40 reports"):
        most + Tally("x", 1, np.zeros(1, dtype=np.int64))


def test_tallies_of_two_kinds_do_not_add() -> None:
    with pytest.raises(Refusal, match="does not add"):
        TALLY + Tally("other", 3, TALLY.counts)
    with pytest.raises(Refusal, match="does not add"):
        TALLY + Tally(TALLY.client, 3, np.zeros(2, dtype=np.int64))


def test_what_are_no_sums_is_refused() -> None:
    for counts in (np.array([1.5]), np.array([np.nan]), np.array([[1, 2]]), np.array(3), np.array(["1"])):
        with pytest.raises(Refusal, match="expected the sums of a tally as whole numbers in a row"):
            Tally("x", 3, counts)
    for people in (-1, 2.5, True, None):
        with pytest.raises(Refusal, match="expected a whole number people >= 0"):
            Tally("x", people, np.array([1]))  # type: ignore[arg-type]
    assert Tally("x", np.int32(3), np.array([1, 2], dtype=np.uint8)) == Tally("x", 3, np.array([1, 2]))  # type: ignore[arg-type]


def test_sums_that_would_wrap_around_are_refused() -> None:
    for far in (1 << 62, (1 << 63) - 1, -(1 << 62), -(1 << 63)):
        with pytest.raises(Refusal, match=r"below 2\^62"):
            Tally("x", 1, np.array([0, far]))
    with pytest.raises(Refusal, match=r"below 2\^62"):
        Tally("x", 1, np.array([(1 << 64) - 1], dtype=np.uint64))
    most = Tally("x", 1, np.array([(1 << 62) - 1]))
    with pytest.raises(Refusal, match=r"below 2\^62"):
        most + most
