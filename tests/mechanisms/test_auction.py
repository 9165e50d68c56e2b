from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, permutations

import numpy as np
import pytest
from covering import Coverage
from doubles import Seeded
from mechanisms.chances import Whatever

from discreet.errors import Refusal
from discreet.interval_arithmetic import Interval, exp
from discreet.mechanisms.auction import PostedPrice
from discreet.mechanisms.registry import described, rebuilt
from discreet.privacy import AddRemove, Neighbours, Pure, Replace

APPLES = (100, 100, 100, 401)  # the tutorial's four buyers, in cents
RULES = ("permute-and-flip", "exponential")

Bids = tuple[int, ...]


@cache
def coin(x: Fraction) -> Interval:
    return exp(-x)


def law(auction: PostedPrice, bids: Bids) -> list[Interval]:
    """The probability of each price from the definition of its rule: weights, or every order of the prices."""
    revenues = [p * sum(b >= p for b in bids) for p in auction.prices.tolist()]
    rate = auction.epsilon / int(auction.prices[-1])
    heads = [coin(rate * (max(revenues) - revenue)) for revenue in revenues]
    if auction.rule == "exponential":
        total = sum(heads, Interval.of(0))
        return [each / total for each in heads]
    chances, orders = [Interval.of(0)] * len(heads), list(permutations(range(len(heads))))
    for order in orders:
        left = Interval.of(Fraction(1, len(orders)))
        for i in order:
            chances[i] = chances[i] + left * heads[i]
            left = left * (1 - heads[i])
    return chances


def test_the_tutorials_apples() -> None:
    auction = PostedPrice(Fraction(1), 1, 500)
    earned = dict(zip(auction.prices.tolist(), auction.revenues(APPLES).tolist(), strict=True))
    assert (earned[100], earned[401], earned[402], earned[101]) == (400, 401, 0, 101)
    assert max(earned, key=lambda price: earned[price]) == 401
    assert sorted(earned.values())[-2:] == [400, 401]


def everyone(values: int, most: int) -> Iterator[Bids]:
    for size in range(most + 1):
        yield from combinations_with_replacement(range(values), size)


def neighbours_of(bids: Bids, values: int, relation: Neighbours) -> Iterator[Bids]:
    for bid in range(values):
        if isinstance(relation, AddRemove):
            yield tuple(sorted((*bids, bid)))
        else:
            yield from (tuple(sorted((*bids[:i], bid, *bids[i + 1 :]))) for i in range(len(bids)))


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("relation", [AddRemove("buyer"), Replace("buyer")])
def test_no_buyer_shows_more_than_promised(rule: str, relation: Neighbours) -> None:
    epsilon = Fraction(3, 2)
    auction = PostedPrice(epsilon, 1, 4, rule=rule, neighbours=relation)
    assert auction.privacy == Pure(epsilon)
    most, known = exp(epsilon), {bids: law(auction, bids) for bids in everyone(6, 4)}
    worst = Fraction(0)
    for bids in everyone(6, 3):
        for other in neighbours_of(bids, 6, relation):
            for p, q in zip(known[bids], known[other], strict=True):
                assert p.low <= (most * q).high
                assert q.low <= (most * p).high
                worst = max(worst, (p / q).up, (q / p).up)
    assert worst > exp(epsilon / 2).up  # which at half the rate no pair could reach


@pytest.mark.parametrize("rule", RULES)
def test_prices_are_drawn_from_the_law_of_the_rule(rule: str) -> None:
    """Hoeffding for five prices: a correct one fails with probability below 1e-9."""
    auction, bids, runs, rng = PostedPrice(Fraction(4), 2, 10, 2, rule), (3, 4, 4, 8, 9, 10), 4_000, Seeded(6)
    seen = Counter(auction(bids, rng=rng) for _ in range(runs))
    assert set(seen) <= {2, 4, 6, 8, 10}
    band = math.sqrt(math.log(2 * 5 / 1e-9) / (2 * runs))

    def near(epsilon: int) -> bool:
        chances = law(PostedPrice(Fraction(epsilon), 2, 10, 2, rule), bids)
        prices = auction.prices.tolist()
        return all(abs(seen[price] / runs - float(p.up)) <= band for price, p in zip(prices, chances, strict=True))

    assert near(4)
    assert not near(2)
    assert not near(8)


@pytest.mark.parametrize("rule", RULES)
def test_the_error_covers_and_is_not_far_off(rule: str) -> None:
    auction, runs, rng = PostedPrice(Fraction(1), 1, 200, rule=rule), 2_000, Seeded(9)
    alpha = auction.error("0.9")
    bids = np.full(math.ceil(alpha / 199) + 1, 200)  # everyone pays the highest price: each lower one loses
    best = int(auction.revenues(bids).max())
    held = sum(best - price * bids.size <= alpha for price in (auction(bids, rng=rng) for _ in range(runs)))
    assert not Coverage(held, runs).refuted(0.9)
    assert alpha <= 200 * math.log(200 / 0.1)  # the utility theorem at half the usual rate


