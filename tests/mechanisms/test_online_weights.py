"""Multiplicative weights online: what is compared, what is said, what the hypothesis learns, and what is refused."""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from covering import RUNS, Coverage
from doubles import Seeded
from hypothesis import given
from hypothesis import strategies as st
from mechanisms.chances import fits
from numpy.typing import NDArray

from discreet.errors import Refusal
from discreet.mechanisms import Answered, CellCount, OnlineWeights, RefreshedOnlineWeights, SparseVector, rebuilt
from discreet.mechanisms.online_weights import WeightsState
from discreet.mechanisms.session import finished
from discreet.mechanisms.weights_histogram import LONGEST, cells_of, chosen, fitted, written, written_at_most
from discreet.noise import SECURE
from discreet.privacy import Approximate, Pure

HALF = Fraction(1, 2)
DOMAIN = (("region", "north", "south"), ("smokes", "false", "true"), ("age", "10", "30", "50", "70"))
SIZE = 16
SURE = OnlineWeights(DOMAIN, Fraction(10**6), Fraction(10**6), Fraction(10**6), 5, 160, hard=8)  # no noise to speak of
SMALL = OnlineWeights(DOMAIN, HALF, HALF, HALF, 6, 160, hard=2, questions=6)

cells = st.integers(0, (1 << SIZE) - 1)


def counted(histogram: NDArray[np.int64], which: int) -> CellCount:
    return CellCount(int(histogram[chosen(which, SIZE)].sum()), which)


def people(seed: int = 1) -> NDArray[np.int64]:
    return np.random.default_rng(seed).multinomial(160, np.random.default_rng(seed).dirichlet(np.full(SIZE, 0.5)))


