"""What prices are split into: the chances that a list of groups or an error bar fails add up to what was named."""

from __future__ import annotations

from fractions import Fraction

import clinic

from discreet.curator.price import priced
from discreet.mechanisms import LaplaceKeys
from discreet.privacy import AddRemove, Approximate, Pure
from discreet.sql.split_at_noise import question

PEOPLE = AddRemove("patient")


def test_several_lists_of_groups_share_one_delta() -> None:
    lists = ["SELECT diagnosis AS k, count(*) FROM visits GROUP BY diagnosis"] * 3
    sql = " UNION ALL ".join(f"{each} HAVING count(*) > {i}" for i, each in enumerate(lists))
    other = sql.replace("FROM visits", "FROM visits WHERE urgent", 1).replace("count(*) F", "count(cost) F", 1)
    parts = question(other, clinic.schema()).parts
    assert len(parts) > 1
    whole = Approximate("0.9", "1e-6")
    prices = priced(parts, whole, PEOPLE)
    assert sum((price.loss for price in prices[1:]), prices[0].loss) == whole
    naming = [price.charge(None).mechanism for price in prices]
    assert all(isinstance(each, LaplaceKeys) for each in naming)
    assert sum(each.privacy.delta for each in naming) == Fraction(1, 10**6)


def test_the_two_ends_of_a_median_miss_once_in_twenty_times_together() -> None:
    (price,) = priced(question("SELECT median(cost) FROM visits", clinic.schema()).parts, Pure(1), PEOPLE)
    lower, upper = price.charges[0].ends(Fraction(500))
    assert (1 - lower.confidence) + (1 - upper.confidence) == Fraction(5, 100)
