"""The game of Alice and Bob: a coin chooses one of two neighbouring inputs, Bob sees the output and names the input.

The essay that this package grew from asks how such a promise could be tested by simulation. This is how: play.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.audit.accusing_event import accuse, heard
from discreet.audit.claim import neighbouring
from discreet.audit.outputs import draw, once
from discreet.audit.probability_bounds import HitCounts, at_least, at_most
from discreet.exact import HALF, Number, count, share
from discreet.interval_arithmetic import log
from discreet.mechanisms.mechanism import Pair
from discreet.noise import SECURE, Entropy, flips
from discreet.privacy.loss import Loss

_WEIGHT = 20  # of Bob's gain, in the units in which a search for an event is content


def bound(loss: Loss, prior: Number = HALF) -> Fraction:
    """Bob's best chance to win, rounded up, if Alice takes one of the two inputs with probability `prior`.

    Guarantee: for π = min(prior, 1 − prior), at most 1 − π + π δ(ln((1 − π)/π)), where δ is the loss's profile. A fair
        coin gives (1 + δ(0))/2, which is e^ε/(1 + e^ε) for Pure(ε); a coin with odds beyond e^ε gives 1 − π, and Bob
        has as much by ignoring the output.
    Proof: Bob wins with Σ max(π P, (1 − π) Q) = 1 − π + π Σ max(0, P − Q (1 − π)/π), and the last sum is the
        hockey-stick divergence at that ratio. The logarithm is rounded down, and the profile falls.
    """
    rarer = min(share(prior, "prior"), 1 - share(prior, "prior"))
    odds = (1 - rarer) / rarer
    return 1 - rarer + rarer * loss.delta_at(max(Fraction(0), log(odds).down))


@dataclass(frozen=True)
class Game:
    """How often Bob won, between which limits his chance lies, and what the promise allows."""

    pair: Pair[Any]
    guess: str
    rounds: int
    wins: int
    low: Fraction
    high: Fraction
    allowed: Fraction | None
    confidence: Fraction

    @property
    def broken(self) -> bool:
        """Whether Bob certainly, at this confidence, wins more often than the promise allows."""
        return self.allowed is not None and self.low > self.allowed

    def __str__(self) -> str:
        limits = f"his chance lies between {float(self.low):.4f} and {float(self.high):.4f}"
        allowed = "" if self.allowed is None else f"; the promise allows {float(self.allowed):.4f}"
        sure = f"{100 * float(self.confidence):g} % confidence"
        return f"Bob won {self.wins} of {self.rounds} rounds: {limits} ({sure}){allowed}\nhe guesses {self.guess}"


def play(  # noqa: PLR0913  # the rules of the game
    mechanism: Callable[..., object],
    pair: Pair[Any] | tuple[Any, Any] | None = None,
    claim: Loss | None = None,
    *,
    rounds: int = 100_000,
    practice: int = 100_000,
    confidence: Number = Fraction(99, 100),
    rng: Entropy = SECURE,
) -> Game:
    """Play `rounds` rounds with a fair coin, after Bob has run the mechanism `practice` times on either input himself.

    He may: the mechanism is public, and he knows both inputs. He guesses by the likelihood ratio if the mechanism tells
    its own, and by one that he learned otherwise. The limits (Clopper & Pearson 1934) are on the chance of this Bob; a
    better one may win more often, but never more often than `bound` if the promise is kept.
    """
    total, trust = count(rounds, "rounds"), share(confidence, "confidence")
    two = neighbouring(mechanism, None if pair is None else [pair])[0]
    accusation = accuse(mechanism, two, count(practice, "practice", least=40), _lead, rng=rng)
    heard(accusation)
    event = accusation.event
    tails = int(np.count_nonzero(flips(HALF, total, rng=rng)))
    left, right = draw(mechanism, two.left, tails, rng=rng), draw(mechanism, two.right, total - tails, rng=rng)
    hits = [event.hits(side) if len(side) else 0 for side in (left, right)]
    wins = hits[0] + len(right) - hits[1] if event.left_is_likelier else hits[1] + len(left) - hits[0]
    guess = f"{'left' if event.left_is_likelier else 'right'} if {event}"
    return scored(two, guess, wins, total, getattr(mechanism, "privacy", None) if claim is None else claim, trust)


@dataclass(frozen=True)
class Round:
    """One round, as Alice knows it: what Bob sees, and on which input she ran the mechanism."""

    output: object
    right: bool


def dealt(mechanism: Callable[..., object], pair: Pair[Any], *, rng: Entropy = SECURE) -> Round:
    """A round for somebody who guesses by hand: Alice tosses a coin and runs the mechanism."""
    coin = bool(flips(HALF, 1, rng=rng)[0])
    return Round(once(mechanism, pair.right if coin else pair.left, rng=rng), coin)


def scored(  # noqa: PLR0913, PLR0917  # what a game is made of
    pair: Pair[Any], guess: str, wins: int, rounds: int, promise: Loss | None, confidence: Number = Fraction(99, 100)
) -> Game:
    """So many rounds won, with the limits on the chance of who guessed so, and what the promise allows."""
    trust = share(confidence, "confidence")
    low, high = at_least(wins, rounds, (1 - trust) / 2), at_most(wins, rounds, (1 - trust) / 2)
    return Game(pair, guess, rounds, wins, low, high, None if promise is None else bound(promise), trust)


def _lead(likely: HitCounts, unlikely: HitCounts, size: int) -> NDArray[np.float64]:
    """Twice what Bob gains over a blind guess by naming the input on which an event is likelier."""
    return _WEIGHT * (likely - unlikely) / size
