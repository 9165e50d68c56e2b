"""What a person reads who prints an answer: an error bar that covers what it covered, in digits that mean something."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.curator.answer import Answer

NUMBERS = st.floats(-1e17, 1e17)


def printed(cell: object, span: tuple[float, float] | None, kind: str = "double") -> str:
    spans = ((span,),)
    answer = Answer(
        ("s",), (kind,), ((cell,),), None, None, "1", "", Fraction(95, 100), spans, lambda _: spans, noisy=(True,)
    )
    return str(answer).splitlines()[1]


@given(NUMBERS, st.floats(0, 1e9), st.floats(0, 1e9))
def test_a_printed_bar_holds_all_of_the_bar_and_the_number(cell: float, down: float, up: float) -> None:
    low, high = cell - down, cell + up
    number, ends = printed(cell, (low, high)).split(" [")
    first, last = ends.removesuffix("]").split(", ")
    assert float(first) <= low <= high <= float(last)  # as doubles: a long one is written in the digits that say which
    assert float(first) <= float(number) <= float(last)
    assert float(last) - float(first) <= (high - low) * 1.001 + 1e-11


@pytest.mark.parametrize(
    ("cell", "span", "said"),
    [
        (287.40249433014355, (102.7910569, 407.5740904), "287.4 [102.79, 407.58]"),
        (3089, (2789.0, 3389.0), "3089 [2789, 3389]"),
        (1234567890123.25, (1234567890023.0, 1234567890223.0), "1234567890123.25 [1234567890023, 1234567890223]"),
        (1234567890123, (1234567890023.0, 1234567890223.0), "1234567890123 [1234567890023, 1234567890223]"),
        (0.0, (-1e-9, 1e-9), "0 [-0.000000001, 0.000000001]"),
        (1.5, (1.5, 1.5), "1.5 [1.5, 1.5]"),
        (5.0, (float("-inf"), 7.0), "5 [-inf, 7]"),
        (5.25, None, "5.25 (no error bar)"),
        (None, None, "NULL"),
    ],
)
def test_examples(cell: object, span: tuple[float, float] | None, said: str) -> None:
    assert printed(cell, span) == said
