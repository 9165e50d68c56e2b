"""Theorems by which what a private analysis finds on a sample is true of the population it was drawn from.

Rows are drawn independently from one population; a statistic is the mean of a function of a row with values from 0 to
1. Losses are for replacing one row. Each number is rounded against us. Proofs: docs/proofs/generalisation.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.exact import ONE, ZERO, Number, count, nonnegative, positive, probability, share
from discreet.interval_arithmetic import Interval, exp, log, simpler_down, simpler_up
from discreet.mechanisms.mechanism import settle
from discreet.privacy import Guarantee, Replace, convert, winning
from discreet.privacy.loss import Approximate, Pure


@dataclass(frozen=True)
class Accuracy:
    """All answers are within `error`, but for a probability of `failure`."""

    error: Fraction
    failure: Fraction

    def __post_init__(self) -> None:
        settle(self, error=nonnegative(self.error, "error"), failure=nonnegative(self.failure, "failure"))


@dataclass(frozen=True)
class Slack:
    """What the theorem of transfer leaves to choose: c, and for δ > 0 also δ and d."""

    sample: Fraction
    delta: Fraction = ZERO
    posterior: Fraction = ZERO

    def __post_init__(self) -> None:
        delta = probability(self.delta, "delta")
        far = positive(self.posterior, "posterior") if delta else nonnegative(self.posterior, "posterior")
        settle(self, sample=positive(self.sample, "sample"), delta=delta, posterior=far)


def in_expectation(promise: Guarantee[Any]) -> Fraction:
    """How far the mean on the sample is on average above or below the truth, for a statistic that the analysis chose.

    Guarantee: |E q(S) − E q(P)| ≤ tanh(ε/4) + δ ≤ ε/4 + δ for each (ε, δ) of the promise, and ≤ δ at ε = 0.
    Proof: docs/proofs/generalisation.md, Theorem 1. No smaller number holds for all ε-private analyses.
    """
    loss = _replaced(promise).loss
    apart = 2 * winning(loss) - 1
    if isinstance(loss, (Pure, Approximate)):
        told = convert(loss, Approximate)
        apart = min(apart, (quarter(told.epsilon) + told.delta).up)
    return min(ONE, simpler_up(apart))


def on_the_sample(promise: Guarantee[Pure], n: int, confidence: Number = "0.95", statistics: int = 1) -> Fraction:
    """How far means on the sample may be from the truth, for so many statistics that an ε-private analysis chose.

    Guarantee: with this probability all of them are within this of the truth.
    Proof: docs/proofs/generalisation.md, Theorem 2, with Hoeffding's inequality.
    """
    g = _root(promise, n)
    rare = (1 - share(confidence, "confidence")) / count(statistics, "statistics")
    u = (g + (g * g + 4 * log(1 / rare)).sqrt()) / 2
    return min(ONE, simpler_up(((u * u + log(2)) / (2 * n)).sqrt().up))


def after_selection(p_value: Number, promise: Guarantee[Pure], n: int) -> Fraction:
    """The p-value of a test of the n rows, when an ε-private analysis of the same rows chose what is tested.

    Guarantee: if the test was valid for any choice made beforehand, this is a valid p-value.
    Proof: docs/proofs/generalisation.md, Theorem 2: e^(−L + g√L) with L = ln(1/p) and g = ε√(n/2).
    """
    p = nonnegative(p_value, "p_value")
    if p >= 1:
        return ONE
    if p == 0:
        return ZERO
    surprise = log(1 / p)
    root = surprise.sqrt()
    g = _root(promise, n)
    if root.low < g.high:
        return ONE
    return min(ONE, simpler_up((root * (g - root)).exp().up))


def largest_p_value(level: Number, promise: Guarantee[Pure], n: int) -> Fraction:
    """What a p-value must not exceed, so that `after_selection` of it is at most `level`; rounded down."""
    g = _root(promise, n)
    u = (g + (g * g + 4 * log(1 / share(level, "level"))).sqrt()) / 2
    return simpler_down((-(u * u)).exp().down)


def max_information(promise: Guarantee[Pure], n: int, beta: Number = "0.01") -> Fraction:
    """Approximate max-information between n independent rows and what an ε-private analysis says of them, in bits.

    Guarantee: but for a probability of `beta`, what was said is at most 2^bits times as likely with these rows as
        with fresh ones.
    Proof: docs/proofs/generalisation.md, Theorem 3: ε²n/4 + √((ε²n/4)² + ε²n ln(1/β)/2) nats, and never above εn.
    """
    half = _epsilon(promise) ** 2 * count(n, "n") / 4
    nats = half + (half**2 + 2 * half * log(1 / share(beta, "beta"))).sqrt()
    most = _epsilon(promise) * n
    return simpler_up((min(nats, Interval.of(most), key=lambda each: each.high) / log(2)).up)


def quarter(epsilon: Fraction) -> Interval:
    """tanh(ε/4): how far an ε-private answer moves what one expects of a row's value from 0 to 1."""
    odds = exp(-epsilon / 2)
    return (1 - odds) / (1 + odds)


