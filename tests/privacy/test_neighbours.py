"""Which promise follows from which, for whom."""

from __future__ import annotations

from fractions import Fraction

import pytest

from discreet.errors import Refusal
from discreet.privacy.divergence import Channel
from discreet.privacy.loss import AddRemove, Approximate, Concentrated, Guarantee, Pure, Replace, parallel
from discreet.privacy.tradeoff import Gaussian

PERSON, ROW = AddRemove("person"), AddRemove("row")


def test_replacing_is_removing_and_adding() -> None:
    assert Guarantee(Pure(1), PERSON).under(Replace("person")) == Guarantee(Pure(2), Replace("person"))
    assert Guarantee(Concentrated("0.5"), PERSON).under(Replace("person")).loss == Concentrated(2)
    assert Guarantee(Gaussian(1), PERSON).under(Replace("person")).loss == Gaussian(4)
    approximate = Guarantee(Approximate(1, "1e-6"), PERSON).under(Replace("person")).loss
    assert approximate.epsilon == 2
    assert Fraction(3718, 10**9) < approximate.delta < Fraction(3719, 10**9)  # 1e-6 (1 + e)


def test_the_same_neighbours_change_nothing() -> None:
    for neighbours in (PERSON, Replace("person")):
        assert Guarantee(Pure(1), neighbours).under(neighbours) == Guarantee(Pure(1), neighbours)


def test_replacing_promises_nothing_about_adding() -> None:
    with pytest.raises(Refusal, match="says nothing about adding or removing"):
        Guarantee(Pure(1), Replace("person")).under(PERSON)


def test_why_replacing_promises_nothing_about_adding() -> None:
    """The number of people, told exactly, is perfectly private among data sets of one size."""
    size = Channel({people: {len(people): Fraction(1)} for people in ("aa", "ab", "aab")})
    assert size.ratio([("aa", "ab")]) == 1
    assert size.ratio([("aa", "aab")]) is None


def test_another_unit_is_another_promise() -> None:
    with pytest.raises(Refusal, match="'row' says nothing about one 'person'"):
        Guarantee(Pure(1), ROW).under(PERSON)


def test_promises_add_under_the_first_ones_neighbours() -> None:
    strict, loose = Guarantee(Pure(1), PERSON), Guarantee(Pure(1), Replace("person"))
    assert strict + strict == Guarantee(Pure(2), PERSON) == 2 * strict
    assert loose + strict == Guarantee(Pure(3), Replace("person"))
    with pytest.raises(Refusal):
        _ = strict + loose


def test_parallel_is_the_largest() -> None:
    parts = [Guarantee(Pure(epsilon), PERSON) for epsilon in (1, 3, 2)]
    assert parallel(*parts) == Guarantee(Pure(3), PERSON)
    assert parallel(parts[0]) == parts[0]


def test_parallel_by_enumeration() -> None:
    """Two rooms, one answer each: a person in either moves one of the answers only."""
    ratio = Fraction(3)
    truth, lie = ratio / (1 + ratio), 1 / (1 + ratio)
    tell = {0: {0: truth, 1: lie}, 1: {0: lie, 1: truth}}
    rooms = Channel({
        (a, b): {(y, z): p * q for y, p in tell[a].items() for z, q in tell[b].items()} for a in (0, 1) for b in (0, 1)
    })  # fmt: skip
    present = [((0, 0), (1, 0)), ((0, 0), (0, 1))]
    moved = [((1, 0), (0, 1))]
    assert rooms.ratio(present) == ratio
    assert rooms.ratio(moved) == ratio**2  # so replacing a person costs twice


def test_parallel_is_refused_where_it_is_false() -> None:
    with pytest.raises(Refusal, match="true for add/remove neighbours of one unit only"):
        parallel(Guarantee(Pure(1), Replace("person")))
    with pytest.raises(Refusal, match="true for add/remove neighbours of one unit only"):
        parallel(Guarantee(Pure(1), PERSON), Guarantee(Pure(1), ROW))
    with pytest.raises(Refusal, match="at least one"):
        parallel()


def test_parallel_needs_a_largest() -> None:
    with pytest.raises(Refusal, match="no one of these losses is the largest"):
        parallel(Guarantee(Approximate(1, "1e-6"), PERSON), Guarantee(Approximate(2, "1e-9"), PERSON))
