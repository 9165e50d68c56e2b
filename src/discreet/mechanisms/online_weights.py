"""Multiplicative weights online: counts over a declared domain, answered from a hypothesis wherever it is good enough.

The hypothesis is a histogram of made-up records over all cells of the domain. Each question is compared with it by the
sparse vector. Where they agree, the hypothesis answers; where they do not, a noisy number does, and the hypothesis
learns it. So easy answers are free, and the whole price is paid at the start for a stated number of hard ones.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.declared.grid import LIMIT
from discreet.errors import Refusal
from discreet.exact import ZERO, Number, count, positive, probability, shown
from discreet.mechanisms.hypothesis import (
    LONGEST,
    Domain,
    cells_of,
    chosen,
    declared,
    fitted,
    listed,
    written,
    written_at_most,
)
from discreet.mechanisms.mechanism import USUAL, Pair, Takes, settle
from discreet.mechanisms.registry import Plain, registered
from discreet.mechanisms.session import Openable, Quota
from discreet.mechanisms.sparse import Above, RefreshedSparseVector, SparseState, SparseVector, as_value
from discreet.noise import Entropy, laplace
from discreet.privacy import AddRemove, Approximate, Neighbours, Pure

_DIGITS = 20  # of an easy answer, which is no number beyond ±2^62


@dataclass(frozen=True)
class CellCount:
    """What a question measured: the exact count, and which cells of the domain it counts, as bits of one number."""

    value: int
    cells: int = 0


@dataclass(frozen=True)
class Answered:
    """An answer: from the hypothesis, or, if it was hard, a number with noise of its own."""

    number: int
    hard: bool


@dataclass(frozen=True)
class WeightsState:
    """The comparison's secret, and what was said: all numbers, and of hard questions the cells."""

    comparison: SparseState = field(repr=False)
    said: tuple[int, ...] = ()
    learned: tuple[tuple[int, int], ...] = ()  # the cells and the number of each hard question


