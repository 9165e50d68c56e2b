"""Bob wins no more often than he may, and where the promise is tight, exactly as often."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import comb, exp

import pytest
from audit.controls import SOUND, TIGHT, Silent, Weighed
from doubles import Seeded
from hypothesis import given
from hypothesis import strategies as st

from discreet.audit import ZOO, Specimen, bound, play
from discreet.errors import Refusal
from discreet.interval_arithmetic import log
from discreet.privacy.loss import Approximate, Concentrated, Pure
from discreet.privacy.tradeoff import Gaussian, winning


@pytest.mark.parametrize(
    "loss", [Pure(1), Approximate(1, "0.01"), Concentrated("0.1"), Gaussian.of(1), Pure(0)], ids=str
)
def test_a_fair_coin_gives_the_known_bound(loss: Pure) -> None:
    assert bound(loss) == winning(loss)


def test_the_numbers_of_the_essay() -> None:
    for epsilon in (0.1, 0.5, 1.0, 2.0):
        assert float(bound(Pure(epsilon))) == pytest.approx(exp(epsilon) / (1 + exp(epsilon)), rel=1e-12)
    assert bound(Pure(0)) == Fraction(1, 2)


@given(st.fractions(Fraction(1, 100), Fraction(99, 100)), st.fractions(Fraction(1, 100), Fraction(1, 2)))
def test_no_guess_beats_the_bound_against_randomized_response(prior: Fraction, lie: Fraction) -> None:
    """All four rules from an answer to a guess, exactly; the best of them attains the bound."""
    chance = {(0, 0): 1 - lie, (0, 1): lie, (1, 0): lie, (1, 1): 1 - lie}
    best = max(
        sum(
            (prior if bit else 1 - prior) * chance[bit, seen]
            for bit, seen in product((0, 1), repeat=2)
            if rule[seen] == bit
        )
        for rule in product((0, 1), repeat=2)
    )
    allowed = bound(Pure(log((1 - lie) / lie).up if lie < Fraction(1, 2) else 0), prior)
    assert best <= allowed <= best + Fraction(1, 10**20)


def test_a_coin_beyond_the_odds_leaves_nothing_to_learn() -> None:
    assert bound(Pure(1), "0.2") == Fraction(8, 10)
    assert bound(Pure(1), "0.8") == Fraction(8, 10)
    assert bound(Pure(1), "0.3") > Fraction(7, 10)


@pytest.mark.parametrize("mechanism", [*TIGHT, *SOUND], ids=lambda mechanism: mechanism.name)
def test_bob_keeps_within_the_bound(mechanism: Specimen) -> None:
    game = play(mechanism, rounds=20_000, practice=20_000, confidence="0.999999", rng=Seeded(1))
    assert not game.broken
    assert game.low <= Fraction(game.wins, game.rounds) <= game.high


def test_against_a_tight_mechanism_bob_attains_it() -> None:
    game = play(TIGHT[0], rounds=40_000, practice=4000, rng=Seeded(2))
    assert game.low < Fraction(3, 4) < game.high
    assert game.allowed is not None
    assert Fraction(3, 4) <= game.allowed <= Fraction(3, 4) + Fraction(1, 10**20)
    assert game.high - game.low < Fraction(2, 100)


@pytest.mark.parametrize("confidence", [Fraction(9, 10), Fraction(999, 1000)])
def test_the_limits_on_a_chance_are_those_of_clopper_and_pearson(confidence: Fraction) -> None:
    """Were the chance at a limit, as many wins as there were, or more beyond it, would come as seldom as is said."""
    game = play(TIGHT[0], rounds=40, practice=40, confidence=confidence, rng=Seeded(7))
    assert 0 < game.wins < 40

    def wins(chance: Fraction, numbers: range) -> Fraction:
        terms = (comb(40, n) * chance**n * (1 - chance) ** (40 - n) for n in numbers)
        return sum(terms, Fraction(0))

    rare = (1 - confidence) / 2  # each of two sides
    for seldom in (wins(game.low, range(game.wins, 41)), wins(game.high, range(game.wins + 1))):
        assert rare * Fraction(99, 100) <= seldom <= rare


def test_bob_learns_as_much_as_a_likelihood_would_tell_him() -> None:
    told, learned = play(Weighed(), rng=Seeded(3)), play(Silent(), rng=Seeded(4))
    assert abs(told.wins - learned.wins) < 2000
    assert told.broken
    assert learned.broken


@pytest.mark.parametrize("name", ["half-sensitivity", "inverse-laplace", "own-keys", "same-noise-twice"])
def test_a_broken_promise_is_lost_to_bob(name: str) -> None:
    game = play(ZOO[name], rounds=20_000, practice=20_000, rng=Seeded(5))
    assert game.broken
    assert "the promise allows" in str(game)
    assert "he guesses" in str(game)


def test_a_plain_function_can_be_played_without_a_promise() -> None:
    game = play(lambda x: x, (0, 1), rounds=100, practice=40)
    assert (game.wins, game.allowed, game.broken) == (100, None, False)


@pytest.mark.parametrize(("prior", "named"), [(0, "prior=0"), (1, "prior=1"), ("x", "prior")])
def test_nonsense_is_refused_by_name(prior: str, named: str) -> None:
    with pytest.raises(Refusal, match=named):
        bound(Pure(1), prior)
    with pytest.raises(Refusal, match="rounds=0"):
        play(lambda x: x, (0, 1), rounds=0)
    with pytest.raises(Refusal, match="no neighbouring inputs"):
        play(lambda x: x)
