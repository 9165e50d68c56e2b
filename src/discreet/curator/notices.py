"""What an asker should know beside the numbers: what a question leaves out, and what in it is hardly meant.

All of it follows from the plan and its price, never from a row.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

from discreet.curator.price import Priced
from discreet.mechanisms import GaussianKeys, LaplaceKeys
from discreet.mechanisms.mechanism import USUAL
from discreet.sql.left_out import left_out
from discreet.sql.rows import scanned
from discreet.sql.unmatched_constants import doubts

COVERED = "Error bars cover the noise. They do not cover what is left out before it."
STAGED = "The number in the condition is noisy itself, so there is no error bar."


def bounding(prices: Sequence[Priced], *, partial: Sequence[str] = (), staged: bool = False) -> str:
    """What the numbers of a question leave out; nothing of a question that measures nothing.

    `partial` is what is to be told of the groups that it aggregates, `staged` that a condition holds a noisy number.
    """
    if not prices:
        return ""
    told = [sentence for price in prices for sentence in left_out(price.part.measurement)]
    covered = STAGED if staged else COVERED
    return " ".join(dict.fromkeys([covered, *hidden_groups(prices), *partial, *told]))


def notices(prices: Sequence[Priced]) -> tuple[str, ...]:
    """What should be known before paying: constants that no declared value meets, groups that will not be shown."""
    doubtful = [sentence for price in prices for sentence in doubts(price.part.measurement)]
    return tuple(dict.fromkeys([*doubtful, *hidden_groups(prices)]))


def hidden_groups(prices: Sequence[Priced]) -> tuple[str, ...]:
    """How many people a group needs to be shown, where groups are not declared."""
    told = []
    for price in prices:
        private = [table for table in scanned(price.part.measurement.rows) if not table.public]
        whom = "rows" if all(table.unit is None for table in private) else "people"
        choosing = [charge.mechanism for charge in price.charges]
        told += [_hidden(each, whom) for each in choosing if isinstance(each, (LaplaceKeys, GaussianKeys))]
    return tuple(dict.fromkeys(told))


@lru_cache(maxsize=256)  # exact tails take milliseconds
def _hidden(mechanism: LaplaceKeys | GaussianKeys, whom: str) -> str:
    half, sure, chance = mechanism.threshold, mechanism.error(USUAL), math.floor(100 * mechanism.chance)
    edge = "" if half == sure else f"one of {half} is shown in {chance} of 100 cases, "
    return (
        f"Groups with fewer than about {half} {whom} are not shown: {edge}one of {sure} in 95 of 100 cases. "
        "Declare keys to see all."
    )
