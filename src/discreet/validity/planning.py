"""Plan of many adaptive questions: the noise with which so many answers are nearest to the truth, by a theorem."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import exp, log, log1p, sqrt

from scipy import optimize

from discreet.exact import ONE, Number, count, share
from discreet.interval_arithmetic import Interval, simpler_up
from discreet.interval_arithmetic import log as exactly_log
from discreet.privacy import Concentrated, Guarantee, Replace
from discreet.validity.generalisation import Accuracy, Slack, published, quarter, transferred

_SHORT = 10**15  # denominators of what a search found
_FAR = 8.0  # an ε from which on nothing is promised


@dataclass(frozen=True)
class Plan:
    """Discrete Gaussian noise on each of k adaptive counts of n rows, and how far the shares may be from the truth.

    Guarantee: with probability `confidence` all answers, divided by n and brought between 0 and 1, are within `error`
        of the means of the population.
    Proof: docs/proofs/generalisation.md, "A plan of noise".
    """

    n: int
    questions: int
    confidence: Fraction
    variance: Fraction  # of the noise on a count
    loss: Concentrated  # of all answers together, for replacing one row
    error: Fraction


@dataclass(frozen=True)
class _Choice:
    """Noise on a share, the two slacks of the theorem, and which part of the failure is the noise's."""

    deviation: Fraction
    sample: Fraction
    posterior: Fraction
    part: Fraction

    def failure(self, rare: Fraction) -> Fraction:
        """Of the accuracy beside the sample."""
        return rare * self.part * self.sample

    def slack(self, rare: Fraction) -> Slack:
        """Of the theorem."""
        return Slack(self.sample, rare * (1 - self.part) * self.posterior, self.posterior)


def adaptive_error(n: int, questions: int, confidence: Number = "0.95") -> Plan:
    """The plan of the smallest error that a search finds; what it says is proven, whatever the search does."""
    return _planned(n, questions, confidence, quarter)


def published_error(n: int, questions: int, confidence: Number = "0.95") -> Plan:
    """The same by the theorem as it was published, with e^ε − 1 where ours has tanh(ε/4) (Jung et al. 2020)."""
    return _planned(n, questions, confidence, published)


def _planned(n: int, questions: int, confidence: Number, moved: Callable[[Fraction], Interval]) -> Plan:
    rows, asked, sure = count(n, "n"), count(questions, "questions"), share(confidence, "confidence")
    chosen = _search(rows, asked, float(1 - sure), moved)
    variance = (chosen.deviation * rows) ** 2
    loss = Concentrated(asked / (2 * variance))
    failure = chosen.failure(1 - sure)
    noise = simpler_up(((2 * variance * exactly_log(2 * asked / failure)).sqrt() / rows).up)  # subgaussian tails
    proven = transferred(Accuracy(noise, failure), Guarantee(loss, Replace()), chosen.slack(1 - sure), moved)
    return Plan(rows, asked, sure, variance, loss, proven.error if proven.failure <= 1 - sure else ONE)


def stated_error(
    n: int, questions: int, variance: Fraction, loss: Concentrated, confidence: Number = "0.95"
) -> Fraction:
    """The same for noise that somebody chose: k shares of n rows with noise of this variance on each count.

    `loss` is of all answers together, for replacing a row.
    """
    rare = 1 - share(confidence, "confidence")
    chosen = _search(n, questions, float(rare), quarter, (float(variance) ** 0.5 / n, float(loss.rho)))
    failure = chosen.failure(rare)
    noise = simpler_up(((2 * variance * exactly_log(2 * questions / failure)).sqrt() / n).up)
    proven = transferred(Accuracy(noise, failure), Guarantee(loss, Replace()), chosen.slack(rare))
    return proven.error if proven.failure <= rare else ONE


def _search(
    n: int,
    questions: int,
    rare: float,
    moved: Callable[[Fraction], Interval],
    known: tuple[float, float] | None = None,
) -> _Choice:
    """What makes the error small; `known` are a deviation and a ρ that were chosen before."""

    def error(point: list[float]) -> float:
        deviation, sample, posterior, part = _real(point)
        rho = questions / (2 * (n * deviation) ** 2)
        if known is not None:
            deviation, rho = known
        epsilon = min(_FAR, _epsilon(rho, -log(rare * (1 - part) * posterior)))
        noise = deviation * sqrt(2 * log(2 * questions / (rare * part * sample)))
        return noise + float(moved(Fraction(epsilon)).high) + sample + 2 * posterior

    start = [0.25 * log(questions) - 0.5 * log(n), -log(n), -log(n), 0.0]
    found = optimize.minimize(error, start, method="Nelder-Mead", options={"maxiter": 2000}).x
    return _Choice(*(max(Fraction(each).limit_denominator(_SHORT), Fraction(1, _SHORT)) for each in _real(list(found))))


def _epsilon(rho: float, surprise: float) -> float:
    """About the ε of ρ at δ = e^−surprise (Canonne, Kamath & Steinke 2020), at the best of a few orders."""
    orders = [1 + part * sqrt(surprise / rho) for part in (0.8, 0.9, 0.95, 1.0)]
    return min(a * rho + (surprise + (a - 1) * log1p(-1 / a) - log(a)) / (a - 1) for a in orders)


def _real(point: list[float]) -> list[float]:
    """Any four numbers as a choice."""
    lengths = [exp(min(max(each, -30.0), 0.0)) for each in point[:3]]
    return [*lengths, 1 / (1 + exp(-min(max(point[3], -5.0), 5.0)))]
