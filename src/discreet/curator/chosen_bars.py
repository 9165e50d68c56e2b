"""Tails of a share beyond a bar that noise chose: how rarely it may be told wrong, so that 19 of 20 such shares hold.

A bar is chosen where it stands out of the noise and nothing beyond it does. If what lies beyond looks empty, hardly any
other could have been chosen, and little is paid for the choice. Proof: docs/proofs/intervals.md, "Shares".
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from discreet.curator.ratio_intervals import tails
from discreet.curator.share_intervals import Tails
from discreet.mechanisms.noise_sums import SURE, Additive, reach

RARE = Fraction(1, 1000)  # how often an empty bar may stand out of the noise, all of them together
SEEMS_EMPTY = Fraction(1, 5)  # twice how often one of empty bars seems not to be
_TALL = Fraction(1, 1000)  # how often noise may add more to a bar than is granted
_FAR = Fraction(2, 1000)
_UNSEEN = Fraction(1, 10**12)
_HARDLY = 1e-6  # what is seen less often is added up for all bars
_HEIGHTS, _ROUNDS, _LEAST = 4096, 40, 1e-9


@dataclass(frozen=True)
class Spent:
    """How 1/20 is divided, but for `_TALL`: a share may be told too large, or too small after three kinds of choices.

    Of bounds `several` is for those of which both ends were chosen, of caps for those with visible bars beyond.
    """

    larger: Fraction
    empty: Fraction
    one: Fraction
    several: Fraction


BOUNDS = Spent(*(Fraction(each, 10_000) for each in (165, 195, 80, 50)))
CAPS = Spent(*(Fraction(each, 10_000) for each in (140, 140, 90, 120)))


@lru_cache(maxsize=64)
def standing_out(noise: Additive, bars: int, rare: Fraction = RARE) -> int:
    """What none of so many empty bars exceeds, but with this probability."""
    return noise.error(1 - rare / bars)


def of_bounds(noise: Additive, bars: int, *, sides: int, chosen: int, empty: bool) -> Tails:
    """Of bounds that noise chose on so many sides of 0; so many bars are ends because they stand out.

    All bars beyond seem `empty`, or not all do.
    """
    spent = _divided(noise, bars, BOUNDS, 2)
    told = _empty(noise, bars, spent.empty, 2) if empty and spent.empty else Fraction(0)
    other = _ladder(spent.one if sides == 1 else spent.several, sides)
    return Tails(spent.larger, max(told, other), chosen * _tallest(noise, bars), chosen)


def of_cap(noise: Additive, bars: int, *, outermost: bool, possible: int, empty: bool) -> Tails:
    """Of a cap beyond which no bar is visible, or one is; and if none is, whether all of them seem `empty`.

    So many bars are `possible`: those that could have been the last if noise moved none by more than `farthest`.
    """
    spent = _divided(noise, bars, CAPS, 1)
    if not outermost:
        return Tails.even((spent.several - _FAR) / possible)
    told = _empty(noise, bars, spent.empty, 1) if empty and spent.empty else Fraction(0)
    return Tails(spent.larger, max(told, _ladder(spent.one, 1)), _tallest(noise, bars), 1)


def farthest(noise: Additive, bars: int) -> int:
    """How far noise moves no bar, either way, but with a probability that is in `CAPS.several`."""
    return standing_out(noise, bars, _FAR)


def _divided(noise: Additive, bars: int, spent: Spent, sides: int) -> Spent:
    """As planned; where noise hardly tells bars that are empty from others, nothing is kept for those that seem so."""
    if _empty(noise, bars, spent.empty, sides):
        return spent
    more = spent.empty / 2
    return Spent(spent.larger, Fraction(0), spent.one + more, spent.several + more)


def _tallest(noise: Additive, bars: int) -> int:
    """What noise adds to no bar, but with probability `_TALL`."""
    return standing_out(noise, bars, 2 * _TALL)


@lru_cache(maxsize=8)
def _ladder(rare: Fraction, sides: int) -> Fraction:
    """The largest a with a (1 + L) ≤ rare, L = ln 1/a; of two sides with a (1 + L + L²/2)."""

    def paid(a: float) -> float:
        far = math.log(1 / a)
        return a * (1 + far + (far * far / 2 if sides == 2 else 0))

    return _largest(paid, rare)


@lru_cache(maxsize=64)
def _empty(noise: Additive, bars: int, rare: Fraction, sides: int) -> Fraction:
    """The largest a that all choices together spend no more than `rare` on, where what is beyond seems empty."""
    out, seems = standing_out(noise, bars), standing_out(noise, bars, SEEMS_EMPTY)
    far = reach(noise, _UNSEEN)
    true = np.unique(np.floor(np.linspace(seems - far - 1, out + far + 1, _HEIGHTS)))  # how much is in a bar
    more = true if np.diff(true).max() == 1 else np.append(true[1:], true[-1])  # the end of each piece
    seen = np.minimum(1.0, tails(noise, out + 1 - more) * SURE + float(_UNSEEN))
    hidden = np.minimum(1.0, tails(noise, true - seems) * SURE + float(_UNSEEN))  # by symmetry
    both, often = float((seen * hidden).max()), seen > _HARDLY

    def paid(a: float) -> float:
        far = math.log(1 / a)
        within = often & (hidden >= a)
        with np.errstate(divide="ignore"):
            slopes = seen[within] / -np.log(hidden[within])
        gain = 1 + float(slopes.max(initial=0.0)) * far + bars * _HARDLY
        one = a * gain + both
        return math.inf if both > a else one if sides == 1 else one * gain + both

    return _largest(paid, rare)


def _largest(paid: Callable[[float], float], rare: Fraction) -> Fraction:
    """The largest number that spends no more than this, nearly; 0 if none is found."""
    low, high = math.log(_LEAST), math.log(float(rare))
    if not paid(_LEAST) <= rare:
        good = [x for x in np.linspace(low, high, _HEIGHTS // 16) if paid(math.exp(x)) <= rare]
        return Fraction(math.exp(max(good))) if good else Fraction(0)
    for _ in range(_ROUNDS):
        middle = (low + high) / 2
        low, high = (middle, high) if paid(math.exp(middle)) <= rare else (low, middle)
    return Fraction(math.exp(low))
