"""The sparse vector technique: many questions of the kind "is it above?", paid only for the few that are.

Easy answers are free and the whole price is paid at the start, for a stated number of hard ones. Called with a list of
values a mechanism runs a whole session in memory; `open` gives one that is asked question by question and survives a
crash. With `hard=1` it is AboveThreshold.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, TypeAlias

import numpy as np

from discreet.declared.grid import LIMIT
from discreet.errors import Refusal
from discreet.exact import ZERO, Number, count, nonnegative, positive, probability, share, shown, spoken
from discreet.interval_arithmetic import log, simpler_up
from discreet.mechanisms.mechanism import USUAL, Pair, Takes, one_way, settle
from discreet.mechanisms.registry import Plain, registered
from discreet.mechanisms.session import Openable, Quota
from discreet.noise import Entropy, laplace
from discreet.privacy import AddRemove, Approximate, Neighbours, Pure
from discreet.privacy.calibrate import laplace_error

_EASY = 8  # easy questions in a worst pair: the loss of a session approaches its bound as they grow in number
_DIGITS = 600  # of one number in a state: Python turns at least 640 into text, whatever it is configured to


@dataclass(frozen=True)
class Above:
    """A hard answer: the value seems to reach the threshold, or to exceed it; what a tie is, its mechanism says.

    `number` is its own noisy value, if that was paid for.
    """

    number: int | None = None


@dataclass(frozen=True)
class Below:
    """An easy answer, ⊥: the value does not seem to reach the threshold, or not to exceed it."""


Comparison: TypeAlias = Above | Below


@dataclass(frozen=True)
class SparseState:
    """The noisy threshold, which is secret, and the answers given: all are `Below` except those listed as hard."""

    threshold: int = field(repr=False)
    asked: int = 0
    hard: tuple[tuple[int, int | None], ...] = ()

    @property
    def answers(self) -> tuple[Comparison, ...]:
        """All answers, in order."""
        given: list[Comparison] = [Below()] * self.asked
        for place, released in self.hard:
            given[place - 1] = Above(released)
        return tuple(given)

    def followed(self, answer: Comparison, threshold: int) -> SparseState:
        """The state once one more question is answered."""
        turn = self.asked + 1
        hard = (*self.hard, (turn, answer.number)) if isinstance(answer, Above) else self.hard
        return SparseState(threshold, turn, hard)


class _Transcript:
    """What both forms keep, and how they tell it."""

    def answers(self, state: SparseState) -> tuple[Comparison, ...]:
        """All answers, in order."""
        return state.answers

    def encode(self, state: SparseState) -> Mapping[str, Plain]:
        """As JSON holds it."""
        return {"threshold": state.threshold, "asked": state.asked, "hard": [list(each) for each in state.hard]}

    def decode(self, content: Mapping[str, Any]) -> SparseState:
        """As it was written."""
        hard = tuple((int(place), released) for place, released in content["hard"])
        return SparseState(int(content["threshold"]), int(content["asked"]), hard)

    def told(self, answer: Comparison) -> Plain:
        """Whether it is above, and the number if one was paid for."""
        if isinstance(answer, Below):
            return {"above": False}
        return {"above": True} if answer.number is None else {"above": True, "number": answer.number}

    def heard(self, told: Mapping[str, Any]) -> Comparison:
        """The answer that was told so."""
        return Above(told.get("number")) if told["above"] else Below()


@registered("sparse-vector")
@dataclass(frozen=True)
class SparseVector(_Transcript, Openable[SparseState, int, Comparison, Pure]):
    """Says which of many values reach a public threshold, and stops after `hard` of them.

    Guarantee: if each value differs by at most `sensitivity` between neighbours, Pure(epsilon_threshold +
        epsilon_questions + epsilon_numbers) for everything that a session answers, questions chosen one by one. With
        `monotone` the values must also all move the same way between any two neighbours, as counts do when a row is
        added; then the questions' noise is halved. They do not when a row is replaced, so with `Replace` it is refused.
        A value that with its noise is just the noisy threshold is answered `Above`.
    Proof: docs/proofs/sparse.md, Theorem 1.
    Source: Lyu, Su & Li 2017, Algorithms 1 and 7: the noisy threshold is drawn once, and a number, where
        epsilon_numbers > 0 pays for it, has fresh noise of its own.
    """

    takes: ClassVar[Takes] = Takes.STREAM

    epsilon_threshold: Fraction
    epsilon_questions: Fraction
    threshold: int
    hard: int = 1
    sensitivity: int = 1
    epsilon_numbers: Fraction = ZERO
    monotone: bool = False
    questions: int = 1000
    neighbours: Neighbours = AddRemove()

    def __post_init__(self) -> None:
        settle(
            self,
            epsilon_threshold=positive(self.epsilon_threshold, "epsilon_threshold"),
            epsilon_questions=positive(self.epsilon_questions, "epsilon_questions"),
            monotone=one_way(self.monotone, self.neighbours),
            **_read(self),
        )

    @classmethod
    def of(  # noqa: PLR0913  # what the mechanism itself is asked for
        cls,
        epsilon: Number,
        threshold: int,
        hard: int = 1,
        *,
        sensitivity: int = 1,
        numeric: bool = False,
        monotone: bool = False,
        questions: int = 1000,
        neighbours: Neighbours = AddRemove(),
    ) -> SparseVector:
        """The one that loses exactly `epsilon`: a third of it for numbers, if asked; the rest split for least variance.

        The variance of a comparison is least at 1 : (2·hard)^(2/3), at 1 : hard^(2/3) if monotone (Lyu, Su & Li 2017,
        Section 4). Any split is private, so floats may choose it.
        """
        total = positive(epsilon, "epsilon")
        numbers = total / 3 if numeric else ZERO
        odds = Fraction((count(hard, "hard") * (1 if monotone else 2)) ** (2 / 3)).limit_denominator(1000)
        first = (total - numbers) / (1 + odds)
        second = total - numbers - first
        return cls(first, second, threshold, hard, sensitivity, numbers, monotone, questions, neighbours)

    @property
    def privacy(self) -> Pure:
        """The whole price, for every answer together."""
        return Pure(self.epsilon_threshold + self.epsilon_questions + self.epsilon_numbers)

    @property
    def threshold_scale(self) -> Fraction:
        """Of the noise on the threshold."""
        return self.sensitivity / self.epsilon_threshold

    @property
    def question_scale(self) -> Fraction:
        """Of the noise on each value that is compared."""
        return (1 if self.monotone else 2) * self.hard * self.sensitivity / self.epsilon_questions

    @property
    def number_scale(self) -> Fraction | None:
        """Of the fresh noise on a number that is released; None where no number is."""
        return self.hard * self.sensitivity / self.epsilon_numbers if self.epsilon_numbers else None

    @property
    def widest(self) -> Fraction:
        """The largest of these scales."""
        return max(self.threshold_scale, self.question_scale, self.number_scale or ZERO)

    @property
    def room(self) -> int:
        """Characters of a state, whatever it says."""
        return _room(self)

    def used(self, state: SparseState) -> tuple[Quota, ...]:
        """Hard answers, and questions."""
        return _used(self, state)

    def error(self, confidence: Number = USUAL) -> int:
        """α such that, with this probability, all answers of a session together are right within α.

        Right means: a value answered `Above` is at least threshold − α, one answered `Below` at most threshold + α, and
        a released number is within α of its value, that being the whole number which a value counts as. Data-free;
        docs/proofs/sparse.md, Theorem 3.
        """
        return _error(self, 1, confidence)

    def pairs(self) -> tuple[Pair[tuple[int, ...]], ...]:
        """Easy questions rise by the sensitivity, hard ones fall by it, or stay where values may only move one way."""
        return (_pair(self, 0 if self.monotone else self.sensitivity),)

    def start(self, rng: Entropy) -> SparseState:
        """The noisy threshold, drawn once."""
        return SparseState(self.threshold + laplace(self.threshold_scale, rng=rng))

    def step(self, state: SparseState, value: int, rng: Entropy) -> SparseState:
        """Compare with fresh noise, and with yet other noise release the number."""
        true = as_value(value)
        if true + laplace(self.question_scale, rng=rng) < state.threshold:
            return state.followed(Below(), state.threshold)
        return state.followed(Above(_number(true, self.number_scale, rng)), state.threshold)


@registered("sparse-vector-refreshed")
@dataclass(frozen=True)
class RefreshedSparseVector(_Transcript, Openable[SparseState, int, Comparison, Approximate]):
    """The lecture's form: the noisy threshold is drawn anew after each hard answer, and δ > 0 buys smaller noise.

    Guarantee: if each value differs by at most `sensitivity` between neighbours, Approximate(epsilon + epsilon_numbers,
        delta), questions chosen one by one. For delta > 0 it needs epsilon ≤ 8 ln(1/delta), and refuses otherwise.
        A value that with its noise is just the noisy threshold is answered `Below`, as the lecture has it.
    Proof: docs/proofs/sparse.md, Theorem 2.
    Source: Dwork & Roth 2014, Algorithm 2: noise of scale θ on the threshold and 2θ on each value, θ = 2c/ε, or
        √(32 c ln(1/δ))/ε with the root that the lecture lost, times the sensitivity.
    """

    takes: ClassVar[Takes] = Takes.STREAM

    epsilon: Fraction
    threshold: int
    hard: int = 1
    delta: Fraction = ZERO
    sensitivity: int = 1
    epsilon_numbers: Fraction = ZERO
    questions: int = 1000
    neighbours: Neighbours = AddRemove()

    def __post_init__(self) -> None:
        settle(
            self,
            epsilon=positive(self.epsilon, "epsilon"),
            delta=probability(self.delta, "delta"),
            **_read(self),
        )
        if self.delta and self.epsilon > 8 * log(1 / self.delta).down:
            raise Refusal(
                f"for delta={spoken(self.delta)} the proof ends at epsilon = 8 ln(1/delta), got {spoken(self.epsilon)}",
                hint="take delta=0, or a smaller epsilon or delta",
            )

    @property
    def privacy(self) -> Approximate:
        """The whole price, for every answer together."""
        return Approximate(self.epsilon + self.epsilon_numbers, self.delta)

    @cached_property
    def threshold_scale(self) -> Fraction:
        """θ, rounded up."""
        if not self.delta:
            return 2 * self.hard * self.sensitivity / self.epsilon
        root = (32 * self.hard * log(1 / self.delta)).sqrt()
        return simpler_up((self.sensitivity * root / self.epsilon).up)

    @property
    def question_scale(self) -> Fraction:
        """2θ."""
        return 2 * self.threshold_scale

    @property
    def number_scale(self) -> Fraction | None:
        """Of the fresh noise on a number that is released; None where no number is."""
        return self.hard * self.sensitivity / self.epsilon_numbers if self.epsilon_numbers else None

    @property
    def widest(self) -> Fraction:
        """The largest of these scales."""
        return max(self.question_scale, self.number_scale or ZERO)

    @property
    def room(self) -> int:
        """Characters of a state, whatever it says."""
        return _room(self)

    def used(self, state: SparseState) -> tuple[Quota, ...]:
        """Hard answers, and questions."""
        return _used(self, state)

    def error(self, confidence: Number = USUAL) -> int:
        """α such that, with this probability, all answers of a session together are right within α, as there."""
        return _error(self, self.hard, confidence)

    def pairs(self) -> tuple[Pair[tuple[int, ...]], ...]:
        """Easy questions rise by the sensitivity, hard ones fall by it."""
        return (_pair(self, self.sensitivity),)

    def start(self, rng: Entropy) -> SparseState:
        """The first noisy threshold."""
        return SparseState(self.threshold + laplace(self.threshold_scale, rng=rng))

    def step(self, state: SparseState, value: int, rng: Entropy) -> SparseState:
        """Compare with fresh noise; after a hard answer, draw the threshold anew."""
        true = as_value(value)
        if true + laplace(self.question_scale, rng=rng) <= state.threshold:
            return state.followed(Below(), state.threshold)
        answer = Above(_number(true, self.number_scale, rng))
        return state.followed(answer, self.threshold + laplace(self.threshold_scale, rng=rng))


def _read(mechanism: SparseVector | RefreshedSparseVector) -> dict[str, object]:
    threshold = count(mechanism.threshold, "threshold", least=-LIMIT)
    if threshold > LIMIT:
        raise Refusal(f"expected threshold < 2^62, got threshold={shown(threshold, str)}")
    return {
        "threshold": threshold,
        "hard": count(mechanism.hard, "hard"),
        "sensitivity": count(mechanism.sensitivity, "sensitivity"),
        "questions": count(mechanism.questions, "questions"),
        "epsilon_numbers": nonnegative(mechanism.epsilon_numbers, "epsilon_numbers"),
        "neighbours": mechanism.neighbours,
    }


def as_value(value: object) -> int:
    """Any value has an image: the whole number at or below it, within ±LIMIT, and 0 for what is no number, as NaN.

    Rounding down and clamping bring no two numbers further apart than a whole sensitivity, and no value raises, because
    that would be an answer. Where a value can be no number on one data set, the sensitivity must count it as 0. Moments
    and durations are none, in whatever unit: numpy has those in nanoseconds as whole numbers.
    """
    given = value
    if isinstance(value, (np.generic, np.ndarray)) and value.size == 1:
        given = None if value.dtype.kind in "mM" or np.ma.is_masked(value) else value.item()
    if isinstance(given, np.timedelta64):  # out of an array of objects; numpy has it among its integers
        return 0
    if isinstance(given, numbers.Integral):
        return min(max(int(given), -LIMIT), LIMIT)
    if not isinstance(given, (float, Fraction, Decimal, np.floating)):
        return 0
    try:
        if not -LIMIT < given < LIMIT:  # first, because the digits of Decimal("1e999999") would fill the memory
            return LIMIT if given >= LIMIT else -LIMIT if given <= -LIMIT else 0
        return int(np.floor(given)) if isinstance(given, np.floating) else math.floor(given)
    except ArithmeticError:  # a Decimal that is no number cannot be compared
        return 0


def _number(true: int, scale: Fraction | None, rng: Entropy) -> int | None:
    return None if scale is None else true + laplace(scale, rng=rng)


def _used(mechanism: SparseVector | RefreshedSparseVector, state: SparseState) -> tuple[Quota, ...]:
    hard = Quota("hard answers", len(state.hard), mechanism.hard)
    return hard, Quota("questions", state.asked, mechanism.questions)


def _room(mechanism: SparseVector | RefreshedSparseVector) -> int:
    """Noise of 2^64 scales is met with probability e^−2^64."""
    digits, place = _decimals(2**63 + 2**64 * (int(mechanism.widest) + 1)) + 1, _decimals(mechanism.questions)
    if digits > _DIGITS:
        raise Refusal(f"noise of up to {digits} digits is too large for a session", hint="take larger epsilons")
    return 128 + 64 + place + digits + mechanism.hard * (place + digits + 8)


def _decimals(number: int) -> int:
    """At least as many digits as a number > 0 has: three bits are less than one."""
    return number.bit_length() // 3 + 1


def _error(mechanism: SparseVector | RefreshedSparseVector, thresholds: int, confidence: Number) -> int:
    """A union bound over every draw of a session, its failure probability shared evenly between the kinds of draw."""
    numbers = mechanism.number_scale
    rare = (1 - share(confidence, "confidence")) / (2 if numbers is None else 3)
    compared = laplace_error(mechanism.threshold_scale, 1 - rare / thresholds)
    compared += laplace_error(mechanism.question_scale, 1 - rare / mechanism.questions)
    return compared if numbers is None else max(compared, laplace_error(numbers, 1 - rare / mechanism.hard))


def _pair(mechanism: SparseVector | RefreshedSparseVector, fall: int) -> Pair[tuple[int, ...]]:
    hard = min(mechanism.hard, mechanism.questions)
    easy = min(_EASY, mechanism.questions - hard)
    low, high = mechanism.threshold, mechanism.threshold + mechanism.sensitivity
    left = (low,) * easy + (low + fall,) * hard
    right = (high,) * easy + (low,) * hard
    return Pair(left, right, f"{easy} easy questions rise together, {hard} hard ones {'fall' if fall else 'stay'}")
