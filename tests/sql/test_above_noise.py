"""Answers that become constants of the question around them: any of them, written so that it can be read again."""

from __future__ import annotations

from decimal import Decimal

import pytest
from sqlglot import exp

from discreet.sql.above_noise import number

WHOLE, BROKEN = exp.DataType.build("bigint"), exp.DataType.build("double")


@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [
        (27.0, WHOLE, "27"),
        (-3, WHOLE, "-3"),
        (Decimal("2.50"), BROKEN, "2.5"),
        (1e-7, BROKEN, "1e-07"),
        (10**30, WHOLE, str(10**30)),
        (None, WHOLE, None),
        (float("nan"), BROKEN, None),
        (float("-inf"), WHOLE, None),
        (10**400, BROKEN, None),
    ],
)
def test_an_answer_is_written_in_digits_or_is_missing(value: object, kind: exp.DataType, text: str | None) -> None:
    made = number(value, kind, 3)
    assert made.meta["stage"] == 3
    assert made.meta["missing"] == (text is None)
    assert made.this == (text or "0")
