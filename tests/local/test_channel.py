"""Every client's channel, enumerated in rationals: no pair of values is further apart than promised, none much nearer.

The estimates are unbiased by enumeration too: every report goes through the wire, the tally and the estimator, weighed
with its probability.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from discreet.audit import enumerated
from discreet.errors import Refusal
from discreet.interval_arithmetic import exp, log
from discreet.local import Hadamard, LocalHashing, OptimizedUnary, Oracle, Response, SubsetSelection, SymmetricUnary
from discreet.local.hashing import PRIME
from discreet.mechanisms import RandomizedResponse
from discreet.privacy.divergence import Channel

LOST = Fraction(1, 10**9)  # of ε, to rounding
PRICES = ["0.000001", "0.01", "0.5", "1", "1.0986122886681098", "3", "10", "20"]
KINDS = [Response, SymmetricUnary, OptimizedUnary, Hadamard, SubsetSelection]
KEYS = [(1, 0), (PRIME - 1, PRIME - 1), (123456789, 987654321), (1 << 30, 5)]


def every_pair(choices: int) -> list[tuple[int, int]]:
    return list(combinations(range(choices), 2))


def dyadic(p: Fraction) -> bool:
    return p.denominator & (p.denominator - 1) == 0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("choices", [2, 3, 5])
@pytest.mark.parametrize("epsilon", PRICES)
def test_the_exact_loss_is_the_price_for_every_pair_of_values(kind: Any, choices: int, epsilon: str) -> None:  # noqa: ANN401
    client = kind(Fraction(epsilon), choices)
    channel: Channel[int, Any] = client.channel()
    for pair in every_pair(choices):
        ratio = channel.ratio([pair])
        assert ratio is not None
        assert ratio <= exp(client.epsilon, 200).down  # certified, and in exact numbers
        assert log(ratio).down > client.epsilon - LOST
    if kind is not SubsetSelection:  # a set among equally likely ones has a binomial number in its denominator
        assert all(dyadic(p) for row in channel.rows.values() for p in row.values())
    assert enumerated(channel, client.pairs(), client.privacy).kept


@pytest.mark.parametrize("choices", [2, 7, 20])
@pytest.mark.parametrize("epsilon", PRICES)
def test_the_exact_loss_of_hashing_given_any_function(choices: int, epsilon: str) -> None:
    client = LocalHashing(Fraction(epsilon), choices)
    if client.family.cells > 100:
        law: Any = client.mechanism
        assert law.truth / law.lie <= exp(client.epsilon, 200).down
        assert log(law.truth / law.lie).down > client.epsilon - LOST
        return
    apart, most = 0, exp(client.epsilon, 200).down
    for slope, shift in KEYS:
        channel = client.channel(slope, shift)
        for one, other in every_pair(choices):
            ratio = channel.ratio([(one, other)])
            assert ratio is not None
            same = client.family.cell(one, slope, shift) == client.family.cell(other, slope, shift)
            assert ratio == 1 if same else client.epsilon - LOST < log(ratio).down
            assert ratio <= most
            apart += not same
        assert all(dyadic(p) for row in channel.rows.values() for p in row.values())
    assert apart > 0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("epsilon", "choices"), [("0.5", 2), ("1", 3), ("2", 6)])
def test_a_report_supports_values_with_the_stated_odds_exactly(kind: Any, epsilon: str, choices: int) -> None:  # noqa: ANN401
    """So estimates are unbiased: by the true code of wire, tally and estimator, and with no randomness at all."""
    client: Oracle = kind(Fraction(epsilon), choices)
    supports = {
        report: client.estimate(client.tally(client.decode(client.encode(report)))).supports
        for report in client.channel()[0]  # type: ignore[attr-defined]
    }
    for true, law in client.channel().rows.items():  # type: ignore[attr-defined]
        mean = [sum(p * int(supports[y][v]) for y, p in law.items()) for v in range(choices)]
        assert mean == [client.odds.holder if v == true else client.odds.other for v in range(choices)]


@pytest.mark.parametrize("kind", [*KINDS, LocalHashing])
def test_odds_are_those_of_the_textbook(kind: Any) -> None:  # noqa: ANN401
    """At ε = 1 and 100 values; the research's variances per person, at a share of 0."""
    client = kind(Fraction(1), 100)
    known = {
        Response: 34.1,
        SymmetricUnary: 3.92,
        OptimizedUnary: 3.68,
        LocalHashing: 3.69,
        Hadamard: 4.68,
        SubsetSelection: 3.59,
    }
    assert float(client.odds.variance(Fraction(0))) == pytest.approx(known[kind], rel=3e-3)


def test_the_law_of_a_response_is_that_of_the_mechanism() -> None:
    client = Response(Fraction(1), 7)
    assert client.mechanism == RandomizedResponse(Fraction(1), 7)
    assert client.channel() == RandomizedResponse(Fraction(1), 7).channel


def test_a_channel_of_many_values_is_not_written_down() -> None:
    assert len(OptimizedUnary(Fraction(1), 9).channel()[0]) == 1 << 9
    for kind, choices in ((OptimizedUnary, 15), (SubsetSelection, 15), (Hadamard, 1 << 10), (Response, 1 << 10)):
        with pytest.raises(Refusal, match="probabilities is not written down; take fewer values"):
            kind(Fraction(1), choices).channel()
    with pytest.raises(Refusal, match=r"a channel of ≈7.9\d*E\+6024 probabilities"):  # too long a number to write
        OptimizedUnary(Fraction(1), 20_000).channel()
    with pytest.raises(Refusal, match="is not written down"):
        LocalHashing(Fraction(10), 2).channel(1, 0)


def test_thresholds_are_whole_numbers_of_64_digits() -> None:
    for epsilon in PRICES:
        for client in (SymmetricUnary(Fraction(epsilon), 4), OptimizedUnary(Fraction(epsilon), 4)):
            assert (client.odds.other * 2**64).denominator == 1
            assert (client.odds.holder * 2**64).denominator == 1
        assert (SubsetSelection(Fraction(epsilon), 9).truth * 2**64).denominator == 1
    assert np.dtype(np.uint64).itemsize * 8 == 64
