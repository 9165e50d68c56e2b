"""Error bars in a notice: what is said of a column covers every row of it."""

from __future__ import annotations

from fractions import Fraction

from discreet.curator import Answer
from discreet.server.pgwire.question_to_desk import bars_told


def answer(rows: list[tuple[object, ...]], spans: list[tuple[tuple[float, float] | None, ...]]) -> Answer:
    names = ("region", "n", "cost", "most")
    types = ("varchar", "bigint", "double", "double")
    noisy = (False, True, True, True)
    return Answer(
        names, types, tuple(rows), None, None, "1", "", Fraction(95, 100), tuple(spans), lambda _: (), noisy=noisy
    )


def test_a_line_for_each_column_that_covers_all_of_it() -> None:
    found = answer(
        [("a", 100, 12.0, 7.0), ("b", 50, 30.0, 8.0)],
        [(None, (85.0, 115.0), (11.0, 13.4), None), (None, (35.0, 65.0), (28.9876, 30.5), None)],
    )
    assert bars_told(found, ["region", "n", "cost", "most"]) == (
        "error bars at 95 % confidence:",
        "n ± 15",
        "cost ± 1.41 or less",
        "most: no error bar",
    )


def test_nothing_is_said_of_keys_alone_and_little_of_many_columns() -> None:
    keys = Answer(
        ("k",), ("varchar",), (("a",),), None, None, "", "", Fraction(9, 10), ((None,),), lambda _: (), noisy=(False,)
    )
    assert bars_told(keys, ["k"]) == ()
    many = [f"c{i}" for i in range(20)]
    wide = Answer(
        tuple(many), ("bigint",) * 20, ((1,) * 20,), None, None, "", "", Fraction(9, 10), (((0.0, 2.0),) * 20,),
        lambda _: (), noisy=(True,) * 20,
    )  # fmt: skip
    assert len(bars_told(wide, many)) == 14
    assert bars_told(wide, many)[-1] == "and 8 columns more"