def published(epsilon: Fraction) -> Interval:
    """e^ε − 1: what Jung et al. 2020 have in the place of tanh(ε/4)."""
    return exp(min(epsilon, ONE)) - 1  # above 1 it promises nothing


def transferred(
    beside_the_sample: Accuracy, promise: Guarantee[Any], slack: Slack, moved: Callable[[Fraction], Interval] = quarter
) -> Accuracy:
    """How near the truth answers are that are near the means on the sample, whoever chose the questions, and however.

    Guarantee: if all answers, each from 0 to 1, are within α of the means on the sample with probability 1 − β, and the
        analysis is (ε, δ)-private, then with probability 1 − β/c − δ/d all are within α + tanh(ε/4) + c + 2d of the
        truth.
    Proof: docs/proofs/generalisation.md, Theorem 4, after Jung, Ligett, Neel, Roth, Sharifi-Malvajerdi & Shenfeld 2020,
        who have e^ε − 1 where we have a quarter of it; `moved=published` is theirs.
    """
    loss = convert(_replaced(promise).loss, Approximate, delta=slack.delta)
    failure = beside_the_sample.failure / slack.sample
    if slack.delta:
        failure += slack.delta / slack.posterior
    apart = moved(loss.epsilon)
    error = simpler_up((beside_the_sample.error + apart + slack.sample + 2 * slack.posterior).up)
    return Accuracy(min(ONE, error), min(ONE, failure))


def splitting(n: int, questions: int, confidence: Number = "0.95") -> Fraction:
    """The baseline: each question is answered exactly, from rows of its own, ⌊n/k⌋ of them, and sees no others.

    Guarantee: with this probability all answers are within this of the truth, however the questions were chosen.
    Proof: given what was asked before, its rows are fresh; Hoeffding's inequality, and a union bound.
    """
    rows = count(n, "n") // count(questions, "questions")
    return hoeffding(rows, questions, confidence) if rows else ONE


def asked_beforehand(n: int, questions: int, confidence: Number = "0.95") -> Fraction:
    """What exact answers from all rows are off by where nobody chose a question after seeing an answer.

    Guarantee: as `splitting`, for questions that were fixed before. For others this number has no theorem.
    Proof: Hoeffding's inequality, and a union bound.
    """
    return hoeffding(count(n, "n"), count(questions, "questions"), confidence)


def hoeffding(rows: int, statistics: int, confidence: Number) -> Fraction:
    """√(ln(2k/β)/2n): how far so many means of so many rows each may be from the truth (Hoeffding 1963)."""
    rare = 1 - share(confidence, "confidence")
    return min(ONE, simpler_up((log(2 * statistics / rare) / (2 * rows)).sqrt().up))


def _replaced(promise: Guarantee[Any]) -> Guarantee[Any]:
    """The promise for replacing a row: generalisation is about fresh rows in the place of others."""
    return promise.under(Replace(promise.neighbours.unit))


def _epsilon(promise: Guarantee[Pure]) -> Fraction:
    return convert(_replaced(promise).loss, Pure).epsilon


def _root(promise: Guarantee[Pure], n: int) -> Interval:
    """g = ε√(n/2)."""
    return (Interval.of(_epsilon(promise) ** 2 * count(n, "n") / 2)).sqrt()
