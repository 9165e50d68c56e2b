"""Finite mechanisms, worked out: exact identities, known closed forms, and the laws every divergence obeys."""

from __future__ import annotations

import doctest
import math
from fractions import Fraction
from itertools import pairwise

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import Refusal
from discreet.interval_arithmetic import Interval
from discreet.privacy import divergence
from discreet.privacy.divergence import (
    Channel,
    delta_at,
    hockey_stick,
    kl,
    law,
    max_divergence,
    max_ratio,
    privacy_loss,
    renyi_divergence,
)

CLASSROOM = Channel({"yes": {"yes": "0.75", "no": "0.25"}, "no": {"yes": "0.25", "no": "0.75"}})
PAIR = [("yes", "no")]


def laws(outputs: int) -> st.SearchStrategy[dict[int, Fraction]]:
    weights = st.lists(st.integers(0, 20), min_size=outputs, max_size=outputs).filter(any)
    return weights.map(lambda ws: {y: Fraction(w, sum(ws)) for y, w in enumerate(ws) if w})


channels = st.tuples(laws(3), laws(3)).map(lambda rows: Channel(dict(enumerate(rows))))
afters = st.tuples(laws(3), laws(3), laws(3)).map(lambda rows: Channel(dict(enumerate(rows))))
ratios = st.fractions(0, 6, max_denominator=20)
orders = st.fractions(Fraction(11, 10), 8, max_denominator=20)


def test_the_classroom_is_ln_3() -> None:
    assert CLASSROOM.ratio(PAIR) == 3
    epsilon = CLASSROOM.epsilon(PAIR)
    assert epsilon is not None
    assert abs(float(epsilon.up) - math.log(3)) < 1e-15
    assert epsilon.low < epsilon.high
    assert CLASSROOM.delta_at(0, PAIR) == Fraction(1, 2)
    assert CLASSROOM.delta_at(epsilon.up, PAIR) <= Fraction(1, 10**50)
    assert privacy_loss(CLASSROOM["yes"], CLASSROOM["no"]) == {3: Fraction(3, 4), Fraction(1, 3): Fraction(1, 4)}


def test_the_example_in_the_docstring() -> None:
    results = doctest.testmod(divergence)
    assert results.attempted > 0
    assert results.failed == 0


@pytest.mark.parametrize("truth", [Fraction(3, 4), Fraction(9, 10), Fraction(501, 1000)])
def test_randomized_response_has_closed_forms(truth: Fraction) -> None:
    p, q = {0: truth, 1: 1 - truth}, {0: 1 - truth, 1: truth}
    ratio = truth / (1 - truth)
    assert max_ratio(p, q) == ratio
    mean = kl(p, q)
    assert mean is not None
    assert math.isclose(mean.up, (2 * truth - 1) * math.log(ratio), rel_tol=1e-12)
    square = renyi_divergence(p, q, 2)
    assert square is not None
    assert math.isclose(square.up, math.log(truth**2 / (1 - truth) + (1 - truth) ** 2 / truth), rel_tol=1e-9)
    for factor in (Fraction(1), (1 + ratio) / 2, ratio):
        assert hockey_stick(p, q, factor) == (ratio - factor) / (1 + ratio)


@given(laws(4), laws(4), ratios)
def test_the_hockey_stick_is_the_best_event(p: dict[int, Fraction], q: dict[int, Fraction], ratio: Fraction) -> None:
    """The largest P(S) − ratio · Q(S) over all sixteen sets S of outputs."""
    events = ([y for y in range(4) if bits >> y & 1] for bits in range(16))
    best = max(sum(p.get(y, Fraction(0)) - ratio * q.get(y, Fraction(0)) for y in event) for event in events)
    assert hockey_stick(p, q, ratio) == best


@given(laws(4), laws(4), ratios)
def test_the_privacy_loss_tells_the_profile(p: dict[int, Fraction], q: dict[int, Fraction], ratio: Fraction) -> None:
    """δ = E[max(0, 1 − ratio/loss ratio)], and the law of the loss sums to 1."""
    losses = privacy_loss(p, q)
    assert sum(losses.values()) == 1
    mean = sum((mass if at is None else mass * max(Fraction(0), 1 - ratio / at)) for at, mass in losses.items())
    assert mean == hockey_stick(p, q, ratio)


