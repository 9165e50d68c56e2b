"""What is read of an engine leaves through noise alone: not even the order in which it came does."""

from __future__ import annotations

from collections.abc import Sequence

import clinic
import pytest
from doubles import Seeded

from discreet.curator.noisy_statistics import Group, measure
from discreet.curator.price import priced
from discreet.engines import Counted
from discreet.privacy import AddRemove, Approximate
from discreet.sql.split_at_noise import question

GROUPS: list[Group] = [("b",), (None,), ("a",), ("é",), ("c",)]


class Found:
    """An engine that finds these groups, in this order, of a thousand people each."""

    def __init__(self, groups: Sequence[Group]) -> None:
        self._groups = groups

    def counted(self, _: object, /) -> Counted:
        return Counted(dict.fromkeys(self._groups, 1000), dict.fromkeys(self._groups, (1000,)))

    def distinct(self, _: object, __: object, /) -> dict[Group, int]:
        return {}

    def ranked(self, _: object, __: object, /) -> dict[Group, dict[int, int]]:
        return {}


@pytest.mark.parametrize("groups", [GROUPS, GROUPS[::-1], [*GROUPS[2:], *GROUPS[:2]]])
def test_groups_are_told_in_an_order_that_rows_have_no_say_in(groups: list[Group]) -> None:
    sql = "SELECT diagnosis, count(*) FROM visits GROUP BY diagnosis"
    (price,) = priced(question(sql, clinic.schema()).parts, Approximate(10, "1e-3"), AddRemove("patient"))
    assert measure(price, Found(groups), rng=Seeded(1)).groups == (("a",), ("b",), ("c",), ("é",), (None,))
