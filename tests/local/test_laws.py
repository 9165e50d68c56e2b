"""Reports follow their channel, made alone or together, and follow no other.

Exact binomial tails of every outcome, at a false alarm of 1e-10 for each sample.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from doubles import Prefixed, Seeded
from local.laws import follows, reports

from discreet.local import Hadamard, LocalHashing, OptimizedUnary, Response, SubsetSelection, SymmetricUnary
from discreet.local.hashing import PRIME, modulo, residues
from discreet.noise import coins
from discreet.noise.secure_random import words

SINGLE, MANY = 6_000, 60_000
CASES = [
    (kind, epsilon, choices)
    for kind in (Response, SymmetricUnary, OptimizedUnary, Hadamard, SubsetSelection)
    for epsilon, choices in (("0.5", 2), ("1", 3), ("2", 6))
]


@pytest.mark.parametrize(("kind", "epsilon", "choices"), CASES)
@pytest.mark.slow
def test_reports_follow_the_channel_alone_and_together(kind: Any, epsilon: str, choices: int) -> None:  # noqa: ANN401
    client = kind(Fraction(epsilon), choices)
    for true in (0, choices - 1):
        law = client.channel()[true]
        rng = Seeded(true)
        alone = [client(true, rng=rng) for _ in range(SINGLE)]
        together = reports(client, true, MANY, Seeded(50 + true))
        assert follows(alone, law)
        assert follows(together, law)
        for wrong in ("0.7", "1.3"):
            other = kind(Fraction(epsilon) * Fraction(wrong), choices).channel()[true]
            assert not follows(together, other)
        assert not follows(together, client.channel()[1 - min(true, 1)])


@pytest.mark.parametrize(("epsilon", "choices"), [("0.5", 3), ("2", 40), ("7", 9)])
def test_hashed_reports_follow_their_law_alone_and_together(epsilon: str, choices: int) -> None:
    """Which of three values a report supports, from two of which the person has the first."""
    client, rng = LocalHashing(Fraction(epsilon), choices), Seeded(7)
    family, (truth, lie) = client.family, (client.mechanism.truth, client.mechanism.lie)
    both = family.collision

    def seen(report: Any) -> tuple[bool, bool]:  # noqa: ANN401
        slope, shift, said = report
        return family.cell(1, slope, shift) == said, family.cell(2, slope, shift) == said

    law = {
        (True, True): truth * both,
        (True, False): truth * (1 - both),
        (False, True): lie * (1 - both),
        (False, False): (1 - truth) - lie * (1 - both),
    }
    alone = [seen(client(1, rng=rng)) for _ in range(SINGLE)]
    together = [seen(report) for report in reports(client, 1, MANY, rng)]
    assert follows(alone, law)
    assert follows(together, law)
    assert not follows(together, {(b, a): p for (a, b), p in law.items()})


def test_hash_functions_are_drawn_evenly_alone_and_together() -> None:
    client, rng = LocalHashing(Fraction(1), 5), Seeded(8)
    even = {cell: Fraction(1, 16) for cell in range(16)}  # within 2^-27 of the truth
    alone = [client(3, rng=rng) for _ in range(SINGLE)]
    together = client.batch([3] * MANY, rng=rng)
    for name in ("slope", "shift"):
        assert follows([getattr(report, name) >> 27 for report in alone], even)
        assert follows((together[name] >> 27).tolist(), even)
        assert follows((together[name] & 15).tolist(), even)


def test_a_residue_that_is_none_is_drawn_again() -> None:
    zeros, ones = bytes(4), b"\xff" * 4
    for least, first in ((1, zeros), (1, ones), (0, ones)):
        drawn = residues(3, least, Prefixed(first + bytes([9, 0, 0, 0]) + first, Seeded(1)))
        assert int(drawn[1]) == 4
        assert least <= int(drawn.min())
        assert int(drawn.max()) < PRIME
    kept = residues(2, 0, Prefixed(zeros * 2, Seeded(1)))
    assert kept.tolist() == [0, 0]


def test_the_remainder_is_that_of_whole_numbers() -> None:
    edges = [0, 1, PRIME - 1, PRIME, PRIME + 1, 2 * PRIME, PRIME * PRIME - 1, PRIME * PRIME]
    many = [*edges, *(int(word) % (PRIME * PRIME) for word in words(1000, rng=Seeded(3)))]
    assert modulo(np.array(many, dtype=np.uint64)).tolist() == [value % PRIME for value in many]


def test_a_coin_that_its_first_byte_does_not_decide_is_decided_by_the_others() -> None:
    """Of 3/8 and a little: the byte 0x60 is undecided, and the next 56 bits are compared with that little."""
    chance = Fraction(0x60 << 56 | 1000, 1 << 64)
    undecided = bytes([0x60, 0x5F, 0x61, 0x60])
    more = (999 << 8).to_bytes(8, "little") + (1000 << 8).to_bytes(8, "little")
    assert coins(chance, 4, Prefixed(undecided + more, Seeded(1))).tolist() == [True, True, False, False]


@pytest.mark.parametrize("chance", [Fraction(1, 1 << 64), Fraction(1, 2), Fraction((1 << 64) - 1, 1 << 64)])
def test_coins_at_the_ends_of_their_range(chance: Fraction) -> None:
    heads = coins(chance, 4000, Seeded(2))
    assert heads.mean() == pytest.approx(float(chance), abs=0.1)
    assert bool(heads.any()) == (chance >= Fraction(1, 2))
    assert bool(heads.all()) == (chance > Fraction(1, 2))


def test_equal_keys_at_the_end_of_a_set_are_drawn_again() -> None:
    """Three values, sets of one: the two others have equal keys at first."""
    client = SubsetSelection(Fraction(1, 100), 3)
    assert client.size == 1
    equal, fresh = b"\x05\0\0\0" * 3, b"\x07\0\0\0" + b"\x06\0\0\0" * 2
    said = client._sets(np.array([0]), np.array([False]), Prefixed(equal + fresh[:8] + b"\x09\0\0\0", Seeded(1)))
    assert said.tolist() == [[False, True, False]]
    held = client._sets(np.array([0]), np.array([True]), Prefixed(bytes(12) + fresh, Seeded(1)))
    assert held.tolist() == [[True, False, False]]