class _Hypothesis:
    """What both forms share: a comparison, numbers with fresh noise, and a hypothesis made of released numbers."""

    takes: ClassVar[Takes] = Takes.STREAM

    domain: Domain
    hard: int
    sensitivity: int
    epsilon_numbers: Fraction
    threshold: int
    records: int
    questions: int

    @property
    def comparison(self) -> SparseVector | RefreshedSparseVector:
        """What says of |count − hypothesis| whether it reaches the threshold."""
        raise NotImplementedError

    @property
    def size(self) -> int:
        """How many cells the domain has."""
        return math.prod(len(axis) - 1 for axis in self.domain)

    @property
    def number_scale(self) -> Fraction:
        """Of the fresh noise on the number of a hard question."""
        return self.hard * self.sensitivity / self.epsilon_numbers

    @property
    def room(self) -> int:
        """Characters of a state, whatever it says."""
        number = (2**63 + 2**64 * (int(self.number_scale) + 1)).bit_length() // 3 + 8
        longest = min(LONGEST, written_at_most(self.size)) + 8
        return self._priced.room + 128 + self.hard * (longest + 2 * number) + self.questions * (_DIGITS + 4)

    def error(self, confidence: Number = USUAL) -> int:
        """α such that, with this probability, every answer of a whole session is within α of its count.

        Data-free, and whatever the domain and `records` say; docs/proofs/online-weights.md, Theorem 2.
        """
        return self.threshold + self._priced.error(confidence)

    @cached_property
    def _priced(self) -> SparseVector | RefreshedSparseVector:
        """The sparse vector with numbers, whose price and whose draws these are."""
        raise NotImplementedError

    def pairs(self) -> tuple[Pair[tuple[CellCount | int, ...]], ...]:
        """Questions about no cell, whose hypothesis stays 0: the sparse vector's worst inputs; and ones about all."""
        whole, rise = (1 << self.size) - 1, self.records + self.threshold
        left = tuple(CellCount(rise, whole) for _ in range(min(3, self.questions)))
        right = tuple(CellCount(rise - self.sensitivity, whole) for _ in left)
        near = "the total is above the hypothesis by just the threshold, or by less"
        bare = [Pair[tuple[CellCount | int, ...]](each.left, each.right, each.why) for each in self.comparison.pairs()]
        return (*bare, Pair(left, right, near))

    def start(self, rng: Entropy) -> WeightsState:
        """The comparison's secret; the hypothesis is even."""
        return WeightsState(self.comparison.start(rng))

    def step(self, state: WeightsState, query: CellCount | int, rng: Entropy) -> WeightsState:
        """Compare the count with the hypothesis; where they are apart, release a number and keep it.

        A number alone is a question about no cell.
        """
        asked = query if isinstance(query, CellCount) else CellCount(query)  # of whatever type: it has an image
        true, cells = as_value(asked.value), self._kept(asked.cells)
        guess = self._guessed(state, cells)
        compared = self.comparison.step(state.comparison, abs(true - guess), rng)
        if not isinstance(compared.answers[-1], Above):
            return WeightsState(compared, (*state.said, guess), state.learned)
        number = true + laplace(self.number_scale, rng=rng)
        return WeightsState(compared, (*state.said, number), (*state.learned, (cells, number)))

    def guessed(self, state: WeightsState, cells: int) -> int:
        """What the hypothesis says of these cells: a function of numbers that were released, and so public."""
        return self._guessed(state, self._kept(cells))

    def hypothesis(self, state: WeightsState) -> NDArray[np.float64]:
        """How many made-up records lie in each cell, the last axis fastest. Public, as the answers are."""
        return fitted(self.size, self.records, state.learned).copy()

    def _guessed(self, state: WeightsState, cells: int) -> int:
        weights = fitted(self.size, self.records, state.learned)
        return min(max(round(float(weights[chosen(cells, self.size)].sum())), -LIMIT), LIMIT)

    def _kept(self, cells: object) -> int:
        """The cells of a question as a state keeps them: none, where it would not hold them."""
        if isinstance(cells, bool) or not isinstance(cells, int) or not 0 <= cells < 1 << self.size:
            return 0
        return cells if len(written(cells, self.size)) <= LONGEST else 0

    def answers(self, state: WeightsState) -> tuple[Answered, ...]:
        """All answers, in order."""
        hard = {place for place, _ in state.comparison.hard}
        return tuple(Answered(number, place in hard) for place, number in enumerate(state.said, start=1))

    def used(self, state: WeightsState) -> tuple[Quota, ...]:
        """Hard answers, and questions."""
        return self.comparison.used(state.comparison)

    def encode(self, state: WeightsState) -> Mapping[str, Plain]:
        """As JSON holds it."""
        learned: list[Plain] = [[written(cells, self.size), number] for cells, number in state.learned]
        return {
            "comparison": dict(self.comparison.encode(state.comparison)),
            "said": list(state.said),
            "learned": learned,
        }

    def decode(self, content: Mapping[str, Any]) -> WeightsState:
        """As it was written."""
        learned = tuple((cells_of(text), int(number)) for text, number in content["learned"])
        comparison = self.comparison.decode(content["comparison"])
        return WeightsState(comparison, tuple(int(number) for number in content["said"]), learned)

    def told(self, answer: Answered) -> Plain:
        """The number, and whether it was hard."""
        return {"number": answer.number, "hard": answer.hard}

    def heard(self, told: Mapping[str, Any]) -> Answered:
        """The answer that was told so."""
        return Answered(int(told["number"]), bool(told["hard"]))

    def _read(self) -> dict[str, object]:
        return {
            "domain": declared(self.domain),
            "epsilon_numbers": positive(self.epsilon_numbers, "epsilon_numbers"),
            "threshold": count(self.threshold, "threshold"),
            "hard": count(self.hard, "hard"),
            "records": _records(self.records),
            "sensitivity": count(self.sensitivity, "sensitivity"),
            "questions": count(self.questions, "questions"),
        }