@given(laws(4), laws(4), orders, orders)
def test_divergences_are_ordered(p: dict[int, Fraction], q: dict[int, Fraction], a: Fraction, b: Fraction) -> None:
    """0 ≤ KL ≤ Rényi of a smaller order ≤ of a larger ≤ max; all are infinite together."""
    low, high = sorted((a, b))
    chain = [kl(p, q), renyi_divergence(p, q, low), renyi_divergence(p, q, high), max_divergence(p, q)]
    missed = any(p[y] and not q.get(y) for y in p)
    assert [link is None for link in chain] == [missed] * 4
    known = [link for link in chain if link is not None]
    assert all(link.high >= 0 for link in known)
    assert all(smaller.low <= larger.high for smaller, larger in pairwise(known))


@given(channels, afters, ratios, orders)
def test_nobody_can_compute_privacy_away(
    channel: Channel[int, int], after: Channel[int, int], ratio: Fraction, order: Fraction
) -> None:
    """Post-processing never increases any divergence."""
    later = channel.then(after)
    before_p, before_q, after_p, after_q = channel[0], channel[1], later[0], later[1]
    assert hockey_stick(after_p, after_q, ratio) <= hockey_stick(before_p, before_q, ratio)
    worst = max_ratio(before_p, before_q)
    if worst is not None:
        assert (max_ratio(after_p, after_q) or 0) <= worst
        for measure in (kl, lambda p, q: renyi_divergence(p, q, order)):
            less, more = measure(after_p, after_q), measure(before_p, before_q)
            assert less is not None
            assert more is not None
            assert less.low <= more.high


@given(channels, channels, orders)
def test_composition_multiplies_ratios_and_adds_divergences(
    one: Channel[int, int], other: Channel[int, int], order: Fraction
) -> None:
    both = one.beside(other)
    parts = [one.ratio([(0, 1)]), other.ratio([(0, 1)])]
    together = both.ratio([(0, 1)])
    if None in parts:
        assert together is None
        return
    for a, b in ((0, 1), (1, 0)):
        first, second, joint = max_ratio(one[a], one[b]), max_ratio(other[a], other[b]), max_ratio(both[a], both[b])
        assert first is not None
        assert second is not None
        assert joint == first * second
        apart = [renyi_divergence(c[a], c[b], order) for c in (one, other)]
        whole = renyi_divergence(both[a], both[b], order)
        gap = sum((part for part in apart if part is not None), Interval.of(0)) - (whole or Interval.of(0))
        assert gap.low <= 0 <= gap.high
        assert gap.up - gap.down < Fraction(1, 10**40)


@given(laws(3), laws(3), st.fractions(0, 3))
def test_delta_is_the_hockey_stick_at_e_to_the_epsilon_and_never_below(
    p: dict[int, Fraction], q: dict[int, Fraction], epsilon: Fraction
) -> None:
    with mpmath.workdps(100):
        real = {x: mpmath.mpf(x.numerator) / x.denominator for x in (*p.values(), *q.values(), epsilon, Fraction(0))}
        over = (real[p[y]] - mpmath.exp(real[epsilon]) * real[q.get(y, Fraction(0))] for y in p)
        exactly = mpmath.fsum(max(0, part) for part in over)
        ours = delta_at(p, q, epsilon)
        gap = mpmath.mpf(ours.numerator) / ours.denominator - exactly
        assert -(mpmath.mpf(10) ** -90) <= gap <= mpmath.mpf(10) ** -50


def test_equal_channels_are_equal() -> None:
    again: Channel[str, str] = Channel(
        {"no": {"no": "0.75", "yes": "0.25"}, "yes": {"yes": "0.75", "no": "0.25", "maybe": 0}}
    )
    assert again == CLASSROOM
    assert hash(again) == hash(CLASSROOM)
    assert again != Channel({"no": {"no": 1}})
    identity: Channel[str, str] = Channel({"yes": {"yes": 1}, "no": {"no": 1}})
    assert CLASSROOM.then(identity) == CLASSROOM


def test_what_is_no_channel_is_refused() -> None:
    with pytest.raises(Refusal, match=r"the row of 'a' must sum to 1, got 9/10"):
        Channel({"a": {0: "0.5", 1: "0.4"}})
    with pytest.raises(Refusal, match=r"expected Pr\[1\] >= 0"):
        law({0: "1.5", 1: "-0.5"})
    with pytest.raises(Refusal, match="alpha=1"):
        renyi_divergence({0: Fraction(1)}, {0: Fraction(1)}, 1)
    with pytest.raises(Refusal, match="no input 'maybe'"):
        CLASSROOM.ratio([("yes", "maybe")])
    with pytest.raises(TypeError):
        CLASSROOM["yes"]["yes"] = Fraction(1)  # type: ignore[index]
