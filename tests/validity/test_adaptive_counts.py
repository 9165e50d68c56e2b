"""Sessions that state the error to the population: it covers, also for an analyst who overfits, and in a home."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from covering import Coverage
from doubles import Seeded

import discreet as dp
from discreet.errors import OverBudget, Refusal
from discreet.privacy import Approximate, Concentrated, convert
from discreet.validity import AdaptiveCounts, adaptive_error, claims, stated_error


def test_the_price_and_the_noise_belong_together() -> None:
    asked = AdaptiveCounts(Fraction(1, 50), 1000, 40, 3)
    assert asked.privacy == Concentrated("0.02")
    assert asked.variance == 40 * 9 / (2 * Fraction(1, 50))
    with_delta = AdaptiveCounts(Fraction(1, 50), 1000, 40, delta=Fraction(1, 10**6))
    assert with_delta.privacy == convert(Concentrated("0.02"), Approximate, delta="1e-6")


def test_the_planned_one_states_the_error_of_its_plan() -> None:
    plan = adaptive_error(10_000, 100)
    asked = AdaptiveCounts.planned(10_000, 100)
    assert asked.variance == plan.variance
    assert float(asked.population_error) == pytest.approx(float(plan.error), rel=1e-3)


def test_noise_that_is_too_small_or_too_large_is_further_from_the_population() -> None:
    plan = adaptive_error(10_000, 1000)
    for factor in (Fraction(1, 9), Fraction(9)):
        variance = plan.variance * factor
        assert stated_error(10_000, 1000, variance, Concentrated(1000 / (2 * variance))) > plan.error * Fraction(11, 10)


def overfits(asked: AdaptiveCounts, seed: int) -> bool:
    """Whether all intervals hold: of columns of coins, and of the rule that says what the answers together suggest."""
    rng, noise = np.random.default_rng(seed), Seeded(seed)
    agree = rng.integers(0, 2, size=(asked.people, asked.questions - 1))
    state = asked.start(noise)
    for column in agree.T:
        state = asked.step(state, int(column.sum()), noise)
    signs = np.where(np.array(state) > asked.people / 2, 1, -1)
    state = asked.step(state, int(((2 * agree - 1) @ signs > 0).sum()), noise)
    return all(answer.low <= Fraction(1, 2) <= answer.high for answer in asked.answers(state))


def test_intervals_cover_the_population_for_an_analyst_who_overfits() -> None:
    asked = AdaptiveCounts.planned(1000, 52)
    assert not Coverage(sum(overfits(asked, seed) for seed in range(30)), 30).refuted(0.95)
    plain = math.sqrt(math.log(2 * 52 / 0.05) / 2000)  # what a textbook says of exact answers
    exact = AdaptiveCounts(Fraction(10**9), 1000, 52)
    told = []
    for seed in range(30):
        rng, noise = np.random.default_rng(seed), Seeded(seed)
        agree = rng.integers(0, 2, size=(1000, 51))
        signs = np.where(agree.sum(axis=0) > 500, 1, -1)
        (number,) = exact.step((), int(((2 * agree - 1) @ signs > 0).sum()), noise)
        told.append(abs(number / 1000 - 0.5) <= plain)
    assert Coverage(sum(told), 30).refuted(0.95)


def test_in_a_home_the_stated_error_covers_the_population(tmp_path: Path) -> None:
    """3000 people of a population in which no column has to do with the label; asked in SQL, then overfitted."""
    people, columns, rng = 3000, 12, np.random.default_rng(7)
    rows: dict[str, list[int]] = {f"c{i}": rng.integers(0, 2, people).tolist() for i in range(columns)}
    rows |= {"person": list(range(people)), "label": rng.integers(0, 2, people).tolist()}
    db = dp.create(tmp_path / "home")
    db.add("study", rows, unit="person", rho=1, max_rows=1)
    asked = AdaptiveCounts.planned(people, columns + 1)
    session = db.open_session(asked, "study")
    votes = []
    for i in range(columns):
        answer = session.ask(f"SELECT count(DISTINCT person) FROM study WHERE c{i} = label")
        assert answer.low <= Fraction(1, 2) <= answer.high
        assert answer.low > 0.25
        votes.append(f"(CASE WHEN c{i} = label THEN 1 ELSE 0 END)" if answer.number > people / 2 else "0")
    sql = f"SELECT count(DISTINCT person) FROM study WHERE {' + '.join(votes)} >= {sum(v != '0' for v in votes) / 2}"
    last = session.ask(sql)
    assert last.high - last.low == session.answers[0].high - session.answers[0].low
    assert db.budget("person").spent == Concentrated(asked.rho)
    assert session.told[-1] == {"number": last.number, "population": [f"{float(e):.6f}" for e in (last.low, last.high)]}
    with pytest.raises(OverBudget, match="13 questions of 13"):
        session.ask(sql)


def test_both_ends_are_as_far_away_as_is_stated() -> None:
    asked = AdaptiveCounts.planned(10_000, 20)
    (answer,) = asked.answers((5000,))
    assert 0.05 < asked.population_error < 0.2
    for end in (answer.low, answer.high):
        assert asked.population_error <= abs(end - Fraction(1, 2)) <= asked.population_error + Fraction(1, 10**6)


def test_claims_are_the_intervals_that_were_stated() -> None:
    asked = AdaptiveCounts(Fraction(1, 100), 1000, 5)
    answers = asked.answers((500, -30, 1100))
    told = claims(asked, answers)
    assert [(claim.low, claim.high) for claim in told] == [(answer.low, answer.high) for answer in answers]
    assert [float(claim.answer) for claim in told] == [0.5, 0, 1]


def test_sums_that_may_fall_are_refused(tmp_path: Path) -> None:
    db = dp.create(tmp_path / "home")
    rows = {"person": [1, 2], "change": [-1.0, 1.0]}
    db.add("study", rows, unit="person", rho=1, max_rows=1, bounds={"change": (-1, 1)})
    session = db.open_session(AdaptiveCounts(Fraction(1, 10), 2, 3), "study")
    with pytest.raises(Refusal, match="negative"):
        session.ask("SELECT sum(change) FROM study")


def test_what_makes_no_sense_is_refused() -> None:
    for fields, says in [
        ({"rho": 0}, "rho > 0"),
        ({"people": 0}, "people >= 1"),
        ({"people": 2**62}, "2\\^62"),
        ({"rho": Fraction(1, 10**2000)}, "too large for a session"),
        ({"confidence": 1}, "confidence < 1"),
    ]:
        with pytest.raises(Refusal, match=says):
            AdaptiveCounts(**{"rho": Fraction(1), "people": 10, **fields})  # type: ignore[arg-type, dict-item]