@registered("online-weights")
@dataclass(frozen=True)
class OnlineWeights(_Hypothesis, Openable[WeightsState, CellCount | int, Answered, Pure]):
    """Answers adaptive counts from a hypothesis over the cells of a domain, and corrects it `hard` times.

    `domain` names columns with their values, `(("region", "north", "south"), ("smokes", "false", "true"))`; `records`
    says about how many rows there are, as it is publicly known or was bought. What either has wrong costs hard answers,
    and neither privacy nor the error.

    Guarantee: if each count differs by at most `sensitivity` between neighbours, Pure(epsilon_threshold +
        epsilon_questions + epsilon_numbers) for everything that a session answers, questions chosen one by one.
    Proof: docs/proofs/online-weights.md, Theorem 1: the hypothesis is a function of released numbers, so that
        |count − hypothesis| moves by at most sensitivity, and the sparse vector compares it.
    Source: Hardt & Rothblum 2010; the comparison is Lyu, Su & Li 2017, Algorithm 1, and not theirs.
    """

    domain: Domain
    epsilon_threshold: Fraction
    epsilon_questions: Fraction
    epsilon_numbers: Fraction
    threshold: int
    records: int
    hard: int = 10
    sensitivity: int = 1
    questions: int = 1000
    neighbours: Neighbours = AddRemove()

    def __post_init__(self) -> None:
        settle(
            self,
            epsilon_threshold=positive(self.epsilon_threshold, "epsilon_threshold"),
            epsilon_questions=positive(self.epsilon_questions, "epsilon_questions"),
            neighbours=self.neighbours,
            **self._read(),
        )

    @classmethod
    def of(  # noqa: PLR0913  # what the mechanism itself is asked for
        cls,
        epsilon: Number,
        domain: Iterable[Sequence[str]],
        records: int,
        hard: int = 10,
        *,
        threshold: int | None = None,
        sensitivity: int = 1,
        questions: int = 1000,
        neighbours: Neighbours = AddRemove(),
    ) -> OnlineWeights:
        """The one that loses exactly `epsilon`, a third of it for numbers, the rest split as the sparse vector does.

        Without a threshold it takes one that noise alone reaches in one session of twenty, however many questions.
        """
        spread = SparseVector.of(epsilon, 0, hard, sensitivity=sensitivity, numeric=True, questions=questions)
        return cls(
            listed(domain),
            spread.epsilon_threshold,
            spread.epsilon_questions,
            spread.epsilon_numbers,
            _reached(spread) if threshold is None else threshold,
            records,
            hard,
            sensitivity,
            questions,
            neighbours,
        )

    @property
    def privacy(self) -> Pure:
        """The whole price, for every answer together."""
        return self._priced.privacy

    @cached_property
    def _priced(self) -> SparseVector:
        return SparseVector(
            self.epsilon_threshold,
            self.epsilon_questions,
            self.threshold,
            self.hard,
            self.sensitivity,
            self.epsilon_numbers,
            questions=self.questions,
            neighbours=self.neighbours,
        )

    @cached_property
    def comparison(self) -> SparseVector:
        """The sparse vector without numbers: those have noise of their own, and are of counts."""
        return SparseVector(
            self.epsilon_threshold,
            self.epsilon_questions,
            self.threshold,
            self.hard,
            self.sensitivity,
            questions=self.questions,
            neighbours=self.neighbours,
        )


@registered("online-weights-refreshed")
@dataclass(frozen=True)
class RefreshedOnlineWeights(_Hypothesis, Openable[WeightsState, CellCount | int, Answered, Approximate]):
    """The same with a threshold drawn anew after each hard answer: δ > 0 buys smaller noise for many hard ones.

    Guarantee: if each count differs by at most `sensitivity` between neighbours, Approximate(epsilon + epsilon_numbers,
        delta), questions chosen one by one. For delta > 0 it needs epsilon ≤ 8 ln(1/delta), and refuses otherwise.
    Proof: docs/proofs/online-weights.md, Theorem 1, with the other comparison.
    Source: Hardt & Rothblum 2010; the comparison is Dwork & Roth 2014, Algorithm 2.
    """

    domain: Domain
    epsilon: Fraction
    epsilon_numbers: Fraction
    threshold: int
    records: int
    hard: int = 10
    delta: Fraction = ZERO
    sensitivity: int = 1
    questions: int = 1000
    neighbours: Neighbours = AddRemove()

    def __post_init__(self) -> None:
        settle(
            self,
            epsilon=positive(self.epsilon, "epsilon"),
            delta=probability(self.delta, "delta"),
            neighbours=self.neighbours,
            **self._read(),
        )
        self._priced  # noqa: B018  # it refuses what its proof does not reach

    @property
    def privacy(self) -> Approximate:
        """The whole price, for every answer together."""
        return self._priced.privacy

    @cached_property
    def _priced(self) -> RefreshedSparseVector:
        return self._compared(self.epsilon_numbers)

    @cached_property
    def comparison(self) -> RefreshedSparseVector:
        """The sparse vector without numbers: those have noise of their own, and are of counts."""
        return self._compared(ZERO)

    def _compared(self, numbers: Fraction) -> RefreshedSparseVector:
        return RefreshedSparseVector(
            self.epsilon,
            self.threshold,
            self.hard,
            self.delta,
            self.sensitivity,
            numbers,
            self.questions,
            self.neighbours,
        )


def _records(records: int) -> int:
    if count(records, "records") > LIMIT:
        raise Refusal(f"expected records < 2^62, got records={shown(records, str)}")
    return int(records)


def _reached(spread: SparseVector) -> int:
    """How far the noise of all comparisons reaches, with the usual confidence."""
    alone = SparseVector(
        spread.epsilon_threshold,
        spread.epsilon_questions,
        0,
        spread.hard,
        spread.sensitivity,
        questions=spread.questions,
    )
    return max(1, alone.error())
