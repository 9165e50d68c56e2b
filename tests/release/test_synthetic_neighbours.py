"""Neighbouring tables: but for what was measured with noise, nothing that a release of rows tells differs."""

from __future__ import annotations

from datetime import date
from typing import Any

import numpy as np
import pytest
from doubles import Seeded
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.declared.group_key import Type
from discreet.mechanisms import Column, Frame
from discreet.mechanisms.registry import Plain
from discreet.mechanisms.sealed_stages import Stage
from discreet.release import SyntheticRelease, Wish, publication

JOB, PAY = Column("job", keys=("nurse", "baker", "cook")), Column("pay", bounds=(0, 500), step=1)
FLAG = Column("flag", keys=(False, True))
DAY = Column("day", Type.DATE, bounds=(20_454, 20_543))  # the first days of 2026
COLUMNS = JOB, PAY, FLAG, DAY
ONE = st.tuples(
    st.sampled_from(["nurse", "baker", "cook", "spy", None]),
    st.sampled_from([0, 3, 77, 499, 500, 10**9, -4, None, float("nan")]),
    st.sampled_from([True, False, None]),
    st.sampled_from([date(2026, 1, 1), date(2026, 3, 31), date(2031, 5, 5), date(1, 1, 1), "2026-02-03", None, 3]),
)
PARTS: dict[str, dict[str, Any]] = {
    "clique-tree": {"bins": {"pay": "private:5", "day": "week"}, "never": "job=cook & flag=true"},
    "mst": {"bins": {"pay": 12, "day": "private:4"}, "follows": {"flag": "job: nurse>true"}},
    "independent": {"bins": {"pay": "private"}},
    "direct": {
        "bins": {"pay": "0:500:100", "day": "2026-01-01,2026-02-01,2026-03-01"},
        "never": [{"job": ["baker", "cook"], "flag": "false"}],
    },
}


class Told:
    """Keeps what each stage told; or has it beforehand, so that nothing is drawn."""

    def __init__(self, earlier: tuple[Stage, ...] = ()) -> None:
        self.earlier, self.all = earlier, list[Stage]()

    def begin(self, price: Any, left: Any) -> None:  # noqa: ANN401
        assert not self.earlier
        assert left >= 0
        self.all.append(Stage(price, None))

    def seal(self, told: Plain) -> None:
        self.all[-1] = Stage(self.all[-1].price, told)

    def hear(self, share: float) -> None:
        """Whatever."""


def frame(people: list[tuple[Any, ...]]) -> Frame:
    values: dict[str, Any] = {column.name: [person[i] for person in people] for i, column in enumerate(COLUMNS)}
    return Frame.of(values, *COLUMNS, max_rows=2)


@pytest.mark.parametrize("method", PARTS)
@given(st.lists(ONE, max_size=40), st.lists(ONE, min_size=1, max_size=2))
@settings(max_examples=12, deadline=None)
def test_two_neighbours_that_told_the_same_are_released_alike(
    method: str, others: list[tuple[Any, ...]], unit: list[tuple[Any, ...]]
) -> None:
    """What is known beforehand is equal; and the second release, given what the first was told, is equal too."""
    left, right = frame(others), frame([*others, *unit])
    wish = Wish.of("synthetic", ("job", "pay", "flag", "day"), rho="0.3", method=method, rows=25, **PARTS[method])
    plans: list[Any] = [publication(each, wish) for each in (left, right)]
    assert plans[0] == plans[1]
    assert plans[0].preview == plans[1].preview
    once = Told()
    first = plans[0](left, rng=Seeded(1), stages=once)
    again = plans[1](right, rng=Seeded(2), stages=Told(tuple(once.all)))
    assert isinstance(first, SyntheticRelease)
    assert again.facts == first.facts
    assert again.sides == first.sides
    one, two = (release.content.plain for release in (first, again))
    assert {**one, "rows": 0} == {**two, "rows": 0}
    drawn = [release.draw(30, rng=Seeded(3)) for release in (first, again)]
    assert drawn[0].equals(drawn[1])
    for release in (first, again):
        rows = release.rows()
        assert rows.num_rows <= 25
        assert set(rows["job"].to_pylist()) <= {"nurse", "baker", "cook", None}
        pays = rows["pay"].drop_null().to_numpy()
        assert np.all((pays >= 0) & (pays <= 500))
        assert all(date(2026, 1, 1) <= day <= date(2026, 3, 31) for day in rows["day"].drop_null().to_pylist())
