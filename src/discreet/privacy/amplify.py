"""A mechanism that sees only a random part of the units promises more to each of them.

The sample must stay secret and be drawn afresh for every use. Proofs: docs/proofs/subsampling.md.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TypeVar

from discreet.errors import Refusal
from discreet.exact import Number, count, positive
from discreet.interval import exp, simpler_up
from discreet.privacy.loss import Approximate, Pure
from discreet.privacy.neighbours import AddRemove, Guarantee, Replace

P = TypeVar("P", Pure, Approximate)


def poisson(inner: Guarantee[P], rate: Number) -> Guarantee[P]:
    """The promise of a mechanism run on a Poisson sample: each unit is in with probability `rate`, independently.

    Guarantee: `inner` for adding or removing one unit of the sample gives (ln(1 + q(e^ε − 1)), qδ), rounded up, for
        adding or removing one unit of the population.
    Proof: Balle, Barthe & Gaboardi 2018, Theorem 8.
    """
    share = positive(rate, "rate")
    if share > 1:
        raise Refusal(f"expected 0 < rate <= 1, got rate={rate}")
    if not isinstance(inner.neighbours, AddRemove):
        raise Refusal(
            f"Poisson sampling amplifies a promise for adding or removing one unit, got one for {inner.neighbours}",
            hint="the size of a Poisson sample is not public; sample without replacement instead",
        )
    return Guarantee(_amplified(inner.loss, share), inner.neighbours)


def without_replacement(inner: Guarantee[P], sample: int, population: int) -> Guarantee[P]:
    """The promise of a mechanism run on `sample` units, drawn uniformly from the `population` there are.

    Guarantee: `inner` for replacing one unit of the sample gives (ln(1 + q(e^ε − 1)), qδ) with q = sample/population,
        rounded up, for replacing one unit of the population, whose size is public.
    Proof: Balle, Barthe & Gaboardi 2018, Theorem 9.
    """
    size, everyone = count(sample, "sample"), count(population, "population")
    if size > everyone:
        raise Refusal(f"expected sample <= population, got sample={sample}, population={population}")
    if not isinstance(inner.neighbours, Replace):
        raise Refusal(
            f"sampling without replacement amplifies a promise for replacing one unit, got one for {inner.neighbours}",
            hint="turn it into one first: guarantee.under(Replace(unit))",
        )
    return Guarantee(_amplified(inner.loss, Fraction(size, everyone)), inner.neighbours)


def _amplified(loss: P, rate: Fraction) -> P:
    if type(loss) not in (Pure, Approximate):  # whatever the type checker was told
        raise Refusal(
            f"sampling is proven to amplify Pure and Approximate losses, got a {type(loss).__name__}",
            hint="convert it to Approximate first",
        )
    if rate == 1:
        return loss
    if isinstance(loss, Pure):
        return Pure(_epsilon(loss.epsilon, rate))
    return Approximate.capped(_epsilon(loss.epsilon, rate), rate * loss.delta)


def _epsilon(epsilon: Fraction, rate: Fraction) -> Fraction:
    """ln(1 + q(e^ε − 1)), written as ε + ln(q + (1 − q)e^{−ε}), which no ε overflows; never above ε."""
    found = (epsilon + (rate + (1 - rate) * exp(-epsilon)).log()).up
    return simpler_up(min(epsilon, max(found, Fraction(0))))
