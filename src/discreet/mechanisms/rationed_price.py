"""A price for a limited number of copies of a good: if more want one than there are, lots are drawn."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.declared.grid import floors
from discreet.exact import count
from discreet.mechanisms.auction import PostedPrice
from discreet.mechanisms.mechanism import settle
from discreet.mechanisms.registry import registered
from discreet.noise import SECURE, Entropy, permutation

_DEAREST = 1 << 29


@registered("rationed-price")
@dataclass(frozen=True)
class RationedPrice(PostedPrice):
    """A price that earns nearly as much as the best one where only `supply` copies can be sold.

    Whoever bids at least the price takes part; if more do than there are copies, `buyers` draws lots among them.

    Guarantee: Pure(epsilon) of the price, when one buyer is added or removed, or, with `Replace` neighbours, changes a
        bid. And whoever bids what a copy is worth to them expects at least e^−epsilon times what any other bid would
        have given them, whatever the others bid.
    Proof: a price p earns p·min(supply, those who bid p or more): a buyer more raises it by p or by nothing, and lowers
        none, as at a posted price, from which the privacy follows. At a given price a bid other than the truth either
        takes part as well, by the same lots, or misses a copy that was worth its price, or gets one that was not: the
        truth is never worse, and never worth less than nothing. A bid that changes makes each price at most
        e^epsilon times as likely, so of what it expects the truth keeps e^−epsilon.
    Source: McSherry & Talwar 2007, Section 4 (approximate truthfulness, and pricing where supply is limited).
    """

    supply: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        settle(self, supply=count(self.supply, "supply"))

    def _earned(self, buyers: NDArray[np.int64]) -> NDArray[np.int64]:
        """What each price earns where so many would pay it."""
        return self.prices * np.minimum(min(self.supply, _DEAREST), buyers)

    def buyers(self, bids: ArrayLike, price: int, /, *, rng: Entropy = SECURE) -> NDArray[np.int64]:
        """The places of those who get a copy at this price, in order. Who they are is no secret of the mechanism's."""
        willing = np.flatnonzero(floors(bids, 0, _DEAREST).ravel() >= price)
        return np.sort(willing[permutation(willing.size, rng=rng)[: self.supply]])
