"""Declared sensitivities against all neighbours of small data sets."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations_with_replacement, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import Refusal
from discreet.privacy.calibrate import Sensitivity
from discreet.privacy.loss import AddRemove, Neighbours, Replace

People = tuple[tuple[int, ...], ...]  # the rows of each person

bounds = st.tuples(st.integers(-3, 3), st.integers(-3, 3)).map(lambda pair: (min(pair), max(pair)))


def hands(values: range, rows: int, least: int = 0) -> list[tuple[int, ...]]:
    """Everything one person may bring: at most so many rows."""
    return [hand for size in range(least, rows + 1) for hand in combinations_with_replacement(values, size)]


def pairs(hands: list[tuple[int, ...]], neighbours: Neighbours) -> Iterator[tuple[People, People]]:
    """All neighbours among data sets of one person and, for company, one that stays."""
    for stays, one in product(hands, hands):
        if isinstance(neighbours, AddRemove):
            yield (stays, one), (stays,)
        else:
            for other in hands:
                yield (stays, one), (stays, other)


def total(people: People) -> list[int]:
    return [sum(value for hand in people for value in hand)]


def histogram(people: People) -> list[int]:
    return [sum(hand.count(group) for hand in people) for group in range(4)]


def presence(people: People) -> list[int]:
    return [sum(group in hand for hand in people) for group in range(4)]


@pytest.mark.parametrize("rows", [1, 2, 3])
@pytest.mark.parametrize("neighbours", [AddRemove(), Replace()], ids=str)
def test_a_count(rows: int, neighbours: Neighbours) -> None:
    counted = Sensitivity.of(lambda people: [sum(map(len, people))], pairs(hands(range(1), rows), neighbours))
    assert counted == Sensitivity.of_count(rows)


@given(bounds, st.integers(1, 2), st.sampled_from([AddRemove(), Replace()]), st.booleans())
def test_a_sum(limits: tuple[int, int], rows: int, neighbours: Neighbours, always: bool) -> None:  # noqa: FBT001
    low, high = limits
    can = hands(range(low, high + 1), rows, least=rows if always else 0)
    exactly = Sensitivity.of(total, pairs(can, neighbours))
    assert Sensitivity.of_sum(low, high, neighbours, rows=rows, always=always) == exactly


def test_a_sum_by_hand() -> None:
    assert Sensitivity.of_sum(-2, 10, AddRemove()).l1 == 10
    assert Sensitivity.of_sum(5, 10, Replace()).l1 == 10  # a person may come to have no row
    assert Sensitivity.of_sum(5, 10, Replace(), always=True).l1 == 5
    with pytest.raises(Refusal, match="low=3 and high=2"):
        Sensitivity.of_sum(3, 2, AddRemove())


@pytest.mark.parametrize(
    ("rows", "max_groups"),
    [(rows, groups) for rows in (1, 2) for groups in (1, 2, 3)]
    + [(3, 2), *(pytest.param(3, groups, marks=pytest.mark.slow) for groups in (1, 3))],
)
@pytest.mark.parametrize("neighbours", [AddRemove(), Replace()], ids=str)
def test_a_histogram(rows: int, max_groups: int, neighbours: Neighbours) -> None:
    can = [hand for hand in hands(range(4), rows) if len(set(hand)) <= max_groups]
    declared = Sensitivity.of_histogram(neighbours, max_groups=max_groups, rows=rows)
    exactly = Sensitivity.of(histogram, pairs(can, neighbours))
    assert exactly.linf == declared.linf
    assert exactly.l1 == declared.l1
    assert exactly.l2_squared == declared.l2_squared
    assert exactly.l0 == min(4, declared.l0)  # there are only four groups here


@pytest.mark.parametrize("max_groups", [1, 2])
@pytest.mark.parametrize("neighbours", [AddRemove(), Replace()], ids=str)
def test_a_histogram_of_people(max_groups: int, neighbours: Neighbours) -> None:
    can = [hand for hand in hands(range(4), 3) if len(set(hand)) <= max_groups]
    assert Sensitivity.of(presence, pairs(can, neighbours)) == Sensitivity.of_histogram(
        neighbours, max_groups=max_groups
    )


@given(st.fractions(-5, 5), bounds)
def test_scaling(factor: Fraction, limits: tuple[int, int]) -> None:
    can = hands(range(limits[0], limits[1] + 1), 1)
    scaled = Sensitivity.of(lambda people: [factor * value for value in total(people)], pairs(can, Replace()))
    assert factor * Sensitivity.of(total, pairs(can, Replace())) == scaled


def test_two_queries_together_lose_at_most_what_they_lose_apart() -> None:
    can = hands(range(4), 2)
    both = Sensitivity.of(lambda people: [*histogram(people), *total(people)], pairs(can, AddRemove()))
    apart = Sensitivity.of(histogram, pairs(can, AddRemove())).beside(Sensitivity.of(total, pairs(can, AddRemove())))
    assert both.linf <= apart.linf
    assert both.l0 <= apart.l0
    assert both.l1 <= apart.l1
    assert both.l2_squared <= apart.l2_squared
    assert both.l1 == apart.l1  # one person can do the worst to both


def test_what_is_not_declared_follows() -> None:
    assert Sensitivity(2, 3) == Sensitivity(2, 3, 6, 12)
    assert Sensitivity(2, 3, l1=4) == Sensitivity(2, 3, 4, 8)
    assert Sensitivity(2, 3, l2_squared=5).l2_squared == 5
    assert Sensitivity("0.5").l1 == Fraction(1, 2)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((1, 2, 3), "l1=3 exceeds l0 \\* linf=2"),
        ((2, 3, 4, 9), "l2_squared=9 exceeds l1 \\* linf=8"),
        ((2, 3, 1), "linf=2 exceeds l1=1"),
        ((2, 3, 4, 3), "linf \\*\\* 2=4 exceeds l2_squared=3"),
        ((-1,), "linf=-1"),
        ((1, 0), "l0=0"),
        ((float("nan"),), "linf must be finite, got nan"),
    ],
)
def test_what_cannot_be_is_refused_by_value(arguments: tuple[float, ...], said: str) -> None:
    with pytest.raises(Refusal, match=said):
        Sensitivity(*arguments)  # type: ignore[arg-type]
