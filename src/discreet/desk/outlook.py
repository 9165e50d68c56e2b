"""What a survey would promise and how exact it would be, before anybody is asked. Pure: no answer is looked at."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from discreet.exact import Number, count
from discreet.interval import exp
from discreet.local import OptimizedUnary, Oracle, Response
from discreet.local.client import price
from discreet.local.estimate import reach
from discreet.local.shuffle import DELTA, Promise, Shuffler
from discreet.mechanisms.mechanism import USUAL

_FAR = reach(USUAL)  # standard errors to either side hold the truth 19 times in 20
_SKEWED = (_FAR**2 - 1) / 6 + 1 / 2  # reports by which it may be off beyond that: docs/proofs/unary.md


def fitting(epsilon: Number, choices: int) -> Response | OptimizedUnary:
    """The client with the smaller error: one answer where there are few, a yes or no to each where there are many.

    A report of `Response` has less variance where choices < 3e^ε + 2 (Wang, Blocki, Li & Jha 2017, Section 4).
    """
    known, many = price(epsilon), count(choices, "choices", least=2)
    return Response(known, many) if many < 3 * exp(known).down + 2 else OptimizedUnary(known, many)


def guessed(epsilon: Fraction) -> int:
    """Of 100 cases, in how many at most somebody guesses right which of two equally likely answers a person gave.

    e^ε / (1 + e^ε), rounded up.
    """
    odds = exp(epsilon)
    return math.ceil(100 * (odds / (1 + odds)).up)


@dataclass(frozen=True)
class Outlook:
    """What so many people's reports would tell, and what nobody could tell from one."""

    client: Oracle
    people: int

    def __post_init__(self) -> None:
        count(self.people, "people")

    @property
    def guess(self) -> int:
        """Of 100 cases, in how many at most somebody guesses a person's answer out of two equally likely ones."""
        return guessed(self.client.epsilon)

    @property
    def own(self) -> float:
        """How often a report says a person's own answer."""
        return float(self.client.odds.holder)

    @property
    def other(self) -> float:
        """How often it says a given other one."""
        return float(self.client.odds.other)

    @property
    def error(self) -> float:
        """Percentage points by which a share is off at most, 19 times in 20, whatever the share is."""
        return 100 * (_FAR * _deviation(self.client) / math.sqrt(self.people) + _skewed(self.client) / self.people)

    @property
    def points(self) -> str:
        """The same for people, in tenths and never less."""
        return f"{math.ceil(10 * self.error) / 10:.1f}"

    def crowd(self, minimum: int, dishonest: int = 0) -> Promise:
        """What hiding in the shuffled crowd promises beyond that, if no more people come than the fewest it takes.

        How many will come nobody knows beforehand; nothing is told of fewer.
        """
        return Shuffler(minimum, dishonest).promise(self.client, minimum + dishonest, delta=DELTA)


def enough(client: Oracle, error: Number) -> int:
    """How many people make every share exact to so many percentage points, as `Outlook.error` says it.

    The n with f/√n + s/n = e: its root is (f + √(f² + 4es))/2e.
    """
    part, far, skewed = float(Fraction(str(error))) / 100, _FAR * _deviation(client), _skewed(client)
    return math.ceil(((far + math.sqrt(far**2 + 4 * part * skewed)) / (2 * part)) ** 2)


def _deviation(client: Oracle) -> float:
    """The standard deviation of one report's estimate of a share, at most: its square is a line in the share."""
    return math.sqrt(max(client.odds.variance(Fraction(0)), client.odds.variance(Fraction(1))))


def _skewed(client: Oracle) -> float:
    return _SKEWED / float(client.odds.gap)