def test_an_easy_answer_is_the_hypothesis_and_a_hard_one_is_learned() -> None:
    smokers = sum(1 << cell for cell in range(SIZE) if cell // 4 % 2)
    state = SURE.start(Seeded(1))
    for value, said in ((82, Answered(80, hard=False)), (40, Answered(40, hard=True)), (41, Answered(40, hard=False))):
        state = SURE.step(state, CellCount(value, smokers), Seeded(2))
        assert SURE.answers(state)[-1] == said
    rest = smokers ^ ((1 << SIZE) - 1)
    assert (SURE.guessed(state, smokers), SURE.guessed(state, rest)) == (40, 120)
    assert [each.used for each in SURE.used(state)] == [1, 3]


def test_what_is_learned_is_what_was_said_and_not_the_count() -> None:
    for seed in range(20):
        state = SMALL.step(SMALL.start(Seeded(seed)), CellCount(10**6, 3), Seeded(seed))
        assert state.learned == ((3, state.said[-1]),)
    assert any(SMALL.step(SMALL.start(Seeded(s)), CellCount(10**6, 3), Seeded(s)).said != (10**6,) for s in range(20))


def test_an_easy_answer_may_be_off_by_the_threshold_and_the_error_says_so() -> None:
    state = SURE.step(SURE.start(Seeded(1)), CellCount(84, (1 << 8) - 1), Seeded(2))
    assert SURE.answers(state) == (Answered(80, hard=False),)
    assert SURE.error("0.01") == SURE.threshold  # its noise is none
    assert SURE.error("0.01") >= 4


def test_a_hard_question_about_all_cells_says_how_many_there_are() -> None:
    whole = (1 << SIZE) - 1
    state = SURE.step(SURE.start(Seeded(1)), CellCount(500, whole), Seeded(2))
    assert SURE.hypothesis(state).sum() == pytest.approx(500)
    assert SURE.hypothesis(state) == pytest.approx(np.full(SIZE, 500 / SIZE))


def test_without_cells_it_is_the_sparse_vector() -> None:
    """The hypothesis of no cell is 0: the same draws make the same comparisons."""
    values = [3, 7, 5, 9, 6, 1]
    for mechanism in (SMALL, RefreshedOnlineWeights(DOMAIN, HALF, HALF, 6, 160, 2, questions=6)):
        for seed in range(50):
            rng, state, plain = Seeded(seed), mechanism.start(Seeded(seed)), mechanism.comparison.start(Seeded(seed))
            other = Seeded(seed)
            for value in values:
                if finished(mechanism, state):
                    break
                state = mechanism.step(state, value, rng)
                plain = mechanism.comparison.step(plain, value, other)
                assert state.comparison == plain
                if mechanism.answers(state)[-1].hard:
                    break  # from here on the number has used up bits of one of them
                assert state.said[-1] == 0


def test_a_number_has_fresh_noise_of_its_own_scale_and_no_other() -> None:
    rng = Seeded(3)
    mechanism = replace(SMALL, threshold=1, hard=1)
    drawn = [mechanism.answers(mechanism.step(mechanism.start(rng), 10**6, rng))[0].number for _ in range(6000)]
    offs = ["none" if number == 10**6 else "few" if abs(number - 10**6) < 5 else "many" for number in drawn]
    q = math.exp(-1 / float(mechanism.number_scale))

    def law(ratio: float) -> dict[str, float]:
        none, many = (1 - ratio) / (1 + ratio), 2 * ratio**5 / (1 + ratio)
        return {"none": none, "few": 1 - none - many, "many": many}

    assert mechanism.number_scale == 2
    assert replace(SMALL, sensitivity=3).number_scale == 12
    assert fits(offs, law(q))
    assert not fits(offs, law(q ** (1 / 1.3)))
    assert not fits(offs, law(q**1.3))


@given(st.lists(st.tuples(cells, st.integers(-50, 300)), max_size=5), cells)
def test_the_hypothesis_follows_from_what_was_said(learned: list[tuple[int, int]], which: int) -> None:
    """Of two states that said the same, whatever the secret of either is, both guess alike: the state hides no more."""
    first = WeightsState(SURE.start(Seeded(1)).comparison, (), tuple(learned))
    second = WeightsState(SURE.start(Seeded(2)).comparison, (), tuple(learned))
    assert SURE.guessed(first, which) == SURE.guessed(second, which)
    weights = SURE.hypothesis(first)
    assert np.isfinite(weights).all()
    assert (weights >= 0).all()
    total = next((max(1, number) for each, number in reversed(learned) if each == (1 << SIZE) - 1), 160)
    assert weights.sum() == pytest.approx(total)


def test_the_fit_meets_every_number_that_a_histogram_can_meet() -> None:
    histogram = people()
    chosen_cells = [sum(1 << c for c in range(SIZE) if c >> bit & 1) for bit in range(4)]
    pairs = [a & b for a, b in itertools.combinations(chosen_cells, 2)]
    learned = tuple((each, counted(histogram, each).value) for each in (*chosen_cells, *pairs))
    weights = fitted(SIZE, 160, learned)
    for each, number in learned:
        assert weights[chosen(each, SIZE)].sum() == pytest.approx(number, abs=1)


def test_it_learns_until_it_knows() -> None:
    """Random questions about 160 people in 16 cells: after a few hard ones, all are easy."""
    histogram, rng = people(), np.random.default_rng(5)
    generous = replace(SURE, hard=60, questions=2000)
    asked = [counted(histogram, int(rng.integers(1, 1 << SIZE))) for _ in range(1500)]
    answers = generous(asked, rng=Seeded(1))
    assert len(answers) == 1500
    assert 1 <= sum(answer.hard for answer in answers) <= 30
    assert not any(answer.hard for answer in answers[-1000:])
    off = [abs(answer.number - each.value) for answer, each in zip(answers, asked, strict=True)]
    assert max(off) <= generous.error("0.999")


def test_its_error_covers_whole_sessions() -> None:
    """Every answer of a session within α, so confidently; with numbers sixty times as noisy it is refuted."""
    mechanism, level = replace(SMALL, threshold=1, hard=1, questions=4), Fraction(1, 2)
    alpha = mechanism.error(level)
    assert not within(mechanism, alpha).refuted(level)
    assert within(replace(mechanism, epsilon_numbers=HALF / 60), alpha).refuted(level)


def within(mechanism: OnlineWeights, alpha: int) -> Coverage:
    """How many sessions have all their answers so near."""
    rng, questions, hits = Seeded(7), np.random.default_rng(1), 0
    for run in range(RUNS):
        asked = [counted(people(run % 7), int(each)) for each in questions.integers(0, 1 << SIZE, 4)]
        said = mechanism(asked, rng=rng)
        hits += all(abs(answer.number - each.value) <= alpha for answer, each in zip(said, asked, strict=False))
    return Coverage(hits, RUNS)


def test_the_split_loses_exactly_what_was_asked_for() -> None:
    made = OnlineWeights.of("0.3", [["a", "0", "1"]], 10, 7)
    assert made.privacy == Pure(Fraction(3, 10))
    assert made.epsilon_numbers == Fraction(1, 10)
    assert made.threshold == SparseVector(made.epsilon_threshold, made.epsilon_questions, 0, 7).error()
    twin = RefreshedOnlineWeights((("a", "0", "1"),), HALF, HALF, 3, 10, 40, Fraction(1, 10**9))
    assert twin.privacy == Approximate(Fraction(1), Fraction(1, 10**9))
    assert twin.comparison.threshold_scale > 0


@given(cells)
def test_cells_are_written_and_read_back(which: int) -> None:
    text = written(which, SIZE)
    assert cells_of(text) == which
    assert len(text) <= written_at_most(SIZE)


def test_the_wildest_choice_of_cells_has_room() -> None:
    rng = np.random.default_rng(1)
    for size in (1, 7, 1000, 24_000, 1 << 16):
        wild = int.from_bytes(rng.bytes(-(-size // 8)), "little") & ((1 << size) - 1)
        assert len(written(wild, size)) <= written_at_most(size)
    assert written_at_most(24_000) <= LONGEST
    large = OnlineWeights.of(1, [[f"c{i}", "0", "1"] for i in range(16)], 1000, 3)
    state = large.step(large.start(SECURE), CellCount(5, wild), SECURE)
    assert len(json.dumps(large.encode(state))) <= large.room
    assert large.guessed(state, wild) == 0  # which the curator refuses before it is asked


@pytest.mark.parametrize(
    ("domain", "why"),
    [
        ((), "expected domain as columns with their values"),
        ((("a",),), "expected domain as columns with their values"),
        ((("a", "0"), ("a", "1")), "names a column or a value twice"),
        ((("a", "0", "0"),), "names a column or a value twice"),
        (tuple((f"c{i}", "0", "1") for i in range(17)), "131072 cells, more than 65536"),
        ((("a", "\ud800"),), "half a character"),
        ([["a", "0"]], "expected domain as columns with their values"),
    ],
)
def test_a_domain_that_is_none_is_refused(domain: Any, why: str) -> None:  # noqa: ANN401
    with pytest.raises(Refusal, match=why):
        OnlineWeights(domain, HALF, HALF, HALF, 5, 10)


def test_what_is_out_of_range_is_refused() -> None:
    with pytest.raises(Refusal, match="8 ln"):
        RefreshedOnlineWeights(DOMAIN, Fraction(10**4), HALF, 5, 10, delta=Fraction(1, 10))
    with pytest.raises(Refusal, match="records < 2"):
        replace(SMALL, records=1 << 70)
    with pytest.raises(Refusal, match="domain"):
        rebuilt("online-weights", {**_parameters(), "domain": "region"})


def _parameters() -> dict[str, Any]:
    return {
        "epsilon_threshold": 1,
        "epsilon_questions": 1,
        "epsilon_numbers": 1,
        "threshold": 1,
        "records": 5,
    }


def test_an_end_of_numbers_is_no_end_of_a_session() -> None:
    """A step is total, whatever came, and so is the fit, whatever noise there was."""
    state = SURE.start(Seeded(1))
    for value in (10**400, float("nan"), None, CellCount(-(10**400), 3), CellCount(1, 1 << 200), CellCount(2, -1)):
        state = SURE.step(state, value, Seeded(1))  # type: ignore[arg-type]
    assert len(SURE.answers(state)) == 6
    assert np.isfinite(fitted(SIZE, 160, ((3, 10**400), ((1 << SIZE) - 1, -(10**400))))).all()
