"""The audit that may be stopped at any time: its fortune by hand, no false alarms, and time as an output."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest
from audit.controls import BITS, LN3, TIGHT
from doubles import Seeded

from discreet.audit import ZOO, Specimen, Timed, audit_until
from discreet.audit.anytime import Bet
from discreet.errors import Refusal
from discreet.noise import SECURE, Entropy, flip
from discreet.privacy import Approximate, Concentrated, Pure

LONG = 600.0  # seconds that no test takes
ALPHA = Fraction(1, 10**6)


@pytest.mark.parametrize(("right", "wrong"), [(0, 0), (10, 0), (60, 3), (300, 80), (80, 300)])
@pytest.mark.parametrize("epsilon", [0, Fraction(1, 2), 1, 3])
def test_a_fortune_is_what_bets_win(right: int, wrong: int, epsilon: Fraction) -> None:
    sure, fair = 0.9, 1 / (1 + math.exp(-epsilon))
    fortune = (sure / fair) ** right * ((1 - sure) / (1 - fair)) ** wrong
    assert Bet(Fraction("0.9")).refutes(Fraction(epsilon), right, wrong, ALPHA) == (sure > fair and fortune >= 10**6)


def test_nobody_gets_rich_on_fair_odds() -> None:
    """All sequences of 12 hits, with the chance of each: those that ever reach 1/alpha have alpha at most."""
    bet, alpha, q = Bet(Fraction(9, 10)), Fraction(1, 5), 3 / 4
    wins = {(r, w) for r in range(13) for w in range(13 - r) if bet.refutes(LN3, r, w, alpha)}
    rich = 0.0
    for sides in itertools.product((True, False), repeat=12):
        if any((sum(sides[:n]), n - sum(sides[:n])) in wins for n in range(13)):
            rich += q ** sum(sides) * (1 - q) ** (12 - sum(sides))
    assert 0 < rich <= alpha


def test_what_is_proven_is_the_edge_of_what_is_refuted() -> None:
    bet = Bet(Fraction(19, 20))
    proven = bet.proven(100, 4, ALPHA)
    assert bet.refutes(proven, 100, 4, ALPHA)
    assert not bet.refutes(proven + Fraction(1, 1000), 100, 4, ALPHA)
    assert bet.proven(5, 4, ALPHA) == 0
    assert proven < Fraction(math.log(25))


@pytest.mark.parametrize("name", ["half-sensitivity", "svt-5", "own-keys", "cache-by-text", "told-twice"])
def test_it_stops_as_soon_as_a_claim_is_refuted(name: str) -> None:
    verdict = audit_until(ZOO[name], seconds=LONG, looking=1000, rng=Seeded(1))
    assert verdict.refuted
    assert verdict.epsilon > verdict.promised
    assert verdict.samples < 6000
    assert "Seeded" in str(verdict)


def test_a_true_claim_is_kept_to_the_end() -> None:
    verdict = audit_until(TIGHT[0], samples=300, looking=200, seconds=LONG, rng=Seeded(2))
    assert not verdict.refuted
    assert verdict.left.trials + verdict.right.trials == 600
    assert verdict.detectable is not None
    assert verdict.detectable > verdict.promised
    short = audit_until(TIGHT[0], samples=10**6, looking=200, seconds=1e-9, rng=Seeded(2))
    assert short.left.trials + short.right.trials == 0


def alarms(mechanism: Specimen, runs: int, alpha: str) -> int:
    return sum(
        audit_until(mechanism, samples=200, looking=100, seconds=LONG, alpha=alpha, rng=Seeded(s)).refuted
        for s in range(runs)
    )


def test_it_would_be_seen_if_it_alarmed_too_often() -> None:
    loose = Specimen("loose", Pure(Fraction(1, 10)), BITS, "", "", TIGHT[0].draw)
    assert alarms(loose, 20, "0.05") >= 15


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", [TIGHT[0], TIGHT[2]], ids=lambda mechanism: mechanism.name)
def test_a_claim_that_is_attained_is_refuted_no_more_often_than_alpha(mechanism: Specimen) -> None:
    """At alpha = 0.1: Pr[Bin(300, 0.1) > 66] < 1e-9."""
    assert alarms(mechanism, 300, "0.1") <= 66


class Slower:
    """A clock that runs slower and slower, whatever is timed."""

    def __init__(self) -> None:
        self.now = self.step = 0

    def __call__(self) -> int:
        self.step += 1
        self.now += self.step
        return self.now


def told(bit: int, /, *, rng: Entropy = SECURE) -> int:
    return bit ^ flip("1/4", rng=rng)


def test_a_machine_that_gets_slower_refutes_nothing() -> None:
    timed = Timed(told, Slower())
    assert not audit_until(
        timed, [(0, 1)], Pure(LN3), samples=1000, looking=200, seconds=LONG, alpha="0.001", rng=Seeded(3)
    ).refuted


def test_a_mechanism_that_takes_longer_for_one_person_is_found_out() -> None:
    clock = iter(range(10**9))
    ticks = {0: 2, 1: 9}

    def looped(bit: int, /, *, rng: Entropy = SECURE) -> int:
        for _ in range(ticks[bit]):
            next(clock)
        return told(bit, rng=rng)

    verdict = audit_until(Timed(looped, lambda: next(clock)), [(0, 1)], Pure(LN3), seconds=LONG, rng=Seeded(4))
    assert verdict.refuted
    assert "nanoseconds" in verdict.event


def test_a_stopwatch_changes_nothing_else() -> None:
    timed = Timed(TIGHT[0], lambda: 0)
    assert timed.privacy == TIGHT[0].privacy
    assert timed.pairs() == TIGHT[0].pairs()
    assert timed(0, rng=Seeded(5)) in ({"output": 0, "nanoseconds": 0}, {"output": 1, "nanoseconds": 0})
    assert "Raised" in repr(Timed(lambda x: 1 / x)(0))


@pytest.mark.parametrize("claim", [Approximate(1, "0.1"), Concentrated(1)], ids=str)
def test_a_claim_with_a_delta_is_refused(claim: Approximate) -> None:
    with pytest.raises(Refusal, match="everywhere"):
        audit_until(TIGHT[0], claim=claim, seconds=1)


def test_who_names_no_neighbours_is_refused() -> None:
    with pytest.raises(Refusal, match="names no neighbouring inputs"):
        audit_until(Timed(told), claim=Pure(1), seconds=1)


def test_what_raises_on_everything_is_refused() -> None:
    with pytest.raises(Refusal, match="every run raised"):
        audit_until(lambda _: 1 / 0, [(0, 1)], Pure(1), seconds=1, looking=50)
