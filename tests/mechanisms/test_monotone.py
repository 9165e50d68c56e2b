"""One rule for scores that move one way: taken where rows are added and removed, refused where they are replaced."""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from audit.examples import EXAMPLES

from discreet.audit import enumerated
from discreet.errors import Refusal
from discreet.mechanisms import REGISTRY, Exponential, PermuteAndFlip, PostedPrice
from discreet.privacy import AddRemove, Pure, Replace

ONE = Fraction(1)
MAY_BE = {name for name, kind in REGISTRY.items() if any(f.name == "monotone" for f in dataclasses.fields(kind))}


def test_these_can_be_told_that_scores_move_one_way() -> None:
    assert {
        "exponential",
        "permute-and-flip",
        "report-noisy-max",
        "top-k",
        "top-k-concentrated",
        "sparse-vector",
    } == MAY_BE


@pytest.mark.parametrize("name", sorted(MAY_BE))
def test_none_is_told_so_of_replaced_rows(name: str) -> None:
    mechanism: Any = EXAMPLES[name][0]
    with pytest.raises(Refusal, match=r"^expected monotone=False for Replace.* when a row is replaced some"):
        dataclasses.replace(mechanism, monotone=True, neighbours=Replace())
    assert dataclasses.replace(mechanism, monotone=False, neighbours=Replace()).privacy == mechanism.privacy
    assert dataclasses.replace(mechanism, monotone=True, neighbours=AddRemove()).privacy == mechanism.privacy


@pytest.mark.parametrize("kind", [Exponential, PermuteAndFlip])
def test_a_replaced_row_would_cost_twice_the_price(kind: type[Exponential | PermuteAndFlip]) -> None:
    """Exactly: one count of two falls by one and the other rises; what is paid is ε = 1, what is lost nearly 2."""
    sure, wide = kind(ONE, 2, monotone=True), kind(ONE, 2)
    replaced, added = [((0, 9), (1, 8))], [((0, 9), (0, 10)), ((0, 9), (1, 9))]
    assert enumerated(sure.law, replaced, Pure("1.9")).kept is False
    assert enumerated(sure.law, replaced, Pure(2)).kept is not False
    assert enumerated(sure.law, added, Pure(1)).kept is not False
    assert enumerated(wide.law, replaced, Pure(1)).kept is not False


@pytest.mark.parametrize("rule", ["permute-and-flip", "exponential"])
def test_a_posted_price_keeps_its_promise_for_replaced_bids(rule: str) -> None:
    """All pairs of three bids of which one differs: revenues move one way, by the highest price at most."""
    auction = PostedPrice(ONE, 1, 3, rule=rule, neighbours=Replace("buyer"))
    law = {bids: auction.choice.law(auction.revenues(bids)) for bids in product(range(5), repeat=3)}
    pairs = [(bids, (*bids[:2], other)) for bids in law for other in range(bids[2] + 1, 5)]
    assert enumerated(law.__getitem__, pairs, Pure(1)).kept is not False
    assert enumerated(law.__getitem__, pairs, Pure("0.5")).kept is False
