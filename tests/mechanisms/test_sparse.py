"""The sparse vector: its exact law by summing over the noisy threshold, its price, its error, its refusals."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from covering import Coverage
from doubles import Seeded
from hypothesis import given
from hypothesis import strategies as st
from mechanisms.chances import fits
from numpy.typing import NDArray

from discreet.errors import Refusal
from discreet.interval_arithmetic import log
from discreet.mechanisms.registry import described, rebuilt
from discreet.mechanisms.session import finished
from discreet.mechanisms.sparse import Above, Below, Comparison, RefreshedSparseVector, SparseState, SparseVector
from discreet.privacy import Approximate, Pure, Replace

Sparse = SparseVector | RefreshedSparseVector
Said = tuple[bool, ...]  # which questions were answered Above
Law = dict[Said, float]

T = 3
THIRD = Fraction(1, 3)


def beyond(k: NDArray[np.int64], scale: float) -> NDArray[np.float64]:
    """Pr[noise ≥ k]."""
    q = math.exp(-1 / scale)
    return np.where(k > 0, q ** np.maximum(k, 0) / (1 + q), 1 - q ** (1 - np.minimum(k, 0)) / (1 + q))


def law(values: Sequence[int], mechanism: Sparse, *, wider: float = 1.0) -> Law:
    """The probability of every transcript by its definition: a sum over the noisy threshold, a product over questions.

    The thresholds left out weigh less than e^−60 together.
    """
    theta, each = (float(scale) * wider for scale in (mechanism.threshold_scale, mechanism.question_scale))
    reach = np.arange(-math.ceil(60 * theta), math.ceil(60 * theta) + 1)
    weight = np.exp(-np.abs(reach) / theta) * math.tanh(1 / (2 * theta))
    strict = 0 if isinstance(mechanism, SparseVector) else 1
    tails = {value: beyond(T + reach + strict - value, each) for value in values}
    laws: Law = {}

    def follow(said: Said, done: float, mass: NDArray[np.float64]) -> None:
        """`mass`: the probability of what was said since the threshold was drawn, for each threshold."""
        if len(said) == len(values) or sum(said) == mechanism.hard:
            laws[said] = done * float(mass.sum())
            return
        above = tails[values[len(said)]]
        follow((*said, False), done, mass * (1 - above))
        if isinstance(mechanism, SparseVector):
            follow((*said, True), done, mass * above)
        else:
            follow((*said, True), done * float((mass * above).sum()), weight)

    follow((), 1.0, weight)
    return laws


def loss(left: Law, right: Law) -> float:
    assert left.keys() == right.keys()
    return max(abs(math.log(left[said] / right[said])) for said in left)


PLAIN = SparseVector(Fraction(1, 2), Fraction(1, 2), T)
MECHANISMS: list[Sparse] = [
    PLAIN,
    SparseVector.of(1, T, 2),
    SparseVector.of(2, T, 2, sensitivity=2),
    SparseVector.of(1, T, 2, monotone=True),
    RefreshedSparseVector(Fraction(1), T, 2),
    RefreshedSparseVector(Fraction(1), T, 1, sensitivity=2),
]


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
def test_no_two_neighbours_lose_more_than_the_price(mechanism: Sparse) -> None:
    """All value sequences of length 3 around the threshold, all their neighbours, all transcripts."""
    size, price = mechanism.sensitivity, float(mechanism.privacy.epsilon)
    spots = [T - size, T, T + size]
    laws = {values: law(values, mechanism) for values in itertools.product(spots, repeat=3)}
    for left, right in itertools.product(laws, repeat=2):
        moves = [b - a for a, b in zip(left, right, strict=True)]
        one_way = all(move >= 0 for move in moves) or all(move <= 0 for move in moves)
        if max(map(abs, moves)) <= size and (one_way or not getattr(mechanism, "monotone", False)):
            assert loss(laws[left], laws[right]) <= price * (1 + 1e-9), (left, right)


@pytest.mark.parametrize(
    "mechanism",
    [PLAIN, SparseVector.of(1, T, monotone=True), SparseVector.of(1, T, 3)],
    ids=["plain", "monotone", "three"],
)
def test_the_price_is_what_a_long_session_loses(mechanism: SparseVector) -> None:
    """With a hundred easy questions before the hard ones the bound is met: no smaller price could be claimed."""
    fall = 0 if mechanism.monotone else 1
    left, right = (T,) * 100 + (T + fall,) * mechanism.hard, (T + 1,) * 100 + (T,) * mechanism.hard
    said = (False,) * 100 + (True,) * mechanism.hard
    lost = math.log(law_of(said, left, mechanism) / law_of(said, right, mechanism))
    assert lost == pytest.approx(float(mechanism.privacy.epsilon), abs=1e-9)


def law_of(said: Said, values: Sequence[int], mechanism: SparseVector) -> float:
    theta, each = float(mechanism.threshold_scale), float(mechanism.question_scale)
    reach = np.arange(-math.ceil(60 * theta), math.ceil(60 * theta) + 1)
    mass = np.exp(-np.abs(reach) / theta)
    for value, above in zip(values, said, strict=True):
        tail = beyond(T + reach - value, each)
        mass *= tail if above else 1 - tail
    return float(mass.sum())


def test_values_that_move_both_ways_break_the_monotone_price() -> None:
    """So the option is a promise of the caller, and the enumeration above would notice a wrong one."""
    mechanism = SparseVector.of(1, T, monotone=True)
    left, right = (T,) * 8 + (T + 1,), (T + 1,) * 8 + (T,)
    assert loss(law(left, mechanism), law(right, mechanism)) > 1


def shown(answers: Sequence[Comparison]) -> Said:
    return tuple(isinstance(answer, Above) for answer in answers)


@pytest.mark.parametrize("mechanism", [SparseVector.of(4, T, 2), RefreshedSparseVector(Fraction(4), T, 2)], ids=repr)
def test_the_implementation_follows_that_law_and_no_other(mechanism: Sparse) -> None:
    """False alarms: at most 1e-9 (exact binomial, a union over transcripts), if the bits were fresh; they are fixed."""
    values, rng = (T - 4, T, T + 5, T - 2), Seeded(5)
    seen = [shown(mechanism(values, rng=rng)) for _ in range(8_000)]
    assert fits(seen, law(values, mechanism))
    assert not fits(seen, law(values, mechanism, wider=1.5))
    assert not fits(seen, law(values, mechanism, wider=0.6))


@pytest.mark.parametrize("old", [T - 10**6, T + 10**6])
@pytest.mark.parametrize(
    ("mechanism", "value", "anew"),
    [
        (SparseVector(Fraction(1, 2), Fraction(1, 2), T, 2), T + 10**9, False),
        (SparseVector(Fraction(1, 2), Fraction(1, 2), T, 2), T - 10**9, False),
        (RefreshedSparseVector(Fraction(1), T, 2), T + 10**9, True),
        (RefreshedSparseVector(Fraction(1), T, 2), T - 10**9, False),
    ],
    ids=["kept, hard", "kept, easy", "drawn anew, hard", "drawn anew, easy"],
)
def test_only_the_lecture_s_form_draws_its_threshold_anew_and_only_after_a_hard_answer(
    mechanism: Sparse, value: int, old: int, *, anew: bool
) -> None:
    """From a threshold that no draw could give: what follows has the law of a first one, whatever the old one was.

    θ = 2 · 2/1. False alarms: 1e-10 (Dvoretzky, Kiefer & Wolfowitz; Massart 1990), if the bits were fresh.
    """
    runs, rng = 1500 if anew else 20, Seeded(9)
    thresholds = np.array([mechanism.step(SparseState(old), value, rng).threshold for _ in range(runs)])
    if not anew:
        assert set(thresholds.tolist()) == {old}
        return
    at, allowed = np.arange(-60, 61), math.sqrt(math.log(2 / 1e-10) / (2 * runs))
    seen = (thresholds[:, None] - T <= at).mean(axis=0)
    assert np.abs(seen - (1 - beyond(at + 1, 4.0))).max() <= allowed
    assert all(np.abs(seen - (1 - beyond(at + 1, other))).max() > allowed for other in (2.0, 8.0))


def test_a_number_has_fresh_noise_of_its_own_scale() -> None:
    """The released number minus the value is discrete Laplace, also given that the comparison said Above.

    False alarms: 1e-9 (Dvoretzky, Kiefer & Wolfowitz; Massart 1990), if the bits were fresh.
    """
    mechanism, value = SparseVector(Fraction(2), Fraction(2), T, epsilon_numbers=Fraction(1, 2)), T
    runs, rng = 6000, Seeded(6)
    answers = [mechanism((value,), rng=rng)[0] for _ in range(runs)]
    noise = np.array([a.number - value for a in answers if isinstance(a, Above) and a.number is not None])
    assert noise.size == sum(isinstance(answer, Above) for answer in answers) > 2000
    allowed = math.sqrt(math.log(2 / 1e-9) / (2 * noise.size))

    def distance(scale: float) -> float:
        at = np.arange(-40, 41)
        truth = 1 - beyond(at + 1, scale)
        return float(np.abs((noise[:, None] <= at).mean(axis=0) - truth).max())

    assert distance(2.0) <= allowed
    assert distance(1.3) > allowed
    assert distance(3.0) > allowed


def test_the_price_of_a_session_is_the_sum_of_its_shares() -> None:
    assert SparseVector(Fraction(1, 5), Fraction(2, 5), 0, epsilon_numbers=Fraction(2, 5)).privacy == Pure(1)
    assert RefreshedSparseVector(
        Fraction(1), 0, delta=Fraction(1, 10**6), epsilon_numbers=THIRD
    ).privacy == Approximate(Fraction(4, 3), Fraction(1, 10**6))


@given(
    st.fractions(Fraction(1, 1000), 10), st.integers(1, 50), st.sampled_from(list(itertools.product([0, 1], [0, 1])))
)
def test_splitting_a_price_spends_exactly_that_price(epsilon: Fraction, hard: int, options: tuple[int, int]) -> None:
    numeric, monotone = map(bool, options)
    mechanism = SparseVector.of(epsilon, 7, hard, sensitivity=3, numeric=numeric, monotone=monotone)
    assert mechanism.privacy == Pure(epsilon)
    assert (mechanism.number_scale is not None) == numeric


@pytest.mark.parametrize(("hard", "moves"), list(itertools.product([1, 3, 20], ["one way", "both ways"])))
def test_the_split_has_the_least_variance(hard: int, moves: str) -> None:
    def variance(mechanism: SparseVector) -> Fraction:
        return mechanism.threshold_scale**2 + mechanism.question_scale**2

    best = SparseVector.of(1, 0, hard, monotone=moves == "one way")
    for nudge in (Fraction(-1, 50), Fraction(1, 50)):
        other = replace(
            best,
            epsilon_threshold=best.epsilon_threshold * (1 + nudge),
            epsilon_questions=1 - best.epsilon_threshold * (1 + nudge),
        )
        assert variance(best) < variance(other)


def test_the_lecture_s_scales() -> None:
    pure = RefreshedSparseVector(Fraction(1, 2), 0, 3, sensitivity=5)
    assert [pure.threshold_scale, pure.question_scale] == [Fraction(60), Fraction(120)]
    rooted = RefreshedSparseVector(Fraction(1, 2), 0, 3, delta=Fraction(1, 10**6), sensitivity=5)
    wanted = 5 * math.sqrt(32 * 3 * math.log(1e6)) / 0.5
    assert float(rooted.threshold_scale) == pytest.approx(wanted, rel=1e-12)
    squared = 25 * 32 * 3 * log(10**6) / Fraction(1, 4)
    assert squared.up <= rooted.threshold_scale**2 <= squared.down * (1 + Fraction(1, 10**15))  # rounded up, barely


@pytest.mark.parametrize("hard", [1, 2, 10, 100])
@pytest.mark.parametrize("delta", [Fraction(1, 4), Fraction(1, 100), Fraction(1, 10**9)])
@pytest.mark.parametrize("share", [Fraction(1, 100), Fraction(1, 2), Fraction(999, 1000)])
def test_the_lecture_s_range_is_where_advanced_composition_proves_it(
    hard: int, delta: Fraction, share: Fraction
) -> None:
    """An independent look: c mechanisms of ε₀ = 2Δ/θ each, by the exact optimal composition (Kairouz et al. 2017)."""
    epsilon = share * 8 * Fraction(math.log(1 / delta)).limit_denominator(10**6)
    mechanism = RefreshedSparseVector(epsilon, 0, hard, delta=delta)
    each = 2 / float(mechanism.threshold_scale)
    terms = [
        math.comb(hard, lies) * max(0.0, math.exp((hard - lies) * each) - math.exp(float(epsilon) + lies * each))
        for lies in range(hard + 1)
    ]
    assert sum(terms) / (1 + math.exp(each)) ** hard <= float(delta)


@pytest.mark.parametrize(
    "mechanism",
    [
        SparseVector.of(1, T, 3, questions=40),
        SparseVector.of(1, T, 3, numeric=True, questions=40),
        RefreshedSparseVector(Fraction(1), T, 3, epsilon_numbers=Fraction(1, 2), questions=40),
    ],
    ids=["plain", "numeric", "refreshed"],
)
def test_all_answers_are_right_within_the_error(mechanism: Sparse) -> None:
    """1,000 sessions at confidence 0.9: so few right ones would be seen once in 1e9 times (exact binomial)."""
    alpha, rng = mechanism.error(Fraction(9, 10)), Seeded(7)
    values = [T + round(alpha * x / 10) for x in range(-12, 0)] * 3 + [T, T + alpha // 2, T + 2 * alpha, T + 2 * alpha]

    def right(answers: tuple[Comparison, ...]) -> bool:
        for value, answer in zip(values, answers, strict=False):
            if isinstance(answer, Below) and value > T + alpha:
                return False
            if isinstance(answer, Above):
                if value < T - alpha:
                    return False
                if answer.number is not None and abs(answer.number - value) > alpha:
                    return False
        return True

    covered = Coverage(sum(right(mechanism(values, rng=rng)) for _ in range(1000)), 1000)
    assert not covered.refuted(0.9), covered


def test_a_tighter_error_would_not_cover() -> None:
    """The bound is a union bound, not a guess: a quarter of it is broken far more often than it promises."""
    mechanism, rng = SparseVector.of(1, T, 1, questions=40), Seeded(8)
    small = mechanism.error(Fraction(9, 10)) // 4
    wrong = sum(Above() in mechanism((T - small - 1,) * 40, rng=rng) for _ in range(500))
    assert wrong > 100


def test_it_stops_after_the_last_hard_answer_and_after_the_last_question() -> None:
    high = (T + 10**6,) * 10
    assert len(SparseVector.of(1, T, 3)(high, rng=Seeded(1))) == 3
    assert len(SparseVector.of(1, T, 20, questions=4)(high, rng=Seeded(1))) == 4
    assert SparseVector.of(1, T, 3)((), rng=Seeded(1)) == ()


@pytest.mark.parametrize("value", [10**400, -(10**400), 2**62, -(2**63)])
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
def test_every_whole_number_is_answered(mechanism: Sparse, value: int) -> None:
    answers = mechanism((value,), rng=Seeded(2))
    assert answers == ((Above() if value > 0 else Below()),)


@pytest.mark.parametrize(
    ("value", "once", "refreshed"), [(T - 1, Below, Below), (T, Above, Below), (T + 1, Above, Above)]
)
def test_on_a_tie_the_first_says_above_and_the_lecture_s_form_below(
    value: int, once: type[Comparison], refreshed: type[Comparison]
) -> None:
    """With hardly any noise the comparison itself shows: ≥ in Theorem 1, > in Theorem 2."""
    price = Fraction(10**3)
    assert SparseVector(price, price, T)((value,), rng=Seeded(2)) == (once(),)
    assert RefreshedSparseVector(price, T)((value,), rng=Seeded(2)) == (refreshed(),)


@pytest.mark.parametrize("mechanism", [*MECHANISMS, replace(PLAIN, questions=1, hard=5)], ids=repr)
def test_the_worst_pairs_are_neighbours_that_a_session_can_ask(mechanism: Sparse) -> None:
    for pair in mechanism.pairs():
        assert len(pair.left) == len(pair.right) <= mechanism.questions
        moves = [b - a for a, b in zip(pair.left, pair.right, strict=True)]
        assert max(map(abs, moves)) == mechanism.sensitivity
        if getattr(mechanism, "monotone", False):
            assert min(moves) >= 0 or max(moves) <= 0


def test_the_worst_pair_is_worse_than_a_plain_one() -> None:
    (pair,) = PLAIN.pairs()
    plain = loss(law((T,), PLAIN), law((T + 1,), PLAIN))
    assert loss(law(pair.left, PLAIN), law(pair.right, PLAIN)) > 1.5 * plain


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
def test_it_goes_through_a_door(mechanism: Sparse) -> None:
    assert rebuilt(**described(mechanism)) == mechanism


REFUSED: list[tuple[Callable[[], object], str]] = [
    (lambda: SparseVector.of(0, T), "epsilon > 0, got epsilon=0"),
    (lambda: SparseVector.of("nan", T), "got 'nan'"),
    (lambda: SparseVector(Fraction(1), Fraction(-1), T), "epsilon_questions > 0, got epsilon_questions=-1"),
    (lambda: SparseVector(Fraction(1), Fraction(1), T, epsilon_numbers=Fraction(-1)), "epsilon_numbers >= 0"),
    (lambda: SparseVector.of(1, T, 0), "hard >= 1, got hard=0"),
    (lambda: SparseVector.of(1, T, sensitivity=0), "sensitivity >= 1, got sensitivity=0"),
    (lambda: SparseVector.of(1, T, questions=0), "questions >= 1, got questions=0"),
    (lambda: SparseVector.of(1, 1 << 62), "threshold"),
    (lambda: SparseVector.of(1, 0.5), "threshold"),  # type: ignore[arg-type]
    (lambda: SparseVector.of(1, T, monotone=1), "monotone"),  # type: ignore[arg-type]
    (lambda: SparseVector.of(1, T, monotone=True, neighbours=Replace()), "expected monotone=False for Replace"),
    (lambda: replace(PLAIN, monotone=True, neighbours=Replace("person")), "got monotone=True"),
    (lambda: RefreshedSparseVector(Fraction(0), T), "epsilon > 0, got epsilon=0"),
    (lambda: RefreshedSparseVector(Fraction(1), T, delta=Fraction(1)), "delta < 1, got delta=1"),
    (lambda: RefreshedSparseVector(Fraction(112), T, delta=Fraction(1, 10**6)), "the proof ends at epsilon = 8 ln"),
    (lambda: PLAIN.error(1), "confidence < 1, got confidence=1"),
]


@pytest.mark.parametrize(("build", "words"), REFUSED, ids=[words for _, words in REFUSED])
def test_nonsense_is_refused_by_name(build: Callable[[], object], words: str) -> None:
    with pytest.raises(Refusal) as refused:
        build()
    assert words in str(refused.value)


def test_the_lecture_s_range_ends_where_it_is_said_to_end() -> None:
    """8 ln(10^6) = 110.52…"""
    assert RefreshedSparseVector(Fraction(110), T, delta=Fraction(1, 10**6)).privacy.epsilon == 110


def test_a_finished_session_is_finished() -> None:
    state = PLAIN.start(Seeded(3))
    assert not finished(PLAIN, state)
    assert finished(PLAIN, PLAIN.step(state, T + 10**6, Seeded(3)))
