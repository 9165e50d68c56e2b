"""Attacks by subtraction and patience: two answers that differ in one person, one question asked many times, no end.

Threat model of all of them: somebody who may ask, knows who stands where on a public list, and sees answers only.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from statistics import fmean, pstdev
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Ground, OverBudget, Refusal

Q = TypeVar("Q", bound=Hashable)


def difference(ask: Callable[[Q], float], larger: Q, smaller: Q) -> float:
    """What one person adds, by two questions of which only the larger one covers them: Q(5) − Q(4).

    Threat model: the attacker knows that the two sets differ in one person. Exact answers give the person's value;
    with noise on both, the difference has twice the variance of an answer.
    """
    return ask(larger) - ask(smaller)


def everyone_but(ask: Callable[[frozenset[Q]], float], everyone: Iterable[Q], host: Q) -> float:
    """The host's value: the total of all, less the total of everyone but the host.

    Threat model: the attacker may choose whom a question is about; each question is about nearly everybody, so a rule
    that refuses small sets refuses neither.
    """
    whole = frozenset(everyone)
    if host not in whole:
        raise Refusal(f"expected {host!r} among those who are asked about", ground=Ground.VALUE)
    return difference(ask, whole, whole - {host})


def partial_sums(ask: Callable[[int], float], people: int) -> NDArray[np.int64]:
    """Everybody's bit, by Q(1) − Q(0), Q(2) − Q(1) and so on: `ask(k)` tells the total of the first k on the list.

    Threat model: the list and its order are public. `people` questions; Q(0) is 0 and is not asked.
    """
    if people < 1:
        raise Refusal(f"expected people >= 1, got people={people}", ground=Ground.VALUE)
    totals = [0.0, *(ask(k) for k in range(1, people + 1))]
    return np.asarray(np.diff(totals) > 0.5, dtype=np.int64)


@dataclass(frozen=True)
class Average:
    """What asking again gives: the mean of the answers, how far they lie apart, and how many differ."""

    mean: float
    deviation: float
    answers: int
    different: int

    def __str__(self) -> str:
        gained = (
            "they are all the same, so asking again gave nothing"
            if self.different == 1
            else f"± {self.deviation / self.answers**0.5:.2g}, one standard error"
        )
        return f"{self.answers} answers, mean {self.mean:.6g}: {gained}"


def averaged(ask: Callable[[], float], times: int) -> Average:
    """The same question `times` times, to average the noise away: √times times smaller, if each draw is fresh.

    Threat model: answers are free, or paid from a budget that does not notice. A curator that charges every fresh draw
    ends this by `OverBudget`, and one that repeats its answer gives one draw; what came before the end is averaged.
    """
    if times < 1:
        raise Refusal(f"expected times >= 1, got times={times}", ground=Ground.VALUE)
    answers = []
    for _ in range(times):
        try:
            answers.append(ask())
        except OverBudget:
            break
    if not answers:
        raise OverBudget("not one answer could be had", hint="the budget is spent")
    return Average(fmean(answers), pstdev(answers), len(answers), len(set(answers)))


def exhausted(ask: Callable[[int], float], most: int) -> list[float]:
    """All the answers that can be had: ask question 0, 1, 2 … until the budget refuses, or `most` were answered.

    Threat model: an analyst who wants everything and pays with a budget that is not theirs. What they can learn is what
    the whole budget allows; nobody else can ask afterwards, which is what allowances for each analyst are for.
    """
    answers: list[float] = []
    for number in range(most):
        try:
            answers.append(ask(number))
        except OverBudget:
            break
    return answers
