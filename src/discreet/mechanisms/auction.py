"""A posted price for as many copies of a good as there are buyers: the tutorial's apples."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.declared.grid import floors
from discreet.declared.table import grid_of
from discreet.errors import Refusal
from discreet.exact import Number, count, positive, shown
from discreet.mechanisms.mechanism import USUAL, Pair, Takes, settle
from discreet.mechanisms.private_rows import Relation
from discreet.mechanisms.quantile import Rows
from discreet.mechanisms.registry import registered
from discreet.mechanisms.selection import Exponential, PermuteAndFlip
from discreet.noise import SECURE, Entropy
from discreet.privacy import AddRemove, Neighbours, Pure

_RULES: dict[str, type[PermuteAndFlip | Exponential]] = {"permute-and-flip": PermuteAndFlip, "exponential": Exponential}
_DEAREST = 1 << 29  # with as many buyers at most, a revenue is far enough from the largest score
_MOST_PRICES = 1 << 20


@registered("posted-price")
@dataclass(frozen=True)
class PostedPrice:
    """A price that earns nearly as much as the best one: whoever bids at least the price buys one copy at it.

    Prices are whole, so a bid between two whole numbers buys what the lower one does. What is no number is a bid of 0,
    which buys nothing.

    Guarantee: Pure(epsilon), when one buyer is added or removed, or, with `Replace` neighbours, changes a bid.
    Proof: a bid b is worth p at every price p ≤ b and nothing above, so a buyer more raises each revenue by the highest
        price or less and lowers none, and a bid raised does the same: monotone scores of that sensitivity, from which
        docs/proofs/selection.md takes the guarantee. More than 2^29 buyers count as so many, which adds no distance.
    Source: McSherry & Talwar 2007; McKenna & Sheldon 2020 for permute-and-flip.
    """

    takes: ClassVar[Takes] = Takes.ROWS
    declared: ClassVar[tuple[str, ...]] = ()
    counted: ClassVar[bool] = True

    epsilon: Fraction
    lowest: int
    highest: int
    step: int = 1
    rule: str = "permute-and-flip"
    neighbours: Neighbours = AddRemove("buyer")

    def __post_init__(self) -> None:
        settle(
            self,
            epsilon=positive(self.epsilon, "epsilon"),
            lowest=count(self.lowest, "lowest"),
            highest=count(self.highest, "highest"),
            step=count(self.step, "step"),
            neighbours=self.neighbours,
        )
        if not self.lowest <= self.highest <= _DEAREST:
            raise Refusal(
                f"expected lowest <= highest <= 2^29, got lowest={shown(self.lowest)} highest={shown(self.highest)}"
            )
        if (self.highest - self.lowest) // self.step >= _MOST_PRICES:
            raise Refusal(f"expected at most 2^20 prices, got step={shown(self.step)}", hint="take a larger step")
        if self.rule not in _RULES:
            raise Refusal(f"there is no rule {shown(self.rule)}", hint=f"use one of {', '.join(sorted(_RULES))}")

    @cached_property
    def prices(self) -> NDArray[np.int64]:
        """The candidates."""
        prices = np.arange(self.lowest, self.highest + 1, self.step, dtype=np.int64)
        prices.flags.writeable = False
        return prices

    @property
    def privacy(self) -> Pure:
        """ε as asked for."""
        return Pure(self.epsilon)

    @cached_property
    def choice(self) -> PermuteAndFlip | Exponential:
        """The mechanism that chooses among the prices by what they earn.

        Its scores move one way also where a bid is replaced; that is proved above, and not for scores in general, so it
        is built for added buyers: what it promises it promises for all pairs of scores that move so.
        """
        prices = self.prices
        return _RULES[self.rule](self.epsilon, prices.size, int(prices[-1]), monotone=True)

    def error(self, confidence: Number = USUAL) -> int:
        """An α such that, whatever the bids, the price earns at most α less than the best one."""
        return self.choice.error(confidence)

    def revenues(self, bids: ArrayLike) -> NDArray[np.int64]:
        """What each price would earn. As private as the bids: for study, not for release."""
        buyers = np.sort(floors(bids, 0, _DEAREST).ravel())
        return self._earned(buyers.size - np.searchsorted(buyers, self.prices))

    def _earned(self, buyers: NDArray[np.int64]) -> NDArray[np.int64]:
        """What each price earns where so many pay it."""
        return self.prices * np.minimum(_DEAREST, buyers)

    def over(self, relation: Relation, column: str, /, *, rng: Entropy = SECURE) -> int:
        """A price, where the bids are a column."""
        grid = grid_of(relation, column)
        rows = Rows.over(relation, column, grid)
        top, bottom = grid.step.numerator, grid.step.denominator
        enough = [min(grid.high + 1, -(-price * bottom // top)) for price in self.prices.tolist()]  # in steps
        below = np.concatenate([[0], np.cumsum(rows.counts)])[np.searchsorted(rows.points, enough)]
        return int(self.prices[self.choice(self._earned(rows.size - below), rng=rng)])

    def pairs(self) -> tuple[Pair[tuple[int, ...]], ...]:
        """A buyer more at the highest price, alone and beside some at the lowest; or a bid raised that far."""
        dearest, others = int(self.prices[-1]), (self.lowest,) * 4
        if isinstance(self.neighbours, AddRemove):
            return (
                Pair((), (dearest,), "the only buyer, who would pay the highest price"),
                Pair(others, (*others, dearest), "one who would pay the highest price, beside some who pay the lowest"),
            )
        return (Pair((*others, 0), (*others, dearest), "who would pay nothing would now pay the highest price"),)

    def __call__(self, bids: ArrayLike, /, *, rng: Entropy = SECURE) -> int:
        """A price, whatever the bids are."""
        return int(self.prices[self.choice(self.revenues(bids), rng=rng)])
