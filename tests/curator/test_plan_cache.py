"""A plan is made once for a text and its declarations; whether it may be read is asked every time."""

from __future__ import annotations

import pytest

from discreet.curator.cache import BYTES, HEAVIEST, MOST, Allow, Plans
from discreet.curator.catalogue import Catalogue
from discreet.errors import Refusal


class Planner:
    """Plans by counting, and reads one table."""

    def __init__(self) -> None:
        self.made = 0

    def __call__(self, allow: Allow) -> int:
        allow({"visits"})
        self.made += 1
        return self.made


def anyone(_: set[str]) -> None:
    """Everybody may read everything."""


def nobody(tables: set[str]) -> None:
    raise Refusal(f"you may not ask about {sorted(tables)}")


def test_the_same_text_is_planned_once() -> None:
    plans, plan, known = Plans(), Planner(), Catalogue()
    assert [plans.recalled("text", known, plan, anyone) for _ in range(3)] == [1, 1, 1]
    assert plans.recalled("other", known, plan, anyone) == 2


def test_new_declarations_make_new_plans() -> None:
    plans, plan = Plans(), Planner()
    assert plans.recalled("text", Catalogue(), plan, anyone) == 1
    assert plans.recalled("text", Catalogue(), plan, anyone) == 2  # equal, but read from the file anew


def test_who_may_no_longer_read_a_table_is_refused_though_the_plan_is_there() -> None:
    plans, plan, known = Plans(), Planner(), Catalogue()
    plans.recalled("text", known, plan, anyone)
    with pytest.raises(Refusal, match="visits"):
        plans.recalled("text", known, plan, nobody)


def test_a_refusal_is_not_kept() -> None:
    plans, plan, known = Plans(), Planner(), Catalogue()
    with pytest.raises(Refusal, match="visits"):
        plans.recalled("text", known, plan, nobody)
    assert plans.recalled("text", known, plan, anyone) == 1


def test_only_so_many_plans_are_kept_and_the_oldest_goes_first() -> None:
    plans, plan, known = Plans(), Planner(), Catalogue()
    for number in range(MOST + 1):
        plans.recalled(number, known, plan, anyone)
    assert plans.recalled(MOST, known, plan, anyone) == MOST + 1
    assert plans.recalled(0, known, plan, anyone) == MOST + 2


def test_plans_are_kept_by_what_they_weigh_and_one_that_weighs_too_much_is_not() -> None:
    plans, known, most = Plans(), Catalogue(), BYTES // HEAVIEST
    for name in range(most + 2):
        plans.recalled(name, known, lambda _: b"x" * (HEAVIEST - 100), anyone)
    assert plans.recalled("huge", known, lambda _: b"x" * HEAVIEST, anyone)
    kept = [name for name in (*range(most + 2), "huge") if plans.get(name, known) is not None]
    assert kept == list(range(2, most + 2))
