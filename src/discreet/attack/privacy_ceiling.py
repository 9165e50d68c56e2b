"""What a promise of privacy lets any attacker learn, and how much noise is enough for so many questions."""

from __future__ import annotations

from fractions import Fraction
from math import isqrt

from discreet.errors import Ground, Refusal
from discreet.privacy import Loss, Pure, winning

_FINE = 1 << 60  # square roots are rounded on this grid


def ceiling(loss: Loss) -> Fraction:
    """The largest share of fair secret bits that any attacker names rightly, on average, rounded up.

    Guarantee: each bit is fair and independent of all else that the attacker knows, and `loss` bounds what changing one
        person's bit does to everything that is released. Then a bit is named rightly with probability at most
        (1 + δ(0))/2, which is e^ε/(1 + e^ε) for Pure(ε), whatever the attacker computes.
    Proof: docs/proofs/attacks.md.
    """
    return min(Fraction(1), winning(loss))


def ceiling_of_many(each: Pure, questions: int) -> Fraction:
    """As `ceiling`, of so many answers that lose `each`: min(e^mε/(1 + e^mε), 1/2 + ε√m/4), rounded up.

    Guarantee: `each` bounds what changing one person's bit does to one answer, given those before it.
    Proof: docs/proofs/attacks.md: relative entropies of pure losses are at most ε²/2 and add; Pinsker's inequality.
    """
    _whole(questions, "questions")
    root = Fraction(_root_up(questions * _FINE * _FINE), _FINE)
    return min(ceiling(questions * each), Fraction(1, 2) + each.epsilon * root / 4)


def scale_enough(questions: int, share: Fraction | float | str) -> Fraction:
    """A scale of Laplace noise on each of `questions` counts with which nobody names more than `share` of the bits.

    Guarantee: on average, of fair independent bits, where a bit moves each count by one at most; rounded up.
    Proof: `ceiling_of_many` at ε = 1/scale: 1/2 + √m/(4 scale) ≤ share for scale ≥ √m/(4 share − 2).
    """
    _whole(questions, "questions")
    beyond = _beyond(share)
    return Fraction(_root_up(questions * _FINE * _FINE), _FINE) / (4 * beyond)


def questions_borne(scale: Fraction | float | str, share: Fraction | float | str) -> int:
    """How many counts Laplace noise of this scale bears before an attacker could name more than `share` of the bits.

    It is the largest m with √m/(4 scale) ≤ share − 1/2: the other way round of `scale_enough`.
    """
    size = Fraction(str(scale))
    if size <= 0:
        raise Refusal(f"expected scale > 0, got {scale}", ground=Ground.VALUE)
    return int((4 * size * _beyond(share)) ** 2)


def _beyond(share: Fraction | float | str) -> Fraction:
    beyond = Fraction(str(share)) - Fraction(1, 2)
    if not 0 < beyond < Fraction(1, 2):
        raise Refusal(
            f"expected 1/2 < share < 1, got {share}",
            hint="a coin already names half of fair bits",
            ground=Ground.VALUE,
        )
    return beyond


def _whole(value: int, name: str) -> None:
    if value < 1:
        raise Refusal(f"expected a whole number {name} >= 1, got {name}={value}", ground=Ground.VALUE)


def _root_up(number: int) -> int:
    root = isqrt(number)
    return root + (root * root < number)
