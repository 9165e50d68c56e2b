"""Bounds on false discovery as lines to read: sample splitting first, and beside each number the theorem it has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import inf, nextafter

from discreet.privacy import Guarantee, Pure
from discreet.privacy.loss import Approximate
from discreet.validity.generalisation import (
    after_selection,
    asked_beforehand,
    hoeffding,
    in_expectation,
    largest_p_value,
    max_information,
    on_the_sample,
    splitting,
)
from discreet.validity.planning import adaptive_error, published_error

Line = tuple[str, float, str]  # what it is, how much, rounded against us, and which theorem says so

_NONE = "none for adaptive questions"
_SPLIT = "Hoeffding 1963"


def of_questions(n: int, questions: int, confidence: str) -> Iterator[Line]:
    """How far from the truth so many adaptive shares of n rows may be."""
    plan = adaptive_error(n, questions, confidence)
    yield "error, sample splitting", _above(splitting(n, questions, confidence)), _SPLIT
    yield "error, Gaussian noise on each count", _above(plan.error), "4 (transfer)"
    yield "  deviation, in rows", float(plan.variance) ** 0.5, ""
    yield "  price, ρ of a row replaced", _above(plan.loss.rho), ""
    published = published_error(n, questions, confidence).error
    yield "error, the same as published", _above(published), "Jung et al. 2020"
    yield "error, exact answers from all rows", _above(asked_beforehand(n, questions, confidence)), _NONE


def of_analysis(n: int, promise: Guarantee[Approximate], confidence: str, p_value: str | None) -> Iterator[Line]:
    """What an analysis of n rows with this guarantee can have found that is not there."""
    half = max(1, n // 2)
    yield "error, answered from fresh halves", _above(hoeffding(half, 1, confidence)), _SPLIT
    yield "error on average", _above(in_expectation(promise)), "1, tanh(ε/4) + δ"
    if promise.loss.delta:
        yield "error at this confidence", 1.0, "none for δ > 0; see --questions"
        return
    pure = Guarantee(Pure(promise.loss.epsilon), promise.neighbours)
    yield "error at this confidence", _above(on_the_sample(pure, n, confidence)), "2, with Hoeffding's inequality"
    yield "max-information, bits", _above(max_information(pure, n)), "3, but for 1 %"
    yield "p-value that counts as 0.05", _below(largest_p_value("0.05", pure, n)), "2"
    if p_value is not None:
        yield f"p-value {p_value}, corrected", _above(after_selection(p_value, pure, n)), "2"


def advice(lines: Sequence[Line]) -> str:
    """Whether noise is worth anything, from the lines for so many questions."""
    values = {what.partition(",")[2].strip(): value for what, value, _ in lines if what.startswith("error")}
    split, noisy = values["sample splitting"], values["Gaussian noise on each count"]
    return "split the sample: so few questions need no noise" if split <= noisy else "noise beats splitting the sample"


def _above(x: Fraction) -> float:
    return float(x) if Fraction(float(x)) >= x else nextafter(float(x), inf)


def _below(x: Fraction) -> float:
    return float(x) if Fraction(float(x)) <= x else nextafter(float(x), 0.0)