def test_permute_and_flip_never_earns_less_on_average() -> None:
    for bids in everyone(5, 4):
        flip, usual = (PostedPrice(Fraction(2), 1, 4, rule=rule) for rule in RULES)
        revenues = flip.revenues(bids).tolist()
        ours, theirs = (
            sum((r * p for r, p in zip(revenues, law(auction, bids), strict=True)), Interval.of(0))
            for auction in (flip, usual)
        )
        assert ours.high >= theirs.low


def test_every_list_of_bids_has_a_price() -> None:
    auction = PostedPrice(Fraction(1), 5, 1 << 29, 1 << 20)
    for bids in ([], [-(10**30), 10**30], np.zeros(0, dtype=np.int64), [0]):
        assert auction(bids, rng=Seeded(1)) in auction.prices
    assert auction.revenues([10**30] * 3)[-1] == 3 * auction.prices[-1]


@pytest.mark.parametrize(
    ("bid", "worth"),
    [
        (2.5, 2),
        (Fraction(7, 2), 3),
        (Decimal("1.99"), 1),
        (0.99, 0),
        (-3.0, 0),
        (math.inf, 5),
        (-math.inf, 0),
        (10**30, 5),
        (math.nan, 0),
        (None, 0),
        ("4", 0),
        ([4], 0),
        (np.timedelta64(4, "s"), 0),
        (np.timedelta64("NaT"), 0),
        (np.float32(4.5), 4),
    ],
)
def test_whatever_is_bid_buys_at_the_prices_up_to_it(bid: Whatever, worth: int) -> None:
    auction = PostedPrice(Fraction(1), 1, 5)
    others, plain = [1, 3.0, 2], auction.revenues([1, 3, 2])
    added = [price if price <= worth else 0 for price in range(1, 6)]
    for bids in ([*others, bid], deque([*others, bid]), (value for value in [*others, bid])):
        assert (auction.revenues(bids) - plain).tolist() == added  # type: ignore[arg-type]
    assert auction([*others, bid], rng=Seeded(1)) in range(1, 6)


def test_an_array_of_reals_is_a_list_of_them() -> None:
    auction, bids = PostedPrice(Fraction(1), 1, 5), [0.5, 2.5, math.nan, 4.0, 1e300]
    assert auction.revenues(np.array(bids)).tolist() == auction.revenues(bids).tolist() == [3, 6, 6, 8, 5]


def test_one_price_is_no_choice() -> None:
    auction = PostedPrice(Fraction(1), 7, 7)
    assert (auction([1, 2, 9]), auction.error()) == (7, 0)


@pytest.mark.parametrize("relation", [AddRemove("buyer"), Replace("buyer")])
def test_the_declared_pairs_are_neighbours(relation: Neighbours) -> None:
    for pair in PostedPrice(Fraction(1), 1, 100, neighbours=relation).pairs():
        more, less = Counter(pair.right) - Counter(pair.left), Counter(pair.left) - Counter(pair.right)
        assert (more.total(), less.total()) == ((1, 0) if isinstance(relation, AddRemove) else (1, 1))


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"epsilon": 0}, "epsilon=0"),
        ({"lowest": 0}, "lowest=0"),
        ({"lowest": 9, "highest": 8}, "lowest=9 highest=8"),
        ({"highest": 1 << 30}, "highest=1073741824"),
        ({"highest": 1 << 29}, "at most 2\\^20 prices"),
        ({"highest": 10**5000}, r"highest=1E\+5000"),
        ({"step": 0}, "step=0"),
        ({"highest": 2.5}, "highest=2.5"),
        ({"rule": "dutch"}, "'dutch'"),
        ({"rule": 10**5000}, r"no rule 1E\+5000"),
        ({"neighbours": None}, "None"),
    ],
)
def test_nonsense_is_refused_by_name(parameters: dict[str, object], says: str) -> None:
    usual: dict[str, object] = {"epsilon": 1, "lowest": 1, "highest": 9}
    with pytest.raises(Refusal, match=says):
        PostedPrice(**{**usual, **parameters})  # type: ignore[arg-type]


def test_it_goes_through_a_door_and_comes_back() -> None:
    auction = PostedPrice(Fraction(2, 3), 10, 500, 5, "exponential", Replace("buyer"))
    told = described(auction)
    assert rebuilt(str(told["name"]), told["parameters"]) == auction
