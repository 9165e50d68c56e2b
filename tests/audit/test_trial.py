"""An audit refutes what is false, does not refute what is true, and says what it did."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from audit.controls import BITS, LN3, SOUND, TIGHT, Weighed, leaky_response, response
from doubles import Seeded
from numpy.typing import NDArray

from discreet.audit import ZOO, Specimen, Verdict, at_least, at_most, audit, insist
from discreet.audit.probability_bounds import epsilon_at_least
from discreet.errors import Refusal
from discreet.mechanisms.mechanism import Pair
from discreet.noise import SECURE, Entropy, flips, laplace, laplaces
from discreet.privacy.loss import Approximate, Concentrated, Loss, Pure
from discreet.privacy.renyi import Renyi
from discreet.privacy.tradeoff import Gaussian

Claim = Callable[[Fraction], Loss]


@pytest.mark.parametrize("mechanism", [*TIGHT, *SOUND], ids=lambda mechanism: mechanism.name)
def test_what_is_true_is_not_refuted(mechanism: Specimen) -> None:
    verdict = audit(mechanism, rng=Seeded(1))
    assert not verdict.refuted
    assert verdict.epsilon <= verdict.promised
    assert verdict.detectable is not None
    assert verdict.detectable > verdict.promised


@pytest.mark.parametrize(("name", "least"), [("response", 1.03), ("geometric", 0.93), ("grid-laplace", 0.9)])
def test_a_tight_mechanism_is_shown_to_be_almost_tight(name: str, least: float) -> None:
    mechanism = next(one for one in (*TIGHT, *SOUND) if one.name == name)
    assert audit(mechanism, rng=Seeded(2)).epsilon > least


@pytest.mark.parametrize(
    ("true", "false"),
    [
        (Pure(LN3), Pure(1)),
        (Gaussian.of(1), Gaussian.of("0.9")),
        (Concentrated("1/2"), Concentrated("1/5")),
        (Renyi.gaussian(1), Renyi.gaussian(2)),
        (Approximate(LN3, "0.1"), Approximate(LN3, "0.05")),
        (Approximate(LN3, "0.1"), Approximate(1, "0.1")),
    ],
    ids=str,
)
def test_every_measure_is_refuted_where_it_is_too_small(true: Loss, false: Loss) -> None:
    laws = {Pure: response, Approximate: leaky_response}
    coarse = next(one for one in TIGHT if one.name == "coarse-gaussian")
    law = laws.get(type(true))
    mechanism = replace(coarse, draw=law, pair=BITS) if law else coarse
    kept, broken = (audit(mechanism, claim=claim, rng=Seeded(3)) for claim in (true, false))
    assert not kept.refuted
    assert broken.refuted
    assert broken.epsilon > broken.promised
    assert false.delta_at(broken.promised) == broken.delta or isinstance(false, Approximate)


def test_no_signal_gives_no_bound() -> None:
    def deaf(_: int, size: int, rng: Entropy) -> NDArray[np.int64]:
        return laplaces(3, size, rng=rng)

    for seed in range(20):
        verdict = audit(Specimen("deaf", Pure(0), BITS, "none", "", deaf), samples=2000, rng=Seeded(seed))
        assert verdict.epsilon == 0
        assert not verdict.refuted


def test_the_bound_follows_from_the_hits_alone() -> None:
    verdict = audit(ZOO["half-sensitivity"], rng=Seeded(4))
    many, few = sorted([verdict.left.hits, verdict.right.hits], reverse=True)
    assert verdict.left.trials == verdict.right.trials == 50_000
    each = verdict.alpha / 2  # one limit on either side, and both must hold
    assert verdict.epsilon == epsilon_at_least(at_least(many, 50_000, each), at_most(few, 50_000, each))
    ratio = math.log(many / few)
    assert ratio - 0.2 < verdict.epsilon < ratio
    assert verdict.event in {"output ≥ 2", "output ≤ 0"}


def test_among_several_pairs_the_worst_is_accused() -> None:
    def doubled(value: int, *, rng: Entropy = SECURE) -> int:
        return 2 * value + laplace(2, rng=rng) if value > 5 else value + laplace(2, rng=rng)

    pairs = [(0, 1), (8, 9), (3, 4)]
    verdict = audit(doubled, pairs, Pure("0.6"), samples=8000, rng=Seeded(5))
    assert verdict.refuted
    assert (verdict.pair.left, verdict.pair.right) == (8, 9)
    assert not audit(doubled, pairs[::2], Pure("0.6"), samples=8000, rng=Seeded(5)).refuted


@pytest.mark.parametrize(
    ("mechanism", "event"),
    [
        (lambda x: None if x else 0, "output is None"),
        (lambda x: "yes" if x else "no", "output is '"),
        (lambda x: 1 // x, "the exception is 'ZeroDivisionError'"),
        (lambda x: {"a", "b"} if x else {"a"}, "'b' in output"),
        (lambda x: [1] * x, "output[0]"),
        (lambda x: math.nan if x else 1.0, "output is missing or not a number"),
        (lambda x: {"mary": 1} if x else {}, "output['mary']"),
        (lambda x: -0.0 if x else 0.0, "0.0"),
        (lambda x: 1.0 if x else 1, "type of output is"),
    ],
    ids=["nothing", "text", "exception", "set", "list", "nan", "mapping", "sign of zero", "type"],
)
def test_any_output_can_give_a_mechanism_away(mechanism: Callable[[int], object], event: str) -> None:
    verdict = audit(mechanism, [(0, 1)], Pure(2), samples=1000, rng=Seeded(6))
    assert verdict.refuted
    assert event in verdict.event
    assert {verdict.left.hits, verdict.right.hits} == {0, 500}


def test_a_mechanism_that_tells_its_law_is_judged_by_it() -> None:
    verdict = audit(Weighed(), rng=Seeded(7))
    assert verdict.refuted
    assert verdict.epsilon > 1.9
    assert verdict.event.startswith("the logarithm of the likelihood ratio")


def test_float_noise_is_found_out_with_three_thousand_outputs() -> None:
    for name in ("inverse-laplace", "library-laplace", "box-muller"):
        verdict = audit(ZOO[name], samples=3000, rng=Seeded(8))
        assert verdict.refuted, name
        assert "lowest set bit" in verdict.event


def test_what_chose_the_event_does_not_prove_it() -> None:
    """A mechanism that leaks in its first runs only, while events are chosen: nothing of that is in the verdict."""
    asked: list[tuple[int, int]] = []

    def early(bit: int, size: int, rng: Entropy) -> NDArray[np.int64]:
        asked.append((bit, size))
        return np.full(size, bit) if len(asked) <= 2 else response(0, size, rng)

    verdict = audit(Specimen("early", Pure(1), BITS, "", "", early), samples=1001, rng=Seeded(9))
    assert asked == [(0, 500), (1, 500), (0, 501), (1, 501)]
    assert not verdict.refuted
    assert verdict.epsilon == 0


def test_more_time_finds_smaller_violations() -> None:
    nearly = Specimen("nearly", Pure("0.9"), BITS, "", "", lambda v, size, rng: v + laplaces(1, size, rng=rng))
    assert not audit(nearly, samples=2000, rng=Seeded(10)).refuted
    found = insist(nearly, samples=2000, seconds=20, rng=Seeded(10))
    assert found.refuted
    assert found.samples > 2000
    assert found.alpha == Fraction(1, 10**6)


def test_time_ends_an_audit_of_something_true() -> None:
    verdict = insist(TIGHT[0], samples=1000, seconds=0.2, rng=Seeded(11))
    assert not verdict.refuted


def test_the_first_audit_of_many_spends_half_of_the_risk() -> None:
    verdict = insist(lambda x: x, [(0, 1)], Pure(50), samples=1000, seconds=1e-9, alpha="0.01")
    each = Fraction(1, 100) / 2 / 2  # half for this round, and half of that for each limit
    assert verdict.epsilon == epsilon_at_least(at_least(500, 500, each), at_most(0, 500, each))
    assert verdict.alpha == Fraction(1, 100)


def spoken(verdict: Verdict) -> str:
    return str(verdict).replace("\n", " ")


def test_a_verdict_says_what_it_found_and_never_that_something_is_private() -> None:
    refuted, kept = audit(ZOO["strict"], samples=2000, rng=Seeded(12)), audit(TIGHT[2], samples=2000, rng=Seeded(12))
    assert "refuted" in spoken(refuted)
    assert "event: the exception is 'ValueError'" in spoken(refuted)
    assert "one person added, out of bounds" in spoken(refuted)
    assert "no proof of privacy" in spoken(kept)
    assert f"ε ≥ {float(kept.detectable or 0):.3f} is refuted in 95 % of audits" in spoken(kept)
    for verdict in (refuted, kept):
        assert "is private" not in spoken(verdict)


def test_too_few_outputs_for_a_claim_are_named() -> None:
    verdict = audit(lambda x: x, [(0, 1)], Pure(9), samples=1000)
    assert not verdict.refuted
    assert verdict.detectable is None
    assert "draw more" in str(verdict)


def test_what_is_detectable_is_detected_that_often() -> None:
    """A violation just at the stated size: refuted in 95 % of audits or more, up to chance (false alarm 1e-9)."""
    stated = audit(TIGHT[0], claim=Pure(1), samples=4000, rng=Seeded(13)).detectable
    assert stated is not None
    truth = Fraction(1 / (1 + math.exp(-float(stated)))).limit_denominator(10**6)

    def violating(bit: int, size: int, rng: Entropy) -> NDArray[np.int64]:
        return np.where(flips(truth, size, rng=rng), bit, 1 - bit)

    mechanism = Specimen("violating", Pure(1), BITS, "", "", violating)
    refuted = sum(audit(mechanism, samples=4000, rng=Seeded(100 + i)).refuted for i in range(200))
    assert refuted >= 165  # Pr[Bin(200, 0.95) < 165] < 1e-9


@pytest.mark.parametrize("claim", [Pure(800), Pure(10**9), Pure(10**400), Approximate(10**5, "0.1")])
def test_a_claim_beyond_every_float_is_audited_and_not_refuted(claim: Loss) -> None:
    verdict = audit(told_as_it_is, [(0, 1)], claim, samples=400, rng=Seeded(5))
    assert not verdict.refuted
    assert verdict.detectable is None


def told_as_it_is(bit: int) -> int:
    return bit


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: audit(lambda x: x), "names no neighbouring inputs"),
        (lambda: audit(lambda x: x, [(0, 1)]), "claims nothing that can be audited"),
        (lambda: audit(lambda x: x, [], Pure(1)), "at least one pair"),
        (lambda: audit(lambda x: x, [(0, 1)], Pure(1), samples=10), "samples=10"),
        (lambda: audit(lambda x: x, [(0, 1)], Pure(1), alpha=0), "alpha=0"),
        (lambda: audit(lambda x: x, [(0, 1)], Pure(1), alpha="nan"), "alpha"),
        (lambda: insist(lambda x: x, [(0, 1)], Pure(1), seconds=-1), "seconds=-1"),
        (lambda: audit(lambda x: x, [(0, 1)], Concentrated(1000), samples=400), "promises nothing that 400 outputs"),
    ],
)
def test_nonsense_is_refused_by_name(call: Callable[[], object], named: str) -> None:
    with pytest.raises(Refusal, match=named):
        call()


def test_a_pair_keeps_its_reason() -> None:
    verdict = audit(lambda x: x, [Pair(0, 1, "mary")], Pure(1), samples=400)
    assert verdict.pair.why == "mary"
    assert "mary" in str(verdict)
