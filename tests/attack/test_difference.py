"""Two answers that differ in one person, one question many times, questions without end."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pytest
import template
from doubles import Seeded

from discreet.attack import averaged, difference, everyone_but, exhausted, partial_sums
from discreet.curator import Curator
from discreet.curator.custody import Custody, Declared, found_home
from discreet.errors import OverBudget, Refusal
from discreet.mechanisms import Laplace

ILL = (1, 0, 0, 1, 1, 0)  # the tutorial's six


def first(k: int) -> float:
    return sum(ILL[:k])


def home(folder: Path) -> Curator:
    def make(folder: Path) -> None:
        found_home(folder)
        rows = pa.table({"seat": list(range(6)), "ill": list(ILL)})
        Custody(folder).add("people", rows, Declared(unit="row", epsilon=1, bounds={"ill": (0, 1)}))

    return Curator(template.home(folder, make, "attacked"))


def asking(curator: Curator, epsilon: str) -> Callable[[int], float]:
    def ask(k: int) -> float:
        answer = curator.query(f"SELECT sum(ill) FROM people WHERE seat < {k}", epsilon=epsilon)
        return float(str(answer.rows[0][0]))

    return ask


def test_two_exact_answers_tell_of_the_fifth() -> None:
    assert difference(first, 5, 4) == 1
    assert difference(first, 3, 2) == 0


def test_partial_sums_tell_everything() -> None:
    assert partial_sums(first, 6).tolist() == list(ILL)


@pytest.mark.parametrize("host", range(6))
def test_everyone_but_the_host(host: int) -> None:
    asked: list[frozenset[int]] = []

    def ask(who: frozenset[int]) -> float:
        asked.append(who)
        return sum(ILL[seat] for seat in who)

    assert everyone_but(ask, range(6), host) == ILL[host]
    assert [len(who) for who in asked] == [6, 5]  # neither is about few


def test_fresh_noise_averages_away_and_a_repeated_answer_does_not() -> None:
    rng, noisy = Seeded(1), Laplace(Fraction(1))
    fresh = averaged(lambda: noisy(3, rng=rng), 10_000)
    assert abs(fresh.mean - 3) < 6 * 1.36 / 100  # the discrete law's deviation is √(2q)/(1 − q) < 1.36
    assert fresh.different > 5
    assert "standard error" in str(fresh)
    same = averaged(lambda: 7.0, 100)
    assert (same.mean, same.deviation, same.different) == (7.0, 0.0, 1)
    assert "asking again gave nothing" in str(same)


def test_a_curator_says_again_what_it_said(tmp_path: Path) -> None:
    ask = asking(home(tmp_path), "0.5")
    assert averaged(lambda: ask(5), 20).different == 1


def test_a_curator_answers_until_its_budget_is_spent_and_not_once_more(tmp_path: Path) -> None:
    ask = asking(home(tmp_path), "0.2")
    assert len(exhausted(ask, 100)) == 5
    with pytest.raises(OverBudget):
        averaged(lambda: ask(50), 3)


def test_who_asks_for_enough_stops_by_himself() -> None:
    assert exhausted(float, 3) == [0.0, 1.0, 2.0]


@pytest.mark.parametrize(
    ("attack", "message"),
    [
        (lambda: everyone_but(len, [1, 2], 3), "expected 3 among those"),
        (lambda: partial_sums(first, 0), "people=0"),
        (lambda: averaged(lambda: 1.0, 0), "times=0"),
    ],
)
def test_nonsense_is_refused(attack: Callable[[], object], message: str) -> None:
    with pytest.raises(Refusal, match=message):
        attack()
