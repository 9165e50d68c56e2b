"""The reusable holdout and the ladder: counts of rows are told only where they are not what was expected.

A guess of each count is checked against rows that no model was trained on, and corrected only where it is far off
(`Thresholdout`); a leaderboard moves only where a submission is better by enough (`Ladder`). What agrees with the
expectation tells next to nothing of the rows, so many questions leave them nearly fresh.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

from discreet.declared.grid import LIMIT
from discreet.errors import Refusal
from discreet.exact import ZERO, Number, count, positive, probability, share, shown
from discreet.mechanisms.mechanism import USUAL, Pair, Takes, settle
from discreet.mechanisms.online_weights import Answered
from discreet.mechanisms.registry import Plain, registered
from discreet.mechanisms.session import Openable, Quota
from discreet.mechanisms.sparse import RefreshedSparseVector, SparseState, as_value
from discreet.noise import Entropy, laplace
from discreet.privacy import AddRemove, Approximate, Neighbours, laplace_error

_DIGITS = 20  # of a guess, which is no number beyond ±2^62
_SHARED = ("threshold", "hard", "sensitivity", "questions")


@dataclass(frozen=True)
class Guessed:
    """What a question measured: the exact count, and what whoever asked takes it to be."""

    value: int
    guess: int = 0


@dataclass(frozen=True)
class HoldoutState:
    """The comparison's secret, and the numbers that were said."""

    comparison: SparseState = field(repr=False)
    said: tuple[int, ...] = ()


class _Checked:
    """What both share: a comparison for half of the price, and numbers with fresh noise for the other half."""

    takes: ClassVar[Takes] = Takes.STREAM
    monotone: ClassVar[bool] = True  # no count falls where a person comes: what is claimed is for shares of 0 to 1

    epsilon: Fraction
    threshold: int
    people: int
    hard: int
    delta: Fraction
    sensitivity: int
    rounding: int
    questions: int
    neighbours: Neighbours

    def _expected(self, state: HoldoutState, query: object) -> tuple[int, int, int]:
        """The count, what is compared with the threshold, and what is said where it is not above."""
        raise NotImplementedError

    @cached_property
    def comparison(self) -> RefreshedSparseVector:
        """What says whether the count is further from what was expected than the threshold."""
        return RefreshedSparseVector(
            self.epsilon / 2,
            self.threshold,
            self.hard,
            self.delta,
            self.sensitivity,
            questions=self.questions,
            neighbours=self.neighbours,
        )

    @property
    def privacy(self) -> Approximate:
        """The whole price, for every answer together."""
        return Approximate(self.epsilon, self.delta)

    @property
    def number_scale(self) -> Fraction:
        """σ, of the fresh noise on the number of a hard question."""
        return 2 * self.hard * self.sensitivity / self.epsilon

    @property
    def most(self) -> int:
        """The largest number that can be said of a hard question."""
        return self.people * self.sensitivity

    @property
    def numbers(self) -> int:
        """How many different numbers can be said of a hard question, or a few more."""
        return self.most // self.rounding + 2

    @property
    def room(self) -> int:
        """Characters of a state, whatever it says."""
        return self.comparison.room + 128 + self.questions * (_DIGITS + 4)

    def error(self, confidence: Number = USUAL) -> int:
        """α such that, with this probability, every number said in a session is within α of its count.

        Of a ladder: of the count of the best submission so far.
        """
        return max(self.easy_error(confidence), self.hard_error(confidence))

    def easy_error(self, confidence: Number = USUAL) -> int:
        """How far above or below what was expected a count may be that was not told; holds with `hard_error`."""
        rare = (1 - share(confidence, "confidence")) / 3
        drawn = laplace_error(self.comparison.threshold_scale, 1 - rare / self.hard)
        return self.threshold + drawn + laplace_error(self.comparison.question_scale, 1 - rare / self.questions)

    def hard_error(self, confidence: Number = USUAL) -> int:
        """The same of a number with noise."""
        rare = (1 - share(confidence, "confidence")) / 3
        return laplace_error(self.number_scale, 1 - rare / self.hard) + self.rounding // 2

    def start(self, rng: Entropy) -> HoldoutState:
        """The first noisy threshold."""
        return HoldoutState(self.comparison.start(rng))

    def step(self, state: HoldoutState, query: Guessed | int, rng: Entropy) -> HoldoutState:
        """Compare the count with what was expected; where it is above the threshold, release a number."""
        true, apart, expected = self._expected(state, query)
        compared = self.comparison.step(state.comparison, apart, rng)
        if len(compared.hard) == len(state.comparison.hard):
            return HoldoutState(compared, (*state.said, expected))
        noisy = true + laplace(self.number_scale, rng=rng)
        rounded = (2 * noisy + self.rounding) // (2 * self.rounding) * self.rounding
        return HoldoutState(compared, (*state.said, min(max(rounded, 0), self.most)))

    def answers(self, state: HoldoutState) -> tuple[Answered, ...]:
        """All answers, in order."""
        hard = {place for place, _ in state.comparison.hard}
        return tuple(Answered(number, place in hard) for place, number in enumerate(state.said, start=1))

    def used(self, state: HoldoutState) -> tuple[Quota, ...]:
        """Hard answers, and questions."""
        return self.comparison.used(state.comparison)

    def encode(self, state: HoldoutState) -> Mapping[str, Plain]:
        """As JSON holds it."""
        return {"comparison": dict(self.comparison.encode(state.comparison)), "said": list(state.said)}

    def decode(self, content: Mapping[str, Any]) -> HoldoutState:
        """As it was written."""
        said = tuple(int(number) for number in content["said"])
        return HoldoutState(self.comparison.decode(content["comparison"]), said)

    def told(self, answer: Answered) -> Plain:
        """The number, and whether it was hard."""
        return {"number": answer.number, "hard": answer.hard}

    def heard(self, told: Mapping[str, Any]) -> Answered:
        """The answer that was told so."""
        return Answered(int(told["number"]), bool(told["hard"]))

    def pairs(self) -> tuple[Pair[tuple[int, ...]], ...]:
        """Those of the comparison."""
        return self.comparison.pairs()

    def _settled(self) -> None:
        settle(
            self,
            epsilon=positive(self.epsilon, "epsilon"),
            delta=probability(self.delta, "delta"),
            people=count(self.people, "people"),
            rounding=count(self.rounding, "rounding"),
            neighbours=self.neighbours,
        )
        settle(self, **{name: getattr(self.comparison, name) for name in _SHARED})
        if max(self.most, self.rounding) > LIMIT:
            largest = shown(max(self.most, self.rounding), str)
            raise Refusal(
                f"expected counts and rounding < 2^62, got {largest}", hint="fewer people, or a coarser count"
            )


