"""A wish that nobody could wait for is refused before anything of its size is made."""

from __future__ import annotations

import pytest
from release.published import publication

from discreet.errors import Refusal
from discreet.mechanisms import Column, Frame
from discreet.release import Wish


def test_too_many_tables_are_refused_before_they_are_listed() -> None:
    columns = tuple(Column(f"c{i}", keys=(False, True)) for i in range(60))
    known = Frame.of({column.name: [] for column in columns}, *columns)
    with pytest.raises(Refusal, match="tables of 30, more than"):
        publication(known, Wish.of("marginals", tuple(column.name for column in columns), epsilon=1, ways=30))


def test_marginals_have_no_more_cells_than_a_histogram_may() -> None:
    columns = tuple(Column(f"c{i}", keys=tuple(range(3000))) for i in range(2))
    known = Frame.of({column.name: [] for column in columns}, *columns)
    with pytest.raises(Refusal, match="9006001 cells"):
        publication(known, Wish.of("marginals", ("c0", "c1"), epsilon=1))
    with pytest.raises(Refusal, match="9000000 cells"):
        publication(known, Wish.of("marginals", ("c0", "c1"), epsilon=1, outside="leave out"))


def test_cells_for_other_values_are_refused_where_they_take_too_many_counts() -> None:
    columns = tuple(Column(f"c{i}", keys=("a", "b")) for i in range(30))
    known = Frame.of({column.name: [] for column in columns}, *columns)
    names = tuple(column.name for column in columns)
    for wish in (Wish.of("marginals", names[:13], epsilon=1, ways=13), Wish.of("marginals", names, epsilon=1, ways=4)):
        with pytest.raises(Refusal, match=r"outside='leave out'"):
            publication(known, wish)
    wish = Wish.of("marginals", names[:5], epsilon=1, ways=4)
    assert publication(known, wish).cells == 5 * 3**4
