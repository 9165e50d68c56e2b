"""Learning over a finite class: its scores by hand, the law of the choice, and how many rows are enough."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from covering import Coverage
from doubles import Seeded

from discreet.errors import Refusal
from discreet.learn import ExponentialLearner, RuleLearner
from discreet.mechanisms import Column, Frame
from discreet.privacy import AddRemove, Neighbours, Replace

ONE, ALONE = Fraction(1), AddRemove()


def frame(rows: Sequence[tuple[int, ...]], neighbours: Neighbours = ALONE, most: int = 1) -> Frame:
    columns = [Column("a", bounds=(0, 5), step=1), Column("b", bounds=(0, 3), step=1), Column("y", keys=(0, 1, 2))]
    data = {name: [row[i] for row in rows] for i, name in enumerate(("a", "b", "y"))}
    return Frame.of(data, *columns, neighbours=neighbours, max_rows=most)


@pytest.mark.parametrize("terms", [1, 2])
def test_a_score_is_how_many_rows_a_rule_is_right_about(terms: int) -> None:
    rng = np.random.default_rng(1)
    rows = [tuple(map(int, row)) for row in np.column_stack([rng.integers(0, n, 200) for n in (6, 4, 3)])]
    rows += [(1, 1, 9), (2, 2, 9)]  # of no class
    learner = RuleLearner(("a", "b"), "y", ONE, cuts=3, terms=terms)
    table = frame(rows)
    scores = learner.scores(table)
    rules = [learner.rule(table, place) for place in range(len(scores))]
    assert len(scores) == len(learner.rules(table)) == len(set(rules))
    x, y = np.array(rows)[:, :2], np.array(rows)[:, 2]
    assert [int((rule.predict(x) == y).sum()) for rule in rules] == scores.tolist()


def neighbours(relation: Neighbours, rows: int) -> Iterator[tuple[list[Any], list[Any]]]:
    some = [(0, 0, 0), (5, 3, 1)]
    units = [(a, b, y) for a in (0, 2, 5) for b in (0, 3) for y in (0, 1)]
    for few in ([], some):
        for one in units:
            if relation == ALONE:
                yield few, [*few, *[one] * rows]
            else:
                yield from (([*few, *[other] * rows], [*few, *[one] * rows]) for other in units)


@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("relation", [ALONE, Replace()])
def test_the_law_of_the_choice_changes_by_no_more_than_was_paid_for(relation: Neighbours, rows: int) -> None:
    """Exactly, over all neighbours of small tables: the density of what is told is a list of chances."""
    learner = RuleLearner(("a",), "y", ONE, cuts=1, max_rows=rows, neighbours=relation)
    choice = learner.choice(frame([], relation, rows))

    @cache
    def law(held: tuple[Any, ...]) -> list[float]:
        return [float(chance.up) for chance in choice.law(learner.scores(frame(list(held), relation, rows)))]

    worst = 0.0
    for one, two in neighbours(relation, rows):
        worst = max(worst, *(abs(math.log(p / q)) for p, q in zip(law(tuple(one)), law(tuple(two)), strict=True)))
    assert 0.4 <= worst <= 1 + 1e-9


def test_it_finds_a_rule_that_is_there() -> None:
    rng = np.random.default_rng(3)
    x = rng.uniform(0, 10, size=(4000, 4))
    y = np.where((x[:, 1] >= 4) & (x[:, 3] < 7), "in", "out")
    fitted = ExponentialLearner(1, classes=("in", "out"), bounds=(0, 10), cuts=9, terms=2).fit(x, y)
    assert fitted.score(x, y) > 0.98
    assert "x1 ≥ " in fitted.rule_
    assert fitted.decision_function(x[:5]).shape == (5,)


@pytest.mark.parametrize(("excess", "confidence"), [("0.1", "0.95"), ("0.02", "0.8")])
def test_how_many_rows_are_enough_is_what_the_proof_says(excess: str, confidence: str) -> None:
    """docs/proofs/finite_class.md, "How many rows", in floats: the choice takes half of what may go wrong."""
    learner, known = RuleLearner(("a", "b"), "y", Fraction(1, 2), cuts=3, terms=2), frame([])
    alpha, beta, many = float(excess), 1 - float(confidence), len(learner.rules(known))
    gap = int(learner.choice(known).error(1 - (1 - Fraction(confidence)) / 2))
    for realizable, rare in ((True, math.log(2 * many / beta)), (False, math.log(2 * (many + 1) / beta))):
        most = math.sqrt(2 * rare) + math.sqrt(2 * rare + 4 * gap * (1 if realizable else alpha))
        rows = (most / 2) ** 2 / alpha if realizable else (most / (2 * alpha)) ** 2
        found = learner.rows_needed(known, excess, confidence, realizable=realizable)
        assert found == math.ceil(rows)


@pytest.mark.slow
def test_as_many_rows_as_it_says_are_enough() -> None:
    """At 90 %, over 60 draws: so many misses would come once in 10⁹ if a miss had a chance of a tenth."""
    learner = ExponentialLearner(1, classes=(0, 1), bounds=(0, 1), cuts=20)
    any_law = learner.sample_size("0.15", "0.9", features=2)
    kind = learner.sample_size("0.15", "0.9", features=2, realizable=True)
    assert kind < any_law
    assert learner.sample_size("0.075", "0.9", features=2) > 2 * any_law
    rng, missed = np.random.default_rng(7), [0, 0]
    for _ in range(60):
        for place, (n, noise) in enumerate(((any_law, 0.2), (kind, 0.0))):
            x = rng.uniform(0, 1, size=(n, 2))
            y = (x[:, 0] >= 10 / 21) ^ (rng.random(n) < noise)
            rule = learner.fit(x, y.astype(int))
            fresh = rng.uniform(0, 1, size=(4000, 2))
            excess = float(np.mean(rule.predict(fresh) != (fresh[:, 0] >= 10 / 21))) * (1 - 2 * noise)
            missed[place] += excess > 0.15
    assert not Coverage(max(missed), 60).exceeded(0.1, 5e-10)


def test_what_makes_no_sense_is_refused() -> None:
    for given, said in (({"terms": 3}, "as 1 or 2"), ({"cuts": 0}, "cuts"), ({"epsilon": 0}, "epsilon")):
        with pytest.raises(Refusal, match=said):
            ExponentialLearner(**{"classes": (0, 1), "bounds": (0, 1), **given}).fit([[0.0]], [0])  # type: ignore[arg-type]
    with pytest.raises(Refusal, match="such rules, more than"):
        ExponentialLearner(1, classes=(0, 1), bounds=(0, 1), cuts=99, terms=2).fit(np.zeros((1, 60)), [0])
    with pytest.raises(Refusal, match="no declared keys"):
        RuleLearner(("a",), "y", ONE)(Frame.of({"a": [1], "y": [1]}, *[Column(n, bounds=(0, 1), step=1) for n in "ay"]))


@pytest.mark.parametrize("n", [0, 3])
def test_no_rows_and_one_class_are_fitted_like_any(n: int) -> None:
    fitted = ExponentialLearner(1, classes=(0, 1), bounds=(0, 5)).fit(np.ones((n, 2)), [0] * n)
    assert set(fitted.predict([[1.0, 2.0], [np.nan, 3.0]]).tolist()) <= {0, 1}
    held = RuleLearner(("a",), "y", ONE, cuts=4)
    narrow = Frame.of({"a": [3], "y": [1]}, Column("a", bounds=(3, "3.5"), step=1), Column("y", keys=(0, 1)))
    assert held(narrow, rng=Seeded(1)).literals == ()
