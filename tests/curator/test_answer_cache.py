"""A question asked again is the same answer, free, until anything that it follows from has changed."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Unpack

import clinic
import pytest

from discreet.curator import Answer, Curator
from discreet.curator.cache import LARGEST, MOST, Recall
from discreet.curator.custody import Custody, Declared
from discreet.curator.postprocessing import rehearse
from discreet.curator.quote import TermsGiven
from discreet.errors import Refusal
from discreet.privacy import Approximate
from discreet.sql.split_at_noise import question

SQL = "SELECT region, count(*) AS n, avg(cost) AS cost FROM visits GROUP BY region"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return clinic.home(tmp_path / "home", clinic.visits(40))


def remembered(curator: Curator) -> int:
    return len(curator._recall._state[1])


def asked(curator: Curator, times: int = 3, **terms: Unpack[TermsGiven]) -> Answer:
    """The answer after it was paid, found in the ledger, and remembered."""
    answers = [curator.query(SQL, **(TermsGiven(epsilon="0.25") | terms)) for _ in range(times)]
    assert all(each.cost is None for each in answers[1:])
    assert all(
        (each.rows, each.spans, each.entry) == (answers[0].rows, answers[0].spans, answers[0].entry) for each in answers
    )
    return answers[-1]


def test_it_is_remembered_once_it_was_free(home: Path) -> None:
    curator = Curator(home)
    assert curator.query(SQL, epsilon="0.25").cost == Approximate("0.25")
    assert remembered(curator) == 0
    asked(curator)
    assert remembered(curator) == 1
    assert Curator(home).query(SQL, epsilon="0.25").rows == asked(curator).rows


def test_what_is_left_is_told_as_it_is_now(home: Path) -> None:
    curator = Curator(home)
    before = asked(curator).left
    Curator(home).query("SELECT count(*) FROM visits", epsilon="0.5")
    after = asked(curator).left
    assert isinstance(before, Approximate)
    assert isinstance(after, Approximate)
    assert before.epsilon - after.epsilon == Approximate("0.5").epsilon


def test_a_better_answer_takes_its_place(home: Path) -> None:
    curator = Curator(home)
    old = asked(curator)
    better = Curator(home).query(SQL, epsilon=1)
    assert curator.query(SQL, epsilon="0.25").rows == better.rows
    assert better.entry != old.entry


def test_fresh_pays_every_time(home: Path) -> None:
    curator = Curator(home)
    asked(curator)
    assert [curator.query(SQL, epsilon="0.25", fresh=True).cost for _ in range(2)] == [Approximate("0.25")] * 2


def test_other_terms_are_another_question(home: Path) -> None:
    curator = Curator(home)
    narrow, wide = asked(curator).spans, curator.query(SQL, epsilon="0.25", confidence="0.999").spans
    for near, far in zip(narrow, wide, strict=True):
        assert near[1] is not None
        assert far[1] is not None
        assert far[1][0] < near[1][0] < near[1][1] < far[1][1]
    assert curator.query(SQL, epsilon=1).cost == Approximate(1)
    assert curator.query(SQL, epsilon="0.25", max_rows=1).cost == Approximate("0.25")


def test_new_rows_are_a_new_question(home: Path) -> None:
    curator = Curator(home)
    old = asked(curator)
    Custody(home).update("visits", clinic.visits(20))
    again = curator.query(SQL, epsilon="0.25")
    assert again.cost == Approximate("0.25")
    assert again.entry != old.entry


def test_it_is_for_those_who_may_ask(home: Path) -> None:
    Custody(home).add("more", clinic.visits(3), clinic.declared())
    for name in ("ana", "bob"):
        Custody(home).let_in(name, "analyst", tables=["visits"])
    curator = Curator(home)
    ana, bob = curator.sibling("ana"), curator.sibling("bob")
    asked(ana)
    asked(bob, times=1)
    Custody(home).shut_out("bob")
    with pytest.raises(Refusal, match="bob"):
        bob.query(SQL, epsilon="0.25")
    Custody(home).shut_out("ana")
    Custody(home).let_in("ana", "analyst", tables=["more"])
    with pytest.raises(Refusal, match="there is no table 'visits'"):
        ana.query(SQL, epsilon="0.25")


def test_public_rows_above_the_noise_are_those_of_now(home: Path) -> None:
    Custody(home).add("names", clinic.visits(3), Declared(public=True))
    curator, sql = Curator(home), "SELECT count(*) AS n FROM names"
    sizes = [curator.query(sql).rows for _ in range(3)]
    Custody(home).update("names", clinic.visits(30))
    assert len(set(sizes)) == 1
    assert curator.query(sql).rows != sizes[0]


def test_questions_in_stages_are_put_together_anew(home: Path) -> None:
    curator = Curator(home)
    sql = "SELECT count(*) FROM visits WHERE cost > (SELECT avg(cost) FROM visits)"
    paid, again = (curator.query(sql, epsilon=1) for _ in range(2))
    assert (paid.rows, again.cost) == (again.rows, None)
    assert remembered(curator) == 0


def test_a_memory_is_not_endless(home: Path) -> None:
    curator = Curator(home)
    answer, known, recall = asked(curator), curator._catalogue, Recall()
    upper = rehearse(question(SQL, clinic.schema()), {})
    for key in range(2 * MOST):
        recall.keep(key, known, answer, (1, upper))
    kept = [key for key in range(2 * MOST) if recall.get(key, known) is not None]
    assert kept == list(range(MOST, 2 * MOST))
    large = Answer(**{**vars(answer), "rows": answer.rows * LARGEST})
    recall.keep("large", known, large, (1, upper))
    recall.keep("of much", known, answer, (LARGEST, upper))
    recall.keep("by more", known, answer, (1, replace(upper, text="x" * 10 * LARGEST)))
    assert [recall.get(key, known) for key in ("large", "of much", "by more")] == [None] * 3


def test_steps_that_use_a_number_twice_do_not_make_it_much_to_remember(home: Path) -> None:
    """Written out, the formula of the error bar is twice as long after each step: as a graph it has a part a step."""
    steps = ", ".join(f"t{i} AS (SELECT s + s AS s FROM t{i - 1})" for i in range(1, 12))
    curator, sql = Curator(home), f"WITH t0 AS (SELECT count(*) AS s FROM visits), {steps} SELECT s FROM t11"
    assert [curator.query(sql, epsilon=1).cost is None for _ in range(2)] == [False, True]
    assert remembered(curator) == 1


def test_what_was_bought_is_shown_free_the_best_of_it_or_at_a_price(home: Path) -> None:
    curator = Curator(home)
    with pytest.raises(Refusal, match="not bought before"):
        curator.query(SQL, free=True)
    bought = [curator.query(SQL, epsilon=price, fresh=True) for price in ("0.25", 1, "0.125", 1, "0.5")]
    for _ in range(3):
        shown = curator.query(SQL, free=True)
        assert (shown.rows, shown.spans, shown.cost) == (bought[3].rows, bought[3].spans, None)
        at_a_price = curator.query(SQL, free=True, epsilon="0.5")
        assert (at_a_price.rows, at_a_price.cost) == (bought[4].rows, None)
    with pytest.raises(Refusal, match="not bought before"):
        curator.query(SQL, free=True, epsilon=2)
    Custody(home).update("visits", clinic.visits(20))
    with pytest.raises(Refusal, match="have changed since"):
        curator.query(SQL, free=True)


def test_nobody_hides_an_answer_behind_a_worse_one(home: Path) -> None:
    curator = Curator(home)
    parts = "SELECT (SELECT count(*) FROM visits WHERE urgent) AS a, (SELECT count(*) FROM visits) AS b"
    staged = "SELECT count(*) FROM visits WHERE cost > (SELECT avg(cost) FROM visits)"
    bought = {sql: curator.query(sql, epsilon=20).rows for sql in (parts, staged)}
    for spoiling in ("SELECT count(*) FROM visits", "SELECT avg(cost) FROM visits"):
        curator.query(spoiling, epsilon="0.001", fresh=True)
    assert curator.query(parts, free=True).rows == bought[parts]
    assert {sql: curator.query(sql, free=True, epsilon=20).rows for sql in bought} == bought


def test_what_was_bought_is_shown_however_low_the_usual_price_is_now(home: Path) -> None:
    rows = Curator(home).query(SQL, epsilon=1).rows
    file = home / "discreet.toml"
    file.write_text(re.sub(r'default_epsilon = ".*"', 'default_epsilon = "1e-25"', file.read_text()))
    assert Curator(home).query(SQL, free=True).rows == rows


@pytest.mark.parametrize("terms", [{"fresh": True}, {"within": True}])
def test_what_is_free_is_not_bought(home: Path, terms: TermsGiven) -> None:
    with pytest.raises(Refusal, match="was bought before"):
        Curator(home).query(SQL, **(terms | TermsGiven(free=True)))
