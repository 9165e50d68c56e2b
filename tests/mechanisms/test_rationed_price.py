"""A price where copies are few: private, nearly the best, and no reason to lie. Exact laws, enumerated."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations_with_replacement

import pytest
from doubles import Seeded

from discreet.errors import Refusal
from discreet.interval_arithmetic import Interval, exp
from discreet.mechanisms import RationedPrice
from discreet.privacy import Pure, Replace

EPSILON, MOST = Fraction(1, 2), 4

Bids = tuple[int, ...]


def law(auction: RationedPrice, bids: Bids) -> list[Interval]:
    """Of the exponential mechanism, from its definition."""
    earned = [price * min(auction.supply, sum(bid >= price for bid in bids)) for price in range(1, MOST + 1)]
    weights = [exp(auction.epsilon * revenue / MOST) for revenue in earned]
    total = sum(weights, Interval.of(0))
    return [weight / total for weight in weights]


def expected(auction: RationedPrice, bids: Bids, mine: int, worth: int) -> Interval:
    """What a bidder expects to gain: of bids the one at place `mine` is theirs, and a copy is worth so much to them."""
    gain = Interval.of(0)
    for price, chance in enumerate(law(auction, bids), start=1):
        willing = sum(bid >= price for bid in bids)
        if bids[mine] >= price:
            gain = gain + chance * (Fraction(worth - price) * min(Fraction(1), Fraction(auction.supply, willing)))
    return gain


@pytest.mark.parametrize("supply", [1, 2])
def test_nobody_gains_much_by_a_lie(supply: int) -> None:
    auction = RationedPrice(EPSILON, 1, MOST, rule="exponential", supply=supply, neighbours=Replace("buyer"))
    keeps, closest = exp(-EPSILON), Fraction(10)
    for others in combinations_with_replacement(range(MOST + 1), 3):
        for worth in range(1, MOST + 1):
            honest = expected(auction, (worth, *others), 0, worth)
            for lie in range(MOST + 1):
                told = expected(auction, (lie, *others), 0, worth)
                assert honest.high >= (keeps * told).low
                if told.low > 0:
                    closest = min(closest, (honest / told).up)
    assert closest < 1  # a lie may pay a little: it is approximate truthfulness


def test_the_same_with_the_price_alone_would_not_do_for_who_pays_the_best_price() -> None:
    """Were the price the best one, whoever bids highest would gain much by bidding less."""
    bids, lie = (4, 1, 1), (1, 1, 1)

    def best(each: Bids) -> int:
        return max(range(1, MOST + 1), key=lambda price: price * min(2, sum(bid >= price for bid in each)))

    assert 4 - best(bids) == 0
    assert (4 - best(lie)) * Fraction(2, 3) == 2


@pytest.mark.parametrize("supply", [1, 2, 9])
def test_no_buyer_shows_more_than_promised(supply: int) -> None:
    auction = RationedPrice(EPSILON, 1, MOST, rule="exponential", supply=supply)
    assert auction.privacy == Pure(EPSILON)
    most = exp(EPSILON)
    for bids in combinations_with_replacement(range(MOST + 1), 3):
        for more in range(MOST + 1):
            for p, q in zip(law(auction, bids), law(auction, (*bids, more)), strict=True):
                assert p.low <= (most * q).high
                assert q.low <= (most * p).high


def test_it_earns_what_the_copies_allow() -> None:
    auction = RationedPrice(Fraction(1), 1, 10, supply=2)
    assert auction.revenues([1, 5, 5, 9]).tolist() == [2, 4, 6, 8, 10, 6, 7, 8, 9, 0]
    assert [float(p.up) for p in RationedPrice(EPSILON, 1, MOST, rule="exponential", supply=2).choice.law(
        RationedPrice(EPSILON, 1, MOST, supply=2).revenues([1, 3, 3])
    )] == pytest.approx([float(p.up) for p in law(RationedPrice(EPSILON, 1, MOST, supply=2), (1, 3, 3))])  # fmt: skip


def test_lots_are_drawn_among_those_who_would_pay() -> None:
    auction, rng = RationedPrice(Fraction(1), 1, 10, supply=2), Seeded(1)
    bids = [3, 9, 5, 1, 7]
    drawn = {tuple(auction.buyers(bids, 5, rng=rng).tolist()) for _ in range(100)}
    assert drawn == {(1, 2), (1, 4), (2, 4)}
    assert auction.buyers(bids, 9, rng=rng).tolist() == [1]
    assert auction.buyers(bids, 10, rng=rng).tolist() == []


def test_no_copies_are_no_sale() -> None:
    with pytest.raises(Refusal, match="supply >= 1"):
        RationedPrice(Fraction(1), 1, 10, supply=0)