@registered("thresholdout")
@dataclass(frozen=True)
class Thresholdout(_Checked, Openable[HoldoutState, Guessed | int, Answered, Approximate]):
    """Says a guess again where the count is near it; where it is not, the count with noise, `hard` times in all.

    The guess is what the same question gave on other rows: those on which a model was trained, say. The number of a
    hard answer is rounded to a multiple of `rounding` and brought between 0 and `people` times `sensitivity`, which
    says less of the rows. A count without a guess is guessed 0.

    Guarantee: if each count differs by at most `sensitivity` between neighbours, Approximate(epsilon, delta) for
        everything that a session answers, questions and guesses chosen one by one. For delta > 0 it needs
        epsilon ≤ 16 ln(1/delta).
    Proof: docs/proofs/holdout.md, Theorem 1.
    Source: Dwork, Feldman, Hardt, Pitassi, Reingold & Roth 2015 (holdout reuse), Figure 1: noise of scale 2σ on the
        threshold, drawn anew after each hard answer, 4σ on each comparison, σ on each number, where
        σ = 2·hard·sensitivity/epsilon.
    """

    epsilon: Fraction
    threshold: int
    people: int
    hard: int = 10
    delta: Fraction = ZERO
    sensitivity: int = 1
    rounding: int = 1
    questions: int = 1000
    neighbours: Neighbours = AddRemove()

    def __post_init__(self) -> None:
        self._settled()

    def with_guess(self, value: int, guess: int) -> Guessed:
        """What a step is given, where whoever asks says what they take the count to be."""
        return Guessed(value, guess)

    def _expected(self, state: HoldoutState, query: object) -> tuple[int, int, int]:  # noqa: ARG002  # a ladder's is
        asked = query if isinstance(query, Guessed) else Guessed(query)  # type: ignore[arg-type]  # any has an image
        true, guess = as_value(asked.value), as_value(asked.guess)
        return true, abs(true - guess), guess


@registered("ladder")
@dataclass(frozen=True)
class Ladder(_Checked, Openable[HoldoutState, Guessed | int, Answered, Approximate]):
    """A leaderboard of counts of right predictions: it moves, with noise, where one exceeds the best by a threshold.

    Each answer is the best so far. It begins at 0, moves `hard` times at most, and says nothing else of a submission.

    Guarantee: as of `Thresholdout`.
    Proof: docs/proofs/holdout.md, Theorem 1.
    Source: Blum & Hardt 2015, whose ladder has no noise; the comparison and the noise are those of `Thresholdout`.
    """

    epsilon: Fraction
    threshold: int
    people: int
    hard: int = 10
    delta: Fraction = ZERO
    sensitivity: int = 1
    rounding: int = 1
    questions: int = 1000
    neighbours: Neighbours = AddRemove()

    def __post_init__(self) -> None:
        self._settled()

    def _expected(self, state: HoldoutState, query: object) -> tuple[int, int, int]:
        true = as_value(query.value if isinstance(query, Guessed) else query)
        best = max(state.said, default=0)
        return true, true - best, best
