"""Subsampling against every sample there is."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import Refusal
from discreet.privacy.amplify import poisson, without_replacement
from discreet.privacy.loss import AddRemove, Approximate, Concentrated, Guarantee, Pure, Replace
from discreet.privacy.profile import Profile
from discreet.privacy.renyi import Renyi

ADD, SWAP = AddRemove("person"), Replace("person")
EPSILONS = st.fractions(min_value=Fraction(1, 100), max_value=6, max_denominator=100)
RATES = st.fractions(min_value=Fraction(1, 100), max_value=1, max_denominator=100)
Law = dict[str, float]


def worst(answer: str, epsilon: float, delta: float) -> Law:
    """The worst (ε, δ)-private answer to a yes-or-no question."""
    truth = (1 - delta) / (1 + math.exp(-epsilon))
    law = {"sure": delta, "likely": truth, "unlikely": 1 - delta - truth, "never": 0.0}
    swapped = {"sure": "never", "likely": "unlikely", "unlikely": "likely", "never": "sure"}
    return law if answer == "yes" else {name: law[swapped[name]] for name in law}


def mixed(laws: list[tuple[float, Law]]) -> Law:
    return {name: sum(weight * law[name] for weight, law in laws) for name in laws[0][1]}


def delta_between(p: Law, q: Law, epsilon: float) -> float:
    return sum(max(0.0, p[name] - math.exp(epsilon) * q[name]) for name in p)


@pytest.mark.parametrize(
    ("epsilon", "delta", "rate"), [("1", "0", "0.1"), ("0.3", "0.02", "0.5"), ("3", "0.1", "0.25")]
)
def test_poisson_covers_the_worst_mechanism_and_is_tight(epsilon: str, delta: str, rate: str) -> None:
    """Asks a sample whether it holds one person: with her she is in with probability `rate`, without never."""
    eps, own, q = float(epsilon), float(delta), float(rate)
    found = poisson(Guarantee(Approximate(epsilon, delta), ADD), rate)
    assert found.neighbours == ADD
    with_her = mixed([(q, worst("yes", eps, own)), (1 - q, worst("no", eps, own))])
    without = worst("no", eps, own)
    there = delta_between(with_her, without, float(found.loss.epsilon))
    back = delta_between(without, with_her, float(found.loss.epsilon))
    assert max(there, back) == pytest.approx(float(found.loss.delta), abs=1e-12)
    assert found.loss.delta == Fraction(rate) * Fraction(delta)
    assert delta_between(with_her, without, float(found.loss.epsilon) * 0.999) > float(found.loss.delta) + 1e-6


@pytest.mark.parametrize(("sample", "population"), [(1, 2), (2, 3), (2, 5), (3, 3)])
def test_without_replacement_covers_the_worst_mechanism_and_is_tight(sample: int, population: int) -> None:
    eps, own = 1.2, 0.03
    found = without_replacement(Guarantee(Approximate("1.2", "0.03"), SWAP), sample, population)
    laws: dict[bool, Law] = {}
    for hers in (True, False):  # her value changes; everybody else's is False
        samples = list(itertools.combinations(range(population), sample))
        laws[hers] = mixed(
            [(1 / len(samples), worst("yes" if hers and 0 in chosen else "no", eps, own)) for chosen in samples]
        )
    there = delta_between(laws[True], laws[False], float(found.loss.epsilon))
    back = delta_between(laws[False], laws[True], float(found.loss.epsilon))
    assert max(there, back) == pytest.approx(float(found.loss.delta), abs=1e-12)
    assert delta_between(laws[True], laws[False], float(found.loss.epsilon) * 0.999) > float(found.loss.delta) + 1e-6


@given(EPSILONS, RATES)
def test_the_price_is_the_formula_rounded_up_and_never_more_than_before(epsilon: Fraction, rate: Fraction) -> None:
    loss = poisson(Guarantee(Pure(epsilon), ADD), rate).loss
    exact = math.log1p(float(rate) * math.expm1(float(epsilon)))
    assert isinstance(loss, Pure)
    assert float(loss.epsilon) == pytest.approx(exact, rel=1e-12)
    assert loss <= Pure(epsilon)
    assert without_replacement(Guarantee(Pure(epsilon), SWAP), rate.numerator, rate.denominator).loss == loss


@given(EPSILONS, RATES, RATES)
def test_a_smaller_sample_promises_more(epsilon: Fraction, a: Fraction, b: Fraction) -> None:
    low, high = sorted((a, b))
    inner = Guarantee(Approximate(epsilon, "0.01"), ADD)
    assert poisson(inner, low).loss <= poisson(inner, high).loss


def test_everyone_is_no_sample() -> None:
    inner = Guarantee(Pure("0.7"), ADD)
    assert poisson(inner, 1) == inner


def test_a_huge_epsilon_is_no_reason_to_fail() -> None:
    found = float(poisson(Guarantee(Pure(10**6), ADD), "0.5").loss.epsilon)
    assert found == pytest.approx(10**6 - math.log(2), rel=1e-12)


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: poisson(Guarantee(Pure(1), SWAP), "0.1"), "adding or removing"),
        (lambda: without_replacement(Guarantee(Pure(1), ADD), 1, 10), "replacing one unit"),
        (lambda: poisson(Guarantee(Pure(1), ADD), "1.5"), "rate=1.5"),
        (lambda: poisson(Guarantee(Pure(1), ADD), 0), "rate=0"),
        (lambda: poisson(Guarantee(Pure(1), ADD), "nan"), "nan"),
        (lambda: without_replacement(Guarantee(Pure(1), SWAP), 11, 10), "sample=11, population=10"),
        (lambda: without_replacement(Guarantee(Pure(1), SWAP), 0, 10), "sample=0"),
    ],
)
def test_nonsense_is_refused_by_name(build: Callable[[], object], words: str) -> None:
    with pytest.raises(Refusal, match=words):
        build()


def test_an_add_remove_promise_can_be_turned_and_then_sampled() -> None:
    turned = Guarantee(Pure("0.5"), ADD).under(SWAP)
    assert float(without_replacement(turned, 1, 100).loss.epsilon) == pytest.approx(math.log1p(0.01 * math.expm1(1)))


@pytest.mark.parametrize("loss", [Concentrated(1), Renyi.gaussian(1), Profile.gaussian(1)], ids=str)
def test_other_measures_are_refused_when_the_program_runs(loss: Any) -> None:  # noqa: ANN401
    for rate in ("0.1", 1):
        with pytest.raises(Refusal, match=f"got a {type(loss).__name__}"):
            poisson(Guarantee(loss, ADD), rate)
    with pytest.raises(Refusal, match=f"got a {type(loss).__name__}"):
        without_replacement(Guarantee(loss, SWAP), 1, 10)
