"""Caps, and who may be a unit: what is refused when a table is declared."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.declared.column import Column
from discreet.declared.group_key import Type
from discreet.declared.table import MOST_GROUPS_A_UNIT, MOST_ROWS_A_UNIT, Caps, Table, check_caps, chosen
from discreet.errors import Refusal


@pytest.mark.parametrize("cap", [0, -1, 1.5, "2", float("nan")])
def test_a_cap_is_a_whole_number_of_at_least_one(cap: int) -> None:
    """With none a person would be charged for nothing, whatever they have."""
    for rows, groups in ((cap, 1), (1, cap), (None, cap)):
        with pytest.raises(Refusal, match="expected a whole number max_"):
            check_caps(rows, groups)
        with pytest.raises(Refusal, match="expected a whole number max_"):
            Caps(rows, groups)


def test_a_cap_has_a_largest_value() -> None:
    check_caps(MOST_ROWS_A_UNIT, MOST_GROUPS_A_UNIT)
    for rows, groups in ((MOST_ROWS_A_UNIT + 1, 1), (1, MOST_GROUPS_A_UNIT + 1)):
        with pytest.raises(Refusal, match="<="):
            check_caps(rows, groups)


def test_a_mechanism_needs_a_cap_on_rows() -> None:
    caps = Caps(np.int64(3))  # type: ignore[arg-type]  # as a frame has it
    assert (caps.rows, type(caps.rows)) == (3, int)
    with pytest.raises(Refusal, match="how many rows one unit may have"):
        _ = Caps(None, 5).rows


@pytest.mark.parametrize("kind", Type)
def test_a_unit_is_a_text_or_a_whole_number(kind: Type) -> None:
    """Two people whose numbers differ in the last digit, or in the hour of a day, could become one."""
    columns = (Column("who", kind),)
    if kind in (Type.VARCHAR, Type.BIGINT):
        assert Table("t", columns, population="p", unit="who").unit == "who"
        return
    with pytest.raises(Refusal, match="two people could become one in it"):
        Table("t", columns, population="p", unit="who")


def test_of_names_that_differ_in_case_one_is_meant_if_it_is_spelled_or_the_only_one() -> None:
    assert chosen("cost", ["Cost", "cost"]) == "cost"
    assert chosen("COST", ["Cost", "day"]) == "Cost"
    assert chosen("COST", ["Cost", "cost"]) is None
    assert chosen("costs", ["Cost", "cost"]) is None
