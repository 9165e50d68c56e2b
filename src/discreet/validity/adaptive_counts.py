"""A session of counts that state how far they may be from the population, whoever chose the questions, and how."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

from discreet.declared.grid import LIMIT
from discreet.errors import Refusal
from discreet.exact import Number, count, positive, probability, share, shown
from discreet.mechanisms.mechanism import USUAL, Pair, Takes, settle
from discreet.mechanisms.registry import Plain, registered
from discreet.mechanisms.session import Openable, Quota
from discreet.mechanisms.sparse import as_value
from discreet.noise import Entropy, gaussian
from discreet.privacy import AddRemove, Approximate, Concentrated, Neighbours, convert, gaussian_error
from discreet.validity.planning import adaptive_error, stated_error

_FINE = 10**6  # ends are told to so many parts
_DIGITS = 600  # of a number in a state

Said = tuple[int, ...]


@dataclass(frozen=True)
class PopulationCount:
    """A count with noise, and the interval in which the share of the whole population lies."""

    number: int
    low: Fraction
    high: Fraction


@registered("adaptive-counts")
@dataclass(frozen=True)
class AdaptiveCounts(Openable[Said, int, PopulationCount, Concentrated | Approximate]):
    """Answers `questions` counts with Gaussian noise, each asked after the earlier answers, for one price.

    Each comes with an interval for the share in the population that the people were drawn from. With a δ it is charged
    as (ε, δ), for budgets that are kept so.

    Guarantee: if one person adds between 0 and `sensitivity` to each count, Concentrated(rho), or what follows from it
        at `delta`, for everything that a session answers. If there are `people` persons, drawn independently, and
        whoever asks knows nothing of their rows but these answers, all intervals hold together with `confidence`,
        however the questions were chosen.
    Proof: docs/proofs/generalisation.md, "A plan of noise": a person who comes, goes or is replaced moves each of k
        counts by at most Δ, which is kΔ²/2v at a variance v (Canonne, Kamath & Steinke 2020); then Theorem 4.
    Source: Jung, Ligett, Neel, Roth, Sharifi-Malvajerdi & Shenfeld 2020.
    """

    takes: ClassVar[Takes] = Takes.STREAM
    monotone: ClassVar[bool] = True  # no count falls where a person comes

    rho: Fraction
    people: int
    questions: int = 100
    sensitivity: int = 1
    delta: Fraction = Fraction(0)
    confidence: Fraction = USUAL
    neighbours: Neighbours = AddRemove()

    def __post_init__(self) -> None:
        settle(
            self,
            rho=positive(self.rho, "rho"),
            people=count(self.people, "people"),
            questions=count(self.questions, "questions"),
            sensitivity=count(self.sensitivity, "sensitivity"),
            delta=probability(self.delta, "delta"),
            confidence=share(self.confidence, "confidence"),
            neighbours=self.neighbours,
        )
        if self.people * self.sensitivity > LIMIT:
            raise Refusal(f"expected counts < 2^62, got {shown(self.people * self.sensitivity, str)}")
        if self._digits > _DIGITS:
            raise Refusal(f"noise of up to {self._digits} digits is too large for a session", hint="take a larger rho")

    @classmethod
    def planned(cls, people: int, questions: int, confidence: Number = USUAL) -> AdaptiveCounts:
        """The one whose answers are nearest to the population, of counts that one person moves by 1."""
        plan = adaptive_error(people, questions, confidence)
        return cls(plan.loss.rho, people, questions, confidence=plan.confidence)

    @property
    def variance(self) -> Fraction:
        """Of the noise on each count."""
        return Fraction(self.questions * self.sensitivity**2) / (2 * self.rho)

    @cached_property
    def privacy(self) -> Concentrated | Approximate:
        """The whole price, for every answer together."""
        loss = Concentrated(self.rho)
        return convert(loss, Approximate, delta=self.delta) if self.delta else loss

    @property
    def room(self) -> int:
        """Characters of a state, whatever it says."""
        return 128 + self.questions * (self._digits + 4)

    @property
    def _digits(self) -> int:
        return (2**63 + 2**64 * (math.isqrt(int(self.variance)) + 1)).bit_length() // 3 + 2

    def error(self, confidence: Number = USUAL) -> int:
        """α such that, with this probability, every answer of a whole session is within α of its count of the rows."""
        rare = 1 - share(confidence, "confidence")
        return gaussian_error(self.variance, 1 - rare / self.questions)

    @cached_property
    def population_error(self) -> Fraction:
        """How far the shares of all answers may be from those of the population, with `confidence`."""
        ones = self.variance / self.sensitivity**2
        return stated_error(self.people, self.questions, ones, Concentrated(self.rho), self.confidence)

    def start(self, rng: Entropy) -> Said:  # noqa: ARG002  # nothing is drawn before the first question
        """Nothing was said yet."""
        return ()

    def step(self, state: Said, query: int, rng: Entropy) -> Said:
        """One more count, with fresh noise."""
        return (*state, as_value(query) + gaussian(self.variance, rng=rng))

    def answers(self, state: Said) -> tuple[PopulationCount, ...]:
        """All answers, in order."""
        return tuple(map(self._stated, state))

    def _stated(self, number: int) -> PopulationCount:
        middle = min(max(Fraction(number, self.people * self.sensitivity), Fraction(0)), Fraction(1))
        low = math.floor((middle - self.population_error) * _FINE)
        high = math.ceil((middle + self.population_error) * _FINE)
        return PopulationCount(number, Fraction(max(0, low), _FINE), Fraction(min(_FINE, high), _FINE))

    def used(self, state: Said) -> tuple[Quota, ...]:
        """Questions."""
        return (Quota("questions", len(state), self.questions),)

    def encode(self, state: Said) -> Mapping[str, Plain]:
        """As JSON holds it."""
        return {"said": list(state)}

    def decode(self, content: Mapping[str, Any]) -> Said:
        """As it was written."""
        return tuple(int(number) for number in content["said"])

    def told(self, answer: PopulationCount) -> Plain:
        """The number, and both ends of the interval as text, exactly."""
        return {"number": answer.number, "population": [f"{float(end):.6f}" for end in (answer.low, answer.high)]}

    def heard(self, told: Mapping[str, Any]) -> PopulationCount:
        """The answer that was told so."""
        low, high = (Fraction(end) for end in told["population"])
        return PopulationCount(int(told["number"]), low, high)

    def pairs(self) -> tuple[Pair[tuple[int, ...]], ...]:
        """Every count moves as far as one person can move it."""
        few = min(3, self.questions)
        return (Pair((0,) * few, (self.sensitivity,) * few, "every count moves"),)
