"""Uniform integers and permutations."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from doubles import Scripted, Seeded, enumerated

from discreet.errors import Refusal
from discreet.noise import SECURE, below, belows, permutation


@pytest.mark.parametrize("n", [1, 2, 3, 5, 6, 7, 8])
def test_below_is_uniform_by_enumeration(n: int) -> None:
    mass, unresolved = enumerated(lambda rng: below(n, rng=rng), 15)
    assert set(mass) == set(range(n))
    assert len(set(mass.values())) == 1
    assert unresolved <= Fraction(1, 4)


def test_below_handles_numbers_beyond_machine_words() -> None:
    n = 10**40
    drawn = [below(n) for _ in range(200)]
    assert max(drawn) < n
    assert max(drawn) > n // 2  # fails with probability 2^-200


@pytest.mark.parametrize("n", [1, 2, 3, 1000, (1 << 62) - 1, 1 << 62])
def test_belows_stay_below_and_reach_the_upper_half(n: int) -> None:
    drawn = belows(n, 1000)
    assert drawn.min() >= 0
    assert drawn.max() < n
    assert n == 1 or drawn.max() >= n // 2  # fails with probability 2^-1000


def test_belows_rejects_and_redraws_only_what_was_too_large() -> None:
    # n = 3 looks at the top two bits of a word: 3 is drawn again, 1 and 2 are kept
    words = [3 << 62, 1 << 62, 2 << 62, 0]
    rng = Scripted([np.array(words, dtype=np.uint64).tobytes()])
    assert belows(3, 3, rng=rng).tolist() == [0, 1, 2]


@pytest.mark.parametrize("n", [0, -1, (1 << 62) + 1])
def test_belows_refuses_what_it_cannot_hold(n: int) -> None:
    with pytest.raises(Refusal, match=str(n)):
        belows(n, 3)


@pytest.mark.parametrize("n", [0, -3, 1.5])
def test_below_refuses_what_has_no_numbers_below_it(n: int) -> None:
    with pytest.raises(Refusal, match=f"n={n}"):
        below(n)


def test_numpy_integers_are_integers() -> None:
    assert below(np.int64(5)) in range(5)  # type: ignore[arg-type]
    assert belows(np.int64(5), np.int64(3)).max() < 5  # type: ignore[arg-type]


def test_permutations_of_three_are_equally_likely() -> None:
    drawn = Counter(tuple(permutation(3).tolist()) for _ in range(60_000))
    assert len(drawn) == 6
    # each count is binomial(60000, 1/6), sd 91.3; seven of those: false alarm below 6 * 3e-12
    assert all(abs(n - 10_000) < 640 for n in drawn.values())


def test_permutation_draws_again_when_two_keys_are_equal() -> None:
    tied = np.array([5, 5, 1], dtype=np.uint64).tobytes()
    clear = np.array([9, 2, 4], dtype=np.uint64).tobytes()
    assert permutation(3, rng=Scripted([tied, clear])).tolist() == [1, 2, 0]


def test_same_bits_same_numbers() -> None:
    assert belows(10, 50, rng=Seeded(3)).tolist() == belows(10, 50, rng=Seeded(3)).tolist()
    assert belows(10, 50, rng=Seeded(3)).tolist() != belows(10, 50, rng=SECURE).tolist()
