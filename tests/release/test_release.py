"""A release in people's units: ranges, cells, quantiles, tables, text. Errors cover; nothing is clipped."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import matplotlib as mpl
import numpy as np
import pyarrow as pa
import pytest
from doubles import Seeded
from release.published import counted, publication

from discreet.errors import Refusal
from discreet.mechanisms import Column, Frame
from discreet.release import (
    CountedRelease,
    Estimate,
    Histogram,
    HistogramRelease,
    KeyAxis,
    Marginals,
    NumberAxis,
    Release,
    Wish,
)
from discreet.release.estimate import error_bar
from discreet.release.histogram import NONE
from discreet.release.release import CUT_OFF

ROWS = 6000
PEOPLE = Frame.of(
    {
        "age": np.arange(ROWS) % 100,
        "cost": (np.arange(ROWS) % 997) / 4,
        "sex": np.where(np.arange(ROWS) % 3 == 0, "f", "m"),
        "region": np.where(np.arange(ROWS) % 5 == 0, "north", "south"),
    },
    Column("age", bounds=(0, 100), step=1),
    Column("cost", bounds=(0, 500), step="0.25"),
    Column("sex", keys=("f", "m")),
    Column("region", keys=("north", "south")),
)


def released(kind: str, *columns: str, seed: int = 1, **more: Any) -> CountedRelease:  # noqa: ANN401
    return publication(PEOPLE, Wish.of(kind, columns, **{"epsilon": 1, **more}))(PEOPLE, rng=Seeded(seed))


LINE = released("histogram", "age", bins={"age": "0:100:10"})
PLANE = released("histogram", "age", "sex", bins={"age": "0:100:10"})
TABLES = released("marginals", "age", "sex", "region")
CIRCLE = released("marginals", "age", "sex", "region", "cost", ways=3, bins={"age": 3, "cost": 2})
NO_ERRORS = released("ranges", "age", bins={"age": 10}, method="mwem")
CHOSEN = released("histogram", "cost", bins={"cost": "private:6"})
EVERY = [LINE, PLANE, TABLES, CIRCLE, NO_ERRORS, CHOSEN, LINE.whole(), TABLES.nonnegative(), TABLES.whole()]
every = pytest.mark.parametrize("told", EVERY, ids=range(len(EVERY)))


def truth(**where: Any) -> int:  # noqa: ANN401
    """How many rows there are, from lo to before hi, or with a key."""
    kept = np.ones(ROWS, dtype=bool)
    for name, asked in where.items():
        values = PEOPLE.values[[column.name for column in PEOPLE.columns].index(name)]
        kept &= (values >= asked[0]) & (values < asked[1]) if isinstance(asked, tuple) else values == asked
    return int(kept.sum())


@pytest.mark.parametrize(
    ("kind", "columns", "more", "where"),
    [
        ("histogram", ["age"], {}, {"age": (18, 66)}),
        ("ranges", ["age"], {"method": "hierarchy"}, {"age": (18, 65)}),
        ("histogram", ["age", "sex"], {}, {"age": (20, 40), "sex": "f"}),
        ("histogram", ["sex", "age"], {}, {"sex": "f"}),
        ("marginals", ["age", "sex", "region"], {}, {"age": (20, 50), "region": "north"}),
        ("marginals", ["age", "sex", "region"], {"epsilon": None, "rho": 1}, {"sex": "m"}),
        ("marginals", ["age", "sex", "region"], {}, {}),
    ],
)
@pytest.mark.slow
def test_ranges_are_in_peoples_units_and_their_errors_cover(
    kind: str, columns: list[str], more: dict[str, Any], where: dict[str, Any]
) -> None:
    """Errors over standard errors have mean square 1: within five standard errors, and 1.3² is out of the question."""
    found = publication(PEOPLE, Wish.of(kind, tuple(columns), **{"epsilon": 1, **more}))
    exactly, scores = truth(**where), []
    for seed in range(300):
        told = found(PEOPLE, rng=Seeded(seed)).range(**where)
        assert told.note == ""
        scores.append(((told.value - exactly) / (told.error or 0)) ** 2)
    mean, error = float(np.mean(scores)), float(np.std(scores) / np.sqrt(len(scores)))
    assert abs(mean - 1) < 5 * error
    assert 1.69 - mean > 2 * error
    assert mean - 0.49 > 2 * error


def exact(counts: list[float], *axes: Any) -> CountedRelease:  # noqa: ANN401
    """A release without noise or errors."""
    shape = tuple(map(len, axes))
    content = Histogram(np.array(counts, dtype=np.float64).reshape(shape), np.arange(len(counts)), None, NONE)
    names = [axis.column for axis in axes]
    facts: Any = {"kind": "histogram", "columns": names, "tables": [names], "guarantee": {"measure": "pure"}}
    return HistogramRelease(facts, axes, content)


UNEVEN = exact([10, 20, 40], NumberAxis("cost", (0, 2, 10, 50), Fraction(1, 4)))


@pytest.mark.parametrize(
    ("asked", "value", "cut"),
    [
        ((0, "12.5"), 70, False),
        ((None, None), 70, False),
        (("0.5", "2.5"), 20, False),
        (("2.5", None), 40, False),
        ((None, "2.5"), 30, False),
        ((0, 0), 0, False),
        ((1, 1), 0, False),
        (("12.5", "12.5"), 40 / 41, True),  # the last bin has both edges: 41 steps, and this is one of them
        (("0.25", "0.5"), 5, True),
        ((1, 2), 10, True),
        (("0.25", "1.5"), 15, True),
        (("0.25", "7.5"), 25 + 40 * 20 / 41, True),
        ((Fraction(1, 3), "0.5"), 10 / 3, True),
        ((0, 0.1), 2, True),
    ],
)
def test_a_range_that_cuts_through_a_bin_is_straight_within_it_and_says_so(
    asked: Any,  # noqa: ANN401
    value: float,
    cut: bool,  # noqa: FBT001
) -> None:
    told = UNEVEN.range(cost=asked)
    assert told.value == pytest.approx(value, abs=1e-12)
    assert ("cuts through a bin" in told.note) is cut
    assert ("cost" in told.note) is cut


@pytest.mark.parametrize("told", [LINE, PLANE, TABLES], ids=["line", "plane", "tables"])
def test_a_range_that_cuts_through_a_bin_has_no_error_bar_and_one_of_whole_bins_has(told: CountedRelease) -> None:
    whole, cut = told.range(age=(20, 40)), told.range(age=(20, 45))
    assert (whole.note, cut.note != "") == ("", True)
    assert (whole.error or 0) > 0
    assert cut.error is None
    with pytest.raises(Refusal, match="no error bar"):
        cut.interval()


def test_quantiles_and_shares_are_in_the_units_of_the_column() -> None:
    assert UNEVEN.quantile(Fraction(1, 7)).value == pytest.approx(0.5)
    assert UNEVEN.quantile(Fraction(2, 7)).value == pytest.approx(1.5)
    assert UNEVEN.quantile(Fraction(5, 7)).value == pytest.approx(7.5)
    assert UNEVEN.quantile("0.5").error is None
    curve = UNEVEN.cdf()
    assert curve.values.tolist() == [0.5, 2.5, 12.5]
    assert curve.shares == pytest.approx([1 / 7, 3 / 7, 1])
    assert curve.errors is None


def test_cells_are_named_by_values() -> None:
    assert LINE.cell(age=42) == LINE.range(age=(40, 50))
    assert LINE.cell(age=40) == LINE.range(age=(40, 50))
    assert LINE.cell(age=100) == LINE.range(age=(90, 100))
    assert PLANE.cell(age=0, sex="m") == PLANE.range(sex=["m"], age=(0, 10))
    assert TABLES.cell(sex="f", region="south") == TABLES.range(sex="f", region="south")
    assert PLANE.range(sex=["f", "m"]).value == pytest.approx(PLANE.total.value)
    flags = exact([3, 4], KeyAxis("flag", (False, True)))
    numbers = exact([3, 4], KeyAxis("flag", (0, 1)))
    assert (flags.cell(flag=True).value, numbers.cell(flag=1).value) == (4, 4)
    for told, wrong in ((flags, 1), (numbers, True), (numbers, "1"), (flags, None), (flags, [])):
        with pytest.raises(Refusal, match="no key"):
            told.cell(flag=wrong)


@pytest.mark.parametrize(
    ("told", "call", "says"),
    [
        (LINE, lambda told: told.range(weight=(1, 2)), "no column 'weight'"),
        (LINE, lambda told: told.range(age=5), r"range of 'age' as \(from, to\)"),
        (LINE, lambda told: told.range(age=(5, 2)), "from less to more"),
        (LINE, lambda told: told.range(age=(0, 200)), "200 is outside what was released of 'age': 0 to 100"),
        (LINE, lambda told: told.range(age=("x", 2)), "age"),
        (LINE, lambda told: told.cell(age=-1), "outside"),
        (LINE, lambda told: told.cell(), "a value of each"),
        (PLANE, lambda told: told.cell(age=5), "a value of each"),
        (PLANE, lambda told: told.cell(age=5, sex="x"), "no key 'x' of 'sex'; there are"),
        (PLANE, lambda told: told.quantile("0.5"), "one column of numbers"),
        (TABLES, lambda told: told.quantile("0.5"), "one column of numbers"),
        (exact([1, 2], KeyAxis("sex", ("f", "m"))), lambda told: told.cdf(), "one column of numbers"),
        (LINE, lambda told: told.quantile(1), "level"),
        (TABLES, lambda told: told.range(age=(0, 50), sex="f", region="north"), "was not measured"),
        (TABLES, lambda told: told.table(("age", "weight")), "no column"),
        (PLANE, lambda told: told.table(("sex",)), "one table"),
        (CIRCLE, lambda told: told.whole(), "need not exist"),
        (CIRCLE, lambda told: told.plot(), "one or two columns"),
    ],
)
def test_what_a_release_cannot_tell_is_refused(told: CountedRelease, call: Any, says: str) -> None:  # noqa: ANN401
    with pytest.raises(Refusal, match=says):
        call(told)


@every
def test_text_reads_back_to_the_last_bit(told: CountedRelease) -> None:
    back = counted(Release.from_json(told.to_json()))
    assert back == told
    assert hash(back) == hash(told)
    assert back.axes == told.axes
    assert back.facts == told.facts
    assert back.total == told.total
    assert [np.array_equal(back.counts(names), told.counts(names)) for names in told.tables] == [True] * len(
        told.tables
    )
    assert json.loads(told.to_json())["format"] == "discreet-release-2"


def test_very_many_even_bins_are_written_by_their_width() -> None:
    for steps in (tuple(range(0, 10_001, 2)), (*range(0, 10_001, 2), 10_001)):
        axis = NumberAxis("cost", steps, Fraction(1, 4))
        told = exact([1.0] * len(axis), axis)
        assert "edges" not in axis.plain
        assert counted(Release.from_json(told.to_json())).axes == (axis,)
    odd = NumberAxis("cost", (*range(0, 10_001, 2), 10_003), Fraction(1, 4))
    assert counted(Release.from_json(exact([1.0] * len(odd), odd).to_json())).axes == (odd,)


@pytest.mark.parametrize("change", ["format", "facts", "axes", "histogram", "short", "nan", "kind", "fraction", "part"])
def test_a_text_that_is_no_release_is_refused(change: str) -> None:
    good = json.loads(LINE.to_json())
    bad: dict[str, Any] = {
        "format": {**good, "format": "other"},
        "facts": {**good, "facts": 5},
        "axes": {**good, "axes": good["axes"] * 2},
        "histogram": {key: value for key, value in good.items() if key != "histogram"},
        "short": {**good, "axes": [{**good["axes"][0], "edges": ["0", "1"]}]},
        "nan": {**good, "histogram": {**good["histogram"], "counts": [float("nan")] * 10}},
        "kind": {**good, "facts": {}},
        "fraction": {**good, "axes": [{**good["axes"][0], "step": "3"}]},
        "part": {**good, "histogram": {**good["histogram"], "part": [[2, 0, 1]]}},
    }
    with pytest.raises(Refusal, match="written by to_json"):
        Release.from_json(json.dumps(bad[change]))
    for text in ("", "5", "[]", "{", "null"):
        with pytest.raises(Refusal, match="written by to_json"):
            Release.from_json(text)


def test_a_histogram_is_one_table_with_a_row_a_cell() -> None:
    (name, table), *others = LINE.to_arrow().items()
    assert (name, others) == ("cells", [])
    assert table.column_names == ["age_from", "age_to", "count", "standard_error", "count_whole"]
    assert [field.type for field in table.schema] == [pa.int64(), pa.int64(), pa.float64(), pa.float64(), pa.int64()]
    assert table["age_from"].to_pylist() == list(range(0, 100, 10))
    assert table["count"].to_pylist() == LINE.counts().tolist()
    assert table["count_whole"].to_pylist() == LINE.whole().counts().tolist()
    for low, error in zip(table["age_from"].to_pylist(), table["standard_error"].to_pylist(), strict=True):
        assert error == pytest.approx(LINE.cell(age=low).error)
    assert LINE.table() == table
    plane = PLANE.to_arrow()["cells"]
    assert plane.column_names == ["age_from", "age_to", "sex", "count", "standard_error", "count_whole"]
    assert plane["sex"].to_pylist() == ["f", "m"] * 10
    assert plane["age_to"].to_pylist() == [end for end in range(10, 101, 10) for _ in range(2)]
    assert plane["count"].to_pylist() == PLANE.counts().ravel().tolist()
    assert NO_ERRORS.table()["standard_error"].null_count == 10
    assert CHOSEN.table()["cost_from"].type == pa.float64()


@pytest.mark.parametrize("method", ["uniform", "partition", "quadtree", "adaptive-grid"])
def test_a_cell_has_an_error_if_it_was_counted_alone(method: str) -> None:
    columns = ("age",) if method in ("uniform", "partition") else ("age", "cost")
    told = released("ranges", *columns, bins=dict.fromkeys(columns, 12), method=method, epsilon="0.2")
    errors, values = told.errors(), [[steps * axis.step for steps in axis.steps] for axis in told.axes]  # type: ignore[union-attr]
    assert errors is not None
    assert isinstance(told.content, Histogram)
    alone = np.bincount(told.content.part)[told.content.part].reshape(errors.shape) == 1
    for place in np.ndindex(errors.shape):
        one = told.cell(**{name: own[at] for name, own, at in zip(columns, values, place, strict=True)})
        assert (one.error is not None) == alone[place] == (not np.isnan(errors[place]))
        assert one.error is None or errors[place] == pytest.approx(one.error)
    stated = told.table()["standard_error"].to_pylist()
    assert [each is not None for each in stated] == alone.ravel().tolist()
    assert told.total.error is not None


def test_marginals_are_a_table_for_each_and_all_agree() -> None:
    tables = TABLES.to_arrow()
    assert list(tables) == ["age by sex", "age by region", "sex by region"]
    names = ["sex", "sex_other", "region", "region_other", "count", "standard_error", "count_whole"]
    assert tables["sex by region"].column_names == names
    for column in ("count", "count_whole"):
        sums = {round(sum(table[column].to_pylist()), 6) for table in tables.values()}
        assert len(sums) == 1
    assert all(min(table["count_whole"].to_pylist()) >= 0 for table in tables.values())
    assert "count_whole" not in CIRCLE.to_arrow()["age by sex by region"].column_names
    ages = TABLES.table(("age",))
    assert ages.column_names[:2] == ["age_from", "age_to"]
    assert sum(ages["count"].to_pylist()) == pytest.approx(TABLES.total.value)


def test_columns_keep_their_types_and_their_names() -> None:
    told = exact([1, 2], KeyAxis("count", (False, True))).table()
    assert told.column_names == ["count", "count_", "standard_error", "count_whole"]
    assert told["count"].type == pa.bool_()
    assert exact([1, 2, 3], KeyAxis("a", ("x", 1, None))).table()["a"].to_pylist() == ["x", "1", None]


@every
def test_fitted_counts_are_whole_and_not_negative(told: CountedRelease) -> None:
    near = told.nonnegative()
    assert all(near.counts(names).min() >= 0 for names in near.tables)
    if told is CIRCLE:
        return
    whole = told.whole()
    for names in whole.tables:
        assert np.array_equal(whole.counts(names), np.rint(whole.counts(names)))
        assert whole.counts(names).min() >= 0
    assert abs(whole.total.value - max(near.total.value, 0)) <= 1


@every
def test_it_can_be_read_and_drawn(told: CountedRelease) -> None:
    text = str(told)
    assert text.startswith(f"{told.kind} of {', '.join(told.columns)}: pure differential privacy, epsilon = 1\n")
    assert text.endswith(CUT_OFF)
    assert "count  standard_error" in text
    if told is not CIRCLE:
        with mpl.rc_context({"backend": "Agg"}):
            figure = told.plot()
        assert told.columns[0] in (figure.axes[0].get_xlabel(), figure.axes[0].get_ylabel())
        mpl.pyplot.close(figure)


def test_what_errors_leave_out_is_said() -> None:
    assert LINE.bounding.startswith("The error bars cover all of the error.")
    assert TABLES.whole().bounding.startswith("There are no error bars: the counts were moved")
    assert TABLES.whole().total.error is None
    assert TABLES.whole().errors(("age", "sex")) is None
    assert NO_ERRORS.bounding.startswith(NONE)
    assert str(Estimate(1234.5, 2.25)) == "1234.5 ± 5.395"
    assert str(Estimate(1234.5, None, (1200.0, 1300.0))) == "1234.5 (from 1200 to 1300)"
    assert str(Estimate(1234.5, None, note="so to say")) == "1234.5 (so to say)"


def test_a_release_holds_what_was_published() -> None:
    assert isinstance(LINE.content, Histogram)
    assert isinstance(TABLES.content, Marginals)
    assert LINE.tables == (("age",),)
    assert CHOSEN.facts["mechanism"]["name"] == "private-bins"  # type: ignore[index,call-overload]


def test_a_range_has_the_bar_of_its_cells_where_a_draw_of_noise_counts_more_than_once() -> None:
    keyed = [Column(name, keys=tuple("abcdef")) for name in ("x", "y", "z", "w")]
    frame = Frame.of({column.name: np.array(list("abcdef") * 20) for column in keyed}, *keyed)
    asked = {"kind": "marginals", "columns": ["x", "y", "z", "w"], "epsilon": "30", "ways": 3}
    told = publication(frame, Wish.read(asked))(frame, rng=Seeded(1))
    picked = {"x": list("abcdef"), "y": list("abcdf"), "z": list("abcdef")}
    weights = np.ones(())
    for keys in picked.values():
        weights = np.multiply.outer(weights, np.isin([*"abcdef", "other"], keys).astype(np.float64))
    cells = told.weighed(("x", "y", "z"), weights)
    assert cells.span is not None
    assert cells.span[1] - cells.value > 1.2 * error_bar(cells.error or 0.0, 0.5)
    assert told.range(**picked) == cells
