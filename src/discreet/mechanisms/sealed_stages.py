"""Stages of a mechanism that measures one thing after another: each is sealed before the next is chosen.

So a run that was interrupted goes on after the last sealed stage, and nothing is paid or drawn twice. A stage that was
begun and not sealed is forfeited: its price is gone, and the rest of the run has that much less.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from discreet.mechanisms.registry import Plain


@dataclass(frozen=True)
class Stage:
    """What one stage took of the price, and what it told; None where that was lost."""

    price: Fraction
    told: Plain


class Stages(Protocol):
    """Where the stages of one run are sealed."""

    @property
    def earlier(self) -> Sequence[Stage]:
        """Those of this run before it was interrupted, in order."""
        ...

    def begin(self, price: Fraction, left: Fraction) -> None:
        """Before anything is drawn: a stage takes this price, and so much is left for others."""
        ...

    def seal(self, told: Plain) -> None:
        """What it told, before anything is chosen by it."""
        ...

    def hear(self, share: float) -> None:
        """About how much of the work is done, from 0 to 1. It follows from what was sealed."""
        ...


class Unsealed:
    """Stages of a run that is over when its process is."""

    earlier: Sequence[Stage] = ()

    def begin(self, price: Fraction, left: Fraction) -> None:
        """Nothing."""

    def seal(self, told: Plain) -> None:
        """Nothing."""

    def hear(self, share: float) -> None:
        """Nothing."""


UNSEALED = Unsealed()
