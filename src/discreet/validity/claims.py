"""What a session's answers say about the population: an interval for each, which hold all together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb
from typing import TypeAlias

from discreet.exact import ONE, ZERO, Number, share
from discreet.interval_arithmetic import log, pi, simpler_up
from discreet.mechanisms.online_weights import Answered
from discreet.privacy import Guarantee, Pure
from discreet.validity.adaptive_counts import AdaptiveCounts, PopulationCount
from discreet.validity.generalisation import on_the_sample
from discreet.validity.thresholdout import Ladder, Thresholdout


@dataclass(frozen=True)
class Claim:
    """A mean of the population, from 0 to 1: the answer, whether it was hard, and an interval that holds the mean."""

    answer: Fraction
    hard: bool
    low: Fraction
    high: Fraction


Claiming: TypeAlias = Thresholdout | Ladder | AdaptiveCounts


def claims(
    mechanism: Claiming, answers: Sequence[Answered] | Sequence[PopulationCount], confidence: Number = "0.95"
) -> tuple[Claim, ...]:
    """An interval for each question that was answered, however the questions were chosen.

    Guarantee: if the holdout is `people` rows, drawn independently from a population, of which whoever asks knows
        nothing but these answers, and each adds between 0 and `sensitivity` to a count, then with this probability all
        intervals hold, each for the population's mean of the count over `people` times `sensitivity`. Of a ladder's
        question that did not move it, only the upper end says something. Adaptive counts have the confidence that they
        were opened with.
    Proof: docs/proofs/holdout.md, Theorem 2.
    """
    if isinstance(mechanism, AdaptiveCounts):
        return tuple(_stated(mechanism, answer) for answer in answers if isinstance(answer, PopulationCount))
    rare = (1 - share(confidence, "confidence")) / 2  # the noise's half, and the sample's
    easy, hard = (Fraction(each(1 - rare), mechanism.most) for each in (mechanism.easy_error, mechanism.hard_error))
    told, before = [], 0
    by_privacy = _by_privacy(mechanism, rare / 2)
    checked = [answer for answer in answers if isinstance(answer, Answered)]
    for turn, answer in enumerate(checked, start=1):
        drawn = min(by_privacy, by_counting(mechanism.people, turn, before, mechanism.numbers, rare / 2))
        middle, width = Fraction(answer.number, mechanism.most), (hard if answer.hard else easy) + drawn
        low = ZERO if isinstance(mechanism, Ladder) and not answer.hard else max(ZERO, middle - width)
        told.append(Claim(middle, answer.hard, min(low, ONE), min(ONE, max(ZERO, middle + width))))
        before += answer.hard
    return tuple(told)


def _stated(mechanism: AdaptiveCounts, answer: PopulationCount) -> Claim:
    middle = Fraction(answer.number, mechanism.people * mechanism.sensitivity)
    return Claim(min(max(middle, answer.low), answer.high), hard=True, low=answer.low, high=answer.high)


def by_counting(people: int, turn: int, hard: int, numbers: int, failure: Fraction) -> Fraction:
    """How far the mean on the sample may be from the truth, at a turn before which `hard` answers were hard.

    There are C(turn − 1, hard)·numbers^hard ways to get there, and each of them asks one question.
    """
    ways = comb(turn - 1, hard) * numbers**hard
    weight = failure * 36 / ((pi() * pi()) * (pi() * pi()) * (turn * (hard + 1)) ** 2)
    return min(ONE, simpler_up(((log(2 * ways) - weight.log()) / (2 * people)).sqrt().up))


def _by_privacy(mechanism: Thresholdout | Ladder, failure: Fraction) -> Fraction:
    """The same for all questions of a session, by what it loses; nothing is known so where there is a δ."""
    if mechanism.delta:
        return ONE
    promise = Guarantee(Pure(mechanism.epsilon), mechanism.neighbours)
    return on_the_sample(promise, mechanism.people, 1 - failure, mechanism.questions)
